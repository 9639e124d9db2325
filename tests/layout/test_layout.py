"""Layouts of every kind against explicit lists of who holds what."""

from __future__ import annotations

import copy
import pickle
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import LayoutError, LayoutIndexError
from atoll.layout import (
    Block,
    BlockAxis,
    Cyclic,
    CyclicAxis,
    Layout,
    Listed,
    Range,
    Undistributed,
    Unstructured,
    UnstructuredAxis,
    block_cyclic,
    set_default_size,
)
from atoll.layout import (
    maps as layout_maps,
)

from .strategies import held, layouts, maps, scatter

SMALL = settings(max_examples=120, deadline=None)


@pytest.mark.slow
@given(layouts())
@SMALL
def test_every_element_has_its_owner_and_counts_add_up(layout: Layout) -> None:
    lists = held(layout)
    for index in np.ndindex(layout.shape):
        holders = {rank for rank, items in lists.items() if index in items}
        owners = layout.owners(index)
        assert set(owners) == holders
        assert len(owners) == len(holders) > 0
        rank, local = layout.locate(index)
        assert rank == owners[0]
        assert layout.global_index(rank, local) == index
        for axis, item in zip(layout.axes, index):
            assert axis.owner(item) == min(axis.owners(item))
    for rank, items in lists.items():
        assert layout.local_size(rank) == len(items)
        if layout.ndim:
            assert prod(layout.local_shape(rank)) == len(items)
    total = sum(map(len, lists.values()))
    if not layout.overlaps:
        assert total == layout.size * layout.copies
    assert all(
        axis.count(c) == len(axis.owned(c)) for axis in layout.axes for c in range(axis.processes)
    )


@pytest.mark.slow
@given(layouts())
@SMALL
def test_local_to_global_and_back(layout: Layout) -> None:
    for rank in range(layout.processes):
        for local in np.ndindex(layout.local_shape(rank)) if layout.coordinates(rank) else ():
            index = layout.global_index(rank, local)
            assert rank in layout.owners(index)
            held_here = layout.region(rank)
            assert tuple(part.local_of(i) for part, i in zip(held_here, index)) == local


@given(layouts(), st.data())
@SMALL
def test_arrays_of_indices_agree_with_single_ones(layout: Layout, data: st.DataObject) -> None:
    if not layout.ndim or not layout.size:
        return
    count = data.draw(st.integers(1, 6))
    index = tuple(
        np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=count, max_size=count)))
        for n in layout.shape
    )
    ranks, local = layout.locate(index)
    for number in range(count):
        rank, place = layout.locate(tuple(int(part[number]) for part in index))
        assert ranks[number] == rank
        assert tuple(int(part[number]) for part in local) == place
    rank = int(ranks[0])
    mine = tuple(part[ranks == rank] for part in local)
    back = layout.global_index(rank, mine)
    assert all((a == b[ranks == rank]).all() for a, b in zip(back, index))


@given(layouts())
@SMALL
def test_coordinates_name_each_cell_once(layout: Layout) -> None:
    seen: dict[tuple[int, ...], list[int]] = {}
    for rank in range(layout.processes):
        place = layout.coordinates(rank)
        if place is not None:
            seen.setdefault(place, []).append(rank)
            assert rank in layout.ranks_at(place)
    assert len(seen) == layout.cells
    assert all(len(ranks) == layout.copies for ranks in seen.values())
    assert all(layout.rank_at(place) in ranks for place, ranks in seen.items())
    assert sorted(layout.ranks) == sorted(rank for ranks in seen.values() for rank in ranks)


@given(layouts())
@SMALL
def test_repr_makes_an_equal_layout(layout: Layout) -> None:
    if "<" in repr(layout):
        return
    again = eval(repr(layout))
    assert again == layout
    assert hash(again) == hash(layout)


