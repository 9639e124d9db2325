"""Every public function and method on ranks: NumPy's answer, and no rank brings a whole array together."""

import warnings

import numpy as np
import pytest

import atoll
from atoll import Block, Cyclic, Layout
from atoll.context import statistics
from atoll.functions import coverage

from .exceptions import EXEMPT, GATHERING, NUMBER
from .surface import CALLS, LINES, operands

LAYOUTS = {
    "rows": (("b", "n"), "b"),
    "columns": (("n", "b"), "b"),
    "cyclic": (("c", "n"), Cyclic(2)),
    "grid": (("b", "b"), "c"),
    "uneven": (("b", "n"), "b"),
}


def placed(name, whole, maps, size):
    """An operand on its layout; an uneven one has some rows with the last rank, the others with the first."""
    grid, line = LAYOUTS[maps]
    axes = (line,) if name in LINES else grid
    if maps == "uneven":
        n = len(whole)
        axes = (Block([0] + [n - 1] * (size - 1) + [n]), *axes[1:])
    return atoll.asarray(whole.copy()).redistribute(Layout(whole.shape, axes, size=size))


class Operands:
    """The operands of a call, made when it asks for them."""

    def __init__(self, make):
        self._make = make

    def __getattr__(self, name):
        made = self._make(name)
        setattr(self, name, made)
        return made


def found_wrong(maps, size, part=slice(None)):
    """What each call gets wrong: its answer, or bytes of whole arrays that it gathers."""
    wholes = operands()
    wrong = {}
    for name, call in list(CALLS.items())[part]:
        theirs = call(np, Operands(lambda k: wholes[k].copy()))
        before = statistics.stats().gathered
        found = call(atoll, Operands(lambda k: placed(k, wholes[k], maps, size)))
        for one in parts(found):
            if isinstance(one, atoll.ndarray):
                one._evaluate()
        gathered = statistics.stats().gathered - before
        if gathered > NUMBER and name not in GATHERING:
            wrong[name] = f"gathers {gathered} bytes"
        try:
            for mine, other in zip(parts(found), parts(theirs), strict=True):
                mine, other = np.asarray(mine), np.asarray(other)
                assert mine.dtype == other.dtype
                np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)
        except (AssertionError, ValueError) as error:
            wrong[name] = str(error)
    return wrong


def parts(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.contract
@pytest.mark.ranks(2)
def test_every_call_in_rows(size):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found_wrong("rows", size) == {}


@pytest.mark.slow
@pytest.mark.simulated(3)
@pytest.mark.parametrize("number", range(4))
def test_each_call_on_another_layout(number, size):
    maps = ["columns", "grid", "uneven", "cyclic"][number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found_wrong(maps, size, slice(number % 2, None, 2)) == {}


def test_every_public_name_is_called():
    called = {name.split()[0] for name in CALLS}
    names = {name for name, kind in coverage().items() if kind != "same"}
    names |= {
        f"a.{name}"
        for name in dir(np.ndarray)
        if not name.startswith("_") and callable(getattr(np.ndarray, name))
    }
    assert names - called - set(EXEMPT) == set()
    assert set(EXEMPT) - names == set()
    assert {name.split()[0] for name in GATHERING} <= called
