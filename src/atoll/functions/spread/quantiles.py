"""Medians and quantiles: of lanes that a rank has whole, or picked from a line in order.

A quantile of a line needs two neighbours in the ordered line, and where between them it lies.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...collective import Section, compressed, fetch, in_order
from ...comm.world import World
from ...lazy import shaping
from ...lazy.creation import asarray
from ...lazy.making import plain
from ...lazy.spread import in_step, world_of
from ..blocks import along, arrays_of, call, in_c_order, into, line_of, normal_axis
from .table import on_ranks

Array = np.ndarray[Any, Any]

_SPREAD = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
"""For each method with places between two elements, the parameters (alpha, beta) of the places of quantiles."""
_OTHERS: dict[str, Any] = {
    "linear": np.asarray, "lower": np.floor, "higher": np.ceil, "nearest": np.rint,
    "midpoint": lambda at: 0.5 * (np.floor(at) + np.ceil(at)),
}  # fmt: skip
"""For each other method, the place that it takes instead of the one between the first and the last."""


def _numbers(handle: Any, world: World, *, without_nan: bool) -> Section:
    """The elements in order, in even blocks."""
    line = line_of(handle, world)
    if without_nan and line.dtype.kind in "fc":
        line = compressed(line, line.with_block(~np.isnan(line.block)))
    return in_order(line)


def _picked(line: Section, places: Array) -> Array:
    """Elements of an ordered line, on every rank."""
    return fetch(line, (np.asarray(places, np.int64).reshape(-1),)).reshape(np.shape(places))


def _median_of(line: Section) -> Any:
    """NumPy's median of the few elements that decide it."""
    length = line.layout.size
    if not length:  # all of them are not a number
        return np.nanmedian(np.full(1, np.nan, line.dtype))
    middle = length // 2
    found = _picked(line, np.array([middle - 1 + length % 2, middle, length - 1]))
    if found.dtype.kind in "fc" and np.isnan(found[2]):
        return found[2]
    return np.median(found[1:2] if length % 2 else found[:2])


def _quantiles_of(line: Section, q: Array, method: str, kind: np.dtype[Any]) -> Any:
    """NumPy's quantiles of an ordered line, by the two elements around each."""
    length = line.layout.size
    if method in _SPREAD:
        alpha, beta = _SPREAD[method]
        at = length * q + (alpha + q * (1 - alpha - beta)) - 1
    else:
        at = _OTHERS[method]((length - 1) * q)
    wide = np.asarray(at, np.result_type(at, np.float64))  # where no place is infinite
    at = np.clip(wide, 0, length - 1)
    low = np.floor(at)
    high = np.where(wide < 0, 0, np.minimum(low + 1, length - 1))
    found = _picked(line, np.concatenate([low.reshape(-1), high.reshape(-1), [length - 1]]))
    if found.dtype.kind == "f" and np.isnan(found[-1]):
        return np.full(q.shape, found[-1], kind)[()]
    below, above = found[: q.size].reshape(q.shape), found[q.size : -1].reshape(q.shape)
    if method in ("lower", "higher", "nearest") or (method == "linear" and q.dtype.kind in "iu"):
        return below.astype(kind)[()]  # whatever is beside them
    share = np.asarray(at - low).astype(kind)
    step = above - below
    made = np.where(share < 0.5, below + step * share, above - step * (1 - share))
    return made.astype(kind)[()]


def _median(a: Any, axis: Any, out: Any, keepdims: bool, *, nan: bool) -> Any:
    a = asarray(a)
    world = world_of([a])
    if world is None or arrays_of(a) is None or a.dtype.kind == "c" or not a.size:
        return NotImplemented
    numpy_function: Any = np.nanmedian if nan else np.median
    axes = normal_axis(axis, a.ndim)
    if len(axes) == a.ndim:
        found = _median_of(_numbers(a, world, without_nan=nan))
        made = asarray(np.full((1,) * a.ndim, found)) if keepdims else found
        return into(out, made, "unsafe")

    def line(one: Any) -> Any:
        return _median_of(_numbers(one, world, without_nan=nan))

    made = along(a, axes, world, lambda rows: numpy_function(rows, axis=1), line)
    return into(out, shaping.reshape(made, _left(a.shape, axes, keepdims)), "unsafe")


def _left(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape of a fold over some axes."""
    if keepdims:
        return tuple([1 if k in axes else n for k, n in enumerate(shape)])
    return tuple([n for k, n in enumerate(shape) if k not in axes])


@on_ranks(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> Any:
    return _median(a, axis, out, bool(keepdims), nan=False)


@on_ranks(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> Any:
    return _median(a, axis, out, keepdims is True, nan=True)


def _quantile(
    original: Any, percent: bool, a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any
) -> Any:  # fmt: skip
    a = asarray(a)
    world = world_of([a])
    known = method in _SPREAD or method in _OTHERS
    if world is None or arrays_of(a) is None or weights is not None or not known or not a.size:
        return NotImplemented
    weak = type(q) in (int, float)  # such a number does not widen the result
    q = q if weak else np.asarray(plain(q))
    if np.asarray(q).dtype.kind not in "fiu" or a.dtype.kind not in "fiu":
        return NotImplemented
    in_step(world, "quantiles", str(np.asarray(q).tolist()))  # which decide between which elements
    kind = original(np.zeros(1, a.dtype), q, method=method).dtype  # or NumPy's error
    given = np.true_divide(q, 100) if percent else np.asarray(q)
    nan = original in (np.nanquantile, np.nanpercentile)
    axes = normal_axis(axis, a.ndim)
    shape = (*given.shape, *_left(a.shape, axes, keepdims))
    if out is not None and out.shape != shape:
        return NotImplemented

    def line(one: Any) -> Any:
        sorted_line = _numbers(one, world, without_nan=nan)
        if not sorted_line.layout.size:
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)
            return np.full(given.shape, np.nan, kind)[()]
        return _quantiles_of(sorted_line, given, method, kind)

    if len(axes) == a.ndim:
        found = line(a)
        return into(out, asarray(np.reshape(found, shape)) if shape else found)

    def rows(block: Array) -> Array:
        found: Array = original(block, q, axis=1, method=method)
        return np.reshape(found, (given.size, len(block))).T

    made = along(a, axes, world, rows, lambda one: np.reshape(line(one), (-1,)))
    return into(out, shaping.reshape(call("matrix_transpose", made), shape))


@on_ranks(np.quantile, order=in_c_order)
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _quantile(np.quantile, False, a, q, axis, out, method, bool(keepdims), weights)


@on_ranks(np.percentile, order=in_c_order)
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _quantile(np.percentile, True, a, q, axis, out, method, bool(keepdims), weights)


@on_ranks(np.nanquantile, order=in_c_order)
def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _quantile(np.nanquantile, False, a, q, axis, out, method, keepdims is True, weights)


@on_ranks(np.nanpercentile, order=in_c_order)
def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _quantile(np.nanpercentile, True, a, q, axis, out, method, keepdims is True, weights)
