"""Short compositions of ufuncs and slices."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..lazy import selecting
from ..lazy.elementwise import general
from ..lazy.fallback import by_numpy
from ..lazy.reductions import NOTHING
from ..lazy.spread import place_of
from .public import array_of, is_large, names, native, on_data


@native
def diff(a: Any, n: Any = 1, axis: int = -1, prepend: Any = NOTHING, append: Any = NOTHING) -> Any:
    a = array_of(a)
    if not is_large(a) or prepend is not NOTHING or append is not NOTHING or n < 1 or a.ndim == 0:
        return by_numpy(np.diff, (a, n, axis, prepend, append), {})
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    before = (slice(None),) * axis
    subtract = np.not_equal if a.dtype == np.bool_ else np.subtract
    for _ in range(index(n)):
        a = general(subtract, a[(*before, slice(1, None))], a[(*before, slice(None, -1))])
    return a


@native
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    if to_end is None and to_begin is None and is_large(ary) and ary.dtype.kind != "b":
        # on ranks, two shifted views of another shape would each be made from lists of places
        return diff(ary.ravel() if place_of(ary) is None else ary.flatten())
    return by_numpy(np.ediff1d, (ary, to_end, to_begin), {})


@native
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = array_of(y)
    if not is_large(y) or (x is not None and np.ndim(x) != 1) or not y.ndim:
        return by_numpy(np.trapezoid, (y, x, dx, axis), {})
    axis = np.lib.array_utils.normalize_axis_index(axis, y.ndim)
    width: Any = dx
    if x is not None:
        width = diff(array_of(x)).reshape(tuple(-1 if k == axis else 1 for k in range(y.ndim)))
    before = (slice(None),) * axis
    pairs = general(np.add, y[(*before, slice(1, None))], y[(*before, slice(None, -1))])
    return (width * pairs / 2.0).sum(axis)


@native
def sinc(x: Any) -> Any:
    if not is_large(x) or x.dtype.char not in "fd":
        return by_numpy(np.sinc, (x,), {})
    y = general(
        np.multiply, np.pi, selecting.where(general(np.equal, x, 0), x.dtype.type(1.0e-20), x)
    )
    return general(np.true_divide, general(np.sin, y), y)


@native
def angle(z: Any, deg: bool = False) -> Any:
    if not is_large(z) or z.dtype.kind not in "fc":
        return by_numpy(np.angle, (z, deg), {})
    turned = general(np.arctan2, z.imag, z.real)
    return general(np.multiply, turned, 180 / np.pi) if deg else turned


@native
def fix(x: Any, out: Any = None) -> Any:
    if out is None and is_large(x) and x.dtype.kind == "f":
        return general(np.trunc, x)
    return by_numpy(np.fix, (x,), {} if out is None else {"out": out})


@native
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    simple = is_large(x) and x.dtype.char in "fd" and x.ndim and copy
    if not simple or not all(v is None or np.isscalar(v) for v in (nan, posinf, neginf)):
        return by_numpy(
            np.nan_to_num, (x, copy, nan, posinf, neginf), {}, writes=() if copy else (0,)
        )
    limits = np.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    result = selecting.where(general(np.equal, x, np.inf), x.dtype.type(high), x)
    result = selecting.where(general(np.equal, x, -np.inf), x.dtype.type(low), result)
    return selecting.where(general(np.isnan, x), x.dtype.type(nan), result)


on_data("interp", "i0", "unwrap")
__all__ = ["names"]
