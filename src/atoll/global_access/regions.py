"""Translation of an index into parts of the blocks of ranks.

An index has an integer, a slice or a sequence of integers for each axis; sequences select along their own axis (an open
mesh). :func:`read_region` checks it and returns the *selection* of each axis: index sets with their positions in the
result. :func:`parts_of` intersects these with the owned indices of the layout.

Most operations on few elements stay within one rank's block, and the general path through index sets costs more than they do. Where
every rank has a contiguous block that this process can address, :class:`Blocks` finds such regions without index sets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..errors import LayoutIndexError, a_type
from ..layout import BlockAxis, IndexSet, Layout
from ..layout.index_set import Range, is_index, listed
from ..lazy.views import Handle

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a region that lies on one rank."""

    rank: int
    result: Key
    """Its key in the result, in which dropped axes have length one."""
    block: Key
    """Its key in the rank's block without padding."""


@dataclass(frozen=True, slots=True)
class Region:
    """The elements that an index selects."""

    shape: tuple[int, ...]
    """The shape of the result, without the axes that integers drop."""
    axes: tuple[tuple[tuple[IndexSet, IndexSet], ...], ...]
    """For each axis of the array, pairs: indices, and their positions in the result."""
    full: Key
    """Key that adds the dropped axes to the result, as axes of length one."""


def _spelled_out(key: Any, ndim: int) -> list[Any]:
    """The items of an index, one for each axis: slices replace an ellipsis and missing items."""
    items = list(key) if isinstance(key, tuple) else [key]
    dots = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise LayoutIndexError(
            f"region: the index {items!r} has several ellipses; an index can have one ellipsis ('...') only"
        )
    missing = ndim - (len(items) - len(dots))
    if missing < 0:
        raise LayoutIndexError(
            f"region: too many indices: {len(items)} for {ndim} axes; there must be at most one for each axis"
        )
    place = dots[0] if dots else len(items)
    items[place : place + len(dots)] = [slice(None)] * missing
    return items


def _outside(number: int, axis: int, extent: int) -> LayoutIndexError:
    return LayoutIndexError(
        f"region: index {number} is out of bounds for axis {axis} with size {extent}; "
        "periodic=True lets indices wrap around"
    )


def _listed(item: Any, axis: int, extent: int, periodic: bool) -> IndexSet:
    """The index set of a sequence of integers along an axis."""
    if isinstance(item, IndexSet):
        item = item.array()
    values = np.asarray(item)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise TypeError(
            f"region: axis {axis} has {item!r}; an index has an integer, a slice or integers in one dimension for each "
            "axis, and gather() takes index arrays of any shape"
        )
    values = values.astype(np.int64)
    if periodic and extent:
        values = values % extent
    bad = values[(values < -extent) | (values >= extent)]
    if bad.size:
        raise _outside(int(bad[0]), axis, extent)
    values = np.where(values < 0, values + extent, values)
    if len(np.unique(values)) != len(values):
        raise LayoutIndexError(
            f"region: the integers of axis {axis} must differ, and some index is there twice; use gather() or scatter_add() for that"
        )
    return listed(values)


def _wrapped(item: slice, axis: int, extent: int) -> range:
    """The indices of a slice of a periodic axis before they wrap around; bounds may be any integers."""
    step = 1 if item.step is None else item.step.__index__()
    if step == 0:
        raise LayoutIndexError(
            f"region: the step of axis {axis} is zero; it must be another number"
        )
    first, last = (0, extent) if step > 0 else (extent - 1, -1)
    start = first if item.start is None else item.start.__index__()
    stop = last if item.stop is None else item.stop.__index__()
    if not extent and len(range(start, stop, step)):
        raise _outside(start, axis, extent)
    return range(start, stop, step)


