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
from ..context.caches import Memo
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..layout import Layout
from ..ops.placement import Place
from .symbolic import Given, Number, dense_shape, function, greatest, least

Interval = tuple[Number, Number]
"""First index, and the one after the last."""
Intervals = tuple[Interval, ...]


class NotMovingError(Exception):
    """A program does something that no template can say."""


class LooseEnds:
    """Where the blocks of one axis begin, and where the last one ends, each asked for when it is needed."""

    __slots__ = ("_axis", "_count", "_place")

    def __init__(self, place: Any, axis: int, count: int) -> None:
        self._place, self._axis, self._count = place, axis, count

    def __len__(self) -> int:
        return self._count + 1

    def __getitem__(self, coordinate: int) -> Number:
        return function(bound_at, self._place, self._axis, coordinate % (self._count + 1))

    def first(self, index: Number) -> int:
        """The coordinate of the block that an index lies in: a template is for one that stays."""
        return int(function(block_at, self._place, self._axis, index))


def bound_at(place: Place, axis: int, coordinate: int) -> int:
    """A bound of a block."""
    return place.layout.axes[axis].bounds[coordinate]  # type: ignore[attr-defined, no-any-return]


def block_in(bounds: Sequence[int], index: int) -> int:
    """The block that an index lies in, the first one for what lies before it."""
    return max(bisect_right(bounds, index) - 1, 0)


def block_at(place: Place, axis: int, index: int) -> int:
    """The same of an axis of an array."""
    return block_in(place.layout.axes[axis].bounds, index)  # type: ignore[attr-defined]


def low_at(place: Place, axis: int, rank: int) -> int:
    """Where on an axis in blocks begins what a rank owns."""
    part = place.layout.region(rank)[axis]
    return part.lowest if len(part) else 0


def high_at(place: Place, axis: int, rank: int) -> int:
    """Where on an axis in blocks ends what a rank owns."""
    part = place.layout.region(rank)[axis]
    return part.highest + 1 if len(part) else 0


def count_at(place: Place, axis: int, rank: int) -> int:
    """How many indices along an axis a rank owns."""
    where = place.layout.coordinates(rank)
    return 0 if where is None else place.layout.axes[axis].count(where[axis])


def extent_at(place: Place, axis: int) -> int:
    """How long an axis is."""
    return place.layout.shape[axis]


def is_seated(place: Place, rank: int) -> int:
    """Whether a rank takes part in an array."""
    return int(place.layout.coordinates(rank) is not None)


class LooseAxis:
    """The distribution of an axis without its size, and the ranks of its parts."""

    __slots__ = ("_like", "block_size", "kind", "overlaps", "processes")

    def __init__(self, like: Any) -> None:
        self._like = like
        self.kind, self.processes, self.overlaps = like.kind, like.processes, False
        self.block_size = getattr(like, "block_size", 0)

    def keeps_step(self, step: int) -> bool:
        """Whether shares of slices lie in the blocks at one step."""
        return bool(self._like.keeps_step(step))

    def __getattr__(self, name: str) -> NoReturn:
        raise NotMovingError(name)