@pytest.mark.slow
@given(layouts(), st.data())
@settings(max_examples=200, deadline=None)
def test_slices_leave_every_element_where_it_is(layout: Layout, data: st.DataObject) -> None:
    key: list[object] = []
    for extent in layout.shape:
        if extent and data.draw(st.integers(0, 3)) == 0:
            key.append(data.draw(st.integers(-extent, extent - 1)))
        else:
            key.append(data.draw(st.slices(extent)))
        if data.draw(st.integers(0, 5)) == 0:
            key.append(None)
    whole = np.arange(layout.size).reshape(layout.shape)
    expected = whole[tuple(key)]
    sliced = layout.sliced(tuple(key))
    assert sliced.shape == expected.shape
    before, after = scatter(whole, layout), scatter(np.asarray(expected), sliced)
    for rank in range(layout.processes):
        block = before[rank]
        if block is None:
            assert after[rank] is None
            continue
        again, found = layout.block_slice(tuple(key), block, rank)
        assert again == sliced
        if after[rank] is None:
            assert found is None
        else:
            assert found is not None
            assert np.array_equal(found, after[rank])
            if layout.is_block:
                assert found.size == 0 or np.shares_memory(found, block)
                assert sliced.is_block


@given(st.integers(0, 40), st.integers(1, 6), st.data())
@settings(max_examples=200, deadline=None)
def test_slices_of_slices_compose(size: int, processes: int, data: st.DataObject) -> None:
    layout = Layout((size,), [data.draw(maps(size, processes))], grid=(processes,), size=processes)
    first = data.draw(st.slices(size))
    second = data.draw(st.slices(len(range(size)[first])))
    twice = range(size)[first][second]
    inner = layout.sliced(first).sliced(second)
    for position, index in enumerate(twice):
        assert set(inner.owners(position)) == set(layout.owners(index))
    stop = twice.stop if twice.stop >= 0 else None
    direct = layout.sliced(slice(twice.start, stop, twice.step) if twice else slice(0, 0))
    assert direct.shape == inner.shape
    if layout.axes[0].kind == "b" and twice:
        for rank in range(processes):
            assert direct.region(rank) == inner.region(rank)


@given(st.integers(1, 60), st.integers(1, 6), st.integers(1, 6), st.data())
@SMALL
def test_cyclic_stays_cyclic_where_it_does(
    size: int, processes: int, block: int, data: st.DataObject
) -> None:
    layout = Layout((size,), [Cyclic(block)], grid=(processes,), size=processes)
    step = data.draw(st.sampled_from([1, -1, block, -block, 2 * block, -3 * block]))
    start = data.draw(st.integers(0, size - 1))
    assert layout.sliced(slice(start, None, step)).axes[0].kind == "c"


@given(layouts(), st.data())
@SMALL
def test_transposes_move_nothing(layout: Layout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(layout.ndim)))
    turned = layout.transposed(order)
    whole = np.arange(layout.size).reshape(layout.shape)
    for one, other in zip(scatter(whole, layout), scatter(whole.transpose(order), turned)):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert np.array_equal(one.transpose(order), other)
    assert turned.transposed(np.argsort(order).tolist()) == layout
    assert layout.transposed() == layout.transposed(range(layout.ndim)[::-1])


@given(layouts(), st.data())
@SMALL
def test_reductions_lie_on_everybody_who_took_part(layout: Layout, data: st.DataObject) -> None:
    axes = data.draw(
        st.lists(st.integers(0, layout.ndim - 1), unique=True) if layout.ndim else st.just([])
    )
    keepdims = data.draw(st.booleans())
    reduced = layout.reduced(axes, keepdims)
    expected = np.zeros(layout.shape).sum(axis=tuple(axes), keepdims=keepdims).shape
    assert reduced.shape == expected
    kept = [axis for axis in range(layout.ndim) if axis not in axes]
    for rank in range(layout.processes):
        place, result = layout.coordinates(rank), reduced.coordinates(rank)
        assert (place is None) == (result is None)
        if place is not None:
            parts = [
                part
                for axis, part in enumerate(reduced.region(rank))
                if not keepdims or axis in kept
            ]
            assert parts == [layout.region(rank)[axis] for axis in kept]
    everything = layout.reduced()
    assert everything.shape == ()
    assert everything.copies == len(layout.ranks)


@pytest.mark.slow
@given(layouts(), st.data())
@SMALL
def test_broadcasts_move_nothing(layout: Layout, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.integers(1, 4)) if n == 1 else n for n in layout.shape)
    shape = (*data.draw(st.lists(st.integers(1, 3), max_size=2)), *shape)
    wide = layout.broadcast(shape)
    whole = np.arange(layout.size).reshape(layout.shape)
    blocks = scatter(whole, layout)
    for rank, block in enumerate(scatter(np.broadcast_to(whole, shape), wide)):
        mine = blocks[rank]
        assert (mine is None) == (block is None)
        if mine is not None and block is not None:
            assert np.array_equal(
                np.broadcast_to(mine, block.shape) if block.size else block, block
            )


