"""Reads and checks a caller's shapes, maps, grids, ranks and keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..errors import LayoutError, LayoutIndexError
from .grids import best_grid
from .index_set import is_index
from .maps import Block, Map, as_map, whole_number

# They have an ``__index__``, but as an index they select.
_NO_INTEGERS = (bool, np.bool_, np.ndarray)


def read_shape(given: object) -> tuple[int, ...]:
    """A shape; an integer is the shape of one axis."""
    items = given if isinstance(given, Iterable) else (given,)
    return tuple(
        whole_number(item, f"layout: the extent of axis {axis}", 0)
        for axis, item in enumerate(items)
    )


def read_key(key: Any, shape: tuple[int, ...]) -> list[range | int | None]:
    """A basic index, spelled out: one range or integer per axis, ``None`` for new axes."""
    items = list(key) if isinstance(key, tuple) else [key]
    dots = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise LayoutIndexError("layout: an index can have one ellipsis ('...') only")
    missing = len(shape) - sum(item is not None and item is not Ellipsis for item in items)
    if missing < 0:
        raise LayoutIndexError(
            f"layout: too many indices: {len(shape) - missing} for {len(shape)} axes"
        )
    place = dots[0] if dots else len(items)
    items[place : place + 1] = [slice(None)] * missing
    result: list[range | int | None] = []
    axis = 0
    for item in items:
        if item is None:
            result.append(None)
            continue
        extent = shape[axis]
        if isinstance(item, slice):
            result.append(range(extent)[item])
        elif is_index(item) and not isinstance(item, _NO_INTEGERS):
            number = item.__index__()
            if not -extent <= number < extent:
                raise LayoutIndexError(
                    f"layout: index {number} is out of bounds for axis {axis} with size {extent}"
                )
            result.append(number % extent)
        else:
            raise LayoutError(f"layout: {item!r} is not an integer, a slice, ... or None")
        axis += 1
    return result


def read_maps(given: str | Map | Sequence[Any] | None, ndim: int) -> tuple[Map, ...]:
    """One map for each axis; a single constructor is the map of one axis."""
    if given is None:
        return (Block(),) * ndim
    if isinstance(given, Map):
        given = (given,)
    if not isinstance(given, Iterable):
        raise LayoutError(f"layout: maps are {given!r}; they must be a word or a sequence")
    chosen = tuple(as_map(item, axis) for axis, item in enumerate(given))
    if len(chosen) != ndim:
        raise LayoutError(f"layout: {len(chosen)} maps {given!r} for an array of {ndim} axes")
    return chosen


def read_ranks(ranks: Iterable[int], processes: int) -> list[int]:
    """Distinct ranks of a world of ``processes``."""
    members = [whole_number(rank, "layout: a rank") for rank in ranks]
    if not members:
        raise LayoutError("layout: ranks are empty; at least one must take part")
    seen: set[int] = set()
    for rank in members:
        if not 0 <= rank < processes:
            raise LayoutError(f"layout: ranks have {rank}; they must be in range({processes})")
        if rank in seen:
            raise LayoutError(f"layout: ranks have {rank} twice")
        seen.add(rank)
    return members


def read_grid(
    shape: tuple[int, ...], maps: tuple[Map, ...], given: int | Sequence[int] | None, present: int
) -> tuple[int, ...]:
    """The processes along each axis: as given, as the maps ask, or with the least surface."""
    asked = [kind.processes() for kind in maps]
    if given is not None:
        grid = tuple(
            whole_number(count, f"layout: the grid along axis {axis}", 1)
            for axis, count in enumerate(given if isinstance(given, Iterable) else (given,))
        )
        if len(grid) != len(shape):
            raise LayoutError(f"layout: grid {grid} for an array of {len(shape)} axes")
        for axis, (count, wish) in enumerate(zip(grid, asked)):
            if wish not in (None, count):
                raise LayoutError(
                    f"layout: axis {axis} has {maps[axis]!r}, which is for {wish} processes; "
                    f"the grid {grid} has {count} there"
                )
    else:
        fixed = prod(wish for wish in asked if wish is not None)
        free = [axis for axis, wish in enumerate(asked) if wish is None]
        chosen = best_grid(tuple(shape[axis] for axis in free), max(present // fixed, 1))
        spread = dict(zip(free, chosen))
        grid = tuple(spread.get(axis, wish or 1) for axis, wish in enumerate(asked))
    if prod(grid) > present:
        raise LayoutError(
            f"layout: grid {grid} needs {prod(grid)} processes; there are {present}: "
            f"atoll run -n {prod(grid)} ..."
        )
    return grid
