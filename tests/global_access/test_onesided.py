"""One-sided operations: any rank reads and writes any part, compared with NumPy on the whole array."""

import os

import numpy as np
import pytest

import atoll
from atoll import Block, Cyclic, Layout, Unstructured, system
from atoll.errors import (
    AtollError,
    CommunicationError,
    LayoutError,
    LayoutIndexError,
    RankFailedError,
    WaitTimeoutError,
)

from . import test_corners

everywhere = [pytest.mark.ranks(1, 2, 3), pytest.mark.simulated(1, 4)]
sharing = pytest.mark.skipif(
    not all(map(system.has, ("robust", "memfd", "proc"))),
    reason="ranks share no mutexes, or no lines",
)
REF = np.arange(70.0).reshape(7, 10)


def on(*marks):
    def mark(function):
        for each in marks:
            function = each(function)
        return function

    return mark


def layouts(size):
    """Layouts of the shape (7, 10) for any number of ranks: uneven, cyclic, listed, with copies, with nobody's ranks."""
    lists = [list(range(rank, 7, size)) for rank in range(size)]
    uneven = (0,) + (7,) * size if size == 1 else (0, 0, *[2 + k for k in range(size - 2)], 7)
    yield None
    yield Layout((7, 10), "bn")
    yield Layout((7, 10), [Block(uneven), None])
    yield Layout((7, 10), [None, Cyclic(2)])
    yield Layout((7, 10), [Unstructured(lists), None])
    yield Layout((7, 10), [Block(padding=(1, 1)), None], grid=(min(size, 3), 1))
    yield Layout((7, 10), "nn")
    yield Layout((7, 10), [Unstructured([range(7)] * size), None])
    yield Layout((7, 10), "nn", ranks=[size - 1])


REGIONS = [
    ...,
    3,
    (-1, 4),
    (slice(2, 5), slice(1, 9)),
    (slice(None, None, -2), slice(8, None, -3)),
    (slice(4, 4), slice(None)),
    ([5, 0, 3], slice(2, 7)),
    (..., [9, 1]),
    (slice(1, 2), slice(3, 4)),
    (4, slice(2, 4)),
]


def spread(ref):
    """An array that lies on all ranks."""
    return atoll.asarray(ref).redistribute(Layout.default(ref.shape))


@on(*everywhere)
def test_get_put_and_accumulate_agree_with_numpy(rank, size):
    for layout in layouts(size):
        a = atoll.array(REF) if layout is None else atoll.asarray(REF).redistribute(layout)
        ref = REF.copy()
        with atoll.onesided(a) as g:
            for number, region in enumerate(REGIONS):
                assert g.get(region).dtype == ref.dtype
                np.testing.assert_array_equal(g.get(region), ref[region], str((layout, region)))
                out = np.zeros(ref[region].shape, np.float32)
                assert g.get(region, out) is out
                np.testing.assert_array_equal(out, ref[region].astype(np.float32))
                g.fence()
                if rank == number % size:
                    g.put(region, ref[region] * 2)
                ref[region] *= 2
                g.fence()
                g.accumulate(region, 1)
                ref[region] += size
                g.fence()
            np.testing.assert_array_equal(g.get(...), ref)
        np.testing.assert_array_equal(np.asarray(a), ref)
        a += 1  # the array is an ordinary one again
        np.testing.assert_array_equal(np.asarray(a), ref + 1)


@on(*everywhere)
def test_elements_agree_with_numpy(rank, size):
    random = np.random.default_rng(5)
    for layout in layouts(size):
        a = atoll.array(REF) if layout is None else atoll.asarray(REF).redistribute(layout)
        ref = REF.copy()
        rows, columns = random.integers(-7, 7, (2, 8)), random.integers(-10, 10, (2, 8))
        with atoll.onesided(a) as g:
            np.testing.assert_array_equal(g.gather((rows, columns)), ref[rows, columns])
            assert g.gather((rows[:0], columns[:0])).shape == (0, 8)
            g.fence()
            g.scatter_add((rows, columns), columns)
            g.fence()
            for _ in range(size):
                np.add.at(ref, (rows, columns), columns)
            np.testing.assert_array_equal(g.get(...), ref)
            g.fence()
            if rank == size - 1:
                g.scatter((rows, 3), 100 * columns)
            ref[rows, 3] = 100 * columns
        np.testing.assert_array_equal(np.asarray(a), ref)


