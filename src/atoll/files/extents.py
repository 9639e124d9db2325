"""Extents of a rank's elements in a file: pieces of its block that are contiguous in C order.

All functions are arithmetic on shapes and index sets. Elements are numbered in C order of the whole array, the order of the
file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ..context.caches import remembered
from ..layout import BlockAxis, IndexSet, Layout, Range, Region
from ..layout.bounds import balanced_bounds

LISTED = 1 << 14
"""Number of indices that are listed at a time from a set without a closed form."""


class Piece(NamedTuple):
    """A run of elements in the file: its key in the rank's block, the number of its first element, and its length."""

    key: tuple[Any, ...]
    first: int
    length: int


def split_axis(shape: Sequence[int], most: int) -> int:
    """The first axis at which one index selects at most ``most`` elements; the last axis if there is no such axis."""
    axis = 0
    while axis < len(shape) - 1 and prod(shape[axis + 1 :]) > most:
        axis += 1
    return axis


def boxes(
    shape: tuple[int, ...], most: int, ways: int = 1
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Split an array into pieces that are contiguous in C order: the number of each one's first element, and its key.

    A piece has at most ``most`` elements for each of ``ways`` ranks if these divide it along the only axis that it cuts.
    """
    if not prod(shape):
        return
    if not shape:
        yield 0, ()
        return
    axis = split_axis(shape, most)
    inner = prod(shape[axis + 1 :])
    rows = max(most // inner, 1) * ways
    for number, lead in enumerate(product(*[range(n) for n in shape[:axis]])):
        for start in range(0, shape[axis], rows):
            stop = min(start + rows, shape[axis])
            key = (*[slice(i, i + 1) for i in lead], slice(start, stop))
            yield (number * shape[axis] + start) * inner, key


@remembered
def rows_layout(shape: tuple[int, ...], axis: int, size: int, chunk: int = 1) -> Layout:
    """Layout with one axis in even blocks of whole chunks, in the order of the ranks: the axis that :func:`boxes` cuts."""
    axes = [BlockAxis(n, (0, n)) for n in shape]
    if shape:
        bounds = balanced_bounds(-(-shape[axis] // chunk), size)
        if chunk > 1:
            bounds = tuple([min(bound * chunk, shape[axis]) for bound in bounds])
        axes[axis] = BlockAxis(shape[axis], bounds)
    return Layout.in_order(axes, size)


def is_whole(part: IndexSet, extent: int) -> bool:
    """True if an index set contains all indices of an axis, in order."""
    return isinstance(part, Range) and part.values == range(extent)


def last_cut(region: Region, shape: Sequence[int]) -> int:
    """The last axis that a region does not cover completely and in order; 0 if it covers all axes after the first."""
    for axis in range(len(shape) - 1, 0, -1):
        if not is_whole(region[axis], shape[axis]):
            return axis
    return 0


def stretches(part: IndexSet, most: int) -> Iterator[tuple[int, int, int]]:
    """Runs of consecutive indices of a set, each of at most ``most``: the local index, the index, and the length."""
    if isinstance(part, Range) and part.step == 1:
        for start in range(0, len(part), most):
            yield start, part.start + start, min(most, len(part) - start)
        return
    for begin in range(0, len(part), LISTED):
        indices = part.select(Range(begin, min(begin + LISTED, len(part)))).array()
        ends = [*((indices[1:] != indices[:-1] + 1).nonzero()[0] + 1).tolist(), len(indices)]
        start = 0
        for end in ends:
            for first in range(start, end, most):
                yield begin + first, int(indices[first]), min(most, end - first)
            start = end


def pieces(region: Region, shape: tuple[int, ...], most: int) -> Iterator[Piece]:
    """Split a rank's elements into pieces that are contiguous in the file and have about ``most`` elements at most."""
    if not all(map(len, region)):
        return
    if not shape:
        yield Piece((), 0, 1)
        return
    axis = max(last_cut(region, shape), split_axis(shape, most))
    inner = prod(shape[axis + 1 :])
    rows = max(most // inner, 1)
    tail = (slice(None),) * (len(shape) - axis - 1)
    for lead in product(*[_numbered(part) for part in region[:axis]]):
        base = 0
        for (_, index), extent in zip(lead, shape[:axis]):
            base = base * extent + index
        places = tuple([slice(place, place + 1) for place, _ in lead])
        for place, index, count in stretches(region[axis], rows):
            key = (*places, slice(place, place + count), *tail)
            yield Piece(key, (base * shape[axis] + index) * inner, count * inner)


def _numbered(part: IndexSet) -> list[tuple[int, int]]:
    return list(enumerate(part.array().tolist()))


def run_length(region: Region, shape: tuple[int, ...]) -> int:
    """The average length of the runs of a region's elements in the file."""
    size = prod(map(len, region))
    if not size or not shape:
        return size
    axis = last_cut(region, shape)
    runs = prod([len(part) for part in region[:axis]]) * _runs(region[axis])
    return size // max(runs, 1)


def _runs(part: IndexSet) -> int:
    """The number of runs of consecutive indices in a set; for a long set, an estimate from its first ``LISTED`` indices."""
    if isinstance(part, Range) and part.step == 1:
        return 1
    some = part.select(Range(0, min(len(part), LISTED)))
    runs = sum(1 for _ in stretches(some, LISTED))
    return runs * len(part) // max(len(some), 1)


@remembered
def shortest_run(layout: Layout) -> int:
    """The smallest average run length of any rank; the layout alone determines it, so all ranks compute the same."""
    lengths = [run_length(layout.region(rank), layout.shape) for rank in layout.ranks]
    return min([n for n in lengths if n], default=0)
