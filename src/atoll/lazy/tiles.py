"""Tiles: boxes of a distributed array that every rank keeps, for Python loops over rows.

Small values are NumPy's, in a process by itself. On ranks ``for row in a:`` would record, plan, send and
wait for each row. So what lies around it comes along in a *tile*, a box of elements that every rank keeps until
the program writes to the array, and what the loop asks for next is NumPy's. Tiles grow while a loop goes on where the last
one ended, and an array that is read here and there comes as a whole if it is of modest size.

Nothing is brought before several elements or rows of a value have been asked for: a single operation on a border, say,
is better recorded, with all else. What is brought follows from what was asked for before, never from what is alive; so
ranks agree on it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..comm.world import World, chosen_world, current_world
from ..config import config
from ..context.divergence import StepLog
from ..exchange.gathering import gathered_box
from ..exchange.shares import box_of_rank
from ..graph.geometry import Geometry, dense
from ..graph.node import Node, Value, view_of
from ..ops.elementwise import is_native
from ..ops.fingerprint import is_compared, of_elements
from .dividing import brought as came
from .dividing import called
from .views import Cell

Array = np.ndarray[Any, Any]
Box = tuple[tuple[int, int], ...]
Home = tuple[World | None, Callable[[int, str], None], str, int, tuple[int, ...], Any]
"""The world as the context has it, the method of the log that each assignment is a step of, the words and the number of these
steps, the bounds of this rank's share, and what gives the fingerprint of elements, if ranks compare them."""
ASSIGNED = "an assignment"
NAMED = hash((0x7069, 0x6563))


def digest_of(array: Array, log: StepLog) -> int:
    """The fingerprint of what is written into an array on ranks, if they compare it."""
    geometry = dense(array.shape, array.dtype)
    return of_elements(array) if is_compared(geometry, log.exact) else 0


