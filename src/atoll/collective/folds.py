"""Partial results of ranks, combined by the owners of the result.

When axes are folded that are distributed, each rank folds its own part and has a *partial* result
over the other axes of its region. The result lies on a layout of its own: every owner of a piece
of it gets that piece of each rank along the folded axes, and combines them by a tree in the order of the grid, so that the bits do
not depend on the owner. Both ends know the pieces from the two layouts.

Where many ranks have parts of small pieces, or of a result that all ranks are to have, or ranks of several nodes have short parts, the
ranks along the folded axes join their parts in the same order by messages up and down the tree. So each has a few neighbours only, and
each node sends one message up and one down.

Segments of a line may start anywhere, overlap, and cross ranks. Each rank folds its part of each segment, and the owners of the
results combine these in the order of the ranks, which is the order of the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.nodes import Nodes
from ..exchange.trees import Branches, branches, folded_by_tree, in_pairs, packed, unpacked
from ..layout import EMPTY, Axis, IndexSet, Layout
from ..layout.index_set import listed
from .messages import exchanged, uneven
from .movement import by_rank, even_blocks, line_start, reshaped
from .operation import Form, brought, collective, result_layout
from .section import Section, empty

Array = np.ndarray[Any, Any]
Partial = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """The pieces of its partial result that one rank sends, with their receivers, and the pieces that it combines, with their
    senders."""

    sends: tuple[tuple[int, Any, tuple[int, ...]], ...]
    """For each owner (this rank may be one): the key of a piece of the partial result, its shape."""
    joins: tuple[tuple[Any, tuple[int, ...], tuple[int, ...]], ...]
    """For each piece of this rank's share: its key, its shape, and the ranks that have a part of it."""
    shape: tuple[int, ...]
    """The shape of this rank's share of the result."""
    tree: Branches | None = None
    """This rank's neighbours, where a tree joins the parts."""
    between: tuple[Layout, Layout] | None = None
    """The layout of the result after the tree, and its target layout; ``None`` without a tree."""


def fold_plan(
    layout: Layout, axes: tuple[int, ...], target: Layout, rank: int, nodes: Nodes
) -> FoldPlan:
    """A rank's part in a fold over ``axes`` of an array in ``layout``, on ranks of ``nodes``.

    ``target`` is the layout of the result, without the folded axes.
    """
    if _is_by_tree(layout, axes, target, nodes):
        return FoldPlan(
            (),
            (),
            target.local_shape(rank),
            _tree_along(layout, axes, rank, nodes),
            (layout.reduced(axes), target),
        )
    kept = [k for k in range(layout.ndim) if k not in axes]
    sends: list[tuple[int, Any, tuple[int, ...]]] = []
    place = layout.coordinates(rank)
    counts = [layout.axes[k].count(place[k]) for k in axes] if place is not None else [0]
    if place is not None and layout.ranks_at(place)[0] == rank and 0 not in counts:
        held = layout.region(rank)
        own = [_owned(layout.axes[k], place[k]) for k in kept]
        pieces = [list(axis.holders_of(part)) for axis, part in zip(target.axes, own, strict=True)]
        for cell in product(*pieces):
            key = _key([held[k].positions(part) for k, (_, part) in zip(kept, cell, strict=True)])
            shape = tuple([len(part) for _, part in cell])
            for peer in target.ranks_at([coordinate for coordinate, _ in cell]):
                sends.append((peer, key, shape))
    joins: list[tuple[Any, tuple[int, ...], tuple[int, ...]]] = []
    if target.coordinates(rank) is not None and target.local_size(rank):
        wanted = target.region(rank)
        owners = [
            list(layout.axes[k].owners_of(part)) for k, part in zip(kept, wanted, strict=True)
        ]
        along = [[c for c in range(layout.grid[k]) if layout.axes[k].count(c)] for k in axes]
        for cell in product(*owners):
            parts = [part for _, part in cell]
            key = _key([held.positions(part) for held, part in zip(wanted, parts, strict=True)])
            full = [0] * layout.ndim
            for k, (coordinate, _) in zip(kept, cell, strict=True):
                full[k] = coordinate
            sources = []
            for folds in product(*along):
                for k, coordinate in zip(axes, folds, strict=True):
                    full[k] = coordinate
                sources.append(layout.ranks_at(full)[0])
            joins.append((key, tuple(map(len, parts)), tuple(sources)))
    return FoldPlan(tuple(sends), tuple(joins), target.local_shape(rank))


