"""Modest arrays, which every rank has and computes by itself, beside arrays on ranks and small ones.

What every rank has may be looked at on any of them, at any time, so random programs are disturbed: in between, one rank
alone looks at such arrays, or computes with them. All ranks must still do the same together.
"""

import random
import tracemalloc

import numpy as np
import pytest

import atoll
from atoll import Layout
from atoll.comm.world import current_world

from . import comparison, nested_statements, statements
from .random_layouts import made

pytestmark = pytest.mark.timeout(240)


def mixed():
    """Few elements are NumPy's, some more are computed everywhere, and the rest lies on ranks."""
    return atoll.config(small=6, everywhere=30)


class Disturbance:
    """Arrays as a program would make them, at times on ranks whatever their size; and ranks that look at what they have."""

    def __init__(self, seed, spread=0.3):
        self.rng = random.Random(seed + 5)
        self.spread = spread

    def make(self, array, seed):
        """A new array: where its size says, or with the chance ``spread`` in any layout."""
        return made(array, seed) if self.rng.random() < self.spread else atoll.array(array)

    def look(self, names):
        """One rank, and no other, looks at an array that all of them have, or computes with it."""
        one, number, way = self.rng.random(), self.rng.random(), self.rng.randrange(4)
        world = current_world()
        if way == 3 or world.rank != int(one * world.size):
            return
        seen = [value for value in names.values() if isinstance(value, atoll.ndarray)]
        chosen = seen[int(number * len(seen))]
        if not chosen.layout.is_replicated or chosen.layout.is_padded:
            return  # elements of padded memory come from the rank that owns them
        if way == 0:
            chosen.tolist()
        elif way == 1 and chosen.dtype.kind in "if":
            (chosen + 1).tolist()
        elif way == 2 and chosen.ndim and chosen.shape[0]:
            (chosen[0] == chosen[-1:]).any()


def compare(seed):
    disturbance = Disturbance(seed)
    program = statements.draw(seed, 8, ranks=True, kind=nested_statements.NestedStatements)
    with atoll.config(everywhere=30):
        comparison.check(program, 6, make=disturbance.make, after=disturbance.look)


@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("block", range(3))
def test_mixed_programs(block, by_numpy):
    for seed in range(block * 25, block * 25 + 25):
        compare(seed)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.ranks(2, 3)
def test_mixed_programs_on_ranks():
    for seed in range(500, 512):
        compare(seed)


def usual():
    """What a user has who has set nothing."""
    return atoll.config(small=30_000, everywhere=None)


def life(np, grid, steps):
    for _ in range(steps):
        padded = np.pad(grid, 1, mode="wrap")
        around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        grid = ((around == 3) | ((grid == 1) & (around == 2))).astype(np.int8)
    return grid


def eliminated(np, a):
    for k in range(12):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def by_rows(np, a):
    for k in range(1, len(a)):
        a[k] = a[k - 1] / 2 + a[k]
        a[k, 3] += 1
    return a


def solved(np, a):
    factor = np.linalg.cholesky(a @ a.T + np.eye(len(a)))
    picked = np.sort(factor.sum(axis=1))[np.argsort(a[:, 0])]
    return np.linalg.solve(factor, picked)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.parametrize("program", [eliminated, by_rows, solved])
def test_modest_matrices_need_no_messages(program):
    with usual():
        data = np.random.default_rng(1).random((200, 200)) + 20 * np.eye(200)
        before = atoll.stats()
        found = np.asarray(program(atoll, atoll.array(data)))
        after = atoll.stats()
        np.testing.assert_allclose(found, program(np, data.copy()), rtol=1e-12)
        assert after.messages == before.messages
        assert after.distributed == before.distributed


@pytest.mark.ranks(2, distributes=False)
def test_modest_grids_need_no_messages():
    with usual():
        grid = np.random.default_rng(2).random((256, 256)) < 0.3
        before = atoll.stats()
        found = life(atoll, atoll.array(grid.astype(np.int8)), 5)
        np.testing.assert_array_equal(np.asarray(found), life(np, grid.astype(np.int8), 5))
        assert found.layout.is_replicated
        assert atoll.stats().messages == before.messages


@pytest.mark.ranks(2, distributes=False)
def test_rows_of_modest_arrays_are_planned_no_more_than_in_one_process():
    with usual():
        a = atoll.array(np.ones((300, 300)))
        atoll.sync()
        before = atoll.stats()
        by_rows(atoll, a)
        after = atoll.stats()
        assert after.plans_made + after.plans_reused - before.plans_made - before.plans_reused <= 2
        lines = atoll.array(np.ones((10, 20_000)))
        atoll.sync()
        before = atoll.stats()
        total = sum([(line * 2 + line[::-1])[5:].sum() for line in lines])
        assert total == 10 * 3 * 19_995
        after = atoll.stats()
        assert (after.plans_made, after.plans_reused) == (before.plans_made, before.plans_reused)