@on(*everywhere)
def test_a_view_is_addressed_in_its_own_coordinates(rank, size):
    views = [
        lambda x: x[1:6:2].T,
        lambda x: x[::-1, 2:9],
        lambda x: x[3],
        lambda x: x[:, None, ::3],
        lambda x: x.reshape(10, 7),
        lambda x: x.reshape(-1)[3:50:4],
    ]
    for view in views:
        a, ref = spread(REF), REF.copy()
        part = view(a)
        with atoll.onesided(part) as g:
            np.testing.assert_array_equal(g.get(...), view(ref))
            g.fence()
            if rank == 0:
                g.put(-1, -5)
            view(ref)[-1] = -5
        np.testing.assert_array_equal(np.asarray(part), view(ref))
        np.testing.assert_array_equal(np.asarray(a), ref)


@on(*everywhere)
def test_periodic_regions_wrap_around(rank, size):
    a, ref = spread(REF), REF.copy()
    with atoll.onesided(a) as g:
        for first, second in [
            (range(-2, 3), range(8, 13)),
            (range(9, -12, -4), range(-25, 30, 7)),
            (range(5, 20), range(3)),
        ]:
            region = tuple([slice(r.start, r.stop, r.step) for r in (first, second)])
            wrapped = np.ix_(np.array(first) % 7, np.array(second) % 10)
            np.testing.assert_array_equal(g.get(region, periodic=True), ref[wrapped])
            g.fence()
            g.accumulate(region, 1, periodic=True)
            g.fence()
            for _ in range(size):
                np.add.at(ref, wrapped, 1)
            np.testing.assert_array_equal(g.get(...), ref)
        assert g.get((-8, 13), periodic=True) == ref[-1, 3]


@on(*everywhere)
@pytest.mark.parametrize(
    ("op", "function"),
    [("min", np.minimum), ("max", np.maximum), ("and", np.bitwise_and), ("xor", np.bitwise_xor)],
)
def test_every_operation_of_accumulate(rank, size, op, function):
    start, values = np.arange(12) * 7 % 13, np.arange(12) * 5 % 11
    a = spread(start)
    with atoll.onesided(a) as g:
        if rank == 0:
            g.accumulate(..., values, op)
        g.fence()
        np.testing.assert_array_equal(g.get(...), function(start, values))
        g.fence()
        g.accumulate(slice(3, 6), [4, 5, 6], "replace")
    np.testing.assert_array_equal(np.asarray(a)[3:6], [4, 5, 6])


@on(*everywhere)
def test_elements_of_a_structured_dtype(rank, size):
    dtype = np.dtype([("n", "i4"), ("x", "f8", 2)])
    a = atoll.zeros(9, dtype, layout=Layout.default((9,)))
    with atoll.onesided(a) as g:
        if rank == 0:
            g.put(slice(1, 8, 3), np.array((3, (1, 2)), dtype))
        g.fence()
        assert repr(g.get(4).item()) == "(3, array([1., 2.]))"
        assert g.gather(np.array([4, 4]))["n"].tolist() == [3, 3]
        new = np.array((5, (0, 0)), dtype)
        g.fence()
        if rank == 0:
            assert g.compare_swap(4, np.array((3, (1, 2)), dtype), new)["n"] == 3
        g.fence()
        assert g.get(4)["n"] == 5
        with pytest.raises(TypeError):
            g.accumulate(0, 1)