class Tiles:
    """What every rank keeps in memory of one value."""

    __slots__ = ("asked", "brought", "budget", "held", "home", "last", "whole")

    def __init__(self) -> None:
        self.asked = 0
        self.brought = 0
        self.budget = 0
        self.held: list[tuple[Box, Array]] = []
        """The boxes and their elements, the latest first."""
        self.last: Box | None = None
        self.whole: Array | None = None
        """The tile that is the whole array, in its order of memory: the native front reads and writes it."""
        self.home: Home | None = None
        """What it needs to write there; ``None`` where it may not."""

    def emptied(self) -> Tiles:
        """The same history, of memory that is about to be written to."""
        empty = Tiles()
        empty.asked, empty.brought, empty.budget = self.asked, self.brought, self.budget
        empty.last = self.last
        return empty

    def showing(self, view: Geometry) -> Array | None:
        """A view, if it is in one of the tiles."""
        needed = _box_of(view) if self.held else None
        if needed is not None:
            for box, array in self.held:
                if _contains(box, needed):
                    return _seen(view, box, array)
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
        self.budget = policy.brought_next(self.budget, size, last is None or _goes_on(last, box))
        if view.base.size <= policy.most_brought(self.brought, self.budget):
            return tuple([(0, n) for n in shape])
        tile = list(box)
        room = max(self.budget, size)
        for axis, (low, high) in enumerate(box):  # what is a line already is made a whole one
            wide = size // (high - low) * shape[axis]
            if high - low > 1 and wide <= room:
                tile[axis], size = (0, shape[axis]), wide
        for axis in reversed(range(len(box))):
            low, high = tile[axis]
            if high - low == 1:
                length = min(max(room // size, 1), shape[axis])
                start = low - low % length
                tile[axis] = start, min(start + length, shape[axis])
                size *= length
        return tuple(tile)

    def bring(self, node: Node, box: Box) -> Array:
        """The elements of a box, kept. Collective."""
        array = gathered_box(node, box)
        self.last = box
        self.held = [(box, array), *self.held[: policy.limits.tiles - 1]]
        geometry, place = node.geometry, node.place
        if array.shape == geometry.shape:
            self.held = [(box, array)]
        if array.strides == geometry.strides and array.shape == geometry.shape:
            self.whole = array
            share = box_of_rank(place, place.world.rank) if place.is_boxes else None
            if share is not None and place.world == current_world():
                bounds = tuple([bound for pair in share for bound in pair])
                log = place.world.communicator.log
                compared = zlib.crc32 if is_compared(dense((1,), array.dtype), log.exact) else None
                self.home = chosen_world(), log.step, ASSIGNED, NAMED, bounds, compared
        return array

    def kept_by(self, memory: Value, former: Value) -> None:
        """Let these tiles of a value serve the memory that is about to be written to in its place."""
        tiles = memory.tiles = self.emptied()
        copied = memory is not former
        for box, array in self.held:
            own = array.copy(order="K") if copied else array
            tiles.held.append((box, own))
            if array is self.whole:
                tiles.whole, tiles.home = own, self.home


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
    box = []
    for first, steps in axes:
        low = high = first
        for axis, step in steps:
            reach = step * (view.shape[axis] - 1)
            if reach > 0:
                high += reach
            else:
                low += reach
        box.append((low, high + 1))
    return tuple(box)


def _contains(box: Box, inner: Box) -> bool:
    """Whether a box lies in another one."""
    for (low, high), (first, last) in zip(box, inner, strict=True):
        if first < low or last > high:
            return False
    return True


def _seen(view: Geometry, box: Box, array: Array) -> Array:
    """A view of a base, read from the elements of a box that contains it."""
    offset = 0
    strides = [0] * view.ndim
    for (first, steps), (low, _), stride in zip(view.axes or (), box, array.strides, strict=True):
        for axis, step in steps:
            strides[axis] += step * stride
        offset += (first - low) * stride
    return np.ndarray(view.shape, array.dtype, array, offset, strides)


def _tiles(cell: Cell) -> Tiles | None:
    """The tiles of a value that is there on several ranks; ``None`` where there can be none."""
    node = cell.node
    value = node.value
    if node.place is None or value is None or value.pinned or cell.pins:
        return None
    if not is_native(node.geometry.dtype):
        return None
    tiles: Tiles | None = value.tiles
    if tiles is None:
        world = node.place.world
        here = current_world()
        if world.size == 1 or not (world is here or world == here):
            return None
        tiles = value.tiles = cell.read_by_pieces or Tiles()
        cell.read_by_pieces = None
    return tiles


def present(cell: Cell, view: Geometry) -> Array | None:
    """A short view of a value that is there, in memory on every rank; ``None`` where it is better recorded."""
    if view.size >= config.small or (cell.node.value is None and not _settled(cell)):
        return None
    tiles = _tiles(cell)
    if tiles is None:
        return None
    shown = tiles.showing(view)
    if shown is not None:
        return shown
    if came(cell.node):
        return view_of(cell.settle().array, view)
    tiles.asked += 1
    called(cell.node)
    if tiles.asked < policy.limits.patience:
        return None
    box = _box_of(view)
    if box is None:
        return None
    wanted = tiles.wanted(view, box)
    return _seen(view, wanted, tiles.bring(cell.node, wanted))


def brought(cell: Cell, view: Geometry) -> Array | None:
    """A view of few elements in memory on every rank, whose value is computed first; ``None`` where no tile can have it.
    Collective."""
    box = None if view.size >= config.small else _box_of(view)
    if box is None or prod([high - low for low, high in box]) >= config.small:
        return None
    cell.settle()
    tiles = _tiles(cell)
    if tiles is None:
        return None
    shown = tiles.showing(view)
    if shown is not None:
        return shown
    if came(cell.node):
        return view_of(cell.settle().array, view)
    called(cell.node)
    return _seen(view, box, tiles.bring(cell.node, box))


def showing(cell: Cell, view: Geometry) -> Array | None:
    """A short view of a value that is there, if a tile has it already."""
    tiles = None if view.size >= config.small or cell.node.value is None else _tiles(cell)
    return None if tiles is None else tiles.showing(view)


def _settled(cell: Cell) -> bool:
    """Whether short views of a pending value have been read again and again: then it has been computed.

    A loop that reads what it has just written, row by row, would record all of its turns, and one that goes along the rows of an
    expression would compute each of them by itself. A few borders of what is computed next are no such loop.
    """
    node = cell.node
    most = policy.limits.pieces
    while node.value is None:
        if not node.op.is_update or not node.params[0].short:
            most *= policy.limits.patience
            break
        node = node.args[0]
    cell.pieces += 1
    if cell.pieces < most:
        return False
    del node  # or the old version would be referred to, and be copied
    cell.settle()
    tiles = _tiles(cell)
    if tiles is not None:
        tiles.asked = policy.limits.patience
    return True


def whole(cell: Cell) -> Array | None:
    """All of a modest array, in memory on every rank, once index arrays have picked from it often; else ``None``."""
    shape = cell.geometry.shape
    if cell.geometry.size > policy.limits.brought or config.small <= 1:
        return None
    tiles = _tiles(cell)
    if tiles is None:
        return None
    everything = tiles.all_of(shape)
    if everything is None:
        tiles.asked += 1
        if tiles.asked >= policy.limits.patience:
            everything = tiles.bring(cell.node, tuple([(0, n) for n in shape]))
    return everything


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
