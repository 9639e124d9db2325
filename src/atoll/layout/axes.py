"""Axis maps: the distribution of one axis of an array over a row of processes.

A map is bound to the size of its axis and to a number of processes, which are counted by their *coordinate* along the
axis; the layout assigns ranks to coordinates. There are three kinds, named by the letters of the Distributed Array
Protocol:

``BlockAxis`` (b)
    coordinate ``c`` owns ``[bounds[c], bounds[c + 1])``. One process means undistributed.
    Padding has one form here: the owned elements, plus *communication* widths on either side
    that mirror elements of the neighbours and count nowhere, plus *boundary* widths, which
    mark the outermost owned elements of the two ends. A periodic axis has neighbours all
    the way round, so it has communication padding there and no boundary.
``CyclicAxis`` (c)
    blocks of ``block_size`` go round; the first block lacks its first ``offset`` elements,
    so that a contiguous slice is cyclic again.
``UnstructuredAxis`` (u)
    any index set for each process, possibly with indices that several of them hold: then
    the lowest coordinate owns the index and the others have copies. Indices that do not
    fill ``range(size)`` are labels; they are stored and exported, but nothing that needs a
    dense axis works on them.

``owners_of`` and ``holders_of`` decide the cost of planning: they cut an index set by the owners (or holders) of its
pieces. They step from piece to piece by arithmetic or bisection, so their time depends on the pieces and not on the
other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any, ClassVar

import numpy as np

from .. import policy
from ..errors import LayoutError, LayoutIndexError
from .bounds import Bounds, balanced_bounds, block_of, cut_bounds, evenly, filled_blocks, samples
from .index_set import EMPTY, IndexSet, Indices, Listed, Range, ascending, listed
from .pattern import Pattern, block_cyclic
from .seats import turning

Widths = tuple[int, int]
Located = tuple[Indices, Indices]


class Axis(ABC):
    """The common interface of the three kinds."""

    __slots__ = ()
    kind: ClassVar[str]
    size: int
    processes: int

    @abstractmethod
    def owned(self, coordinate: int) -> IndexSet:
        """The global indices that a coordinate holds, in local order, without padding."""

    @abstractmethod
    def locate(self, index: int) -> tuple[int, int]:
        """The coordinate that owns a global index, and its local index there."""

    @abstractmethod
    def locate_array(self, indices: Indices) -> Located:
        """:meth:`locate` for an array of global indices."""

    def owners_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        """``wanted`` cut by owner: each index once, ascending within a piece."""
        if not len(wanted):
            return iter(())
        self._check(wanted.lowest)
        self._check(wanted.highest)
        if isinstance(wanted, Listed):
            values = np.sort(wanted.array())
            return _grouped(values, self.locate_array(values)[0])
        return self._owners_of(wanted)

    @abstractmethod
    def _owners_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        """:meth:`owners_of` for a nonempty range or pattern whose indices are all on the axis."""

    @abstractmethod
    def sliced(self, selected: range) -> tuple[Axis, Sequence[int]]:
        """The map of the axis that ``selected`` cuts out, its elements left where they are.

        The second result lists, for each coordinate of the new map, its coordinate in this map.
        """

    def owner(self, index: int) -> int:
        """The coordinate that owns a global index."""
        return self.locate(index)[0]

    def owners(self, index: int) -> tuple[int, ...]:
        """All coordinates that hold a global index, the owner first."""
        return (self.locate(index)[0],)

    def holders_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        """For each coordinate that holds any of ``wanted``: the indices."""
        return self.owners_of(wanted)

    def count(self, coordinate: int) -> int:
        """The number of indices that a coordinate holds, without padding."""
        return len(self.owned(coordinate))

    def counts(self, coordinates: Indices) -> Indices:
        """:meth:`count` for an array of coordinates."""
        every, places = np.unique(coordinates, return_inverse=True)
        return np.array([self.count(c) for c in every.tolist()], np.int64)[places]

    def filled(self) -> Sequence[int]:
        """The coordinates that hold an index, ascending: a range, where they follow each other."""
        return in_a_row([c for c in range(self.processes) if self.count(c)])

    @property
    def overlaps(self) -> bool:
        """True if some index is held by more than one coordinate."""
        return False

    @property
    def is_dense(self) -> bool:
        """True if the held indices are exactly ``range(size)``."""
        return True

    @property
    def outline(self) -> Any:
        """A digest that equal axes share, and most others do not."""
        return self

    @property
    def way(self) -> Any:
        """The distribution of the axis without its size, and its first index; ``None`` if it has no such form."""
        return self.kind

    def keeps_step(self, step: int) -> bool:
        """True if a coordinate's part of every ``step``-th index, from any start, has one step in its block."""
        return True

    @property
    def is_undistributed(self) -> bool:
        """True if one process holds the whole axis in order."""
        return False

    def padding(self, coordinate: int) -> Widths:
        """The communication widths before and after the owned block."""
        return (0, 0)

    def boundary(self, coordinate: int) -> Widths:
        """The numbers of first and of last owned elements that are boundary padding."""
        return (0, 0)

    def neighbours(self, coordinate: int) -> tuple[int | None, int | None]:
        """The coordinates before and after, ``None`` past an end that is not periodic."""
        before = coordinate - 1 if coordinate > 0 else None
        return before, coordinate + 1 if coordinate + 1 < self.processes else None

    def unpadded(self) -> Axis:
        """The same map without padding and without periodicity."""
        return self

    def stretched(self, size: int) -> Axis:
        """The map of this axis of one element, broadcast to ``size``."""
        owner = self.owner(0)
        return BlockAxis(size, (0,) * (owner + 1) + (size,) * (self.processes - owner))

    def _check(self, index: int) -> int:
        if not 0 <= index < self.size:
            raise LayoutIndexError(
                f"layout: index {index} is not in range({self.size}); it must be an index of the axis"
            )
        return index

    def _check_array(self, indices: Indices) -> None:
        if indices.size:
            self._check(int(indices.min()))
            self._check(int(indices.max()))


