"""Parts and their messages: order, packing, letting go, and what a wait says."""

from __future__ import annotations

import numpy as np
import pytest

import atoll
from atoll.comm.simulated import Simulation, run
from atoll.config import config
from atoll.errors import PartitionInducedCycleError, WaitTimeoutError
from atoll.exchange.messages import Message, Piece
from atoll.execute.parts import Part, Schedule, State
from atoll.graph.node import Value


class Note:
    """A step that writes down that it ran, and what registers it saw."""

    def __init__(self, seen, name, *registers, makes=None) -> None:
        self.seen, self.name, self.registers, self.makes = seen, name, registers, makes

    def run(self, state) -> None:
        found = [state.registers[k] for k in self.registers]
        self.seen.append((self.name, *[None if v is None else v.array.tolist() for v in found]))
        if self.makes is not None:
            register, array = self.makes
            state.registers[register] = Value(np.asarray(array))


def test_parts_run_in_order_of_need_and_of_the_schedule() -> None:
    seen: list = []
    parts = [Part([Note(seen, name)]) for name in "abcd"]
    schedule = Schedule(atoll.world.communicator, parts, [(2,), (), (), (0, 1)])
    schedule.run(State([], ()), 0)
    assert [name for name, *_ in seen] == ["b", "c", "a", "d"]


def test_parts_that_wait_for_each_other_are_named() -> None:
    schedule = Schedule(atoll.world.communicator, [Part([]), Part([])], [(1,), (0,)])
    with pytest.raises(PartitionInducedCycleError, match="wait for each other"):
        schedule.run(State([], ()), 0)


def piece(register, shape=(3,), key=None):
    return Piece(register, shape, np.dtype(float), key)


def test_what_is_sent_comes_after_its_part_and_what_is_read_before() -> None:
    """Late messages first, pieces of one message for two parts, registers let go by the last reader."""

    def program():
        rank, other = atoll.world.rank, 1 - atoll.world.rank
        communicator = atoll.world.communicator
        seen: list = []
        both = Message(other, 0, [piece(0), piece(1, (2,))], "two pieces")
        alone = Message(other, 1, [piece(2)], "one piece")
        there, later = (Message(other, t, p.pieces, p.what) for t, p in ((0, both), (1, alone)))
        there.readers, later.readers = (1, 2), (3,)
        # registers 3 to 5 are what arrives
        there.pieces = tuple([p._replace(register=p.register + 3) for p in there.pieces])
        later.pieces = tuple([p._replace(register=p.register + 3) for p in later.pieces])
        values = [np.full(3, rank + 1.0), np.full(2, rank + 5.0), np.full(3, rank + 9.0)]
        parts = [
            Part([Note(seen, "make", makes=(2, values[2]))], sends=[both, alone]),
            Part([Note(seen, "first", 3)], reads=[3, 4]),
            Part([Note(seen, "second", 3, 4)], reads=[3, 4]),
            Part([Note(seen, "third", 3, 4, 5)]),
        ]
        schedule = Schedule(
            communicator, parts, [(), (), (1,), (2,)],
            arriving=[later, there], uses={3: 2, 4: 2},
        )  # fmt: skip
        state = State([Value(values[0]), Value(values[1]), None, None, None, None], ())
        assert schedule.run(state, 100) is None
        return seen

    for seed in range(4):
        for rank, seen in enumerate(Simulation(2, seed=seed, rendezvous=seed > 1).run(program)):
            there = 1 - rank
            three, two, nine = [there + 1.0] * 3, [there + 5.0] * 2, [there + 9.0] * 3
            assert seen == [
                ("make",),
                ("first", three),
                ("second", three, two),
                ("third", None, None, nine),
            ]


def test_a_wait_names_the_messages() -> None:
    def program() -> None:
        message = Message(1 - atoll.world.rank, 3, [piece(0)], "the halo of u")
        message.readers = (0,)
        schedule = Schedule(atoll.world.communicator, [Part([])], [()], arriving=[message])
        schedule.run(State([None], ()), 40)

    with pytest.raises(Exception, match=r"receive from rank 1, tag 43 \(the halo of u\)"):
        run(2, program)


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
def test_pieces_for_one_neighbour_travel_in_one_message(rank: int, size: int) -> None:
    n = 40
    a, b = atoll.arange(float(n)) + 1, atoll.arange(float(n)) * 3 + 1
    atoll.sync()
    x = a[1:] * b[:-1] - b[1:] * a[:-1]
    before = atoll.stats()
    x._cell.settle()
    # an element of a and one of b, which both belong to rank 0
    assert atoll.stats().messages - before.messages == (rank == 0)
    one, other = np.arange(float(n)) + 1, np.arange(float(n)) * 3 + 1
    np.testing.assert_array_equal(np.asarray(x), one[1:] * other[:-1] - other[1:] * one[:-1])


def test_time_limits_hold_for_parts() -> None:
    """Real ranks are not needed: one that never sends is enough."""

    def program() -> None:
        communicator = atoll.world.communicator
        if communicator.rank:
            communicator.advance(1000.0)
            communicator.barrier()
            return
        message = Message(1, 0, [piece(0)], "what never comes")
        message.readers = (0,)
        Schedule(communicator, [Part([])], [()], arriving=[message]).run(State([None], ()), 0)

    with config(wait_abort=5.0), pytest.raises(Exception, match="what never comes") as caught:
        run(2, program)
    assert isinstance(caught.value, WaitTimeoutError) or "deadlock" in str(caught.value).lower()
