"""Functions that read, write or fold elements at indices: ``nonzero``, ``take``, ``put``, those along an axis,
``ufunc.at`` and ``ufunc.reduceat``.

They turn to index arrays, and then do what :mod:`.fancy_indexing` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backend
from ..collective import Section, positions_under
from ..comm.world import World
from ..config import config
from ..context.interrupts import passed_on
from ..ops.elementwise import is_native
from . import shaping
from .creation import arange, asarray
from .elementwise import general
from .fancy_indexing import Selection, check_indices, has_elements, operands, put, selected, write
from .making import from_numpy
from .sections import record, section_of, small_or_there
from .spread import in_step, place_of, world_of
from .views import Handle, is_deferred

Array = np.ndarray[Any, Any]


def _positions(handle: Any) -> Array | None:
    """The flat positions that are not zero, where this process alone has a large array."""
    if handle._np is not None or not is_native(handle.dtype) or not handle.ndim:
        return None
    if is_deferred(handle):
        return None
    truth = handle if handle.dtype == np.bool_ else general(np.not_equal, handle, 0)
    where: Array = backend.current().true_positions(np.ascontiguousarray(truth._array()))
    return where


def nonzero(handle: Any) -> Any:
    """``handle.nonzero()``: an index array for each axis; of several, the columns of one array, as NumPy's are."""
    world = world_of([handle])
    if world is None:
        places = _positions(handle)
        if places is None:
            return NotImplemented
        if handle.ndim == 1:
            return (from_numpy(places),)
        return _columns(from_numpy(backend.current().indices_of(places, handle.shape)))
    in_step(world, "nonzero", handle)
    if not is_native(handle.dtype) or not handle.ndim:
        return NotImplemented
    where = positions_under(_truth(handle, world), config.results)
    if handle.ndim == 1:
        return (small_or_there(where, world),)
    rows = np.empty((where.block.size, handle.ndim), np.intp)
    np.stack(np.unravel_index(where.block, handle.shape), axis=1, out=rows)
    layout = where.layout.expanded((1,)).broadcast((where.layout.size, handle.ndim))
    return _columns(small_or_there(Section(rows, layout, world.communicator), world))


def _columns(rows: Any) -> tuple[Any, ...]:
    return tuple([rows[:, axis] for axis in range(rows.shape[1])])


def _truth(handle: Any, world: World) -> Section:
    truth = handle if handle.dtype == np.bool_ else general(np.not_equal, handle, 0)
    return section_of(truth, world)


def argwhere(handle: Any) -> Any:
    """The indices of the elements that are not zero, as rows."""
    world = world_of([handle])
    if world is None or not is_native(handle.dtype) or not handle.ndim:
        return NotImplemented
    in_step(world, "argwhere", handle)
    where = positions_under(_truth(handle, world), config.results)
    columns = np.stack(np.unravel_index(where.block, handle.shape)).astype(np.intp)
    layout = where.layout.expanded((0,)).broadcast((handle.ndim, where.layout.size))
    rows = small_or_there(Section(columns, layout, world.communicator), world)
    return shaping.transpose(rows, (1, 0))


def flatnonzero(handle: Any) -> Any:
    """The flat indices of the elements that are not zero."""
    world = world_of([handle])
    if world is None:
        places = _positions(handle)
        return NotImplemented if places is None else from_numpy(places)
    in_step(world, "flatnonzero", handle)
    if not is_native(handle.dtype) or not handle.ndim:
        return NotImplemented
    return small_or_there(positions_under(_truth(handle, world), config.results), world)


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
    indices = _index(indices)
    if indices.dtype.kind not in "iu" or not handle.size:
        return NotImplemented
    if not handle.ndim:
        handle = shaping.reshape(handle, (1,))  # NumPy lets an element have one axis here
    if axis is not None:
        axis = np.lib.array_utils.normalize_axis_index(axis, handle.ndim)
    length = handle.size if axis is None else handle.shape[axis]
    if mode != "raise":
        indices = _wrapped(indices, length, mode)
    else:
        check_indices([indices], [axis or 0], [length], world)
    if axis is not None:
        return selected(Selection(handle, (axis,), [indices], indices.shape, axis), dense=True)
    return record("fancy indexing", (handle, *operands([indices], indices.shape)), None)


def _index(value: Any) -> Any:
    """An index array as it was given: of NumPy's, there is a copy in what is recorded."""
    return value if isinstance(value, Handle) else np.asarray(value)


def _along(handle: Any, indices: Any, axis: int, world: World) -> Any:
    """An index array for one axis, checked, in the shape of the result; ``None`` where NumPy has the words."""
    indices = _index(indices)
    if indices.dtype.kind not in "iu" or indices.ndim != handle.ndim:
        return None
    in_step(world, "elements along an axis", handle, indices, axis)
    pairs = list(enumerate(zip(indices.shape, handle.shape, strict=True)))
    if any(n != m and 1 not in (n, m) for k, (n, m) in pairs if k != axis):
        return None
    wide = tuple([n if k == axis else max(n, m) if 0 not in (n, m) else 0 for k, (n, m) in pairs])
    check_indices([indices], [axis], [handle.shape[axis]], world)
    if wide == indices.shape:
        return indices
    return (
        shaping.broadcast_to(indices, wide)
        if isinstance(indices, Handle)
        else np.broadcast_to(indices, wide)
    )


