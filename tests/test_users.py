"""The programs that users write give what NumPy gives, and the page has the table that the command writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.comm import simulated
from atoll.config import config

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"
sys.path.insert(0, str(FOLDER))
import measuring  # noqa: E402
import report  # noqa: E402
import users  # noqa: E402
from user_programs import CLASSES, PROGRAMS, SIZES  # noqa: E402

sys.path.remove(str(FOLDER))

RECORDED = (
    "align", "blackscholes", "convolve", "floyd", "genetic", "grayscott", "life", "nbody", "redblack", "sieve",
    "walks", "wave2d", "cholesky_columns", "deriche", "knapsack", "attention", "staggered_wave", "star_stencil",
)  # fmt: skip
"""Programs that are also run with no array small: few, because each compiles kernels of its own."""
ON_RANKS = (
    "gemver",
    "fdtd2d",
    "time_warping",
    "components",
    "staggered_wave",
    "border_life",
    "asian_option",
    "terrain",
)
"""Programs that are also run on ranks."""


def result(module: Any, name: str, size: str = "smoke") -> Any:
    """What a program gives, at its smallest size unless another is named, in NumPy's arrays."""
    program = PROGRAMS[name]
    return users.plain(program.run(module, *program.arguments(module, program.sizes[size])))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    difference = measuring.differences(
        result(atoll, name), result(np, name), PROGRAMS[name].tolerance
    )
    assert difference == ""


@pytest.mark.parametrize("name", RECORDED)
def test_so_it_does_where_all_is_recorded(name: str) -> None:
    with config(small=0):
        found = result(atoll, name)
    assert measuring.differences(found, result(np, name), PROGRAMS[name].tolerance) == ""


@pytest.mark.parametrize("name", ON_RANKS)
def test_so_it_does_on_ranks(name: str) -> None:
    def program() -> Any:
        with config(small=0, everywhere=0):
            return result(atoll, name)

    tolerance = max(PROGRAMS[name].tolerance, 1e-12)
    for found in simulated.run(3, program):
        assert measuring.differences(found, result(np, name), tolerance) == ""


def test_programs_know_what_the_command_needs() -> None:
    assert {program.kind for program in PROGRAMS.values()} == set(CLASSES)
    for program in PROGRAMS.values():
        assert tuple(program.sizes) == SIZES
        assert list(program.sizes.values()) == sorted(program.sizes.values()), program.name
        assert set(program.forms) <= set(users.PEERS)


def test_the_table_has_a_line_for_each_program(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = tmp_path / "found.json"
    monkeypatch.setattr(
        sys, "argv", ["users.py", "options", "life", "--smoke", "--json", str(found)]
    )
    users.main()
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == ["program", "life", "options"]
    assert "all" in lines
    for row in json.loads(found.read_text()):
        assert set(row["contestants"]) == {"numpy", "atoll"}
        assert report.trouble(row) == ""


def test_a_wrong_result_fails_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "differences", lambda *given: "3 of 4 elements differ")
    monkeypatch.setattr(sys, "argv", ["users.py", "options", "--smoke"])
    with pytest.raises(SystemExit, match="options"):
        users.main()
    assert "WRONG: 3 of 4 elements differ" in capsys.readouterr().out


def test_a_program_that_takes_too_long_is_ended(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "compiled_sources", nullcontext)
    monkeypatch.setattr(
        sys, "argv", ["users.py", "options", "--sizes", "smoke", "--limit", "0.01", "--peers", ""]
    )
    users.main()
    assert capsys.readouterr().out.splitlines()[1].endswith(">")


@pytest.mark.parametrize(
    "names", [["alchemy"], ["life", "--sizes", "vast"], ["life", "--peers", "fortran"]]
)
def test_names_that_are_none_are_refused(
    names: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["users.py", *names, "--smoke"])
    with pytest.raises(SystemExit) as error:
        users.main()
    assert names[-1] in str(error.value) + capsys.readouterr().err


def test_new_measurements_take_the_place_of_old_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(report, "DOCS", tmp_path)
    lane = {"first": 1.0, "cpu": 1.0, "wall": 1.0, "ratio": 1.0, "ratio_wall": 1.0, "wrong": ""}

    def row(name: str, ratio: float, wrong: str = "") -> dict[str, Any]:
        ours = {**lane, "ratio": ratio, "wrong": wrong}
        lanes = {"numpy": lane, "atoll": ours}
        common = {
            "size": "medium",
            "n": 1,
            "threads": 1,
            "refused": {},
            "cold": 0.5,
            "ended": False,
        }
        return {"program": name, "contestants": lanes, **common}

    report.write([row("life", 2.0), row("options", 3.0)], "a machine")
    report.write([row("life", 8.0), row("pi", 3.0, "1 of 2 elements differ")], "a machine")
    kept = json.loads((tmp_path / "benchmarks.json").read_text())
    text = report.markdown(kept)
    report.picture(tmp_path / "drawing.svg", kept)
    assert "| `life` | 8.0 |" in text
    assert "| `options` | 3.0 |" in text
    assert "| `pi` | ! |" in text


@pytest.mark.slow
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
