"""Sorting a line: each rank sorts its own interval and cuts it at splitters, and merges the pieces that it gets.

Many ranks sort in levels: first elements go to groups of ranks, then each group sorts its elements. So a rank cuts its elements
into as many pieces as there are groups, and exchanges them with about as many ranks.

The splitters are the elements with which the ranks' even blocks of the result begin. A splitter is an element, not a value: of
equal elements those of lower ranks, and in a rank those at lower places, lie before it. So the sort is stable, every element travels
once in a level, on the last one to its final rank, and no rank ever has more than its even share.

The element with a wanted number among those of all ranks is found in rounds: the ranks look at samples, evenly spaced among the
candidates, and count the elements before each sample. The wanted element is a sample, or lies between two of them, among a small part
of the candidates. The size of a round's messages depends on the number of wanted elements, and hardly on the number of ranks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import summed
from ..exchange.messages import exchange
from ..exchange.partners import sums
from ..layout import Layout
from ..layout.bounds import balanced_bounds
from .elements import cut_along
from .messages import joined
from .movement import as_line, even_line, line_start, redistributed
from .operation import Form, Moves, collective, result_layout, small_or
from .scans import whole_along
from .section import Section, empty

Array = np.ndarray[Any, Any]
_WHAT = "elements in order"


def _sorted_form(operand: Form, axis: int, function: Any) -> Form | None:
    """The form of the result: a line in even blocks, else the layout of the operand."""
    layout = operand.layout
    dtype = operand.dtype if function is np.sort else np.dtype(np.intp)
    if layout.ndim == 1:
        return Form(dtype, result_layout(layout.shape, layout.processes))
    if not layout.axes[axis].is_undistributed and whole_along(layout, axis) is None:
        return None
    return Form(dtype, small_or(layout))


def _along(section: Section, axis: int, function: Any, kind: Any) -> Section:
    """NumPy's function along an axis that one rank has whole, or that can be made so."""
    layout = section.layout
    if not layout.axes[axis].is_undistributed:
        whole = whole_along(layout, axis)
        assert whole is not None
        section = redistributed(section, whole)
    return section.with_block(function(section.block, axis=axis, kind=kind))


def _sort_moves(operand: Form, axis: int, *kind: Any) -> Moves:
    """The moves that make an axis whole, and back; ``None`` for a line, since values decide its moves."""
    layout = operand.layout
    if layout.ndim == 1:
        return None
    target = small_or(layout)
    if layout.axes[axis].is_undistributed:
        return [(operand, target)]
    whole = whole_along(layout, axis)
    return None if whole is None else [(operand, whole), (Form(operand.dtype, whole), target)]


@collective("sort", lambda operand, axis, kind: _sorted_form(operand, axis, np.sort), _sort_moves)
def sort(section: Section, axis: int, kind: Any, *, target: Layout) -> Section:
    """The elements in ascending order along an axis; of a ``stable`` kind, -0.0 and 0.0 stay in their order."""
    if len(section.shape) == 1:
        return in_order(as_line(section), kind)
    return _along(section, axis, np.sort, kind)


@collective("argsort", lambda operand, axis: _sorted_form(operand, axis, np.argsort), _sort_moves)
def argsort(section: Section, axis: int, *, target: Layout) -> Section:
    """The indices that sort the elements in ascending order; of equal elements the lower index comes first."""
    if len(section.shape) == 1:
        return ordered(as_line(section))[1]
    return _along(section, axis, np.argsort, "stable")


def in_order(line: Section, kind: Any = None) -> Section:
    """The elements of a line in ascending order, NaN last, in even blocks. Collective."""
    own = empty(line.layout, line.dtype, line.communicator).block
    own[...] = line.block
    own.sort(kind=kind)
    (values,) = _arrived(line, own, algorithm=kind)
    values.sort(kind=kind)
    return _even(values, line)


def ordered(line: Section) -> tuple[Section, Section]:
    """The elements of a line in ascending order, NaN last, and the place in the line that each came from.

    Equal elements stay in their order. Both are in even blocks. Collective.
    """
    order = np.argsort(line.block, kind="stable")
    places = order + line_start(line.layout, line.rank)
    values, places = _arrived(line, line.block[order], places.astype(np.int64, copy=False))
    order = np.argsort(values, kind="stable")  # those of lower ranks came first, each in order
    return _even(values[order], line), _even(places[order], line)


