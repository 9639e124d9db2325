"""Random loops over slices that move, in layouts at random; ``plan_search`` draws more of them."""

from __future__ import annotations

import pytest

from atoll.comm import simulated
from tests.engine.plan_search import check

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize(
    "seed", [*[pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 10)], 14]
)
def test_random_loops(seed, by_numpy):
    """Launches are run by NumPy: nothing is compiled."""
    ranks = 3
    moved = simulated.run(ranks, check, seed, seed=seed, rendezvous=seed % 3 == 1)
    assert max(moved) > 0
