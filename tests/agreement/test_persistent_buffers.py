"""All that one neighbour needs in a step travels in one message."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.comm.persistent import PersistentBuffer, PersistentBuffers
from atoll.errors import CommunicationError


def state(dtype=float):
    shape = (24, 5)
    whole = numpy.arange(120).reshape(shape).astype(dtype)
    return np.array(whole), whole


def step(np_, u, v, w):
    """Three arrays, each read at several shifts, in one window."""
    new = u[1:-1] + v[2:] - v[:-2] + 2 * w[:-2] * w[2:]
    other = v[1:-1] * (u[2:] - u[:-2]) + w[2:, ::-1]
    return np_.sum(new * other)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3, 4)
def test_one_message_to_each_neighbour(rank, size):
    (u, u0), (v, v0), (w, w0) = state(), state(numpy.float32), state(numpy.int16)
    neighbours = (rank > 0) + (rank < size - 1)
    for turn in range(5):
        before = np.stats()
        found = step(np, u, v, w)
        assert float(found) == pytest.approx(float(step(numpy, u0, v0, w0)), rel=1e-5)
        assert np.stats().messages - before.messages == neighbours
        for a in (u, u0):
            a[turn] += 3
        np.sync()


@pytest.mark.ranks(2, 3)
def test_a_step_of_laplace_is_one_message_to_each_neighbour(rank, size):
    a = np.zeros((200, 200))
    a[0] = 1.0
    moved = []
    for _ in range(6):
        before = np.stats()
        old = a.copy()
        a[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4
        float(np.sqrt(((a - old) ** 2).sum()))
        after = np.stats()
        moved.append((after.messages - before.messages, after.bytes_moved - before.bytes_moved))
    neighbours = (rank > 0) + (rank < size - 1)
    assert moved[-1] == (neighbours, neighbours * 198 * 8)


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
@pytest.mark.parametrize("rows", [40, 6000, 400000])
def test_few_and_many_bytes(rank, rows):
    """Persistent buffers, buffers packed for one run, and single messages."""
    lies = np.Layout((4, rows), "bn")
    a, b = np.zeros((4, rows), layout=lies), np.ones((4, rows), layout=lies)
    a[1] = np.arange(float(rows))
    b[2] = 5.0
    a0, b0 = np.asarray(a).copy(), np.asarray(b).copy()
    for turn in range(3):
        before = np.stats().messages
        c = a[1:] * 2 + b[:-1] - a[:-1] * b[1:]
        total = float(c.sum())
        messages = np.stats().messages - before
        if rows < 400000:
            assert messages == 1 - rank
        assert total == pytest.approx(float((a0[1:] * 2 + b0[:-1] - a0[:-1] * b0[1:]).sum()))
        a[0] = a0[0] = float(turn)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_a_parcel_of_another_step_is_refused(rank, size):
    with np.world.split(0) as world:
        communicator = world.communicator
        peer = 1 - rank
        leaving, arriving = (PersistentBuffer(peer, 8, "a test") for _ in range(2))
        buffers = (communicator.buffers or PersistentBuffers)(communicator, [arriving], [leaving])

        def exchange():
            buffers.open()
            leaving.data[:8] = rank + turn
            buffers.begin()
            buffers.end()

        for turn in range(4):
            communicator.log.step(turn, "a step of the test")
            exchange()
            assert (arriving.data[:8] == peer + turn).all()
        communicator.log.step(rank, "a step that differs")
        with pytest.raises(
            CommunicationError, match=r"differs at test_persistent_buffers.py|deadlock"
        ):
            exchange()


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
@pytest.mark.parametrize("left", [0, 1, 3])
def test_what_a_failed_run_left_is_ended_before_the_next(rank, left):
    """The messages of a run that began and did not end are not taken for those of a later one."""
    with np.world.split(0) as world:
        communicator = world.communicator
        leaving, arriving = (PersistentBuffer(1 - rank, 8, "a test") for _ in range(2))
        buffers = (communicator.buffers or PersistentBuffers)(communicator, [arriving], [leaving])
        for turn in range(6):
            communicator.log.step(turn, "a step of the test")
            buffers.open()
            leaving.data[:8] = 10 * rank + turn
            buffers.begin()
            if turn == left:
                continue
            buffers.end()
            assert (arriving.data[:8] == 10 * (1 - rank) + turn).all()


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_sums_of_ranks_that_are_no_plain_numbers(size, dtype):
    """Infinities that meet, what is too large, zeros with a sign, integers that wrap round."""
    big = 2**62 if dtype == "int64" else numpy.finfo(dtype).max
    for ends in ((0, 0), (big, big), (big, 1), (-big, -big)):
        whole = numpy.zeros(24, dtype)
        whole[0], whole[-1] = ends
        with numpy.errstate(all="ignore"):
            expected = whole.sum(), whole.max(), whole.prod()
            a = np.array(whole)
            for _ in range(2):
                found = np.sum(a), np.max(a), np.prod(a)
                assert [one.item() for one in found] == [one.item() for one in expected]
                np.sync()
    if dtype == "int64":
        return
    for ends in ((numpy.inf, -numpy.inf), (numpy.nan, 1)):
        whole[0], whole[-1] = ends
        with numpy.errstate(all="ignore"):
            a = np.array(whole)
            for _ in range(2):
                assert numpy.isnan(np.sum(a).item())
                np.sync()
    whole[...] = -0.0
    a = np.array(whole)
    assert numpy.signbit(np.sum(a).item().real) == numpy.signbit(whole.sum().real)