def _even(block: Array, line: Section) -> Section:
    communicator = line.communicator
    return Section(block, even_line(line.layout.size, communicator.size), communicator)


def _arrived(line: Section, values: Array, *others: Array, algorithm: Any = None) -> list[Array]:
    """Exchange elements, and return those of this rank's part of the sorted line, in the order of the ranks that sent them.

    ``values`` are this rank's elements in order, and ``others`` belong to them.
    """
    communicator, length = line.communicator, line.layout.size
    size = communicator.size
    groups = balanced_bounds(size, groups_of(size))
    bounds = balanced_bounds(length, size)
    heads = [bounds[first] for first in groups]
    start = line_start(line.layout, line.rank)
    cuts = [*cuts_at(values, start, length, heads[:-1], communicator), len(values)]
    arrays = values, *others
    if len(heads) > size:  # each rank is a group
        pieces = [
            {peer: a[i:j] for peer, (i, j) in enumerate(pairwise(cuts)) if i < j} for a in arrays
        ]
        return joined(communicator, pieces, arrays, _WHAT)
    what = "how many elements go to groups of ranks"
    before, _ = sums(communicator, np.diff(cuts), what)
    pieces = [{} for _ in arrays]
    for k, (low, high) in enumerate(pairwise(groups)):
        if cuts[k] == cuts[k + 1]:
            continue
        # each member gets an even part; elements from lower ranks go to lower members, so equal elements stay in order
        even = even_line(heads[k + 1] - heads[k], high - low)
        for kind, array in zip(pieces, arrays, strict=True):
            parts = cut_along(array[cuts[k] : cuts[k + 1]], int(before[k]), even)
            kind.update({low + member: part for member, part in parts.items()})
    values, *rest = joined(communicator, pieces, arrays, _WHAT)
    here = bisect_right(groups, line.rank) - 1
    team = communicator.group(range(groups[here], groups[here + 1]))
    assert team is not None
    part = Section(values, even_line(heads[here + 1] - heads[here], team.size), team)
    if not rest:
        values.sort(kind=algorithm)
        return _arrived(part, values, algorithm=algorithm)
    order = np.argsort(values, kind="stable")
    return _arrived(part, values[order], *[other[order] for other in rest])


def groups_of(size: int) -> int:
    """The number of groups into which ``size`` ranks are cut: one for each rank, unless there are many ranks."""
    most = max(policy.limits.few_ranks**2, 3)
    return size if size <= most else min(isqrt(size), most)


def starts(line: Section) -> Section:
    """For each element of an ordered line, True if it differs from the element before. Collective."""
    block = line.block
    marks = np.ones(len(block), np.bool_)
    marks[1:] = _differ(block[1:], block[:-1])
    before = _beside(line, -1, "the last element of the rank before")
    if before is not None:
        marks[:1] = _differ(block[:1], before)
    return line.with_block(marks)


def first_behind(line: Section, none: Any) -> Any:
    """The element behind this rank's part of a line in even blocks; ``none`` behind the last. Collective."""
    behind = _beside(line, 1, "the first element of the rank behind")
    return np.full(1, none, line.dtype)[0] if behind is None else behind[0]


def _beside(line: Section, way: int, what: str) -> Array | None:
    """The element behind this rank's part of a line in blocks (1), or before it (-1), if there is one. Collective."""
    block, along = line.block, line.layout.axes[0]
    if not len(block):
        exchange(line.communicator, {}, {}, what)
        return None
    start = line_start(line.layout, line.rank)
    sides = [(start - 1, block[:1]), (start + len(block), block[-1:])]
    (to, mine), (source, _) = sides[::way]
    outgoing = {along.locate(to)[0]: mine} if 0 <= to < along.size else {}
    incoming = {along.locate(source)[0]: np.empty_like(mine)} if 0 <= source < along.size else {}
    exchange(line.communicator, outgoing, incoming, what)
    return next(iter(incoming.values()), None)


def _differ(left: Array, other: Array) -> Array:
    """Elementwise ``!=``, with two NaN equal."""
    differ: Array = left != other
    if left.dtype.kind in "fc":
        differ &= ~(np.isnan(left) & np.isnan(other))
    return differ


class _Edge(NamedTuple):
    """The numbers of elements before a sample: of all ranks, of this rank, of lower ranks."""

    everywhere: int
    here: int
    lower: int


