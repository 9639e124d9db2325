"""Choices between arrays, and elements changed under a mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...lazy import selecting, shaping
from ...lazy.creation import asarray
from ...lazy.spread import place_of
from ...lazy.views import Handle
from ..blocks import arrays_of, by_blocks, call, into, world_among
from .table import on_ranks


@on_ranks(np.choose, np.ndarray.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    listed = list(choices)
    world, arrays = world_among(a, listed), arrays_of(a, *listed)
    if world is None or arrays is None or not listed:
        return NotImplemented
    kind = np.result_type(  # numbers of Python's adapt to the arrays
        *[
            one if type(one) in (bool, int, float, complex) else array.dtype
            for one, array in zip(listed, arrays[1:])
        ]
    )
    result = by_blocks(
        lambda index, *rest: np.choose(index, [r.astype(kind) for r in rest], mode=mode),
        arrays,
        world,
        agrees=True,
    )
    return into(out, result, "unsafe")


@on_ranks(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **options: Any) -> Any:
    x = asarray(x)
    alone = isinstance(condlist, Handle) and condlist.ndim == x.ndim == 1  # type: ignore[attr-defined]
    conditions = [condlist] if alone else list(condlist)
    functions = list(funclist)
    masks = [asarray(condition) for condition in conditions]
    if any(mask.shape != x.shape for mask in masks) or not x.ndim:
        return NotImplemented
    masks = [mask if mask.dtype == np.bool_ else mask != 0 for mask in masks]
    if len(functions) == len(masks) + 1:
        rest = masks[0]
        for mask in masks[1:]:
            rest = rest | mask
        masks.append(~rest)
    if len(functions) != len(masks):
        return NotImplemented
    made = call("zeros_like", x)
    for mask, function in zip(masks, functions):
        if not isinstance(function, Callable):  # type: ignore[arg-type]
            made = selecting.where(mask, asarray(function).astype(x.dtype), made)
            continue
        chosen = x[mask]
        if chosen.size:
            values = function(chosen, *args, **options)
            made[mask] = asarray(values).astype(x.dtype)
    return made


@on_ranks(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions, choices = list(condlist), list(choicelist)
    if len(conditions) != len(choices) or not conditions:
        return NotImplemented
    arrays = arrays_of(*conditions, *choices, default)
    world = world_among(conditions, choices, default)
    if arrays is None or world is None:
        return NotImplemented
    if any(array.dtype != np.bool_ for array in arrays[: len(conditions)]):
        return NotImplemented
    kind = (
        np.result_type(*choices, default)
        if not any(map(_is_array, (*choices, default)))
        else (np.result_type(*[c.dtype if _is_array(c) else c for c in (*choices, default)]))
    )
    masks, values = arrays[: len(conditions)], arrays[len(conditions) :]
    if not all(np.can_cast(value.dtype, kind, "same_kind") for value in values[:-1]):
        return NotImplemented  # NumPy's words
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    result = shaping.broadcast_to(values[-1].astype(kind), shape)
    for mask, value in zip(reversed(masks), reversed(values[:-1])):
        result = selecting.where(mask, value.astype(kind), result)
    return result


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype")


@on_ranks(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> Any:
    arrays = arrays_of(src, where)
    if arrays is None or place_of(dst) is None or arrays[1].dtype != np.bool_:
        return NotImplemented
    source, mask = arrays
    weak = {bool: "?", int: "u1", float: "f2", complex: "F"}.get(type(src))
    given = source.dtype if weak is None else np.dtype("i1" if weak == "u1" and src < 0 else weak)
    if not np.can_cast(given, dst.dtype, casting):
        return NotImplemented
    dst[...] = selecting.where(mask, source.astype(dst.dtype), dst)
    return None


@on_ranks(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> Any:
    if place_of(a) is None:
        return NotImplemented
    given, truth = asarray(values), asarray(mask)
    if truth.shape != a.shape or not given.size or not np.can_cast(given.dtype, a.dtype, "safe"):
        return NotImplemented
    if truth.dtype != np.bool_:
        truth = truth != 0
    if given.size == 1:
        wide = shaping.reshape(given, ())
    elif given.shape == a.shape:
        wide = given
    else:
        wide = _cycled(shaping.ravel(given), a.size)
        wide = shaping.reshape(wide, a.shape)
    a[...] = selecting.where(truth, wide.astype(a.dtype), a)
    return None


def _cycled(line: Any, length: int) -> Any:
    """The elements of a line over and over, so many in all."""
    return call("take", line, call("arange", length) % line.size)


@on_ranks(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    if place_of(a) is None or a.ndim < 2:
        return NotImplemented
    if a.ndim > 2 and len(set(a.shape)) != 1:
        return NotImplemented
    given = asarray(val)
    rows = a.shape[0]
    if a.ndim == 2:
        step, end = a.shape[1] + 1, a.size if wrap else min(a.size, a.shape[1] * a.shape[1])
        count = len(range(0, end, step))
    else:
        step, count = sum(rows**k for k in range(a.ndim)), rows
    places = call("arange", count) * step
    values = given if given.size == 1 else _cycled(shaping.ravel(given), count)
    call("put", a, places, values.astype(a.dtype))
    return None


@on_ranks(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    x = asarray(x)
    if not x.ndim or not all(v is None or np.isscalar(v) for v in (nan, posinf, neginf)):
        return NotImplemented
    if x.dtype.char in "fd":
        made = call("nan_to_num", x, True, nan, posinf, neginf)
    elif x.dtype.char in "FD":
        parts = [call("nan_to_num", one, True, nan, posinf, neginf) for one in (x.real, x.imag)]
        made = (parts[0] + 1j * parts[1]).astype(x.dtype)
    elif x.dtype.kind in "biu":
        made = x.copy() if copy else x
    else:
        return NotImplemented
    if copy:
        return made
    x[...] = made
    return x