class LooseLayout:
    """A layout on the grid of another one, its sizes unknown, and its seats, if shares are no boxes.

    Those move, too: the first element of ``a[k + 1 :]`` belongs to one rank after the other.
    """

    __slots__ = (
        "_like", "_place", "axes", "copies", "grid", "is_block", "ndim", "overlaps", "processes", "ranks", "seats",
        "shape",
    )  # fmt: skip

    def __init__(self, like: Layout, place: Any, seats: bool) -> None:
        self._like, self._place, self.seats = like, place, seats
        self.ndim, self.grid, self.copies = like.ndim, like.grid, like.copies
        self.shape = tuple([function(extent_at, place, axis) for axis in range(like.ndim)])
        self.axes = tuple(map(LooseAxis, like.axes))
        self.processes, self.is_block, self.overlaps = like.processes, like.is_block, False

    @property
    def bounds(self) -> tuple[LooseEnds, ...]:
        """The bounds of the blocks along each axis."""
        if not self.seats:
            raise NotMovingError("bounds")
        return tuple([LooseEnds(self._place, k, count) for k, count in enumerate(self.grid)])

    def coordinates(self, rank: int) -> tuple[int, ...] | None:
        """Where in the grid a rank sits, ``None`` if it takes no part; nothing of it where that moves."""
        if self.seats:
            return self._like.coordinates(rank)
        return () if function(is_seated, self._place, rank) else None

    def ranks_at(self, coordinates: Sequence[int]) -> tuple[int, ...]:
        """The ranks that hold a cell."""
        if not self.seats:
            raise NotMovingError("ranks_at")
        return self._like.ranks_at(coordinates)

    def local_shape(self, rank: int) -> tuple[Number, ...]:
        """The shape of a rank's block."""
        return tuple([function(count_at, self._place, axis, rank) for axis in range(self.ndim)])

    def box(self, rank: int) -> Intervals:
        """What a rank owns, where that is a box."""
        return tuple(
            [
                (
                    function(low_at, self._place, axis, rank),
                    function(high_at, self._place, axis, rank),
                )
                for axis in range(self.ndim)
            ]
        )

    def __getattr__(self, name: str) -> NoReturn:
        raise NotMovingError(name)


class LoosePlace:
    """A :class:`LooseLayout` over the ranks of a world; ``number`` is less than nothing."""

    __slots__ = (
        "folds_whole", "given", "held_once", "layout", "lopsided", "number", "padded", "read", "world",
    )  # fmt: skip

    def __init__(self, like: Place, given: Given, number: int, seats: bool) -> None:
        self.given = given
        self.layout = LooseLayout(like.layout, given, seats)
        self.world: World = like.world
        self.number = number
        self.padded, self.folds_whole, self.held_once = False, like.folds_whole, like.held_once
        self.lopsided = False
        self.read: dict[int, Any] = {}


def bounds_of(layout: Any) -> tuple[Any, ...]:
    """For each axis of a layout in blocks, where they begin, and where the last one ends."""
    if type(layout) is LooseLayout:
        return layout.bounds
    return tuple([axis.bounds for axis in layout.axes])


def local_geometry(node: Node, rank: int) -> Geometry:
    """How this rank's share of a placed node lies in memory, communication padding included."""
    if node.value is not None and node.value.array is not None:
        return node.value.geometry
    place: Place = node.place
    layout = place.layout
    shape = layout.padded_shape(rank) if place.padded else layout.local_shape(rank)
    local: Geometry = dense_shape(shape, node.geometry.dtype)
    return local


def intervals_of(place: Any, rank: int) -> Intervals | None:
    """What a rank owns, as one interval per axis; ``None`` where it is not that simple."""
    if place.number < 0:  # a loose one
        loose: LooseLayout = place.layout
        return loose.box(rank) if loose.is_block else None
    key = (place.number, rank)
    known: Any = _intervals.get(key, _intervals)
    if known is _intervals:
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
        known = _intervals[key] = tuple(found) if contiguous else None
    return known  # type: ignore[no-any-return]


_intervals: Memo[tuple[int, int], Intervals | None] = Memo()


def common(one: Intervals, other: Intervals) -> Intervals | None:
    """What two boxes have in common, ``None`` if that is nothing."""
    found = []
    for (a, b), (c, d) in zip(one, other, strict=True):
        low, high = greatest(a, c), least(b, d)
        if not low < high:
            return None
        found.append((low, high))
    return tuple(found)


def owners_of(ends: Any, wanted: Interval) -> list[tuple[int, Interval]]:
    """An interval cut up by the coordinates that own its pieces."""
    low, high = wanted
    found: list[tuple[int, Interval]] = []
    if not low < high:
        return found
    first = ends.first(low) if type(ends) is LooseEnds else int(function(block_in, ends, low))
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
