"""``atoll check-distarray``: what it prints, and its exit code."""

import os
import subprocess
import sys

import pytest

from atoll import cli

MODULE = """
import numpy as np
import atoll

def halves(short=0):
    rank = atoll.world.rank
    return {"__version__": "1.0.0", "buffer": np.zeros(5), "dim_data": ({
        "dist_type": "b", "size": 10, "proc_grid_size": 2, "proc_grid_rank": rank,
        "start": 5 * rank, "stop": 5 * rank + 5 - short},)}

def inclusive():
    return halves(1)

def failing():
    raise KeyError("nothing there")

whole = {"__version__": "1.0.0", "buffer": np.zeros((2, 3)), "dim_data": ({}, {})}
number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"producers_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_right_one(module, capsys):
    assert cli.main(["check-distarray", f"{module}:whole"]) == 0
    assert capsys.readouterr().out == (
        f"{module}:whole on 1 rank: version 1.0.0, shape (2, 3), dtype <f8, b, b\nevery rule holds\n"
    )


def test_a_wrong_one(module, capsys):
    assert cli.main(["check-distarray", f"{module}:halves"]) == 1
    out = capsys.readouterr().out
    assert "X1 rank 0: the grid 2 needs 2 ranks, there is 1: atoll run -n 2" in out
    assert "rule X1: the product of proc_grid_size equals the number of processes" in out


def test_a_factory_that_fails(module, capsys):
    assert cli.main(["check-distarray", f"{module}:failing"]) == 1
    captured = capsys.readouterr()
    assert "the factory raised KeyError: 'nothing there'" in captured.out
    assert "Traceback" in captured.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: module:factory"),
        (["producers"], "not 'producers'"),
        (["a:b", "c:d"], "unrecognized arguments: c:d"),
        (["--color", "a:b"], "unrecognized arguments: --color"),
        (["-n"], "-n: expected one argument"),
        (["-n", "0", "a:b"], "-n: it must be an integer >= 1, not '0'"),
        (["no_such_module_here:make"], "there is no module 'no_such_module_here'"),
        (["{}:missing"], "has no 'missing'"),
        (["{}:number"], "must be a factory or a producer, not an int"),
    ],
)
def test_what_cannot_be_checked(module, capsys, words, message):
    assert cli.main(["check-distarray", *(word.format(module) for word in words)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("atoll check-distarray: ")
    assert message in err
    assert err.count("\n") == 1


def test_help(capsys):
    assert cli.main(["check-distarray", "--help"]) == 0
    assert "module:factory" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (["{}:halves"], 0, "every rule holds"),
        (["{}:inclusive"], 1, "rule X7: the first block starts at 0 and the last stops at size"),
        (["--lenient", "{}:inclusive"], 0, "every rule holds, as repaired"),
    ],
    ids=["right", "wrong", "lenient"],
)
def test_on_two_ranks(module, words, code, last):
    pytest.importorskip("mpi4py")
    command = [sys.executable, "-m", "atoll", "check-distarray", "-n", "2"]
    done = subprocess.run(
        [*command, *(word.format(module) for word in words)],
        capture_output=True,
        text=True,
        timeout=50,
        env={name: value for name, value in os.environ.items() if not name.startswith("PMI")},
        check=False,
    )
    assert done.returncode == code, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("on 2 ranks: version 1.0.0, shape (10,), dtype <f8, b")
    assert lines[-1] == last
