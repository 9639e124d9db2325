"""A loop that nobody looks into is cut where its pending work grows too heavy: at the same lines in each turn."""

import numpy as np
import pytest

import atoll


def turns(np, count):
    """Waves whose speed decides about the next step; what is pending doubles with each line."""
    x = np.arange(400.0).reshape(20, 20)
    h, p = 1 + x / 400, x * 0
    for _ in range(count):
        ratio = 0.1 / np.abs(h).max()
        flux = p * p / h + h * h
        h, p = (
            (np.roll(h, 1, 0) + np.roll(h, -1, 0)) / 2
            - ratio * (np.roll(p, 1, 1) - np.roll(p, -1, 1)),
            (np.roll(p, 1, 0) + np.roll(p, -1, 1)) / 2 - ratio * (np.roll(flux, 1, 0) - flux),
        )
    return h, p


@pytest.mark.timeout(200)
def test_the_plans_of_a_loop_are_found_in_its_first_turns():
    with atoll.config(small=0):
        turns(atoll, 6)
        atoll.sync()
        atoll.reset_stats()
        h, p = turns(atoll, 12)
        assert atoll.stats().plans_reused >= 6  # it has been cut
        assert atoll.stats().plans_made <= 2
        wanted = turns(np, 12)
        np.testing.assert_allclose(np.asarray(h), wanted[0], rtol=1e-12)
        np.testing.assert_allclose(np.asarray(p), wanted[1], rtol=1e-12, atol=1e-12)
