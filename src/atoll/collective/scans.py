"""Scans along an axis: each rank scans its own part, then adds the total of the ranks before it.

Where the axis is distributed in blocks, the ranks of a line along it have parts that follow each
other. Each folds the last elements of its scan with those of the ranks before (see
:func:`.messages.prefix`: as many steps as the ranks have binary digits), and joins the result to
all of its part. On other divisions the axis is brought into blocks first, and the result back.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..layout import BlockAxis, Layout
from ..layout.bounds import balanced_bounds
from .messages import prefix
from .moving import redistributed
from .operation import Form, Moves, collective, small_or
from .section import Section

Array = np.ndarray[Any, Any]


def _accumulate_moves(operand: Form, axis: int, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Moves:
    """Nothing but a small result, where each rank has the axis whole; else sums of parts go round."""
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
    """``ufunc.accumulate`` along an axis, in ``dtype``; it lies as the operand does. Collective."""
    layout = section.layout
    along = layout.axes[axis]
    if along.is_undistributed:
        return section.with_block(ufunc.accumulate(section.block, axis=axis, dtype=dtype))
    if not isinstance(along, BlockAxis) or layout.copies > 1:
        blocks = redistributed(section, in_blocks_along(layout.shape, axis, layout.processes))
        return redistributed(accumulated(blocks, axis, ufunc, dtype), layout)
    scanned = ufunc.accumulate(section.block, axis=axis, dtype=dtype)
    place = layout.coordinates(section.rank)
    if place is None:
        return section.with_block(scanned)
    line = [
        layout.rank_at((*place[:axis], c, *place[axis + 1 :]))
        for c in range(along.processes)
        if along.count(c)
    ]
    if section.rank in line and len(line) > 1:
        last = np.take(scanned, -1, axis=axis)
        before = prefix(section.communicator, last, line, ufunc, "a scan")
        if before is not None and scanned.size:
            ufunc(np.expand_dims(before, axis), scanned, out=scanned)
    return section.with_block(scanned)


def in_blocks_along(shape: tuple[int, ...], axis: int, size: int) -> Layout:
    """Even blocks along one axis, the others whole."""
    axes = [BlockAxis(n, (0, n)) for n in shape]
    axes[axis] = BlockAxis(shape[axis], balanced_bounds(shape[axis], size))
    return Layout.in_order(axes, size)


def whole_along(layout: Layout, axis: int) -> Layout | None:
    """A layout with one axis whole, and another in blocks over all ranks, if one is long enough."""
    others = [k for k in range(layout.ndim) if k != axis and layout.shape[k] >= layout.processes]
    if not others or not prod(layout.shape):
        return None
    return in_blocks_along(
        layout.shape, max(others, key=lambda k: layout.shape[k]), layout.processes
    )
