"""The layout: axis maps over a grid of processes, and the ranks of the grid.

A cell of the grid has one coordinate per axis and owns the product of the indices at its coordinates. Each cell is held
by one rank, or by ``copies`` ranks, the same number everywhere. A replicated layout is one cell with every rank in it;
the sum along a distributed axis has the grid without that axis, and its former neighbours hold copies. Ranks fill the
cells in row-major order, the copies of a cell next to each other, unless a table gives another order.

So every derivation has the same two steps: map the axes, and pick, drop or permute the digits of the seats (see
:mod:`.seats`). A reversed axis reverses a digit, a transpose permutes them, an integer index fixes one, the digit of a reduced axis
numbers the copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from operator import index as as_integer
from operator import is_
from typing import Any

import numpy as np
import numpy.typing as npt

from ..context.caches import derived, remembered
from ..errors import LayoutError, LayoutIndexError
from .axes import Axis, BlockAxis, Widths, in_order
from .bounds import block_of
from .grids import even_grid, inner_grid, node_grid
from .index_set import EMPTY, IndexSet, Indices, Range, listed
from .maps import (
    LETTERS,
    Map,
    described,
    ranks_per_node,
    read_axes,
    read_grid,
    read_key,
    read_maps,
    read_ranks,
    read_shape,
    read_size,
    several,
)
from .picture import html, svg, text
from .seats import Seats

Region = tuple[IndexSet, ...]
Neighbours = tuple[int | None, int | None]

_set = object.__setattr__
_ONE = BlockAxis.even(1)


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Layout:
    """The distribution of the elements of a shape over ranks."""

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    processes: int
    copies: int
    grid: tuple[int, ...]
    cells: int
    """The number of cells of the grid."""
    size: int
    """The number of elements of the array."""
    is_replicated: bool
    """True if every rank of the world holds the whole array, its elements in their order."""
    is_padded: bool
    """True if a block has communication padding."""
    is_block: bool
    """True if every rank's region is a box."""
    is_dense: bool
    """True if every axis has the indices of its range, not labels."""
    overlaps: bool
    """True if an axis map gives an index to several coordinates."""
    _seats: Seats | None
    """``None`` where the ranks sit in the grid in ascending order from 0."""
    _derived: dict[Any, Any]
    """The results of functions of the layout alone, by function (:func:`..context.caches.derived`)."""

    def __init__(
        self,
        shape: int | Sequence[int],
        maps: str | Map | Sequence[Any] | None = None,
        *,
        grid: int | Sequence[int] | None = None,
        size: int | None = None,
        ranks: Iterable[int] | None = None,
        node: Sequence[int] | None = None,
    ) -> None:
        extents, processes = read_shape(shape), read_size(size)
        chosen = read_maps(maps, len(extents))
        members = None if ranks is None else read_ranks(ranks, processes)
        present = processes if members is None else len(members)
        if maps is None and grid is None and prod(extents) <= 1:
            chosen = (LETTERS["n"],) * len(extents)
        counts = read_grid(extents, chosen, grid, present)
        bound = enumerate(zip(chosen, extents, counts))
        axes = [kind.bind(extent, count, axis) for axis, (kind, extent, count) in bound]
        cells = prod(counts)
        if members is None:
            seats, copies = None, processes if cells == 1 else 1
        else:
            if grid is None and cells > 1:
                members = members[:cells]
            copies = len(members) // cells
            if copies * cells != len(members):
                raise LayoutError(
                    f"layout: {len(members)} ranks for a grid {counts} of {cells} cells; "
                    "the number of ranks must be a multiple of the cells"
                )
            seats = Seats.over(np.array(members, dtype=np.int64), counts, copies)
        if node is not None:
            if members is not None or copies > 1:
                raise LayoutError(
                    f"layout: node={tuple(node)} says where ranks sit, so it cannot go with ranks= or with copies; give node= alone"
                )
            inner = inner_grid(tuple(counts), node)
            seats = None if inner is None else Seats.by_nodes(tuple(counts), inner)
        self._fill(tuple(axes), processes, copies, seats)

    def _fill(
        self, axes: tuple[Axis, ...], processes: int, copies: int, seats: Seats | None
    ) -> None:
        if seats is not None and seats.is_row_major:
            seats = None
        is_block, is_padded = True, False
        shape: tuple[int, ...] = ()
        grid: tuple[int, ...] = ()
        for axis in axes:
            shape, grid = (*shape, axis.size), (*grid, axis.processes)
            is_block = is_block and axis.kind == "b"
            is_padded = is_padded or bool(isinstance(axis, BlockAxis) and axis.halos)
        cells = prod(grid)
        is_replicated = cells == 1 and copies == processes
        if not is_block:
            is_replicated = is_replicated and all(a.kind != "u" or in_order(a) for a in axes)
        _set(self, "axes", axes)
        _set(self, "shape", shape)
        _set(self, "grid", grid)
        _set(self, "processes", processes)
        _set(self, "copies", copies)
        _set(self, "cells", cells)
        _set(self, "size", prod(shape))
        _set(self, "is_replicated", is_replicated)
        _set(self, "is_padded", is_padded)
        _set(self, "is_block", is_block)
        _set(self, "is_dense", is_block or all(axis.is_dense for axis in axes))
        _set(self, "overlaps", not is_block and any(axis.overlaps for axis in axes))
        _set(self, "_seats", seats)
        _set(self, "_derived", {})

    @classmethod
    def of(cls, axes: Sequence[Axis], processes: int, ranks: npt.ArrayLike) -> Layout:
        """A layout of bound axis maps; ``ranks`` is an array of the grid's shape.

        One more dimension at its end lists the ranks that hold copies of each cell.
        """
        grid = tuple(axis.processes for axis in axes)
        table = np.asarray(ranks, dtype=np.int64)
        if table.shape == grid:
            table = table[..., None]
        if table.shape[:-1] != grid:
            raise LayoutError(
                f"layout: ranks have shape {table.shape}; they must have the shape of the grid, {grid}, with or without one more axis for copies"
            )
        members = table.ravel()
        if (
            not members.size
            or members.min() < 0
            or members.max() >= processes
            or np.bincount(members).max() > 1
        ):
            read_ranks(members.tolist(), processes)  # raises the error
        return cls._of(axes, processes, Seats.over(members, grid, table.shape[-1]))

    @classmethod
    def in_order(cls, axes: Sequence[Axis], processes: int, copies: int = 1) -> Layout:
        """A layout of bound axis maps, whose cells the ranks fill in ascending order from 0."""
        return cls._made(axes, processes, copies, None)

    def _with(self, axes: Sequence[Axis], seats: Seats | None) -> Layout:
        """The layout of other axes with as many copies of each cell."""
        return self._made(axes, self.processes, self.copies, seats)

    @classmethod
    def _of(cls, axes: Sequence[Axis], processes: int, seats: Seats) -> Layout:
        return cls._made(axes, processes, seats.copies, seats)

    @classmethod
    def _made(
        cls, axes: Sequence[Axis], processes: int, copies: int, seats: Seats | None
    ) -> Layout:
        new = cls.__new__(cls)
        new._fill(tuple(axes), processes, copies, seats)
        return new

    @classmethod
    def default(
        cls, shape: int | Sequence[int], size: int | None = None, per_node: int | None = None
    ) -> Layout:
        """The layout of new arrays: blocks with the least surface, where nearly equal extents count as equal.

        If each node has ``per_node`` consecutive ranks, these have neighbouring blocks. Without ``per_node``, nodes are those
        of the job.
        """
        processes = read_size(size)
        per_node = ranks_per_node(processes) if per_node is None else per_node
        return _usual(read_shape(shape), processes, per_node)

    @classmethod
    def replicated(cls, shape: int | Sequence[int], size: int | None = None) -> Layout:
        """The whole array on every rank."""
        return on_every_rank(read_shape(shape), read_size(size))

    # Properties

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @property
    def ranks(self) -> Sequence[int]:
        """The ranks of the cells, in row-major order."""
        if self._seats is None:
            return range(self.cells * self.copies)
        return tuple(self.table.ravel().tolist())

    @property
    def seats(self) -> Seats:
        """The ranks of the cells, in closed form."""
        if self._seats is None:
            return Seats.over(range(self.cells * self.copies), self.grid, self.copies)
        return self._seats

    @property
    def node(self) -> tuple[int, ...] | None:
        """The grid of the ranks of one node, in a hierarchical layout."""
        return None if self._seats is None else self._seats.node

    @property
    def table(self) -> Indices:
        """The ranks as an array: one dimension per axis, and one for copies. It is as large as the world."""
        table = self.seats.table()
        table.flags.writeable = False
        return table

    @property
    def is_row_major(self) -> bool:
        """True if the ranks are in the grid in ascending order from 0."""
        return self._seats is None

    @property
    def outline(self) -> tuple[Any, ...]:
        """A digest that equal layouts share, and most others do not; its length does not grow with the world."""
        axes = tuple([axis.outline for axis in self.axes])
        return axes, self.processes, self.copies, self.seats.samples

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Layout):
            return NotImplemented
        if self.axes is not other.axes:
            if hash(self) != hash(other) or self.axes != other.axes:
                return False
            _set(other, "axes", self.axes)  # which the next comparison finds identical
        world = self.processes, self.copies, self._seats
        return world == (other.processes, other.copies, other._seats)

    @derived
    def __hash__(self) -> int:
        return hash((self.axes, self.processes, self.copies, self._seats))

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout._of, (self.axes, self.processes, self.seats)

    def __repr__(self) -> str:
        maps: list[Map] = [described(axis) for axis in self.axes]
        letters = {value: letter for letter, value in LETTERS.items()}
        shown: object = tuple(letters.get(kind, kind) for kind in maps)
        if all(kind in letters for kind in maps):
            shown = "".join(letters[kind] for kind in maps)
        said = [repr(self.shape)]
        if self.axes:
            said.append(repr(shown))
        if self.cells > 1:
            said.append(f"grid={self.grid}")
        said.append(f"size={self.processes}")
        if self.node is not None:
            said.append(f"node={self.node}")
        elif self._seats is not None or self.copies != (self.processes if self.cells == 1 else 1):
            said.append(f"ranks={self.ranks!r}")
        return f"Layout({', '.join(said)})"

    # Ownership

    def ranks_at(self, coordinates: Sequence[int]) -> Sequence[int]:
        """The ranks that hold a cell."""
        if self._seats is not None:
            return self._seats.at(coordinates)
        cell = 0
        for coordinate, count in zip(coordinates, self.grid):
            cell = cell * count + coordinate
        if self.copies == 1:
            return (cell,)
        return range(cell * self.copies, (cell + 1) * self.copies)

    def ranks_of(self, coordinates: Sequence[Indices], copy: int = 0) -> Indices:
        """The rank that owns each of many cells, or that has another copy; one array of coordinates per axis."""
        if self._seats is not None:
            return self._seats.ranks_of(coordinates, copy)
        cells: Any = np.int64(0)
        for places, count in zip(coordinates, self.grid, strict=True):
            cells = (cells * count if count > 1 else cells) + places
        ranks: Indices = cells if self.copies == 1 else cells * self.copies + copy
        return ranks

    def rank_at(self, coordinates: Sequence[int]) -> int:
        """The rank that owns a cell: the first of those that hold it."""
        for axis, (coordinate, count) in enumerate(zip(coordinates, self.grid, strict=True)):
            if not 0 <= coordinate < count:
                raise LayoutIndexError(
                    f"layout: coordinate {coordinate} of axis {axis} is not in range({count}); the grid {self.grid} has {count} processes there"
                )
        return self.ranks_at(coordinates)[0]

    def _seat(self, rank: int) -> tuple[tuple[int, ...], int] | None:
        """The coordinates of a rank, and the number of its copy of the cell; ``None`` if it holds no cell."""
        if not 0 <= rank < self.processes:
            raise LayoutError(
                f"layout: rank {rank} is not in range({self.processes}); the layout must be asked about its own ranks, 0 to {self.processes - 1}"
            )
        if self._seats is not None:
            return self._seats.seat(rank)
        if rank >= self.cells * self.copies:
            return None
        cell, copy = divmod(rank, self.copies)
        place = []
        for count in reversed(self.grid):
            cell, coordinate = divmod(cell, count)
            place.append(coordinate)
        return tuple(reversed(place)), copy

    def coordinates(self, rank: int) -> tuple[int, ...] | None:
        """The position of a rank in the grid, ``None`` if it holds nothing."""
        seat = self._seat(rank)
        return None if seat is None else seat[0]

    def copy_number(self, rank: int) -> int:
        """The number of a rank among the copies of its cell."""
        seat = self._seat(rank)
        return 0 if seat is None else seat[1]

    def _along_axes(self, rank: int, what: str, nothing: Any) -> tuple[Any, ...]:
        """The result of each axis's method ``what`` for the coordinate of a rank; ``nothing`` if the rank holds no cell."""
        place = self.coordinates(rank)
        if place is None:
            return (nothing,) * self.ndim
        return tuple([getattr(axis, what)(c) for axis, c in zip(self.axes, place)])

    def region(self, rank: int) -> Region:
        """The indices that a rank holds on each axis, without communication padding."""
        return self._along_axes(rank, "owned", EMPTY)

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """The shape of a rank's block, without communication padding."""
        return self._along_axes(rank, "count", 0)

    def local_size(self, rank: int) -> int:
        """The number of elements of a rank's block."""
        return 0 if self.coordinates(rank) is None else prod(self.local_shape(rank))

    def halo(self, rank: int) -> tuple[Widths, ...]:
        """On each axis, the communication widths before and after a rank's block."""
        return self._along_axes(rank, "padding", (0, 0))

    def boundary(self, rank: int) -> tuple[Widths, ...]:
        """On each axis, the number of outermost elements of a block that are boundary padding."""
        return self._along_axes(rank, "boundary", (0, 0))

    def padded_shape(self, rank: int) -> tuple[int, ...]:
        """The shape of a rank's block with its communication padding."""
        shape, widths = self.local_shape(rank), self.halo(rank)
        return tuple(count + before + after for count, (before, after) in zip(shape, widths))

    def inside(self, rank: int) -> tuple[slice, ...]:
        """The slices that cut the communication padding off a rank's padded block."""
        shape, widths = self.local_shape(rank), self.halo(rank)
        return tuple(slice(before, before + n) for n, (before, _) in zip(shape, widths))

    def neighbours(self, rank: int) -> tuple[Neighbours, ...]:
        """On each axis, the ranks that hold the cells before and after a rank's."""
        place = self.coordinates(rank)
        if place is None:
            return ((None, None),) * self.ndim
        copy, result = self.copy_number(rank), []
        for number, axis in enumerate(self.axes):
            before, after = (
                None
                if beside is None
                else self.ranks_at((*place[:number], beside, *place[number + 1 :]))[copy]
                for beside in axis.neighbours(place[number])
            )
            result.append((before, after))
        return tuple(result)

    def _index(self, index: Any, what: str) -> tuple[Any, ...]:
        items = tuple(index) if isinstance(index, (tuple, list)) else (index,)
        if len(items) != self.ndim:
            raise LayoutIndexError(
                f"layout: {what} {index!r} does not have {self.ndim} items; give one for each axis of the shape {self.shape}"
            )
        return items

    def owners(self, index: int | Sequence[int]) -> tuple[int, ...]:
        """All ranks that hold an element, its owner first."""
        items = self._index(index, "index")
        held = [axis.owners(as_integer(item)) for axis, item in zip(self.axes, items)]
        return tuple(rank for cell in product(*held) for rank in self.ranks_at(cell))

    def locate(self, index: Any) -> tuple[Any, tuple[Any, ...]]:
        """The rank that owns an element, and its local index there.

        Each item of ``index`` may be an array of global indices: then the ranks, and each
        item of the local index, are arrays too.
        """
        items = self._index(index, "index")
        if not any(isinstance(item, np.ndarray) and item.ndim for item in items):
            places = [axis.locate(as_integer(item)) for axis, item in zip(self.axes, items)]
            return self.rank_at([c for c, _ in places]), tuple(local for _, local in places)
        located = [
            axis.locate_array(np.asarray(item, dtype=np.int64))
            for axis, item in zip(self.axes, items)
        ]
        local = tuple(np.broadcast_arrays(*(place for _, place in located)))
        return self.ranks_of([coordinates for coordinates, _ in located]), local

    def global_index(self, rank: int, local: Any) -> tuple[Any, ...]:
        """The global index of a local one on a rank; items may be arrays, as in ``locate``."""
        items = self._index(local, "local index")
        place = self.coordinates(rank)
        if place is None:
            raise LayoutIndexError(
                f"layout: rank {rank} holds nothing, so it has no local index; ask a rank of {self.ranks}"
            )
        return tuple(axis.owned(c).global_of(i) for axis, c, i in zip(self.axes, place, items))

    # Derived layouts

    def _slice(self, key: Any) -> tuple[Layout, list[range | int | None]]:
        """The layout of ``a[key]``, and the range or integer that the key takes from each axis, ``None`` for a new axis."""
        axes: list[Axis] = []
        cuts: list[range | int | None] = []
        seats, number, dimension = self.seats, 0, 0
        for item in read_key(key, self.shape):
            if item is None:
                axes.append(BlockAxis.even(1))
                seats = seats.expanded(dimension)
                dimension += 1
                cuts.append(None)
                continue
            axis = self.axes[number]
            number += 1
            cuts.append(item)
            if isinstance(item, range):
                new, order = axis.sliced(item)
                axes.append(new)
                if order != range(axis.processes):
                    seats = seats.selected(dimension, order)
                dimension += 1
            else:
                owners = axis.owners(item)
                order = range(owners[0], owners[0] + 1) if len(owners) == 1 else owners
                seats = seats.selected(dimension, order).joined(dimension)
        return self.seated(axes, seats), cuts

    def sliced(self, key: Any) -> Layout:
        """The layout of ``a[key]``; elements stay where they are. ``key`` has integers, slices, ``...`` and ``None``."""
        return self._slice(key)[0]

    def block_slice(
        self, key: Any, block: npt.NDArray[Any], rank: int
    ) -> tuple[Layout, npt.NDArray[Any] | None]:
        """The layout of ``a[key]``, and a rank's block of it, taken from its block of ``a``; ``None`` if it holds none of the slice.

        The block is a view if slices can express it, else a copy.
        """
        layout, cuts = self._slice(key)
        if layout.coordinates(rank) is None:
            return layout, None
        owned = iter(self.region(rank))
        keys: list[Any] = []
        for cut in cuts:
            if isinstance(cut, range):
                positions = next(owned).sliced(cut)[1].key
                keys.append(
                    listed(positions).key if isinstance(positions, np.ndarray) else positions
                )
            else:
                keys.append(None if cut is None else next(owned).local_of(cut))
        basic = [slice(None) if isinstance(key, np.ndarray) else key for key in keys]
        part: npt.NDArray[Any] = block[(*basic, ...)]
        for dimension, key in enumerate([key for key in keys if not isinstance(key, int)]):
            if isinstance(key, np.ndarray):
                part = part.take(key, axis=dimension)
        return layout, part

    def seated(self, axes: Sequence[Axis], seats: Seats) -> Layout:
        """The layout of other axes on the same world, with the ranks of the grid in ``seats``."""
        return Layout._of(axes, self.processes, seats)

    def arranged(self, axes: Sequence[Axis]) -> Layout:
        """The layout of other axes, whose ranks fill the grid in ascending order, as in this layout."""
        return self._with(axes, None)

    def replaced(self, number: int, axis: Axis) -> Layout:
        """The layout with one axis replaced by another that is divided among as many processes."""
        axes = (*self.axes[:number], axis, *self.axes[number + 1 :])
        return self.arranged(axes) if self._seats is None else self.seated(axes, self._seats)

    def cut(self, parts: Sequence[range | int]) -> Layout:
        """A faster :meth:`sliced`, for a part of each axis; ``range`` as ``range(size)[slice]``."""
        ranges = [part for part in parts if type(part) is range]
        if not self.is_block or min([part.step for part in ranges], default=1) < 0:
            key = [Range.of(part).key if type(part) is range else part for part in parts]
            return self.sliced(tuple(key))
        whole = self
        if len(ranges) < len(parts):
            cells = [
                None if type(part) is range else block_of(axis.bounds, part)  # type: ignore[attr-defined]
                for axis, part in zip(self.axes, parts, strict=True)
            ]
            whole = _in_cells(self, tuple(cells))
        pairs = zip(whole.axes, ranges, strict=True)
        axes = tuple([a if len(part) == a.size else a.sliced(part)[0] for a, part in pairs])
        return whole if all(map(is_, axes, whole.axes)) else whole._with(axes, whole._seats)

    def transposed(self, axes: Sequence[int] | None = None) -> Layout:
        """The layout of the transpose, which moves nothing."""
        order = tuple(reversed(range(self.ndim))) if axes is None else read_axes(axes, self.ndim)
        if sorted(order) != list(range(self.ndim)):
            raise LayoutError(
                f"layout: {axes!r} is not a permutation of {self.ndim} axes; name each of 0 to {self.ndim - 1} once"
            )
        return self.seated([self.axes[axis] for axis in order], self.seats.transposed(order))

    def reduced(self, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Layout:
        """The layout of a reduction: ranks along a reduced axis all hold the result."""
        gone = set(range(self.ndim)) if axis is None else set(read_axes(axis, self.ndim))
        seats, axes, dimension = self.seats, [], 0
        for number, old in enumerate(self.axes):
            if number not in gone:
                axes.append(old)
                dimension += 1
                continue
            seats = seats.joined(dimension)
            if keepdims:
                axes.append(BlockAxis.even(1))
                seats = seats.expanded(dimension)
                dimension += 1
        return self.seated(axes, seats)

    def expanded(self, axis: int | Sequence[int]) -> Layout:
        """The layout with new axes of length one at the given places of the result."""
        places = several(axis)
        total = self.ndim + len(places)
        new = {place % total for place in places}
        if len(new) != len(places) or not all(-total <= place < total for place in places):
            raise LayoutError(
                f"layout: {axis!r} does not name new axes of {total}; name different ones, from {-total} to {total - 1}"
            )
        axes, seats = [*self.axes], self._seats
        for place in sorted(new):
            axes.insert(place, _ONE)
            seats = seats and seats.expanded(place)
        return self._with(axes, seats)

    def broadcast(self, shape: int | Sequence[int]) -> Layout:
        """The layout of the broadcast to ``shape``, which moves nothing."""
        extents = read_shape(shape)
        extra = len(extents) - self.ndim
        if extra < 0 or any(
            axis.size not in (1, extent) for axis, extent in zip(self.axes, extents[extra:])
        ):
            raise LayoutError(
                f"layout: {self.shape} does not broadcast to {extents}; axes must have the same extents, or extent 1"
            )
        axes: list[Axis] = [BlockAxis.even(extent) for extent in extents[:extra]]
        for axis, extent in zip(self.axes, extents[extra:]):
            axes.append(axis if axis.size == extent else axis.stretched(extent))
        seats = self.seats
        for _ in range(extra):
            seats = seats.expanded(0)
        return self.seated(axes, seats)

    def unpadded(self) -> Layout:
        """The same ownership without padding and periodic axes."""
        if not [axis for axis in self.axes if type(axis) is BlockAxis and not axis.is_plain]:
            return self
        return self.seated([axis.unpadded() for axis in self.axes], self.seats)

    # Pictures

    def show(self, width: int = 72, height: int = 24) -> str:
        """A picture in characters: the owner of each place, padding in lower case."""
        return text(self, width, height)

    def _repr_svg_(self) -> str:
        return svg(self)

    def _repr_html_(self) -> str:
        return html(self)


@remembered
def _usual(shape: tuple[int, ...], processes: int, per_node: int) -> Layout:
    grid = even_grid(shape, processes) if prod(shape) > 1 else None
    node = None
    if grid is not None and prod(grid) == processes:
        node = node_grid(shape, grid, per_node)
    return Layout(shape, grid=grid, size=processes, node=node)


@remembered
def _in_cells(layout: Layout, cells: tuple[int | None, ...]) -> Layout:
    """The layout of a row, a column or an element, whose index on an axis is in a cell; ``None`` for a whole axis."""
    places = zip(layout.axes, cells, strict=True)
    key = [slice(None) if cell is None else axis.owned(cell).lowest for axis, cell in places]
    return layout.sliced(tuple(key))


@remembered
def on_every_rank(shape: tuple[int, ...], processes: int) -> Layout:
    """:meth:`Layout.replicated` of a shape and a number of ranks that are known to be valid."""
    return Layout(shape, "n" * len(shape), size=processes)
