"""The page on the engine shows what its program prints."""

import re
from pathlib import Path

import pytest

import atoll
from atoll.comm import simulated
from atoll.config import config

PAGE = Path(__file__).parents[1] / "docs" / "contributors" / "engine.md"
pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="the documentation is not beside the tests"
)


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)\n```", PAGE.read_text(), re.S)


def printed():
    lines = []

    def collect(*values, sep=" "):
        lines.append(sep.join(map(str, values)))

    (program,) = blocks("python")
    exec(compile(program, "laplace.py", "exec"), {"print": collect})
    return "\n".join(lines)


@pytest.mark.compiled
def test_on_one_process():
    with config(threads=2, small=30_000):
        assert printed().startswith(f"{blocks('text')[0]}\n\n() float64: pending")


@pytest.mark.compiled
def test_on_two_ranks():
    with config(threads=1, small=30_000):
        told, silent = simulated.run(2, printed)
    assert told.split("\n\n", 1)[1] == blocks("text")[1]
    assert silent == ""


def test_the_loop_lives_on_three_grids():
    (program,) = blocks("python")
    longer = program.replace("range(3)", "range(30)")
    with config(threads=2, small=30_000):
        before = atoll.stats()
        exec(compile(longer, "laplace.py", "exec"), {"print": lambda *values, sep: None})
        after = atoll.stats()
    assert after.created - before.created <= 3
    assert after.destroyed == before.destroyed
