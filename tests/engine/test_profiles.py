"""Profiles of call sites: bounded, counted, and the same on all ranks for what they compute together."""

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.lazy.profiles import CallSites, alone


def heavy(np, n):
    """Two loops that nobody looks into, with several lines that may be cut."""
    x = np.arange(n * 1.0) / n
    y = x * 0
    for _ in range(30):
        z = x * 0.5 + y[::-1]
        y = z - x * 0.25
        x = x + y * 0.125
    for _ in range(20):
        x = x * 0.5 + 1
        y = y + x
    return x, y


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("most", [1, 100])
def test_ranks_learn_the_same(rank, size, most):
    with (
        np.world.split(0),
        np.config(small=0, everywhere=0),
        policy.limited(pending=20, near=10, light=4, memo=most),
    ):
        alone.sites.clear()
        full = np.stats().caches_full
        for n in (60, 61):
            for ours, theirs in zip(heavy(np, n), heavy(numpy, n), strict=True):
                numpy.testing.assert_allclose(numpy.asarray(ours), theirs)
        sites = np.world.communicator.log.call_sites if size > 1 else alone.sites
        cuts = [site.cut for site in sites.values()]
        assert most == 1 or any(cuts)  # the latest may be a value that is computed again
        assert len(cuts) <= most
        assert most > 1 or np.stats().caches_full > full
        if size > 1:  # numbers of lines are those of each process
            order = list(sites)
            learnt = [
                cut and (cut.limit, cut.line in order and order.index(cut.line)) for cut in cuts
            ]
            every = np.world.communicator.allgather_object(learnt)
            assert every == [learnt] * size


def test_the_oldest_goes():
    with policy.limited(memo=2):
        sites = CallSites()
        kept = [sites.of(number) for number in (1, 2, 3)]
        assert list(sites) == [2, 3]
        assert sites.of(3) is kept[2]
        assert sites.known(None) is None