@pytest.mark.slow
@on(pytest.mark.ranks(2, 4), pytest.mark.simulated(16))
def test_conflicting_updates_give_an_exact_sum(rank, size):
    a, counter = atoll.zeros((8, 9)), atoll.zeros(3, int)
    random = np.random.default_rng(rank)
    expected = np.zeros((8, 9))
    drawn = []
    with atoll.onesided(a) as g, atoll.onesided(counter) as c:
        for turn in range(30):
            rows, columns = np.sort(random.integers(0, 9, 2)), np.sort(random.integers(0, 10, 2))
            region = slice(*rows.tolist()), slice(*columns.tolist())
            g.accumulate(region, rank + 1)
            expected[region] += rank + 1
            picked = random.integers(0, 8, 6), random.integers(0, 9, 6)
            g.scatter_add(picked, turn)
            np.add.at(expected, picked, turn)
            drawn.append(c.fetch_add(1, 2))
            while c.compare_swap(2, 0, 1):
                pass
            with g.lock(turn % size):
                value = g.get((7, 8))
                g.put((7, 8), value + 0)
            assert c.compare_swap(2, 1, 0) == 1
        everyone = atoll.world.communicator.allreduce(expected)
        every = atoll.world.communicator.allgather(np.array(drawn))
        g.fence()
        found = g.get(...)
    everyone[7, 8] = found[7, 8] = 0  # put without a lock against the accumulates
    np.testing.assert_array_equal(found, everyone)
    assert sorted(every.ravel().tolist()) == list(range(0, 60 * size, 2))


@on(*everywhere)
def test_requests_complete(rank, size):
    a = spread(REF)
    with atoll.onesided(a) as g:
        out = np.empty((2, 10))
        request = g.iget(slice(3, 5), out)
        while not request.test():
            pass
        assert request.wait() is out
        np.testing.assert_array_equal(out, REF[3:5])
        g.fence()
        if rank == 0:
            assert g.iput((2, slice(2, 4)), [1, 2]).wait() is None
            g.flush()
        g.fence()
        assert g.get((2, slice(1, 5))).tolist() == [21, 1, 2, 24]


@on(pytest.mark.ranks(2), pytest.mark.simulated(3))
def test_what_the_array_shows_meanwhile_and_afterwards(rank, size):
    a = atoll.zeros(12)
    held = atoll.zeros(12)
    memory = held.local
    with atoll.onesided(a) as g, atoll.onesided(held) as h:
        if rank == 0:
            g.put(slice(None), 3)
            h.put(slice(None), 4)
        g.fence()
        assert a.sum() == 36, "it lies in the window"
        assert held.sum() == 0, "the program holds its memory"
        g.fence()
        a[:6] = 1  # an assignment of all ranks lands in the window
        g.fence()
        assert g.get(slice(4, 8)).tolist() == [1, 1, 3, 3]
    assert a.sum() == 24
    assert held.sum() == 48
    assert (memory == 4).all()
    block = a.local
    with atoll.onesided(a) as g:
        g.fence()
    assert np.shares_memory(block, a.local)


