"""Binary search in a sorted distributed line.

Every rank shows the first element of its interval. Among those a value finds the rank in whose interval its
place is; the values travel there, places travel back.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..comm.in_step import allgather
from .messages import exchange, uneven
from .moving import by_parts, line_start
from .section import Section

Array = np.ndarray[Any, Any]


def places_in(line: Section, values: Array, side: Literal["left", "right"]) -> Array:
    """``searchsorted`` of each rank's own ``values`` (one axis, the line's dtype). Collective."""
    communicator, rank = line.communicator, line.rank
    shown = np.zeros(1, line.dtype)
    if line.block.size:
        shown[0] = line.block[0]
    counts = allgather(
        communicator, np.array([line.block.size]), "how much each rank has of a line"
    ).reshape(-1)
    first = allgather(communicator, shown, "where each rank's part of a line begins").reshape(-1)
    filled = np.flatnonzero(counts)
    if not filled.size:
        return np.zeros(values.shape, np.intp)
    owners = filled[np.maximum(np.searchsorted(first[filled], values, side) - 1, 0)]
    found = np.empty(values.shape, np.intp)
    asked = dict(by_parts(owners))
    wanted = uneven(
        communicator,
        {peer: values[part] for peer, part in asked.items()},
        values[:0],
        "what to look up",
    )
    start = line_start(line.layout, rank)
    answers = {
        peer: (np.searchsorted(line.block, piece, side) + start).astype(np.intp)
        for peer, piece in wanted.items()
    }
    own = answers.pop(rank, found[:0])
    arriving = {peer: np.empty(part.size, np.intp) for peer, part in asked.items() if peer != rank}
    exchange(communicator, answers, arriving, "places in a line")
    for peer, part in asked.items():
        found[part] = own if peer == rank else arriving[peer]
    return found
