"""Selections of elements: by condition, by index, by order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import selecting, shaping, taking
from ..lazy.reductions import NOTHING
from ..lazy.spread import place_of
from ..lazy.views import Handle
from .blocks import arrays_of, by_blocks, call, into, world_among
from .public import array_of, collective, declare, native


@native
def where(condition: Any, x: Any = NOTHING, y: Any = NOTHING, /) -> Any:
    if x is NOTHING and y is NOTHING:
        return nonzero(condition)
    if x is NOTHING or y is NOTHING:
        raise ValueError("either both or neither of x and y should be given")
    return selecting.where(condition, x, y)


@native
def clip(a: Any, a_min: Any = NOTHING, a_max: Any = NOTHING, out: Any = None, *, min: Any = NOTHING, max: Any = NOTHING, **options: Any) -> Any:  # fmt: skip
    a = array_of(a)
    if a_min is NOTHING and a_max is NOTHING:
        a_min, a_max = (None if min is NOTHING else min), (None if max is NOTHING else max)
    elif a_min is NOTHING or a_max is NOTHING or min is not NOTHING or max is not NOTHING:
        return np.clip(a._array(), a_min, a_max, min=min, max=max)
    return a.clip(a_min, a_max, out, **options)


def _rounded(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return array_of(a).round(decimals, out)


for _name in ("round", "around"):
    declare(_rounded, getattr(np, _name), _name)


@collective(np.take, np.ndarray.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    if not (axis is None or isinstance(axis, int)):
        return NotImplemented
    return into(out, taking.take(array_of(a), indices, axis, mode), "unsafe")


@collective(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    condition = array_of(condition)
    if condition.ndim != 1:
        return NotImplemented
    return take(array_of(a), flatnonzero(condition), axis, out)


@collective(np.ndarray.compress)
def _compressed(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, a, axis, out)


@collective(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    mask, arr = array_of(condition), array_of(arr)
    if mask.shape != arr.shape:
        return NotImplemented
    return arr[mask if mask.dtype == np.bool_ else mask != 0]


@collective(np.nonzero, np.ndarray.nonzero, alone=True)
def nonzero(a: Any) -> Any:
    return taking.nonzero(a) if isinstance(a, Handle) else NotImplemented


@collective(np.flatnonzero, alone=True)
def flatnonzero(a: Any) -> Any:
    return taking.flatnonzero(a) if isinstance(a, Handle) else NotImplemented


@collective(np.argwhere)
def argwhere(a: Any) -> Any:
    return taking.argwhere(array_of(a))


@collective(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    arr = array_of(arr)
    if not isinstance(axis, int) or not -arr.ndim <= axis < arr.ndim:
        return NotImplemented
    return taking.take_along_axis(arr, indices, axis % arr.ndim)


@collective(np.put_along_axis, writes=(0, "arr"))
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Any:
    if place_of(arr) is None or not isinstance(axis, int) or not -arr.ndim <= axis < arr.ndim:
        return NotImplemented
    done = taking.put_along_axis(arr, indices, values, axis % arr.ndim)
    return None if done else NotImplemented


@collective(np.put, np.ndarray.put, writes=(0, "a"))
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> Any:
    if place_of(a) is None or not (a._cell.writeable and a._geometry.writeable):
        return NotImplemented
    # NumPy writes to a copy first where the memory is not in C order, or is that of the values
    shared = isinstance(v, Handle) and shaping.is_view_of(a, v) and v._geometry.c_contiguous
    at_once = shared or not a._geometry.c_contiguous
    return None if taking.put_flat(a, ind, v, mode, at_once=at_once) else NotImplemented


@collective(np.place, writes=(0, "arr"))
def place(arr: Any, mask: Any, vals: Any) -> Any:
    if place_of(arr) is None:
        return NotImplemented
    return None if taking.place(arr, array_of(mask), array_of(vals)) else NotImplemented


@collective(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    listed = list(multi_index)
    arrays, world = arrays_of(*listed), world_among(listed)
    if arrays is None or world is None:
        return NotImplemented
    shape = tuple(int(n) for n in dims)
    return by_blocks(
        lambda *parts: np.ravel_multi_index(parts, shape, mode, order), arrays, world, agrees=True
    )


@collective(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    arrays, world = arrays_of(indices), world_among(indices)
    if arrays is None or world is None or isinstance(shape, Handle):
        return NotImplemented
    parts = by_blocks(
        lambda part: tuple(np.unravel_index(part, shape, order)), arrays, world, agrees=True
    )
    if len(parts) < 2:
        return parts
    rows = shaping.in_order(call("stack", parts, -1), None)
    return tuple([rows[..., axis] for axis in range(len(parts))])
