"""The benchmark programs agree with NumPy, and the suite that measures them says what it found."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import atoll
from atoll.config import config

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))
import measuring  # noqa: E402
import plot  # noqa: E402
import programs  # noqa: E402
import suite  # noqa: E402

sys.path.remove(str(FOLDER))
SIZES = {"overhead": 100, "mandelbrot": 40, "elimination": 60, "jacobi": 40}


def steps(module: ModuleType, name: str, n: int) -> Iterator[Any]:
    """A program that has been prepared."""
    found = programs.PROGRAMS[name].run(module, n)
    assert next(found) is None
    return found


def plain(result: Any) -> Any:
    """The result as NumPy arrays of their own."""
    return tuple(map(plain, result)) if isinstance(result, tuple) else np.array(result)


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_program_gives_what_numpy_gives(name: str) -> None:
    program = programs.PROGRAMS[name]
    n = SIZES.get(name, 50)
    with config(small=0):
        ours, theirs = steps(atoll, name, n), steps(np, name, n)
        for _ in range(3):
            found, expected = plain(next(ours)), plain(next(theirs))
            assert measuring.differences(found, expected, program.tolerance) == ""


@pytest.mark.parametrize(
    ("n", "count", "error"), [(10, 1, 0.9456137359413596), (100, 100, 0.0829649279413672)]
)
def test_laplace_has_the_errors_that_are_known(n: int, count: int, error: float) -> None:
    for module in (np, atoll):
        running = steps(module, "laplace", n)
        for _ in range(count):
            _, last = next(running)
        assert float(last) == pytest.approx(error, rel=1e-12)


def test_the_star_adds_the_slope_at_every_step() -> None:
    running = steps(atoll, "star2", 200)
    for count in range(1, 5):
        _, b = next(running)
        assert float(np.abs(b).sum()) / (200 - 4) ** 2 == pytest.approx(2 * count, rel=1e-12)


def test_laplace_makes_three_grids_at_most_and_destroys_none() -> None:
    with config(small=0, cache_bytes=1 << 30):
        running = steps(atoll, "laplace", 200)
        atoll.sync()
        atoll.reset_stats()
        for _ in range(100):
            next(running)
        atoll.sync()
        seen = atoll.stats()
        assert seen.created <= 3
        assert seen.destroyed == 0


def test_moving_slices_need_no_more_kernels_the_further_they_move() -> None:
    with config(small=0):
        compiled = []
        for n in (20, 40):
            running = steps(atoll, "elimination", n)
            next(running)
            compiled.append(atoll.stats().kernels_compiled)
        assert compiled[1] == compiled[0], "twice as many steps, the same kernels"


@pytest.mark.parametrize(
    ("found", "expected", "tolerance", "words"),
    [
        (np.arange(3), np.arange(4), 0.0, "shape"),
        (np.arange(3), np.arange(3.0), 0.0, "dtype"),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0]), 0.0, "1 of 2"),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0]), 0.1, "apart by"),
        (np.array([1.0, np.nan]), np.array([1.0, 3.0]), 0.1, "apart by"),
        ((np.ones(2), np.ones(3)), (np.ones(2), np.zeros(3)), 0.0, "3 of 3"),
    ],
)
def test_what_differs_is_said(found: Any, expected: Any, tolerance: float, words: str) -> None:
    assert words in measuring.differences(found, expected, tolerance)


def test_equal_results_do_not_differ() -> None:
    array = np.array([1.0, np.nan, np.inf])
    assert measuring.differences(array, array.copy(), 0.0) == ""
    assert measuring.differences((array, 3.0), (array.copy(), 3.0), 0.0) == ""


def command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A benchmark as users start it."""
    return subprocess.run(
        [sys.executable, str(FOLDER / name), *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def found_by(name: str, *arguments: str) -> Any:
    """What a benchmark that ends well says in JSON."""
    done = command(name, *arguments, "--smoke", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_smoke_run_writes_a_table_json_and_a_drawing(tmp_path: Path) -> None:
    found, drawing = tmp_path / "found.json", tmp_path / "drawing.svg"
    names = "overhead", "laplace", "sum-all"
    files = "--json", str(found), "--plot", str(drawing)
    done = command("suite.py", *names, "--smoke", *files)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["program", *names]
    table = json.loads(found.read_text())["programs"]
    assert [row["program"] for row in table] == list(names)
    for row in table:
        ours = row["contestants"]["atoll"]
        assert ours["wrong"] == ""
        assert ours["ratio"] > 0
        assert ours["cold"] > 0
    words = [element.text for element in ElementTree.parse(drawing).iter() if element.text]
    assert "laplace" in words


def test_names_that_are_none_are_refused() -> None:
    done = command("suite.py", "laplacian", "--smoke")
    assert done.returncode != 0
    assert "laplacian" in done.stderr
    assert "stencils" in done.stderr
    done = command("suite.py", "laplace", "--smoke", "--peers", "fortran")
    assert "fortran" in done.stderr


def test_a_wrong_result_fails_the_command(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def child(programs: list[Any], *options: str, **more: str) -> list[dict[str, Any]]:
        counters = dict.fromkeys(("created", "destroyed", "kernels_compiled"), 0)
        who = {"cold": 1.0, "warm": 1.0, "ratio": 1.0, "copies": None, "counters": counters}
        who |= {"in_loop": counters, "wrong": ""}
        contestants = {"numpy": who, "atoll": who | {"wrong": "3 of 4 elements differ"}}
        row = {"size": "1", "refused": {}, "contestants": contestants}
        return [{"program": program.name, **row} for program in programs]

    monkeypatch.setattr(suite, "child", child)
    monkeypatch.setattr(sys, "argv", ["suite.py", "laplace", "--smoke"])
    assert suite.main() == 1
    assert "WRONG: 3 of 4 elements differ" in capsys.readouterr().out


def test_a_drawing_of_nothing_is_still_a_drawing(tmp_path: Path) -> None:
    plot.write_plot(tmp_path / "empty.svg", [])
    assert ElementTree.parse(tmp_path / "empty.svg").getroot().tag.endswith("svg")


def test_functions_are_measured_and_right() -> None:
    found = found_by("functions.py", "~", "cum", "repeat")["functions"]
    assert {"~m", "np.cumsum(x)", "np.repeat(x, 2)"} <= {one["line"] for one in found}
    assert not [one for one in found if one["wrong"]]


def test_single_calls_are_measured() -> None:
    found = found_by("functions.py", "sum", "w +=", "--calls", "10,1000")["calls"]
    assert {("np.sum(x)", 10), ("w += 1.0", 1000), ("g[5].sum()", 0)} <= {
        (one["line"], one["n"]) for one in found
    }
    assert all(one["numpy"] > 0 and one["atoll"] > 0 for one in found)


def test_reductions_are_measured_beside_bare_reading() -> None:
    found = found_by("roofline.py", "sum-0", "argmax-1-T")
    assert [one["program"] for one in found] == ["sum-0", "argmax-1-T"]
    for one in found:
        assert one["wrong"] == ""
        assert {"numpy", "atoll", "alone", "together"} <= set(one["least"])


@pytest.mark.slow
def test_planning_is_measured_on_one_process() -> None:
    found = found_by("planning.py")
    assert found["steps"]["messages"] == {"4": 4, "16": 4}
    rows = found["large"]["bn"]
    assert rows["bytes_sent"] == rows["bytes_received"] == 2 * (found["n"] - 2) * 8


@pytest.mark.slow
def test_a_step_is_measured_with_its_kernels_apart() -> None:
    for row in found_by("step.py"):
        assert row["plans"] == 0
        for times in row["best"], row["mostly"]:
            assert set(times) == {"python", "record", "look", "kernels", "calibration"}


@pytest.mark.slow
def test_ranks_are_measured_against_threads_and_bare_mpi() -> None:
    found = found_by("ranks.py")
    programs = {"laplace", "stencil5", "star2", "sincos", "black-scholes"}
    assert set(found) == programs | {"step", "redistribute", "matmul"}
    assert all(facts["wrong"] == "" for facts in found.values())
    assert found["laplace"]["messages"] > 0
