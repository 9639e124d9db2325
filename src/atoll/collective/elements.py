"""Elements at global indices: read from their owners, written by their owners, compressed by a mask.

Index arrays, one for each axis, give the positions of elements. ``Layout.locate`` gives the owner of
each element and its place in the owner's block, so a rank sorts its requests by owner and sends
places; the owner answers in the same order. An element that is requested of one owner twice is sent once. Whole
trailing axes that are not distributed travel as rows: a request is then one place and a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import sub
from typing import Any

import numpy as np

from .. import backend, policy
from ..comm.communicator import Communicator
from ..comm.in_step import allgather, bcast, every
from ..exchange.gather import shared_memory, whole_on_node
from ..exchange.partners import strung, sums
from ..exchange.trees import added, in_pairs
from ..graph.geometry import dense
from ..layout import Layout, on_every_rank
from ..layout.bounds import balanced_bounds, block_of
from ..ops.folds import FOLDS
from .messages import answered, exchanged, joined, uneven
from .movement import (
    as_line,
    by_rank,
    even_blocks,
    even_line,
    even_part,
    is_line,
    line_bounds,
    line_start,
    redistributed,
)
from .section import Section, replicated

Array = np.ndarray[Any, Any]
_PLACES = np.empty(0, np.int64)
Stretches = Iterator[tuple[int, tuple[Array, ...]]]
"""The number of a first index, and index arrays in a line from there on."""


def trailing_rows(layout: Layout, indexed: int) -> bool:
    """True if all axes from number ``indexed`` on are whole on each rank, as indices count them."""
    return all(axis.is_undistributed for axis in layout.axes[indexed:])


def _stretches(indices: tuple[Array, ...]) -> Stretches:
    """Index arrays of one shape in pieces of the C order, so that temporaries stay small."""
    shape = indices[0].shape
    inner = prod(shape[1:])
    if not inner:
        return
    step = max(1, policy.limits.short // inner)
    if not shape:
        yield 0, tuple([np.ascontiguousarray(part, np.int64).reshape(1) for part in indices])
    for low in range(0, shape[0] if shape else 0, step):
        pieces = [part[low : low + step] for part in indices]
        yield (
            low * inner,
            tuple([np.ascontiguousarray(piece, np.int64).reshape(-1) for piece in pieces]),
        )


def _owner_rows(section: Section, count: int, stretches: Stretches) -> tuple[Array, Array]:
    """For each of ``count`` indices, the rank that has the row and the row's number in that rank's block."""
    layout, rank = section.layout, section.rank
    here = layout.coordinates(rank)
    owners, rows = np.empty(count, np.int32), np.zeros(count, np.int64)
    for low, indices in stretches:
        high = low + len(indices[0])
        located = [axis.locate_array(part) for axis, part in zip(layout.axes, indices)]
        cells = tuple([coordinates for coordinates, _ in located])
        rest = (np.zeros(1, np.int64),) * (layout.ndim - len(indices))
        owners[low:high] = layout.ranks_of((*cells, *rest))
        if layout.copies > 1 and here is not None:
            same = [part == c for part, c in zip((*cells, *rest), here, strict=True)]
            owners[low:high][np.logical_and.reduce(np.broadcast_arrays(*same))] = rank
        for k, (coordinates, local) in enumerate(located):
            if k:
                rows[low:high] *= layout.axes[k].counts(coordinates)
            rows[low:high] += local
    return owners, rows


def _as_rows(section: Section, indexed: int) -> Array:
    """The block with one row for each combination of the first ``indexed`` axes."""
    shape = section.block.shape
    return section.block.reshape(prod(shape[:indexed]), prod(section.shape[indexed:]))


def fetch(section: Section, indices: tuple[Array, ...]) -> Array:
    """The elements at global indices, which must be in range; each rank requests its own.

    There are as many index arrays as leading axes; the axes behind must not be distributed and
    come whole. The result has the index arrays' shape, then those axes. Collective.
    """
    count = len(indices)
    if section.layout.is_replicated:
        return taken(section.block, indices)
    shape = (*indices[0].shape, *section.shape[count:])
    return _requested(section, count, indices[0].size, _stretches(indices)).reshape(shape)


def from_front(part: Array, length: int) -> Array:
    """Indices along an axis, of which negative ones count from its end."""
    part = part.astype(np.int64, copy=False)
    return np.where(part < 0, part + length, part) if part.min(initial=0) < 0 else part


def taken(whole: Array, indices: tuple[Array, ...]) -> Array:
    """The elements at index arrays of the leading axes; negative indices count from the end."""
    first, *others = indices
    if others and whole.flags.c_contiguous:  # NumPy takes longer for index arrays of several axes
        first = from_front(first, whole.shape[0])
        for index, length in zip(others, whole.shape[1:], strict=False):
            first = first * length
            first += from_front(index, length)
        whole, others = whole.reshape(-1, *whole.shape[len(indices) :]), []
    return np.ascontiguousarray(whole[indices] if others else whole.take(first, 0))


def fetch_flat(section: Section, count: int, places: Callable[[int, int], Array]) -> Array:
    """The elements at ``count`` flat indices; ``places(low, high)`` gives a range of them.

    Temporaries are never in memory for more than a stretch. Collective.
    """

    def stretches() -> Stretches:
        for low in range(0, count, policy.limits.short):
            flat = places(low, min(low + policy.limits.short, count))
            split = np.unravel_index(flat, section.shape)
            yield low, tuple([np.ascontiguousarray(part) for part in split])

    return _requested(section, len(section.shape), count, stretches()).reshape(count)


def _requested(section: Section, axes: int, count: int, stretches: Stretches) -> Array:
    """The rows at places along the first axes, from their owners. Collective."""
    communicator, rank = section.communicator, section.rank
    owners, rows = _owner_rows(section, count, stretches)
    table = _as_rows(section, axes)
    result = np.empty((count, table.shape[1]), section.dtype)
    asked: dict[int, tuple[Array, Array | None]] = {}
    requests: dict[int, Array] = {}
    for low in range(0, count, policy.limits.short):
        here = low + np.flatnonzero(owners[low : low + policy.limits.short] == rank)
        result[here] = table[rows[here]]
    others = np.flatnonzero(owners != rank)
    for peer, part in by_rank(owners[others]):
        places = others[part]
        once, again = np.unique(rows[places], return_inverse=True)
        repeats = once.size < places.size
        requests[peer] = once if repeats else rows[places]
        asked[peer] = (places, again if repeats else None)
    del owners, rows, others
    arrived = answered(
        communicator,
        requests,
        lambda wanted: {peer: table[places] for peer, places in wanted.items()},
        (_PLACES, table[:0]),
        ("requests for elements", "elements that were asked for"),
    )
    for peer, (places, repeated) in asked.items():
        result[places] = arrived[peer] if repeated is None else arrived[peer][repeated]
    return result


def can_push(section: Section) -> bool:
    """True if owners may send without requests the elements that every rank knows to be wanted: to few ranks, by messages of their
    own."""
    communicator, layout = section.communicator, section.layout
    few = communicator.size <= policy.limits.few_ranks and not communicator.nodes.two_levels
    return few and layout.copies == 1 and not layout.overlaps


def pushed(section: Section, indices: tuple[Array, ...], line: Layout) -> Array:
    """The rows at index arrays in a line that every rank has, for sections that :func:`can_push`.

    The first axis of ``line`` gives the rows that a rank gets: an interval, or all. The other axes must be as for
    :func:`fetch`. Collective.
    """
    communicator, rank, count = section.communicator, section.rank, indices[0].size
    owners, rows = _owner_rows(section, count, _stretches(indices))
    table, parts = _as_rows(section, len(indices)), [(0, count)] * communicator.size
    if not line.is_replicated:
        keys: list[Any] = [line.region(peer)[0].key for peer in range(communicator.size)]
        parts = [(key.start, key.stop) for key in keys]
    low, high = parts[rank]
    result = np.empty((high - low, table.shape[1]), section.dtype)
    own = np.flatnonzero(owners == rank)
    rows = table[rows[own]]
    ends = [np.searchsorted(own, part) for part in parts]
    pieces = {peer: rows[first:last] for peer, (first, last) in enumerate(ends)}
    places = dict(by_rank(owners[low:high]))
    shapes = {peer: (len(part), table.shape[1]) for peer, part in places.items()}
    what = "elements that all know to be wanted"
    for peer, piece in exchanged(communicator, pieces, shapes, section.dtype, what).items():
        result[places[peer]] = piece
    return result.reshape(high - low, *section.shape[len(indices) :])


def local_rows(section: Section, indices: tuple[Array, ...]) -> tuple[Array, Array]:
    """The elements, among those at index arrays in a line, of which this rank has a copy, and its rows."""
    sets = section.region[: len(indices)]
    inside = [held.contains(part) for held, part in zip(sets, indices, strict=True)]
    chosen = np.flatnonzero(np.logical_and.reduce(inside) if len(inside) > 1 else inside[0])
    rows: Array = np.zeros(1, np.int64)
    for held, part in zip(sets, indices, strict=True):
        rows = rows * len(held) + held.local_of(part[chosen])
    return chosen, rows


def put_rows(
    section: Section, count: int, written: Iterable[tuple[Array, Array]], ufunc: Any
) -> None:
    """Write values into rows of the block, one row for each combination of the first ``count`` axes, or combine them by a ufunc."""
    table = _as_rows(section, count)
    direct = np.shares_memory(table, section.block) if table.size else True
    # NumPy takes longer for rows of one element
    key = (slice(None), 0) if table.shape[1] == 1 else ...
    table = table[key]
    for rows, values in written:
        if ufunc is None:
            table[rows] = values[key]
        else:
            ufunc.at(table, rows, values[key])
    if not direct:
        section.block[...] = table.reshape(section.block.shape)


def store(section: Section, indices: tuple[Array, ...], values: Array, ufunc: Any = None) -> None:
    """Write ``values`` at global indices, which must be in range, into the blocks of all that hold them.

    Axes as for :func:`fetch`. If an element is written twice, the later rank wins, and on one rank the later place, so that
    index arrays in a line give NumPy's answer. With a ``ufunc`` values are combined with the present elements (``ufunc.at``).
    Collective.
    """
    communicator, count = section.communicator, len(indices)
    wide = prod(section.shape[count:])
    values = np.broadcast_to(values, (*indices[0].shape, *section.shape[count:]))
    flat = values.reshape(indices[0].size, wide)
    places: dict[int, Array] = {}
    pieces: dict[int, Array] = {}
    for holder, chosen, rows in _holder_rows(section, indices):
        places[holder] = rows
        pieces[holder] = flat[chosen].astype(section.dtype, copy=False)
    forms, what = (_PLACES, flat[:0].astype(section.dtype)), "elements that go to their owners"
    where, given = uneven(communicator, [places, pieces], forms, what)
    put_rows(section, count, ((where[peer], given[peer]) for peer in sorted(where)), ufunc)


def densely(values: int) -> int:
    """The number of elements up to which a rank combines values in an array of all elements, rather than sort the values."""
    most = policy.limits.held // np.dtype(np.float64).itemsize
    return max(min(policy.limits.pieces * values, most), values, policy.limits.short)


def is_combined(section: Section, values: int, ufunc: Any) -> bool:
    """True if ranks :func:`combine` the values for elements of a section; ``values`` is their number on all ranks together."""
    communicator, layout, fold = section.communicator, section.layout, FOLDS.get(ufunc)
    if fold is None or fold.is_truth or not fold.is_folded_in(section.dtype):
        return False
    few = communicator.size <= policy.limits.few_ranks and not communicator.nodes.save_messages
    many = layout.size <= densely(values // communicator.size)
    return few and many and line_bounds(layout) is not None


def combine(section: Section, indices: tuple[Array, ...], values: Array, ufunc: Any) -> None:
    """Combine values with the elements at global indices by a ufunc, each rank its own first. Axes as for :func:`fetch`. Collective."""
    mine = np.full(section.shape, FOLDS[ufunc].neutral(section.dtype), section.dtype)
    ufunc.at(mine, indices, values.astype(section.dtype, copy=False))
    combine_lines(section, mine.reshape(-1), ufunc, "elements that ranks have combined")


def total_everywhere(communicator: Communicator, mine: Array, what: str) -> Array | None:
    """The sum of the arrays of all ranks, on every rank: of short ones, or of those of one node; ``None`` for others. Collective."""
    parts = _parts_of_all(communicator, mine)
    if parts is not None:
        return np.asarray(in_pairs(list(parts), np.add))
    return added(communicator, mine, what) if mine.nbytes <= policy.limits.packed else None


def _parts_of_all(communicator: Communicator, mine: Array) -> Array | None:
    """Each rank's array of one length, for reading, where the ranks of one node show each other theirs; else ``None``. Collective."""
    nodes, nbytes = communicator.nodes, mine.nbytes * communicator.size
    if nodes.several or not nodes.are_shared or nbytes <= policy.limits.packed:
        return None
    rows = even_blocks((communicator.size, mine.size), communicator.size)
    shown = shown_everywhere(Section(mine[np.newaxis], rows, communicator))
    return None if shown is None else shown[0]


