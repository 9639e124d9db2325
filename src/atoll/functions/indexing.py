"""Selections of elements: by condition, by index, by order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import jointly, selecting
from ..lazy.elementwise import assign, value_for
from ..lazy.fallback import by_numpy
from ..lazy.late import taking
from ..lazy.reductions import NOTHING
from ..lazy.spread import place_of
from ..lazy.views import Handle
from .public import array_of, is_large, native, on_data


@native
def where(condition: Any, x: Any = NOTHING, y: Any = NOTHING, /) -> Any:
    if x is NOTHING and y is NOTHING:
        return nonzero(condition)
    if x is NOTHING or y is NOTHING:
        raise ValueError("either both or neither of x and y should be given")
    return selecting.where(condition, x, y)


@native
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    return selecting.select(condlist, choicelist, default)


@native
def clip(a: Any, a_min: Any = NOTHING, a_max: Any = NOTHING, out: Any = None, *, min: Any = NOTHING, max: Any = NOTHING, **options: Any) -> Any:  # fmt: skip
    a = array_of(a)
    if a_min is NOTHING and a_max is NOTHING:
        a_min, a_max = (None if min is NOTHING else min), (None if max is NOTHING else max)
    elif a_min is NOTHING or a_max is NOTHING or min is not NOTHING or max is not NOTHING:
        return np.clip(a._array(), a_min, a_max, min=min, max=max)
    return a.clip(a_min, a_max, out, **options)


@native
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return array_of(a).round(decimals, out)


@native
def around(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return array_of(a).round(decimals, out)


@native
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    recordable = (
        is_large(dst)
        and isinstance(src, Handle)
        and where is True
        and dst._cell.writeable
        and dst._geometry.writeable
        and np.can_cast(src.dtype, dst.dtype, casting)  # type: ignore[attr-defined]
        and value_for(dst._geometry, src) is not None
    )
    if recordable and assign(dst._cell, dst._geometry, src):
        return
    by_numpy(np.copyto, (dst, src), {"casting": casting, "where": where}, writes=(0,))


@native
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    if _spread(a, indices):
        result = jointly.take(array_of(a), indices, axis, out, mode)
        if result is not NotImplemented:
            return result
    return by_numpy(np.take, (a, indices, axis, out, mode), {})


@native
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    result = jointly.compress(array_of(a), condition, axis, out)
    return (
        by_numpy(np.compress, (condition, a, axis, out), {}) if result is NotImplemented else result
    )


@native
def extract(condition: Any, arr: Any) -> Any:
    if _spread(condition, arr) and np.shape(condition) == np.shape(arr):
        mask = array_of(condition)
        return array_of(arr)[mask if mask.dtype == np.bool_ else mask != 0]
    return by_numpy(np.extract, (condition, arr), {})


@native
def nonzero(a: Any) -> Any:
    result = taking.nonzero(a) if isinstance(a, Handle) else NotImplemented
    return by_numpy(np.nonzero, (a,), {}) if result is NotImplemented else result


@native
def flatnonzero(a: Any) -> Any:
    result = taking.flatnonzero(a) if isinstance(a, Handle) else NotImplemented
    return by_numpy(np.flatnonzero, (a,), {}) if result is NotImplemented else result


@native
def argwhere(a: Any) -> Any:
    result = taking.argwhere(a) if isinstance(a, Handle) else NotImplemented
    return by_numpy(np.argwhere, (a,), {}) if result is NotImplemented else result


@native
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if _spread(arr, indices) and isinstance(axis, int) and -np.ndim(arr) <= axis < np.ndim(arr):
        arr = array_of(arr)
        result = taking.take_along_axis(arr, array_of(indices), axis % arr.ndim)
        if result is not NotImplemented:
            return result
    return by_numpy(np.take_along_axis, (arr, indices, axis), {})


@native
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if _spread(arr) and isinstance(axis, int) and -np.ndim(arr) <= axis < np.ndim(arr):
        arr = array_of(arr)
        if taking.put_along_axis(arr, array_of(indices), values, axis % arr.ndim):
            return
    by_numpy(np.put_along_axis, (arr, indices, values, axis), {}, writes=(0,))


@native
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    if _spread(a) and jointly.put(a, ind, v, mode) is not NotImplemented:
        return
    by_numpy(np.put, (a, ind, v, mode), {}, writes=(0,))


@native
def place(arr: Any, mask: Any, vals: Any) -> None:
    if _spread(arr) and taking.place(arr, array_of(mask), array_of(vals)):
        return
    by_numpy(np.place, (arr, mask, vals), {}, writes=(0,))


def _spread(*values: Any) -> bool:
    """Whether one of these lies on several ranks."""
    return any(place_of(value) is not None for value in values)


on_data(
    "choose", "lexsort", "sort", "argsort", "unique", "searchsorted", "partition", "argpartition", "sort_complex", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "union1d", "intersect1d", "setdiff1d", "setxor1d", "isin",
    "unravel_index", "ravel_multi_index", "piecewise", "apply_along_axis", "apply_over_axes", "packbits",
    "unpackbits",
)  # fmt: skip
on_data("putmask", "fill_diagonal", writes=(0, "a", "arr"))
