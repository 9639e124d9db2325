"""Ranks that do different things get the same error, and never a wrong number."""

import numpy as np
import pytest

import atoll
from atoll.context.divergence import MESSAGE_BITS, StepLog
from atoll.errors import CommunicationError, DivergenceError
from atoll.lazy.evaluation import look_up
from atoll.ops.fingerprint import look_alike, outlined


def grid():
    a = atoll.arange(36.0).reshape(6, 6) + 0
    atoll.sync()
    return a


def apart():
    """A world of its own: what ranks that part leave behind is met by nobody later."""
    return atoll.world.split(0, atoll.world.rank)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 4)
def test_different_reductions(rank, size):
    with apart():
        a = grid()
        with pytest.raises(DivergenceError, match="ranks have diverged"):
            float(a.sum() if rank == 0 else a.max())


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
def test_different_shapes(rank, size):
    with apart():
        a = grid()
        with pytest.raises(DivergenceError, match=r"test_divergence.py:\d+"):
            float((a[1:] if rank else a[:-2]).sum())


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
def test_a_search_among_different_things(rank):
    with apart():
        a = grid()
        with pytest.raises(DivergenceError, match="ranks have diverged"):
            int(a.argmax() if rank else (a * 2).argmin())


@pytest.mark.simulated(2, 3)
def test_messages_of_different_programs_never_meet(rank, size):
    a = grid()
    other = a[1:] + a[:-1] if rank == 0 else a[1:] * a[:-1]
    with pytest.raises(CommunicationError):  # the ranks wait for what never comes
        np.asarray(other)


@pytest.mark.ranks(2)
def test_fingerprints_are_equal_on_all_ranks(rank):
    a = grid()
    b = (a[1:] - a[:-1]) * 2 + a.T[:-1]
    garbage = [atoll.ones((4, 4)) for _ in range(rank)]  # ranks number things differently
    found = look_up((b._node(),))
    mark = outlined(found.order, [b._node()], found.leaves).of(found.order)
    every = atoll.world.communicator.allgather_object(mark)
    assert every == [mark] * 2
    assert len(garbage) == rank


def fingerprint(node):
    found = look_up([node])
    return outlined(found.order, [node], found.leaves).of(found.order)


@pytest.mark.simulated(2)
def test_values_that_look_alike_are_told_from_others():
    with atoll.config(small=0, everywhere=0):
        a, b = grid(), grid()

        def nodes(*arrays):
            return [array._node() for array in arrays]

        shared = a * b
        for apart in (
            nodes(a + b, a - b, a * 2),
            nodes(a[1:] + b[1:], a[:-1] + b[:-1]),
            nodes(shared + a, (shared + a) * 2),
            nodes(a + b, a[1:] + b[1:]),
        ):
            assert not look_alike(apart)
        for alike in (
            nodes(a + b, a * 2, b + a),
            nodes(shared + a, (b * a) + b),
            nodes(a[1:] + b[1:], b[1:] + a[1:]),
        ):
            assert look_alike(alike)
            marks = {fingerprint(node) for node in alike}
            assert len(marks) < len(alike)


def test_tags_stay_below_the_limit():
    for limit in (32766, 1 << 22, (1 << 23) - 1, 2**31 - 1):
        log = StepLog(0, limit)
        found = set()
        for k in range(5000):
            log.step(k, "a test")
            found.add(log.tag)
        assert max(found) + (1 << MESSAGE_BITS) <= limit
        assert len(found) > min(4000, (limit >> MESSAGE_BITS) // 4)
