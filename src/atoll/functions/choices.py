"""Choices between arrays, and elements changed under a mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..front import Kind
from ..lazy import selections, shapes
from ..lazy.agreement import world_of
from ..lazy.creation import asarray
from ..lazy.elementwise import assign, value_for
from ..lazy.fallback import by_numpy, expect
from ..lazy.views import Handle
from .blocks import by_blocks, call, into
from .operands import Operand, Operands, Target, accepts
from .public import collective, is_large, native


@collective(np.choose, np.ndarray.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    listed = list(choices)
    a, arrays = Operand().accept(a), Operands().accept(listed)
    world: Any = world_of([a, *arrays])
    expect(world)
    kind = np.result_type(  # numbers of Python's adapt to the arrays
        *[
            choice if type(choice) in (bool, int, float, complex) else array.dtype
            for choice, array in zip(listed, arrays)
        ]
    )
    result = by_blocks(
        lambda index, *rest: np.choose(index, [r.astype(kind) for r in rest], mode=mode),
        [a, *arrays],
        world,
        agrees=True,
    )
    return into(out, result, "unsafe")


@collective(np.piecewise, keeps="arrays")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **options: Any) -> Any:
    x = asarray(x)
    expect(x.ndim)
    alone = isinstance(condlist, Handle) and condlist.ndim == x.ndim == 1  # type: ignore[attr-defined]
    conditions = [condlist] if alone else list(condlist)
    functions = list(funclist)
    masks = [asarray(condition) for condition in conditions]
    expect(all(mask.shape == x.shape for mask in masks))
    masks = [mask if mask.dtype == np.bool_ else mask != 0 for mask in masks]
    if len(functions) == len(masks) + 1:
        rest = masks[0]
        for mask in masks[1:]:
            rest = rest | mask
        masks.append(~rest)
    expect(len(functions) == len(masks))
    result = call("zeros_like", x)
    for mask, function in zip(masks, functions):
        if not isinstance(function, Callable):  # type: ignore[arg-type]
            result = selections.where(mask, asarray(function).astype(x.dtype), result)
            continue
        chosen = x[mask]
        if chosen.size:
            values = function(chosen, *args, **options)
            result[mask] = asarray(values).astype(x.dtype)
    return result


@native()
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions = list(condlist)
    choices = [
        c if hasattr(c, "dtype") or np.isscalar(c) else asarray(c) for c in (*choicelist, default)
    ]
    kinds = [getattr(choice, "dtype", choice) for choice in choices]
    expect(0 < len(conditions) == len(choices) - 1 and any(map(is_large, (*conditions, *choices))))
    expect(all(isinstance(kind, (np.dtype, int, float, complex)) for kind in kinds))
    conditions = list(map(asarray, conditions))
    kind = np.result_type(*kinds)
    own = [kind if isinstance(kind, np.dtype) else np.asarray(kind).dtype for kind in kinds]
    expect(all(np.can_cast(dtype, kind, "same_kind") for dtype in own[:-1]))
    expect(all(condition.dtype == np.bool_ for condition in conditions))
    # NumPy converts numbers as it does arrays: -1 is the largest unsigned integer
    result: Any
    *choices, result = [
        choice if isinstance(choice, Handle) else np.asarray(choice).astype(kind)[()]
        for choice in choices
    ]
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        result = selections.where(condition, choice, result)
    return shapes.in_order(result.astype(kind, copy=False), None)


@native(kind=Kind.WRITES)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if (
        is_large(dst)
        and isinstance(src, Handle)
        and where is True
        and dst._cell.writeable
        and dst._geometry.writeable
        and np.can_cast(src.dtype, dst.dtype, casting)  # type: ignore[attr-defined]
        and value_for(dst._geometry, src) is not None
        and assign(dst._cell, dst._geometry, src)
    ):
        return
    options = {"casting": casting, "where": where}
    by_numpy(np.copyto, (dst, src), options, writes=(0,), jointly=_copied_under)


@accepts(dst=Target(), where=Operand("b"))
def _copied_under(dst: Any, src: Any, casting: Any, where: Any) -> Any:
    """``copyto`` on ranks, under a mask or of a value that an assignment does not take."""
    source = Operand().accept(src)
    weak = {bool: "?", int: "u1", float: "f2", complex: "F"}.get(type(src))
    given = source.dtype if weak is None else np.dtype("i1" if weak == "u1" and src < 0 else weak)
    expect(np.can_cast(given, dst.dtype, casting))
    dst[...] = selections.where(where, source.astype(dst.dtype), dst)
    return None


@collective(np.putmask, writes=(0, "a"), kind=Kind.WRITES)
@accepts(a=Target(), values=Operand(empty=False))
def putmask(a: Any, mask: Any, values: Any) -> Any:
    given, truth = values, asarray(mask)
    expect(truth.shape == a.shape and np.can_cast(given.dtype, a.dtype, "safe"))
    if truth.dtype != np.bool_:
        truth = truth != 0
    if given.size == 1:
        wide = shapes.reshape(given, ())
    elif given.shape == a.shape:
        wide = given
    else:
        wide = _cycled(shapes.ravel(given), a.size)
        wide = shapes.reshape(wide, a.shape)
    a[...] = selections.where(truth, wide.astype(a.dtype), a)
    return None


def _cycled(line: Any, length: int) -> Any:
    """The elements of a line repeated cyclically to ``length`` elements."""
    return call("take", line, call("arange", length) % line.size)


@collective(np.fill_diagonal, writes=(0, "a"), kind=Kind.LARGE | Kind.WRITES)
@accepts(a=Target(least=2))
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    expect(a.ndim == 2 or len(set(a.shape)) == 1)
    given = asarray(val)
    rows = a.shape[0]
    if a.ndim == 2:
        step, end = a.shape[1] + 1, a.size if wrap else min(a.size, a.shape[1] * a.shape[1])
        count = len(range(0, end, step))
    else:
        step, count = sum(rows**k for k in range(a.ndim)), rows
    places = call("arange", count) * step
    call("put", a, places, given.astype(a.dtype))
    return None