@on(pytest.mark.ranks(2), pytest.mark.simulated(2))
def test_nothing_moves_that_is_not_right(rank, size):
    a = spread(np.arange(12).reshape(3, 4))
    with atoll.onesided(a) as g:
        before = g.get(...)
        for wrong, error in [
            (lambda: g.put((3, 0), 1), LayoutIndexError),
            (lambda: g.put((0, 0, 0), 1), LayoutIndexError),
            (lambda: g.get(([0, 0], slice(None))), LayoutIndexError),
            (lambda: g.get(slice(2), np.empty((2, 3))), ValueError),
            (lambda: g.get(slice(2), np.empty((2, 4), np.uint8)), TypeError),
            (lambda: g.put(0, [1, 2, 3]), ValueError),
            (lambda: g.put(0, [1.5, 2, 3, 4]), TypeError),
            (lambda: g.put(0, 1.5), TypeError),
            (lambda: g.put(0, a), TypeError),
            (lambda: g.accumulate(0, 1, "multiply"), ValueError),
            (lambda: g.accumulate(0, 0.5), TypeError),
            (lambda: g.scatter((np.array([0, 3]), 1), 9), LayoutIndexError),
            (lambda: g.scatter_add((np.array([0, 1]), 1), [1, 2, 3]), ValueError),
            (lambda: g.fetch_add(0, 1), LayoutIndexError),
            (lambda: g.fetch_add((0, 4), 1), LayoutIndexError),
            (lambda: g.fetch_add((0, 0), 0.5), TypeError),
            (lambda: g.get("x"), TypeError),
        ]:
            with pytest.raises(error, match=r"onesided|region|accumulate"):
                wrong()
        np.testing.assert_array_equal(g.get(...), before)
        with (
            g.lock(rank),
            pytest.raises(CommunicationError, match="already has this lock"),
            g.lock(rank),
        ):
            pass
    with pytest.raises(AtollError, match="is closed"):
        g.get(0)
    with pytest.raises(AttributeError, match=r"atoll\.onesided"):
        a.get(0)
    with pytest.raises(TypeError, match="takes an atoll array"):
        atoll.onesided(np.zeros(3))


@on(pytest.mark.ranks(2, distributes=False))
def test_ranks_that_open_different_arrays_are_told(rank, size):
    a = atoll.asarray(np.zeros(4 + rank))
    with pytest.raises(LayoutError, match="open different arrays"):
        atoll.onesided(a)


@on(pytest.mark.ranks(2))
def test_ranks_that_share_no_memory_use_mpi(rank, size, monkeypatch):
    monkeypatch.setattr(system, "host", lambda: str(rank))
    a = atoll.zeros(4, layout=Layout((4,), "b"))
    with atoll.onesided(a) as g:
        assert g._window.kind == "MPI"
    test_get_put_and_accumulate_agree_with_numpy(rank, size)
    test_elements_agree_with_numpy(rank, size)
    test_conflicting_updates_give_an_exact_sum(rank, size)
    test_elements_of_a_structured_dtype(rank, size)
    test_corners.test_every_dtype(rank, size)
    test_corners.test_no_axes(rank, size)


@sharing
@on(pytest.mark.ranks(2))
def test_a_process_that_dies_with_a_lock_is_noticed(rank, size):
    """The C library tells the next ones that take the mutex."""
    a = atoll.zeros(8)
    with atoll.onesided(a) as g:
        if rank == 0:
            child = os.fork()
            if not child:
                g._window.acquire(1)
                os._exit(0)
            os.waitpid(child, 0)
        g.fence()
        with pytest.raises(RankFailedError, match="died while it had a lock of rank 1"):
            g.accumulate(7, 1)
        g.accumulate(0, 1)
    assert a.sum() == size


@sharing
@on(pytest.mark.ranks(2))
def test_operations_complete_while_their_target_sleeps(rank, size):
    """The target is stopped until it has been written to: no operation may need it."""
    a = atoll.zeros(8, int)
    with atoll.onesided(a) as g:
        if rank == 0:
            g.accumulate(slice(4, 8), 2)
            assert g.fetch_add(6, 3) == 2
            assert g.get(6) == 5
            g.put(7, 1)
        else:
            while g.local[-1] != 1:  # no call of atoll or MPI
                pass


@sharing
@on(pytest.mark.ranks(2, distributes=False))
def test_a_wait_for_a_lock_ends_and_names_its_holder(rank, size):
    with atoll.onesided(atoll.zeros(4)) as g:
        if rank == 0:
            g._window.acquire(0)
            g._window.communicator.barrier()
            g._window.communicator.barrier()
            g._window.release(0)
        else:
            g._window.communicator.barrier()
            words = r"a lock of the memory of rank 0 \(onesided\(\) at .*, which rank 0 has; .*in test_a_wait"
            with atoll.config(wait_abort=0.3), pytest.raises(WaitTimeoutError, match=words):
                g.accumulate(0, 1)
            g._window.communicator.barrier()