def combine_lines(section: Section, mine: Array, ufunc: Any, what: str) -> None:
    """Combine the block of a section in a line, or in even blocks, with the parts for it of every rank's array. Collective."""
    bounds, communicator = line_bounds(section.layout), section.communicator
    assert bounds is not None
    block, every = section.block.reshape(-1), _parts_of_all(communicator, mine)
    if every is None:
        pieces = {peer: mine[bounds[peer] : bounds[peer + 1]] for peer in range(communicator.size)}
        shapes = dict.fromkeys(pieces if block.size else (), block.shape)
        arrived = exchanged(communicator, pieces, shapes, section.dtype, what)
        parts = [arrived[peer] for peer in sorted(arrived)]
    else:
        parts = list(every[:, bounds[section.rank] : bounds[section.rank + 1]])
    for part in parts:
        ufunc(block, part, out=block)
    if not section.block.flags.c_contiguous:
        section.block[...] = block.reshape(section.block.shape)


def _holder_rows(
    section: Section, indices: tuple[Array, ...]
) -> Iterator[tuple[int, Array, Array]]:
    """Each rank that holds some of the elements, with their places among the indices, and its rows."""
    layout = section.layout
    if not layout.overlaps:
        owners, rows = _owner_rows(section, indices[0].size, _stretches(indices))
        for peer, chosen in by_rank(owners):
            place = layout.coordinates(peer)
            assert place is not None
            for holder in layout.ranks_at(place):
                yield holder, chosen, rows[chosen]
        return
    # lists that name an element several times: search every cell
    flat = [np.ascontiguousarray(part, np.int64).reshape(-1) for part in indices]
    axes, rest = layout.axes[: len(flat)], (0,) * (layout.ndim - len(flat))
    for cell in np.ndindex(*layout.grid[: len(flat)]):
        sets = [axis.owned(c) for axis, c in zip(axes, cell)]
        owned = [part.contains(line) for part, line in zip(sets, flat)]
        chosen = np.flatnonzero(np.logical_and.reduce(owned))
        if not chosen.size:
            continue
        rows = np.zeros(chosen.size, np.int64)
        for part, line in zip(sets, flat):
            rows *= len(part)
            rows += part.local_of(line[chosen])
        for holder in layout.ranks_at((*cell, *rest)):
            yield holder, chosen, rows


