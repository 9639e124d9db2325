"""Rows and elements of arrays on ranks, which a loop in Python reads and writes one after the other.

Small values are NumPy's, in a process by itself. On ranks ``for row in a:`` and ``a[i] = ...`` would record, plan, send and
wait for each row. So what lies around it comes along in a *tile*, a box of elements that every rank keeps until
somebody writes to the array, and what the loop asks for next is NumPy's. Tiles grow while a loop goes on where the last
one ended, and an array that is read here and there comes as a whole if it is of modest size. What a loop writes
(numbers and small arrays, which every rank has) is written by who holds the elements, and into the tiles: no message.

Nothing is brought before some pieces of a value have been asked for: one operation on a border, say, is better recorded,
with all else. What is brought follows from what was asked for before, never from what is alive; so ranks agree on it. A piece
is written at once if no operation has been recorded that reads the value, or else by the way that all assignments take. Each is a step
of the log, so ranks that do not write alike find out.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..comm.world import current_world
from ..config import config
from ..context.call_sites import user_site
from ..graph.geometry import Geometry
from ..graph.node import Node, Value
from ..ops.elementwise import is_native
from ..plan.exchange import gathered_box
from ..plan.shares import intervals_of
from . import making
from .elementwise import FAST_SCALARS
from .views import Cell, Handle

Array = np.ndarray[Any, Any]
Box = tuple[tuple[int, int], ...]

_MASK = (1 << 64) - 1
_NAMED = hash((0x7069, 0x6563))


class Tiles:
    """What every rank has in hand of one value."""

    __slots__ = ("asked", "brought", "budget", "held", "last")

    def __init__(self) -> None:
        self.asked = 0
        self.brought = 0
        self.budget = 0
        self.held: list[tuple[Box, Array]] = []
        """The boxes and their elements, the latest first."""
        self.last: Box | None = None

    def emptied(self) -> Tiles:
        """The same history, of memory that is about to be written to."""
        made = Tiles()
        made.asked, made.brought, made.budget = self.asked, self.brought, self.budget
        made.last = self.last
        return made

    def showing(self, view: Geometry) -> Array | None:
        """A view, if it is in one of the tiles."""
        for box, array in self.held:
            found = _seen(view, box, array)
            if found is not None:
                return found
        return None

    def all_of(self, shape: tuple[int, ...]) -> Array | None:
        """The tile that is the whole array."""
        for _, array in self.held:
            if array.shape == shape:
                return array
        return None

    def wanted(self, view: Geometry, box: Box) -> Box:
        """What to bring for a view: more and more where a loop goes on, just it where it leaps."""
        shape = view.base.shape
        self.brought += 1
        size = prod([high - low for low, high in box])
        last = self.last
        if last is None or _goes_on(last, box):
            self.budget = min(max(self.budget, size) * policy.limits.growth, policy.limits.brought)
        else:
            self.budget = max(size, self.budget // policy.limits.growth)
        if self.brought > policy.limits.pieces and view.base.size <= policy.limits.brought:
            return tuple([(0, n) for n in shape])
        found = list(box)
        room = max(self.budget, size)
        for axis, (low, high) in enumerate(box):  # what is a line already is made a whole one
            wide = size // (high - low) * shape[axis]
            if high - low > 1 and wide <= room:
                found[axis], size = (0, shape[axis]), wide
        for axis in reversed(range(len(box))):
            low, high = found[axis]
            if high - low == 1:
                length = min(max(room // size, 1), shape[axis])
                start = low - low % length
                found[axis] = start, min(start + length, shape[axis])
                size *= length
        return tuple(found)

    def bring(self, node: Node, box: Box) -> Array:
        """The elements of a box, kept. Collective."""
        array = gathered_box(node, box)
        self.last = box
        self.held = [(box, array), *self.held[: policy.limits.tiles - 1]]
        return array


def _goes_on(last: Box, box: Box) -> bool:
    """Whether a box begins within the tile's own length before or behind it, along every axis."""
    for (low, high), (start, stop) in zip(last, box, strict=True):
        length = high - low
        if start > high + length or stop < low - length:
            return False
    return True


def _box_of(view: Geometry) -> Box | None:
    """The elements of its base between the first and the last one of a view; ``None`` where no box says it."""
    axes = view.axes
    if axes is None or not view.size or view.dtype != view.base.dtype:
        return None
    found = []
    for first, steps in axes:
        low = high = first
        for axis, step in steps:
            reach = step * (view.shape[axis] - 1)
            if reach > 0:
                high += reach
            else:
                low += reach
        found.append((low, high + 1))
    return tuple(found)


