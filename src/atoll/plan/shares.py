"""Shares that are boxes: what ranks own of an array in blocks, as intervals along its axes.

Loops run over boxes, and what they read of other ranks is a box again. So who sends what to whom follows
from intervals alone, by comparing their ends; no index set is made. The ends may be unknown
(see ``unknown``): then each comparison is a check, and an exchange is planned once for slices that move,
like the loops that it is for.

A :class:`LoosePlace` stands for the place of such a slice: the blocks have unknown bounds, and who sits
where is as it was. It says only what is said here; a planner that asks for more gets a
:class:`NotMovingError`, and plans for this step alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NoReturn

from ..comm.world import World
from ..layout import Layout
from ..ops.placement import Place
from .unknown import Number, Unknown, greatest, least

Interval = tuple[Number, Number]
"""First index, and the one after the last."""
Intervals = tuple[Interval, ...]

NOTHING: Interval = (0, 0)


class NotMovingError(Exception):
    """A program does something that no template can say."""


class LooseLayout:
    """Blocks with unknown bounds, on the grid of a layout."""

    __slots__ = ("_like", "bounds", "copies", "grid", "is_block", "ndim", "overlaps", "processes", "ranks", "shape")  # fmt: skip

    def __init__(self, like: Layout, bounds: tuple[tuple[Number, ...], ...]) -> None:
        self._like = like
        self.bounds = bounds
        self.shape = tuple([ends[-1] for ends in bounds])
        self.ndim, self.grid, self.copies = like.ndim, like.grid, like.copies
        self.processes, self.ranks = like.processes, like.ranks
        self.is_block, self.overlaps = True, False

    def coordinates(self, rank: int) -> tuple[int, ...] | None:
        """Where in the grid a rank sits, ``None`` if it takes no part."""
        return self._like.coordinates(rank)

    def ranks_at(self, coordinates: Sequence[int]) -> tuple[int, ...]:
        """The ranks that hold a cell."""
        return self._like.ranks_at(coordinates)

    def local_shape(self, rank: int) -> tuple[Number, ...]:
        """The shape of a rank's block."""
        return tuple([high - low for low, high in box_of_rank(self, rank)])

    def __getattr__(self, name: str) -> NoReturn:
        raise NotMovingError(name)


class LoosePlace:
    """A :class:`LooseLayout` over the ranks of a world; ``number`` is less than nothing."""

    __slots__ = ("folds_whole", "held_once", "layout", "number", "padded", "read", "world")

    def __init__(self, like: Place, bounds: tuple[tuple[Number, ...], ...], number: int) -> None:
        self.layout = LooseLayout(like.layout, bounds)
        self.world: World = like.world
        self.number = number
        self.padded, self.folds_whole, self.held_once = False, like.folds_whole, like.held_once
        self.read: dict[int, Any] = {}


def bounds_of(layout: Any) -> tuple[tuple[Number, ...], ...]:
    """For each axis of a layout in blocks, where they begin, and where the last one ends."""
    if type(layout) is LooseLayout:
        loose: LooseLayout = layout
        return loose.bounds
    return tuple([axis.bounds for axis in layout.axes])


def box_of_rank(layout: Any, rank: int) -> Intervals:
    """What a rank owns of a layout in blocks."""
    place = layout.coordinates(rank)
    if place is None:
        return tuple([NOTHING for _ in layout.grid])
    found = []
    for ends, coordinate in zip(bounds_of(layout), place, strict=True):
        low, high = ends[coordinate], ends[coordinate + 1]
        found.append((low, high) if low < high else NOTHING)
    return tuple(found)


def intervals_of(place: Any, rank: int) -> Intervals | None:
    """What a rank owns, as one interval per axis; ``None`` where it is not that simple."""
    if place.number < 0:  # a loose one
        return box_of_rank(place.layout, rank)
    key = (place.number, rank)
    if key not in _intervals:
        if len(_intervals) > 16384:
            _intervals.clear()
        found: list[tuple[int, int]] = []
        contiguous = True
        for part in place.layout.region(rank):
            if not len(part):
                found.append((0, 0))
            elif part.is_contiguous:
                found.append((part.lowest, part.highest + 1))
            else:
                contiguous = False
                break
        _intervals[key] = tuple(found) if contiguous else None
    return _intervals[key]


_intervals: dict[tuple[int, int], Intervals | None] = {}


def common(one: Intervals, other: Intervals) -> Intervals | None:
    """What two boxes have in common, ``None`` if that is nothing."""
    found = []
    for (a, b), (c, d) in zip(one, other, strict=True):
        low, high = greatest(a, c), least(b, d)
        if not low < high:
            return None
        found.append((low, high))
    return tuple(found)


def owners_of(ends: Sequence[Number], wanted: Interval) -> list[tuple[int, Interval]]:
    """An interval cut up by the coordinates that own its pieces."""
    low, high = wanted
    found: list[tuple[int, Interval]] = []
    if not low < high:
        return found
    first = 0
    if type(low) is int and not any(type(end) is Unknown for end in ends):
        first = max(bisect_right(ends, low) - 1, 0)
    for coordinate in range(first, len(ends) - 1):
        begin, end = ends[coordinate], ends[coordinate + 1]
        if not begin < high:
            break
        begin, end = greatest(begin, low), least(end, high)
        if begin < end:
            found.append((coordinate, (begin, end)))
    return found


def pieces_of(layout: Any, wanted: Intervals, rank: int) -> Iterator[tuple[int, Intervals, Any]]:
    """Which peers own which pieces of a box that ``rank`` wants, and the first element that each one has.

    It is what ``layout.needed`` says of boxes, piece by piece in the same order.
    """
    place = layout.coordinates(rank)
    ends = bounds_of(layout)
    pieces = [owners_of(along, part) for along, part in zip(ends, wanted, strict=True)]
    for combination in product(*pieces):
        cell = tuple([coordinate for coordinate, _ in combination])
        holders = layout.ranks_at(cell)
        peer = rank if cell == place else holders[rank % len(holders)]
        corner = tuple([along[coordinate] for along, coordinate in zip(ends, cell, strict=True)])
        yield peer, tuple([piece for _, piece in combination]), corner


def key_of(box: Intervals, corner: Sequence[Number]) -> tuple[Any, ...]:
    """A NumPy index for a box in an array whose first element is ``corner``."""
    return tuple(
        [
            slice(low - first, high - first, 1)
            for (low, high), first in zip(box, corner, strict=True)
        ]
    )