class _Bracket(NamedTuple):
    """Two samples, and the numbers of the wanted elements between them."""

    low: _Edge
    high: _Edge
    wanted: tuple[int, ...]


def cuts_at(
    values: Array, start: int, length: int, wanted: Sequence[int], communicator: Communicator
) -> list[int]:
    """The number of this rank's ``values``, which are in order, before each of the wanted elements. Collective.

    The elements are numbered from 0 in the order of all ranks together. Lower ranks have ``start`` elements, and all
    have ``length``.
    """
    cuts = {k: 0 if k <= 0 else len(values) for k in wanted if k <= 0 or k >= length}
    between = tuple(sorted({*wanted} - {*cuts}))
    everything = _Bracket(_Edge(0, 0, 0), _Edge(length, len(values), start), between)
    brackets = [everything] if between else []
    while brackets:
        brackets = _round(values, start, brackets, cuts, communicator)
    return [cuts[k] for k in wanted]


def _round(
    values: Array,
    start: int,
    brackets: list[_Bracket],
    cuts: dict[int, int],
    communicator: Communicator,
) -> list[_Bracket]:
    """Look at samples of all brackets. Enter the cuts that are exact, and return narrower brackets for the others."""
    most = max(policy.limits.short // (4 * len(brackets)), policy.limits.pieces, 2)
    sizes = [min(b.high.everywhere - b.low.everywhere, most) for b in brackets]
    samples, keys = _samples(values, start, brackets, sizes, communicator)
    edges = _edges(_places(values, start, samples, keys), communicator)
    first, narrower = 0, []
    for bracket, size in zip(brackets, sizes, strict=True):
        inside = edges[:, first : first + size]
        inside = inside[:, np.argsort(inside[0])]
        gaps: dict[int, list[int]] = {}
        for number, gap in zip(bracket.wanted, np.searchsorted(inside[0], bracket.wanted).tolist()):
            if gap < size and inside[0, gap] == number:
                cuts[number] = int(inside[1, gap])
            else:
                gaps.setdefault(gap, []).append(number)
        for gap, wanted in gaps.items():
            low = _Edge(*inside[:, gap - 1].tolist()) if gap else bracket.low
            high = _Edge(*inside[:, gap].tolist()) if gap < size else bracket.high
            narrower.append(_Bracket(low, high, tuple(wanted)))
        first += size
    return narrower


def _samples(
    values: Array,
    start: int,
    brackets: list[_Bracket],
    sizes: list[int],
    communicator: Communicator,
) -> tuple[Array, Array]:
    """Elements evenly spaced in the brackets, rank by rank, with their keys: their places among all ranks' elements, which order
    equal ones."""
    words = -(-values.dtype.itemsize // 8)
    table = np.zeros((sum(sizes), words + 1), np.uint64)
    first = 0
    for (low, high, _), size in zip(brackets, sizes, strict=True):
        numbers = (2 * np.arange(size) + 1) * (high.everywhere - low.everywhere) // (2 * size)
        own = numbers - (high.lower - low.lower)
        rows = np.flatnonzero((own >= 0) & (own < high.here - low.here))
        own = own[rows] + low.here
        chosen = np.zeros((len(own), words * 8), np.uint8)
        chosen[:, : values.dtype.itemsize] = (
            values[own].view(np.uint8).reshape(len(own), values.dtype.itemsize)
        )
        table[first + rows, :words] = chosen.view(np.uint64)
        table[first + rows, words] = start + own
        first += size
    every = summed(communicator, table.reshape(-1), "samples").reshape(table.shape)
    data = np.ascontiguousarray(every[:, :words]).view(np.uint8)[:, : values.dtype.itemsize]
    samples = np.ascontiguousarray(data).view(values.dtype).reshape(-1)
    return samples, every[:, words].astype(np.int64)


def _places(values: Array, start: int, samples: Array, keys: Array) -> Array:
    """The number of this rank's elements before each sample."""
    places = np.empty(len(keys), np.int64)
    behind = keys < start
    places[behind] = np.searchsorted(values, samples[behind])
    places[~behind] = np.searchsorted(values, samples[~behind], "right")
    own = (keys >= start) & (keys < start + len(values))
    places[own] = keys[own] - start
    return places


def _edges(here: Array, communicator: Communicator) -> Array:
    """The numbers of an :class:`_Edge` in rows, from those of this rank."""
    lower, everywhere = sums(communicator, here, "how many elements come before samples")
    return np.stack([everywhere, here, lower])
