"""Sums, extremes and their kin: each is the method of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import ndarray
from ..lazy import reductions, selecting, shaping
from ..lazy.elementwise import general
from ..lazy.fallback import by_numpy
from ..lazy.reductions import NOTHING
from ..lazy.spread import place_of
from ..lazy.views import Handle
from .blocks import into
from .public import array_of, collective, declare, is_large, native, on_data


def _by_method(name: str, method: str = "") -> Callable[..., Any]:
    """A function that is a method of arrays."""
    original = getattr(np, name)
    call = getattr(ndarray, method or name)

    def function(a: Any, *args: Any, **options: Any) -> Any:
        if type(a) is not ndarray:
            if not isinstance(a, Handle) and not isinstance(a, (np.ndarray, list, tuple)):
                return by_numpy(original, (a, *args), options)
            if isinstance(a, ndarray):
                own = getattr(type(a), method or name)
                if own is not call:
                    return own(a, *args, **options)
            a = array_of(a)
        return call(a, *args, **options)

    return declare(function, original, name, short=False)


for _name in ("sum", "prod", "min", "max", "all", "any", "mean", "argmin", "argmax"):
    _by_method(_name)
_by_method("amin", "min")
_by_method("amax", "max")


def _spread(name: str) -> None:
    original = getattr(np, name)
    call = getattr(ndarray, name)

    def function(a: Any, *args: Any, correction: Any = NOTHING, **options: Any) -> Any:
        if correction is not NOTHING:
            if "ddof" in options or len(args) > 3:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            options["ddof"] = correction
        return call(array_of(a), *args, **options)

    declare(function, original, name, short=False)


_spread("var")
_spread("std")


@native
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOTHING) -> Any:
    a = array_of(a)
    if is_large(a):
        result = reductions.span(a, axis, out, keepdims)
        if result is not NotImplemented:
            return result
    return by_numpy(
        np.ptp,
        (a, axis),
        {"keepdims": keepdims} if out is None else {"keepdims": keepdims, "out": out},
    )


@native
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    a = array_of(a)
    if is_large(a):
        result = reductions.count_nonzero(a, axis, keepdims)
        if result is not NotImplemented:
            return result
    return by_numpy(np.count_nonzero, (a, axis), {"keepdims": keepdims})


# where NaNs do not count


def _without_nan(a: Any, value: Any) -> Any:
    """The elements, with ``value`` for each NaN."""
    if a.dtype.kind not in "fc":
        return a
    return selecting.where(general(np.isnan, a), a.dtype.type(value), a)


def _nan_fold(name: str, ufunc: np.ufunc, identity: Any) -> None:
    original = getattr(np, name)

    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NOTHING,
        initial: Any = NOTHING, where: Any = NOTHING,
    ) -> Any:  # fmt: skip
        a = array_of(a)
        if is_large(a) and out is None:
            result = reductions.reduce(
                ufunc, _without_nan(a, identity), axis, dtype, None, keepdims, initial, where
            )
            if result is not NotImplemented:
                return result
        return by_numpy(
            original,
            (a, axis, dtype, out),
            {"keepdims": keepdims, "initial": initial, "where": where},
        )

    declare(function, original, name)


_nan_fold("nansum", np.add, 0)
_nan_fold("nanprod", np.multiply, 1)


def _nan_extreme(name: str, ufunc: np.ufunc) -> None:
    original = getattr(np, name)

    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOTHING, initial: Any = NOTHING,
        where: Any = NOTHING,
    ) -> Any:  # fmt: skip
        a = array_of(a)
        options = {"keepdims": keepdims, "initial": initial, "where": where}
        if (
            is_large(a)
            and out is None
            and a.dtype.kind in "iuf"
            and initial is NOTHING
            and where is NOTHING
        ):
            result = reductions.reduce(ufunc, a, axis, None, None, keepdims)
            if result is not NotImplemented and not bool(general(np.isnan, result).any()):
                return result
        return by_numpy(original, (a, axis, out), options)

    declare(function, original, name)


_nan_extreme("nanmin", np.fmin)
_nan_extreme("nanmax", np.fmax)


def _nan_count(a: Any, axis: Any, keepdims: Any) -> Any:
    present = array_of(general(np.logical_not, general(np.isnan, a)))
    return reductions.reduce(np.add, present, axis, np.dtype(np.intp), None, keepdims)


@native
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NOTHING,
    *,
    where: Any = NOTHING,
) -> Any:
    a = array_of(a)
    simple = out is None and dtype is None and where is NOTHING
    if is_large(a) and a.ndim and a.dtype.char in "fd" and simple:
        count = _nan_count(a, axis, keepdims)
        if count is not NotImplemented and bool((count > 0).all()):
            total = reductions.reduce(np.add, _without_nan(a, 0), axis, None, None, keepdims)
            return general(np.true_divide, total, count).astype(a.dtype)
    return by_numpy(np.nanmean, (a, axis, dtype, out), {"keepdims": keepdims, "where": where})


@native
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NOTHING, *,
    where: Any = NOTHING, mean: Any = NOTHING, correction: Any = NOTHING,
) -> Any:  # fmt: skip
    a = array_of(a)
    simple = (
        out is None
        and dtype is None
        and where is NOTHING
        and mean is NOTHING
        and correction is NOTHING
    )
    if is_large(a) and a.ndim and a.dtype.char in "fd" and simple and isinstance(ddof, int):
        count = _nan_count(a, axis, True)
        if count is not NotImplemented and bool((count > ddof).all()):
            center = nanmean(a, axis, keepdims=True)
            distance = selecting.where(
                general(np.isnan, a), a.dtype.type(0), general(np.subtract, a, center)
            )
            squares = general(np.square, distance)
            total = reductions.reduce(np.add, squares, axis, None, None, True)
            result = general(np.true_divide, total, general(np.subtract, count, ddof)).astype(
                a.dtype
            )
            if keepdims is not NOTHING and keepdims:
                return result
            axes = reductions.axes_of(axis, a.ndim)
            kept = tuple(n for k, n in enumerate(a.shape) if k not in (axes or ()))
            return shaping.reshape(result, kept) if kept else reductions.reduce(np.add, result)
    return by_numpy(
        np.nanvar, (a, axis, dtype, out, ddof),
        {"keepdims": keepdims, "where": where, "mean": mean, "correction": correction},
    )  # fmt: skip


@native
def nanstd(a: Any, *args: Any, **options: Any) -> Any:
    if len(args) > 2 or "out" in options:
        return by_numpy(np.nanstd, (a, *args), options)
    return (
        general(np.sqrt, nanvar(a, *args, **options))
        if is_large(a)
        else by_numpy(np.nanstd, (a, *args), options)
    )


@native
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = NOTHING,
) -> Any:
    a = array_of(a)
    if weights is None and not returned and is_large(a) and a.size:
        if axis is not None and type(axis) is not int:
            axis = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim, argname="axis")
        return a.mean(axis, keepdims=False if keepdims is NOTHING else keepdims)
    simple = is_large(a) and weights is not None and not returned and a.dtype.kind == "f"
    if simple:
        weights = array_of(weights)
        if weights.shape == a.shape and weights.dtype.kind in "iuf":
            scale = reductions.reduce(np.add, weights, axis, None, None, keepdims)
            total = reductions.reduce(
                np.add, general(np.multiply, a, weights), axis, None, None, keepdims
            )
            if (
                scale is not NotImplemented
                and total is not NotImplemented
                and bool((scale != 0).all())
            ):
                return general(np.true_divide, total, scale)
    return by_numpy(np.average, (a, axis, weights, returned), {"keepdims": keepdims})


@collective(np.cumsum, np.ndarray.cumsum, alone=True)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _scan(np.add, a, axis, dtype, out)


@collective(np.cumprod, np.ndarray.cumprod, alone=True)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _scan(np.multiply, a, axis, dtype, out)


def _scan(ufunc: np.ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if not is_large(a) or (out is not None and place_of(a) is None):
        return NotImplemented
    if dtype is None:  # narrow integers become ``int``
        dtype = np.cumsum(np.empty(1, a.dtype)).dtype
    from ..lazy import scans

    return into(out, scans.accumulate(ufunc, a, axis, dtype, None), "unsafe")


on_data(
    "cumulative_sum", "cumulative_prod", "nancumsum", "nancumprod", "nanargmin", "nanargmax",
    "nanmedian", "nanpercentile", "nanquantile",
    "median", "percentile", "quantile", "bincount", "histogram", "histogram2d", "histogramdd",
    "histogram_bin_edges", "digitize",
)  # fmt: skip