def _by_period(values: range, extent: int) -> Iterator[tuple[IndexSet, IndexSet]]:
    """Split unwrapped indices by period into pairs: indices of the axis, and their positions in the result."""
    position = 0
    while position < len(values):
        period = values[position] // extent
        if values.step > 0:
            count = -(-((period + 1) * extent - values[position]) // values.step)
        else:
            count = -(-(values[position] - period * extent + 1) // -values.step)
        run = values[position : position + count]
        shifted = range(run.start - period * extent, run.stop - period * extent, run.step)
        yield Range.of(shifted), Range(position, position + len(run))
        position += len(run)


def read_region(key: Any, shape: tuple[int, ...], periodic: bool = False) -> Region:
    """The region that an index selects in an array of a shape; raises if an index is out of bounds."""
    extents: list[int] = []
    axes: list[tuple[tuple[IndexSet, IndexSet], ...]] = []
    full: list[slice | None] = []
    for axis, (item, extent) in enumerate(zip(_spelled_out(key, len(shape)), shape, strict=True)):
        if isinstance(item, slice):
            if periodic:
                values = _wrapped(item, axis, extent)
                pairs = tuple(_by_period(values, extent))
            else:
                values = range(extent)[item]
                pairs = ((Range.of(values), Range(len(values))),) if values else ()
            extents.append(len(values))
            full.append(slice(None))
        elif is_index(item) and not isinstance(item, bool | np.bool_ | np.ndarray):
            number = item.__index__()
            if periodic and extent:
                number %= extent
            if not -extent <= number < extent:
                raise _outside(number, axis, extent)
            number %= extent
            pairs = ((Range(number, number + 1), Range(1)),)
            full.append(None)
        else:
            chosen = _listed(item, axis, extent, periodic)
            pairs = ((chosen, Range(len(chosen))),) if len(chosen) else ()
            extents.append(len(chosen))
            full.append(slice(None))
        axes.append(pairs)
    return Region(tuple(extents), tuple(axes), (*full, ...))


def of_block(layout: Layout, rank: int) -> Region:
    """The region of a rank's block, including its copies of elements that other ranks own."""
    held = layout.region(rank)
    axes = tuple(((part, Range(len(part))),) if len(part) else () for part in held)
    return Region(tuple(map(len, held)), axes, (...,))


def parts_of(region: Region, layout: Layout) -> Iterator[Part]:
    """The parts of a region by rank; each element is in one part, that of its first owner."""
    along: list[list[tuple[int, Any, Any]]] = []
    for axis, pairs in zip(layout.axes, region.axes, strict=True):
        places = []
        for wanted, positions in pairs:
            for coordinate, part in axis.owners_of(wanted):
                if len(part):
                    result = positions.select(wanted.positions(part))
                    local = axis.owned(coordinate).positions(part)
                    places.append((coordinate, result.key, local.key))
        if not places:
            return
        along.append(places)
    for cell in product(*along):
        rank = layout.ranks_at([coordinate for coordinate, _, _ in cell])[0]
        yield Part(rank, _mesh([key for _, key, _ in cell]), _mesh([key for _, _, key in cell]))


def _mesh(keys: Sequence[Any]) -> Key:
    """One key from the keys of all axes; index arrays select along their own axis."""
    if any(isinstance(key, np.ndarray) for key in keys):
        return np.ix_(*[_array(key) for key in keys])
    return tuple(keys)


def _array(key: Any) -> np.ndarray[Any, Any]:
    if isinstance(key, slice):
        stop = -1 if key.stop is None else key.stop
        return np.arange(key.start, stop, key.step)
    array: np.ndarray[Any, Any] = key
    return array


def distribution(array: Any) -> tuple[Key | None, ...]:
    """Return the region of each rank: a slice or an array of indices for each axis, or ``None`` for a rank without elements.

    The operations of :func:`atoll.onesided` take such regions; regions of slices also index ``numpy.asarray(a)``. No
    communication.
    """
    if not isinstance(array, Handle):
        raise TypeError(f"distribution() takes an atoll array, not {a_type(array)}")
    layout = array.layout  # type: ignore[attr-defined]
    return tuple(
        tuple(part.key for part in layout.region(rank)) if layout.local_size(rank) else None
        for rank in range(layout.processes)
    )


Array = np.ndarray[Any, Any]


class Blocks:
    """The blocks of all ranks, by the bounds of their cells."""

    __slots__ = ("_axes", "_blocks")

    def __init__(self, layout: Layout, blocks: list[Array | None]) -> None:
        counts = [*layout.grid[1:], 1]
        axes = []
        for axis, count in zip(layout.axes, counts, strict=True) if layout.ndim else ():
            assert isinstance(axis, BlockAxis)
            axes.append((axis.bounds, axis.size, count))
        self._axes = tuple(axes)
        owners = layout.table[..., 0].ravel().tolist()
        self._blocks = [(rank, blocks[rank]) for rank in owners]

    @classmethod
    def of(cls, layout: Layout, blocks: list[Array | None]) -> Blocks | None:
        """The blocks of a layout; ``None`` if the fast path does not apply."""
        if layout.is_block and layout.ndim and all(block is not None for block in blocks):
            return cls(layout, blocks)
        return None

    def place(self, key: Any) -> Any:
        """The rank, its block and the local key of a region within one block; ``None`` if it needs the general path."""
        if type(key) is not tuple:
            key = (key,)
        if len(key) != len(self._axes):
            return None
        cell = 0
        local: list[Any] = []
        for item, (bounds, size, count) in zip(key, self._axes):
            if type(item) is int:
                if not 0 <= item < size:
                    return None
                here = bisect_right(bounds, item) - 1
                local.append(item - bounds[here])
            elif type(item) is slice:
                start, stop, step = item.start, item.stop, item.step
                if start is None:
                    start = 0
                if stop is None:
                    stop = size
                if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= size:
                    return None
                if step is not None and not (type(step) is int and step > 0):
                    return None
                here = bisect_right(bounds, start) - 1
                low = bounds[here]
                if stop > bounds[here + 1]:
                    return None
                local.append(slice(start - low, stop - low, step))
            else:
                return None
            cell = (cell + here) * count
        return (*self._blocks[cell], tuple(local))
