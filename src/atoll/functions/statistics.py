"""Medians and quantiles: NumPy's on whole lanes of a rank, or order statistics of a sorted line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..collective import elements_at
from ..comm.world import World
from ..lazy import shapes
from ..lazy.agreement import in_step, world_of
from ..lazy.conversion import plain
from ..lazy.creation import asarray
from ..lazy.fallback import expect
from ..lazy.reductions import NOTHING
from ..lazy.sections import line_of
from .blocks import along, call, in_c_order, into, normal_axis
from .operands import DEFAULT, Operand, accepts
from .public import collective

Array = np.ndarray[Any, Any]

_BETWEEN = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
"""The parameters (alpha, beta) of the positions of quantiles, for each method with such parameters."""
_OTHERS: dict[str, Any] = {
    "linear": np.asarray, "lower": np.floor, "higher": np.ceil, "nearest": np.rint,
    "midpoint": lambda at: 0.5 * (np.floor(at) + np.ceil(at)),
}  # fmt: skip
"""For each other method, the function from the fractional position of a quantile to the position that it uses."""


def _line(a: Any, *, without_nan: bool) -> Any:
    """The elements along one axis."""
    line = shapes.in_line(a)
    if without_nan and line.dtype.kind in "fc":
        line = line[~call("isnan", line)]
    return line


def _in_order(line: Any, numbers: Array) -> Array:
    """The elements of a line that have these numbers in ascending order, NaN last."""
    world = world_of([line])
    if world is None or numbers.size > policy.limits.short // policy.limits.pieces:
        return np.asarray(call("sort", line)[numbers])
    return elements_at(line_of(line, world), numbers)


def _median_of(line: Any) -> Any:
    """Median of a line, by NumPy's median of the few elements that determine it."""
    length = line.size
    if not length:  # all of them are not a number
        return np.nanmedian(np.full(1, np.nan, line.dtype))
    middle = _in_order(line, np.array([(length - 1) // 2, length // 2, length - 1]))
    if line.dtype.kind == "f" and np.isnan(middle[2]):
        return middle[2]
    return np.median(middle[: 2 - length % 2])


def _quantiles_of(line: Any, q: Array, method: str, kind: np.dtype[Any]) -> Any:
    """The quantiles of a line, from the two elements around the position of each."""
    length = line.size
    if not length:
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)
        return np.full(q.shape, np.nan, kind)[()]
    if method in _BETWEEN:
        alpha, beta = _BETWEEN[method]
        at = length * q + (alpha + q * (1 - alpha - beta)) - 1
    else:
        at = _OTHERS[method]((length - 1) * q)
    wide = np.asarray(at, np.result_type(at, np.float64))  # where no place is infinite
    at = np.clip(wide, 0, length - 1)
    low = np.floor(at)
    high = np.where(wide < 0, 0, np.minimum(low + 1, length - 1))
    places = np.stack([low, high, np.full_like(low, length - 1)]).astype(np.int64)
    below, above, last = _in_order(line, places)
    if line.dtype.kind == "f" and np.isnan(last).any():
        return last.astype(kind)[()]
    if method in ("lower", "higher", "nearest") or (method == "linear" and q.dtype.kind in "iu"):
        return below.astype(kind)[()]  # whatever is beside them
    share = np.asarray(at - low).astype(kind)
    step = above - below
    quantiles = np.where(share < 0.5, below + step * share, above - step * (1 - share))
    return quantiles.astype(kind)[()]


def _over(
    a: Any, axes: tuple[int, ...], keepdims: Any, world: World, shape: tuple[int, ...],
    rows: Callable[[Array], Array], line: Callable[[Any], Any],
) -> Any:  # fmt: skip
    """Results of ``rows`` for lanes along the axes, or of ``line`` for all elements; each has shape ``shape``."""
    kept = keepdims is not NOTHING and bool(keepdims)
    left = [1 if k in axes else n for k, n in enumerate(a.shape) if kept or k not in axes]
    if len(axes) == a.ndim:
        result = line(a)
        return asarray(np.reshape(result, (*shape, *left))) if shape or left else result
    results = along(a, axes, world, rows, lambda lane: np.reshape(line(lane), (-1,)))
    return shapes.reshape(call("matrix_transpose", results), (*shape, *left))


def _median(name: str, nan: bool) -> None:
    original: Any = getattr(np, name)

    @collective(original, keeps="numbers")
    @accepts(a=Operand("biuf", empty=False))
    def median(
        a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = NOTHING, *,
        world: World,
    ) -> Any:  # fmt: skip
        def rows(block: Array) -> Array:
            medians: Array = original(block, axis=1, keepdims=True)
            return medians

        def line(lane: Any) -> Any:
            return _median_of(_line(lane, without_nan=nan))

        axes = normal_axis(axis, a.ndim)
        return into(out, _over(a, axes, keepdims, world, (), rows, line), "unsafe")


_median("median", nan=False)
_median("nanmedian", nan=True)


def _quantile(name: str, nan: bool) -> None:
    original: Any = getattr(np, name)

    @collective(original, order=in_c_order, keeps="arrays")
    @accepts(a=Operand("fiu", empty=False), method=(*_BETWEEN, *_OTHERS), weights=DEFAULT)
    def quantile(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
        keepdims: Any = NOTHING, *, weights: Any = None, world: World, **options: Any,
    ) -> Any:  # fmt: skip
        # a number does not widen the result
        q = q if type(q) in (int, float) else np.asarray(plain(q))
        expect(np.asarray(q).dtype.kind in "fiu" and not options)
        in_step(world, "quantiles", str(np.asarray(q).tolist()))  # they select the elements
        kind = original(np.zeros(1, a.dtype), q, method=method).dtype  # or NumPy's error
        share = np.true_divide(q, 100) if name.endswith("percentile") else np.asarray(q)

        def rows(block: Array) -> Array:
            quantiles: Array = original(block, q, axis=1, method=method)
            return np.reshape(quantiles, (share.size, len(block))).T

        def line(lane: Any) -> Any:
            return _quantiles_of(_line(lane, without_nan=nan), share, method, kind)

        axes = normal_axis(axis, a.ndim)
        result = _over(a, axes, keepdims, world, share.shape, rows, line)
        expect(out is None or out.shape == np.shape(result))
        return into(out, result)


for _name in ("quantile", "percentile"):
    _quantile(_name, nan=False)
    _quantile(f"nan{_name}", nan=True)
