"""Sections moved to other layouts: of the same shape, or of another shape in the same C order.

A reshape is a transfer of flat indices. Where both layouts are *lines* (each rank holds one
interval of the flattened array) the intervals are intersected by arithmetic, and other layouts are brought into even rows first.
Where there are too few rows for that, each rank lists the flat indices that it has and looks up their receivers, and lists those
that it wants and looks up their owners. Elements travel in ascending order of flat index, so that both ends agree.

Where a layout has copies, as that of a row that all ranks multiply by their own, the ranks that hold copies of a cell are a line of
:mod:`..exchange.broadcasts`: a tree of them passes the elements on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..context.caches import derived, remembered
from ..exchange.broadcasts import Home, Member, broadcasts_of, moves_of
from ..exchange.schedule import Exchange, Pieces, Stage, pieces_of
from ..graph.node import Value
from ..layout import BlockAxis, Layout, Record, Region, Transfer, transfer
from ..layout.axes import Axis
from ..layout.bounds import balanced_bounds, scaled_bounds
from ..layout.seats import Seats
from .messages import exchanged
from .routes import Round, pays
from .section import Section, empty

Array = np.ndarray[Any, Any]


@remembered
def even_blocks(shape: tuple[int, ...], size: int, axis: int = 0) -> Layout:
    """One axis in even blocks, in the order of the ranks, the others whole."""
    axes = [BlockAxis.even(n, size if k == axis else 1) for k, n in enumerate(shape)]
    return Layout.in_order(axes, size)


def even_line(length: int, size: int) -> Layout:
    """A single axis in even blocks, in the order of the ranks."""
    return even_blocks((length,), size)


def as_line(section: Section) -> Section:
    """The elements in C order, in even blocks. Collective."""
    return reshaped(section, even_line(section.layout.size, section.communicator.size))


def even_part(length: int, size: int, rank: int) -> tuple[int, int]:
    """The bounds of a rank's part of an even line."""
    bounds = balanced_bounds(length, size)
    return bounds[rank], bounds[rank + 1]


def uneven_line(counts: Iterable[int]) -> Layout:
    """One axis in blocks of the given lengths, in the order of the ranks."""
    return bounded_line((0, *accumulate(counts)))


def bounded_line(bounds: Sequence[int]) -> Layout:
    """One axis in blocks with the given bounds, in the order of the ranks."""
    return Layout.in_order([BlockAxis(bounds[-1], bounds)], len(bounds) - 1)


def redistributed(section: Section, layout: Layout) -> Section:
    """The same array in ``layout``, without communication padding. Collective."""
    layout = layout.unpadded() if layout.is_padded else layout
    if layout is section.layout or layout == section.layout:
        return section
    result = empty(layout, section.dtype, section.communicator)
    _move(section, layout, result.block)
    return result


def _move(section: Section, layout: Layout, into: Array) -> None:
    """Fill this rank's block of the same array in another layout."""
    source, dtype = section.layout.unpadded(), section.dtype
    nodes = section.communicator.nodes
    shared = source.copies == 1 < layout.copies and not (source.overlaps or layout.overlaps)
    if not shared and pays(source, layout, dtype.itemsize, nodes):
        _move_by_nodes(section, transfer(source, layout, section.rank), into)
        return
    # positions in blocks are slices; others are lists, too long to be kept
    is_kept = source.is_block and layout.is_block
    stages: list[Stage] = []
    if shared:
        here = Member(section.rank, nodes.size, nodes)
        pieces, stages = (_known_shared if is_kept else _shared)(source, layout, here, dtype)
    else:
        pieces = (_known_pieces if is_kept else _pieces)(source, layout, section.rank, dtype)
    what = "a redistribution"
    exchange = Exchange(section.communicator, (), *pieces, stages, lasting=False, what=what)
    exchange.run([Value(section.block), Value(into)])


def _pieces(source: Layout, layout: Layout, rank: int, dtype: np.dtype[Any]) -> Pieces:
    """The pieces of a rank for a change of layout, from register 0 to register 1."""
    return pieces_of(transfer(source, layout, rank), dtype, 0, 1)


