"""Messages between ranks of a node through memory that they share."""

from __future__ import annotations

import gc
import time

import numpy
import pytest

import atoll as np
from atoll import policy, system
from atoll.comm.channels import HEAD, Slot
from atoll.comm.persistent import PersistentBuffer, PersistentBuffers
from atoll.errors import DivergenceError, WaitTimeoutError


class Way:
    """Messages of some bytes from some ranks to the next ones, again and again."""

    def __init__(self, communicator, nbytes, senders):
        self.communicator, rank, size = communicator, communicator.rank, communicator.size
        self.leaving = [PersistentBuffer((rank + 1) % size, nbytes, "a test")] * (rank in senders)
        before = (rank - 1) % size
        self.arriving = [PersistentBuffer(before, nbytes, "a test")] * (before in senders)
        self.buffers = PersistentBuffers(communicator, self.arriving, self.leaving)
        self.nbytes = nbytes

    def begin(self, value):
        self.buffers.open()
        for b in self.leaving:
            b.spot.data[: self.nbytes] = value % 251
        self.buffers.begin()

    def end(self):
        self.buffers.end()
        return [b.spot.data[: self.nbytes] for b in self.arriving]

    @property
    def in_slots(self):
        ends = [*self.arriving, *self.leaving]
        return [isinstance(b.spot, Slot) for b in ends]


def step(communicator, number=0):
    communicator.log.step(number, "a step of the test")


@pytest.mark.ranks(2, 3, distributes=False)
@pytest.mark.parametrize(
    ("nbytes", "some"), [(0, False), (8, True), (300_000, False), (5000, True)]
)
def test_a_rank_reads_what_was_sent_and_the_sender_is_at_most_a_step_ahead(rank, nbytes, some):
    with np.world.split(0) as world:
        here = world.communicator
        way = Way(here, nbytes, {0} if some else set(range(here.size)))
        for turn in range(12):
            step(here)
            way.begin(10 * rank + turn)
            if rank == here.size - 1 and turn % 5 == 3:
                time.sleep(0.01)
            for data in way.end():
                assert (data == 10 * ((rank - 1) % here.size) + turn).all()
                time.sleep(0.001)
                assert (data == 10 * ((rank - 1) % here.size) + turn).all()
        assert all(way.in_slots)


@pytest.mark.ranks(2, distributes=False)
def test_several_messages_of_a_step_and_steps_with_other_ones(rank):
    """Exchanges that overlap, that end in another order, and that come in turn."""
    with np.world.split(0) as world:
        here = world.communicator
        ways = [Way(here, nbytes, {0, 1}) for nbytes in (8, 8, 700)]
        late = Way(here, 8, {0})
        for turn in range(20):
            step(here)
            these = ways[: 1 + turn % 3]
            if turn % 4 == 3:
                these = [late, *these]
            for k, way in enumerate(these):
                way.begin(50 * rank + turn + 20 * k)
            found = [way.end() for way in these[::-1]][::-1]
            for k, arrived in enumerate(found):
                for data in arrived:
                    assert (data == 50 * (1 - rank) + turn + 20 * k).all()
        assert all(way.in_slots[0] for way in ways)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.parametrize("left", [1, 2, 4])
def test_a_rank_that_replaces_its_buffers_or_leaves_a_run_unfinished_loses_nothing(rank, left):
    with np.world.split(0) as world:
        here = world.communicator
        way = Way(here, 900, {0, 1})
        for turn in range(9):
            step(here)
            if rank and turn == 3 + left:
                way = Way(here, 900, {0, 1})
            if way.buffers.under_way:
                way.buffers.ready()
            way.begin(50 * rank + turn)
            if turn != left:
                assert (way.end()[0] == 50 * (1 - rank) + turn).all()


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.parametrize(("room", "expected"), [(0, [False] * 3), (40_000, [True, True, False])])
def test_where_the_memory_ends_messages_go_by_mpi(rank, room, expected):
    with np.world.split(0) as world, policy.limited(node_messages=room):
        here = world.communicator
        ways = [Way(here, nbytes, {0}) for nbytes in (1000, 3000, 30_000)]
        for turn in range(6):
            step(here)
            for way in ways:
                way.begin(turn)
            for way in ways:
                for data in way.end():
                    assert (data == turn).all()
        assert [all(way.in_slots) for way in ways] == expected
        assert all(way.buffers._prepared is None for way in ways) == bool(room)


@pytest.mark.ranks(2, distributes=False)
def test_ranks_of_other_nodes_have_no_channel(rank):
    here, own = np.world.communicator, np.world.comm.Dup()
    with np.config(ranks_per_node=1):
        apart = np.use(own)
    with apart:
        assert apart.communicator.channel(1 - rank, sends=True) is None
    assert here.channel(rank, sends=True) is None
    assert here.channel(1 - rank, sends=True) is not None


def stepped(here, way, *values):
    for value in values:
        step(here)
        way.begin(value)
        way.end()


@pytest.mark.ranks(2, distributes=False)
def test_a_wait_for_a_slot_names_the_rank_and_its_line(rank):
    """A receiver that waits for a message, and a sender that waits until its memory is read."""
    for waits in (0, 1):
        with np.world.split(0) as world:
            here = world.communicator
            way = Way(here, 64, {0})
            for turn in range(4):
                stepped(here, way, turn)
            assert all(way.in_slots)
            here.barrier()
            if rank == waits:
                with np.config(wait_abort=0.3, wait_check=100.0):
                    operation = "receive from rank 0" if rank else "room for a message to rank 1"
                    with pytest.raises(WaitTimeoutError, match=operation) as caught:
                        stepped(here, way, *range(3))
                assert "a step of the test at test_channels.py" in str(caught.value)
                if system.has("memfd"):
                    assert f"rank {1 - rank} is at test_channels.py" in str(caught.value)
            else:
                time.sleep(1.0)
        np.world.barrier()


@pytest.mark.ranks(2, distributes=False)
def test_ranks_that_diverge_while_one_waits_for_a_slot_are_told(rank):
    with np.world.split(0) as world:
        here = world.communicator
        way = Way(here, 64, {0, 1})
        stepped(here, way, *range(4))
        if rank:
            step(here, 1)
        with np.config(wait_check=0.05), pytest.raises(DivergenceError, match="differ"):
            stepped(here, way, *range(3))
    np.world.barrier()


@pytest.mark.ranks(2, 3)
def test_halos_of_a_program_are_read_where_they_arrive(rank, size):
    """And the buffers of the first messages, which went by MPI, are given up."""
    a = np.zeros((60, 53))
    b = numpy.zeros((60, 53))
    a[0] = b[0] = 1.0
    for _ in range(6):
        for u in (a, b):
            u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        float(np.sum(a))
    assert (numpy.asarray(a) == b).all()
    mine = [
        b for b in gc.get_objects() if isinstance(b, PersistentBuffer) and b.nbytes == 51 * 8 + HEAD
    ]
    assert any(b.buffer is None for b in mine)
    here = np.world.communicator
    peers = [peer for peer in (rank - 1, rank + 1) if 0 <= peer < size]
    assert all(here.channel(peer, sends=way)._streams for peer in peers for way in (False, True))
