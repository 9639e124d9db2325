"""Shares that are no boxes: slices of them are read and written where they lie, and all that is computed is NumPy's."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import Block, Cyclic, Unstructured
from tests.engine.test_plans import Loop, eliminate

pytestmark = pytest.mark.timeout(300)


def lists(n, size, *, ascending):
    """Every index on a rank by chance, in their order or not."""
    order = numpy.random.default_rng(5).permutation(n)
    parts = [order[rank::size] for rank in range(size)]
    return Unstructured([sorted(part) if ascending else part for part in parts])


MAPS = {
    "cn": lambda n, size: ["c", "n"],
    "nc": lambda n, size: ["n", "c"],
    "cc": lambda n, size: ["c", "c"],
    "by threes": lambda n, size: [Cyclic(3), "n"],
    "by fives": lambda n, size: ["n", Cyclic(5, offset=2)],
    "both": lambda n, size: [Cyclic(2), Cyclic(7)],
    "blocks too": lambda n, size: ["b", "c"],
    "listed": lambda n, size: [lists(n, size, ascending=True), "n"],
    "listed, mixed": lambda n, size: ["n", lists(n, size, ascending=False)],
    "padded": lambda n, size: [Block(padding=(1, 2)), "n"],
}


def on(layout):
    """The functions that test programs call; their arrays lie in a layout."""

    class Moved:
        outer, where = staticmethod(np.outer), staticmethod(np.where)

        @staticmethod
        def array(values):
            return np.array(values).redistribute(layout)

    return Moved


@pytest.mark.slow
@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("which", MAPS)
def test_elimination(which, size):
    n = 21
    layout = np.Layout((n, n), MAPS[which](n, size), size=size)
    ours, expected = eliminate(on(layout), n, 19), eliminate(numpy, n, 19)
    assert ours.layout == layout
    numpy.testing.assert_allclose(numpy.asarray(ours), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.simulated(3)
@pytest.mark.parametrize(("which", "seed"), [("nc", 0), ("cc", 1), ("both", 5), ("listed", 3)])
def test_random_loops(which, seed, size):
    loop = Loop(seed)
    layout = np.Layout((loop.n, loop.n), MAPS[which](loop.n, size), size=size)
    steps = loop.n - 2
    expected, sums = loop.run(numpy, steps, seed % 4)
    found, ours = loop.run(on(layout), steps, seed % 4)
    for got, right in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(got, right, rtol=1e-11, equal_nan=True)
    numpy.testing.assert_allclose(ours, sums, rtol=1e-11, equal_nan=True)


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize(
    ("which", "key"),
    [
        ("cn", numpy.s_[5:, 3:]),
        ("nc", numpy.s_[::-1, 20:2:-3]),
        ("cc", numpy.s_[1::2, 4:]),
        ("by threes", numpy.s_[4:30, ::2]),
        ("by fives", numpy.s_[3, ::-1]),
        ("listed", numpy.s_[7:, 1:-1]),
    ],
)
def test_a_slice_is_written_where_it_lies(which, key, size):
    n = 40
    values = numpy.arange(float(n * n)).reshape(n, n)
    a = np.array(values).redistribute(np.Layout((n, n), MAPS[which](n, size), size=size))
    np.sync()
    before = np.stats()
    a[key] *= 2.0
    a[key] += numpy.pi
    np.sync()
    after = np.stats()
    assert after.created + after.reused == before.created + before.reused
    assert after.messages == before.messages
    values[key] = values[key] * 2.0 + numpy.pi
    assert numpy.array_equal(numpy.asarray(a), values)


@pytest.mark.ranks(2)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("line", ["a[...] = b", "a[1:] = b[1:] + 1", "a[:, 1:] += b[:, :-1]"])
def test_blocks_are_written_in_the_order_in_which_they_lie(line, size):
    """What was dealt out anew may lie in memory column by column."""
    whole = numpy.arange(72.0).reshape(8, 9)
    layout = np.Layout((8, 9), ("b", Cyclic(2)), size=size)
    a, b = (np.asarray(values).redistribute(layout) for values in (whole.copy(), -whole))
    expected = whole.copy()
    exec(line, {"a": expected, "b": -whole})
    exec(line, {"a": a, "b": b})
    numpy.testing.assert_array_equal(numpy.asarray(a), expected)


@pytest.mark.simulated(2)
def test_a_block_that_lies_otherwise_is_written_as_it_lies(size):
    """Blocks of small arrays are cut out by NumPy, and not always in C order."""
    values = numpy.random.default_rng(1).random((23, 23))
    with np.config(small=30000):
        layout = np.Layout((23, 23), ["n", Cyclic(3, offset=2)], size=size)
        a = np.array(values).redistribute(layout)
    for k in range(3, 20):
        for array in (a, values):
            array[k // 2 : k // 2 + 7, k:2:-1] -= array[15:2:-2, 3 : k + 1] * 0.5
    assert numpy.array_equal(numpy.asarray(a), values)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 5, 12)
@pytest.mark.parametrize("turned", [False, True])
def test_a_region_that_all_ranks_read_comes_in_the_order_of_their_indices(turned, size):
    """Rows of a table are dealt in an order of their own; a column that its owner sends to all ranks of the line has another."""
    n, width = 9, 2 * size
    order = numpy.random.default_rng(size).permutation(n)
    table, column = numpy.arange(n * width * 1.0).reshape(n, width), numpy.arange(n)[:, None] ** 2.0
    axes = Unstructured([order.tolist()], one_to_one=True), "b"
    alone = "n", Unstructured([[0], *[[]] * (size - 1)])
    with np.config(small=0, everywhere=0):
        a = np.array(table).redistribute(np.Layout(table.shape, axes, size=size))
        b = np.array(column).redistribute(np.Layout(column.shape, alone, size=size))
        if turned:
            a, b = a.T, b.T
        for _ in range(2):
            ours = np.where(a > 4, b, -a) + b
            theirs = numpy.where(table > 4, column, -table) + column
            numpy.testing.assert_array_equal(ours, theirs.T if turned else theirs)
