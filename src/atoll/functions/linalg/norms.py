"""Norms and condition numbers, composed of sums and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...context.interrupts import passed_on
from ...lazy import shapes
from ...lazy.agreement import place_of
from ...lazy.creation import asarray
from ...lazy.fallback import expect
from ..blocks import call
from ..public import collective, is_large
from .factors import singular_values
from .matrices import TAKEN, floats


def _lengths(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    """Norms of vectors."""
    if ord is None or ord == 2:
        squares = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
        return call("sqrt", squares.sum(axes, keepdims=keepdims))
    if ord in (np.inf, -np.inf):
        return call("max" if ord > 0 else "min", abs(x), axes, keepdims=keepdims)
    if ord == 0:
        return (x != 0).astype(x.real.dtype).sum(axes, keepdims=keepdims)
    if ord == 1:
        return abs(x).sum(axes, keepdims=keepdims)
    expect(place_of(x) is not None)
    powers = call("power", abs(x), ord).sum(axes, keepdims=keepdims)
    return call("power", powers, np.reciprocal(ord, dtype=np.float64)).astype(x.real.dtype)


def _expect_many(x: Any, ord: Any) -> None:
    """Leave a few elements, which it takes at once, and unknown orders to NumPy."""
    expect(is_large(x) and not (place_of(x) is None and x._geometry.short))
    expect(x.size and x.dtype.char in TAKEN and not isinstance(ord, str))


@collective(np.linalg.norm, alone=True)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = asarray(x)
    frobenius = ord is None or ord == "fro"
    _expect_many(x, None if frobenius else ord)
    x = floats(x)
    if axis is None and (ord is None or (ord == "fro" and x.ndim == 2)):
        if keepdims or x.dtype.kind == "c" or place_of(x) is not None:
            return _lengths(x, 2, None, keepdims)
        line = x.ravel("K")
        return call("sqrt", call("dot", line, line))
    try:
        axes = tuple(range(x.ndim)) if axis is None else axis
        axes = np.lib.array_utils.normalize_axis_tuple(axes, x.ndim)
    except TypeError as problem:
        passed_on(problem)
        return NotImplemented
    if len(axes) == 1 and ord != "fro":
        return _lengths(x, ord, axes[0], keepdims)
    expect(len(axes) == 2)
    if frobenius:
        return _lengths(x, 2, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = axes if abs(ord) == 1 else axes[::-1]
        sums = abs(x).sum(inner, keepdims=True)
        extremes = call("max" if ord > 0 else "min", sums, outer, keepdims=True)
        left = [1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes]
        return shapes.reshape(extremes, tuple(left)) if left else extremes[(0,) * x.ndim]
    expect(x.ndim == 2 and axes == (0, 1) and ord in (2, -2))
    values = singular_values(x)
    number = values.max() if ord == 2 else values.min()
    return asarray(number.reshape(1, 1)) if keepdims else number


@collective(np.linalg.matrix_norm, alone=True)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@collective(np.linalg.vector_norm, alone=True)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = asarray(x)
    _expect_many(x, ord)
    return _lengths(floats(x), ord, axis, keepdims)
