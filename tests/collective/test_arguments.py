"""Functions on ranks with all kinds of arguments: NumPy's answer, or NumPy's kind of error."""

import warnings

import numpy as np
import pytest

import atoll
from atoll import Layout

from .argument_calls import CALLS, operands
from .in_place_calls import CHANGES

LAYOUTS = {
    "rows": lambda ndim: "b" + "n" * (ndim - 1),
    "cycles": lambda ndim: "n" * (ndim - 1) + "c",
    "grid": lambda ndim: "b" * ndim,
}


def outcome(module, line, names, changes):
    """What a line gives, as a flat list, or its error."""
    known = {"np": module, **names}
    try:
        if changes:
            exec(line, known)
            return [known[name] for name in names]
        return flat(eval(line, known))
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


def found_wrong(text, maps, size, *, changes=False):
    wrong = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for line in text.strip().splitlines():
            wholes = operands()
            placed = {
                name: atoll.asarray(whole.copy()).redistribute(
                    Layout(whole.shape, LAYOUTS[maps](whole.ndim), size=size)
                )
                for name, whole in wholes.items()
                if name in line
            }
            theirs = outcome(np, line, {k: wholes[k] for k in placed}, changes)
            said = differs(outcome(atoll, line, placed, changes), theirs)
            if said:
                wrong[line] = said
    return wrong


@pytest.mark.slow
@pytest.mark.simulated(3)
@pytest.mark.parametrize("part", range(4))
def test_calls(part, size):
    lines = CALLS.strip().splitlines()[part::4]
    assert found_wrong("\n".join(lines), ["rows", "grid"][part % 2], size) == {}


@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["cycles", "grid"])
def test_changes(maps, size):
    assert found_wrong(CHANGES, maps, size, changes=True) == {}


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
