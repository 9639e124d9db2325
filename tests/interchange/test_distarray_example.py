"""The example runs alone and on ranks, and says the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "distarray_exchange.py"


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
def test_the_example(ranks):
    pytest.importorskip("mpi4py")
    done = subprocess.run(
        [sys.executable, "-m", "atoll", "run", "-n", str(ranks), str(EXAMPLE)],
        capture_output=True,
        text=True,
        timeout=50,
        env={name: value for name, value in os.environ.items() if not name.startswith("PMI")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("atoll sees 8 x 5 numbers: Layout((8, 5)")
    assert lines[1].endswith("total went from 140 to 280")
    assert lines[2].endswith("of all ranks together: 84")
