"""Transfers, carried out by hand between the blocks of all ranks, against whole arrays."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import LayoutError
from atoll.layout import (
    Block,
    BlockAxis,
    Cyclic,
    Layout,
    Listed,
    Pattern,
    Range,
    Record,
    Transfer,
    Undistributed,
    Unstructured,
    halo_transfer,
    needed,
    transfer,
)
from atoll.layout.symbolic import Sheet
from atoll.layout.symbolic_layout import interval

from .strategies import bounds, layouts, scatter

Blocks = list[npt.NDArray[np.int64] | None]


def plans(source: Layout, target: Layout) -> list[Transfer]:
    return [transfer(source, target, rank) for rank in range(source.processes)]


def carried_out(blocks: Blocks, source: Layout, target: Layout) -> Blocks:
    """The target's blocks, filled with nothing but what the plans of the ranks say."""
    every = plans(source, target)
    result: Blocks = [
        None if target.coordinates(r) is None else np.full(target.local_shape(r), -1)
        for r in range(target.processes)
    ]
    mail: dict[tuple[int, int], list[tuple[Record, npt.NDArray[np.int64]]]] = {}
    for rank, plan in enumerate(every):
        for record in plan.sends:
            assert record.peer != rank
            assert record.sending
            block = blocks[rank]
            assert block is not None
            message = block[record.source_key]
            assert message.shape == record.shape
            assert message.size == record.size > 0
            mail.setdefault((rank, record.peer), []).append((record, message))
    for rank, plan in enumerate(every):
        block = result[rank]
        for record in (*plan.receives, *plan.local):
            assert block is not None
            if record.peer == rank:
                own = blocks[rank]
                assert own is not None
                message = own[record.source_key]
            else:
                sent, message = mail[record.peer, rank].pop(0)
                # Both sides say the same of the message, in global and in local indices.
                assert sent.region == record.region
                assert [list(p) for p in sent.source] == [list(p) for p in record.source]
                assert [list(p) for p in sent.target] == [list(p) for p in record.target]
            assert (block[record.target_key] == -1).all()
            block[record.target_key] = message
    assert not any(mail.values())
    return result


def equal(one: Blocks, other: Blocks) -> bool:
    return all(
        a is b is None or (a is not None and b is not None and np.array_equal(a, b))
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.slow
@given(st.data())
@settings(max_examples=250, deadline=None)
def test_a_transfer_between_any_two_layouts_and_back(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 11), max_size=3)))
    size = data.draw(st.integers(1, 8))
    source, target = data.draw(layouts(shape, size)), data.draw(layouts(shape, size))
    whole = np.arange(source.size).reshape(shape)
    start = scatter(whole, source)
    there = carried_out(start, source, target)
    assert equal(there, scatter(whole, target))
    assert equal(carried_out(there, target, source), start)


@pytest.mark.slow
@given(st.integers(0, 300), st.sampled_from([1, 3, 16, 64]), st.data())
@settings(max_examples=150, deadline=None)
def test_long_axes_over_many_ranks(extent: int, size: int, data: st.DataObject) -> None:
    def one() -> Layout:
        kind = data.draw(st.sampled_from(["b", "c", "ceil", "cut", "n"]))
        if kind == "n":
            return Layout((extent,), "n", size=size)
        chosen = {"b": Block(), "ceil": Block("ceil")}.get(kind)
        if kind == "c":
            chosen = Cyclic(data.draw(st.sampled_from([1, 2, 3, 7, 20])))
        if kind == "cut":
            chosen = Block(data.draw(bounds(extent, size)))
        return Layout((extent,), [chosen], grid=(size,), size=size)

    source, target = one(), one()
    whole = np.arange(extent)
    assert equal(carried_out(scatter(whole, source), source, target), scatter(whole, target))


@given(layouts())
@settings(max_examples=150, deadline=None)
def test_to_the_same_layout_nothing_is_sent(layout: Layout) -> None:
    for rank, plan in enumerate(plans(layout, layout)):
        assert not plan.sends
        assert not plan.receives
        assert sum(record.size for record in plan.local) == layout.local_size(rank)


@given(layouts(), st.data())
@settings(max_examples=150, deadline=None)
def test_needed_finds_each_place_of_any_region_once(layout: Layout, data: st.DataObject) -> None:
    region = []
    for extent in layout.shape:
        if data.draw(st.booleans()):
            region.append(Range.of(range(extent)[data.draw(st.slices(extent))]))
        else:
            some = st.lists(st.integers(0, extent - 1), unique=True) if extent else st.just([])
            region.append(Listed(np.array(data.draw(some), dtype=np.int64)))
    rank = data.draw(st.integers(0, layout.processes - 1))
    whole = np.arange(layout.size).reshape(layout.shape)
    blocks = scatter(whole, layout)
    found = np.full([len(part) for part in region], -1)
    for record in needed(layout, tuple(region), rank):
        block = blocks[record.peer]
        assert block is not None
        assert (found[record.target_key] == -1).all()
        found[record.target_key] = block[record.source_key]
        for index in product(*record.region):
            owners = layout.owners(index)
            assert record.peer in owners
            if rank in owners:
                assert record.peer == rank
    assert np.array_equal(
        found, whole[np.ix_(*(part.array() for part in region))] if region else whole
    )