def _shared(
    source: Layout, layout: Layout, here: Member, dtype: np.dtype[Any]
) -> tuple[Pieces, list[Stage]]:
    """The pieces and the stages of a rank for a change to a layout with copies, which are cells of a grid with further axes."""
    seats = layout.seats
    further = [BlockAxis.even(len(digit.values), len(digit.values)) for digit in seats.copied]
    apart = Seats(seats.members, (*seats.copied, *seats.along), ())
    grid = Home(layout.seated([*further, *layout.axes], apart), here)
    outer = tuple([(0, ((len(further) + k, 1),)) for k in range(layout.ndim)])
    broadcasts = broadcasts_of(Home(source, here), outer, grid, 0, dtype, 0, layout.region)
    for each in broadcasts:
        each.register = 1 if each.reads else -1
    return moves_of(broadcasts)


_known_pieces, _known_shared = remembered(_pieces), remembered(_shared)


def _move_by_nodes(section: Section, plan: Transfer[Record], into: Array) -> None:
    """:func:`_move` by few messages between nodes."""
    leaving: dict[int, list[Array]] = {}
    for record in plan.sends:
        piece = np.ascontiguousarray(section.block[record.source_key])
        leaving.setdefault(record.peer, []).append(piece.reshape(-1).view(np.uint8))
    pieces = {
        peer: parts[0] if len(parts) == 1 else np.concatenate(parts)
        for peer, parts in leaving.items()
    }
    arrived = Round(section.communicator, pieces, "a redistribution").arrived
    starts = dict.fromkeys(arrived, 0)
    for record in plan.receives:
        stop = starts[record.peer] + record.size * section.dtype.itemsize
        piece = arrived[record.peer][starts[record.peer] : stop]
        into[record.target_key] = piece.view(section.dtype).reshape(record.shape)
        starts[record.peer] = stop
    for record in plan.local:
        into[record.target_key] = section.block[record.source_key]


def reshaped(section: Section, target: Layout) -> Section:
    """The same elements in C order, in the shape and the layout of ``target``. Collective."""
    source = section.layout
    if target is source or target == source:
        return section
    if target.shape == source.shape and (target.is_dense and source.is_dense):
        return redistributed(section, target)
    rank, communicator = section.rank, section.communicator
    by_rows = _by_rows(section, target)
    if by_rows is not None:
        return by_rows
    if target.overlaps:  # a transfer finds all receivers of an element
        return redistributed(reshaped(section, even_blocks(target.shape, target.processes)), target)
    have, want = line_bounds(source), line_bounds(target)
    if have is not None and have == want:  # each rank has its elements
        return Section(section.block.reshape(target.local_shape(rank)), target, communicator)
    result = empty(target, section.dtype, communicator)
    into = result.block.reshape(-1)
    if source.is_replicated:
        into[...] = section.block.reshape(-1)[flat_indices(target.region(rank), target.shape)]
        return result
    if have is not None and want is not None:  # a redistribution of the flattened array
        _move(
            Section(section.block.reshape(-1), bounded_line(have), communicator),
            bounded_line(want),
            into,
        )
        return result
    outgoing: dict[int, Array] = {}
    values = section.block.reshape(-1)
    flat, order = _ascending(flat_indices(source.region(rank), source.shape))
    if order is not None:
        values = values[order]
    if (source.copies > 1 or source.overlaps) and flat.size:
        mine = _holders(source, flat) == rank
        flat, values = flat[mine], values[mine]
    for copy in range(target.copies):
        for peer, chosen in by_rank(_holders(target, flat, copy)):
            outgoing[peer] = values[chosen]
    wanted, order = _ascending(flat_indices(target.region(rank), target.shape))
    places = dict(by_rank(_holders(source, wanted)))
    shapes = {peer: (len(chosen),) for peer, chosen in places.items()}
    arrived = exchanged(communicator, outgoing, shapes, result.dtype, "a reshape")
    for peer, chosen in places.items():
        into[chosen if order is None else order[chosen]] = arrived[peer]
    return result


