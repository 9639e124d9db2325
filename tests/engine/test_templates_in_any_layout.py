"""Random loops over slices that move, in layouts at random; ``template_search`` draws more of them."""

from __future__ import annotations

import pytest

from atoll.comm import simulated
from atoll.lazy import evaluate
from tests.engine.template_search import check
from tests.plan import reference

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("seed", [2, 10, 14])
def test_random_loops(seed, monkeypatch):
    """Launches are run by NumPy: nothing is compiled."""
    monkeypatch.setattr(evaluate, "make_launch", reference.ReferenceLaunch)
    ranks = 3
    moved = simulated.run(ranks, check, seed, seed=seed, rendezvous=seed % 3 == 1)
    assert max(moved) > 0
