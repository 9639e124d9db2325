"""Filters of warnings belong to a process: they change nothing of what its rank computes, or when."""

import warnings

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
