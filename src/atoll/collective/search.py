"""Binary search in a sorted distributed line.

Ranks tell each other the first elements of their blocks. A search among these gives the rank whose block has a value's place; the
values travel there, places travel back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isqrt
from typing import Any, Literal

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import allgather, step
from ..exchange.messages import exchange
from ..layout import Layout
from ..layout.bounds import balanced_bounds
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

    Among a few ranks, each knows the first element of every block. Among more, the ranks are cut into groups of
    about as many ranks as there are groups. A rank knows the first element of each group, and sends a value to a rank of its group.
    That rank knows the first element of each block of its group, and sends the value to the owner.
    """

    __slots__ = ("_above", "_blocks", "_groups", "line")

    def __init__(self, line: Section) -> None:
        """Collective."""
        self.line = line
        size, rank = line.communicator.size, line.rank
        count = 1 if size <= policy.limits.few_ranks else isqrt(size)
        self._groups = balanced_bounds(size, count)
        """The first rank of each group, and the number of ranks."""
        here = bisect_right(self._groups, rank) - 1
        group = range(self._groups[here], self._groups[here + 1])
        what = "where parts of a line begin"
        first = line.block[:1] if line.block.size else np.zeros(1, line.dtype)
        if count == 1:
            every = allgather(line.communicator, first, what).reshape(-1)
        else:
            step(line.communicator, "finder", what)
            every = self._stacked(group, first, what)
        filled = min(line.layout.size, size)  # even blocks: the first ranks have all elements
        self._blocks = every[: max(filled - group.start, 0)]
        """The first element of each rank of the group that has any."""
        self._above = every[:1]
        """The first element of each group that has any."""
        if count > 1:
            above = self._of_groups(every[:1], rank - group.start, what)
            self._above = above[: bisect_left(self._groups, filled)]

    def _of_groups(self, first: Array, number: int, what: str) -> Array:
        """The first element of each group, from the ranks with the same number in other groups."""
        communicator = self.line.communicator
        heads = np.asarray(self._groups)[:-1]
        above = np.empty(len(heads), first.dtype)
        fewest = communicator.size // len(heads)
        head = communicator.rank - number
        if number < fewest:
            above = self._stacked((heads + number).tolist(), first, what)
        longer = bisect_right(self._groups, head) - 1 < communicator.size % len(heads)
        outgoing = {head + fewest: above} if longer and not number else {}
        exchange(communicator, outgoing, {head: above} if number == fewest else {}, what)
        return above

    def _stacked(self, ranks: Sequence[int], first: Array, what: str) -> Array:
        """The elements of some ranks, of which this is one, on each of them."""
        return Line(self.line.communicator, ranks).gather(first, [1] * len(ranks), what)

    def places(self, values: Array, side: Literal["left", "right"]) -> Array:
        """``searchsorted`` of each rank's own ``values`` (one axis, the line's dtype). Collective."""
        line, groups = self.line, self._groups
        if not line.layout.size:
            return np.zeros(values.shape, np.intp)
        start = line_start(line.layout, line.rank)
        own = groups[bisect_right(groups, line.rank) - 1]

        def in_block(sought: Array) -> Array:
            return (np.searchsorted(line.block, sought, side) + start).astype(np.intp)

        def in_group(sought: Array) -> Array:
            owners = own + _before(self._blocks, sought, side)
            return _requested(line.communicator, owners, sought, in_block)

        if len(groups) == 2:
            return in_group(values)
        heads = np.asarray(groups)
        chosen = _before(self._above, values, side)
        lengths = heads[chosen + 1] - heads[chosen]
        return _requested(line.communicator, heads[chosen] + line.rank % lengths, values, in_group)


def _before(first: Array, values: Array, side: Literal["left", "right"]) -> Array:
    """The number of the part that has each value's place, by the first elements of the parts; 0 for values before them all."""
    return np.maximum(np.searchsorted(first, values, side) - 1, 0)


def _requested(
    communicator: Communicator, ranks: Array, values: Array, answer: Callable[[Array], Array]
) -> Array:
    """The places of values, each requested from one rank. Collective, as the answers may be."""
    places = np.empty(values.shape, np.intp)
    asked = dict(by_rank(ranks))

    def answers(wanted: dict[int, Array]) -> dict[int, Array]:
        places_of_all = answer(np.concatenate([values[:0], *wanted.values()]))
        ends = np.cumsum([len(piece) for piece in wanted.values()])
        return dict(zip(wanted, np.split(places_of_all, ends)))

    arrived = answered(
        communicator,
        {peer: values[part] for peer, part in asked.items()},
        answers,
        (values[:0], places[:0]),
        ("what to look up", "places in a line"),
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
