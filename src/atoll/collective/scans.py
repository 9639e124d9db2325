"""Scans along an axis: each rank scans its own part, then adds the total of the ranks before it.

Where the axis is distributed in blocks, the ranks of a line along it have parts that follow each
other. Each joins the last elements of the scans of the ranks before it, by a tree (see
:func:`..exchange.partners.prefix`), and folds the result into all of its part. On other divisions the axis is brought into blocks
first, and the result back.

A ufunc whose order matters (``subtract``, ``power``, ...) is applied from the first element to the last, as NumPy does: by
ranks that have lanes whole if there are as many lanes as ranks, else by one rank after the other, each of which takes over
the result of the ranks before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import backend, policy
from ..backend.flags import is_noticed
from ..context.caches import remembered
from ..exchange.messages import exchange
from ..exchange.partners import prefix
from ..layout import BlockAxis, Layout
from ..layout.bounds import filled_blocks
from ..ops.folds import FOLDS
from .movement import even_blocks, redistributed
from .operation import Form, Moves, collective, result_layout, small_or
from .process_grid import Line
from .section import Section, replicated

Array = np.ndarray[Any, Any]
_WHAT = "a result in the order of the elements"


def _accumulate_moves(operand: Form, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Moves:
    """The move of a small result, where each rank has the axis whole; else ``None``, since totals of parts travel."""
    if not operand.layout.axes[axis].is_undistributed:
        return None
    return [(Form(dtype, operand.layout), small_or(operand.layout))]


@collective(
    "accumulate",
    lambda operand, axis, ufunc, dtype: Form(dtype, small_or(operand.layout)),
    _accumulate_moves,
)
def accumulate(
    section: Section, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any], *, target: Layout
) -> Section:
    """``ufunc.accumulate``."""
    return accumulated(section, axis, ufunc, dtype)


def accumulated(section: Section, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Section:
    """``ufunc.accumulate`` along an axis, in ``dtype`` and in the operand's layout. Collective."""
    layout = section.layout
    along = layout.axes[axis]
    if ufunc not in FOLDS and not along.is_undistributed:
        return _accumulated_in_order(section, axis, ufunc, dtype)
    if along.is_undistributed:
        return section.with_block(_scanned(section.block, axis, ufunc, dtype))
    if not isinstance(along, BlockAxis) or layout.copies > 1:
        blocks = redistributed(section, even_blocks(layout.shape, layout.processes, axis))
        return redistributed(accumulated(blocks, axis, ufunc, dtype), layout)
    scanned = _scanned(section.block, axis, ufunc, dtype)
    line = _line_along(layout, axis, section.rank)
    if line:
        last = scanned.take([-1], axis)
        before = prefix(section.communicator, last, line, ufunc, "a scan")
        if before is not None and scanned.size:
            ufunc(before, scanned, out=scanned)
    return section.with_block(scanned)


@remembered
def _line_along(layout: Layout, axis: int, rank: int) -> Sequence[int]:
    """The ranks with the blocks of a lane, in order, if this rank is one of several of them."""
    place, filled = layout.coordinates(rank), filled_blocks(layout.axes[axis].bounds)  # type: ignore[attr-defined]
    if place is None or place[axis] not in filled or len(filled) == 1:
        return ()
    seats = layout.seats.selected(axis, filled).joined(axis)
    return seats.at((*place[:axis], *place[axis + 1 :]))


def _scanned(block: Array, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Array:
    """The scan of this rank's block."""
    result = scanned_by_loops(block, axis, ufunc, dtype)
    if result is None:
        return np.asarray(ufunc.accumulate(block, axis=axis, dtype=dtype))
    return result


def scanned_by_loops(
    array: Array, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any]
) -> Array | None:
    """The scan of an array by loops. ``None`` where NumPy has to do it, as it also does to warn, or does it as quickly: exact sums of
    one line."""
    kernels, name = backend.current(), ufunc.__name__
    exact = dtype == array.dtype and dtype.kind in "iu" and array.ndim == 1
    if exact or not (array.size and array.flags.c_contiguous):
        return None
    if not kernels.can_scan(name, dtype, array.dtype):
        return None
    result, flags = kernels.scanned(name, array, axis, dtype)
    return None if is_noticed([(flags, None)]) else result.array


