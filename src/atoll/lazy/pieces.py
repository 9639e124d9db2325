"""Rows and elements of distributed arrays that a Python loop writes one after the other.

What such a loop writes (numbers and small arrays, which every rank has) is written by the rank that holds the elements,
and into the tiles that all ranks keep (:mod:`.tiles`): no message. A rank on which another object has the memory writes
into a copy. Each is a step of the log, so ranks that do not write alike find out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import policy
from ..comm.world import current_world
from ..config import config
from ..context.call_sites import user_site
from ..context.divergence import StepLog
from ..exchange.shares import box_of_rank
from ..graph.geometry import Geometry
from ..graph.node import Value
from ..ops.elementwise import FAST_SCALARS
from ..ops.fingerprint import of_text
from .dividing import called
from .making import present
from .tiles import ASSIGNED, NAMED, Tiles, digest_of, showing, whole
from .views import Cell, Handle

Array = np.ndarray[Any, Any]
_MASK = (1 << 64) - 1


def _may_write(cell: Cell) -> bool:
    """Whether a few elements of an array on ranks may be written at once."""
    node = cell.node
    if node.value is None or node.value.pinned or cell.pins:
        return False
    place = node.place
    here = current_world()
    return bool(place and place.is_boxes and (place.world is here or place.world == here))


def _own(cell: Cell) -> Value:
    """The memory that no other node shares; tiles stay, which are about to be written to as well."""
    shared = cell.settle()
    tiles = shared.tiles
    value = cell.own()
    if tiles is not None:
        tiles.kept_by(value, shared)
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
            array = present(value)
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
    axes = region.axes
    if axes is None or not _may_write(cell):
        return False
    longer = [axis for axis, extent in enumerate(region.shape) if extent > 1]
    taken = [longer.index(axis) for _, steps in axes for axis, _ in steps if axis in longer]
    if any(len(steps) > 1 for _, steps in axes) or len(set(taken)) < len(longer):
        return False
    given = _given(value, region.dtype)
    if given is None or not _may_write(cell) or (np.ndim(given) and not region.ndim):
        return False  # an element: NumPy says what it takes
    wide = np.empty(region.shape, region.dtype)
    wide[...] = given
    place = cell.node.place
    world = place.world
    log = world.communicator.log
    log.step(hash((NAMED, region.offset, *region.shape)) & _MASK ^ digest_of(wide, log), ASSIGNED)
    called(cell.node, 1 / policy.limits.pieces)
    box = box_of_rank(place, world.rank)
    assert box is not None
    wide = wide.reshape([extent for extent in region.shape if extent > 1])
    memory = _own(cell)
    cell.node.renew(hash((log.birth(), cell.node.born)))
    _write(memory.array, box, region, taken, wide)
    if memory.tiles is not None:
        for tile, array in memory.tiles.held:
            _write(array, tile, region, taken, wide)
    return True


def _write(array: Array, box: Any, region: Geometry, taken: list[int], wide: Array) -> None:
    """Write what of a region falls into a box into that box's elements; ``taken`` says for its longer axes, one after the other,
    which axis of ``wide`` each is.
    """
    target: list[Any] = []
    source: list[slice] = [slice(None)] * wide.ndim
    order = iter(taken)
    for (first, steps), (low, high) in zip(region.axes or (), box, strict=True):
        axis, step = steps[0] if steps else (0, 0)
        count = region.shape[axis] if steps else 1
        if count == 1:
            if not low <= first < high:
                return
            target.append(first - low)
            continue
        if step > 0:
            begin, end = max(0, -((first - low) // step)), min(count, -((first - high) // step))
        else:
            begin = max(0, (first - high) // -step + 1)
            end = min(count, (first - low) // -step + 1)
        if begin >= end:
            return
        start, stop = first + step * begin - low, first + step * end - low
        target.append(slice(start, None if stop < 0 else stop, step))
        source[next(order)] = slice(begin, end)
    part = wide[tuple(source)]
    array[tuple(target)] = part if taken == sorted(taken) else part.transpose(taken)


def joined(ufunc: np.ufunc, target: Handle, other: Any) -> bool:
    """Let NumPy do ``target += other`` with a few elements of an array on ranks that are in a tile; whether it did."""
    cell, region = target._cell, target._geometry
    if not (cell.writeable and region.writeable):
        return False
    mine = showing(cell, region)
    second = None if mine is None else _given(other, region.dtype)
    if second is None or not _may_write(cell):
        return False
    result = ufunc(mine, second)
    if result.shape != region.shape or not np.can_cast(result.dtype, region.dtype, "same_kind"):
        return False
    return put(cell, region, result)


def _digests(key: Any, log: StepLog) -> list[int]:
    """What ranks compare of a key of index arrays, slices and integers: of slices the words, as ``None`` is hashed by address."""
    items = key if type(key) is tuple else (key,)
    return [
        of_text(str(item)) if type(item) is slice else digest_of(np.asarray(item), log)
        for item in items
    ]


def put_picked(cell: Cell, key: Any, value: Any) -> bool:
    """Write a few numbers where small index arrays say, for all axes or the first ones; whether it was done."""
    given = None if not _may_write(cell) else _given(value, cell.geometry.dtype)
    if given is None or whole(cell) is None or not _may_write(cell):
        return False
    place = cell.node.place
    world = place.world
    log = world.communicator.log
    form = hash((NAMED, *cell.geometry.integers, *_digests(key, log))) & _MASK
    log.step(form ^ digest_of(np.asarray(given), log), "an assignment through index arrays")
    memory = _own(cell)
    cell.node.renew(hash((log.birth(), cell.node.born)))
    tiles: Tiles = memory.tiles
    everything: Any = tiles.all_of(cell.geometry.shape)
    everything[key] = given  # which may raise
    tiles.held = [(box, array) for box, array in tiles.held if array is everything]
    box: Any = box_of_rank(place, world.rank)
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
