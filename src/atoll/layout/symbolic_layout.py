"""Layouts with symbolic bounds: blocks whose sizes change from step to step of a loop.

An :class:`Interval` is a contiguous index set with symbolic ends; :func:`.transfer.needed` cuts it by owner like any
other. A :class:`SymbolicLayout` stands for the layouts of a slice that moves: its blocks have symbolic bounds, and the
ranks keep their coordinates. It answers only queries with one answer for all these layouts; every other query raises a
:class:`NoPlanError`, and the planner plans for this step alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from .axes import Axis
from .index_set import IndexSet, Range
from .layout import Layout
from .symbolic import Number, Unknown, function, greatest, least


class NoPlanError(Exception):
    """A program needs something that no plan can express."""


@dataclass(slots=True, eq=False)
class Interval:
    """The indices from ``start`` up to, and without, ``stop``; both may be symbolic."""

    start: Number
    stop: Number

    @property
    def extent(self) -> Number:
        """The number of indices, if there are any."""
        return self.stop - self.start

    @property
    def key(self) -> slice:
        """The NumPy index that selects these positions."""
        return slice(self.start, self.stop, 1)

    def __bool__(self) -> bool:
        return bool(self.start < self.stop)

    def __eq__(self, other: Any) -> bool:
        return bool(self.start == other.start and self.stop == other.stop)

    __hash__ = None  # type: ignore[assignment]

    def shifted(self, by: Number) -> Interval:
        """Every index plus ``by``."""
        return Interval(self.start + by, self.stop + by)

    def intersection(self, other: Any) -> Interval:
        """The indices that are in ``other``, an interval or a contiguous range, too."""
        return Interval(greatest(self.start, other.start), least(self.stop, other.stop))

    def positions(self, part: Any) -> Interval:
        """The places of ``part``, an interval or a contiguous range, in this interval."""
        return Interval(part.start - self.start, part.stop - self.start)

    def within(self, held: Any) -> Interval:
        """The places of this interval in ``held``, an interval or a contiguous range."""
        return Interval(self.start - held.start, self.stop - held.start)

    def by_owner(self, axis: Any) -> Iterator[tuple[int, Interval]]:
        """The parts of the interval, whose indices are all on the axis, each with the coordinate that owns it in blocks."""
        if not self:
            return
        if axis.processes == 1:
            yield 0, self
            return
        bounds, begin = axis.bounds, self.start
        first = _block_of(bounds, begin, axis.processes)
        for coordinate in range(first, axis.processes):
            end = bounds[coordinate + 1]
            if self.stop <= end:
                yield coordinate, Interval(begin, self.stop)
                return
            if coordinate == first or begin < end:
                yield coordinate, Interval(begin, end)
            begin = end


def _block_of(bounds: Any, index: Number, count: int) -> int:
    """The block of an index, which is on the axis. Comparisons are checks, of a search or of the block's ends: a plan serves this block
    alone."""
    if count <= 4:
        return bisect_right(bounds, index, 1, count) - 1
    block = bisect_right(bounds, _value(index), 1, count, key=_value) - 1
    if block and index < bounds[block]:
        raise NoPlanError("an index before its block")
    if block + 1 < count and bounds[block + 1] <= index:
        raise NoPlanError("an index behind its block")
    return block


def _value(number: Number) -> int:
    """A number at this step."""
    return number.value if type(number) is Unknown else number


def interval(start: Number, stop: Number) -> Range | Interval:
    """The indices from ``start`` up to, and without, ``stop``: symbolic only if these are."""
    if type(start) is Unknown or type(stop) is Unknown:
        return Interval(start, stop)
    return Range(start, stop)


def known(part: IndexSet | Interval) -> IndexSet:
    """An index set with the ends that an interval has at this step: the plan then serves these alone."""
    return Range(part.start, part.stop) if type(part) is Interval else part  # type: ignore[return-value]


def extent(part: IndexSet | Interval) -> Number:
    """The number of indices."""
    return part.extent if type(part) is Interval else len(part)  # type: ignore[arg-type]


# Functions that a compiled plan calls on the places of a trace.


def _bound_at(place: Any, axis: int, coordinate: int) -> int:
    return place.layout.axes[axis].bounds[coordinate]  # type: ignore[no-any-return]


def _low_at(place: Any, axis: int, rank: int) -> int:
    part = place.layout.region(rank)[axis]
    return part.lowest if len(part) else 0


def _high_at(place: Any, axis: int, rank: int) -> int:
    part = place.layout.region(rank)[axis]
    return part.highest + 1 if len(part) else 0


def _count_at(place: Any, axis: int, rank: int) -> int:
    where = place.layout.coordinates(rank)
    return 0 if where is None else place.layout.axes[axis].count(where[axis])


def _extent_at(place: Any, axis: int) -> int:
    return place.layout.shape[axis]  # type: ignore[no-any-return]


def _filled_at(place: Any, axis: int) -> int:
    return hash(place.layout.axes[axis].filled())


def _takes_part(place: Any, rank: int) -> int:
    return int(place.layout.coordinates(rank) is not None)


class SymbolicBounds:
    """The bounds of the blocks of one axis, each calculated on access, but for the first, 0, and the last, the extent."""

    __slots__ = ("_axis", "_count", "_extent", "_place")

    def __init__(self, place: Any, axis: int, count: int, extent: Number) -> None:
        self._place, self._axis, self._count, self._extent = place, axis, count, extent

    def __len__(self) -> int:
        return self._count + 1

    def __getitem__(self, coordinate: int) -> Number:
        if coordinate in (0, self._count):
            return self._extent if coordinate else 0
        return function(_bound_at, self._place, self._axis, coordinate)


class SymbolicAxis:
    """The distribution of an axis without its size."""

    def __init__(self, like: Axis, place: Any, number: int, fixed: bool, extent: Number) -> None:
        self._like, self._place, self._number, self.fixed = like, place, number, fixed
        self.kind, self.processes, self.overlaps = like.kind, like.processes, False
        self.block_size = getattr(like, "block_size", 0)
        if fixed and like.kind == "b":
            self.bounds = SymbolicBounds(place, number, like.processes, extent)

    def keeps_step(self, step: int) -> bool:
        """True if shares of slices lie in the blocks at one step."""
        return self._like.keeps_step(step)

    def filled(self) -> Sequence[int]:
        """The coordinates that hold an index, as a check: a plan serves them alone."""
        if not self.fixed:
            raise NoPlanError("filled")
        int(function(_filled_at, self._place, self._number))
        return self._place.value.layout.axes[self._number].filled()  # type: ignore[no-any-return]

    def owners_of(self, wanted: Any) -> Iterator[tuple[int, Interval]]:
        """``wanted``, a contiguous range, cut by owner."""
        return Interval(wanted.start, wanted.stop).by_owner(self)

    holders_of = owners_of

    def __getattr__(self, name: str) -> NoReturn:
        raise NoPlanError(name)


class SymbolicLayout:
    """A layout on the grid of another one, its sizes symbolic. ``place`` gives the layout of each step.

    ``fixed`` says that ranks keep their coordinates. Where shares are no boxes they do not: the first element of
    ``a[k + 1 :]`` belongs to one rank after the other.
    """

    __slots__ = (
        "_like", "_place", "_regions", "axes", "copies", "fixed", "grid", "is_block", "is_row_major", "ndim", "overlaps",
        "processes", "ranks", "shape",
    )  # fmt: skip

    def __init__(
        self, like: Layout, place: Any, fixed: bool, shape: Sequence[Number] | None
    ) -> None:
        """``shape``: the extents, if they are numbers already."""
        self._like, self._place, self.fixed = like, place, fixed
        self.ndim, self.grid, self.copies = like.ndim, like.grid, like.copies
        if shape is None:
            shape = [function(_extent_at, place, axis) for axis in range(like.ndim)]
        self.shape = tuple(shape)
        self.axes = tuple(
            [
                SymbolicAxis(axis, place, k, fixed, extent)
                for k, (axis, extent) in enumerate(zip(like.axes, shape, strict=True))
            ]
        )
        self.processes, self.is_block, self.overlaps = like.processes, like.is_block, False
        self.is_row_major = like.is_row_major
        self._regions: dict[int, tuple[Interval, ...]] = {}

    def coordinates(self, rank: int) -> tuple[int, ...] | None:
        """The coordinates of a rank, ``None`` if it takes no part; an empty tuple where coordinates change."""
        if self.fixed:
            return self._like.coordinates(rank)
        return () if function(_takes_part, self._place, rank) else None

    def ranks_at(self, coordinates: Sequence[int]) -> Sequence[int]:
        """The ranks that hold a cell."""
        if not self.fixed:
            raise NoPlanError("ranks_at")
        return self._like.ranks_at(coordinates)

    def local_shape(self, rank: int) -> tuple[Number, ...]:
        """The shape of a rank's block."""
        if self.fixed and self.is_block and self._like.coordinates(rank) is not None:
            return tuple([part.stop - part.start for part in self.region(rank)])
        return tuple([function(_count_at, self._place, axis, rank) for axis in range(self.ndim)])

    def region(self, rank: int) -> tuple[Interval, ...]:
        """The indices that a rank owns along each axis, in blocks."""
        known = self._regions.get(rank)
        if known is None:
            known = self._regions[rank] = self._region(rank)
        return known

    def _region(self, rank: int) -> tuple[Interval, ...]:
        if not self.is_block:
            raise NoPlanError("region")
        where = self._like.coordinates(rank) if self.fixed else None
        if where is not None:
            bounds = [(axis.bounds, c) for axis, c in zip(self.axes, where, strict=True)]
            return tuple([Interval(along[c], along[c + 1]) for along, c in bounds])
        ends = [[function(at, self._place, k, rank) for at in (_low_at, _high_at)] for k in range(self.ndim)]  # fmt: skip
        return tuple([Interval(low, high) for low, high in ends])

    def __getattr__(self, name: str) -> NoReturn:
        raise NoPlanError(name)