@pytest.mark.ranks(1, 2, 3, 4)
def test_what_is_large_is_divided(size):
    with usual():
        below, above = atoll.zeros(239_999), atoll.zeros(240_000)
        assert below.layout.is_replicated
        assert above.layout.is_replicated == (size == 1)
        assert atoll.random.default_rng(1).random(239_999).layout.is_replicated
        both = atoll.random.default_rng(1).random(240_000)
        assert both.layout == above.layout
        np.testing.assert_array_equal(np.asarray(both), np.random.default_rng(1).random(240_000))
        table, rows = atoll.ones((2000, 1000)), np.arange(130)
        assert table[rows[:119]].layout.is_replicated
        assert table[rows].layout.is_replicated == (size == 1)
        assert float(table[rows[:119]].sum()) == 119_000
        with atoll.config(everywhere=0):
            assert atoll.zeros(30_001).layout.is_replicated == (size == 1)
            assert atoll.zeros(29_999).layout.is_replicated


@pytest.mark.ranks(2, 3)
def test_layouts_are_obeyed(size):
    with usual():
        layout = Layout((300, 300), "nb", size=size)
        a = atoll.ones((300, 300), layout=layout)
        assert a.layout == layout
        assert (a + atoll.ones((300, 300))).layout == layout
        even = Layout.default((300, 300), size)
        for made in (atoll.zeros_like(a), atoll.empty_like(a), atoll.full_like(a, 3)):
            assert made.layout == even
        assert atoll.roll(a, 1, 0).layout == even
        assert atoll.concatenate([a, atoll.ones((300, 300))]).layout == Layout.default(
            (600, 300), size
        )
        assert atoll.zeros_like(a, shape=(5, 5)).layout.is_replicated


@pytest.mark.ranks(2)
def test_one_rank_may_look_at_what_all_have(rank):
    with usual():
        a = atoll.array(np.arange(40_000.0).reshape(200, 200))
        large = atoll.zeros((200, 5000))
        for step in range(6):
            a = a * 1.5 + 1
            if rank == step % 2:
                assert (a[3] + a[4]).sum() > 0
                assert float(a[0, 0]) > 0
                a.tolist()
            large[step] = a[step].repeat(25)
            large += a[:, :1] + a.mean()
        expected = np.arange(40_000.0).reshape(200, 200)
        wide = np.zeros((200, 5000))
        for step in range(6):
            expected = expected * 1.5 + 1
            wide[step] = expected[step].repeat(25)
            wide += expected[:, :1] + expected.mean()
        np.testing.assert_allclose(np.asarray(large), wide, rtol=1e-13)


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("maps", ["bn", "nb", "bb"])
def test_columns_by_numbers(size, maps):
    """As NumPy has them, in its order of memory; few of them everywhere, and by one message where a line of rows is divided."""
    base = np.arange(17 * 23.0).reshape(17, 23)
    with atoll.config(small=60, everywhere=0):
        a = atoll.array(base).redistribute(Layout(base.shape, maps, size=size))
        for numbers in (
            [3, -1, 3],
            [5],
            np.arange(22, -1, -1),
            np.array([], np.int64),
            np.array([1, 2], np.uint8),
        ):
            for key in ((slice(None), numbers), numbers % 17 if len(numbers) > 3 else numbers):
                found, expected = a[key], base[key]
                np.testing.assert_array_equal(np.asarray(found), expected)
                if min(expected.shape) > 1:
                    assert found.strides == expected.strides
                if expected.size < 60:
                    assert found.layout.is_replicated
        for wrong in ([2, 23], [-24, 1]):
            with pytest.raises(IndexError, match=r"out of bounds for axis 1 with size 23"):
                a[:, wrong]
        atoll.sync()
        before = atoll.stats()
        a[:, [1, 2]]
        after = atoll.stats()
        assert after.messages == before.messages or maps != "bn"