def _by_rows(section: Section, target: Layout) -> Section | None:
    """A reshape with rows in between where a layout is no line: three moves without lists.

    ``None`` where there are not enough rows for all ranks.
    """
    size = target.processes
    if target.is_replicated or section.layout.is_replicated:
        return None
    if is_line(section.layout) and is_line(target):
        return None
    for layout in (section.layout, target):
        if not is_line(layout) and layout.shape[:1] < (size,):
            return None
    if not is_line(section.layout):
        section = redistributed(section, even_blocks(section.shape, size))
    rows = target if is_line(target) else even_blocks(target.shape, size)
    return redistributed(reshaped(section, rows), target)


def flat_indices(region: Region, shape: tuple[int, ...]) -> Array:
    """The C-order positions of a region's elements in the flattened array, in the block's order."""
    total: Array = np.zeros((1,) * len(shape), np.int64)
    for k, part in enumerate(region):
        along = tuple(-1 if j == k else 1 for j in range(len(shape)))
        total = total + part.array().reshape(along) * prod(shape[k + 1 :])
    return total.reshape(-1)


def _ascending(flat: Array) -> tuple[Array, Array | None]:
    """Flat indices in ascending order, and the permutation that sorts them; ``None`` if they are in order."""
    if flat.size < 2 or bool((flat[1:] > flat[:-1]).all()):
        return flat, None
    order = np.argsort(flat, kind="stable")
    return flat[order], order


def _holders(layout: Layout, flat: Array, copy: int = 0) -> Array:
    """For each flat index the rank that owns it, or that has another copy."""
    if layout.cells == 1:
        return np.broadcast_to(layout.ranks_at((0,) * layout.ndim)[copy], flat.shape)
    located = [
        axis.locate_array(indices)[0]
        for axis, indices in zip(layout.axes, np.unravel_index(flat, layout.shape), strict=True)
    ]
    return layout.ranks_of(located, copy)


def by_rank(ranks: Array) -> Iterator[tuple[int, Array]]:
    """The places of each rank in an array of ranks, ascending."""
    if not ranks.size:
        return
    low, high = int(np.minimum.reduce(ranks, None)), int(np.maximum.reduce(ranks, None))
    if high - low < policy.limits.few_ranks:
        for rank in range(low, high + 1):
            (part,) = (ranks == rank).nonzero()
            if part.size:
                yield rank, part
        return
    order = np.argsort(ranks, kind="stable")
    grouped = ranks[order]
    for part in np.split(order, np.flatnonzero(grouped[1:] != grouped[:-1]) + 1):
        yield int(ranks[part[0]]), part


@derived
def line_bounds(layout: Layout) -> Sequence[int] | None:
    """The start of each rank's interval of the flattened array, and the length; ``None`` for other layouts, and for a single
    process."""
    if layout.copies > 1 or layout.cells != layout.processes or not layout.is_row_major:
        return None
    divided = [k for k, count in enumerate(layout.grid) if count > 1]
    if len(divided) != 1 or prod(layout.shape[: divided[0]]) != 1:
        return None
    axis = layout.axes[divided[0]]
    if not isinstance(axis, BlockAxis) or not _in_order(layout.axes[divided[0] + 1 :]):
        return None
    return scaled_bounds(axis.bounds, prod(layout.shape[divided[0] + 1 :]))


def _in_order(axes: tuple[Axis, ...]) -> bool:
    """True if each of these axes is whole on each rank; a listed axis may be in another order."""
    return all(axis.is_undistributed for axis in axes)


def is_line(layout: Layout) -> bool:
    """True if each rank holds one interval of the flattened array, in the order of the ranks."""
    return (layout.processes == 1 and _in_order(layout.axes)) or line_bounds(layout) is not None


def line_start(layout: Layout, rank: int) -> int:
    """The first flat index of a rank's interval, where the layout is a line."""
    bounds = line_bounds(layout)
    return 0 if bounds is None else bounds[rank]