@given(st.lists(st.integers(1, 30), min_size=1, max_size=3), st.integers(1, 12), st.data())
@settings(max_examples=60, deadline=None)
def test_symbolic_boxes_are_cut_by_owner_like_known_ones(
    shape: list[int], size: int, data: st.DataObject
) -> None:
    """The same pieces, from the same ranks, at the same places; for other bounds the sheet gives theirs or refuses."""
    layout = Layout(shape, "b" * len(shape), size=size)
    ends = [sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2))) for n in shape]
    sheet = Sheet()
    unknown = [sheet.unknown(pair) for pair in ends]
    rank = data.draw(st.integers(0, size - 1))
    symbolic = needed(layout, tuple([interval(*pair) for pair in unknown]), rank)
    wanted = [[r.source_key, r.target_key, r.shape] for r in symbolic]
    guard = sheet.guard(wanted)
    moved = [sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2))) for n in shape]
    for box in (ends, moved):
        known = needed(layout, tuple([Range(*pair) for pair in box]), rank)
        results = guard.results([end for pair in box for end in pair])
        if box is ends or results is not None:
            assert results is not None
            expected = [[r.source_key, r.target_key, r.shape] for r in known]
            assert [record.peer for record in symbolic] == [record.peer for record in known]
            assert results == expected


def test_receivers_spread_over_the_copies() -> None:
    source = Layout((12,), "n", size=8, ranks=(0, 1, 2, 3))
    target = Layout((12,), "n", size=8)
    senders = [transfer(source, target, rank).receives[0].peer for rank in range(4, 8)]
    assert sorted(senders) == [0, 1, 2, 3]
    assert all(transfer(source, target, rank).sends[0].size == 12 for rank in range(4))
    assert all(not transfer(target, source, rank).sends for rank in range(8))


def test_plans_stay_closed_and_small_on_long_axes() -> None:
    n, size = 10**12, 1024
    block, cyclic = Layout((n,), "b", size=size), Layout((n,), [Cyclic(64)], size=size)
    plan = transfer(block, cyclic, 700)
    assert len(plan.sends) == len(plan.receives) == size - 1
    assert sum(record.size for record in (*plan.sends, *plan.local)) == block.local_size(700)
    assert sum(record.size for record in (*plan.receives, *plan.local)) == cyclic.local_size(700)
    for record in plan.sends[::100]:
        assert isinstance(record.source[0], Pattern)
        assert isinstance(record.target[0], Range)
    for record in plan.receives[::100]:
        assert isinstance(record.source[0], Pattern)
        assert isinstance(record.target[0], Range)


def test_partners_are_found_without_asking_everybody() -> None:
    size = 1024
    even = Layout((10**6,), "b", size=size)
    shifted = Layout(
        (10**6,), [Block((0, *(b + 5 for b in even.axes[0].bounds[1:-1]), 10**6))], size=size
    )
    for rank in (0, 511, 1023):
        plan = transfer(even, shifted, rank)
        assert len(plan.sends) <= 1
        assert len(plan.receives) <= 1
    few = Layout((10**6,), "c", size=size)
    multiples = Layout((10**6,), "c", size=size, grid=(512,))
    plan = transfer(few, multiples, 3)
    assert {record.peer for record in plan.receives} == {3 + 512}
    assert not plan.sends


