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