def _in_line(section: Section) -> Section:
    """The elements in C order, one interval on each rank."""
    return section if is_line(section.layout) else as_line(section)


def _distributed(
    pieces: Array, section: Section, small: int = 0, bounds: Sequence[int] = ()
) -> Section:
    """The pieces of all ranks in order: in even blocks, or on every rank if they have fewer than ``small`` elements. ``bounds`` has the start
    of each rank's, and the length, if they are known."""
    communicator, what = section.communicator, "how many elements are kept"
    size, rank, come = communicator.size, communicator.rank, None
    if bounds or size <= policy.limits.few_ranks:  # all know where each rank's elements go
        bounds = bounds or [0, *accumulate(every(communicator, len(pieces), what))]
        start, length = bounds[rank], bounds[-1]
        if length < small:
            return replicated(to_all(pieces, bounds, communicator, what), communicator)
        low, high = even_part(length, size, rank)
        cuts = [min(max(bound, low), high) for bound in bounds]
        come = {peer: j - i for peer, (i, j) in enumerate(pairwise(cuts)) if i < j}
    else:
        mine = np.array([len(pieces)], np.int64)
        (start,), (length,) = [part.tolist() for part in sums(communicator, mine, what)]
        if length < small:
            return replicated(strung(communicator, pieces, start, length, what), communicator)
    leaving = cut_along(pieces, start, length, size)
    (block,) = joined(communicator, [leaving], [pieces[:0]], what, come)
    return Section(block, even_line(length, size), communicator)


