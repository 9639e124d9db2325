"""Sums, extremes and similar reductions: each calls the method of the same name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import ndarray
from ..front import COMPOSED, Kind, Recording
from ..lazy import creation, reductions, selections, shapes
from ..lazy.agreement import place_of
from ..lazy.elementwise import general
from ..lazy.fallback import expect
from ..lazy.operations import cast
from ..lazy.recipes import tail
from ..lazy.reductions import NOTHING
from ..lazy.views import Handle
from ..ops.elementwise import is_native
from .blocks import into
from .operands import DEFAULT, Operand, Recorded, accepts
from .public import array_of, collective, declare, is_large, names, native

_COUNT = np.dtype(np.intp)
_NAN_OPERAND = Recorded(types="fd", least=1, converts=True)


def _by_method(name: str, method: str, kind: Kind, recording: Recording) -> None:
    """Declare a function that is a method of arrays."""
    call = getattr(ndarray, method)

    is_spread = method in ("var", "std")

    def function(a: Any, *args: Any, **options: Any) -> Any:
        if is_spread:
            correction = options.pop("correction", NOTHING)
            if correction is not NOTHING:
                if "ddof" in options or len(args) > 3:
                    raise ValueError("ddof and correction can't be provided simultaneously.")
                options["ddof"] = correction
        if type(a) is not ndarray:
            if isinstance(a, Handle):
                own = getattr(type(a), method)
                if own is not call:
                    return own(a, *args, **options)
            a = array_of(a)
        return call(a, *args, **options)

    traits: Any = {"kind": kind | Kind.LINES, "recording": recording}
    declare(function, getattr(np, name), name, short=False, asks=True, **traits)


for _method, _reduction in reductions.METHODS.items():
    for _name in (_method, f"a{_method}"):  # np.amax is np.max
        if hasattr(np, _name):
            _by_method(_name, _method, *_reduction._native)  # type: ignore[attr-defined]


@native(recording=COMPOSED, asks=True, keeps="numbers")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOTHING) -> Any:
    a = array_of(a)
    full = axis is None and (keepdims is NOTHING or not keepdims)  # then still in one pass
    largest = reductions.reduce(np.maximum, a, axis, None, None, full or keepdims)
    expect(largest is not NotImplemented)
    smallest = reductions.reduce(np.minimum, a, axis, None, None, full or keepdims)
    result = general(np.subtract, largest, smallest)
    result = result[(0,) * result.ndim] if full else result
    return reductions.finished(a, result, out, "same_kind")


@native(recording=COMPOSED, kind=Kind.EXACT | Kind.LINES, keeps="arrays")
@accepts(a=Recorded(converts=True))
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    expect(is_native(a.dtype))
    truth = creation.recorded(cast(cast(a._node(), np.dtype(np.bool_)), _COUNT))
    count = reductions.reduce(np.add, truth, axis, _COUNT, None, keepdims)
    whole = axis is None and not keepdims and count is not NotImplemented
    return (
        tail(count, type(np.count_nonzero(np.empty(0)))) if whole else count
    )  # before 2.4, an int


# where NaNs do not count


def _without_nan(a: Any, value: Any) -> Any:
    """The elements, with ``value`` in place of each NaN."""
    if a.dtype.kind not in "fc":
        return a
    return selections.where(general(np.isnan, a), a.dtype.type(value), a)


def _nan_fold(name: str, ufunc: np.ufunc, identity: Any) -> None:
    @accepts(a=Recorded(converts=True))
    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NOTHING,
        initial: Any = NOTHING, where: Any = NOTHING,
    ) -> Any:  # fmt: skip
        present = _without_nan(a, identity)
        return reductions.reduce(ufunc, present, axis, dtype, out, keepdims, initial, where)

    declare(function, getattr(np, name), name, keeps="numbers")


_nan_fold("nansum", np.add, 0)
_nan_fold("nanprod", np.multiply, 1)


def _nan_extreme(name: str, ufunc: np.ufunc) -> None:
    @accepts(a=Recorded("iuf", converts=True), initial=DEFAULT, where=DEFAULT)
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = NOTHING, initial: Any = NOTHING,
        where: Any = NOTHING,
    ) -> Any:  # fmt: skip
        result = reductions.reduce(ufunc, a, axis, None, None, keepdims)
        expect(result is not NotImplemented and not bool(general(np.isnan, result).any()))
        return reductions.finished(a, result, out)

    declare(function, getattr(np, name), name, keeps="numbers")


_nan_extreme("nanmin", np.fmin)
_nan_extreme("nanmax", np.fmax)


def _nan_count(a: Any, axis: Any, keepdims: Any) -> Any:
    present = array_of(general(np.logical_not, general(np.isnan, a)))
    return reductions.reduce(np.add, present, axis, _COUNT, None, keepdims)


@native(keeps="numbers")
@accepts(a=_NAN_OPERAND, dtype=DEFAULT, where=DEFAULT)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NOTHING, *,
    where: Any = NOTHING,
) -> Any:  # fmt: skip
    count = _nan_count(a, axis, keepdims)
    expect(count is not NotImplemented and bool((count > 0).all()))
    total = reductions.reduce(np.add, _without_nan(a, 0), axis, None, None, keepdims)
    result = general(np.true_divide, total, count).astype(a.dtype)
    return reductions.finished(a, result, out, "same_kind")


def _nan_variance(a: Any, axis: Any, ddof: Any, keepdims: Any) -> Any:
    """The variance of the elements that are not NaN."""
    count = _nan_count(a, axis, True)
    expect(count is not NotImplemented and isinstance(ddof, int) and bool((count > ddof).all()))
    center = nanmean(a, axis, keepdims=True)
    distance = selections.where(
        general(np.isnan, a), a.dtype.type(0), general(np.subtract, a, center)
    )
    squares = general(np.square, distance)
    total = reductions.reduce(np.add, squares, axis, None, None, True)
    result = general(np.true_divide, total, general(np.subtract, count, ddof)).astype(a.dtype)
    if keepdims is not NOTHING and keepdims:
        return result
    axes = reductions.axes_of(axis, a.ndim)
    kept = tuple(n for k, n in enumerate(a.shape) if k not in (axes or ()))
    return shapes.reshape(result, kept) if kept else reductions.reduce(np.add, result)


def _nan_spread(name: str, *, root: bool) -> None:
    @accepts(a=_NAN_OPERAND, dtype=DEFAULT, where=DEFAULT, mean=DEFAULT, correction=DEFAULT)
    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NOTHING, *,
        where: Any = NOTHING, mean: Any = NOTHING, correction: Any = NOTHING,
    ) -> Any:  # fmt: skip
        result = _nan_variance(a, axis, ddof, keepdims)
        return reductions.finished(
            a, general(np.sqrt, result) if root else result, out, "same_kind"
        )

    declare(function, getattr(np, name), name, keeps="numbers")


_nan_spread("nanvar", root=False)
_nan_spread("nanstd", root=True)


def _nan_position(name: str, position: str, instead: float) -> None:
    @accepts(a=Operand("f"))
    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOTHING) -> Any:
        expect(axis is None or isinstance(axis, int))
        missing = general(np.isnan, a)
        if bool(missing.all() if axis is None else missing.all(axis).any()):
            raise ValueError("All-NaN slice encountered")
        filled = selections.where(missing, a.dtype.type(instead), a)
        kept = keepdims is not NOTHING and bool(keepdims)
        return into(out, getattr(filled, position)(axis, keepdims=kept))

    collective(getattr(np, name), keeps="arrays")(function)


_nan_position("nanargmin", "argmin", np.inf)
_nan_position("nanargmax", "argmax", -np.inf)


@native(keeps="weighted")
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = NOTHING,
) -> Any:
    a = array_of(a)
    expect((is_large(a) or is_large(weights)) and a.size and a.dtype.kind in "fciub")
    if axis is not None and type(axis) is not int:
        axis = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim, argname="axis")
    kept = keepdims is not NOTHING and bool(keepdims)
    if weights is None:
        mean = a.mean(axis, keepdims=kept)
        if not returned:
            return mean
        return mean, _counts(mean, a.size / max(np.size(mean), 1))
    weights = array_of(weights)
    kinds = [a.dtype, weights.dtype, *([np.dtype("f8")] if a.dtype.kind in "iub" else [])]
    kind = np.result_type(*kinds)
    if weights.shape != a.shape:
        weights = _along_axes(weights, axis, a)
    a, weights = a.astype(kind, copy=False), weights.astype(kind, copy=False)
    scale = weights.sum(axis, keepdims=kept)
    if bool((scale == 0).any()):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = general(np.true_divide, general(np.multiply, a, weights).sum(axis, keepdims=kept), scale)
    return (mean, scale) if returned else mean


def _counts(mean: Any, count: float) -> Any:
    """Number of elements of each mean, in the dtype of the means."""
    scale = mean.dtype.type(count)
    return creation.filled(mean.shape, scale, mean.dtype, "C") if mean.shape else scale


def _along_axes(weights: Any, axis: Any, a: Any) -> Any:
    """Weights of axes of an array, for each of its elements."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    if weights.shape != tuple([a.shape[k] for k in axes]):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    weights = shapes.transpose(weights, tuple(np.argsort(axes).tolist()))
    shape = tuple([n if k in axes else 1 for k, n in enumerate(a.shape)])
    return shapes.broadcast_to(shapes.reshape(weights, shape), a.shape)


