"""Derivatives, polynomials and statistics of several variables, composed of slices and ufuncs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..front import COMPOSED
from ..lazy.creation import asarray
from ..lazy.elementwise import general
from ..lazy.fallback import expect
from ..lazy.shapes import copied_order_of, in_order
from . import concatenation, creation, shapes
from .blocks import call
from .operands import Array, Operand, Recorded, accepts
from .public import array_of, collective, is_large, names, native


@native(recording=COMPOSED, keeps="arrays")
@accepts(f=Recorded("iufc", converts=True), edge_order=(1, 2))
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    if axis is None:
        axes = tuple(range(f.ndim))
    else:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, f.ndim)
    spacings: list[Any] = [s if is_large(s) else np.asarray(s) for s in varargs or (1.0,)]
    if len(spacings) == 1 and spacings[0].ndim == 0:
        spacings *= len(axes)
    expect(len(spacings) == len(axes))  # else NumPy raises the error
    for k, s in zip(axes, spacings):
        expect(f.shape[k] > edge_order and s.dtype.kind in "iuf")
        expect(not s.ndim or s.shape == (f.shape[k],))
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    order = copied_order_of(f)
    slopes = [in_order(_slope(f, k, _steps(s), edge_order), order) for k, s in zip(axes, spacings)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _steps(spacing: Any) -> Any:
    """The distance of neighbours: one number where it is the same everywhere."""
    if spacing.ndim == 0:
        return spacing[()]
    if spacing.dtype.kind in "iu":
        spacing = spacing.astype(np.float64)
    steps = spacing[1:] - spacing[:-1]
    return steps[0] if bool((steps == steps[0]).all()) else steps


def _slope(f: Any, axis: int, steps: Any, edge_order: int) -> Any:
    """Central differences along ``axis``, one-sided ones at its ends."""

    def part(first: int, last: int | None) -> Any:
        return f[(slice(None),) * axis + (slice(first, last),)]

    def along(weights: Any) -> Any:
        return weights.reshape((-1,) + (1,) * (f.ndim - axis - 1))

    below, here, above = part(0, -2), part(1, -1), part(2, None)
    if np.ndim(steps) == 0:
        inside = (above - below) / (2.0 * steps)
        before = after = left = right = steps
    else:
        left, right = steps[:-1], steps[1:]
        a = -right / (left * (left + right))
        b = (right - left) / (left * right)
        c = left / (right * (left + right))
        inside = along(a) * below + along(b) * here + along(c) * above
        before, after = steps[0], steps[-1]
    if edge_order == 1:
        low = (part(1, 2) - part(0, 1)) / before
        high = (part(-1, None) - part(-2, -1)) / after
    elif np.ndim(steps) == 0:
        low = (-1.5 / steps) * part(0, 1) + (2.0 / steps) * part(1, 2) + (-0.5 / steps) * part(2, 3)
        high = (0.5 / steps) * part(-3, -2) + (-2.0 / steps) * part(-2, -1)
        high = high + (1.5 / steps) * part(-1, None)
    else:
        first, second = steps[0], steps[1]
        low = (-(2.0 * first + second) / (first * (first + second))) * part(0, 1)
        low = low + ((first + second) / (first * second)) * part(1, 2)
        low = low + (-first / (second * (first + second))) * part(2, 3)
        first, second = steps[-2], steps[-1]
        high = (second / (first * (first + second))) * part(-3, -2)
        high = high + (-(second + first) / (first * second)) * part(-2, -1)
        high = high + ((2.0 * second + first) / (second * (first + second))) * part(-1, None)
    return concatenation.concatenate([low, inside, high], axis).astype(f.dtype, copy=False)


@native()
@accepts(x=Recorded())
def polyval(p: Any, x: Any) -> Any:
    expect(not is_large(p) and np.ndim(p) == 1)
    value = creation.zeros_like(x)
    for coefficient in np.asarray(p):
        value = value * x + coefficient
    return value


@native(recording=COMPOSED)
@accepts(a=Array(least=1), b=Array(least=1))
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    expect(is_large(a) or is_large(b))
    first = shapes.moveaxis(a, axisa, -1)
    second = shapes.moveaxis(b, axisb, -1)
    expect(first.shape[-1] == second.shape[-1] == 3)
    parts = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        parts.append(first[..., i] * second[..., j] - first[..., j] * second[..., i])
    return in_order(concatenation.stack(parts, axisc), None)


@native(keeps="asked")
@accepts(m=Array())
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    expect(is_large(m) or is_large(y))
    expect(m.ndim <= 2 and np.ndim(y) <= 2 and (ddof is None or ddof == int(ddof)))
    x = _variables(m, rowvar, dtype, y)
    if y is not None:
        x = concatenation.concatenate([x, _variables(array_of(y), rowvar, dtype, m)], 0)
    weights = _observations(x.shape[1], fweights, aweights)
    less = int(not bias) if ddof is None else ddof
    factor: Any
    if weights is None:
        factor = x.shape[1] - less
        x = x - names["mean"](x, axis=1, keepdims=True)
    else:
        mean, total = names["average"](x, 1, weights, returned=True)
        total = factor = float(total[0])
        if less:
            own = 1.0 if aweights is None else float((weights * array_of(aweights)).sum()) / total
            factor = total - less * own
        x = x - mean[:, None]
    expect(factor > 0)  # else NumPy raises the error
    other = (x if weights is None else x * weights).T
    product = names["dot"](x, other.conj() if x.dtype.kind == "c" else other)
    return names["squeeze"](product * float(np.true_divide(1, factor)))


def _observations(count: int, fweights: Any, aweights: Any) -> Any:
    """Weight of each observation; ``None`` if all weights are equal."""
    weights = None
    for given, kinds in ((fweights, "iu"), (aweights, "iufb")):
        if given is None:
            continue
        given = array_of(given)
        expect(given.shape == (count,) and given.dtype.kind in kinds)
        expect(not bool((given < 0).any()))
        given = given.astype(float)
        weights = given if weights is None else weights * given
    return weights


def _variables(m: Any, rowvar: bool, dtype: Any, other: Any) -> Any:
    """One row for each variable."""
    kind = dtype
    if kind is None:
        kinds = [m.dtype] if other is None else [m.dtype, array_of(other).dtype]
        kind = np.result_type(*kinds, np.float64)
    rows = m.reshape(1, -1) if m.ndim < 2 else m if rowvar else m.T
    return rows.astype(kind, copy=False)


@native(keeps="asked")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = names["cov"](x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    width = general(np.sqrt, names["diag"](c).real)
    c = c / width[:, None] / width[None, :]
    clip = names["clip"]
    if c.dtype.kind == "c":
        return clip(c.real, -1, 1) + 1j * clip(c.imag, -1, 1)
    return clip(c, -1, 1)


@collective(np.polyfit)
@accepts(x=Operand("biuf", ndim=1, empty=False), y=Operand(), full=(False,), cov=(False,))
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    expect(isinstance(deg, (int, np.integer)) and deg >= 0)
    expect(y.ndim in (1, 2) and len(x) == len(y))
    x, y = x + 0.0, y + 0.0
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left = call("vander", x, int(deg) + 1)
    if w is not None:
        w = asarray(w) + 0.0
        left = left * call("reshape", w, (-1, 1))
        y = y * (w if y.ndim == 1 else call("reshape", w, (-1, 1)))
    scale = np.asarray(call("sqrt", (left * left).sum(0)))
    fit, _, rank, _ = names["linalg"].lstsq(left / scale, y, rcond)
    fit = np.asarray(fit)
    if rank != deg + 1:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    return asarray((fit.T / scale).T)
