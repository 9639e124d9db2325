"""Every public function and method on ranks: NumPy's answer or its kind of error, and no rank brings a whole array together."""

import math
import warnings

import numpy as np
import pytest

import atoll
from atoll import Block, Cyclic, Layout
from atoll.context import statistics
from atoll.functions import coverage

from . import calls

NUMBER = 256
"""Bytes that may be brought to every rank: a number, or a few that decide."""


def placed(whole, maps, size):
    """An operand on a layout; an uneven one has one row with the last rank, the others with the first."""
    more, n = whole.ndim - 1, len(whole)
    axes = {
        "rows": ("b", *"n" * more),
        "columns": (*"n" * more, "b"),
        "cycles": (*"n" * more, "c"),
        "cyclic": ("c" if more else Cyclic(2), *"n" * more),
        "grid": "b" * whole.ndim if more else "c",
        "uneven": (Block([0] + [n - 1] * (size - 1) + [n]), *"n" * more),
    }[maps]
    return atoll.asarray(whole.copy()).redistribute(Layout(whole.shape, axes, size=size))


def outcome(module, line, names):
    """What a line gives and what it leaves of its operands, as a flat list, or its error."""
    try:
        found = flat(calls.run(line, module, names))
        for one in found:
            if hasattr(one, "_evaluate"):
                one._evaluate()
        return [*found, *names.values()]
    except Exception as error:
        return error


def flat(result):
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in flat(part)]
    return [result]


def differs(ours, theirs):
    """In words, how an outcome is not NumPy's; nothing if it is."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        alike = isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))
        return "" if alike else f"NumPy: {theirs!r}, atoll: {ours!r}"
    if len(ours) != len(theirs):
        return f"NumPy gives {len(theirs)}, atoll {len(ours)}"
    for mine, other in zip(ours, theirs):
        if other is None:
            continue
        mine, other = np.asarray(mine), np.asarray(other)
        if (mine.dtype, mine.shape) != (other.dtype, other.shape):
            return f"NumPy: {other.dtype}{other.shape}, atoll: {mine.dtype}{mine.shape}"
        single = other.dtype.char in "fF"
        rtol, atol = (1e-5, 1e-6) if single else (1e-9, 1e-12)
        if not np.allclose(mine, other, rtol=rtol, atol=atol, equal_nan=True):
            return f"NumPy: {other}, atoll: {mine}"
    return ""


def found_wrong(lines, wholes, maps, size, most=NUMBER):
    """What each call gets wrong: its answer, or more bytes of whole arrays than it may gather."""
    wrong = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for line in lines:
            used = compile(line, "<a call>", "exec").co_names
            given = {name: whole for name, whole in wholes.items() if name in used}
            theirs = outcome(np, line, {name: whole.copy() for name, whole in given.items()})
            ours = {name: placed(whole, maps, size) for name, whole in given.items()}
            before = statistics.stats().gathered
            found = outcome(atoll, line, ours)
            gathered = statistics.stats().gathered - before
            if gathered > most and not calls.GATHERS.search(line):
                wrong[line] = f"gathers {gathered} bytes"
            said = differs(found, theirs)
            if said:
                wrong[line] = said
    return wrong


PUBLIC = calls.lines(calls.PUBLIC)


@pytest.mark.contract
@pytest.mark.ranks(2)
def test_every_call_in_rows(size):
    assert found_wrong(PUBLIC, calls.operands(), "rows", size) == {}


@pytest.mark.slow
@pytest.mark.simulated(3)
@pytest.mark.parametrize("number", range(4))
def test_each_call_on_another_layout(number, size):
    maps = ["columns", "grid", "uneven", "cyclic"][number]
    assert found_wrong(PUBLIC[number % 2 :: 2], calls.operands(), maps, size) == {}


@pytest.mark.slow
@pytest.mark.simulated(3)
@pytest.mark.parametrize("part", range(4))
def test_arguments_of_all_kinds(part, size):
    lines = calls.lines(calls.ARGUMENTS)[part::4]
    maps = ["rows", "grid"][part % 2]
    assert found_wrong(lines, calls.uneven_operands(), maps, size, math.inf) == {}


@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["cycles", "grid"])
def test_changes_in_place(maps, size):
    lines = calls.lines(calls.CHANGES)
    assert found_wrong(lines, calls.uneven_operands(), maps, size, math.inf) == {}


@pytest.mark.simulated(3)
def test_operands_by_name(size):
    a = atoll.arange(7)
    assert atoll.delete(arr=a, obj=1).tolist() == np.delete(np.arange(7), 1).tolist()
    assert atoll.insert(arr=a, obj=1, values=9).tolist() == np.insert(np.arange(7), 1, 9).tolist()
    with pytest.raises(TypeError, match="world"):
        atoll.bincount(a, world=3)


@pytest.mark.simulated(3)
def test_options_that_equal_their_defaults(size):
    x = atoll.linspace(0, 1, 60)
    before = atoll.stats().gathered
    found = atoll.polyfit(x, 2 * x + 1, 1, full=0, cov=0)
    assert atoll.stats().gathered - before <= 16  # two coefficients
    np.testing.assert_allclose(found, [2, 1])


def test_every_public_name_is_called():
    called = {name for line in PUBLIC for name in calls.attributes(line)}
    names = {name for name, kind in coverage().items() if kind != "same"}
    names |= {
        f"a.{name}"
        for name in dir(np.ndarray)
        if not name.startswith("_") and callable(getattr(np.ndarray, name))
    }
    assert names - called == set(calls.EXEMPT)
