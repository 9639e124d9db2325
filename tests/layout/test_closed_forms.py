"""Bounds, padding and seats in closed form: as tuples and tables say, whatever is sliced, turned and joined."""

from __future__ import annotations

import random
import sys
import tracemalloc

import numpy as np
import pytest

from atoll.layout import Block, Cyclic, Layout, Range, needed
from atoll.layout.bounds import (
    Bounds,
    balanced_bounds,
    block_of,
    ceiling_bounds,
    cut_bounds,
    filled_blocks,
    longest_block,
    scaled_bounds,
)
from atoll.layout.seats import Seats, turning


def cuts(generator, size):
    """A random slice of an axis."""
    key = slice(
        generator.choice([None, generator.randrange(size + 1)]),
        generator.choice([None, generator.randrange(size + 1)]),
        generator.choice([1, 1, 2, 3, 7, -1, -2, -5]),
    )
    return range(size)[key]


@pytest.mark.parametrize("make", [balanced_bounds, ceiling_bounds])
def test_bounds_are_those_of_a_tuple(make):
    generator = random.Random(1)
    for _ in range(400):
        blocks, size = generator.randrange(2, 12), generator.randrange(1, 60)
        closed = make(size, blocks)
        listed = tuple(closed)
        for _ in range(generator.randrange(3)):
            if not listed[-1]:
                break
            part = cuts(generator, listed[-1])
            closed, listed = cut_bounds(closed, part), cut_bounds(listed, part)
        assert type(closed) is Bounds
        assert closed == listed
        assert listed == closed
        assert closed[1:-1] == listed[1:-1]
        assert np.asarray(closed).tolist() == list(listed)
        assert [closed[k] for k in range(-blocks - 1, blocks + 1)] == list(listed) * 2
        inside = np.arange(listed[-1])
        numbers, local = np.empty_like(inside), np.empty_like(inside)
        if inside.size:
            closed.locate(inside, numbers, local)
        assert numbers.tolist() == [block_of(listed, index) for index in inside.tolist()]
        assert (np.asarray(listed)[numbers] + local == inside).all()
        for index in (-3, 0, listed[-1] - 1, listed[-1], listed[-1] + 2):
            if listed[-1] or index < 0:
                assert closed.block(index) == max(block_of(listed, index), -1)
        assert list(filled_blocks(closed)) == list(filled_blocks(listed))
        longest = longest_block(listed)
        step = 1 if closed.selected is None else abs(closed.selected.step)
        assert longest <= longest_block(closed) <= longest + (step > 1)


def test_bounds_of_different_forms_that_are_equal():
    whole, part = balanced_bounds(8, 4), balanced_bounds(10, 5)
    same = cut_bounds(balanced_bounds(16, 4), range(0, 16, 2))
    assert whole == same
    assert hash(whole) == hash(same)
    assert whole != part
    assert Layout((8,), "b", size=4) == Layout((16,), "b", size=4).sliced(slice(None, None, 2))
    assert hash(Layout((8,), "b", size=4)) == hash(Layout((8,), [Block((0, 2, 4, 6, 8))], size=4))
    assert Layout((8,), "b", size=4) != Layout((8,), [Block((0, 2, 3, 6, 8))], size=4)


def test_bounds_are_equal_where_tuples_are():
    generator = random.Random(4)
    equal = 0
    for _ in range(1500):
        blocks, first, second = generator.randrange(40, 200), generator.randrange(2), 0
        pair = []
        for _ in range(2):
            size = blocks * generator.randrange(1, 4) + generator.randrange(3)
            bounds = generator.choice([balanced_bounds, ceiling_bounds])(size, blocks)
            step = generator.choice([1, 1, 2, 3, -1, -2])
            ends = [first, size - generator.randrange(3)]
            part = range(*ends, step) if step > 0 else range(ends[1] - 1, ends[0] - 1, step)
            bounds = cut_bounds(bounds, part)
            pair.append(bounds.scaled(generator.choice([1, 1, 2])))
        first, second = pair
        same = tuple(first) == tuple(second)
        equal += same
        assert (first == second) is same
    assert equal > 5


def test_bounds_times_a_number():
    for blocks in (2, 3, 7):
        for size in (3, 12, 20):
            even = balanced_bounds(size, blocks)
            for bounds in (
                even,
                cut_bounds(even, range(1, size)),
                cut_bounds(even, range(0, size, 2)),
            ):
                large = scaled_bounds(bounds, 3)
                assert tuple(large) == tuple([3 * bound for bound in bounds])
                for index in range(large[-1]):
                    assert block_of(large, index) == block_of(tuple(large), index)


def test_padding_is_that_of_pairs():
    for periodic in (False, True):
        for blocks in (2, 3, 5):
            closed = Layout((20,), [Block(padding=(1, 2), periodic=periodic)], size=blocks)
            pairs = Layout(
                (20,), [Block(padding=[(1, 2)] * blocks, periodic=periodic)], size=blocks
            )
            assert closed == pairs
            assert tuple(closed.axes[0].halos) == tuple(pairs.axes[0].halos)
            assert repr(closed) == repr(pairs)