_SCAN: dict[str, Any] = {"alone": True, "kind": Kind.INTEGERS | Kind.WHOLE, "keeps": "arrays"}


@collective(np.cumsum, np.ndarray.cumsum, **_SCAN)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _scan(np.add, a, axis, dtype, out)


@collective(np.cumprod, np.ndarray.cumprod, **_SCAN)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _scan(np.multiply, a, axis, dtype, out)


@accepts(a=Recorded())
def _scan(ufunc: np.ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    expect(out is None or place_of(a) is not None)
    if dtype is None:  # narrow integers become ``int``
        dtype = np.cumsum(np.empty(1, a.dtype)).dtype
    return into(out, reductions.accumulate(ufunc, a, axis, dtype), "unsafe")


def _without_nan_scanned(name: str, ufunc: np.ufunc, identity: int) -> None:
    @accepts(a=Recorded())
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        expect(out is None or place_of(a) is not None)
        return into(out, _scan(ufunc, _without_nan(a, identity), axis, dtype, None))

    collective(getattr(np, name), alone=True, keeps="arrays")(function)


_without_nan_scanned("nancumsum", np.add, 0)
_without_nan_scanned("nancumprod", np.multiply, 1)


def _cumulative(name: str, ufunc: np.ufunc, first: int) -> None:
    @accepts(x=Recorded())
    def function(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:  # fmt: skip
        expect(out is None or place_of(x) is not None)
        expect(axis is not None or x.ndim == 1)
        axis = 0 if axis is None else np.lib.array_utils.normalize_axis_index(axis, x.ndim)
        scan = _scan(ufunc, x, axis, dtype, None)
        if include_initial and scan is not NotImplemented:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            start = creation.filled(shape, scan.dtype.type(first), scan.dtype, "C")
            scan = names["concatenate"]((start, scan), axis)
        return into(out, scan, "unsafe")

    collective(getattr(np, name), alone=True, keeps="arrays")(function)


_cumulative("cumulative_sum", np.add, 0)
_cumulative("cumulative_prod", np.multiply, 1)
