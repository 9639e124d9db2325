"""Binary search in a sorted distributed line.

Ranks tell each other the first elements of their blocks. A search among these gives the rank whose block has a value's place; the
values travel there, places travel back.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from math import isqrt
from typing import Any, Literal

import numpy as np

from .. import policy
from ..comm.in_step import allgather, step
from ..layout import Layout
from .elements import fetch
from .messages import answered
from .movement import as_line, by_rank, line_start, redistributed
from .operation import Form, collective, small_or
from .process_grid import Line
from .section import Section

Array = np.ndarray[Any, Any]


def shared(values: Layout) -> Layout:
    """The layout of values while they are looked up: their own, or even blocks for replicated values."""
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
    """``searchsorted``: the result has the layout of the values."""
    values = redistributed(values, shared(values.layout))
    if line.layout.is_replicated:
        return values.with_block(np.searchsorted(line.block, values.block, side))
    sought = np.ascontiguousarray(values.block).reshape(-1)
    places = Finder(as_line(line)).places(sought, side)
    return values.with_block(places.reshape(values.block.shape))


class Finder:
    """Looks values up in a sorted line, which lies in even blocks.

    Among a few ranks, each knows the first element of every block. Among more, the ranks form rows of about as many
    ranks as there are rows. A rank knows the first element of each row, and sends a value to the rank of that row in its column.
    That rank knows the first element of each block of its row, and sends the value to the owner. So a rank has partners in its
    row and in its column only. Ranks that are left belong to the last row, and follow the others in their columns.
    """

    __slots__ = ("_above", "_blocks", "_column", "_row", "line")

    def __init__(self, line: Section) -> None:
        """Collective."""
        self.line = line
        size, rank = line.communicator.size, line.rank
        count = 1 if size <= policy.limits.few_ranks else isqrt(size)
        width = size // count
        here = min(rank // width, count - 1)
        self._row = range(here * width, size if here == count - 1 else (here + 1) * width)
        self._column = range(rank % width, size, width)
        what = "where parts of a line begin"
        first = line.block[:1] if line.block.size else np.zeros(1, line.dtype)
        if count == 1:
            every = allgather(line.communicator, first, what).reshape(-1)
        else:
            step(line.communicator, "finder", what)
            every = Line(line.communicator, self._row).gather(first, None, what)
        filled = min(line.layout.size, size)  # even blocks: the first ranks have all elements
        self._blocks = every[: max(filled - self._row.start, 0)]
        """The first element of each rank of the row that has any."""
        self._above = every[:1]
        """The first element of each row that has any."""
        if count > 1:
            above = Line(line.communicator, self._column).gather(self._above, None, what)
            self._above = above[: min(count, -(-filled // width))]

    def places(self, values: Array, side: Literal["left", "right"]) -> Array:
        """``searchsorted`` of each rank's own ``values`` (one axis, the line's dtype). Collective."""
        line = self.line
        if not line.layout.size:
            return np.zeros(values.shape, np.intp)
        start = line_start(line.layout, line.rank)

        def in_block(sought: Array) -> Array:
            places: Array = line.block.searchsorted(sought, side)
            places += start
            return places

        def in_row(sought: Array) -> Array:
            return self._requested(self._row, self._blocks, sought, side, in_block)

        if len(self._column) == 1:
            return in_row(values)
        return self._requested(self._column, self._above, values, side, in_row)

    def _requested(
        self,
        ranks: range,
        first: Array,
        values: Array,
        side: Literal["left", "right"],
        answer: Callable[[Array], Array],
    ) -> Array:
        """The places of values, each requested from one of some ``ranks`` by their ``first`` elements. Collective."""
        places = np.empty(values.shape, np.intp)
        # the last first element below a value; the first one for values before them all
        parts = np.maximum(first.searchsorted(values, side) - 1, 0)
        asked = dict(by_rank(ranks.start + parts * ranks.step))

        def answers(wanted: dict[int, Array]) -> dict[int, Array]:
            places_of_all = answer(np.concatenate([values[:0], *wanted.values()]))
            ends = accumulate(map(len, wanted.values()), initial=0)
            return {peer: places_of_all[i:j] for peer, (i, j) in zip(wanted, pairwise(ends))}

        arrived = answered(
            self.line.communicator,
            {peer: values[part] for peer, part in asked.items()},
            answers,
            (values[:0], places[:0]),
            ("what to look up", "places in a line"),
            ranks,
        )
        for peer, part in asked.items():
            places[part] = arrived[peer]
        return places


@collective("interp", lambda x, at, of, left, right: Form(of.dtype, small_or(shared(x.layout))))
def interpolated(
    x: Section, at: Section, of: Section, left: Any, right: Any, *, target: Layout
) -> Section:
    """``interp``: the result has the layout of ``x``."""
    x = redistributed(x, shared(x.layout))
    if at.layout.is_replicated and of.layout.is_replicated:
        return x.with_block(np.interp(x.block, at.block, of.block, left, right))
    at, of = as_line(at), as_line(of)
    result = np.empty(x.block.shape, of.dtype)
    into, sought = result.reshape(-1), np.ascontiguousarray(x.block).reshape(-1)
    last = np.array([0, at.layout.size - 1])
    (low, high), values = fetch(at, (last,)), fetch(of, (last,))
    finder = Finder(at)
    limits, share = policy.limits, 8 * x.layout.size // x.layout.processes
    rounds = min(limits.pieces, 1 + share // limits.packed)
    bounds = np.linspace(0, sought.size, rounds + 1).astype(np.int64).tolist()
    for start, stop in pairwise(bounds):
        into[start:stop] = _between(finder, of, sought[start:stop])
    into[sought < low] = values[0] if left is None else left
    into[sought > high] = values[1] if right is None else right
    into[np.isnan(sought)] = np.nan
    return x.with_block(result)


def _between(finder: Finder, of: Section, sought: Array) -> Array:
    """Linear interpolation between neighbours, at places that may lie outside of all. Collective."""
    at = finder.line
    last = at.layout.size - 1
    first = np.clip(finder.places(sought, "right") - 1, 0, max(last - 1, 0))
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
    """Linear interpolation between two points each: exact at the points, and from the second point where infinite numbers give NaN
    from the first."""
    slope = (y1 - y0) / np.where(x1 == x0, 1.0, x1 - x0)
    heights = slope * (x - x0) + y0
    heights = np.where(np.isnan(heights), slope * (x - x1) + y1, heights)
    heights = np.where(np.isnan(heights) & (y0 == y1) & ~np.isnan(x), y0, heights)
    return np.where(x == x1, y1, np.where(x == x0, y0, heights))