def test_broadcast_refuses_what_numpy_refuses() -> None:
    with pytest.raises(LayoutError, match=r"\(3, 4\) does not broadcast to \(3, 5\)"):
        Layout((3, 4), size=2).broadcast((3, 5))
    with pytest.raises(LayoutError, match="does not broadcast"):
        Layout((3, 4), size=2).broadcast((4,))


def test_new_axes() -> None:
    layout = Layout((6, 4), "bc", size=4)
    assert layout.expanded(0) == layout.sliced(np.newaxis)
    assert layout.expanded((0, -1)).shape == (1, 6, 4, 1)
    assert layout.expanded(1).sliced((slice(None), 0)) == layout
    with pytest.raises(LayoutError, match="new axes of 3"):
        layout.expanded(3)


# Making layouts


def test_the_default_cuts_little_and_leaves_nobody_out() -> None:
    assert Layout.default((1000, 1000), 4).grid == (2, 2)
    assert Layout.default((1000, 1000), 2).grid == (2, 1)
    assert Layout.default((10, 1000), 4).grid == (1, 4)
    assert Layout.default((1000, 10), 4).grid == (4, 1)
    assert Layout.default((1000, 1000), 7).grid == (7, 1)
    assert Layout.default((3, 1000), 7).grid == (1, 7)
    assert Layout.default((64, 64, 64), 64).grid == (4, 4, 4)
    assert Layout.default((2, 2), 64).grid == (2, 2)
    assert Layout.default((3, 3), 7).grid == (3, 2)
    assert Layout.default((5,), 8).grid == (8,)
    assert Layout.default((1, 1), 8).is_replicated
    assert Layout.default((), 8).is_replicated
    assert Layout.default((0, 5), 3).is_replicated


@given(st.lists(st.integers(1, 30), min_size=1, max_size=3), st.integers(1, 64))
@SMALL
def test_nobody_is_left_out_where_a_grid_allows(shape: list[int], processes: int) -> None:
    layout = Layout.default(shape, processes)
    busy = sum(layout.local_size(rank) > 0 for rank in range(processes))
    fits = [1]
    for extent in shape:
        fits = [a * b for a in fits for b in range(1, extent + 1) if a * b <= processes]
    assert busy == (processes if layout.is_replicated else max(fits))


def test_short_forms_and_constructors() -> None:
    layout = Layout((12, 8), "bn", size=4)
    assert layout == Layout((12, 8), ["b", None], size=4)
    assert layout == Layout((12, 8), [Block(), Undistributed()], size=4)
    assert layout == Layout((12, 8), [Block, Undistributed], size=4)
    assert layout == Layout((12, 8), [Block((0, 3, 6, 9, 12)), "n"], size=4)
    assert layout == Layout((12, 8), grid=(4, 1), size=4)
    assert Layout(12, grid=3, size=4).grid == (3,)
    assert layout != Layout((12, 8), "bn", size=5)
    assert layout != Layout((12, 8), "cn", size=4)
    assert Layout(12, Block(), size=4) == Layout((12,), "b", size=4)
    assert Layout((12, 8), [Block((0, 5, 12)), "b"], size=4).grid == (2, 2)
    assert Layout((12, 8), [Block((0, 5, 12)), "b"], size=5).grid == (2, 2)
    assert Layout((12, 8), "nn", size=3).is_replicated
    assert Layout((12, 8), "nn", size=3) == Layout.replicated((12, 8), 3)
    subset = Layout((12, 8), "bn", size=4, ranks=(3, 1))
    assert subset.grid == (2, 1)
    assert [subset.local_shape(rank) for rank in range(4)] == [(0, 0), (6, 8), (0, 0), (6, 8)]
    assert subset.owners((0, 0)) == (3,)
    assert Layout((9,), "b", size=4).axes[0].bounds == (0, 3, 5, 7, 9)
    assert Layout((9,), [Block("ceil")], size=4).axes[0].bounds == (0, 3, 6, 9, 9)
    assert {layout: 1}[Layout((12, 8), "bn", size=4)] == 1


