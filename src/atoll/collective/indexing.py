"""Fancy indexing, recorded: elements of a section read at index arrays, or written there.

The index arrays belong to some axes of the section (or are flat) and broadcast to a common shape. The call has checked their range
on all ranks; here negative indices are counted from the front. Each rank takes its part of all
positions in C order. Where every rank has the index arrays, and no indexed axis is divided, nothing
moves: each rank works on its own part of the other axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..config import config
from ..context import statistics
from ..context.caches import remembered
from ..layout import Layout, on_every_rank
from ..layout.transfer import region_key
from .elements import (
    can_push,
    combine,
    fetch,
    fetch_flat,
    from_front,
    is_combined,
    local_rows,
    pushed,
    put_rows,
    shown_everywhere,
    store,
    taken,
    trailing_rows,
)
from .messages import agree
from .movement import even_blocks, even_line, flat_indices, redistributed, reshaped
from .operation import Form, Moves, collective, result_layout, small_or
from .section import Section, region_of
from .steps import base_indices

Array = np.ndarray[Any, Any]
Axes = tuple[int, ...] | None
"""The axes that are indexed; ``None`` for flat indices."""


class _Rows(NamedTuple):
    """Positions in a line, each with its row: the elements along the axes that are not indexed."""

    order: tuple[int, ...]
    """The axes of the section, the indexed ones first."""
    shape: tuple[int, ...]
    """The common shape of the index arrays."""
    kept: tuple[int, ...]
    """The shape of a row."""
    stay: bool
    """True if every rank has the indices and, of each row, its own part: nothing moves."""
    whole: bool
    """True if each row is on one rank."""
    layout: Layout
    """The layout of the rows: a rank works on some of them, or on a part of each."""
    here: tuple[bool, ...]
    """For each index array, True if each rank has its own part of it."""


@remembered
def _rows(source: Layout, axes: Axes, *indices: Layout) -> _Rows:
    ndim, size = source.ndim, source.processes
    first = tuple(range(ndim)) if axes is None else axes
    order = (*first, *[k for k in range(ndim) if k not in first])
    shape = np.broadcast_shapes(*[layout.shape for layout in indices])
    count, length = len(first), prod(shape)
    turned = source.transposed(order)
    kept = turned.shape[count:]
    stay = (
        axes is not None
        and all(layout.is_replicated for layout in indices)
        and all(axis.is_undistributed for axis in turned.axes[:count])
        and source.copies == 1
        and not source.is_replicated
    )
    whole = trailing_rows(turned, count)
    if not stay:
        even = even_line(length, size)
        here = tuple([layout == even for layout in indices])
        return _Rows(order, shape, kept, stay, whole, even_blocks((length, *kept), size), here)
    (line,) = even_line(length, 1).axes
    seats = turned.seats
    for _ in range(count):  # each has one cell
        seats = seats.joined(0)
    layout = turned.seated([line, *turned.axes[count:]], seats.expanded(0))
    return _Rows(order, shape, kept, stay, whole, layout, (False,) * len(indices))


def _result(source: Layout, axes: Axes, *indices: Layout) -> Layout:
    """Rows in a line stay as they are, if that is balanced."""
    rows = _rows(source, axes, *indices)
    layout = result_layout((*rows.shape, *rows.kept), source.processes)
    balanced = rows.stay or rows.layout.shape[0] >= source.processes
    return rows.layout if len(rows.shape) == 1 and balanced and not layout.is_replicated else layout


def _read_form(source: Form, *given: Any) -> Form:
    *indices, axes = given
    return Form(source.dtype, _result(source.layout, axes, *[index.layout for index in indices]))


def _read_moves(source: Form, *given: Any) -> Moves:
    *indices, axes = given
    layouts = [index.layout for index in indices]
    rows, target = _rows(source.layout, axes, *layouts), _result(source.layout, axes, *layouts)
    if not (rows.stay or source.layout.is_replicated) or rows.layout.shape != target.shape:
        return None
    return [(Form(source.dtype, rows.layout), target)]


@collective("fancy indexing", _read_form, _read_moves)
def read_at(source: Section, *given: Any, target: Layout) -> Section:
    """The elements at indices: the axes of the index arrays, then those that are not indexed."""
    *indices, axes = given
    rows = _rows(source.layout, axes, *[index.layout for index in indices])
    shown, common = _is_shown(source, axes, rows), None
    if not shown or rows.layout.shape[0] <= policy.limits.short:
        in_lines = target.is_replicated or trailing_rows(rows.layout, 1)
        if in_lines and can_push(source):
            common = _common_indices(source, indices, axes, rows)
    if common is not None:
        to_all = target.is_replicated
        block = pushed(source.transposed(rows.order), common, target if to_all else rows.layout)
        if to_all:
            return Section(block.reshape(target.shape), target, source.communicator)
        result = Section(block, rows.layout, source.communicator)
        return result if result.shape == target.shape else reshaped(result, target)
    parts = _parts(source, indices, rows)
    if axes is None:
        (part,) = parts
        if source.layout.is_replicated:
            block = source.block.reshape(-1)[part]
        else:
            flat = from_front(part, source.layout.size)
            block = fetch_flat(source, len(flat), lambda low, high: flat[low:high])
    elif not rows.stay:
        block = _fetched(source, parts, axes, rows, shown)
    elif source.layout.coordinates(source.rank) is None:
        block = np.empty(rows.layout.local_shape(source.rank), source.dtype)
    elif len(axes) == 1:
        block = np.moveaxis(source.block.take(parts[0], axes[0]), axes[0], 0)
    else:
        block = source.block.transpose(rows.order)[parts]
    result = Section(block, rows.layout, source.communicator)
    return result if result.shape == target.shape else reshaped(result, target)


def _common_indices(
    source: Section, indices: Sequence[Section], axes: Axes, rows: _Rows
) -> tuple[Array, ...] | None:
    """All index arrays in a line, where every rank has them, and each row is on one rank; else ``None``."""
    if rows.stay or source.layout.is_replicated or not rows.whole:
        return None
    if not all(index.layout.is_replicated for index in indices):
        return None
    return _in_line([index.block for index in indices], source, axes, rows)


def _in_line(
    wholes: Sequence[Array], source: Section, axes: Axes, rows: _Rows
) -> tuple[Array, ...]:
    """Whole index arrays in a line, counted from the front."""
    wide = [_wide(whole, rows.shape).reshape(-1) for whole in wholes]
    parts = _all_from_front(wide, source, axes)
    if axes is not None:
        return parts
    return tuple(
        [part.astype(np.int64, copy=False) for part in np.unravel_index(parts[0], source.shape)]
    )


def _told(
    base: Section, values: Section, indices: Sequence[Section], axes: Axes, rows: _Rows, ufunc: Any
) -> tuple[Array, tuple[Array, ...]] | None:
    """Values, and index arrays in a line, on every rank: they are there, or the two ranks of a node show them to each other. ``None``
    where ranks are to send them. Collective."""
    if rows.stay or base.layout.is_replicated or base.layout.overlaps or not rows.whole:
        return None
    if not all(each.layout.is_replicated for each in (values, *indices)):
        here = base.communicator
        if here.size > 2 or here.nodes.several or is_combined(base, rows.layout.shape[0], ufunc):
            return None
    shown = shown_everywhere(values, *indices)
    return None if shown is None else (shown[0], _in_line(shown[1:], base, axes, rows))


def _is_shown(source: Section, axes: Axes, rows: _Rows) -> bool:
    """True if showing an array to all ranks is cheaper than requesting the elements of rows."""
    if axes is None or rows.stay or source.layout.is_replicated or not rows.whole:
        return False
    # of fewer elements, a rank has a large part
    few = (
        policy.limits.pieces * policy.limits.chunk if source.layout.processes == 2 else config.small
    )
    most = min(few, 4 * rows.layout.size)
    if source.communicator.nodes.count == 1:
        most = max(most, rows.layout.size)
    return source.layout.size <= most


def _fetched(
    source: Section, parts: tuple[Array, ...], axes: tuple[int, ...], rows: _Rows, is_shown: bool
) -> Array:
    """This rank's rows, from the owners of their elements."""
    if is_shown or source.layout.is_replicated:
        shown = shown_everywhere(source)
        if shown is not None:
            if is_shown and shown[0].nbytes > policy.limits.cached:
                statistics.add("gathered", shown[0].nbytes)
            return taken(shown[0].transpose(rows.order), parts)
    turned, parts = source.transposed(rows.order), _all_from_front(parts, source, axes)
    return fetch(turned, parts if rows.whole else _meshed(parts, rows.kept))