def test_numbers_that_go_round():
    generator = random.Random(2)
    for _ in range(300):
        modulus = generator.randrange(1, 12)
        hop = generator.randrange(-12, 13)
        first = generator.randrange(30)
        count = generator.randrange(1, modulus // np.gcd(hop, modulus) + 1)
        closed = turning(first, hop, modulus, count)
        listed = [(first + hop * k) % modulus for k in range(count)]
        assert list(closed) == listed
        for number in range(modulus):
            if number in listed:
                assert closed.index(number) == listed.index(number)
            else:
                with pytest.raises(ValueError, match=r"not in"):
                    closed.index(number)
        part = slice(generator.randrange(count), None, generator.choice([1, 2, -1]))
        assert list(closed[part]) == listed[part]


def derived(generator, seats, table):
    """One derivation of seats, and the same of the table of ranks."""
    axes = table.ndim - 1
    kind = generator.choice(["select", "turn", "join", "expand", "transpose", "list"])
    if kind == "expand" or not axes:
        place = generator.randrange(axes + 1)
        return seats.expanded(place), np.expand_dims(table, place)
    axis = generator.randrange(axes)
    count = table.shape[axis]
    if kind == "transpose":
        order = generator.sample(range(axes), axes)
        return seats.transposed(order), table.transpose(*order, axes)
    if kind == "join":
        moved = np.moveaxis(table, axis, -2)
        return seats.joined(axis), moved.reshape(*moved.shape[:-2], -1)
    order = range(count)[:: generator.choice([1, -1, 2])]
    if kind == "turn":
        hop = generator.choice([1, -1, 2, 3])
        order = turning(generator.randrange(count), hop, count, count // int(np.gcd(hop, count)))
    if kind == "list":
        order = tuple(generator.sample(range(count), generator.randrange(1, count + 1)))
    return seats.selected(axis, order), table.take(list(order), axis=axis)


def test_seats_are_those_of_a_table():
    generator = random.Random(3)
    for turn in range(400):
        grid = tuple([generator.randrange(1, 5) for _ in range(generator.randrange(4))])
        copies = generator.randrange(1, 4)
        cells = int(np.prod(grid, dtype=int)) * copies
        members = [
            range(cells),
            np.arange(cells) * 2 + 1,
            np.array(generator.sample(range(300), cells)),
        ]
        chosen = members[turn % 3]
        seats = Seats.over(chosen, grid, copies)
        table = np.asarray(chosen).reshape(*grid, copies)
        for _ in range(generator.randrange(5)):
            seats, table = derived(generator, seats, table)
        assert seats.grid == table.shape[:-1]
        assert seats.copies == table.shape[-1]
        assert (seats.table() == table).all()
        same = Seats.over(table.ravel(), table.shape[:-1], table.shape[-1])
        assert seats == same
        assert hash(seats) == hash(same)
        assert seats.is_row_major == bool((table.ravel() == np.arange(table.size)).all())
        cells = list(np.ndindex(*table.shape[:-1]))
        for cell in cells:
            assert list(seats.at(cell)) == table[cell].tolist()
        if table.ndim > 1:
            for copy in range(table.shape[-1]):
                places = [np.array(line) for line in zip(*cells, strict=True)]
                assert seats.ranks_of(places, copy).tolist() == [table[(*c, copy)] for c in cells]
        for rank in range(60):
            where = np.argwhere(table == rank)
            seat = seats.seat(rank)
            assert seat == (
                None if not len(where) else (tuple(where[0][:-1].tolist()), where[0][-1])
            )


MANY = 10**6


def asked(layout):
    """What a planner asks of a layout and of those derived from it."""
    rank = layout.processes // 3
    inner = layout.sliced((slice(1, -1),) * layout.ndim)
    back = inner.transposed().reduced(0)
    for each in (layout, inner, back, layout.broadcast((3, *layout.shape)), layout.unpadded()):
        region = each.region(rank)
        needed(layout, layout.region(rank), rank)
        assert each == each.seated(each.axes, each.seats)
        assert len({each, layout}) <= 2
        each.ranks_at(each.coordinates(rank))[0]
        each.neighbours(rank)
        assert all(len(part) >= 0 for part in region)
    return inner.sliced((slice(None, None, 2),) * layout.ndim).locate((1,) * layout.ndim)


@pytest.mark.parametrize(
    "maps",
    ["b", "bb", "bbb", "bn", "c", "cb", [Block(padding=(1, 1))], [Block("ceil")], [Cyclic(4)]],
    ids=str,
)
def test_layouts_of_a_million_ranks_cost_what_those_of_a_hundred_cost(maps):
    lines = []
    for size in (100, MANY):
        asked(Layout((12 * size,) * len(maps), maps, size=size))
        counted = 0

        def count(frame, event, argument):
            nonlocal counted
            counted += event == "line"
            return count

        tracemalloc.start()
        asked(Layout((12 * size,) * len(maps), maps, size=size))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100_000
        before = sys.gettrace()
        sys.settrace(count)
        asked(Layout((12 * size,) * len(maps), maps, size=size))
        sys.settrace(before)
        lines.append(counted)
    assert lines[1] < 1.3 * lines[0]


def test_a_region_of_a_cyclic_axis_among_a_million():
    layout = Layout((10**9,), [Cyclic(4)], size=MANY).sliced(slice(3, None))
    rank = layout.locate((10,))[0]
    assert layout.coordinates(rank) is not None
    assert needed(layout, (Range(5, 25),), 0)[0].peer == layout.locate((5,))[0]
