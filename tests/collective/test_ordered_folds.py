"""Ufuncs whose order matters: NumPy's bits on ranks, from shares of the array."""

import numpy as np
import pytest

import atoll
from atoll.context import statistics

from .distributions import normal, put, uneven

UFUNCS = [
    "subtract",
    "divide",
    "fmod",
    "copysign",
    "hypot",
    "logaddexp",
    "nextafter",
    "logical_xor",
]


@pytest.mark.slow
@pytest.mark.ranks(2)
@pytest.mark.simulated(3, 7)
def test_reductions_and_scans_in_the_order_of_the_elements(size):
    line, rows = normal((60,)), normal((24, 5))
    few, deep = normal((4, 3)), normal((3, 9, 4))
    numbers = (normal((30, 4)) * 9).astype(np.int64)
    before = statistics.stats().gathered
    for name in UFUNCS:
        ufunc = getattr(np, name)
        ours = getattr(atoll, name)
        for whole, maps, axis in [
            (line, "b", 0),
            (rows, "bn", 0),
            (rows, "bn", 1),
            (few, "cn", 0),
            (deep, "nbn", 1),
            (deep, "nnb", -1),
        ]:
            a = put(whole, maps, size)
            with np.errstate(all="ignore"):
                theirs = ufunc.reduce(whole, axis=axis, keepdims=True)
                assert np.array_equal(ours.reduce(a, axis, keepdims=True), theirs)
                assert np.array_equal(ours.reduce(a, axis), theirs.squeeze(axis))
                theirs = ufunc.accumulate(whole, axis=axis)
                assert np.array_equal(ours.accumulate(a, axis), theirs)
    a = put(numbers, "bn", size)
    for name in ("subtract", "floor_divide", "gcd", "left_shift"):
        with np.errstate(all="ignore"):
            theirs = getattr(np, name).reduce(numbers)
            assert np.array_equal(getattr(atoll, name).reduce(a), theirs)
    assert np.array_equal(
        atoll.subtract.reduce(a, dtype=np.float32), np.subtract.reduce(numbers, dtype=np.float32)
    )
    out = atoll.zeros(4)
    assert atoll.subtract.reduce(uneven(rows[:, :4], size), 0, out=out) is out
    assert np.array_equal(out, np.subtract.reduce(rows[:, :4]))
    assert statistics.stats().gathered - before < 1 << 10 or size == 1


@pytest.mark.simulated(3)
def test_errors_are_numpys(size):
    a = put(normal((24, 5)), "bn", size)
    with pytest.raises(ValueError, match="not reorderable"):
        atoll.subtract.reduce(a, axis=None)
    with pytest.raises(ValueError, match="negative integer powers"):
        atoll.power.reduce(put(np.arange(-9, 9), "b", size))
    with pytest.raises(np.exceptions.AxisError):
        atoll.subtract.reduce(a, axis=2)


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_what_needs_the_whole_array_on_each_rank_is_refused_where_it_is_large(size):
    whole = normal((18, 18))
    a = put(whole, "bn", size)
    with atoll.config(gather_bytes=18 * 18 * 8 - 1):
        with pytest.raises(
            MemoryError, match=rf"eigvals: .* \(18, 18\): 2.53 KiB on each of {size} "
        ):
            atoll.linalg.eigvals(a)
        assert np.isfinite(np.asarray(atoll.linalg.det(a)))
    with atoll.config(gather_bytes=18 * 18 * 8):
        np.testing.assert_allclose(atoll.linalg.eigvals(a), np.linalg.eigvals(whole))