def test_the_default_size_is_asked_for_when_a_layout_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layout_maps, "_default_size", [])
    assert Layout((8,)).processes == 1
    set_default_size(lambda: 4)
    assert Layout((8,)).grid == (4,)
    assert Layout.default((8, 8)).processes == 4
    assert Layout.replicated((8,)).copies == 4


def test_reversed_blocks_are_irregular_blocks_on_reversed_ranks() -> None:
    layout = Layout((10,), [Block((0, 3, 4, 10))], size=3)
    turned = layout.sliced(slice(None, None, -1))
    assert turned == Layout((10,), [Block((0, 6, 7, 10))], size=3, ranks=(2, 1, 0))
    assert turned.sliced(slice(None, None, -1)) == layout
    assert layout.sliced(slice(1, None, 2)) == Layout((5,), [Block((0, 1, 2, 5))], size=3)


def test_an_integer_leaves_a_subset_of_the_ranks() -> None:
    layout = Layout((8, 6), "bb", grid=(2, 2), size=4)
    assert layout.sliced(5) == Layout((6,), "b", size=4, ranks=(2, 3))
    assert layout.sliced((Ellipsis, 0)) == Layout((8,), "b", size=4, ranks=(0, 2))
    assert layout.sliced((-1, -1)) == Layout((), size=4, ranks=(3,))
    assert layout.sliced((5, 5)).local_size(3) == 1
    assert layout.sliced((5, 5)).local_size(0) == 0


def test_cyclic_slices() -> None:
    layout = Layout((20,), "c", size=4)
    assert layout.sliced(slice(2, None, 2)) == Layout((9,), "c", size=4, ranks=(2, 0))
    assert layout.sliced(slice(1, None, 3)) == Layout((7,), "c", size=4, ranks=(1, 0, 3, 2))
    blocks = Layout((20,), [Cyclic(4)], size=2)
    assert blocks.sliced(slice(6, None)).axes == (CyclicAxis(14, 2, 4, 2),)
    assert blocks.sliced(slice(None, None, 2)) == Layout((10,), [Cyclic(2)], size=2)
    odd = blocks.sliced(slice(None, None, 3))
    assert isinstance(odd.axes[0], UnstructuredAxis)
    assert odd.region(0)[0].array().tolist() == [0, 1, 3, 6]


def test_derivations_refuse_nonsense() -> None:
    layout = Layout((8, 6), size=2)
    with pytest.raises(LayoutIndexError, match="index 8 is out of bounds for axis 0 with size 8"):
        layout.sliced(8)
    with pytest.raises(IndexError, match="too many indices: 3 for 2 axes"):
        layout.sliced((0, 0, 0))
    with pytest.raises(IndexError, match="one ellipsis"):
        layout.sliced((..., ...))
    with pytest.raises(LayoutError, match=r"\[1\] is not an integer, a slice"):
        layout.sliced([1])
    with pytest.raises(LayoutError, match="True is not an integer"):
        layout.sliced(True)
    with pytest.raises(LayoutError, match=r"array\(\[0, 1\]\) is not an integer"):
        layout.sliced(np.array([0, 1]))
    with pytest.raises(LayoutError, match="not a permutation of 2 axes"):
        layout.transposed((0,))
    with pytest.raises(LayoutError, match="names an axis twice"):
        layout.reduced((0, -2))
    with pytest.raises(LayoutIndexError, match="axis 2 of an array of 2 axes"):
        layout.reduced(2)


def test_lookups_outside_are_errors() -> None:
    layout = Layout((8, 6), "bc", size=2, ranks=(1,))
    with pytest.raises(LayoutIndexError, match=r"index 8 is not in range\(8\)"):
        layout.owners((8, 0))
    with pytest.raises(IndexError, match=r"index -1 is not in range\(6\)"):
        layout.locate((0, -1))
    with pytest.raises(LayoutIndexError, match=r"index 7 is not in range\(6\)"):
        layout.locate((np.array([0, 1]), np.array([2, 7])))
    with pytest.raises(LayoutIndexError, match="does not have 2 items"):
        layout.locate(3)
    with pytest.raises(LayoutIndexError, match="rank 0 holds nothing"):
        layout.global_index(0, (0, 0))
    with pytest.raises(LayoutError, match=r"rank 2 is not in range\(2\)"):
        layout.region(2)
    with pytest.raises(LayoutIndexError, match=r"coordinate 1 of axis 0 is not in range\(1\)"):
        layout.rank_at((1, 0))
    with pytest.raises(LayoutIndexError, match=r"local index 8 is not in range\(8\)"):
        layout.global_index(1, (8, 0))


