"""One-sided operations on arrays of every dtype, of no element or axis, read-only, pending, and of the program's memory."""

import gc

import numpy as np
import pytest

import atoll
from atoll import Layout

pytestmark = [
    pytest.mark.ranks(2, distributes=False),
    pytest.mark.simulated(1, 3, distributes=False),
]


def spread(ref):
    return atoll.asarray(np.array(ref)).redistribute(Layout.default(ref.shape))


def test_no_axes(rank, size):
    a = atoll.array(5.0)
    with atoll.onesided(a) as g:
        assert g.get(()) == g.get(...) == 5
        g.fence()
        g.accumulate((), 1.0)
        g.fence()
        assert g.fetch_add((), 0.0) == 5 + size
        with pytest.raises(IndexError, match="without axes"):
            g.gather(())
        g.fence()
    assert float(a) == 5 + size


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_no_elements(rank, size, shape):
    with atoll.onesided(atoll.zeros(shape, layout=Layout(shape))) as g:
        assert g.get(...).shape == shape
        g.put(..., 1)
        g.accumulate(..., 1)
        assert g.gather((np.zeros(0, int),) * len(shape)).shape == (0,)


VALUES = [
    *[("?", True), ("i1", 3), ("u2", 4), ("f2", 1.5), ("g", 2.5), ("F", 1j), ("D", 2j)],
    *[("M8[s]", np.datetime64(7, "s")), ("m8[s]", np.timedelta64(7, "s"))],
    *[("S5", b"abc"), ("U3", "xyz"), (">f8", 3.0), (">i4", 9)],
]


def test_every_dtype(rank, size):
    for dtype, value in VALUES:
        ref, a = np.zeros(9, dtype), atoll.zeros(9, dtype, layout=Layout((9,)))
        with atoll.onesided(a) as g:
            if rank == 0:
                g.put(slice(2, 8, 2), value)
            ref[2:8:2] = value
            g.fence()
            np.testing.assert_array_equal(g.get(...), ref)
            g.fence()
            if rank == size - 1:
                assert g.compare_swap(4, value, ref[0]) == ref[4]
            ref[4] = ref[0]
            g.fence()
            if ref.dtype.kind in "iufc":
                g.accumulate(slice(0, 9), ref)
                g.fence()
                np.testing.assert_array_equal(g.get(...), ref * (size + 1))
                g.fence()
                if rank == 0:
                    before = g.get(1)
                    assert g.fetch_add(1, value) == before
                    assert g.get(1) == before + np.asarray(value, dtype)
            with pytest.raises(TypeError):
                g.put(0, object())


def test_pending_values_and_older_views(rank, size):
    a = spread(np.arange(100.0))
    b = a * 2 + 1
    c = b[::2]
    with atoll.onesided(b) as g:
        assert g.get(3) == 7
        g.fence()
        if rank == 0:
            g.put(4, 0.0)
        g.fence()
        d = b + 1
        assert c[2] == 0
        g.fence()
    assert (d[4], d[5], a[4]) == (1, 12, 4)
    b[0] = 99
    assert (b[0], c[0], d[0]) == (99, 99, 2)


def test_the_array_may_end_first(rank, size):
    g = atoll.onesided(spread(np.arange(100.0)))
    mine = g.local
    gc.collect()
    g.put(3, 1.0)
    g.fence()
    g.close()
    g.close()
    mine[...] = 1


def test_an_array_opened_again_and_again(rank, size):
    a = spread(np.arange(1000.0))
    for turn in range(4):
        with atoll.onesided(a) as g:
            a += 1
            g.fence()
            assert g.get(999) == 1000 + turn
            with atoll.onesided(a) as h:
                h.accumulate(0, 0.0)
            g.fence()
        a *= 1
    np.testing.assert_array_equal(np.asarray(a), np.arange(1000.0) + 4)


def test_memory_of_the_program(rank, size):
    memory = np.arange(10.0) + 10 * rank
    with atoll.onesided(atoll.from_local(memory)) as g:
        if rank == size - 1:
            g.put(0, -1)
    assert rank or memory[0] == -1
    memory.flags.writeable = False
    with atoll.onesided(atoll.from_local(memory)) as g:
        assert g.get(1) == 1
        for write in (
            lambda: g.put(3, 1),
            lambda: g.accumulate(3, 1),
            lambda: g.fetch_add(3, 1),
            lambda: g.scatter(np.array([3]), 1),
            lambda: g.scatter_add(np.array([3]), 1),
        ):
            with pytest.raises(ValueError, match="read-only"):
                write()


def test_an_error_inside_leaves_the_array_usable(rank, size):
    a = spread(np.arange(20.0))
    g = atoll.onesided(a)
    g.accumulate(0, 1.0)
    g.__exit__(KeyError, KeyError("the program's own"), None)
    atoll.world.barrier()
    assert a[0] == size
    a += 1
    assert a.sum() == 190 + size + 20
