"""Ranks that wait in vain find out that they have parted."""

from __future__ import annotations

import sys
from threading import Thread

import pytest

from atoll.comm.deadlock import DeadlockMonitor
from atoll.comm.launcher import HOW
from atoll.context.divergence import StepLog, difference
from atoll.errors import DivergenceError

from ..cli.commands import atoll


class Done:
    """The handle of a note that is there at once."""

    def Test(self):
        return True


class Post:
    """One rank's mailbox, and the way to those of others."""

    def __init__(self, rank, boxes):
        self.rank, self.size, self.boxes = rank, len(boxes), boxes
        self.log = StepLog(rank, 1 << 22)
        self.watch = DeadlockMonitor(self)

    def post_note(self, peer, data):
        self.boxes[peer].append(data)
        return Done()

    def notes(self):
        letters, self.boxes[self.rank] = self.boxes[self.rank], []
        return iter(letters)


class Received:
    """A note whose sending ends when it is received, as MPI may send what is long."""

    def __init__(self, data):
        self.data, self.received = data, False

    def Test(self):
        return self.received


class SlowPost(Post):
    """A mailbox of such notes, which come one by one."""

    def __init__(self, rank, boxes):
        super().__init__(rank, boxes)
        self.members = tuple(range(len(boxes)))

    def post_note(self, peer, data):
        note = Received(data)
        self.boxes[peer].append(note)
        return note

    def notes(self):
        if self.boxes[self.rank]:
            note = self.boxes[self.rank].pop(0)
            note.received = True
            yield note.data


class Wait:
    """A wait for one rank, or for all."""

    def __init__(self, peer=None):
        self.peer, self.done = peer, False

    def test(self):
        return False

    def describe(self):
        return "a message"


def posts(size):
    boxes = [[] for _ in range(size)]
    return [Post(rank, boxes) for rank in range(size)]


def test_where_two_logs_differ():
    first, second = StepLog(0, 1 << 22), StepLog(1, 1 << 22)
    for log in (first, second):
        log.step(5, "a sum")
    assert not difference(first.record(), second.record())
    first.step(6, "an element")
    assert not difference(first.record(), second.record())  # rank 1 is behind
    second.step(7, "a look")
    for one, other in ((first, second), (second, first)):
        said = difference(one.record(), other.record())
        assert "at step 2, rank 0 reached an element" in said
        assert "rank 1 a look" in said


def test_ranks_at_the_same_operation_wait_on():
    here, there = posts(2)
    for post in (here, there):
        post.log.step(1, "a halo")
    for _ in range(100):
        here.watch.check([Wait(1)])
        there.watch.check([Wait()])


def test_ranks_at_different_operations_part():
    here, there = posts(2)
    here.log.step(1, "a halo")
    there.log.step(2, "a sum")
    here.watch.check([Wait(1)])
    for post in (there, here):
        with pytest.raises(DivergenceError, match=r"rank 0 reached a halo at .*, rank 1 a sum"):
            post.watch.check([Wait()])


def test_a_rank_that_has_left():
    here, there, other = posts(3)
    for post in (here, there, other):
        post.log.step(1, "a halo")
    here.log.step(2, "a sum")
    other.log.gone = HOW
    here.watch.check([Wait()])
    other.watch.listen()
    with pytest.raises(
        DivergenceError, match="rank 2 has come to its end, its last step was a halo"
    ):
        here.watch.check([Wait()])
    with pytest.raises(DivergenceError, match="rank 2 has come to its end"):
        there.watch.check([Wait(0)])  # it is told, though it waits for another


def test_many_ranks_ask_a_few():
    many = posts(1000)
    many[3].watch.check([Wait()])
    told = [rank for rank, box in enumerate(many[0].boxes) if box]
    assert {2, 4, 5, 7, 515} <= set(told)
    assert len(told) < 25


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_rank_that_answers_at_its_end_is_not_left_alone(size):
    """Its answer is received, though the rank that has asked has come to its end meanwhile."""
    boxes = [[] for _ in range(size)]
    ranks = [SlowPost(rank, boxes) for rank in range(size)]
    ranks[0].watch.check([Wait()])
    leaving = [Thread(target=post.watch.leave, args=((), HOW), daemon=True) for post in ranks]
    for thread in leaving:
        thread.start()
    for thread in leaving:
        thread.join(20)
    assert not any(thread.is_alive() for thread in leaving)
    assert not any(boxes)


PARTED = {
    "a rank that has left": "if rank == 0: float(a.sum())",
    "different programs": "b = a[1:] + a[:-1] if rank == 0 else a[1:] * a[:-1]; float(b.sum())",
    "an element and a sum": "float(a[39, 3]) if rank == 0 else float(a.sum())",
}


@pytest.mark.slow
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
    assert (
        "all ranks compute `whole = numpy.asarray(a)`, outside of the condition" in outcome.errors
    )
