"""Joins that no assignment of boxes says, repetition by counts, borders, parts put in and taken out."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import policy
from ...lazy import creation, shaping
from ...lazy.creation import asarray
from ...lazy.making import plain
from ...lazy.spread import place_of
from ...lazy.views import Handle
from ..blocks import arrays_of, call, into, world_among
from .table import on_ranks

Array = np.ndarray[Any, Any]


@on_ranks(np.concatenate)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    parts = arrays_of(*arrays)
    if parts is None or not parts:
        return NotImplemented
    if axis is None:
        parts, axis = [shaping.ravel(part) for part in parts], 0
    if len({part.ndim for part in parts}) > 1 or not -parts[0].ndim <= axis < parts[0].ndim:
        return NotImplemented
    if out is not None and not hasattr(out, "dtype"):
        return NotImplemented  # NumPy says what is wrong with it
    rest = {(*p.shape[: axis % p.ndim], *p.shape[axis % p.ndim + 1 :]) for p in parts}
    if len(rest) > 1:
        return NotImplemented
    # which dtype it is, and which casts and arguments are errors, NumPy says of empty arrays
    kind = np.concatenate(
        [np.empty(0, part.dtype) for part in parts],
        out=None if out is None else np.empty(0, out.dtype),
        dtype=dtype,
        casting=casting,
    ).dtype
    parts = [part if part.dtype == kind else part.astype(kind) for part in parts]
    while len(parts) > policy.limits.pieces:
        parts = [
            _joined(parts[k : k + policy.limits.pieces], axis)
            for k in range(0, len(parts), policy.limits.pieces)
        ]
    return into(out, _joined(parts, axis))


def _joined(parts: list[Any], axis: int) -> Any:
    if len(parts) == 1:
        return parts[0].copy()
    if any(part._np is None and part._cell.pins for part in parts):  # in memory that others see
        parts = [shaping.copied(part) for part in parts]
    return call("concatenate", parts, axis)


@on_ranks(np.block)
def block(arrays: Any) -> Any:
    def depth_of(value: Any) -> int:
        return 1 + max(map(depth_of, value)) if isinstance(value, list) and value else 0

    def wide(value: Any, ndim: int) -> Any:
        if isinstance(value, list):
            return [wide(one, ndim) for one in value]
        value = asarray(value)
        return shaping.reshape(value, (1,) * max(ndim - value.ndim, 0) + value.shape)

    def most(value: Any) -> int:
        return max(map(most, value)) if isinstance(value, list) else np.ndim(value)

    def joined(value: Any, axis: int) -> Any:
        if not isinstance(value, list):
            return value
        return call("concatenate", [joined(one, axis + 1) for one in value], axis)

    depth = depth_of(arrays)
    return (
        joined(wide(arrays, max(depth, most(arrays))), -depth) if depth else asarray(arrays).copy()
    )


@on_ranks(np.repeat, np.ndarray.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    given = arrays_of(a, repeats)
    if given is None or given[1].dtype.kind not in "iub":
        return NotImplemented
    a, counts = given
    if axis is None or not a.ndim:  # an element has one axis here
        a, axis = shaping.ravel(a), 0
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    if counts.ndim == 0 or counts.size == 1:
        count = int(plain(shaping.reshape(counts, ())))
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        if not count or place_of(a) is None:
            return NotImplemented
        return call("repeat", a, count, axis)
    if counts.shape != (a.shape[axis],):
        return NotImplemented
    if bool((counts < 0).any()):
        raise ValueError("repeats may not contain negative values.")
    ends = call("cumsum", counts)
    length = int(ends[-1])
    if not length:
        return a[(slice(None),) * axis + (slice(0, 0),)].copy()
    return call("take", a, call("searchsorted", ends, call("arange", length), "right"), axis)


@on_ranks(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    a = asarray(a)
    shape = creation.shape_of(new_shape)
    total = prod(shape)
    if not total or not a.size:
        return NotImplemented
    line = shaping.ravel(a)
    made = call("take", line, call("arange", total) % a.size)
    return shaping.reshape(made, shape)


@on_ranks(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    filt, trim = asarray(filt), trim.lower()
    if trim not in ("fb", "bf", "f", "b") or not filt.ndim:
        return NotImplemented
    axes = tuple(range(filt.ndim))
    if axis is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, filt.ndim, "axis")
    key = [slice(None)] * filt.ndim
    for along in axes:
        others = tuple([k for k in range(filt.ndim) if k != along])
        there = call("flatnonzero", (filt != 0).any(others) if others else filt)
        if not there.size:
            key[along] = slice(0, 0)
            continue
        first = int(there[0]) if "f" in trim else None
        key[along] = slice(first, int(there[-1]) + 1 if "b" in trim else None)
    return filt[tuple(key)]


@on_ranks(np.pad, order=shaping.turned_order)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    array = asarray(array)
    if mode not in ("edge", "wrap", "reflect", "symmetric") or options.get("reflect_type") == "odd":
        return NotImplemented
    if isinstance(pad_width, dict) or not array.size or not array.ndim:
        return NotImplemented
    widths = np.broadcast_to(np.asarray(plain(pad_width)), (array.ndim, 2))
    if widths.dtype.kind not in "iu" or (widths < 0).any():
        return NotImplemented
    for axis, (before, after) in enumerate(widths.tolist()):
        length = array.shape[axis]
        parts = [array]
        if before:
            parts.insert(0, _taken(array, _border(mode, np.arange(-before, 0), length), axis))
        if after:
            places = _border(mode, np.arange(length, length + after), length)
            parts.append(_taken(array, places, axis))
        if len(parts) > 1:
            array = call("concatenate", parts, axis)
    return array


def _taken(array: Any, places: Array, axis: int) -> Any:
    """What stands at places along an axis: a slice, which is recorded, where they follow each other."""
    first, last, count = int(places[0]), int(places[-1]), len(places)
    if abs(last - first) == count - 1 and np.array_equal(
        places, np.linspace(first, last, count, dtype=np.int64)
    ):
        step = -1 if last < first else 1
        stop = last + step
        cut = slice(first, None if stop < 0 else stop, step)
        return array[(*(slice(None),) * axis, cut)]
    return call("take", array, places, axis)


def _border(mode: str, places: Array, length: int) -> Array:
    """Which elements stand at places outside of an axis."""
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
        arr, axis = shaping.ravel(arr), 0
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(arr.shape[axis]))
    return arr, obj, axis


@on_ranks(np.delete, order=shaping.turned_order)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    arr, obj, axis = _places_along(arr, obj, axis)
    length, before = arr.shape[axis], (slice(None),) * axis
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, bool):
        place = int(obj)
        if not -length <= place < length:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {length}")
        place %= length
        parts = arr[(*before, slice(place))], arr[(*before, slice(place + 1, None))]
        return call("concatenate", parts, axis)
    places = asarray(obj)
    if places.dtype == np.bool_:
        return arr[(*before, ~places)] if places.shape == (length,) else NotImplemented
    if places.dtype.kind not in "iu" and places.size:
        return NotImplemented
    keep = call("ones", length, bool)
    if places.size:
        keep[shaping.ravel(places)] = False
    return arr[(*before, keep)]


@on_ranks(np.insert, order=shaping.turned_order)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    arr, obj, axis = _places_along(arr, obj, axis)
    length, before = arr.shape[axis], (slice(None),) * axis
    places = np.asarray(plain(obj))
    if places.dtype == np.bool_:
        places = np.flatnonzero(places)
    if places.dtype.kind not in "iu" and places.size:
        return NotImplemented
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if ((places < -length) | (places > length)).any():
        bad = places.reshape(-1)[((places < -length) | (places > length)).reshape(-1)][0]
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")
    given = asarray(values).astype(arr.dtype)
    wanted = np.where(places < 0, places + length, places).reshape(-1)
    if wanted.size == 1:  # all values along the axis go to one place
        given = shaping.reshape(given, (1,) * (arr.ndim - given.ndim) + given.shape)
        if not places.ndim:  # NumPy puts the first axis of the values where the index is
            given = call("moveaxis", given, 0, axis)
        wanted = np.repeat(wanted, given.shape[axis])
    shape = (*arr.shape[:axis], wanted.size, *arr.shape[axis + 1 :])
    given = shaping.broadcast_to(given, shape)
    order = np.argsort(wanted, kind="stable")
    if not wanted.size:
        return arr.copy()
    made = call("empty", (*shape[:axis], length + wanted.size, *shape[axis + 1 :]), arr.dtype)
    own = call("arange", length)
    moved = own + call("searchsorted", wanted[order], own, "right")
    new = np.empty(wanted.size, np.intp)
    new[order] = wanted[order] + np.arange(wanted.size)
    made[(*before, moved)] = arr
    made[(*before, new)] = given
    return made


@on_ranks(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    x = asarray(x)
    if x.ndim != 1 or arrays_of(x) is None:
        return NotImplemented
    columns = x.size if N is None else int(N)
    kind = np.promote_types(x.dtype, int)
    if not columns:
        return NotImplemented
    wide = shaping.broadcast_to(shaping.reshape(x.astype(kind), (-1, 1)), (x.size, columns))
    first = call("ones", (x.size, 1), kind)
    if columns == 1:
        return first
    powers = call("cumprod", call("concatenate", (first, wide[:, 1:]), 1), axis=1).astype(kind)
    return powers if increasing else powers[:, ::-1].copy()


@on_ranks(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    made = asarray(a, dtype, order)
    if made.dtype.kind in "fc" and not bool(call("isfinite", made).all()):
        raise ValueError("array must not contain infs or NaNs")
    return made


@on_ranks(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    asked = {str(one).upper() for one in requirements or ()}
    if like is not None or not asked <= {
        "C",
        "C_CONTIGUOUS",
        "CONTIGUOUS",
        "A",
        "ALIGNED",
        "W",
        "WRITEABLE",
    }:
        return NotImplemented
    made = asarray(a, dtype, "C" if asked & {"C", "C_CONTIGUOUS", "CONTIGUOUS"} else None)
    return made.copy() if asked & {"W", "WRITEABLE"} and not made.flags.writeable else made


@on_ranks(np.r_.__getitem__)
def r_(key: Any) -> Any:
    return _joined_along(key, 0, 1, at_end=False)


@on_ranks(np.c_.__getitem__)
def c_(key: Any) -> Any:
    return _joined_along(key, -1, 2, at_end=True)


def _joined_along(items: Any, axis: int, least: int, *, at_end: bool) -> Any:
    """Arrays and numbers, joined; ``NotImplemented`` for slices and strings."""
    listed = items if isinstance(items, tuple) else (items,)
    if world_among(*listed) is None:
        return NotImplemented
    if not all(isinstance(one, (Handle, np.ndarray, list, int, float, complex)) for one in listed):
        return NotImplemented
    parts = arrays_of(*listed)
    if parts is None:
        return NotImplemented
    shaped = []
    for part in parts:
        missing = max(least - part.ndim, 0)
        ones = (1,) * missing
        shape = (*part.shape, *ones) if at_end else (*ones, *part.shape)
        shaped.append(shaping.reshape(part, shape))
    return call("concatenate", shaped, axis)
