"""Scans, and positions of extreme elements of arrays on several ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import backend
from ..backend.flags import is_noticed
from ..collective import accumulated, extreme_places, redistributed
from ..comm.world import World
from ..layout import Layout
from ..ops.elementwise import is_native
from . import shaping
from .making import from_numpy
from .sections import of_section, result_layout, section_of
from .spread import in_step, world_of
from .views import Handle


def position(name: str, handle: Any, axis: int | None, keepdims: bool, world: World) -> Any:
    """``argmin`` or ``argmax`` by NumPy on each rank's block, joined by the owners of the result."""
    in_step(world, name, handle, axis, keepdims)
    section = section_of(handle, world)
    if axis is None or handle.ndim == 1:  # the position is a number
        everywhere = Layout.replicated((), world.size)
        found = extreme_places(section, name, None, everywhere).reshape(
            (1,) * keepdims * handle.ndim
        )
        return from_numpy(found) if keepdims else found[()]
    axis %= handle.ndim
    shape = (*handle.shape[:axis], *handle.shape[axis + 1 :])
    layout = result_layout(shape, world)
    if section.layout.grid[axis] == 1 and not layout.is_replicated:
        layout = section.layout.reduced(axis)
    made = section.with_block(extreme_places(section, name, axis, layout))
    result = of_section(replace(made, layout=layout), world)
    return shaping.reshape(result, (*shape[:axis], 1, *shape[axis:])) if keepdims else result


def accumulate(ufunc: np.ufunc, handle: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.accumulate``; ``NotImplemented`` where NumPy has to do it."""
    world = world_of([handle])
    if out is not None or not is_native(handle.dtype) or not handle.size:
        return NotImplemented
    if world is None and (handle._np is not None or Handle.any_deferred((handle,), {})):
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
    in_step(world, f"{ufunc.__name__}.accumulate", handle, axis, str(kind))
    section = accumulated(section_of(handle, world), axis % handle.ndim, ufunc, kind)
    layout = result_layout(handle.shape, world)
    section = redistributed(section, layout) if layout.is_replicated else section
    return shaping.in_order(of_section(section, world), shaping.order_of(handle))


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
    made, flags = kernels.scanned(name, array, axis, kind)
    return NotImplemented if is_noticed(flags) else from_numpy(made.array)