def _fold_form(operand: Form, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Form:
    shape = operand.shape[:axis] + operand.shape[axis + 1 :]
    return Form(dtype, result_layout(shape, operand.layout.processes))


@collective("fold in order", _fold_form)
def fold_in_order(
    section: Section, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any], *, target: Layout
) -> Section:
    """``ufunc.reduce`` along an axis, from the first element to the last."""
    section = _in_order(section, axis)
    layout = section.layout
    if layout.axes[axis].is_undistributed:
        folded = ufunc.reduce(section.block, axis=axis, dtype=dtype)
        key = tuple([0 if k == axis else slice(None) for k in range(layout.ndim)])
        return Section(folded, layout.sliced(key), section.communicator)
    line = Line(section.communicator, range(layout.processes))
    block = np.moveaxis(section.block, axis, 0)
    row, last = _chained(section, axis, dtype, lambda before: _folded(block, before, ufunc, dtype))
    if row is None:
        row = np.empty(layout.shape[:axis] + layout.shape[axis + 1 :], dtype)
    row = np.array(row, order="C")
    return replicated(line.share(row, last, _WHAT), section.communicator)


def _folded(block: Array, before: Array | None, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Array:
    """The fold of the ranks before, continued through the rows of a block, some at a time."""
    step = max(1, policy.limits.chunk // max(prod(block.shape[1:]), 1))
    for start in range(0, len(block), step):
        rows = block[start : start + step].astype(dtype, copy=False)
        if before is not None:
            rows = np.concatenate([before[None], rows])
        before = np.asarray(ufunc.reduce(rows, axis=0, dtype=dtype))
    assert before is not None
    return before


def _accumulated_in_order(
    section: Section, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any]
) -> Section:
    """``ufunc.accumulate`` where the order matters, in the operand's layout."""
    lying = _in_order(section, axis)
    if lying.layout.axes[axis].is_undistributed:
        scanned = lying.with_block(ufunc.accumulate(lying.block, axis=axis, dtype=dtype))
        return redistributed(scanned, section.layout)
    block = np.moveaxis(lying.block, axis, 0)
    scanned = lying.with_block(lying.block.astype(dtype))
    into = np.moveaxis(scanned.block, axis, 0)

    def advance(before: Array | None) -> Array:
        rows = block.astype(dtype, copy=False)
        if before is None:
            into[...] = ufunc.accumulate(rows, axis=0, dtype=dtype)
        else:
            rows = np.concatenate([before[None], rows])
            into[...] = ufunc.accumulate(rows, axis=0, dtype=dtype)[1:]
        last: Array = np.asarray(into[-1])
        return last

    _chained(lying, axis, dtype, advance)
    return redistributed(scanned, section.layout)


def _in_order(section: Section, axis: int) -> Section:
    """The section with each lane along an axis on one rank; where the lanes are fewer than ranks, in blocks along it."""
    layout = section.layout
    if layout.axes[axis].is_undistributed:
        return section
    whole = whole_along(layout, axis)
    return redistributed(section, whole or even_blocks(layout.shape, layout.processes, axis))


def _chained(
    section: Section, axis: int, dtype: np.dtype[Any], advance: Callable[[Array | None], Array]
) -> tuple[Array | None, int]:
    """Let each rank with a block continue the row of the rank before it. Returns this rank's row, and the number of the last rank."""
    layout, rank = section.layout, section.rank
    ranks = filled_blocks(layout.axes[axis].bounds)  # type: ignore[attr-defined]
    if rank not in ranks:
        return None, ranks[-1]
    place, before = ranks.index(rank), None
    if place:
        before = np.empty(layout.shape[:axis] + layout.shape[axis + 1 :], dtype)
        exchange(section.communicator, {}, {ranks[place - 1]: before}, _WHAT)
    row = advance(before)
    if rank != ranks[-1]:
        exchange(section.communicator, {ranks[place + 1]: np.array(row, order="C")}, {}, _WHAT)
    return row, ranks[-1]


def whole_along(layout: Layout, axis: int) -> Layout | None:
    """A layout with one axis whole, and another in blocks over all ranks, if one is long enough."""
    others = [k for k in range(layout.ndim) if k != axis and layout.shape[k] >= layout.processes]
    if not others or not prod(layout.shape):
        return None
    longest = max(others, key=lambda k: layout.shape[k])
    return even_blocks(layout.shape, layout.processes, longest)
