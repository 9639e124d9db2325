"""What users do with an array in a line or a few, on ranks and in other layouts, against NumPy."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy
import pytest

import atoll
from atoll.comm import simulated

from .users.__main__ import same
from .users.lines import LINES, PROGRAMS

pytestmark = [pytest.mark.usefixtures("by_numpy"), pytest.mark.filterwarnings("ignore")]


def given(np: Any, maps: str) -> dict[str, Any]:
    a = np.array((numpy.arange(120.0) * 37 % 61).reshape(12, 10))
    if np is atoll and atoll.world.size > 1:
        a = a.redistribute(atoll.Layout((12, 10), maps, size=atoll.world.size))
    return {
        "np": np,
        "numpy": numpy,
        "os": os,
        "io": io,
        "a": a,
        "m": np.array(numpy.arange(120).reshape(12, 10) % 3 == 1),
        "i": np.array([3, 7, 1, 7, 0, 9, 2, 5]),
        "z": np.array(numpy.arange(120.0).reshape(12, 10) * (1 + 2j)),
    }


def line(np: Any, text: str, maps: str) -> list[Any]:
    names = given(np, maps)
    before = names["a"]
    exec(text, names)
    return [numpy.array(one) for one in (names["a"], before, names["z"])]


@pytest.mark.slow
@pytest.mark.parametrize(("maps", "first"), [("bn", 0), ("nc", 1)])
def test_every_other_line(maps, first):
    def ours() -> list[list[Any]]:
        return [line(atoll, text, maps) for text in lines]

    lines = LINES.strip().splitlines()[first::2]
    expected = [line(numpy, text, maps) for text in lines]
    with atoll.config(small=0, everywhere=0):
        for found in simulated.run(3, ours):
            wrong = [t for t, f, e in zip(lines, found, expected, strict=True) if not same(f, e)]
            assert wrong == []


def program(np: Any, name: str, folder: Any) -> Any:
    names = given(np, "bn") | {"d": str(folder)}
    exec(PROGRAMS[name], names)
    return plain(names["r"])


def plain(value: Any) -> Any:
    """A result without arrays of ours."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return numpy.array(value) if isinstance(value, atoll.ndarray) else value


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    expected = program(numpy, name, theirs)
    with atoll.config(small=0, everywhere=0):
        for found in simulated.run(3, program, atoll, name, ours):
            assert same(found, expected)