def _is_by_tree(layout: Layout, axes: tuple[int, ...], target: Layout, nodes: Nodes) -> bool:
    """True if a tree joins the parts of the ranks: of more ranks than one should exchange messages with, or short parts of several
    nodes, each of which then sends one message.
    """
    along = [layout.axes[k] for k in axes]
    if layout.copies > 1 or layout.overlaps:
        return False
    if not all(len(axis.filled()) == axis.processes for axis in along):
        return False
    if prod([axis.processes for axis in along]) > policy.limits.few_ranks:
        return target.is_replicated or target.size * 8 <= policy.limits.packed * target.cells
    lines = prod([count for k, count in enumerate(layout.grid) if k not in axes])
    if not nodes.two_levels or target.size * 8 > policy.limits.packed * lines:
        return False
    ranks = _ranks_along(layout, axes, (0,) * layout.ndim)
    return 1 < len(set(map(nodes.of, ranks))) < len(ranks)


def _ranks_along(layout: Layout, axes: tuple[int, ...], place: Sequence[int]) -> Sequence[int]:
    """The ranks that have the same indices as a place on the axes that are not folded."""
    seats = layout.seats
    for k in reversed(axes):
        seats = seats.joined(k)
    return seats.at([c for k, c in enumerate(place) if k not in axes])


def _tree_along(layout: Layout, axes: tuple[int, ...], rank: int, nodes: Nodes) -> Branches | None:
    """The neighbours of a rank among those that have the same indices on the axes that are not folded."""
    place = layout.coordinates(rank)
    if place is None:
        return None
    ranks = _ranks_along(layout, axes, place)
    return branches(ranks.index(rank), len(ranks), ranks.__getitem__, nodes)


def _owned(axis: Axis, coordinate: int) -> IndexSet:
    """The indices that a coordinate holds on an axis, without those that another coordinate owns."""
    held = axis.owned(coordinate)
    if not axis.overlaps:
        return held
    return dict(axis.owners_of(held)).get(coordinate, EMPTY)


def folded(
    partial: Partial,
    plan: FoldPlan,
    communicator: Communicator,
    join: Callable[[Partial, Partial], Partial],
) -> Partial:
    """This rank's share of the result. Collective.

    ``partial`` has one array, or several that belong together, each over the axes of this rank's
    region that are not folded.
    """
    if plan.between is not None:
        return _folded_by_tree(partial, plan, communicator, join)
    outgoing = {
        peer: packed([np.asarray(array[key]) for array in partial]) for peer, key, _ in plan.sends
    }
    item = sum(array.dtype.itemsize for array in partial)
    nbytes = {s: (prod(shape) * item,) for _, shape, sources in plan.joins for s in sources}
    arrived = exchanged(communicator, outgoing, nbytes, np.dtype(np.uint8), "partial results")
    results = tuple([np.empty(plan.shape, array.dtype) for array in partial])
    for key, shape, sources in plan.joins:
        pieces = [tuple(unpacked(arrived.pop(source), partial, shape)) for source in sources]
        total = in_pairs(pieces, join)
        for array, values in zip(results, total, strict=True):
            array[key] = values
    return results


def _folded_by_tree(
    partial: Partial,
    plan: FoldPlan,
    communicator: Communicator,
    join: Callable[[Partial, Partial], Partial],
) -> Partial:
    assert plan.between is not None
    lies, target = plan.between
    shape = lies.local_shape(communicator.rank)
    if plan.tree is not None and all(shape):

        def arrays(data: Array) -> Partial:
            return tuple(unpacked(data, partial, shape))

        def joined(left: Array, right: Array) -> Array:
            return packed(join(arrays(left), arrays(right)))

        total = folded_by_tree(
            communicator, plan.tree, packed(partial), joined, "partial results in a tree"
        )
        partial = arrays(total)
    sections = [Section(array.reshape(shape), lies, communicator) for array in partial]
    return tuple([brought(section, target).block for section in sections])


