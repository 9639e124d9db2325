"""Many requests are tested a few at a time: in order, and each in its turn."""

from __future__ import annotations

import numpy as np
import pytest

import atoll
from atoll.comm.communicator import FEW, Pending
from atoll.comm.single import SingleCommunicator
from atoll.exchange.messages import Message, Piece
from atoll.execute.parts import Part, Schedule, State
from atoll.graph.node import Value


class Counting(SingleCommunicator):
    """A rank alone that notes how many requests each test looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[int] = []

    def test_some(self, requests):
        self.looks.append(len(requests))
        return super().test_some(requests)


@pytest.mark.parametrize("order", ["forward", "backward", "mixed"])
@pytest.mark.parametrize("count", [3, 2 * FEW, 500])
def test_each_arrives_and_no_test_looks_at_all(count: int, order: str) -> None:
    rank = Counting()
    arrays = [np.empty(1) for _ in range(count)]
    pending = Pending(rank, [(rank.irecv(array, 0, k), k) for k, array in enumerate(arrays[:2])])
    for k, array in enumerate(arrays[2:], 2):
        pending.add(rank.irecv(array, 0, k), k)
    assert len(pending) == count
    tags = list(range(count))[:: -1 if order == "backward" else 1]
    if order == "mixed":
        np.random.default_rng(count).shuffle(tags)
    for tag in tags:
        assert pending.test() == []
        rank.send(np.array([float(tag)]), 0, tag)
        turns = 0
        while not (done := pending.test()):
            turns += 1
        assert turns <= count // FEW + 1
        assert [item for _, item in done] == [tag]
        assert arrays[tag][0] == tag
    assert not pending
    assert pending.test() == []
    assert max(rank.looks) <= 2 * FEW
    if order == "forward":
        assert len(rank.looks) == 2 * count


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_a_schedule_of_many_messages_looks_at_a_few(rank: int, size: int, monkeypatch) -> None:
    """Rank 0 answers requests in the order in which they come, which is not that of its receives."""
    communicator, count = atoll.world.communicator, 300
    looks: list[int] = []
    test_some = communicator.test_some

    def counted(requests):
        looks.append(len(requests))
        return test_some(requests)

    monkeypatch.setattr(communicator, "test_some", counted)
    pieces = [Piece(k, (1,), np.dtype(float)) for k in range(count)]
    arriving = [Message(1 - rank, k, [pieces[k]], "a number") for k in range(count)]
    registers: list = [None] * count
    if rank:
        order = np.random.default_rng(1).permutation(count)
        registers = [Value(np.array([float(k)])) for k in range(count)]
        parts = [Part((), sends=[Message(0, k, [pieces[k]], "a request") for k in order.tolist()])]
    else:
        parts = [Part((), sends=[Message(1, k, [pieces[k]], "a reply")]) for k in range(count)]
    for k, message in enumerate(arriving):
        message.readers = () if rank else (k,)
    schedule = Schedule(communicator, parts, [[] for _ in parts], arriving=arriving)
    schedule.run(State(registers, ()), 0)
    assert [value.array[0] for value in registers] == list(range(count))
    assert max(looks, default=0) <= 2 * FEW
