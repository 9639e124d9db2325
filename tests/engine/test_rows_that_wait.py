"""Arrays that every rank has: recorded and computed as in one process."""

import numpy
import pytest

import atoll


def rates(np, state):
    """Rows of a state, combined and stacked."""
    x, y, z = state
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 2.6 * z])


def ensemble(np, steps):
    state = np.ones((3, 2000)) + np.arange(6000.0).reshape(3, 2000) * 1e-3
    for _ in range(steps):
        slope = rates(np, state)
        state = state + 0.01 * rates(np, state + 0.005 * slope)
    return state


@pytest.mark.ranks(1, 2)
def test_rows_wait_for_what_is_computed_of_them(size):
    """Two programs compute twelve steps: each stack would else compute its rows."""
    with atoll.config(small=3000):
        mine = ensemble(atoll, 12)
        before = atoll.stats().plans_reused
        again = ensemble(atoll, 12)
        assert atoll.stats().plans_reused - before == 2
        for ours in (mine, again):
            numpy.testing.assert_allclose(ours, ensemble(numpy, 12), rtol=1e-12)


def totals(np, shape, *, looks):
    """Numbers of rows of what changes in each turn, which this rank may look at before."""
    x = np.ones(shape) + np.arange(float(shape[0] * shape[1])).reshape(shape) * 1e-5
    found = []
    for k in range(30):
        x = x * 1.0001 + 0.001
        if looks and k % 3 == 0:
            float(x[0, 5])
        first, second = x[1], x[2]
        y = 1 / (first + 2) * first + second / 3
        stacked = np.stack([y, first, second])
        squares = (stacked * stacked[::-1]).sum(axis=0)
        found += [float(y.sum()), float(squares.mean()), float(np.dot(first, second))]
        found.append(float(np.linalg.norm(squares)))
    return found


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.parametrize("shape", [(16, 3000), (8, 4500), (20, 9000), (300, 200)], ids=str)
def test_a_look_of_one_rank_changes_no_bit(shape, rank):
    with atoll.config(small=30_000, everywhere=None):
        unseen = totals(atoll, shape, looks=False)
        assert totals(atoll, shape, looks=rank == 0) == unseen
        numpy.testing.assert_allclose(unseen, totals(numpy, shape, looks=False), rtol=1e-12)
