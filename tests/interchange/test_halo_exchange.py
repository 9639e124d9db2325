"""Communication padding is filled from the owners, and from nowhere else."""

import numpy as np
import pytest
from hypothesis import given, settings

import atoll
from atoll.comm import simulated
from atoll.errors import LayoutError
from atoll.layout import Block, Layout, Undistributed

from .test_distarray_roundtrip import padded_layouts


def expected(layout, rank, whole):
    """A rank's padded block, looked up element by element with indices that wrap."""
    wanted = []
    for axis, c in zip(layout.axes, layout.coordinates(rank)):
        left, right = axis.padding(c)
        start, stop = axis.bounds[c], axis.bounds[c + 1]
        wanted.append(np.arange(start - left, stop + right) % max(axis.size, 1))
    return whole[np.ix_(*wanted)]


def exchanged(layout, whole):
    """On one rank: the block after an exchange, and what it should be."""
    rank = atoll.world.rank
    a = atoll.from_local(np.full(layout.padded_shape(rank), -1, whole.dtype), layout)
    if a.local.size:
        a.local[...] = whole[np.ix_(*(part.array() for part in layout.region(rank)))]
    assert a.exchange_halos() is a
    return a.local_padded, expected(layout, rank, whole)


LAYOUTS = {
    1: [
        Layout((5,), (Undistributed((2, 2), periodic=True),), size=1),
        Layout((4, 3), (Undistributed((1, 2), periodic=True),) * 2, size=1),
    ],
    2: [
        Layout((9,), (Block(padding=(2, 1)),), size=2),
        Layout((4,), (Block(padding=(2, 2), periodic=True),), size=2),
        Layout((6, 4), (Block(padding=(1, 1), periodic=True), Undistributed((1, 1), True)), size=2),
    ],
    4: [
        Layout((8, 9), (Block(padding=(1, 1)), Block(padding=(2, 1))), grid=(2, 2), size=4),
        Layout((8, 9), (Block(padding=(1, 1), periodic=True),) * 2, grid=(2, 2), size=4),
        Layout((8, 9, 3), (Block(padding=(1, 1), periodic=True),) * 3, grid=(4, 1, 1), size=4),
        Layout((9,), (Block((0, 3, 4, 6, 9), padding=((0, 1), (3, 2), (1, 0), (2, 0))),), size=4),
        Layout((8,), (Block(padding=(1, 1)),), size=4, ranks=[2, 0, 3, 1]),
    ],
}


def check_all(layouts):
    for layout in layouts:
        whole = np.arange(1.0, layout.size + 1).reshape(layout.shape)
        np.testing.assert_array_equal(*exchanged(layout, whole))


@pytest.mark.simulated(1)
def test_alone():
    check_all(LAYOUTS[1])


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
def test_two_ranks():
    check_all(LAYOUTS[2])


@pytest.mark.simulated(4)
def test_four_ranks():
    check_all(LAYOUTS[4])


@settings(max_examples=60, deadline=None)
@given(padded_layouts())
def test_any_padding_on_any_grid(layout):
    whole = np.arange(1, layout.size + 1).reshape(layout.shape)
    for found, wanted in simulated.run(layout.processes, exchanged, layout, whole):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.simulated(16)
def test_many_ranks_with_corners():
    layout = Layout((20, 20), (Block(padding=(2, 2), periodic=True),) * 2, grid=(4, 4), size=16)
    check_all([layout])


@pytest.mark.simulated(2)
def test_nothing_but_an_exchange_fills_padding(rank):
    layout = Layout((6,), (Block(padding=(1, 1)),), size=2)
    a = atoll.from_local(np.full(layout.padded_shape(rank), -1.0), layout)
    a.local[...] = rank
    atoll.from_distarray(a)
    assert a.local_padded[-1 if rank == 0 else 0] == -1
    a.exchange_halos()
    assert a.local_padded[-1 if rank == 0 else 0] == 1 - rank


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
@pytest.mark.parametrize(
    "dtype", ["?", "f2", ">i4", "c16", "g", "M8[s]", "U3", "S2", [("a", "i1"), ("b", "f8", 2)]]
)
def test_every_dtype_that_is_plain_memory(rank, dtype):
    layout = Layout((4, 3), (Block(padding=(1, 1), periodic=True), "n"), size=2)
    whole = np.frombuffer(bytes(range(1, 256)) * 40, np.uint8)
    itemsize = np.dtype(dtype).itemsize
    whole = (whole[: 12 * itemsize] % 2).view(dtype).reshape(4, 3)
    a = atoll.from_local(np.zeros(layout.padded_shape(rank), dtype), layout)
    a.local[...] = whole[2 * rank : 2 * rank + 2]
    a.exchange_halos()
    wanted = whole[np.arange(2 * rank - 1, 2 * rank + 3) % 4]
    assert a.local_padded.tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.simulated(2)
def test_blocks_that_are_no_rows_of_memory(rank):
    layout = Layout((8, 6), (Block(padding=(1, 1), periodic=True), "n"), size=2)
    memory = np.full((6, 6, 2), -1.0)[:, ::-1, 0]
    a = atoll.from_local(memory, layout)
    whole = np.arange(48.0).reshape(8, 6)
    a.local[...] = whole[4 * rank : 4 * rank + 4]
    a.exchange_halos()
    np.testing.assert_array_equal(memory, expected(layout, rank, whole))
    np.testing.assert_array_equal(a.T.exchange_halos().local_padded, memory.T)


@pytest.mark.simulated(1)
def test_read_only_blocks_are_refused():
    layout = Layout((4,), (Undistributed((1, 1), periodic=True),), size=1)
    a = atoll.from_local(bytes(6), layout)
    with pytest.raises(LayoutError, match="read-only"):
        a.exchange_halos()
