"""Ranks that have parted stay parted: whatever needs all of them says so at once, on each."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.errors import DivergenceError


def part(rank):
    """The error with which the ranks of the current world part."""
    a = np.arange(60.0).reshape(20, 3) + 0

    def different():
        return float((a * 2 if rank else a[1:] - a[:-1]).sum() + a.max())

    with pytest.raises(DivergenceError, match="ranks have diverged") as caught:
        different()
    return a, str(caught.value)


LATER = {
    "a sum": lambda a: float((a + 1).sum()),
    "an element": lambda a: a[19, 2],
    "the text": str,
    "a sort": lambda a: str(np.sort(a, axis=0)),
    "sync": lambda a: np.sync(),
    "a layout": lambda a: str(a.redistribute(np.Layout(a.shape, "nb"))),
    "a block": lambda a: np.from_local(numpy.ones(3)),
}


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_all_later_operations_are_refused_at_once(rank, size):
    with np.world.split(0):
        a, first = part(rank)
        for name, do in LATER.items():
            with pytest.raises(DivergenceError) as caught:
                do(a)
            text = str(caught.value)
            assert "start the program again" in text, name
            assert first.partition(";")[0][:60] in text or "ranks have diverged" in text
            assert "test_after_divergence.py:" in text
        assert a.shape == (20, 3)
    b = np.ones(30)
    assert float(b.sum()) == 30.0


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
def test_a_world_made_anew_works(rank):
    with np.world.split(0) as outer:
        part(rank)
        with np.world.split(0):
            assert float((np.arange(10.0) * 2).sum()) == 90.0
        assert outer.communicator.log.parted


@pytest.mark.ranks(2, distributes=True)
@pytest.mark.simulated(2)
def test_halo_exchanges_and_blocks_are_steps(rank):
    lies = np.Layout((12, 3), "bn")
    with np.world.split(0):
        a = np.zeros((12, 3), layout=lies)
        before = np.world.communicator.log.number
        np.sync()
        np.from_local(numpy.ones(4))
        assert np.world.communicator.log.number >= before + 2

        def alone():
            if rank:
                np.from_local(numpy.ones(4))
            return float(a.sum())

        with pytest.raises(
            DivergenceError, match=r"from_local\(\) at test_after_divergence.py:\d+"
        ):
            alone()