# Padding


def test_padding_table_of_the_protocol() -> None:
    table = ((4, 1), (1, 2), (2, 3), (3, 0))
    layout = Layout((40,), [Block(padding=table)], size=4)
    assert layout.ranks == range(4)
    assert [layout.halo(r) for r in range(4)] == [((0, 1),), ((1, 2),), ((2, 3),), ((3, 0),)]
    assert [layout.boundary(r) for r in range(4)] == [((4, 0),), ((0, 0),), ((0, 0),), ((0, 0),)]
    assert [layout.local_shape(r) for r in range(4)] == [(10,)] * 4
    assert [layout.padded_shape(r) for r in range(4)] == [(11,), (13,), (15,), (13,)]
    assert eval(repr(layout)) == layout
    assert layout.unpadded() == Layout((40,), "b", size=4)


def test_padded_example_of_the_protocol() -> None:
    layout = Layout((18,), [Block(padding=(1, 1))], size=2)
    assert [layout.region(r) for r in range(2)] == [(Range(0, 9),), (Range(9, 18),)]
    assert [layout.padded_shape(r) for r in range(2)] == [(10,), (10,)]
    assert [layout.boundary(r) for r in range(2)] == [((1, 0),), ((0, 1),)]
    assert [layout.halo(r) for r in range(2)] == [((0, 1),), ((1, 0),)]
    ring = Layout((18,), [Block(padding=(1, 1), periodic=True)], size=2)
    assert [ring.padded_shape(r) for r in range(2)] == [(11,), (11,)]
    assert ring.boundary(0) == ((0, 0),)
    assert [ring.neighbours(r) for r in range(2)] == [((1, 1),), ((0, 0),)]
    assert [layout.neighbours(r) for r in range(2)] == [((None, 1),), ((0, None),)]
    alone = Layout((5,), [Undistributed((2, 1))], size=1)
    assert (alone.boundary(0), alone.padded_shape(0)) == (((2, 1),), (5,))
    around = Layout((5,), [Undistributed((2, 1), periodic=True)], size=1)
    assert (around.boundary(0), around.padded_shape(0)) == (((0, 0),), (8,))
    for one in (ring, alone, around):
        assert eval(repr(one)) == one


def test_identity_slices_keep_padding_and_others_drop_it() -> None:
    layout = Layout((18, 4), [Block(padding=(1, 1)), "n"], size=2)
    assert layout.sliced((slice(None), slice(1, 3))).is_padded
    assert not layout.sliced(slice(0, 17)).is_padded
    assert layout.transposed().is_padded


def test_unstructured_example_of_the_protocol() -> None:
    first = [19, 1, 0, 12, 2, 15, 4]
    second = [6, 13, 3]
    third = [10, 25, 5, 21, 7, 18, 11, 26, 29, 24, 23, 28, 14, 20, 9, 16, 27, 8, 17, 22]
    layout = Layout((30,), [Unstructured([first, second, third])], size=3)
    assert [layout.local_shape(r)[0] for r in range(3)] == [7, 3, 20]
    assert layout.locate(12) == (0, (3,))
    assert layout.locate(13) == (1, (1,))
    assert layout.global_index(2, 4) == (7,)
    assert layout.region(1) == (Listed(np.array([6, 13, 3])),)


def test_row_major_ranks_of_the_protocol() -> None:
    layout = Layout((10, 10), grid=(3, 2), size=6)
    for i in range(3):
        for j in range(2):
            assert layout.rank_at((i, j)) == i * 2 + j
            assert layout.coordinates(i * 2 + j) == (i, j)


def test_block_and_no_distribution_example_of_the_protocol() -> None:
    layout = Layout((2, 10), "bn", grid=(2, 1), size=2)
    assert [layout.region(r)[0] for r in range(2)] == [Range(0, 1), Range(1, 2)]
    assert [layout.local_shape(r) for r in range(2)] == [(1, 10)] * 2
    assert layout.axes[1].is_undistributed


