"""Ranks that wait in vain find out that they have parted."""

from __future__ import annotations

import sys
from collections import deque

import pytest

from atoll.comm import watch as watching
from atoll.comm.trail import apart
from atoll.comm.watch import GRACE, Watch
from atoll.errors import DivergenceError

from ..cli.commands import atoll


class Post:
    """Mailboxes of ranks in one process."""

    def __init__(self, size):
        self.boxes = [[] for _ in range(size)]
        self.watches = [self.watch(rank, size) for rank in range(size)]

    def watch(self, rank, size):
        def poll():
            letters, self.boxes[rank] = self.boxes[rank], []
            return letters

        return Watch(rank, size, lambda peer, data: self.boxes[peer].append((rank, data)), poll)


@pytest.fixture
def places(monkeypatch):
    """Where each of two ranks is; the watch asks for one at a time."""
    marks = deque([1, 2, 3])
    monkeypatch.setattr(watching, "trail", marks)
    return marks


def test_who_is_apart():
    behind, ahead = (5, 6), deque([5, 6, 7, 8])
    assert not apart(ahead, behind)
    assert not apart(deque(behind), tuple(ahead))
    assert not apart(deque([5, 6]), (5, 6))
    assert not apart(deque(), (5,))
    assert apart(deque([5, 7]), (5, 6))


def test_ranks_at_the_same_operation_wait_on(places):
    first, second = Post(2).watches
    first.begin("a halo")
    second.begin("a halo")
    for now in (0.0, 100.0):
        first.look("a halo", None, now)
        second.look("a halo", None, now)


def test_ranks_at_different_operations_part(places):
    first, second = Post(2).watches
    places.append(6)
    first.begin("a halo")
    places[-1] = 8
    with pytest.raises(DivergenceError, match=r"rank 1 waits .* for: a sum; rank 0 waits .*a halo"):
        second.look("a sum", None, 0.0)


def test_a_rank_that_goes_on_is_believed(places):
    first, second = Post(2).watches
    places.append(6)
    first.begin("a halo")
    first.end()
    places[-1] = 8
    second.look("a sum", None, 0.0)


def test_a_rank_that_has_left(places):
    first, second, third = Post(3).watches
    first.leave()
    second.look("receive from rank 2", {2}, 0.0)
    second.look("receive from rank 2", {2}, 10.0 + GRACE)
    third.look("a sum", None, 0.0)
    with pytest.raises(DivergenceError, match=r"rank 0 has come to the end of its program"):
        third.look("a sum", None, GRACE + 0.1)


def test_many_ranks_tell_a_few(places):
    post = Post(1000)
    post.watches[3].leave()
    told = [rank for rank, box in enumerate(post.boxes) if box]
    assert {2, 4, 5, 7, 515} <= set(told)
    assert len(told) < 25


PARTED = {
    "a rank that has left": "if rank == 0: float(a.sum())",
    "different programs": "b = a[1:] + a[:-1] if rank == 0 else a[1:] * a[:-1]; float(b.sum())",
    "an element and a sum": "float(a[39, 3]) if rank == 0 else float(a.sum())",
}


@pytest.mark.skipif(sys.platform != "linux", reason="starts MPI")
@pytest.mark.parametrize("what", PARTED)
def test_a_program_whose_ranks_part_ends_soon(what):
    code = (
        "import atoll\nrank = atoll.world.rank\n"
        "atoll.config.small = 0\n"
        "a = atoll.arange(1600.0).reshape(40, 40) + 0\natoll.sync()\n"
        f"{PARTED[what]}\n"
    )
    outcome = atoll("run", "-n", "2", "-c", code)
    assert outcome.code == 1, outcome
    assert "DivergenceError" in outcome.errors, outcome
    assert "<string>:" in outcome.errors
    assert outcome.seconds < 15, outcome