def _parts(source: Section, indices: list[Section], rows: _Rows) -> tuple[Array, ...]:
    """This rank's part of each index array in a line."""
    parts = []
    for index, here in zip(indices, rows.here, strict=True):
        if here:
            part = index.block
        elif index.layout.is_replicated:
            line = region_of(rows.layout, source.rank)[0]
            part = _some(_wide(index.block, rows.shape), rows.shape, line.key)
        else:
            part = reshaped(index, even_line(rows.layout.shape[0], rows.layout.processes)).block
        parts.append(part.astype(np.int64, copy=False))
    return tuple(parts)


def _all_from_front(parts: Sequence[Array], source: Section, axes: Axes) -> tuple[Array, ...]:
    """Index arrays for some axes, counted from the front."""
    lengths = [source.layout.size] if axes is None else [source.shape[k] for k in axes]
    return tuple([from_front(part, n) for part, n in zip(parts, lengths, strict=True)])


def _wide(array: Array, shape: tuple[int, ...]) -> Array:
    """An array broadcast to a shape, which it mostly has."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def _some(wide: Array, shape: tuple[int, ...], part: Any) -> Any:
    """A part of the rows of an array whose first axes, of this shape, count as a line."""
    if len(shape) == 1:
        return wide[part]
    if not shape:
        return wide[np.newaxis][part]
    return wide[np.unravel_index(np.arange(part.start, part.stop), shape)]


def _meshed(parts: tuple[Array, ...], kept: tuple[int, ...]) -> tuple[Array, ...]:
    """Index arrays for all axes, from those of some axes in a line and whole rows."""
    mesh = [part.reshape(-1, *(1,) * len(kept)) for part in parts]
    for k, n in enumerate(kept):
        mesh.append(np.arange(n).reshape((n,) + (1,) * (len(kept) - k - 1)))
    return tuple(np.broadcast_arrays(*mesh))


@collective("assign at indices", writes=True)
def write_at(base: Section, values: Section, *given: Any, target: Layout) -> None:
    """Write values, which broadcast to the selected elements, or combine them by a ufunc.

    ``first`` is the position of the axes of the index arrays among those of the values; ``region`` is the indexed view, unless the
    base is indexed.
    """
    *indices, region, axes, first, ufunc = given
    if region is not None and region.dtype != base.dtype:  # the same part of each element
        offset = region.offset % base.dtype.itemsize
        base, region = base.with_block(base.block.getfield(region.dtype, offset)), region.elements
    layout = base.layout
    if region is not None:
        layout = on_every_rank(region.shape, layout.processes)
    rows = _rows(layout, axes, *[index.layout for index in indices])
    told = None if region is not None else _told(base, values, indices, axes, rows, ufunc)
    if told is not None:  # each rank writes the elements that it holds
        whole, common = told
        turned = base.transposed(rows.order)
        chosen, places = local_rows(turned, common)
        lead = len(rows.shape)
        wide = _wide(whole, (*rows.kept[:first], *rows.shape, *rows.kept[first:]))
        wide = np.moveaxis(wide, range(first, first + lead), range(lead)) if first else wide
        places_of = chosen if lead == 1 else np.unravel_index(chosen, rows.shape or (1,))
        own = (wide if lead else wide[np.newaxis])[places_of]
        own = own.reshape(len(chosen), prod(rows.kept)).astype(base.dtype, copy=False)
        put_rows(turned, len(common), [(places, own)], ufunc)
        return
    indexed = Section(base.block, layout, base.communicator)
    parts = _all_from_front(_parts(indexed, indices, rows), indexed, axes)
    lead, kept = len(rows.shape), rows.kept
    shape = (*kept[:first], *rows.shape, *kept[first:])
    order = (*range(first, first + lead), *range(first), *range(first + lead, len(shape)))
    if values.layout.is_replicated:
        wide = _wide(values.block, shape).transpose(order)
        line, *columns = rows.layout.region(base.rank)
        wide = wide[(slice(None),) * lead + region_key(columns)]
        block = _some(wide, rows.shape, line.key)
    else:
        block = reshaped(values.transposed(order), rows.layout).block
    if axes is None:
        parts = np.unravel_index(parts[0], layout.shape)
    if not rows.stay:
        turned = base if region is not None else base.transposed(rows.order)
        if region is None and trailing_rows(turned.layout, len(parts)):
            write = combine if is_combined(turned, rows.layout.size, ufunc) else store
            write(turned, parts, block, ufunc)
            return
        mesh = dict(zip(rows.order, _meshed(parts, kept), strict=True))
        full = tuple([mesh[k] for k in range(layout.ndim)])
        store(base, full if region is None else base_indices(region, full), block, ufunc)
    elif base.layout.coordinates(base.rank) is not None:
        table = base.block.transpose(rows.order)
        if ufunc is None:
            table[parts] = block
        else:
            ufunc.at(table, parts, block)


def _along(index: Layout) -> Layout:
    """The layout of an index array along an axis while it is used: each element on one rank."""
    return Layout.default(index.shape, index.processes) if index.is_replicated else index


@collective(
    "take along an axis",
    lambda source, index, axis: Form(source.dtype, small_or(_along(index.layout))),
)
def read_along(source: Section, index: Section, axis: int, *, target: Layout) -> Section:
    """The elements at indices along one axis, at each position of the others; in the layout of the index array."""
    index = redistributed(index, _along(index.layout))
    if _lie_alike(source.layout, index.layout, axis):
        return index.with_block(np.take_along_axis(source.block, index.block, axis))
    lines = [
        held.array() if n != 1 else np.zeros(len(held), np.int64)
        for held, n in zip(index.region, source.shape, strict=True)
    ]
    mesh = list(np.ix_(*lines))
    mesh[axis] = from_front(index.block, source.shape[axis])
    return index.with_block(fetch(source, tuple(np.broadcast_arrays(*mesh))))


def _lie_alike(first: Layout, second: Layout, axis: int) -> bool:
    """True if two arrays lie in the same way but for an axis that each rank has whole."""
    line = *(slice(None),) * axis, 0
    whole = all(
        layout.axes[axis].is_undistributed and layout.shape[axis] for layout in (first, second)
    )
    return whole and first.sliced(line) == second.sliced(line)


def to_check(index: Section) -> Section:
    """The part of an index array whose range this rank checks: its own, or all of a short one that every rank has."""
    shape, size = index.shape, index.communicator.size
    few = index.layout.size <= policy.limits.pieces * policy.limits.chunk
    if few or not index.layout.is_replicated or shape[0] < size:
        return index
    rows = even_blocks(shape, size)
    return Section(index.block[rows.region(index.rank)[0].key], rows, index.communicator)


def check_range(
    indices: Sequence[Section],
    bounds: Sequence[tuple[int, int]],
    axes: Sequence[int],
    lengths: Sequence[int],
) -> None:
    """Raise an error on all ranks if an index is out of range; ``bounds`` are those of all elements of each index array. Collective for
    an index array that ranks divide, if one of its elements is out of range."""
    for index, (low, high), axis, length in zip(indices, bounds, axes, lengths, strict=True):
        if low >= -length and high < length:
            continue
        flat = index.block.reshape(-1)
        outside = np.flatnonzero((flat < -length) | (flat >= length))
        positions = flat_indices(index.region, index.shape)[outside]
        place, first = None, (-1, -1, -1)
        if outside.size:
            place = int(positions.min())
            first = int(flat[outside[np.argmin(positions)]]), axis, length
        if index.layout.is_replicated:
            raise _out_of_bounds(*first)
        agree(index.communicator, place, first, _out_of_bounds)


def _out_of_bounds(index: int, axis: int, length: int) -> IndexError:
    return IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