def _seen(view: Geometry, box: Box, array: Array) -> Array | None:
    """A view of a base, looked at in the elements of a box; ``None`` if they are not all there."""
    offset = 0
    strides = [0] * view.ndim
    for (first, steps), (low, high), stride in zip(
        view.axes or (), box, array.strides, strict=True
    ):
        least = most = first
        for axis, step in steps:
            strides[axis] += step * stride
            reach = step * (view.shape[axis] - 1)
            if reach > 0:
                most += reach
            else:
                least += reach
        if least < low or most >= high:
            return None
        offset += (first - low) * stride
    found: Array = np.ndarray(view.shape, array.dtype, array, offset, strides)
    return found


def _tiles(cell: Cell) -> Tiles | None:
    """The tiles of a value that is there on several ranks; ``None`` where there can be none."""
    node = cell.node
    value = node.value
    if value is None or value.pinned or cell.pins or not is_native(node.geometry.dtype):
        return None
    tiles: Tiles | None = value.tiles
    if tiles is None:
        world = node.place.world
        here = current_world()
        if world.size == 1 or not (world is here or world == here):
            return None
        tiles = value.tiles = Tiles()
    return tiles


def present(cell: Cell, view: Geometry) -> Array | None:
    """A short view of a value that is there, in hand on every rank; ``None`` where it is better recorded."""
    if view.size >= config.small or (cell.node.value is None and not _settled(cell)):
        return None
    tiles = _tiles(cell)
    if tiles is None:
        return None
    if tiles.held and view.dtype == view.base.dtype and view.axes is not None and view.size:
        found = tiles.showing(view)
        if found is not None:
            return found
    tiles.asked += 1
    if tiles.asked < policy.limits.patience:
        return None
    box = _box_of(view)
    if box is None:
        return None
    wanted = tiles.wanted(view, box)
    return _seen(view, wanted, tiles.bring(cell.node, wanted))


def _settled(cell: Cell) -> bool:
    """Whether nothing but short assignments were pending, again and again: then they have been computed.

    A loop that reads what it has just written, row by row, would record all of its turns.
    """
    node = cell.node
    while node.value is None:
        if not node.op.is_update or not node.params[0].short:
            cell.pieces = 0
            return False
        node = node.args[0]
    cell.pieces += 1
    if cell.pieces < policy.limits.pieces:
        return False
    del node  # or the old version would be in somebody's hands, and be copied
    cell.settle()
    tiles = _tiles(cell)
    if tiles is not None:
        tiles.asked = policy.limits.patience
    return True


def whole(cell: Cell) -> Array | None:
    """All of a modest array, in hand on every rank, once index arrays have picked from it often; else ``None``."""
    shape = cell.geometry.shape
    if cell.geometry.size > policy.limits.brought or config.small <= 1:
        return None
    tiles = _tiles(cell)
    if tiles is None:
        return None
    found = tiles.all_of(shape)
    if found is None:
        tiles.asked += 1
        if tiles.asked >= policy.limits.patience:
            found = tiles.bring(cell.node, tuple([(0, n) for n in shape]))
    return found


def _to_write(cell: Cell) -> Value | None:
    """The memory of an array on ranks, if a few elements may be written to it at once."""
    node = cell.node
    value = node.value
    if value is None or value.pinned or cell.pins or node.holders != 1 or hasattr(node, "asked"):
        return None
    place = node.place
    here = current_world()
    if not place.is_boxes or not (place.world is here or place.world == here):
        return None
    return value


