"""Reductions of segments of a line, which may start anywhere, overlap, and cross ranks.

Each rank folds its part of each segment. The owners of the results combine these in the order of the ranks, which is the order of
the elements.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..layout import Layout
from .messages import uneven
from .movement import by_parts, even_rows, line_start, reshaped
from .operation import Form, collective, result_layout
from .section import Section, empty

Array = np.ndarray[Any, Any]


def _segments_form(operand: Form, starts: Form, ufunc: np.ufunc, dtype: np.dtype[Any]) -> Form:
    return Form(dtype, result_layout((*starts.shape, *operand.shape[1:]), operand.layout.processes))


@collective("reduceat", _segments_form)
def folded_segments(
    operand: Section, at: Section, ufunc: np.ufunc, dtype: np.dtype[Any], *, target: Layout
) -> Section:
    """``ufunc`` folded over the rows from each start to the next; every rank has all starts."""
    starts, length = at.block.astype(np.int64), operand.shape[0]
    stops = np.append(starts[1:], length)
    stops = np.where(stops > starts, stops, starts + 1)
    shape = length, prod(operand.shape[1:])
    rows = reshaped(operand, even_rows(shape, target.processes))
    rank, communicator, block = rows.rank, rows.communicator, rows.block
    low = line_start(rows.layout, rank) // max(rows.shape[1], 1)
    first = np.clip(starts - low, 0, len(block))
    last = np.clip(stops - low, 0, len(block))
    mine = np.flatnonzero(first < last)
    edges = np.stack([first[mine], last[mine]], 1).reshape(-1)
    ended = np.concatenate([block, block[:1]])  # a stretch may end where the block does
    if mine.size:
        partial = ufunc.reduceat(ended, edges, axis=0, dtype=dtype)[::2]
    else:
        partial = np.empty((0, rows.shape[1]), dtype)
    result = empty(even_rows((len(starts), rows.shape[1]), communicator.size), dtype, communicator)
    owners = result.layout.axes[0].locate_array(mine)[0]
    parts = dict(by_parts(owners))
    places = uneven(
        communicator,
        {peer: mine[part] for peer, part in parts.items()},
        mine[:0],
        "which stretches",
    )
    values = uneven(
        communicator,
        {peer: partial[part] for peer, part in parts.items()},
        partial[:0],
        "folded stretches",
    )
    begin = line_start(result.layout, rank) // max(rows.shape[1], 1)
    begun = np.zeros(len(result.block), np.bool_)
    for peer in sorted(places):
        owned, folded = places[peer] - begin, values[peer]
        again = begun[owned]
        result.block[owned[~again]] = folded[~again]
        result.block[owned[again]] = ufunc(result.block[owned[again]], folded[again])
        begun[owned] = True
    return reshaped(result, target)
