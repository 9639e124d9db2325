"""Sums, extremes and their kin."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.config import config
from atoll.plan.nests import strip_width

from .oracle import SMALL, arrays, check_line, lines

REDUCTIONS = """
r = np.sum(a, where=a > 0)
r = a.sum(initial=3)
r = a.sum(dtype='f4')
r = a.sum(dtype='i4')
r = a.sum(axis=7)
r = a.sum(axis=(0, 0))
r = a.sum(axis='x')
r = a.max(initial=100)
r = a.max(where=a > 0)
r = a.min(where=a > 0, initial=5)
r = a.mean(where=a > 0)
r = a.mean(dtype='f4')
r = a.var(ddof=1)
r = a.var(ddof=100)
r = np.std(a, correction=1)
r = a.std(axis=0, mean=a.mean(axis=0, keepdims=True))
r = np.sum(a, 0, None, np.zeros(a.shape[1:]))
r = np.average(a, weights=abs(a))
r = np.average(a, 0, [1] * a.shape[0])
r = np.average(a, returned=True)
r = np.ptp(a, axis=0)
r = a.all(axis=0)
r = (a > 0).any(1, keepdims=True)
r = a.argmax(axis=1)
r = np.argmin(a, keepdims=True)
r = a.argmax(axis=9)
r = np.argmin(a, axis=0, out=np.zeros(a.shape[1:], int))
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "i", "t"])
@pytest.mark.parametrize("line", lines(REDUCTIONS))
def test_reductions(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=16)


@pytest.mark.parametrize("columns", [31, 33, 1000, 1001, 2047, 2999, 4099])
def test_columns_are_shared_out_in_strips(columns):
    """Whatever the number of columns: each is folded once, and hardly any are left over."""
    width = strip_width(columns)
    assert 0 < width <= max(2048, columns if columns < 32 else 0)
    assert columns % width < 8
    a = numpy.random.default_rng(columns).integers(-9, 9, (140_000 // columns, columns))
    with config(threads=2):
        for name in ("sum", "min", "any", "argmax"):
            found = getattr(np, name)(np.array(a), axis=0)
            assert (numpy.asarray(found) == getattr(numpy, name)(a, axis=0)).all()


@pytest.mark.parametrize("name", ["var", "std"])
def test_a_correction_that_is_left_out_by_its_mark(name):
    whole = numpy.arange(9.0)
    given = {"correction": numpy._NoValue}
    found = getattr(np, name)(np.array(whole), **given)
    assert found == getattr(numpy, name)(whole, **given)
