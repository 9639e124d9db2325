"""Medians and quantiles: of lanes that a rank has whole, or picked from a line in order.

A quantile of a line needs two neighbours in the ordered line, and where between them it lies.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...comm.world import World
from ...recording import shaping
from ...recording.creation import asarray
from ...recording.spread import in_step, world_of
from ...run.collective import Section, compressed, fetch, in_order
from .table import along, arrays_of, call, in_c_order, into, line_of, normal_axis, on_ranks

Array = np.ndarray[Any, Any]

_SPREAD = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
"""For each method between two elements, the parameters (alpha, beta) of the places of quantiles."""


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
    if not length:
        return np.median(np.empty(0, line.dtype))
    middle = length // 2
    found = _picked(line, np.array([middle - 1 + length % 2, middle, length - 1]))
    if found.dtype.kind in "fc" and np.isnan(found[2]):
        return found[2]
    return np.median(found[1:2] if length % 2 else found[:2])


def _quantiles_of(line: Section, q: Array, method: str) -> Any:
    """NumPy's quantiles of an ordered line, by the two elements around each."""
    length = line.layout.size
    if method == "linear" and q.dtype.kind in "iu":  # an end of the line, whatever is beside it
        ends = _picked(line, np.append((length - 1) * q, length - 1))
        if ends.dtype.kind in "fc" and np.isnan(ends[-1]):
            return np.full(q.shape, ends[-1])
        return ends[:-1].reshape(q.shape)[()]
    if method in _SPREAD:
        alpha, beta = _SPREAD[method]
        at = (
            (length - 1) * q
            if method == "linear"
            else (length * q + (alpha + q * (1 - alpha - beta)) - 1)
        )
    else:
        at = (length - 1) * q
        at = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}.get(
            method, lambda x: 0.5 * (np.floor(x) + np.ceil(x))
        )(at)
    low = np.clip(np.floor(at), 0, length - 1)
    high = np.clip(low + 1, 0, length - 1)
    low = np.where(at < 0, 0, low)
    high = np.where(at < 0, 0, high)
    found = _picked(line, np.concatenate([low.reshape(-1), high.reshape(-1), [length - 1]]))
    if found.dtype.kind in "fc" and np.isnan(found[-1]):
        return np.full(q.shape, found[-1])
    below, above = found[: q.size].reshape(q.shape), found[q.size : -1].reshape(q.shape)
    if method in ("lower", "higher", "nearest"):
        return below
    share = np.clip(at - low, 0, None)
    step = above - below
    made = np.where(share < 0.5, below + step * share, above - step * (1 - share))
    return made if made.ndim else made[()]


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
    a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, weights: Any, *, nan: bool
) -> Any:
    a = asarray(a)
    world = world_of([a])
    known = method in _SPREAD or method in ("lower", "higher", "nearest", "midpoint")
    if world is None or arrays_of(a) is None or weights is not None or not known or not a.size:
        return NotImplemented
    if isinstance(q, float) and a.dtype.kind == "f":
        q = np.asarray(q, a.dtype)  # as NumPy has it, a number does not widen the result
    q = np.asarray(q)
    if q.dtype.kind not in "fiu" or a.dtype.kind not in "fiu" or (q < 0).any() or (q > 1).any():
        return NotImplemented
    in_step(world, "quantiles", str(q.tolist()))  # which decide between which elements
    numpy_function: Any = np.nanquantile if nan else np.quantile
    axes = normal_axis(axis, a.ndim)

    def line(one: Any) -> Any:
        sorted_line = _numbers(one, world, without_nan=nan)
        if not sorted_line.layout.size:
            return np.full(q.shape, np.nan)
        return _quantiles_of(sorted_line, q, method)

    if len(axes) == a.ndim:
        found = line(a)
        made = np.reshape(found, (*q.shape, *(1,) * a.ndim)) if keepdims else found
        return into(out, asarray(made) if np.ndim(made) else made)

    def rows(block: Array) -> Array:
        found: Array = np.moveaxis(
            numpy_function(block, q.reshape(-1), axis=1, method=method), 0, 1
        )
        return found

    made = along(a, axes, world, rows, lambda one: np.reshape(line(one), (-1,)))
    left = _left(a.shape, axes, keepdims)
    assert prod(left) * q.size == made.size
    made = shaping.reshape(call("matrix_transpose", made), (*q.shape, *left))
    return into(out, made)


def _share(a: Any, q: Any) -> Any:
    """Percents as shares; a number in the precision of the array."""
    kind = np.dtype(getattr(a, "dtype", np.float64))
    hundred = kind.type(100) if kind.kind == "f" else 100
    return np.true_divide(q, hundred)


@on_ranks(np.quantile, order=in_c_order)
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _quantile(a, q, axis, out, method, bool(keepdims), weights, nan=False)


@on_ranks(np.percentile, order=in_c_order)
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    share = _share(a, q)
    return _quantile(a, share, axis, out, method, bool(keepdims), weights, nan=False)


@on_ranks(np.nanquantile, order=in_c_order)
def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _quantile(a, q, axis, out, method, keepdims is True, weights, nan=True)


@on_ranks(np.nanpercentile, order=in_c_order)
def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None, **options: Any,
) -> Any:  # fmt: skip
    share = _share(a, q)
    return _quantile(a, share, axis, out, method, keepdims is True, weights, nan=True)
