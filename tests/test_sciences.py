"""The programs of users' sciences give what NumPy gives, whether their arrays count as small or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.config import config

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))
import measuring  # noqa: E402
import users  # noqa: E402
from sciences import SCIENCES  # noqa: E402

sys.path.remove(str(FOLDER))

RECORDED = (
    "align", "blackscholes", "convolve", "floyd", "genetic", "grayscott", "life", "nbody", "redblack", "sieve",
    "walks", "wave2d",
)  # fmt: skip
"""Programs that are also run with no array small: few, because each compiles kernels of its own."""


@pytest.mark.parametrize("name", SCIENCES)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    program = SCIENCES[name]
    found = users.plain(program.run(atoll, program.tiny))
    expected = users.plain(program.run(np, program.tiny))
    assert measuring.differences(found, expected, program.tolerance) == ""


@pytest.mark.parametrize("name", RECORDED)
def test_so_it_does_where_all_is_recorded(name: str) -> None:
    program = SCIENCES[name]
    with config(small=0):
        found: Any = users.plain(program.run(atoll, program.tiny))
    expected = users.plain(program.run(np, program.tiny))
    assert measuring.differences(found, expected, program.tolerance) == ""


def test_the_table_has_a_line_for_each_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["users.py", "options", "life", "--smoke"])
    users.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["program", "options", "life", "all"]


def test_names_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["users.py", "alchemy", "--smoke"])
    with pytest.raises(SystemExit, match="alchemy"):
        users.main()


def test_programs_run_on_ranks_against_one_process() -> None:
    """As users start it: small ones without a message, and with the counts of what ranks do where all is divided."""
    done = subprocess.run(
        [
            sys.executable,
            str(FOLDER / "users_on_ranks.py"),
            "life",
            "elimination:60",
            "--smoke",
            "--everywhere",
            "0",
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "ATOLL_SMALL": "100"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names, *rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["life", "elimination:60"]
    for row in rows:
        found = dict(zip(names, row, strict=False))
        assert int(found["messages"]) + int(found["joint"]) > 0
        assert int(found["plans"]) > 0
