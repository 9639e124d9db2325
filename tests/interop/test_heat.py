"""Heat, where this Python has it, or that which ``ATOLL_RUN_TEST_HEAT`` names."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("heat_exchange.py")
PYTHON = os.environ.get("ATOLL_RUN_TEST_HEAT", "")


@pytest.mark.timeout(200)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_exchange_with_heat(ranks):
    if not PYTHON and importlib.util.find_spec("heat") is None:
        pytest.skip("Heat is not installed, and ATOLL_RUN_TEST_HEAT names no interpreter")
    done = subprocess.run(
        [PYTHON or sys.executable, "-m", "atoll", "run", "-n", str(ranks), str(SCRIPT)],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert "what is not in balance" in done.stdout
