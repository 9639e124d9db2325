"""Functions that select elements: ``nonzero``, ``take``, ``put``, and those along an axis.

They turn to index arrays in a line, or to the indices of this rank's own region, and then do what
:mod:`.fancy_indexing` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backend
from ..collective import (
    Section,
    agree,
    even_line,
    even_part,
    fetch,
    fetch_flat,
    positions_under,
    redistributed,
    reshaped,
)
from ..comm.world import World
from ..layout import Layout
from ..ops.elementwise import is_native
from . import shaping
from .creation import arange, asarray
from .elementwise import general
from .fancy_indexing import in_range, numbered, out_of_bounds, picked, store_view
from .making import from_numpy
from .sections import block_of, of_section, result_layout, section_of, small_or_there
from .spread import in_step, place_of, world_of
from .views import Handle, any_deferred

Array = np.ndarray[Any, Any]
_NOWHERE = np.empty(0, np.int64)


def _positions(handle: Any) -> Array | None:
    """The flat positions that are not zero, where this process alone has a large array."""
    if handle._np is not None or not is_native(handle.dtype) or not handle.ndim:
        return None
    if any_deferred((handle,), {}):
        return None
    truth = handle if handle.dtype == np.bool_ else general(np.not_equal, handle, 0)
    found: Array = backend.current().true_positions(np.ascontiguousarray(truth._array()))
    return found


def nonzero(handle: Any) -> Any:
    """``handle.nonzero()``: an index array for each axis."""
    world = world_of([handle])
    if world is None:
        places = _positions(handle)
        if places is None:
            return NotImplemented
        return tuple(map(from_numpy, backend.current().indices_of(places, handle.shape)))
    in_step(world, "nonzero", handle)
    if not is_native(handle.dtype) or not handle.ndim:
        return NotImplemented
    found = positions_under(_truth(handle, world))
    split = np.unravel_index(found.block, handle.shape)
    return tuple([small_or_there(found.with_block(part.astype(np.intp)), world) for part in split])


def _truth(handle: Any, world: World) -> Section:
    truth = handle if handle.dtype == np.bool_ else general(np.not_equal, handle, 0)
    return section_of(truth, world)


def argwhere(handle: Any) -> Any:
    """The indices of the elements that are not zero, as rows."""
    world = world_of([handle])
    if world is None or not is_native(handle.dtype) or not handle.ndim:
        return NotImplemented
    in_step(world, "argwhere", handle)
    found = positions_under(_truth(handle, world))
    columns = np.stack(np.unravel_index(found.block, handle.shape)).astype(np.intp)
    layout = found.layout.expanded((0,)).broadcast((handle.ndim, found.layout.size))
    made = small_or_there(Section(columns, layout, world.communicator), world)
    return shaping.transpose(made, (1, 0))


def flatnonzero(handle: Any) -> Any:
    """The flat indices of the elements that are not zero."""
    world = world_of([handle])
    if world is None:
        places = _positions(handle)
        return NotImplemented if places is None else from_numpy(places)
    in_step(world, "flatnonzero", handle)
    if not is_native(handle.dtype) or not handle.ndim:
        return NotImplemented
    return small_or_there(positions_under(_truth(handle, world)), world)


def _wrapped(indices: Any, length: int, mode: str) -> Any:
    """Indices that are in range by a rule other than an error."""
    if mode == "wrap":
        return general(np.remainder, indices, length)
    return general(np.minimum, general(np.maximum, indices, 0), length - 1)


def take(handle: Any, indices: Any, axis: Any, mode: str) -> Any:
    """``np.take`` without ``out``."""
    world = world_of([handle, indices])
    if world is None or not is_native(handle.dtype) or mode not in ("raise", "wrap", "clip"):
        return NotImplemented
    in_step(world, "take", handle, indices, axis, mode)
    indices = asarray(indices)
    if indices.dtype.kind not in "iu" or not handle.size:
        return NotImplemented
    if not handle.ndim:
        handle = shaping.reshape(handle, (1,))  # NumPy lets an element have one axis here
    if axis is None:
        return _taken_flat(handle, indices, mode, world)
    axis = np.lib.array_utils.normalize_axis_index(axis, handle.ndim)
    if mode != "raise":
        indices = _wrapped(indices, handle.shape[axis], mode)
    if indices.ndim == 0:
        return handle[(slice(None),) * axis + (int(indices),)].copy()
    found = picked(handle, (slice(None),) * axis + (indices,))
    return found if found is NotImplemented else shaping.in_order(found, None)


def _taken_flat(handle: Any, indices: Any, mode: str, world: World) -> Any:
    if mode != "raise":
        indices = _wrapped(indices, handle.size, mode)
    everywhere = place_of(indices) is None
    part = in_range([indices], indices.shape, [handle.size], [0], everywhere, world)[0]
    line = even_line(indices.size, world.size)
    if everywhere:
        low, high = even_part(indices.size, world.size, world.rank)
        part = part[low:high]
    block = fetch_flat(section_of(handle, world), len(part), lambda low, high: part[low:high])
    made = Section(block, line, world.communicator)
    if indices.ndim == 0:
        return redistributed(made, Layout.replicated((1,), world.size)).block[0]
    return of_section(reshaped(made, result_layout(indices.shape, world)), world)


def along_axis(handle: Any, indices: Any, axis: int) -> tuple[Section, tuple[Array, ...]] | None:
    """This rank's part of an index array for one axis, and of those for all the others."""
    world = world_of([handle, indices])
    if world is None or indices.dtype.kind not in "iu" or indices.ndim != handle.ndim:
        return None
    in_step(world, "elements along an axis", handle, indices, axis)
    shape = indices.shape
    if any(
        n != m and 1 not in (n, m) for k, (n, m) in enumerate(zip(shape, handle.shape)) if k != axis
    ):
        return None
    wide = tuple(
        n if k == axis else max(n, m) if 0 not in (n, m) else 0
        for k, (n, m) in enumerate(zip(shape, handle.shape))
    )
    if wide != shape:
        indices = shaping.broadcast_to(indices, wide)
    section = section_of(indices, world)
    if section.layout.is_replicated:
        section = redistributed(section, Layout.default(wide, world.size))
    part = section.block.astype(np.int64, copy=False)
    length = handle.shape[axis]
    lowest, highest = part.min(initial=0), part.max(initial=-1)
    outside = _NOWHERE
    if lowest < -length or highest >= length:
        outside = np.flatnonzero(((part < -length) | (part >= length)).reshape(-1))
    values = (int(part.reshape(-1)[outside[0]]), axis, length) if outside.size else ()
    agree(world.communicator, world.rank if outside.size else None, values, out_of_bounds)
    part = np.where(part < 0, part + length, part) if lowest < 0 else part
    mesh: list[Array] = []
    for k, held in enumerate(section.region):
        if k == axis:
            mesh.append(part)
            continue
        held_by = held.array() if handle.shape[k] != 1 else np.zeros(len(held), np.int64)
        mesh.append(held_by.reshape(tuple(-1 if j == k else 1 for j in range(len(wide)))))
    return section, tuple(np.broadcast_arrays(*mesh))