def cut_along(piece: Array, start: int, length: int, size: int) -> dict[int, Array]:
    """A piece that begins at ``start`` of a line of ``length`` elements in even blocks, cut into the parts for each rank."""
    if not len(piece):
        return {}
    bounds, stop = balanced_bounds(length, size), start + len(piece)
    ranks = range(block_of(bounds, start), block_of(bounds, stop - 1) + 1)
    cuts = [min(max(bounds[k] - start, 0), len(piece)) for k in (*ranks, ranks.stop)]
    return {peer: piece[i:j] for peer, (i, j) in zip(ranks, pairwise(cuts), strict=True) if i < j}


def compressed(values: Section, mask: Section, small: int = 0) -> Section:
    """The elements of ``values`` where ``mask``, of the same shape, is true: in even blocks, or on every rank
    if they are less than ``small``.

    They are in C order, as ``values[mask]`` has them. Collective.
    """
    values, mask = in_lines(values, mask)
    return _distributed(picked_here(values, mask), values, small)


def picked_here(values: Section, mask: Section) -> Array:
    """The elements of this rank under a mask that lies as the values do."""
    chosen = backend.current().selected(values.block, mask.block)
    elements: Array = getattr(chosen, "array", chosen)
    return elements


def compressed_rows(values: Section, mask: Section, small: int = 0) -> Section | None:
    """The rows of ``values`` where a mask of its first axes is true: in even blocks, or on every rank if they have less than ``small``
    elements. ``None`` where ranks do not have whole rows, in order. Collective.
    """
    layout, lead = values.layout, len(mask.shape)
    rest = values.shape[lead:]
    if layout.is_replicated or not (values.block.itemsize * prod(rest) and trailing_rows(layout, lead)):  # fmt: skip
        return None
    lying = layout.sliced((slice(None),) * lead + (0,) * len(rest))
    begins, bounds = line_bounds(lying), []
    if begins is None:
        return None
    if mask.layout.is_replicated and layout.processes <= policy.limits.few_ranks:
        bounds = np.searchsorted(np.flatnonzero(mask.block), begins).tolist()
    mask = redistributed(mask, lying)
    row = np.dtype((np.void, values.block.itemsize * prod(rest)))
    lines = np.ascontiguousarray(values.block).reshape(-1, prod(rest)).view(row)
    chosen = lines.reshape(-1).take(np.flatnonzero(mask.block))
    line = _distributed(chosen, mask, -(-small // prod(rest)), bounds)
    shape = *line.shape, *rest
    target = on_every_rank(shape, layout.processes)
    if not line.layout.is_replicated:
        target = Layout(shape, "b" + "n" * len(rest), size=layout.processes)
    block = line.block.view(values.dtype).reshape(-1, *rest)
    return Section(block, target, values.communicator)


def in_lines(values: Section, mask: Section) -> tuple[Section, Section]:
    """Values and a mask of their shape in one layout, in which each rank has an interval of the elements in C order. Collective, unless
    they have such a layout, or one has it and the other is on every rank.
    """
    if values.layout.is_replicated:
        values = redistributed(values, mask.layout)
    elif mask.layout.is_replicated:
        mask = redistributed(mask, values.layout)
    if not (values.layout == mask.layout and is_line(values.layout)):
        values = _in_line(values)
        mask = redistributed(mask, values.layout) if values.shape == mask.shape else _in_line(mask)
        if values.layout != mask.layout:
            values, mask = as_line(values), as_line(mask)
    return values, mask


def to_all(line: Array, bounds: Any, communicator: Communicator, what: str) -> Array:
    """The concatenated lines of all ranks, on every rank; ``bounds`` has the start of each, and the length. Collective."""
    if communicator.size > policy.limits.few_ranks:
        start, length = bounds[communicator.rank], bounds[communicator.size]
        return strung(communicator, line, int(start), int(length), what)
    ends = bounds[:]
    counts = list(map(sub, ends[1:], ends))
    longest, row = max(counts), line
    if len(line) < longest:
        row = np.zeros(longest, line.dtype)
        row[: len(line)] = line
    rows = allgather(communicator, row, what)
    if longest * len(counts) == ends[-1]:
        return rows.reshape(-1)
    return np.concatenate([part[:count] for part, count in zip(rows, counts, strict=True)])


def everywhere(section: Section) -> Section:
    """A small section, replicated on every rank. Collective."""
    layout = section.layout
    if layout.is_replicated:
        return section
    target, what = on_every_rank(layout.shape, layout.processes), "all of a few elements"
    if layout.cells == 1 and layout.copies == 1 and layout.is_block and not layout.is_padded:
        root = layout.ranks_at((0,) * layout.ndim)[0]
        is_owner = section.rank == root
        shown = section.block.copy() if is_owner else np.empty(layout.shape, section.dtype)
        bcast(section.communicator, shown, root, what)
        return Section(shown, target, section.communicator)
    divided = [k for k, count in enumerate(layout.grid) if count > 1]
    if len(divided) == 1 and divided[0]:
        order = (divided[0], *[k for k in range(layout.ndim) if k != divided[0]])
        whole = everywhere(section.transposed(order))
        return whole.transposed(tuple([order.index(k) for k in range(layout.ndim)]))
    bounds = line_bounds(layout)
    if bounds is None:
        return redistributed(section, target)
    line = to_all(section.block.reshape(-1), bounds, section.communicator, what)
    return Section(line.reshape(layout.shape), target, section.communicator)


def shown_everywhere(*sections: Section) -> list[Array] | None:
    """Whole arrays for reading on every rank, which the ranks of a node share if they are long; ``None`` if they are large and ranks
    cannot. Collective, unless every rank has them."""
    divided = [section for section in sections if not section.layout.is_replicated]
    if not divided:
        return [section.block for section in sections]
    communicator, limits = sections[0].communicator, policy.limits
    what = "arrays that all ranks read"
    forms = [dense(section.shape, section.dtype) for section in divided]
    given = [(each.layout, each.block, form) for each, form in zip(divided, forms, strict=True)]
    several = communicator.nodes.several  # of which some may find no memory for short arrays
    least = limits.cached if several else min(limits.packed, limits.cached)
    memory, wholes = shared_memory(communicator, given, least), None
    if memory is not None:
        wholes = whole_on_node(memory, given, what)
    if wholes is None and max([form.nbytes for form in forms]) > limits.cached:
        return None
    shown = iter(wholes or [everywhere(section).block for section in divided])
    return [each.block if each.layout.is_replicated else next(shown) for each in sections]


def positions_under(mask: Section, small: int = 0) -> Section:
    """The flat indices at which a mask is true, ascending: in even blocks, or on every rank if they are less than
    ``small``, or if every rank has the mask. Collective, unless every rank has it.
    """
    if mask.layout.size < small:
        mask = everywhere(mask)
    if mask.layout.is_replicated:
        return replicated(np.flatnonzero(mask.block), mask.communicator)
    mask = _in_line(mask)
    (positions,) = mask.block.reshape(-1).nonzero()
    positions += line_start(mask.layout, mask.rank)
    return _distributed(positions, mask, small)
