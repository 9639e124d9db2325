"""Filters of warnings belong to a process: they change nothing of what its rank computes, or when. Errors belong to all."""

import warnings

import numpy
import pytest

import atoll


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("action", ["error", "ignore"])
def test_a_rank_may_have_filters_of_its_own(rank, action):
    a = atoll.arange(30.0)
    with warnings.catch_warnings():
        if rank == 1:
            warnings.simplefilter(action)
        b = a * 2
        c = b[::-1] + b
        total = c.sum()
        assert total == 30 * 58
    b[1:] = c[:-1]
    assert b[-1] == 58


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_all_ranks_raise_what_one_of_them_met(size):
    """The zero lies on the last rank; the others stop, too, and all of them can go on."""
    a, z = atoll.arange(4.0 * size), atoll.ones(4 * size)
    z[-1] = 0
    with atoll.errstate(divide="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
            float((a / z + 1).sum())
        with pytest.raises(FloatingPointError):
            numpy.asarray(1 / z)
    z[-1] = 2
    assert float((a / z)[-1]) == (4 * size - 1) / 2
    with pytest.raises(ValueError, match="negative integer powers"):
        numpy.asarray(atoll.arange(4 * size) ** atoll.arange(2, 2 - 4 * size, -1))
    assert float(a.sum()) == sum(range(4 * size))