@pytest.mark.ranks(2, distributes=False)
def test_chains_of_modest_arrays_do_not_grow_in_each_turn():
    """What a loop passes by is stored at last, as in one process: ranks that do not share it need not agree on it."""

    def growing(np, steps):
        price, total = np.full(50_000, 1.0), np.zeros(50_000)
        for step in range(steps):
            price = price * np.exp(0.01 * step - price)
            total += price
        return total

    with usual():
        growing(atoll, 8)
        before = atoll.stats().plans_made
        found = growing(atoll, 40)
        assert atoll.stats().plans_made - before <= 4
        np.testing.assert_allclose(np.asarray(found), growing(np, 40), rtol=1e-12)


@pytest.mark.ranks(2, 3)
def test_what_one_rank_has_looked_at_is_assigned_as_on_all_others(rank):
    """What is in hand is written at once, without a message, and must be in hand on all ranks or on none."""
    ways = [
        lambda large, modest, step: large.__setitem__((slice(None), step), modest.sum(axis=0)),
        lambda large, modest, step: large.__setitem__((slice(None), step), modest[step]),
        lambda large, modest, step: large[:, step].__iadd__(modest[2, ::-1]),
        lambda large, modest, step: large.__setitem__(([step, 7], 30), modest[0, [step, 2 * step]]),
    ]
    for way in ways:
        with atoll.config(small=100, everywhere=5000):
            large, expected = atoll.zeros((60, 100)), np.zeros((60, 100))
            atoll.sync()
            for step in range(1, 4):
                modest = atoll.array(np.arange(3000.0).reshape(50, 60)) * step
                if rank == 1:
                    modest.tolist()
                way(large, modest, step)
                way(expected, np.arange(3000.0).reshape(50, 60) * step, step)
            np.testing.assert_array_equal(np.asarray(large), expected)


MADE_EVERYWHERE = [
    lambda np, large, modest: np.multiply(large, 2, out=modest),
    lambda np, large, modest: modest.__setitem__(..., large),
    lambda np, large, modest: modest.__setitem__((slice(2), 3), large[1:3, 1]),
    lambda np, large, modest: modest.__setitem__(modest > 20, large[modest > 20]),
    lambda np, large, modest: np.copyto(modest, large, where=modest > 20),
    lambda np, large, modest: modest.__iadd__(large),
    lambda np, large, modest: large[:2, 1],
    lambda np, large, modest: large[:2, 1].copy(),
    lambda np, large, modest: large.view("i4")[1, :4],
    lambda np, large, modest: np.cumsum(large[:2, 1]),
    lambda np, large, modest: np.sort(large[:2, 1]),
    lambda np, large, modest: large.max(axis=0),
]


@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("way", range(len(MADE_EVERYWHERE)))
def test_one_rank_may_look_at_what_ranks_have_made_everywhere(way, by_numpy):
    """All ranks compute it together, whatever the operation, before they compute anything else."""
    make = MADE_EVERYWHERE[way]
    data = np.arange(48).reshape(6, 8)
    world = current_world()
    for looking in range(world.size):
        with atoll.config(small=6, everywhere=100):
            large = atoll.zeros(data.shape, int, layout=Layout.default(data.shape, world.size))
            large += atoll.array(data)
            modest, expected = atoll.array(data[::-1]), data[::-1].copy()
            atoll.sync()
            made = make(atoll, large, modest)
            wanted = make(np, data.copy(), expected)
            for one in (made, modest) if world.rank == looking else ():
                if isinstance(one, atoll.ndarray) and one.layout.is_replicated:
                    one.tolist()
            total = np.asarray(np.cumsum(large + 1, axis=0))
            np.testing.assert_array_equal(total, np.cumsum(data + 1, axis=0))
            np.testing.assert_array_equal(np.asarray(modest), expected)
            if wanted is not None:
                np.testing.assert_array_equal(np.asarray(made), wanted)


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_rank_copies_its_share_of_a_numpy_array_alone(order, size):
    whole = np.asarray(np.random.default_rng(3).random((700, 600)), order=order)
    with usual():
        atoll.array(whole)
        tracemalloc.start()
        try:
            a = atoll.array(whole)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < whole.nbytes * 0.7
        assert a.local.nbytes < whole.nbytes * 1.1 / size
        assert a.strides == whole.strides
        whole[0] = 0
        assert float(np.asarray(a)[0].min()) > 0


@pytest.mark.ranks(1, 2, distributes=False)
def test_a_join_of_a_short_part_and_the_rest_evaluates_neither():
    with atoll.config(small=100, everywhere=10_000):
        a = atoll.ones((60, 60)) * 2
        rolled = atoll.concatenate([a[-1:], a[:-1]])
        assert a._cell.node.value is None
        assert rolled._cell.node.value is None
        np.testing.assert_array_equal(np.asarray(rolled), np.full((60, 60), 2.0))