def _given(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number or a small array that may be written into a dtype; ``None`` for all else."""
    kind = type(value)
    if (kind is list or kind is tuple) and FAST_SCALARS.issuperset(map(type, value)):
        value = np.array(value)
        if value.dtype.kind == "i" and value.dtype.itemsize > dtype.itemsize:
            return None  # NumPy says what is too large
    if kind is Handle.array_type or isinstance(value, np.ndarray):
        array = value if isinstance(value, np.ndarray) else value._np
        if array is None and value._geometry.short:
            array = making.present(value)
        if array is None or array.dtype.kind not in "biufc":
            return None
        return array if np.can_cast(array.dtype, dtype, "same_kind") else None
    if kind not in FAST_SCALARS:
        return None
    if type(value) is int and dtype.kind in "iu":  # NumPy says what is too large
        return value
    return value if np.can_cast(np.asarray(value).dtype, dtype, "same_kind") else None


def put(cell: Cell, region: Geometry, value: Any) -> bool:
    """Write a few numbers, which every rank has, through a view of an array on ranks; whether it was done."""
    if region.size >= config.small or region.dtype != cell.geometry.dtype or not region.size:
        return False
    if cell.node.value is None:
        if not cell.comes_round(user_site()):
            return False
        cell.settle()
    memory = _to_write(cell)
    axes = region.axes
    if memory is None or axes is None:
        return False
    taken = [steps[0][0] for _, steps in axes if steps]
    if any(len(steps) > 1 for _, steps in axes) or len(set(taken)) < region.ndim:
        return False
    given = _given(value, region.dtype)
    if given is None or _to_write(cell) is not memory or (np.ndim(given) and not region.ndim):
        return False  # an element: NumPy says what it takes
    wide = np.empty(region.shape, region.dtype)
    wide[...] = given
    node = cell.node
    world = node.place.world
    world.communicator.log.step(hash((_NAMED, *region.integers)) & _MASK, "an assignment")
    box = intervals_of(node.place, world.rank)
    assert box is not None
    _write(memory.array, box, region, taken, wide)
    memory.count = -1
    if memory.tiles is not None:
        for tile, array in memory.tiles.held:
            _write(array, tile, region, taken, wide)
    return True


def _write(array: Array, box: Any, region: Geometry, taken: list[int], wide: Array) -> None:
    """Write what of a region falls into a box into that box's elements."""
    target: list[Any] = []
    source: list[slice] = [slice(None)] * region.ndim
    for (first, steps), (low, high) in zip(region.axes or (), box, strict=True):
        if not steps:
            if not low <= first < high:
                return
            target.append(first - low)
            continue
        ((axis, step),) = steps
        count = region.shape[axis]
        if step > 0:
            begin, end = max(0, -((first - low) // step)), min(count, -((first - high) // step))
        else:
            begin = max(0, (first - high) // -step + 1)
            end = min(count, (first - low) // -step + 1)
        if begin >= end:
            return
        start, stop = first + step * begin - low, first + step * end - low
        target.append(slice(start, None if stop < 0 else stop, step))
        source[axis] = slice(begin, end)
    part = wide[tuple(source)]
    array[tuple(target)] = part if taken == sorted(taken) else part.transpose(taken)


def joined(ufunc: np.ufunc, target: Handle, other: Any) -> bool:
    """Let NumPy do ``target += other`` with a few elements of an array on ranks; whether it did."""
    cell, region = target._cell, target._geometry
    if not (cell.writeable and region.writeable):
        return False
    mine = present(cell, region)
    second = None if mine is None else _given(other, region.dtype)
    if second is None or _to_write(cell) is None:
        return False
    found = ufunc(mine, second)
    if found.shape != region.shape or not np.can_cast(found.dtype, region.dtype, "same_kind"):
        return False
    return put(cell, region, found)


def put_picked(cell: Cell, key: Any, value: Any) -> bool:
    """Write a few numbers where small index arrays say, for all axes or the first ones; whether it was done."""
    given = None if _to_write(cell) is None else _given(value, cell.geometry.dtype)
    everything = None if given is None else whole(cell)
    memory = _to_write(cell)
    if everything is None or memory is None:
        return False
    everything[key] = given
    node = cell.node
    world = node.place.world
    form = hash((_NAMED, *cell.geometry.integers)) & _MASK
    world.communicator.log.step(form, "an assignment through index arrays")
    memory.count = -1
    tiles: Tiles = memory.tiles
    tiles.held = [(box, array) for box, array in tiles.held if array is everything]
    box: Any = intervals_of(node.place, world.rank)
    items = key if type(key) is tuple else (key,)
    masked = any(type(item) is np.ndarray and item.dtype.kind == "b" for item in items)
    if masked or len(items) < cell.geometry.ndim or slice in map(type, items):
        memory.array[...] = everything[tuple([slice(low, high) for low, high in box])]
        return True
    where = [
        np.where(part < 0, part + n, part)
        for part, n in zip(np.broadcast_arrays(*items), everything.shape, strict=True)
    ]
    ours = np.logical_and.reduce(
        [(low <= part) & (part < high) for part, (low, high) in zip(where, box, strict=True)]
    )
    mine = [part[ours] for part in where]
    local = tuple([part - low for part, (low, _) in zip(mine, box, strict=True)])
    memory.array[local] = everything[tuple(mine)]
    return True


def in_hand(value: Value, key: Any) -> Any:
    """One element of a base that is in one of its tiles, by its indices; else ``None``."""
    tiles: Tiles | None = value.tiles
    if tiles is None or value.pinned:
        return None
    where = key if type(key) is tuple else (key,)
    for box, array in tiles.held:
        local = []
        for index, (low, high) in zip(where, box, strict=True):
            if not low <= index < high:
                break
            local.append(index - low)
        else:
            return array[tuple(local)]
    return None