def test_cyclic_ownership_is_the_slice_of_the_protocol() -> None:
    layout = Layout((23,), "c", size=5)
    for rank in range(5):
        assert layout.region(rank)[0] == Range(rank, 23, 5)
    blocks = Layout((23,), [Cyclic(4)], size=3)
    assert blocks.region(0)[0] == block_cyclic(4, 12, 0, 0, 23)
    # The partial last block belongs to the process whose turn it is, not to process 0.
    assert [blocks.local_shape(r)[0] for r in range(3)] == [8, 8, 7]


def test_a_ceiling_block_size_is_block() -> None:
    cyclic = Layout((9,), [Cyclic(3)], size=4)
    block = Layout((9,), [Block("ceil")], size=4)
    assert [cyclic.region(r) for r in range(4)] == [block.region(r) for r in range(4)]


def test_labels_are_held_but_are_no_dense_axis() -> None:
    layout = Layout((4,), [Unstructured([[-3, 100], [7, 5]], labels=True)], size=2)
    assert not layout.is_dense
    assert layout.region(0) == (Range(-3, 101, 103),)
    assert layout.owners(5) == (1,)
    assert layout.locate(100) == (0, (1,))
    with pytest.raises(LayoutError, match="are labels"):
        layout.sliced(slice(1, 2))
    with pytest.raises(LayoutIndexError, match="no process holds the index 4"):
        layout.owners(4)


# Bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layout((8, 4), ["b", Block((0, 4, 3))], size=8), r"layout: axis 1 has block bounds \(0, 4, 3\); bounds must not decrease"),
        (lambda: Layout((8,), [Block((0, 4, 9))], size=2), r"axis 0 has block bounds \(0, 4, 9\); they must begin with 0 and end with the size of the axis, 8"),
        (lambda: Layout((8,), [Block((1, 4, 8))], size=2), "must begin with 0"),
        (lambda: Layout((8,), [Block(())], size=2), "must begin with 0"),
        (lambda: Layout((8,), [Block((0, 4, 8))], grid=(3,), size=4), r"axis 0 has Block\(\(0, 4, 8\)\), which is for 2 processes, but the grid \(3,\) has 3"),
        (lambda: Layout((8,), [Block((0, 2, 4, 8))], size=2), r"grid \(3,\) needs 3 processes, but there are 2; run the program on as many: atoll run -n 3"),
        (lambda: Block("even"), "bounds is 'even'; it must be None, 'ceil', or a sequence of integers"),
        (lambda: Block(bounds=4), "bounds must be a sequence, not 4"),
        (lambda: Block((0, 1.5, 3)), "a bound must be an integer, not 1.5"),
        (lambda: Block(periodic=1), "periodic must be True or False, not 1"),
        (lambda: Block(padding=(1, 2, 3)), r"padding is \(1, 2, 3\); it must be a pair"),
        (lambda: Block(padding=(1, -1)), "padding is -1; it must be at least 0"),
        (lambda: Block(padding=((1, 1), (1,))), "padding of process 1 is"),
        (lambda: Layout((8,), [Block(padding=((0, 1), (1, 0)))], grid=(3,), size=3), "is for 2 processes"),
        (lambda: Layout((8,), [Block((0, 1, 8), padding=(0, 2))], size=2), None),
        (lambda: Layout((8,), [Block((0, 1, 8), padding=(2, 0))], size=2), r"axis 0 has boundary padding 2 on the left of process 0, which owns 1"),
        (lambda: Layout((8,), [Block((0, 7, 8), padding=((0, 2), (1, 0)))], size=2), r"axis 0 has communication padding 2 on the right of process 0, but its neighbour, process 1, owns only 1 elements"),
        (lambda: Layout((4,), [Undistributed((3, 2))], size=1), r"boundary padding \(3, 2\) on 4 elements; the two sides must not meet"),
        (lambda: Layout((4,), [Undistributed((5, 0), periodic=True)], size=1), "communication padding 5"),
        (lambda: Cyclic(0), "block_size is 0; it must be at least 1"),
        (lambda: Cyclic(True), "block_size must be an integer, not True"),
        (lambda: Cyclic(3, 3), "offset is 3; it must be less than block_size, 3"),
        (lambda: Unstructured([]), "indices is empty"),
        (lambda: Unstructured([[0, 1, 0], [2]]), "the indices of process 0 contain 0 twice"),
        (lambda: Unstructured([[0.5]]), "indices of process 0 must be integers in one dimension"),
        (lambda: Layout((4,), [Unstructured([[0, 1], [2, 4]])], size=2), r"axis 0 has the index 4 on process 1; indices must be in range\(4\), or be declared as labels"),
        (lambda: Layout((4,), [Unstructured([[0, 1], [-1]])], size=2), "axis 0 has the index -1 on process 1"),
        (lambda: Layout((4,), [Unstructured([[0], [3]])], size=2), "axis 0 has no process for 2 of its 4 indices, the first is 1"),
        (lambda: Layout((3,), [Unstructured([[0, 1], [1, 2]], one_to_one=True)], size=2), "axis 0 has the index 1 on several processes"),
        (lambda: Layout((3,), [Unstructured([[0, 1], [1, 2]], one_to_one=3)], size=2), "one_to_one must be True or False"),
        (lambda: Layout((3,), 5, size=2), "5 is no layout; it must be an atoll.Layout, a letter for each axis, such as 'b', or a sequence"),
        (lambda: Layout((3,), size=2, grid=(np.array([1, 2]),)), "grid along axis 0 must be an integer"),
        (lambda: Layout((3,), "x", size=2), "the map of axis 0 is 'x'"),
        (lambda: Layout((3,), [7], size=2), "the map of axis 0 is 7"),
        (lambda: Layout((3, 3), "b", size=2), "1 maps 'b' for an array of 2 axes"),
        (lambda: Layout((3, -1), size=2), "extent of axis 1 is -1; it must be at least 0"),
        (lambda: Layout((3, 2.0), size=2), "extent of axis 1 must be an integer, not 2.0"),
        (lambda: Layout((3,), size=0), "number of processes is 0"),
        (lambda: Layout((3,), size=2, grid=(0,)), "the grid along axis 0 is 0; it must be at least 1"),
        (lambda: Layout((3,), size=2, grid=(1, 2)), r"grid \(1, 2\) for an array of 1 axes"),
        (lambda: Layout((3,), size=2, grid=(3,)), r"grid \(3,\) needs 3 processes"),
        (lambda: Layout((3,), "n", size=2, grid=(2,)), r"has Undistributed\(\), which is for 1 processes"),
        (lambda: Layout((3,), size=2, ranks=(0, 2)), r"ranks contains 2; ranks must be in range\(2\)"),
        (lambda: Layout((3,), size=2, ranks=(0, 0)), "ranks contains 0 twice"),
        (lambda: Layout((3,), size=2, ranks=()), "ranks is empty"),
        (lambda: Layout((8,), size=4, ranks=(0, 1, 2), grid=(2,)), "must be a multiple of the cells"),
        (lambda: Layout.of((BlockAxis(3, (0, 3)),), 2, [0, 1]), r"ranks have shape \(2,\); they must have the shape of the grid, \(1,\)"),
    ],
)  # fmt: skip
def test_bad_input_says_rule_value_and_place(make: object, message: str | None) -> None:
    assert callable(make)
    if message is None:
        assert make().is_padded  # asymmetric communication padding is legal here
        return
    with pytest.raises(LayoutError, match=message):
        make()


@given(layouts())
@SMALL
def test_layouts_travel(layout: Layout) -> None:
    hash(layout)
    for again in (pickle.loads(pickle.dumps(layout)), copy.deepcopy(layout)):
        assert again == layout
        assert hash(again) == hash(layout)
        assert [again.region(r) for r in range(3 if layout.processes > 2 else 1)] == [
            layout.region(r) for r in range(3 if layout.processes > 2 else 1)
        ]


def test_layouts_do_not_change() -> None:
    layout = Layout((8, 6), size=4)
    with pytest.raises(AttributeError):
        layout.shape = (8, 7)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        Layout((8,), size=4, ranks=(3, 2, 1, 0)).table[0] = 0


def test_a_layout_of_axes_keeps_its_table() -> None:
    axis = BlockAxis(10, (0, 5, 10))
    layout = Layout.of((axis,), 4, [[3, 1], [0, 2]])
    assert layout.copies == 2
    assert layout.owners(7) == (0, 2)
    assert layout == Layout((10,), "b", size=4, grid=(2,), ranks=(3, 1, 0, 2))
    assert Layout.of((axis,), 2, [0, 1]).is_row_major