def _key(positions: list[IndexSet]) -> Any:
    return np.ix_(*[part.array() for part in positions]) if positions else ()


def by_ufunc(ufunc: np.ufunc) -> Callable[[Partial, Partial], Partial]:
    """The join of two partial results by a ufunc."""

    def join(left: Partial, right: Partial) -> Partial:
        return (ufunc(left[0], right[0]),)

    return join


def _position_form(operand: Form, axis: int | None, name: str) -> Form:
    """The form of positions: one number on every rank; along an axis, in the layout of the other axes, or in even blocks."""
    layout = operand.layout
    if axis is None:
        return Form(np.dtype(np.intp), Layout.replicated((), layout.processes))
    shape = (*layout.shape[:axis], *layout.shape[axis + 1 :])
    target = result_layout(shape, layout.processes)
    if layout.grid[axis] == 1 and not target.is_replicated:
        target = layout.reduced((axis,))
    return Form(np.dtype(np.intp), target)


@collective("position", _position_form)
def position(section: Section, axis: int | None, name: str, *, target: Layout) -> Section:
    """``argmin`` or ``argmax``, as ``name`` says, along an axis or over all."""
    places = extreme_places(section, name, axis, target)
    return Section(places, target, section.communicator)


def extreme_places(section: Section, name: str, axis: int | None, target: Layout) -> Array:
    """``argmin`` or ``argmax`` over an axis or over all: this rank's share of the positions.

    ``target`` is the layout of the result without the axis. Collective.
    """
    pick: Any = getattr(np, name)
    block, layout, communicator = section.block, section.layout, section.communicator

    def join(left: Partial, right: Partial) -> Partial:
        first = left[1] < right[1]  # of equal ones NumPy takes the first
        values = np.stack([np.where(first, left[0], right[0]), np.where(first, right[0], left[0])])
        places = np.stack([np.where(first, left[1], right[1]), np.where(first, right[1], left[1])])
        best = np.asarray(pick(values, axis=0))[None]
        return np.take_along_axis(values, best, 0)[0], np.take_along_axis(places, best, 0)[0]

    region = section.region
    folds = tuple(range(layout.ndim)) if axis is None else (axis,)
    for k in folds:
        if layout.axes[k].kind == "u":  # of equal ones NumPy takes the first: in ascending order
            held = region[k].array()
            order = np.argsort(held)
            block = block.take(order, k)
            region = (*region[:k], listed(held[order]), *region[k + 1 :])
    plan = fold_plan(layout, folds, target, section.rank, section.communicator.nodes)
    if axis is None and block.size:
        best = np.unravel_index(int(pick(block)), block.shape)
        place = [part.global_of(int(k)) for part, k in zip(region, best, strict=True)]
        partial = np.asarray(block[best]), np.asarray(np.ravel_multi_index(place, layout.shape))
    elif axis is not None and block.shape[axis]:
        local: Array = np.expand_dims(pick(block, axis=axis), axis)
        places = region[axis].array()[local.squeeze(axis)]
        partial = np.take_along_axis(block, local, axis).squeeze(axis), places
    else:
        shape = () if axis is None else (*block.shape[:axis], *block.shape[axis + 1 :])
        partial = np.zeros(shape, section.dtype), np.zeros(shape, np.int64)
    return folded(partial, plan, communicator, join)[1]


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
    rows = reshaped(operand, even_blocks(shape, target.processes))
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
    result = empty(
        even_blocks((len(starts), rows.shape[1]), communicator.size), dtype, communicator
    )
    owners = result.layout.axes[0].locate_array(mine)[0]
    parts = dict(by_rank(owners))
    places, values = uneven(
        communicator,
        [{peer: kind[part] for peer, part in parts.items()} for kind in (mine, partial)],
        (mine[:0], partial[:0]),
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
