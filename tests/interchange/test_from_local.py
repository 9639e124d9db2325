"""Blocks of the ranks become one array, over their own memory."""

import numpy as np
import pytest

import atoll
from atoll.errors import LayoutError
from atoll.layout import Block, Cyclic, Layout, Unstructured


@pytest.mark.simulated(1, 4, 5)
@pytest.mark.ranks(2, 3)
def test_blocks_join_along_axis_0(rank, size):
    mine = np.full((rank + 1, 3), rank)
    a = atoll.from_local(mine)
    assert a.shape == (size * (size + 1) // 2, 3)
    assert a.local is mine or np.shares_memory(a.local, mine)
    assert a.layout.region(rank)[0].lowest == rank * (rank + 1) // 2
    mine[0, 0] = 99
    assert a.local[0, 0] == 99


@pytest.mark.simulated(3)
def test_blocks_may_be_empty(rank, size):
    a = atoll.from_local(np.zeros(4 if rank == 1 else 0))
    assert a.shape == (4,)
    assert a.layout.axes[0].bounds == (0, 0, 4, 4)


@pytest.mark.simulated(4)
@pytest.mark.parametrize(
    "layout",
    [
        Layout((6, 8), "bb", grid=(2, 2), size=4),
        Layout((6, 8), (Cyclic(2), "n"), size=4),
        Layout(
            (6, 8),
            (Block(padding=(1, 1), periodic=True), Block(padding=(0, 2))),
            grid=(2, 2),
            size=4,
        ),
        Layout((8,), (Unstructured(([3, 1], [0], [2, 4, 5, 6], [7])),), size=4),
        Layout((6,), "b", size=4, ranks=[2, 0]),
    ],
    ids=repr,
)
def test_with_a_layout_the_block_is_the_padded_one(rank, layout):
    mine = np.zeros(layout.padded_shape(rank))
    a = atoll.from_local(mine, layout)
    assert a.layout == layout
    assert a.local_padded is mine
    assert a.local.shape == layout.local_shape(rank)
    assert a.local.size == 0 or np.shares_memory(a.local, mine)


@pytest.mark.simulated(2)
def test_anything_with_memory_is_a_block(rank):
    mine = bytearray(b"abcd")
    a = atoll.from_local(mine)
    a.local[0] = 120
    assert mine == b"xbcd"


@pytest.mark.simulated(2, distributes=False)
@pytest.mark.ranks(2, distributes=False)
@pytest.mark.parametrize(
    ("blocks", "layout", "words"),
    [
        (
            (np.zeros((2, 3)), np.zeros((2, 4))),
            None,
            r"rank 1: the block has shape \(2, 4\), on rank 0 \(2, 3\)",
        ),
        (
            (np.zeros(3), np.zeros((3, 1))),
            None,
            r"rank 1: the block has shape \(3, 1\), on rank 0 \(3,\)",
        ),
        ((np.zeros(3), np.zeros(())), None, r"rank 1: the block has shape \(\), on rank 0 \(3,\)"),
        ((np.zeros(()), np.zeros(())), None, "no axis 0 to join along"),
        ((np.zeros(3), np.zeros(3, "f4")), None, "rank 1: dtype is '<f4', on rank 0 it is '<f8'"),
        ((np.zeros(3), [1, 2, 3]), None, "rank 1: the block is a list without memory to share"),
        (
            (np.zeros(3), np.zeros(3)),
            (Layout((7,), size=2),) * 2,
            r"rank 0: the block has shape \(3,\); the layout asks for \(4,\) on this rank",
        ),
        (
            (np.zeros(3), np.zeros(3)),
            (Layout((6,), size=3),) * 2,
            "the layout is for 3 ranks, the world has 2",
        ),
        (
            (np.zeros(3), np.zeros(3)),
            (Layout((6,), size=2), None),
            "rank 1: the layout is not the one of rank 0",
        ),
        (
            (np.zeros(2), np.zeros(2)),
            tuple(
                Layout((4,), (Unstructured(held),), size=2)
                for held in (([0, 1], [2, 3]), ([1, 0], [2, 3]))
            ),
            "rank 1: the layout is not the one of rank 0",
        ),
        ((np.zeros(3), np.zeros(3)), ("b", "b"), "layout is a str; it must be an atoll.Layout"),
    ],
)
def test_blocks_that_do_not_fit_are_the_same_error_on_every_rank(rank, blocks, layout, words):
    with pytest.raises(LayoutError, match=words) as caught:
        atoll.from_local(blocks[rank], None if layout is None else layout[rank])
    texts = atoll.world.communicator.allgather_object(str(caught.value))
    assert len(set(texts)) == 1
