"""Sorted lines and axes on ranks, and what is different in them."""

import numpy as np
import pytest

import atoll
from atoll import policy
from atoll.collective import Section, even_line, even_part, in_order, ordered, starts

from .distributions import LINES, MAPS, normal, put, same, uneven


def lines():
    whole = normal((53,))
    holes = whole.copy()
    holes[::7] = np.nan
    return {
        "different": whole,
        "few": np.round(whole),
        "equal": np.zeros(40),
        "NaN": holes,
        "integers": (whole * 9).astype(np.int16),
        "truth": whole > 0,
        "short": whole[:3],
        "sorted": np.sort(whole),
        "backwards": np.sort(whole)[::-1].copy(),
        "complex": np.round(whole) + 1j * np.round(whole[::-1]),
    }


@pytest.mark.slow
@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("name", lines())
def test_lines(name, size):
    a = lines()[name]
    for ours in (*[put(a, line, size) for line in LINES], uneven(a, size)):
        same(atoll.sort(ours), np.sort(a), 0)
        same(atoll.argsort(ours, kind="stable"), np.argsort(a, kind="stable"), 0)
        same(atoll.unique(ours), np.unique(a), 0)
        found = atoll.unique(ours, return_counts=True, return_index=True)
        for mine, theirs in zip(found, np.unique(a, return_counts=True, return_index=True)):
            same(mine, theirs, 0)
        copy = ours[::-1].copy()
        copy.sort()
        same(copy, np.sort(a), 0)
        same(ours, a, 0)
        if name != "complex":
            same(atoll.searchsorted(np.sort(a)[:9], ours), np.searchsorted(np.sort(a)[:9], a), 0)


@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["bn", "nb", "bb", "cn"])
def test_partitions_of_rows_are_those_of_numpy(maps, size):
    a = np.round(normal((9, 40)) * 3)
    for axis in (0, 1, -1):
        for kth in (0, 5, -1, [2, 7]):
            ours = put(a, maps, size)
            same(atoll.partition(ours, kth, axis), np.partition(a, kth, axis), 0)
            same(ours.argpartition(kth, axis), np.argpartition(a, kth, axis), 0)
            ours.partition(kth, axis)
            same(ours, np.partition(a, kth, axis), 0)
    with pytest.raises(ValueError, match=r"kth\(=40\) out of bounds"):
        atoll.argpartition(ours, 40)
    with pytest.raises(TypeError, match="must be integer"):
        atoll.partition(ours, 2.5)


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("kind", [None, "stable", "heapsort"])
def test_rows_are_ordered_and_taken_where_they_lie(kind, size):
    """The places of equal elements of a row are NumPy's."""
    a = np.round(normal((12, 300)) * 9)
    ours = put(a, "bn", size)
    ours.argsort(1, kind)._evaluate()
    before = atoll.stats().messages
    order = ours.argsort(1, kind)
    rows = atoll.take_along_axis(ours, order[:, ::-1].copy(), 1)
    rows._evaluate()
    assert atoll.stats().messages == before
    same(order, np.argsort(a, 1, kind), 0)
    same(rows, np.take_along_axis(a, np.argsort(a, 1, kind)[:, ::-1], 1), 0)


@pytest.mark.simulated(3)
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("equal", [0, 2, 4000], ids=str)
def test_long_lines_are_ordered_stably(equal, size):
    """NumPy's fast sort orders parts without equal elements; NaN and zeros of either sign are equal to one another."""
    a = normal((150_000,))
    a[:equal] = np.resize([np.nan, 0.0, -0.0, 3.0], equal)
    for values in (a, a.astype("f4"), (a * 1e15).astype(np.int64)):
        same(atoll.argsort(put(values, "b", size)), np.argsort(values, kind="stable"), 0)


@pytest.mark.slow
@pytest.mark.simulated(1, 3, 20)
@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("dtype", ["f2", "f8", "D"])
@pytest.mark.parametrize("shape", [(400,), (20, 30), (6, 5, 40)], ids=str)
def test_stable_sorts_keep_zeros_and_nan_in_their_order(shape, dtype):
    values = np.array([0.0, -0.0, 1.0, -1.0, np.nan, -np.nan], dtype)
    whole = np.random.default_rng(2).choice(values, shape)
    a = atoll.array(whole)

    def bits(array):
        return np.ascontiguousarray(np.asarray(array)).view(np.uint8).tolist()

    for axis in (*range(len(shape)), None):
        for words in ({"kind": "stable"}, {"kind": "mergesort"}, {"stable": True}):
            assert bits(atoll.sort(a, axis, **words)) == bits(np.sort(whole, axis, **words))
            assert bits(atoll.argsort(a, axis, **words)) == bits(np.argsort(whole, axis, **words))
    a.sort(kind="stable")
    assert bits(a) == bits(np.sort(whole, kind="stable"))


@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_axes(maps, size):
    a = normal((8, 9))
    ours = put(a, maps, size)
    for axis in (0, 1, None):
        same(atoll.sort(ours, axis), np.sort(a, axis), 0)
        same(ours.argsort(axis), a.argsort(axis), 0)
    ours.sort(0)
    same(ours, np.sort(a, 0), 0)
    same(atoll.unique(atoll.round(ours)), np.unique(np.round(a)), 0)


def blocks(rank, size):
    """One rank's elements of lines whose splitters are easy to find, and hard."""
    everything = normal((700,))
    own = slice(*even_part(700, size, rank))
    return {
        "random": everything[own],
        "equal": np.zeros(700)[own],
        "few": np.round(everything)[own],
        "sorted": np.sort(everything)[own],
        "backwards": np.sort(everything)[::-1][own],
        "saw": (np.arange(700) % 97)[own],
        "powers": 2.0 ** np.round(everything * 300)[own],
        "short": np.float32(everything)[slice(*even_part(3, size, rank))],
        "long double": np.sort(everything)[own].astype(np.longdouble) ** 9,
    }


@pytest.mark.simulated(1, 5, 8, distributes=False)
@pytest.mark.ranks(3, distributes=False)
@pytest.mark.parametrize(
    "limits", [{}, {"short": 2, "pieces": 2}, {"few_ranks": 0}, {"few_ranks": 2}], ids=str
)
def test_an_element_travels_once_to_even_blocks(limits, rank, size):
    communicator = atoll.world.communicator
    with policy.limited(**limits):
        for name, block in blocks(rank, size).items():
            every = np.concatenate(communicator.allgather_object(block))
            line = Section(block.copy(), even_line(len(every), size), communicator)
            own = slice(*even_part(len(every), size, rank))
            order = np.argsort(every, kind="stable")
            values, places = ordered(line)
            assert (places.block == order[own]).all(), name
            assert (values.block == every[order[own]]).all(), name
            before = communicator.traffic.copy()
            assert (in_order(line).block == every[order[own]]).all(), name
            if not limits:
                assert (communicator.traffic - before).messages_sent < size, name
            assert (line.block == block).all(), name
            before = communicator.traffic.copy()
            marks = starts(values).block
            spent = communicator.traffic - before
            assert spent.messages_sent <= 1, name
            assert spent.collectives == 0, name
            ascending = every[order]
            new = np.append(True, ascending[1:] != ascending[:-1])
            assert (marks == new[own]).all(), name
