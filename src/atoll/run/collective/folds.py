"""Partial results of ranks, folded by the owners of the result.

When axes are folded that are distributed, each rank folds its own part and has a *partial* result
over the other axes of its region. The result lies on a layout of its own: every owner of a piece
of it gets that piece of each rank along the folded axes, and joins them in the order of the grid, so
that the bits do not depend on who is the owner. Both ends know the pieces from the two layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ...comm.communicator import Communicator
from ...layout import IndexSet, Layout
from .messages import exchange
from .section import Section

Array = np.ndarray[Any, Any]
Partial = tuple[Array, ...]


def folded(
    partial: Partial,
    layout: Layout,
    axes: tuple[int, ...],
    target: Layout,
    communicator: Communicator,
    join: Callable[[Partial, Partial], Partial],
) -> Partial:
    """This rank's share of a fold over ``axes`` of an array that lies as ``layout`` says.

    ``partial`` has one array, or several that belong together, each over the other axes of this
    rank's region. ``target`` is the layout of the result, without the folded axes. Collective.
    """
    rank = communicator.rank
    kept = [k for k in range(layout.ndim) if k not in axes]
    outgoing: dict[int, Array] = {}
    packed: dict[int, list[Array]] = {}
    place = layout.coordinates(rank)
    counts = [layout.axes[k].count(place[k]) for k in axes] if place is not None else [0]
    if place is not None and layout.ranks_at(place)[0] == rank and 0 not in counts:
        held = layout.region(rank)
        pieces = [list(one.holders_of(held[k])) for one, k in zip(target.axes, kept, strict=True)]
        for cell in product(*pieces):
            key = _key([held[k].positions(part) for k, (_, part) in zip(kept, cell, strict=True)])
            for peer in target.ranks_at([coordinate for coordinate, _ in cell]):
                packed[peer] = [array[key] for array in partial]
    own = packed.pop(rank, None)
    for peer, arrays in packed.items():
        outgoing[peer] = _bytes(arrays)
    made = tuple([np.empty(target.local_shape(rank), array.dtype) for array in partial])
    contributions: list[tuple[Any, tuple[int, ...], list[int]]] = []
    incoming: dict[int, Array] = {}
    item = sum(array.dtype.itemsize for array in partial)
    if target.coordinates(rank) is not None and made[0].size:
        wanted = target.region(rank)
        found = [list(layout.axes[k].owners_of(part)) for k, part in zip(kept, wanted, strict=True)]
        along = [[c for c in range(layout.grid[k]) if layout.axes[k].count(c)] for k in axes]
        for cell in product(*found):
            key = _key(
                [whole.positions(part) for whole, (_, part) in zip(wanted, cell, strict=True)]
            )
            shape = tuple([len(part) for _, part in cell])
            sources = []
            for folds in product(*along):
                full = [0] * layout.ndim
                for k, coordinate in zip(axes, folds, strict=True):
                    full[k] = coordinate
                for k, (coordinate, _) in zip(kept, cell, strict=True):
                    full[k] = coordinate
                source = layout.ranks_at(full)[0]
                sources.append(source)
                if source != rank:
                    incoming[source] = np.empty(int(np.prod(shape, dtype=int)) * item, np.uint8)
            contributions.append((key, shape, sources))
    exchange(communicator, outgoing, incoming, "partial results")
    for key, shape, sources in contributions:
        total: Partial | None = None
        for source in sources:
            if source == rank:
                assert own is not None
                piece = tuple(own)
            else:
                piece = _arrays(incoming[source], shape, partial)
            total = piece if total is None else join(total, piece)
        assert total is not None
        for array, one in zip(made, total, strict=True):
            array[key] = one
    return made


def _key(positions: list[IndexSet]) -> Any:
    return np.ix_(*[part.array() for part in positions]) if positions else ()


def _bytes(arrays: list[Array]) -> Array:
    flat = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
    return flat[0] if len(flat) == 1 else np.concatenate(flat)


def _arrays(data: Array, shape: tuple[int, ...], like: Partial) -> Partial:
    made, start = [], 0
    for array in like:
        stop = start + int(np.prod(shape, dtype=int)) * array.dtype.itemsize
        made.append(data[start:stop].view(array.dtype).reshape(shape))
        start = stop
    return tuple(made)


def by_ufunc(ufunc: np.ufunc) -> Callable[[Partial, Partial], Partial]:
    """The join of two partial results by a ufunc."""

    def join(one: Partial, two: Partial) -> Partial:
        return (ufunc(one[0], two[0]),)

    return join


def extreme_places(section: Section, name: str, axis: int | None, target: Layout) -> Array:
    """``argmin`` or ``argmax`` over an axis or over all: this rank's share of the positions.

    ``target`` is the layout of the result without the axis. Collective.
    """
    pick: Any = getattr(np, name)
    block, layout, communicator = section.block, section.layout, section.communicator

    def join(one: Partial, two: Partial) -> Partial:
        first = one[1] < two[1]  # of equal ones NumPy takes the first
        values = np.stack([np.where(first, one[0], two[0]), np.where(first, two[0], one[0])])
        places = np.stack([np.where(first, one[1], two[1]), np.where(first, two[1], one[1])])
        best = np.asarray(pick(values, axis=0))[None]
        return np.take_along_axis(values, best, 0)[0], np.take_along_axis(places, best, 0)[0]

    region = section.region
    if axis is None:
        flat = block.reshape(-1)
        if not flat.size:
            none = np.zeros((), section.dtype), np.zeros((), np.int64)
            return folded(none, layout, tuple(range(layout.ndim)), target, communicator, join)[1]
        best = np.unravel_index(int(pick(flat)), block.shape)
        place = [part.global_of(int(k)) for part, k in zip(region, best, strict=True)]
        number = np.asarray(np.ravel_multi_index(place, layout.shape), np.int64)
        partial = block[best], number
        folds = tuple(range(layout.ndim))
        return folded((np.asarray(partial[0]), number), layout, folds, target, communicator, join)[
            1
        ]
    if not block.shape[axis]:
        shape = (*block.shape[:axis], *block.shape[axis + 1 :])
        none = np.zeros(shape, section.dtype), np.zeros(shape, np.int64)
        return folded(none, layout, (axis,), target, communicator, join)[1]
    local: Array = np.expand_dims(pick(block, axis=axis), axis)
    values = np.take_along_axis(block, local, axis).squeeze(axis)
    places = region[axis].array()[local.squeeze(axis)]
    return folded((values, places), layout, (axis,), target, communicator, join)[1]
