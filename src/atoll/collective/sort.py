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

from math import isqrt
from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import summed
from ..exchange.messages import exchange
from ..exchange.partners import sums
from ..layout import BlockAxis, Layout
from ..layout.bounds import Bounds, balanced_bounds, block_of
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
    dtype = operand.dtype if function in (np.sort, np.partition) else np.dtype(np.intp)
    if layout.ndim == 1:
        return Form(dtype, result_layout(layout.shape, layout.processes))
    if not layout.axes[axis].is_undistributed and whole_along(layout, axis) is None:
        return None
    return Form(dtype, small_or(layout))


def _along(section: Section, axis: int, function: Any, *args: Any, **options: Any) -> Section:
    """NumPy's function along an axis that one rank has whole, or that can be made so."""
    layout = section.layout
    if not layout.axes[axis].is_undistributed:
        whole = whole_along(layout, axis)
        assert whole is not None
        section = redistributed(section, whole)
    return section.with_block(function(section.block, *args, axis=axis, **options))


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
    return _along(section, axis, np.sort, kind=kind)


@collective(
    "argsort", lambda operand, axis, kind: _sorted_form(operand, axis, np.argsort), _sort_moves
)
def argsort(section: Section, axis: int, kind: Any, *, target: Layout) -> Section:
    """The indices that sort the elements in ascending order; of equal elements of a line, or in a ``stable`` sort, the lower comes first."""
    if len(section.shape) == 1:
        return ordered(as_line(section))[1]
    return _along(section, axis, np.argsort, kind=kind)


def _partitioned(name: str, function: Any) -> None:
    @collective(name, lambda operand, axis, kth: _sorted_form(operand, axis, function), _sort_moves)
    def partition(section: Section, axis: int, kth: Any, *, target: Layout) -> Section:
        return _along(section, axis, function, kth)


_partitioned("partition", np.partition)
_partitioned("argpartition", np.argpartition)


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
    order = _stable_order(line.block)
    places = order + line_start(line.layout, line.rank)
    values, places = _arrived(line, line.block[order], places.astype(np.int64, copy=False))
    order = np.argsort(values, kind="stable")  # those of lower ranks came first, each in order
    return _even(values[order], line), _even(places[order], line)