@pytest.mark.slow
@given(st.integers(1, 10**9), st.integers(2, 1024), st.integers(1, 5000), st.data())
@settings(max_examples=60, deadline=None)
def test_both_sides_of_a_sample_agree_on_big_axes(
    extent: int, size: int, block: int, data: st.DataObject
) -> None:
    kinds = [Block(), Block("ceil"), Cyclic(block), Cyclic(1)]
    source = Layout((extent,), [data.draw(st.sampled_from(kinds))], grid=(size,), size=size)
    target = Layout((extent,), [data.draw(st.sampled_from(kinds))], grid=(size,), size=size)
    rank = data.draw(st.integers(0, size - 1))
    plan = transfer(source, target, rank)
    assert sum(r.size for r in (*plan.receives, *plan.local)) == target.local_size(rank)
    assert sum(r.size for r in (*plan.sends, *plan.local)) == source.local_size(rank)
    for record in plan.sends[:: max(len(plan.sends) // 3, 1)]:
        other = transfer(source, target, record.peer)
        assert [r.region for r in other.receives if r.peer == rank] == [record.region]
    for record in plan.receives[:: max(len(plan.receives) // 3, 1)]:
        other = transfer(source, target, record.peer)
        assert [r.region for r in other.sends if r.peer == rank] == [record.region]


def test_different_shapes_or_worlds_are_refused() -> None:
    with pytest.raises(LayoutError, match=r"no transfer from \(4,\) on 2 processes to \(5,\)"):
        transfer(Layout((4,), size=2), Layout((5,), size=2), 0)
    with pytest.raises(LayoutError, match="shapes and worlds must agree"):
        transfer(Layout((4,), size=2), Layout((4,), size=3), 0)
    labels = Layout((2,), [Unstructured([[5], [9]], labels=True)], size=2)
    with pytest.raises(LayoutError, match="are labels"):
        transfer(labels, Layout((2,), size=2), 0)


# Halos


@st.composite
def padded(draw: st.DrawFn) -> Layout:
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    maps, grid = [], []
    for extent in shape:
        count = draw(st.integers(1, min(3, extent)))
        cuts = sorted(draw(st.permutations(range(1, extent)))[: count - 1])
        limits = (0, *cuts, extent)
        owned = [b - a for a, b in pairwise(limits)]
        periodic = draw(st.booleans())
        widths = []
        for c in range(count):
            left, right = owned[c - 1], owned[(c + 1) % count]
            if not periodic and c == 0:
                left = owned[0] if count > 1 else owned[0] // 2
            if not periodic and c == count - 1:
                right = owned[c] if count > 1 else owned[0] // 2
            widths.append((draw(st.integers(0, left)), draw(st.integers(0, right))))
        kind = draw(st.integers(0, 4))
        maps.append(Cyclic(2) if kind == 0 else Block(limits, widths, periodic))
        grid.append(count)
    size = int(np.prod(grid))
    return Layout(shape, maps, grid=grid, size=size, ranks=draw(st.permutations(range(size))))


def padded_indices(layout: Layout, rank: int) -> list[list[int]]:
    """The global index of each place of a padded block, from the definition."""
    found = []
    for axis, part, (left, right) in zip(layout.axes, layout.region(rank), layout.halo(rank)):
        middle = list(part)
        before = [(middle[0] - left + i) % axis.size for i in range(left)]
        after = [(middle[-1] + 1 + i) % axis.size for i in range(right)]
        found.append([*before, *middle, *after])
    return found


@pytest.mark.slow
@given(padded())
@settings(max_examples=150, deadline=None)
def test_halos_are_filled_from_their_owners(layout: Layout) -> None:
    whole = np.arange(layout.size).reshape(layout.shape)
    blocks, expected = [], []
    for rank in range(layout.processes):
        expected.append(whole[np.ix_(*padded_indices(layout, rank))])
        assert expected[rank].shape == layout.padded_shape(rank)
        block = np.full(layout.padded_shape(rank), -1)
        inside = tuple(
            slice(left, left + count)
            for (left, _), count in zip(layout.halo(rank), layout.local_shape(rank))
        )
        block[inside] = expected[rank][inside]
        blocks.append(block)
    plans = [halo_transfer(layout, rank) for rank in range(layout.processes)]
    mail: dict[tuple[int, int], list[npt.NDArray[np.int64]]] = {}
    for rank, plan in enumerate(plans):
        for record in plan.sends:
            message = blocks[rank][record.source_key].copy()
            assert np.array_equal(message, whole[np.ix_(*(list(p) for p in record.region))])
            mail.setdefault((rank, record.peer), []).append(message)
    for rank, plan in enumerate(plans):
        for record in plan.local:
            blocks[rank][record.target_key] = blocks[rank][record.source_key].copy()
        for record in plan.receives:
            place = blocks[rank][record.target_key]
            assert (place == -1).all()
            blocks[rank][record.target_key] = mail[record.peer, rank].pop(0)
    assert not any(mail.values())
    for block, wanted in zip(blocks, expected):
        assert np.array_equal(block, wanted)


def test_halos_stay_between_copies_and_plain_layouts_have_none() -> None:
    layout = Layout((8,), [Block(padding=(1, 1))], grid=(2,), size=4, ranks=(0, 1, 2, 3))
    assert layout.copies == 2
    assert [r.peer for r in halo_transfer(layout, 1).receives] == [3]
    assert [r.peer for r in halo_transfer(layout, 2).sends] == [0]
    plain = halo_transfer(Layout((8,), size=4), 1)
    assert (plain.sends, plain.receives, plain.local) == ((), (), ())
    ring = halo_transfer(Layout((4,), [Undistributed((1, 2), periodic=True)], size=1), 0)
    assert [r.region for r in ring.local] == [(Range(3, 4),), (Range(0, 2),)]


def test_an_empty_region_asks_for_no_owners(monkeypatch):
    """A rank without columns lists none of the thousand ranks that have its rows."""
    source = Layout((2560, 3125), "bb", size=10**6, grid=(1000, 1000))
    region = Layout((2560, 3125), "nb", size=10**6).region(10**5)
    assert [len(part) for part in region] == [2560, 0]
    monkeypatch.setattr(BlockAxis, "_owners_of", lambda axis, wanted: pytest.fail("owners"))
    assert needed(source, region, 10**5) == ()
