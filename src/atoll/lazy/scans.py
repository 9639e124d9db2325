"""Scans, positions of extreme elements, sorts and different elements of arrays on several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backend
from ..backend.flags import is_noticed
from ..collective import compressed, first_behind, in_order, ordered, positions_under, starts
from ..comm.world import World
from ..ops.elementwise import is_native
from . import shaping
from .calling import into
from .creation import asarray
from .making import from_numpy
from .sections import line_of, record, small_or_there
from .spread import in_step, world_of
from .views import Handle, is_deferred


def position(name: str, handle: Any, axis: int | None, keepdims: bool) -> Any:
    """``argmin`` or ``argmax`` by NumPy on each rank's block, joined by the owners of the result."""
    whole = axis is None or handle.ndim == 1  # the position is a number
    axis = None if whole else axis % handle.ndim
    places = record("position", (handle,), axis, name)
    if not keepdims:
        return places
    shape = tuple([1 if whole or k == axis else n for k, n in enumerate(handle.shape)])
    return from_numpy(np.full(shape, places)) if whole else shaping.reshape(places, shape)


def accumulate(ufunc: np.ufunc, handle: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.accumulate``; ``NotImplemented`` where NumPy has to do it."""
    world = world_of([handle])
    if out is not None or not is_native(handle.dtype) or not handle.size:
        return NotImplemented
    if world is None and (handle._np is not None or is_deferred(handle)):
        return NotImplemented
    if axis is None:
        handle, axis = shaping.ravel(handle), 0
    if type(axis) is not int or not -handle.ndim <= axis < handle.ndim:
        return NotImplemented
    kind = ufunc.accumulate(np.empty(1, handle.dtype)).dtype if dtype is None else np.dtype(dtype)
    if not is_native(kind):
        return NotImplemented
    if world is None:
        return _accumulated_here(ufunc, handle, axis % handle.ndim, kind)
    order = shaping.order_of(handle)
    return record("accumulate", (handle,), axis % handle.ndim, ufunc, kind, order=order)


def fold(
    ufunc: np.ufunc, handle: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **others: Any
) -> Any:  # fmt: skip
    """``ufunc.reduce`` of an array on ranks, in the order of its elements; ``NotImplemented`` where NumPy has to do it."""
    if others or not is_ordered(ufunc, handle) or not handle.size:
        return NotImplemented
    if axis is None and handle.ndim == 1:
        axis = 0
    if type(axis) is not int or not -handle.ndim <= axis < handle.ndim:
        return NotImplemented
    kind = np.asarray(ufunc.reduce(np.ones(1, handle.dtype), dtype=dtype)).dtype
    if not is_native(kind):
        return NotImplemented
    result = record("fold in order", (handle,), axis % handle.ndim, ufunc, kind)
    if handle.ndim == 1:
        result = result[()]
    if keepdims:
        shape = tuple([1 if k == axis % handle.ndim else n for k, n in enumerate(handle.shape)])
        result = shaping.reshape(asarray(result), shape)
    return into(out, result)


def is_ordered(ufunc: np.ufunc, handle: Any) -> bool:
    """Whether ranks can apply a ufunc element by element in order: an error of one rank's elements would be unknown to others,
    as one of a user's function (``frompyfunc``) or of an integer power."""
    if not isinstance(handle, Handle) or ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature:
        return False
    dtype = handle._shape_of_view().dtype
    fails = ufunc.types == ["OO->O"] or (ufunc is np.power and dtype.kind in "iu")
    return not fails and is_native(dtype) and world_of([handle]) is not None


def _accumulated_here(ufunc: np.ufunc, handle: Any, axis: int, kind: np.dtype[Any]) -> Any:
    """A scan in this process, by loops; NumPy repeats it if there is something to warn of."""
    name, kernels = ufunc.__name__, backend.current()
    if not kernels.can_scan(name, kind, kind):
        return NotImplemented
    if kind == handle.dtype and kind.kind in "iu" and handle.ndim == 1:
        return NotImplemented  # exact sums of one line NumPy does as quickly
    array = (handle if kernels.can_scan(name, kind, handle.dtype) else handle.astype(kind))._array()
    if not array.flags.c_contiguous:
        return NotImplemented
    result, flags = kernels.scanned(name, array, axis, kind)
    return NotImplemented if is_noticed([(flags, None)]) else from_numpy(result.array)


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


def sort(handle: Any, axis: Any = -1, *, stable: bool = False) -> Any:
    """A sorted copy, or ``NotImplemented``; it lies as the operand does, a line in even blocks."""
    if axis is None and isinstance(handle, Handle) and handle._np is None:
        handle, axis = shaping.ravel(handle), 0
    if _usable(handle, axis) is None:
        return NotImplemented
    kind = "stable" if stable else None
    return record("sort", (handle,), axis % handle.ndim, kind, order=shaping.order_of(handle))


def argsort(handle: Any, axis: Any = -1) -> Any:
    """The places of the elements in ascending order, of equal ones the first place first."""
    if axis is None and isinstance(handle, Handle) and handle._np is None:
        handle, axis = shaping.ravel(handle), 0
    if _usable(handle, axis) is None:
        return NotImplemented
    return record("argsort", (handle,), axis % handle.ndim)


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
        after = first_behind(begins, values.layout.size)
        ends = np.append(begins.block[1:], after) if begins.block.size else begins.block
        results.append(small_or_there(begins.with_block(ends - begins.block), world))
    return results[0] if len(results) == 1 else tuple(results)
