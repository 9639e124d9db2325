"""Short compositions of ufuncs and slices."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..comm.world import World
from ..front import COMPOSED
from ..lazy import selections, shapes
from ..lazy.agreement import place_of
from ..lazy.elementwise import general
from ..lazy.fallback import by_numpy, expect
from ..lazy.reductions import NOTHING
from ..lazy.ufunc_calls import call
from .blocks import by_blocks
from .operands import Array, Operand, Recorded, accepts
from .public import array_of, collective, is_large, names, native


@native(recording=COMPOSED, keeps="arrays")
def diff(a: Any, n: Any = 1, axis: int = -1, prepend: Any = NOTHING, append: Any = NOTHING) -> Any:
    expect(any(map(is_large, (a, prepend, append))) and n >= 1 and np.ndim(a))
    a = array_of(a)
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    before = (slice(None),) * axis
    parts = []
    for part in (prepend, a, append):
        if part is NOTHING:
            continue
        part = array_of(part)
        if not part.ndim:
            part = shapes.broadcast_to(part, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))
        parts.append(part)
    if len(parts) > 1:
        a = names["concatenate"](parts, axis)
    subtract = np.not_equal if a.dtype == np.bool_ else np.subtract
    for _ in range(index(n)):
        a = general(subtract, a[(*before, slice(1, None))], a[(*before, slice(None, -1))])
    return a


@native(recording=COMPOSED, keeps="arrays")
@accepts(ary=Recorded())
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    expect(ary.dtype.kind != "b")
    expect(to_end is to_begin is None or place_of(ary) is not None)
    # on ranks, two shifted views of another shape would each be made from lists of places
    line = diff(ary.ravel() if place_of(ary) is None else ary.flatten())
    parts = [line]
    for border, name in ((to_begin, "to_begin"), (to_end, "to_end")):
        if border is None:
            continue
        border = array_of(border)
        if not np.can_cast(border.dtype, ary.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        border = shapes.ravel(border).astype(ary.dtype)
        parts.insert(0 if name == "to_begin" else len(parts), border)
    return line if len(parts) == 1 else names["concatenate"](parts)


@native(recording=COMPOSED, keeps="arrays")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    expect(is_large(y) or is_large(x))
    y = Array(least=1).accept(y)
    axis = np.lib.array_utils.normalize_axis_index(axis, y.ndim)
    width: Any = dx
    if x is not None:
        x = array_of(x)
        width = diff(x, axis=axis if x.ndim > 1 else -1)
        if x.ndim == 1:
            width = width.reshape(tuple(-1 if k == axis else 1 for k in range(y.ndim)))
    before = (slice(None),) * axis
    pairs = general(np.add, y[(*before, slice(1, None))], y[(*before, slice(None, -1))])
    return (width * pairs / 2.0).sum(axis)


@collective(np.unwrap, order=shapes.order_of)
@accepts(p=Operand(types="fd", least=1))
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    axis = np.lib.array_utils.normalize_axis_index(axis, p.ndim)
    steps = diff(p, axis=axis)
    low, high = -period / 2, period / 2
    turned = names["mod"](steps - low, period) + low
    turned = selections.where((turned == low) & (steps > 0), high, turned)
    change = turned - steps
    limit = period / 2 if discont is None else discont
    change = selections.where(abs(steps) < limit, 0.0, change)
    unwrapped = p.copy()
    rest = (slice(None),) * axis + (slice(1, None),)
    unwrapped[rest] = p[rest] + names["cumsum"](change, axis)
    return unwrapped


@collective(np.i0, keeps="arrays")
@accepts(x=Operand("biuf"))
def i0(x: Any, *, world: World) -> Any:
    return by_blocks(np.i0, [x], world)


@native()
@accepts(x=Recorded(types="fd"))
def sinc(x: Any) -> Any:
    y = general(
        np.multiply, np.pi, selections.where(general(np.equal, x, 0), x.dtype.type(1.0e-20), x)
    )
    return general(np.true_divide, general(np.sin, y), y)


@native(keeps="arrays")
@accepts(z=Recorded("fc"))
def angle(z: Any, deg: bool = False) -> Any:
    parts = (z.imag, z.real) if z.dtype.kind == "c" else (0, z)
    turned = general(np.arctan2, *parts)
    return general(np.multiply, turned, 180 / np.pi) if deg else turned


@native(keeps="arrays")
@accepts(x=Recorded("f"))
def fix(x: Any, out: Any = None) -> Any:
    return call(np.trunc, (x,), {} if out is None else {"out": out})


@native(recording=COMPOSED, keeps="arrays")
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    instead = (nan, posinf, neginf)
    known = is_large(x) and x.ndim and x.dtype.char not in "e"
    if not known or not all(v is None or np.isscalar(v) for v in instead):
        return by_numpy(
            np.nan_to_num, (x, copy, nan, posinf, neginf), {}, writes=() if copy else (0,)
        )
    if x.dtype.kind == "f":
        replaced = _numbers(x, *instead)
        if copy:
            return shapes.in_order(replaced, shapes.copied_order_of(x))
        x[...] = replaced
        return x
    if copy:
        x = shapes.copied(x, "K")
    if x.dtype.kind == "c":
        for part in (x.real, x.imag):
            part[...] = _numbers(part, *instead)
    return x


def _numbers(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """The elements, with numbers in the place of NaN and of infinities."""
    limits = np.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    result = selections.where(general(np.equal, x, np.inf), x.dtype.type(high), x)
    result = selections.where(general(np.equal, x, -np.inf), x.dtype.type(low), result)
    return selections.where(general(np.isnan, x), x.dtype.type(nan), result)
