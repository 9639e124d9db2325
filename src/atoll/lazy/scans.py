"""Scans, and positions of extreme elements of arrays on several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backend
from ..backend.flags import is_noticed
from ..ops.elementwise import is_native
from . import shaping
from .making import from_numpy
from .sections import record
from .spread import world_of
from .views import any_deferred


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
    if world is None and (handle._np is not None or any_deferred((handle,), {})):
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
    return NotImplemented if is_noticed(flags) else from_numpy(result.array)