def _stable_order(values: Array) -> Array:
    """The indices that sort elements, of equal ones the lower first. NumPy's other sort is faster, and does where none are equal."""
    if values.size > policy.limits.chunk:
        some = np.sort(values[:: values.size // policy.limits.short])
        order = None if _has_equal(some) else np.argsort(values)
        if order is not None and not _has_equal(values[order]):
            return order
    return np.argsort(values, kind="stable")


def _has_equal(ascending: Array) -> bool:
    """True if some of the elements, NaN last, are equal."""
    return bool((ascending[1:] == ascending[:-1]).any() or (ascending[-2:] != ascending[-2:]).any())


def _even(block: Array, line: Section) -> Section:
    communicator = line.communicator
    return Section(block, even_line(line.layout.size, communicator.size), communicator)


def _arrived(line: Section, values: Array, *others: Array, algorithm: Any = None) -> list[Array]:
    """Exchange elements, and return those of this rank's part of the sorted line, in the order of the ranks that sent them.

    ``values`` are this rank's elements in order, and ``others`` belong to them.
    """
    communicator, length = line.communicator, line.layout.size
    start = line_start(line.layout, line.rank)
    spans, group, length = destinations(values, start, length, communicator)
    arrays = values, *others
    pieces = [{peer: a[span.start : span.stop] for peer, span in spans.items()} for a in arrays]
    values, *rest = joined(communicator, pieces, arrays, _WHAT)
    if len(group) == 1:
        return [values, *rest]
    team = communicator.group(group)
    assert team is not None
    part = Section(values, even_line(length, team.size), team)
    if not rest:
        values.sort(kind=algorithm)
        return _arrived(part, values, algorithm=algorithm)
    order = np.argsort(values, kind="stable")
    return _arrived(part, values[order], *[other[order] for other in rest])


def destinations(
    values: Array, start: int, length: int, communicator: Communicator
) -> tuple[dict[int, range], range, int]:
    """The places of the ``values`` that go to each rank on the first level, the group that this rank is in, and its number of elements.

    Arguments are those of :func:`cuts_at`. Each member of a group gets an even part; elements from lower ranks go to lower members, so
    equal elements stay in order. Collective.
    """
    size, rank = communicator.size, communicator.rank
    bounds = Bounds(*divmod(length, size), length, size)
    groups = balanced_bounds(size, groups_of(size))
    firsts = bounds.starts(np.asarray(groups))
    _, ends, lower = cuts_at(values, start, length, firsts, communicator)
    filled = (ends[1:] > ends[:-1]).nonzero()[0]
    if len(groups) > size:  # each rank is a group
        all_spans = map(range, ends[filled].tolist(), ends[filled + 1].tolist())
        spans = dict(zip(filled.tolist(), all_spans))
        return spans, range(rank, rank + 1), int(firsts[rank + 1] - firsts[rank])
    begins = (firsts[:-1] + lower[1:] - lower[:-1])[filled]
    moves = begins - ends[filled]  # from a place among the values to one in the line
    stops = ends[filled + 1] + moves
    (first, last), _ = BlockAxis(length, bounds).locate_array(np.array([begins, stops - 1]))
    counts = last - first + 1
    of = np.arange(len(filled)).repeat(counts)
    peers = first[of] + np.arange(len(of)) - (counts.cumsum() - counts)[of]
    lows = np.maximum(bounds.starts(peers), begins[of]) - moves[of]
    highs = np.minimum(bounds.starts(peers + 1), stops[of]) - moves[of]
    spans = dict(zip(peers.tolist(), map(range, lows.tolist(), highs.tolist())))
    here = block_of(groups, rank)
    return spans, range(groups[here], groups[here + 1]), int(firsts[here + 1] - firsts[here])


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
    """The element behind this rank's part of a line in even blocks (1), or before it (-1), if there is one. Collective."""
    block, size = line.block, line.layout.size
    if not len(block):
        exchange(line.communicator, {}, {}, what)
        return None
    start, rank = line_start(line.layout, line.rank), line.rank
    sides = [(rank - 1, block[:1], start), (rank + 1, block[-1:], size - start - len(block))]
    (to, mine, goes), (source, _, comes) = sides[::way]
    outgoing = {to: mine} if goes else {}
    incoming = {source: np.empty_like(mine)} if comes else {}
    exchange(line.communicator, outgoing, incoming, what)
    return next(iter(incoming.values()), None)


def _differ(left: Array, other: Array) -> Array:
    """Elementwise ``!=``, with two NaN equal."""
    differ: Array = left != other
    if left.dtype.kind in "fc":
        differ &= ~(np.isnan(left) & np.isnan(other))
    return differ


def cuts_at(
    values: Array, start: int, length: int, wanted: Array, communicator: Communicator
) -> Array:
    """The numbers of elements before each of the wanted ones in three rows: of all ranks, of this rank's ``values``, which are in order,
    and of lower ranks. Collective.

    The elements are numbered from 0 in the order of all ranks together, and ``wanted`` has ascending numbers. Lower ranks have
    ``start`` elements, and all have ``length``.
    """
    low, high = np.zeros((2, 3, len(wanted)), np.int64)
    high[:, wanted > 0] = [[length], [len(values)], [start]]
    while len(sought := (high[0] != wanted).nonzero()[0]):
        narrow = _narrowed(
            values, start, length, wanted[sought], low[:, sought], high[:, sought], communicator
        )
        low[:, sought], high[:, sought] = narrow
    return high


def elements_at(line: Section, numbers: Array) -> Array:
    """The elements of a line that have these numbers in ascending order, NaN last, on every rank. Collective."""
    values = empty(line.layout, line.dtype, line.communicator).block
    values[...] = line.block
    values.sort()
    start, wanted = line_start(line.layout, line.rank), sorted({*numbers.reshape(-1).tolist()})
    edges = np.array(sorted({*wanted, *[number + 1 for number in wanted]}), np.int64)
    cuts = cuts_at(values, start, line.layout.size, edges, line.communicator)
    at = edges.searchsorted(wanted)  # each wanted element is the only one between two edges
    first = np.zeros_like(at)
    samples, _ = _samples(values, start, first, cuts[:, at], cuts[:, at + 1], line.communicator)
    chosen: Array = samples[np.searchsorted(wanted, numbers)]
    return chosen


def _narrowed(
    values: Array,
    start: int,
    length: int,
    numbers: Array,
    low: Array,
    high: Array,
    communicator: Communicator,
) -> tuple[Array, Array]:
    """The closest samples below ascending numbers, and at them or above, from those known so far. Collective.

    A sample is a column: the numbers of elements before it, of all ranks, of this rank and of lower ranks.
    """
    apart = np.concatenate([[True], low[0, 1:] != low[0, :-1]])
    low, high = low[:, apart], high[:, apart]  # numbers between the same two samples share new ones
    gaps = high[0] - low[0]
    most = max(policy.limits.short // (4 * len(gaps)), policy.limits.pieces, 2)
    counts = np.minimum(gaps, most)
    of = np.arange(len(gaps)).repeat(counts)
    along = np.arange(len(of)) - (counts.cumsum() - counts)[of]
    between = (2 * along + 1) * gaps[of] // (2 * counts[of])
    samples, keys = _samples(values, start, between, low[:, of], high[:, of], communicator)
    counted = len(of) == np.add.reduce(gaps)  # the samples are all candidates: their order tells
    if communicator.kind == "dry run":  # values in random order, dealt to the ranks in turn
        rank, others = communicator.rank, max(communicator.size - 1, 1)
        before = low[0, of] + between
        here = (before * (len(values) / length)).astype(np.int64)
        turns, more = np.divmod(before - here, others)
        if not counted:
            _edges(here, communicator)
        edges = np.array([before, here, turns * rank + np.minimum(more, rank)])
    elif counted:
        order = keys.argsort()
        keys = keys[order[samples[order].argsort(kind="stable")]]
        lower = keys < start
        edges = np.array([keys >= 0, (keys < start + len(values)) & ~lower, lower])
        edges = edges.cumsum(1) - edges
        edges += (low - edges[:, counts.cumsum() - counts])[:, of]
    else:
        edges = _edges(_places(values, start, samples, keys), communicator)
    edges = np.concatenate([low, high, edges], axis=1)
    edges = edges[:, edges[0].argsort(kind="stable")]
    above = edges[0].searchsorted(numbers)
    return edges[:, above - 1], edges[:, above]


def _samples(
    values: Array, start: int, between: Array, low: Array, high: Array, communicator: Communicator
) -> tuple[Array, Array]:
    """The elements with these numbers between two samples each, counted rank by rank, and their keys: their places among all
    ranks' elements, which order equal ones. Collective."""
    words = -(-values.dtype.itemsize // 8)
    table = np.zeros((len(between), words + 1), np.uint64)
    own = between - (high[2] - low[2])
    rows = ((own >= 0) & (own < high[1] - low[1])).nonzero()[0]
    own = own[rows] + low[1, rows]
    chosen = np.zeros((len(own), words * 8), np.uint8)
    chosen[:, : values.dtype.itemsize] = (
        values[own].view(np.uint8).reshape(len(own), values.dtype.itemsize)
    )
    table[rows, :words] = chosen.view(np.uint64)
    table[rows, words] = start + own
    every = summed(communicator, table.reshape(-1), "samples").reshape(table.shape)
    data = np.ascontiguousarray(every[:, :words]).view(np.uint8)[:, : values.dtype.itemsize]
    samples = np.ascontiguousarray(data).view(values.dtype).reshape(-1)
    return samples, every[:, words].astype(np.int64)


def _places(values: Array, start: int, samples: Array, keys: Array) -> Array:
    """The number of this rank's elements before each sample."""
    places = np.empty(len(keys), np.int64)
    behind = keys < start
    places[behind] = values.searchsorted(samples[behind])
    places[~behind] = values.searchsorted(samples[~behind], "right")
    own = (keys >= start) & (keys < start + len(values))
    places[own] = keys[own] - start
    return places


def _edges(here: Array, communicator: Communicator) -> Array:
    """The numbers of elements before samples in rows, of all ranks, of this one and of lower ranks, from those of this rank."""
    lower, everywhere = sums(communicator, here, "how many elements come before samples")
    return np.array([everywhere, here, lower])
