"""Indexing one axis of a distributed array by a replicated list of integers.

Where the ranks divide the other axes, each has its part of all that is chosen. Programs ask for it at each step
(``weights[:, active]``), so few questions are asked: NumPy takes the parts, and if the result is small, all ranks are
brought all of it by one message to each. It lies in memory as NumPy has it, the chosen axis outermost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collective import Section
from ..collective.elements import everywhere
from ..comm.world import World
from ..layout import Layout
from ..layout.axes import BlockAxis
from .making import is_small, of_small
from .sections import of_section, section_of
from .shaping import transpose
from .views import Handle

Array = np.ndarray[Any, Any]
_ALL = slice(None)


def _numbers(item: Any) -> Array | None:
    """The list of numbers that an item of a key is, if every rank has it at hand."""
    kind = type(item)
    if kind is Handle.array_type:
        item = item._np
    elif kind is list:
        item = np.array(item)
    if type(item) is np.ndarray and item.ndim == 1 and item.dtype.kind in "iu":
        return item
    return None


def _choice(key: Any, ndim: int) -> tuple[int, Array] | None:
    """The axis that is chosen from, and the numbers; ``None`` where a key is anything else."""
    items = key if type(key) is tuple else (key,)
    if len(items) > ndim:
        return None
    chosen: tuple[int, Array] | None = None
    for axis, item in enumerate(items):
        if type(item) is slice and item == _ALL:
            continue
        numbers = None if chosen is not None else _numbers(item)
        if numbers is None:
            return None
        chosen = axis, numbers
    return chosen


def chosen(handle: Handle, key: Any, world: World) -> Any:
    """``handle[:, numbers]`` and its like, where nothing moves but what all ranks shall have; else ``None``. Collective."""
    if handle._np is not None:
        return None
    geometry, place = handle._geometry, handle._cell.node.place
    if place is None or not (geometry.is_base and geometry.c_contiguous and geometry.size):
        return None
    layout: Layout = place.layout
    if not (place.is_boxes and place.held_once):
        return None
    found = _choice(key, geometry.ndim)
    if found is None:
        return None
    axis, numbers = found
    length, count = geometry.shape[axis], len(numbers)
    if not (layout.is_row_major and layout.axes[axis].is_undistributed):
        return None
    if count and (int(numbers.min()) < -length or int(numbers.max()) >= length):
        return None  # the general way has the words for it
    axes = list(layout.axes)
    axes[axis] = BlockAxis(count, (0, count))
    arranged = layout.arranged(axes)
    block = section_of(handle, world).block
    if layout.coordinates(world.rank) is None:  # it has no part of the array
        block = np.empty(arranged.local_shape(world.rank), block.dtype)
    else:
        block = block.take(numbers, axis)
    made = Section(block, arranged, world.communicator)
    if is_small(made.shape):
        if not count:
            return of_small(np.empty(made.shape, block.dtype))
        whole = np.moveaxis(everywhere(made).block, axis, 0)
        return of_small(np.moveaxis(np.ascontiguousarray(whole), 0, axis))
    order = (axis, *[k for k in range(geometry.ndim) if k != axis])
    back = tuple([order.index(k) for k in range(geometry.ndim)])
    result = of_section(made.transposed(order), world)
    return transpose(result, back) if axis else result
