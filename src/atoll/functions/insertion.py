"""Repetition, padding, insertion and deletion."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..front import COMPOSED
from ..graph.geometry import dense, kept_order
from ..lazy import creation, shapes
from ..lazy.agreement import place_of, world_of
from ..lazy.conversion import plain
from ..lazy.creation import asarray
from ..lazy.fallback import by_numpy, expect
from ..ops.elementwise import is_native
from .blocks import call
from .concatenation import concatenate, filled_by
from .operands import Operand
from .public import array_of, collective, is_large, native

Array = np.ndarray[Any, Any]


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a = asarray(a)
    count = repeats if is_large(repeats) else plain(repeats)
    if axis is None and is_large(a):
        a, axis = a.ravel(), 0
    if is_large(a) and isinstance(count, (int, np.integer)) and count >= 1 and a.ndim:
        axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
        shape = a.shape
        wide = shapes.reshape(a, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        wide = shapes.broadcast_to(wide, (*shape[: axis + 1], int(count), *shape[axis + 1 :]))
        repeated = (*shape[:axis], shape[axis] * int(count), *shape[axis + 1 :])
        return shapes.reshape(shapes.copied(wide), repeated)
    a, counts = Operand().accept(a), Operand("iub").accept(repeats)
    expect(world_of([a, counts]))
    if axis is None or not a.ndim:  # an element has one axis here
        a, axis = shapes.ravel(a), 0
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    if counts.size == 1:
        number = int(plain(shapes.reshape(counts, ())))
        expect(number > 0)
        return _repeat(a, number, axis)
    expect(counts.shape == (a.shape[axis],))
    if bool((counts < 0).any()):
        raise ValueError("repeats may not contain negative values.")
    ends = call("cumsum", counts)
    length = int(ends[-1])
    if not length:
        return a[(slice(None),) * axis + (slice(0, 0),)].copy()
    return call("take", a, call("searchsorted", ends, call("arange", length), "right"), axis)


collective(np.repeat, alone=True, grows=True, keeps="arrays")(_repeat)
collective(np.ndarray.repeat, grows=True, keeps="arrays")(_repeat)


@collective(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    a = asarray(a)
    shape = creation.shape_of(new_shape)
    total = prod(shape)
    expect(total and a.size)
    line = shapes.ravel(a)
    elements = call("take", line, call("arange", total) % a.size)
    return shapes.reshape(elements, shape)


@collective(np.trim_zeros, keeps="arrays")
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    filt, trim = asarray(filt), trim.lower()
    expect(trim in ("fb", "bf", "f", "b") and filt.ndim)
    axes = tuple(range(filt.ndim))
    if axis is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, filt.ndim, "axis")
    key = [slice(None)] * filt.ndim
    for along in axes:
        others = tuple([k for k in range(filt.ndim) if k != along])
        nonzero = call("flatnonzero", (filt != 0).any(others) if others else filt)
        if not nonzero.size:
            key[along] = slice(0, 0)
            continue
        first = int(nonzero[0]) if "f" in trim else None
        key[along] = slice(first, int(nonzero[-1]) + 1 if "b" in trim else None)
    return filt[tuple(key)]


@native(recording=COMPOSED, grows=True)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    array = array_of(array)
    constant = mode == "constant" and options.keys() <= {"constant_values"}
    constant = constant and np.isscalar(plain(options.get("constant_values", 0)))
    if not is_large(array) or not constant or array.ndim == 0 or isinstance(pad_width, dict):
        return by_numpy(np.pad, (array, pad_width, mode), options, jointly=_pad, alone=True)
    widths = _widths(array, pad_width)
    shape = tuple([n + before + after for n, (before, after) in zip(array.shape, widths)])
    value = np.asarray(plain(options.get("constant_values", 0))).astype(array.dtype)[()]
    flags = array.flags
    order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    result = creation.filled(shape, value, array.dtype, order)
    result[tuple([slice(b, b + n) for n, (b, _) in zip(array.shape, widths)])] = array
    return result


def _widths(array: Any, pad_width: Any) -> list[list[int]]:
    """Numbers of elements added before and after each axis."""
    widths = np.broadcast_to(np.asarray(plain(pad_width)), (array.ndim, 2))
    expect(widths.dtype.kind in "iu" and not (widths < 0).any())
    return widths.tolist()  # type: ignore[no-any-return]


def _pad(array: Any, pad_width: Any, mode: Any, **options: Any) -> Any:
    """``pad`` on ranks with the elements at the border, or from the opposite one."""
    array = asarray(array)
    order = shapes.turned_order(array)
    expect(mode in ("edge", "wrap", "reflect", "symmetric"))
    expect(options.get("reflect_type") != "odd" and not isinstance(pad_width, dict))
    expect(array.size and array.ndim)
    widths = _widths(array, pad_width)
    if place_of(array) is None:
        return _around(array, widths, mode)
    for axis, (before, after) in enumerate(widths):
        length = array.shape[axis]
        parts = [array]
        if before:
            parts.insert(0, _taken(array, _border(mode, np.arange(-before, 0), length), axis))
        if after:
            places = _border(mode, np.arange(length, length + after), length)
            parts.append(_taken(array, places, axis))
        if len(parts) > 1:
            array = concatenate(parts, axis)
    return shapes.in_order(array, order)


def _around(array: Any, widths: list[list[int]], mode: str) -> Any:
    """A large array in this process with parts of it on all sides, recorded, where these are few, and slices."""
    expect(is_large(array) and is_native(array.dtype) and not array._cell.pins)
    sides: list[list[tuple[slice, Any]]] = []
    for (before, after), length in zip(widths, array.shape):
        middle: list[tuple[slice, Any]] = [(slice(before, before + length), slice(None))]
        for first, count in ((-before, before), (length, after)):
            places = _border(mode, np.arange(first, first + count), length)
            cut = _as_slice(places) if count else None
            expect(not count or cut)
            middle += [(slice(before + first, before + first + count), cut)] if count else []
        sides.append(middle)
    expect(prod(map(len, sides)) - 1 <= policy.limits.pieces)
    shape = tuple([n + before + after for n, (before, after) in zip(array.shape, widths)])
    order = kept_order(shape, [array._shape_of_view()])
    parts = [tuple(zip(*part)) for part in product(*sides)]
    return filled_by([(key, array[cut]) for key, cut in parts], dense(shape, array.dtype, order))


def _as_slice(places: Array) -> slice | None:
    """A slice that selects indices in their order, or ``None`` if they are not consecutive."""
    first, last, count = int(places[0]), int(places[-1]), len(places)
    step = -1 if last < first else 1
    if not np.array_equal(places, np.arange(first, first + step * count, step)):
        return None
    stop = last + step
    return slice(first, None if stop < 0 else stop, step)


def _taken(array: Any, places: Array, axis: int) -> Any:
    """Elements at indices along an axis: a recorded slice if the indices are consecutive."""
    cut = _as_slice(places)
    if cut is not None:
        return array[(*(slice(None),) * axis, cut)]
    return call("take", array, places, axis)


def _border(mode: str, places: Array, length: int) -> Array:
    """Indices of the elements that indices outside of an axis stand for."""
    if mode == "edge" or length == 1:
        return np.clip(places, 0, length - 1)
    if mode == "wrap":
        return places % length
    period = 2 * length if mode == "symmetric" else 2 * (length - 1)
    turned = places % period
    return np.where(turned < length, turned, period - turned - (mode == "symmetric"))


def _places_along(arr: Any, obj: Any, axis: Any) -> tuple[Any, Any, int]:
    """An array, places along one of its axes, where a slice is an array, and the axis."""
    arr = asarray(arr)
    if axis is None:
        arr, axis = shapes.ravel(arr), 0
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(arr.shape[axis]))
    return arr, obj, axis


@collective(np.delete, order=shapes.turned_order, keeps="arrays")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    arr, obj, axis = _places_along(arr, obj, axis)
    length, before = arr.shape[axis], (slice(None),) * axis
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, bool):
        place = int(obj)
        if not -length <= place < length:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {length}")
        place %= length
        parts = arr[(*before, slice(place))], arr[(*before, slice(place + 1, None))]
        return concatenate(parts, axis)
    places = asarray(obj)
    if places.dtype == np.bool_:
        expect(places.shape == (length,))
        return arr[(*before, ~places)]
    expect(places.dtype.kind in "iu" or not places.size)
    keep = call("ones", length, bool)
    if places.size:
        keep[shapes.ravel(places)] = False
    return arr[(*before, keep)]


@collective(np.insert, order=shapes.turned_order, keeps="arrays")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    arr, obj, axis = _places_along(arr, obj, axis)
    length, before = arr.shape[axis], (slice(None),) * axis
    places = np.asarray(plain(obj))
    if places.dtype == np.bool_:
        places = np.flatnonzero(places)
    expect(places.dtype.kind in "iu" or not places.size)
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    outside = places[(places < -length) | (places > length)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for axis {axis} with size {length}")
    given = asarray(values).astype(arr.dtype)
    wanted = np.where(places < 0, places + length, places).reshape(-1)
    if wanted.size == 1:  # all values along the axis go to one place
        given = shapes.reshape(given, (1,) * (arr.ndim - given.ndim) + given.shape)
        if not places.ndim:  # NumPy puts the first axis of the values where the index is
            given = call("moveaxis", given, 0, axis)
        wanted = np.repeat(wanted, given.shape[axis])
    shape = (*arr.shape[:axis], wanted.size, *arr.shape[axis + 1 :])
    given = shapes.broadcast_to(given, shape)
    if not wanted.size:
        return arr.copy()
    first = int(wanted[0])
    if (wanted == first).all():
        parts = arr[(*before, slice(first))], given, arr[(*before, slice(first, None))]
        return concatenate(parts, axis)
    order = np.argsort(wanted, kind="stable")
    result = call("empty", (*shape[:axis], length + wanted.size, *shape[axis + 1 :]), arr.dtype)
    own = call("arange", length)
    moved = own + call("searchsorted", wanted[order], own, "right")
    new = np.empty(wanted.size, np.intp)
    new[order] = wanted[order] + np.arange(wanted.size)
    result[(*before, moved)] = arr
    result[(*before, new)] = given
    return result