def take_along_axis(handle: Any, indices: Any, axis: int) -> Any:
    """``np.take_along_axis``: the result lies as the index array does."""
    world = world_of([handle, indices])
    if world is None or not is_native(handle.dtype):
        return NotImplemented
    index = _along(handle, indices, axis, world)
    if index is None:
        return NotImplemented
    return record("take along an axis", (handle, *operands([index], index.shape)), axis)


def put_along_axis(handle: Any, indices: Any, values: Any, axis: int) -> bool:
    """``np.put_along_axis``; whether it was done."""
    world, values = world_of([handle]), asarray(values)
    index = None
    if world is not None and _is_writeable(handle, values):
        index = _along(handle, indices, axis, world)
    if world is None or index is None:
        return False
    in_step(world, "put_along_axis", handle, values)
    mesh: list[Any] = list(
        np.ix_(*[np.arange(n if m != 1 else 1) for n, m in zip(index.shape, handle.shape)])
    )
    mesh[axis] = index
    write(handle, values.astype(handle.dtype), index.shape, mesh, tuple(range(handle.ndim)))
    return True


def _is_writeable(handle: Any, values: Any) -> bool:
    writeable = handle._cell.writeable and handle._geometry.writeable
    native = is_native(handle.dtype) and is_native(values.dtype)
    return writeable and native and has_elements(handle._geometry)


def place(handle: Any, mask: Any, values: Any) -> bool:
    """``np.place``: values over again where the mask is true; whether it was done."""
    if mask.shape != handle.shape or values.ndim != 1:
        return False
    return put_flat(handle, _under(mask), values, "raise")


def _under(mask: Any) -> Any:
    """The flat indices at which a mask is true."""
    where = flatnonzero(mask)
    return asarray(np.flatnonzero(mask._array())) if where is NotImplemented else where


def put_flat(handle: Any, indices: Any, values: Any, mode: str, *, at_once: bool = False) -> bool:
    """``np.put``: written to flat indices, values over again where they are too few; whether it was done.

    An index out of range is an error after those before it were written to; ``at_once``: before any is.
    """
    world = world_of([handle])
    if world is None or mode not in ("raise", "wrap", "clip"):
        return False
    in_step(world, "put", handle, indices, values, mode)
    indices, values = _index(indices), asarray(values)
    if indices.dtype.kind not in "iu" or not indices.size or not values.size or not handle.size:
        return False
    if not _is_writeable(handle, values):
        return False
    if mode != "raise":
        indices = _wrapped(indices, handle.size, mode)
    else:
        try:
            check_indices([indices], [0], [handle.size], world)
        except IndexError:
            flat = indices.reshape(-1)
            fit = int(((flat < -handle.size) | (flat >= handle.size)).argmax())
            if fit and not at_once:
                put_flat(handle, flat[:fit], values, mode)
            raise
    indices = indices.reshape(-1)
    values = values.astype(handle.dtype)  # whole, so that every rank hears NumPy's warnings
    if values.size == 1:
        values = shaping.reshape(values, ())
    elif values.size >= indices.size:
        values = shaping.ravel(values)[: indices.size]
    else:
        values = shaping.ravel(values)
        values = values[asarray(np.arange(indices.size) % values.size)]
    write(handle, values, indices.shape, [indices], None)
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
        places = arange(*limits, np.intp)
        key = asarray(np.arange(*limits)) if places is None else places
    elif isinstance(key, (list, np.ndarray, Handle)):
        key = asarray(key)
        if key.dtype == np.bool_ and key.shape == (handle.size,):
            key = _under(key)
    else:
        return False
    if not key.size:
        return True
    return put_flat(handle, key, values, "raise")


def at(ufunc: np.ufunc, a: Any, indices: Any, *values: Any) -> Any:
    """Join values with the elements at indices, each as often as its index is there."""
    if place_of(a) is None or ufunc.nin != 2 or len(values) != 1:
        return NotImplemented
    if not (a._cell.writeable and a._geometry.writeable):
        return NotImplemented
    given = asarray(values[0])
    if not is_native(given.dtype):
        return NotImplemented
    try:
        kind = ufunc(np.empty(1, a.dtype), np.empty(1, given.dtype)).dtype
    except TypeError as problem:
        passed_on(problem)
        return NotImplemented
    fits = np.can_cast(given.dtype, a.dtype, "same_kind") and kind.kind == a.dtype.kind
    if not fits:  # NumPy knows about mixed dtypes
        return NotImplemented
    return None if put(a, indices, given, ufunc) else NotImplemented


def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Fold the stretches between indices."""
    world = world_of([array])
    if world is None or not isinstance(array, Handle) or out not in (None, (None,)):
        return NotImplemented
    handle: Any = array
    if not is_native(handle.dtype) or not isinstance(axis, int) or not handle.size:
        return NotImplemented
    places = np.asarray(indices)
    axis = np.lib.array_utils.normalize_axis_index(axis, handle.ndim)
    length = handle.shape[axis]
    if places.dtype.kind not in "iu" or places.ndim != 1 or not places.size:
        return NotImplemented
    if (places < 0).any() or (places >= length).any():
        return NotImplemented
    kind = ufunc.reduceat(np.empty(1, handle.dtype), [0], dtype=dtype).dtype
    if not is_native(kind):
        return NotImplemented
    in_step(world, f"{ufunc.__name__}.reduceat", handle, indices, axis)
    first = (axis, *[k for k in range(handle.ndim) if k != axis])
    order = (*range(1, axis + 1), 0, *range(axis + 1, handle.ndim))
    starts = operands([places], places.shape)
    moved = shaping.transpose(handle, first)
    folded = record("reduceat", (moved, *starts), ufunc, kind, order=order)
    return shaping.transpose(folded, order)
