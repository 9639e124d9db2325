"""Binary search in a sorted distributed line.

Every rank shows the first element of its interval. Among those a value finds the rank in whose interval its
place is; the values travel there, places travel back.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np

from .. import policy
from ..comm.in_step import allgather
from ..exchange.messages import exchange
from ..layout import Layout
from .elements import fetch
from .messages import uneven
from .moving import by_parts, even_line, line_start, redistributed, reshaped
from .operation import Form, collective, small_or
from .section import Section

Array = np.ndarray[Any, Any]


def shared(values: Layout) -> Layout:
    """How values lie while they are looked up: each with its owner, and what all ranks have in even blocks."""
    if values.is_replicated and values.shape:
        return Layout.default(values.shape, values.processes)
    return values


@collective(
    "searchsorted",
    lambda line, values, side: Form(np.dtype(np.intp), small_or(shared(values.layout))),
    lambda line, values, side: (
        None
        if not line.layout.is_replicated
        else [(Form(np.dtype(np.intp), shared(values.layout)), small_or(shared(values.layout)))]
    ),
)
def searched(
    line: Section, values: Section, side: Literal["left", "right"], *, target: Layout
) -> Section:
    """``searchsorted``: the result lies as the values do."""
    values = redistributed(values, shared(values.layout))
    if line.layout.is_replicated:
        return values.with_block(np.searchsorted(line.block, values.block, side))
    sought = np.ascontiguousarray(values.block).reshape(-1)
    places = places_in(
        reshaped(line, even_line(line.layout.size, line.layout.processes)), sought, side
    )
    return values.with_block(places.reshape(values.block.shape))


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
    places = np.empty(values.shape, np.intp)
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
    own = answers.pop(rank, places[:0])
    arriving = {peer: np.empty(part.size, np.intp) for peer, part in asked.items() if peer != rank}
    exchange(communicator, answers, arriving, "places in a line")
    for peer, part in asked.items():
        places[part] = own if peer == rank else arriving[peer]
    return places


@collective("interp", lambda x, at, of, left, right: Form(of.dtype, small_or(shared(x.layout))))
def interpolated(
    x: Section, at: Section, of: Section, left: Any, right: Any, *, target: Layout
) -> Section:
    """``interp``: the result lies as ``x`` does."""
    x = redistributed(x, shared(x.layout))
    if at.layout.is_replicated and of.layout.is_replicated:
        return x.with_block(np.interp(x.block, at.block, of.block, left, right))
    line = even_line(at.layout.size, at.layout.processes)
    at, of = reshaped(at, line), reshaped(of, line)
    result = np.empty(x.block.shape, of.dtype)
    into, sought = result.reshape(-1), np.ascontiguousarray(x.block).reshape(-1)
    last = np.array([0, line.size - 1])
    (low, high), values = fetch(at, (last,)), fetch(of, (last,))
    bounds = np.linspace(0, sought.size, policy.limits.lookups + 1).astype(np.int64).tolist()
    for start, stop in pairwise(bounds):
        into[start:stop] = _between(at, of, sought[start:stop])
    into[sought < low] = values[0] if left is None else left
    into[sought > high] = values[1] if right is None else right
    into[np.isnan(sought)] = np.nan
    return x.with_block(result)


def _between(at: Section, of: Section, sought: Array) -> Array:
    """The lines between neighbours, at places that need not lie between any. Collective."""
    last = at.layout.size - 1
    first = np.clip(places_in(at, sought, "right") - 1, 0, max(last - 1, 0))
    second = np.minimum(first + 1, last)
    x0, x1 = fetch(at, (first,)), fetch(at, (second,))
    y0, y1 = fetch(of, (first,)), fetch(of, (second,))
    if y0.dtype.kind != "c":
        return _on_lines(sought, x0, x1, y0, y1)
    heights = np.empty(sought.shape, y0.dtype)
    heights.real = _on_lines(sought, x0, x1, y0.real, y1.real)
    heights.imag = _on_lines(sought, x0, x1, y0.imag, y1.imag)
    return heights


def _on_lines(x: Array, x0: Array, x1: Array, y0: Array, y1: Array) -> Array:
    """The lines between two points each, at a place: the points themselves where it is one, and from the
    other end where infinite numbers leave nothing from the first."""
    slope = (y1 - y0) / np.where(x1 == x0, 1.0, x1 - x0)
    heights = slope * (x - x0) + y0
    heights = np.where(np.isnan(heights), slope * (x - x1) + y1, heights)
    heights = np.where(np.isnan(heights) & (y0 == y1) & ~np.isnan(x), y0, heights)
    return np.where(x == x1, y1, np.where(x == x0, y0, heights))