def take_along_axis(handle: Any, indices: Any, axis: int) -> Any:
    """``np.take_along_axis``: the result lies as the index array does."""
    found = along_axis(handle, indices, axis) if is_native(handle.dtype) else None
    world = world_of([handle, indices])
    if found is None or world is None:
        return NotImplemented
    section, mesh = found
    made = section.with_block(fetch(section_of(handle, world), mesh))
    return small_or_there(made, world)


def put_along_axis(handle: Any, indices: Any, values: Any, axis: int) -> bool:
    """``np.put_along_axis``; whether it was done."""
    world = world_of([handle])
    values = asarray(values)
    writeable = handle._cell.writeable and handle._geometry.writeable
    usable = writeable and is_native(handle.dtype) and is_native(values.dtype)
    if world is None or not usable or handle._geometry.axes is None:
        return False
    found = along_axis(handle, indices, axis)
    if found is None:
        return False
    in_step(world, "put_along_axis", handle, values)
    section, mesh = found
    if values.shape != section.shape:
        values = shaping.broadcast_to(values, section.shape)
    given = redistributed(section_of(values, world), section.layout).block
    flat = tuple([part.reshape(-1) for part in mesh])
    store_view(handle, tuple(range(handle.ndim)), flat, (), given.reshape(-1), world)
    return True


