"""``sort``, ``argsort`` and ``unique`` of arrays on several ranks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..collective import (
    compressed,
    in_order,
    ordered,
    positions_under,
    starts,
)
from ..comm.in_step import allgather
from ..comm.world import World
from ..ops.elementwise import is_native
from . import shaping
from .sections import line_of, record, small_or_there
from .spread import in_step, world_of
from .views import Handle


def _usable(handle: Any, axis: Any) -> World | None:
    world = world_of([handle])
    if world is None or not is_native(handle.dtype) or not handle.size or not handle.ndim:
        return None
    if type(axis) is not int or not -handle.ndim <= axis < handle.ndim:
        return None
    return world


def by_value(kind: Any, order: Any, stable: Any) -> bool:
    """Whether elements are to be sorted by their values, in a way that NumPy knows: it refuses others."""
    if kind is not None or stable is not None:
        np.sort(np.empty(0), kind=kind, stable=stable)
    return order is None


def sort(handle: Any, axis: Any = -1, name: str = "sort") -> Any:
    """A sorted copy, or ``NotImplemented``; it lies as the operand does, a line in even blocks.

    ``name`` may be ``argsort``: then the places of the elements, of equal ones the first place first.
    """
    if axis is None and isinstance(handle, Handle) and handle._np is None:
        handle, axis = shaping.ravel(handle), 0
    if _usable(handle, axis) is None:
        return NotImplemented
    order = shaping.order_of(handle) if name == "sort" else None
    return record(name, (handle,), axis % handle.ndim, order=order)


argsort = partial(sort, name="argsort")


def unique(handle: Any, *, index: bool, counts: bool) -> Any:
    """The different elements, ascending, in even blocks; with their first places and how many."""
    if not isinstance(handle, Handle) or handle._np is not None:
        return NotImplemented
    line = shaping.ravel(handle)
    world = _usable(line, 0)
    if world is None:
        return NotImplemented
    in_step(world, "unique", line, index, counts)
    if index:
        values, places = ordered(line_of(line, world))
    else:
        values = places = in_order(line_of(line, world))
    first = starts(values)
    results = [small_or_there(compressed(values, first), world)]
    if index:
        results.append(small_or_there(compressed(places, first), world))
    if counts:
        begins = positions_under(first)
        every = allgather(
            world.communicator,
            np.array([begins.block[0] if begins.block.size else -1]),
            "where counts begin",
        ).reshape(-1)
        later = every[world.rank + 1 :]
        later = later[later >= 0]
        end = later[:1] if later.size else np.array([values.layout.size])
        ends = np.concatenate([begins.block[1:], end]) if begins.block.size else begins.block
        results.append(small_or_there(begins.with_block(ends - begins.block), world))
    return results[0] if len(results) == 1 else tuple(results)
