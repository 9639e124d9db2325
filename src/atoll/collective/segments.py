"""Reductions of segments of a line, which may start anywhere, overlap, and cross ranks.

Each rank folds what it has of each stretch. The owners of the results join these in the order of the
ranks, which is that of the elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .messages import uneven
from .moving import by_parts, even_rows, line_start
from .section import Section, empty

Array = np.ndarray[Any, Any]


def folded_segments(
    rows: Section, starts: Array, stops: Array, ufunc: np.ufunc, dtype: np.dtype[Any]
) -> Section:
    """``ufunc`` folded over the rows from each start to its stop; in even blocks. Collective.

    ``rows`` has two axes and lies in blocks of rows; every rank has all starts and stops, and
    no stretch is empty.
    """
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
    made = empty(even_rows((len(starts), rows.shape[1]), communicator.size), dtype, communicator)
    owners = made.layout.axes[0].locate_array(mine)[0]
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
    begin = line_start(made.layout, rank) // max(rows.shape[1], 1)
    there = np.zeros(len(made.block), np.bool_)
    for peer in sorted(places):
        at, found = places[peer] - begin, values[peer]
        again = there[at]
        made.block[at[~again]] = found[~again]
        made.block[at[again]] = ufunc(made.block[at[again]], found[again])
        there[at] = True
    return made
