"""Derivatives, polynomials and statistics of several variables, composed of slices and ufuncs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..lazy.creation import asarray
from ..lazy.elementwise import general
from ..lazy.shaping import copied_order_of, in_order
from . import creation, joining, shaping
from .blocks import call
from .public import array_of, collective, is_large, names, native


@native(keeps="arrays")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = array_of(f)
    if not is_large(f) or f.dtype.kind not in "iufc" or edge_order not in (1, 2):
        return NotImplemented
    if axis is None:
        axes = tuple(range(f.ndim))
    else:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, f.ndim)
    spacings: list[Any] = [s if is_large(s) else np.asarray(s) for s in varargs or (1.0,)]
    if len(spacings) == 1 and spacings[0].ndim == 0:
        spacings *= len(axes)
    fits = len(spacings) == len(axes) and all(
        f.shape[k] > edge_order
        and (not s.ndim or s.shape == (f.shape[k],))
        and s.dtype.kind in "iuf"
        for k, s in zip(axes, spacings)
    )
    if not fits:  # NumPy has the words for what is wrong
        return NotImplemented
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
    return joining.concatenate([low, inside, high], axis).astype(f.dtype, copy=False)


@native()
def polyval(p: Any, x: Any) -> Any:
    if not is_large(x) or is_large(p) or np.ndim(p) != 1:
        return NotImplemented
    value = creation.zeros_like(x)
    for coefficient in np.asarray(p):
        value = value * x + coefficient
    return value


@native()
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = array_of(a), array_of(b)
    if not (is_large(a) or is_large(b)) or not (a.ndim and b.ndim):
        return NotImplemented
    first = shaping.moveaxis(a, axisa, -1)
    second = shaping.moveaxis(b, axisb, -1)
    if first.shape[-1] != 3 or second.shape[-1] != 3:
        return NotImplemented
    parts = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        parts.append(first[..., i] * second[..., j] - first[..., j] * second[..., i])
    return in_order(joining.stack(parts, axisc), None)


@native(keeps="asked")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    m = array_of(m)
    known = (is_large(m) or is_large(y)) and m.ndim <= 2 and np.ndim(y) <= 2
    weights = factor = None
    if known and (ddof is None or ddof == int(ddof)):
        x = _variables(m, rowvar, dtype, y)
        if y is not None:
            x = joining.concatenate([x, _variables(array_of(y), rowvar, dtype, m)], 0)
        weights = _observations(x.shape[1], fweights, aweights)
        less = int(not bias) if ddof is None else ddof
        if weights is None:
            factor = x.shape[1] - less
            x = x - names["mean"](x, axis=1, keepdims=True)
        elif weights is not NotImplemented:
            mean, total = names["average"](x, 1, weights, returned=True)
            total = factor = float(total[0])
            if less:
                own = (
                    1.0 if aweights is None else float((weights * array_of(aweights)).sum()) / total
                )
                factor = total - less * own
            x = x - mean[:, None]
    if factor is None or factor <= 0:  # NumPy has the words for it
        return NotImplemented
    other = (x if weights is None else x * weights).T
    product = names["dot"](x, other.conj() if x.dtype.kind == "c" else other)
    return names["squeeze"](product * float(np.true_divide(1, factor)))


def _observations(count: int, fweights: Any, aweights: Any) -> Any:
    """What each observation weighs; ``None`` if all weigh the same, ``NotImplemented`` if NumPy refuses the weights."""
    weights = None
    for given, kinds in ((fweights, "iu"), (aweights, "iufb")):
        if given is None:
            continue
        given = array_of(given)
        if given.shape != (count,) or given.dtype.kind not in kinds or bool((given < 0).any()):
            return NotImplemented
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
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    x, y = asarray(x), asarray(y)
    if full or cov or not isinstance(deg, (int, np.integer)) or deg < 0 or x.ndim != 1:
        return NotImplemented
    if y.ndim not in (1, 2) or len(x) != len(y) or not x.size or x.dtype.kind == "c":
        return NotImplemented
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