def place(handle: Any, mask: Any, values: Any) -> bool:
    """``np.place``: values over again where the mask is true; whether it was done."""
    world = world_of([handle])
    if world is None or mask.shape != handle.shape or not values.size or values.ndim != 1:
        return False
    writeable = handle._cell.writeable and handle._geometry.writeable
    usable = writeable and is_native(handle.dtype) and is_native(values.dtype)
    if not usable or not handle._geometry.is_base:
        return False
    in_step(world, "place", handle, mask, values)
    values = values.astype(handle.dtype)  # whole, so that every rank hears NumPy's warnings
    truth = _truth(mask, world) if world_of([mask]) else section_of(mask != 0, world)
    given = section_of(values, world)
    base = block_of(handle._cell, world)
    chosen = redistributed(truth, base.layout).block
    numbers = numbered(base.with_block(chosen), world)[0].block[chosen]
    base.block[chosen] = fetch(given, (numbers % values.size,))
    return True


def put_flat(handle: Any, indices: Any, values: Any, mode: str) -> bool:
    """``np.put``: written to flat indices, values over again where they are too few."""
    world = world_of([handle])
    if world is None or not is_native(handle.dtype) or mode not in ("raise", "wrap", "clip"):
        return False
    in_step(world, "put", handle, indices, values, mode)
    indices, values = asarray(indices), asarray(values)
    if indices.dtype.kind not in "iu" or not indices.size or not values.size or not handle.size:
        return False
    if handle._geometry.axes is None or not is_native(values.dtype):
        return False
    if mode != "raise":
        indices = _wrapped(indices, handle.size, mode)
    length = indices.size
    everywhere = place_of(indices) is None
    part = in_range([indices], indices.shape, [handle.size], [0], everywhere, world)[0]
    low, high = even_part(length, world.size, world.rank)
    if everywhere:
        part = part[low:high]
    values = values.astype(handle.dtype)  # as in ``place``
    if not values.ndim:
        values = shaping.reshape(values, (1,))
    number = np.unravel_index(np.arange(low, high) % values.size, values.shape)
    given = section_of(values, world)
    found = fetch(given, number)
    split = np.unravel_index(part, handle.shape)
    store_view(handle, tuple(range(handle.ndim)), split, (), found, world)
    return True


def put_in_line(handle: Any, key: Any, value: Any) -> bool:
    """``handle.flat[key] = value``, values over again where they are too few; whether it was done.

    ``key`` is a slice, an array or list of flat indices, a mask of the line, or the index of one element.
    """
    values = asarray(value)
    if not is_native(values.dtype):
        return False
    if type(key) is tuple:
        if values.size != 1:
            raise ValueError("Error setting single item of array.")
        handle[key] = shaping.reshape(values, ())
        return True
    if type(key) is slice:
        limits = key.indices(handle.size)
        made = arange(*limits, np.intp)
        key = asarray(np.arange(*limits)) if made is None else made
    elif isinstance(key, (list, np.ndarray, Handle)):
        key = asarray(key)
        if key.dtype == np.bool_ and key.shape == (handle.size,):
            found = flatnonzero(key)
            key = asarray(np.flatnonzero(key._array())) if found is NotImplemented else found
    else:
        return False
    if not key.size:
        return True
    return put_flat(handle, key, values, "raise")