def _in_tiles(indices: Indices, locate: Callable[[Indices, Indices, Indices], None]) -> Located:
    """Coordinates and local indices, by tiles: fresh memory for temporaries costs most."""
    coordinates, local = np.empty_like(indices), np.empty_like(indices)
    if indices.ndim != 1 or indices.size <= policy.limits.chunk:
        locate(indices, coordinates, local)
        return coordinates, local
    for start in range(0, indices.size, policy.limits.chunk):
        tile = slice(start, start + policy.limits.chunk)
        locate(indices[tile], coordinates[tile], local[tile])
    return coordinates, local


def _grouped(values: Indices, coordinates: Indices) -> Iterator[tuple[int, IndexSet]]:
    """Ascending values, grouped by coordinate."""
    order = np.argsort(coordinates, kind="stable")
    grouped = coordinates[order]
    edges = np.flatnonzero(np.diff(grouped)) + 1
    for part in np.split(order, edges) if len(order) else ():
        yield int(coordinates[part[0]]), listed(values[part])


@dataclass(frozen=True, slots=True)
class BlockAxis(Axis):
    """Contiguous blocks in ascending order of coordinate."""

    kind: ClassVar[str] = "b"
    size: int
    bounds: Sequence[int]
    """A tuple, or :class:`Bounds`."""
    halos: Sequence[Widths] | None = None
    ends: Widths = (0, 0)
    periodic: bool = False
    processes: int = field(init=False, repr=False, compare=False)
    is_plain: bool = field(init=False, repr=False, compare=False)
    """True if the axis has no padding and is not periodic."""

    def __post_init__(self) -> None:
        plain = self.halos is None and not self.periodic and self.ends == (0, 0)
        object.__setattr__(self, "processes", len(self.bounds) - 1)
        object.__setattr__(self, "is_plain", plain)

    @classmethod
    def even(cls, size: int, processes: int = 1) -> BlockAxis:
        """Blocks that differ by one element at most, the longer ones first."""
        return cls(size, balanced_bounds(size, processes))

    def __hash__(self) -> int:
        return hash((samples(self.bounds), self.ends, self.periodic, self.halos is None))

    def owned(self, coordinate: int) -> Range:
        return Range.of(range(self.bounds[coordinate], self.bounds[coordinate + 1]))

    def count(self, coordinate: int) -> int:
        return self.bounds[coordinate + 1] - self.bounds[coordinate]

    def counts(self, coordinates: Indices) -> Indices:
        bounds = self.bounds
        if type(bounds) is Bounds:
            return bounds.starts(coordinates + 1) - bounds.starts(coordinates)
        counts: Indices = np.diff(bounds)[coordinates]
        return counts

    def filled(self) -> Sequence[int]:
        return in_a_row(filled_blocks(self.bounds))

    def locate(self, index: int) -> tuple[int, int]:
        coordinate = block_of(self.bounds, self._check(index))
        return coordinate, index - self.bounds[coordinate]

    def locate_array(self, indices: Indices) -> Located:
        self._check_array(indices)
        if self.processes == 1 or not indices.size:
            return np.zeros_like(indices), indices.copy()
        if type(self.bounds) is Bounds:
            return _in_tiles(indices, self.bounds.locate)
        bounds = np.asarray(self.bounds, dtype=np.int64)

        def searched(given: Indices, coordinates: Indices, local: Indices) -> None:
            np.subtract(np.searchsorted(bounds, given, side="right"), 1, out=coordinates)
            np.subtract(given, bounds[coordinates], out=local)

        return _in_tiles(indices, searched)

    def _owners_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        count, bounds, highest = len(wanted), self.bounds, wanted.highest
        done, index, coordinate = 0, wanted.lowest, 0
        if isinstance(wanted, Range):
            values_left = ascending(wanted.values)
            start, step = values_left.start, values_left.step
            while True:
                coordinate = block_of(bounds, index, coordinate)
                stop = bounds[coordinate + 1]
                if stop > highest:
                    yield coordinate, Range.of(values_left[done:])
                    return
                after = -((start - stop) // step)
                yield coordinate, Range.of(values_left[done:after])
                done = after
                index = start + done * step
        while True:
            coordinate = block_of(bounds, index, coordinate)
            stop = bounds[coordinate + 1]
            piece = wanted.clipped(index, stop)
            yield coordinate, piece
            done += len(piece)
            if done == count:
                return
            index = wanted.global_of(done)

    def sliced(self, selected: range) -> tuple[Axis, Sequence[int]]:
        if selected == range(self.size):
            return self, range(self.processes)
        order = range(self.processes)
        bounds = cut_bounds(self.bounds, selected)
        return BlockAxis(len(selected), bounds), order[::-1] if selected.step < 0 else order

    @property
    def outline(self) -> Any:
        bounds = tuple([self.bounds[k] for k in evenly(self.processes + 1)])
        halos = self.halos and tuple([self.halos[k] for k in evenly(self.processes)])
        return self.kind, self.processes, self.size, bounds, halos, self.ends, self.periodic

    @property
    def is_undistributed(self) -> bool:
        return self.processes == 1

    def padding(self, coordinate: int) -> Widths:
        return (0, 0) if self.halos is None else self.halos[coordinate]

    def boundary(self, coordinate: int) -> Widths:
        left, right = self.ends
        last = self.processes - 1
        return (left if coordinate == 0 else 0, right if coordinate == last else 0)

    def neighbours(self, coordinate: int) -> tuple[int | None, int | None]:
        if self.periodic:
            return (coordinate - 1) % self.processes, (coordinate + 1) % self.processes
        return Axis.neighbours(self, coordinate)

    def unpadded(self) -> BlockAxis:
        return replace(self, halos=None, ends=(0, 0), periodic=False)


@dataclass(frozen=True, slots=True)
class CyclicAxis(Axis):
    """Blocks of equal size, distributed in turn."""

    kind: ClassVar[str] = "c"
    size: int
    processes: int
    block_size: int = 1
    offset: int = 0

    def _turn(self) -> int:
        return self.processes * self.block_size

    def _clipped(self, coordinate: int, low: int, high: int) -> IndexSet:
        start = coordinate * self.block_size - self.offset
        return block_cyclic(self.block_size, self._turn(), start, low, high)

    def owned(self, coordinate: int) -> IndexSet:
        return self._clipped(coordinate, 0, self.size)

    def count(self, coordinate: int) -> int:
        end = self.size + self.offset - coordinate * self.block_size
        turns, rest = divmod(end, self._turn())
        total = max(turns * self.block_size + min(rest, self.block_size), 0)
        return max(total - self.offset, 0) if coordinate == 0 else total

    def filled(self) -> Sequence[int]:
        blocks = -(-(self.size + self.offset) // self.block_size) if self.size else 0
        return range(min(blocks, self.processes))

    def locate(self, index: int) -> tuple[int, int]:
        block, inside = divmod(self._check(index) + self.offset, self.block_size)
        turn, coordinate = divmod(block, self.processes)
        local = turn * self.block_size + inside
        return coordinate, local if coordinate else local - self.offset

    def locate_array(self, indices: Indices) -> Located:
        self._check_array(indices)
        processes, block, offset = self.processes, self.block_size, self.offset

        def dealt(given: Indices, coordinates: Indices, local: Indices) -> None:
            places = given + offset if offset else given
            blocks = places // block if block > 1 else places
            turns = blocks // processes
            np.subtract(blocks, turns * processes, out=coordinates)
            if block == 1:
                local[...] = turns
                return
            np.subtract(places, (blocks - turns) * block, out=local)
            if offset:
                local -= np.where(coordinates == 0, offset, 0)

        return _in_tiles(indices, dealt)

    def _owners_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        low, high = wanted.lowest, wanted.highest + 1
        if wanted.is_contiguous:
            for coordinate in self._reached(range(low, high), 1):
                yield coordinate, self._clipped(coordinate, low, high)
        else:
            for coordinate in self._candidates(wanted):
                piece = wanted.intersection(self._clipped(coordinate, low, high))
                if len(piece):
                    yield coordinate, piece

    def _candidates(self, wanted: IndexSet) -> Sequence[int]:
        """Coordinates that include all owners of ``wanted``, ascending."""
        if isinstance(wanted, Range):
            return self._reached(ascending(wanted.values), 1)
        assert isinstance(wanted, Pattern)
        coordinates: set[int] = set()
        for offset, width in zip(wanted.offsets, wanted.widths):
            low = wanted.first + wanted.step * (offset - wanted.lead)
            starts = range(low, wanted.highest + 1, wanted.step * wanted.period)
            coordinates.update(self._reached(starts, (width - 1) * wanted.step + 1))
            if len(coordinates) == self.processes:
                break
        return sorted(coordinates)

    def _reached(self, starts: range, width: int) -> Sequence[int]:
        """The coordinates that ranges of ``width`` at each of ``starts`` can touch."""
        turn, block = self._turn(), self.block_size
        if len(starts) > 1:
            step = gcd(starts.step, turn)
            if step < block + width:
                # Every block is touched, unless the axis ends before the blocks repeat.
                low, high = starts[0] + self.offset, starts[-1] + width - 1 + self.offset
                first, last = low // block, high // block
                if last - first + 1 >= self.processes:
                    return range(self.processes)
                return sorted(number % self.processes for number in range(first, last + 1))
            # After turn // step ranges the same positions of the comb repeat.
            starts = starts[: turn // step]
        coordinates: set[int] = set()
        for start in starts:
            first = (start + self.offset) // block
            last = (start + width - 1 + self.offset) // block
            if last - first + 1 >= self.processes:
                return range(self.processes)
            coordinates.update(number % self.processes for number in range(first, last + 1))
        return sorted(coordinates)

    def sliced(self, selected: range) -> tuple[Axis, Sequence[int]]:
        if selected == range(self.size):
            return self, range(self.processes)
        count, step, block = len(selected), selected.step, self.block_size
        first, inside = divmod(selected.start + self.offset, block)
        if not count:
            return replace(self, size=0, offset=0), range(self.processes)
        if step % block == 0:
            # One element of a block at most: the owners go round in steps of their own.
            hops = step // block
            reached = self.processes // gcd(hops, self.processes)
            order = turning(first, hops, self.processes, reached)
            return CyclicAxis(count, reached), order
        if block % step == 0:
            shorter = block // abs(step)
            left = inside // -step + 1 if step < 0 else -(-(block - inside) // step)
            hop = 1 if step > 0 else -1
            order = turning(first, hop, self.processes, self.processes)
            return CyclicAxis(count, self.processes, shorter, shorter - left), order
        sets = tuple(self.owned(c).image(selected) for c in range(self.processes))
        return UnstructuredAxis(count, sets, one_to_one=True), range(self.processes)

    @property
    def way(self) -> Any:
        return self.kind, self.block_size

    def keeps_step(self, step: int) -> bool:
        return self.block_size == 1 or step == 1 or step == -1

    @property
    def is_undistributed(self) -> bool:
        return self.processes == 1


@dataclass(frozen=True, slots=True)
class UnstructuredAxis(Axis):
    """Any index set for each coordinate."""

    kind: ClassVar[str] = "u"
    size: int
    sets: tuple[IndexSet, ...]
    one_to_one: bool = False
    labels: bool = False
    processes: int = field(init=False, repr=False, compare=False)
    _tables: list[Located] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "processes", len(self.sets))

    def owned(self, coordinate: int) -> IndexSet:
        return self.sets[coordinate]

    @property
    def overlaps(self) -> bool:
        return not self.one_to_one and sum(map(len, self.sets)) > self.size

    @property
    def is_dense(self) -> bool:
        return not self.labels

    @property
    def way(self) -> Any:
        return self.kind if self.is_dense and self.keeps_step(1) else None

    def keeps_step(self, step: int) -> bool:
        return step == 1 and not self.overlaps and all(map(_ascends, self.sets))

    def _dense(self) -> None:
        if self.labels:
            raise LayoutError(
                f"layout: the indices of an unstructured axis of size {self.size} are labels; this operation needs indices that fill range({self.size}): make the layout without labels=True"
            )

    def _table(self) -> Located:
        """Owner and local index of every global index."""
        if not self._tables:
            self._dense()
            owners, local = np.full(self.size, -1, np.int64), np.zeros(self.size, np.int64)
            for coordinate in range(self.processes - 1, -1, -1):
                indices = self.sets[coordinate].array()
                owners[indices] = coordinate
                local[indices] = np.arange(len(indices))
            self._tables.append((owners, local))
        return self._tables[0]

    def locate(self, index: int) -> tuple[int, int]:
        if self.labels or not any(isinstance(held, Listed) for held in self.sets):
            for coordinate, held in enumerate(self.sets):
                if index in held:
                    return coordinate, held.local_of(index)
            raise LayoutIndexError(
                f"layout: no process holds the index {index}; it must be an index of the layout"
            )
        owners, local = self._table()
        return int(owners[self._check(index)]), int(local[index])

    def locate_array(self, indices: Indices) -> Located:
        owners, local = self._table()
        self._check_array(indices)
        return owners[indices], local[indices]

    def owners(self, index: int) -> tuple[int, ...]:
        holders = tuple(c for c, held in enumerate(self.sets) if index in held)
        if not holders:
            raise LayoutIndexError(
                f"layout: no process holds the index {index}; it must be an index of the layout"
            )
        return holders

    def owners_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        self._dense()
        if self.overlaps or any(isinstance(held, Listed) for held in self.sets):
            return Axis.owners_of(self, Listed(wanted.array()))
        if len(wanted):
            self._check(wanted.lowest)
            self._check(wanted.highest)
        return self._owners_of(wanted)

    def _owners_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        return self.holders_of(wanted)

    def holders_of(self, wanted: IndexSet) -> Iterator[tuple[int, IndexSet]]:
        self._dense()
        if not self.overlaps and any(isinstance(held, Listed) for held in self.sets):
            yield from self.owners_of(wanted)
            return
        for coordinate, held in enumerate(self.sets):
            piece = held.intersection(wanted)
            if len(piece):
                yield coordinate, piece

    def sliced(self, selected: range) -> tuple[Axis, Sequence[int]]:
        self._dense()
        if selected == range(self.size):
            return self, range(self.processes)
        sets = tuple(held.sliced(selected)[0] for held in self.sets)
        return UnstructuredAxis(len(selected), sets, self.one_to_one), range(self.processes)

    def stretched(self, size: int) -> Axis:
        sets = tuple(Range(size) if len(held) else EMPTY for held in self.sets)
        return UnstructuredAxis(size, sets, self.one_to_one)


def in_a_row(ascending: Sequence[int]) -> Sequence[int]:
    """Ascending numbers, as a range where they follow each other."""
    if isinstance(ascending, range) or not ascending:
        return ascending
    row = range(ascending[0], ascending[-1] + 1)
    return row if len(row) == len(ascending) else tuple(ascending)


def _ascends(held: IndexSet) -> bool:
    """True if the indices of a set are in ascending order."""
    if isinstance(held, Listed):
        return held.is_ascending
    return not isinstance(held, Range) or held.step > 0 or len(held) < 2


def in_order(axis: Axis) -> bool:
    """True if the only process of a listed axis holds its elements from the first to the last.

    Labels count as ordered in any order.
    """
    held = axis.owned(0)
    return not axis.is_dense or (isinstance(held, Range) and held.values == range(axis.size))
