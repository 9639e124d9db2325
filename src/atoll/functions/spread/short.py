"""Short compositions, and what NumPy does on each rank's block by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...collective import Section, fetch_flat, redistributed, uneven_line
from ...comm.in_step import allgather
from ...graph.geometry import kept_order
from ...lazy import selecting, shaping
from ...lazy.creation import asarray
from ...lazy.elementwise import general
from ...lazy.spread import world_of
from ...ops.elementwise import is_native
from ..blocks import (
    along,
    arrays_of,
    by_blocks,
    call,
    every_rank,
    into,
    line_of,
    normal_axis,
    small_or_there,
    world_among,
)
from .table import on_ranks

Array = np.ndarray[Any, Any]
NOTHING: Any = np._NoValue


@on_ranks(np.diff)
def diff(a: Any, n: Any = 1, axis: int = -1, prepend: Any = NOTHING, append: Any = NOTHING) -> Any:
    a = asarray(a)
    if not a.ndim or int(n) < 1 or (prepend is NOTHING and append is NOTHING):
        return NotImplemented
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    parts = [a]
    for given, place in ((prepend, 0), (append, len(parts))):
        if given is NOTHING:
            continue
        border = asarray(given)
        if not border.ndim:
            border = shaping.broadcast_to(border, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))
        parts.insert(place if place == 0 else len(parts), border)
    return call("diff", call("concatenate", parts, axis), n, axis)


@on_ranks(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = asarray(ary)
    flat = ary.flatten()  # two shifted views of another shape would each be made from lists
    line = flat[1:] - flat[:-1]
    parts = [line]
    for given, first in ((to_begin, True), (to_end, False)):
        if given is None:
            continue
        border = asarray(given)
        if not np.can_cast(border.dtype, ary.dtype, "same_kind"):
            name = "to_begin" if first else "to_end"
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        parts.insert(0 if first else len(parts), shaping.ravel(border).astype(ary.dtype))
    return line if len(parts) == 1 else call("concatenate", parts)


@on_ranks(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = asarray(y)
    if not y.ndim:
        return NotImplemented
    axis = np.lib.array_utils.normalize_axis_index(axis, y.ndim)
    width = dx
    if x is not None:
        x = asarray(x)
        width = call("diff", x, axis=axis if x.ndim > 1 else -1)
        if x.ndim == 1:
            width = shaping.reshape(width, tuple([-1 if k == axis else 1 for k in range(y.ndim)]))
    before = (slice(None),) * axis
    pairs = y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]
    return (width * pairs / 2.0).sum(axis)


@on_ranks(np.unwrap, order=shaping.order_of)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    p = asarray(p)
    if p.dtype.char not in "fd" or not p.ndim:
        return NotImplemented
    axis = np.lib.array_utils.normalize_axis_index(axis, p.ndim)
    steps = call("diff", p, axis=axis)
    low, high = -period / 2, period / 2
    turned = call("mod", steps - low, period) + low
    turned = selecting.where((turned == low) & (steps > 0), high, turned)
    change = turned - steps
    limit = period / 2 if discont is None else discont
    change = selecting.where(abs(steps) < limit, 0.0, change)
    made = p.copy()
    rest = (slice(None),) * axis + (slice(1, None),)
    made[rest] = p[rest] + call("cumsum", change, axis)
    return made


@on_ranks(np.i0)
def i0(x: Any) -> Any:
    arrays, world = arrays_of(x), world_among(x)
    if arrays is None or world is None or arrays[0].dtype.kind == "c":
        return NotImplemented
    return by_blocks(np.i0, arrays, world)


@on_ranks(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    arrays, world = arrays_of(a, b), world_among(a, b)
    if arrays is None or world is None or not (np.isscalar(rtol) and np.isscalar(atol)):
        return NotImplemented
    return by_blocks(lambda x, y: np.isclose(x, y, rtol, atol, equal_nan), arrays, world)


@on_ranks(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    arrays = arrays_of(a1, a2)
    if arrays is None:
        return NotImplemented
    one, two = arrays
    if one.shape != two.shape:
        return False
    alike = one == two
    if equal_nan:
        alike = alike | ((one != one) & (two != two))
    return bool(alike.all())


@on_ranks(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    arrays = arrays_of(a1, a2)
    if arrays is None:
        return NotImplemented
    try:
        np.broadcast_shapes(arrays[0].shape, arrays[1].shape)
    except ValueError:
        return False
    return bool((arrays[0] == arrays[1]).all())


@on_ranks(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    a = asarray(a)
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = np.finfo(a.dtype.type).eps * tol
    return a.real if bool((abs(a.imag) < tol).all()) else a


def _cumulative(name: str, scan: str, first: int) -> None:
    def function(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:  # fmt: skip
        x = call("atleast_1d", asarray(x))
        if axis is None:
            if x.ndim != 1:
                return NotImplemented
            axis = 0
        axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
        made = call(scan, x, axis, dtype)
        if include_initial:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            made = call("concatenate", (call("full", shape, first, made.dtype), made), axis)
        return into(out, made, "unsafe")

    on_ranks(getattr(np, name))(function)


_cumulative("cumulative_sum", "cumsum", 0)
_cumulative("cumulative_prod", "cumprod", 1)


def _nan_scan(name: str, scan: str, identity: int) -> None:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        a = asarray(a)
        if a.dtype.kind in "fc":
            a = selecting.where(call("isnan", a), a.dtype.type(identity), a)
        return into(out, call(scan, a, axis, dtype))

    on_ranks(getattr(np, name))(function)


_nan_scan("nancumsum", "cumsum", 0)
_nan_scan("nancumprod", "cumprod", 1)


def _nan_position(name: str, position: str, instead: float) -> None:
    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOTHING) -> Any:
        a = asarray(a)
        if a.dtype.kind not in "f" or not (axis is None or isinstance(axis, int)):
            return NotImplemented
        missing = call("isnan", a)
        if bool(missing.all() if axis is None else missing.all(axis).any()):
            raise ValueError("All-NaN slice encountered")
        filled = selecting.where(missing, a.dtype.type(instead), a)
        kept = keepdims is not NOTHING and bool(keepdims)
        return into(out, call(position, filled, axis, keepdims=kept))

    on_ranks(getattr(np, name))(function)


_nan_position("nanargmin", "argmin", np.inf)
_nan_position("nanargmax", "argmax", -np.inf)


@on_ranks(np.average)
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = NOTHING,
) -> Any:
    a = asarray(a)
    kept = keepdims is not NOTHING and bool(keepdims)
    if not a.size or a.dtype.kind not in "fciub":
        return NotImplemented
    if weights is None:
        mean = a.mean(axis, keepdims=kept)
        scale = np.asarray(a.size / max(np.size(mean), 1), np.result_type(mean.dtype))[()]
        scale = call("full", np.shape(mean), scale) if np.shape(mean) else mean.dtype.type(scale)
        return (mean, scale) if returned else mean
    weights = asarray(weights)
    kind = np.result_type(a.dtype, weights.dtype)
    if a.dtype.kind in "iub":
        kind = np.result_type(a.dtype, weights.dtype, "f8")
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = normal_axis(axis, a.ndim)
        if weights.shape != tuple([a.shape[k] for k in axes]):
            raise ValueError(
                "Shape of weights must be consistent with shape of a along specified axis."
            )
        ordered = np.argsort(axes).tolist()
        weights = shaping.transpose(weights, tuple(ordered))
        shape = tuple([n if k in axes else 1 for k, n in enumerate(a.shape)])
        weights = shaping.broadcast_to(shaping.reshape(weights, shape), a.shape)
    scale = call("sum", weights.astype(kind), axis, keepdims=kept)
    if bool((asarray(scale) == 0).any()):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = call("sum", (a * weights).astype(kind), axis, keepdims=kept) / scale
    return (mean, scale) if returned else mean


@on_ranks(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    m = asarray(m)
    if m.ndim > 2 or arrays_of(m) is None or (fweights is None and aweights is None):
        return NotImplemented
    ddof = (0 if bias else 1) if ddof is None else ddof
    given = [m] if y is None else [m, asarray(y)]
    kind = np.result_type(*[one.dtype for one in given], np.float64) if dtype is None else dtype
    rows = [
        (shaping.reshape(one, (1, -1)) if one.ndim < 2 else one if rowvar else one.T).astype(kind)
        for one in given
    ]
    x = rows[0] if len(rows) == 1 else call("concatenate", rows, 0)
    weights = None
    for one, integral in ((fweights, True), (aweights, False)):
        if one is None:
            continue
        one = asarray(one)
        if one.ndim != 1 or one.size != x.shape[1] or bool((one < 0).any()):
            return NotImplemented
        if integral and one.dtype.kind not in "iu":
            return NotImplemented
        one = one.astype(float)
        weights = one if weights is None else weights * one
    mean, scale = call("average", x, 1, weights, returned=True)
    scale = float(scale[0])
    if ddof == 0:
        factor = scale
    elif aweights is None:
        factor = scale - ddof
    else:
        factor = scale - ddof * float((weights * asarray(aweights)).sum()) / scale
    if factor <= 0:
        return NotImplemented
    x = x - shaping.reshape(mean, (-1, 1))
    other = (x * weights).T
    return call("squeeze", call("dot", x, other.conj()) * float(np.true_divide(1, factor)))


def _sliding(name: str) -> None:
    original: Any = getattr(np, name)

    def function(a: Any, v: Any, mode: Any = "full" if name == "convolve" else "valid") -> Any:
        arrays, world = arrays_of(a, v), world_among(a, v)
        if arrays is None or world is None or any(one.ndim != 1 for one in arrays):
            return NotImplemented
        first, second = arrays
        if not first.size or not second.size or mode not in ("full", "same", "valid"):
            return NotImplemented
        turned = second.size > first.size
        if turned and name == "correlate":  # what NumPy does: the other way round, and reversed
            return call("correlate", second, first, mode)[::-1].conj().copy()
        if turned:
            first, second = second, first
        kernel = second._array()
        width, length = kernel.size, first.size
        shift = {"full": width - 1, "same": width // 2, "valid": 0}[mode]
        if name == "convolve" and mode == "same":
            shift = (width - 1) // 2 + (width - 1) % 2
        total = {"full": length + width - 1, "same": length, "valid": length - width + 1}[mode]
        ends = np.linspace(0, total, world.size + 1).astype(np.int64)
        low, high = int(ends[world.rank]), int(ends[world.rank + 1])
        begin = low - shift
        wanted = high - low + width - 1 if high > low else 0
        there = max(begin, 0), max(min(begin + wanted, length), max(begin, 0))
        part = np.zeros(wanted, first.dtype)
        part[there[0] - begin : there[1] - begin] = fetch_flat(
            line_of(first, world), there[1] - there[0], lambda a, b: np.arange(a, b) + there[0]
        )
        kind = np.result_type(first.dtype, kernel.dtype)
        found = original(part, kernel, "valid") if high > low else np.empty(0, kind)
        layout = uneven_line(np.diff(ends))
        return small_or_there(Section(found, layout, world.communicator), world)

    on_ranks(original)(function)


_sliding("convolve")
_sliding("correlate")


@on_ranks(np.kron)
def kron(a: Any, b: Any) -> Any:
    arrays = arrays_of(a, b)
    if arrays is None or not all(array.ndim for array in arrays):
        return NotImplemented
    one, two = arrays
    ndim = max(one.ndim, two.ndim)
    first = (1,) * (ndim - one.ndim) + one.shape
    second = (1,) * (ndim - two.ndim) + two.shape
    left = shaping.reshape(one, tuple([n for pair in zip(first, (1,) * ndim) for n in pair]))
    right = shaping.reshape(two, tuple([n for pair in zip((1,) * ndim, second) for n in pair]))
    product = general(np.multiply, left, right)
    return shaping.reshape(product, tuple([n * m for n, m in zip(first, second)]))


@on_ranks(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **options: Any) -> Any:
    arr = asarray(arr)
    world = world_of([arr])
    if world is None or arrays_of(arr) is None or not arr.size:
        return NotImplemented
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    others = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    if int(np.prod(others, dtype=int)) < world.size:
        return NotImplemented

    def rows(block: Array) -> Array:
        def compute() -> Array:
            if not len(block):
                probe = np.apply_along_axis(
                    func1d, 1, np.ones((1, arr.shape[axis]), arr.dtype), *args, **options
                )
                return np.asarray(probe)[:0]
            return np.asarray(np.apply_along_axis(func1d, 1, block, *args, **options))

        found: Array = every_rank(world, compute, "whether a function raised")
        return found

    made = along(arr, (axis,), world, rows, lambda line: line)
    extra = made.shape[1:]
    made = shaping.reshape(made, (*others, *extra))
    places = range(len(others), len(others) + len(extra))
    return call("moveaxis", made, tuple(places), tuple(range(axis, axis + len(extra))))


@on_ranks(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    value = asarray(a)
    for axis in np.atleast_1d(np.asarray(axes)).tolist():
        found = asarray(func(value, axis % a.ndim))
        if found.ndim != a.ndim:
            found = call("expand_dims", found, axis % a.ndim)
        if found.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = found
    return value


def _bits(original: Any, before: int, after: int) -> Callable[..., Any]:
    def function(a: Any, /, axis: Any = None, *options: Any, **named: Any) -> Any:
        a = asarray(a)
        world = world_of([a])
        if world is None or a.dtype.kind not in "bu" or (axis is not None and a.ndim != 1):
            return NotImplemented
        if options or "count" in named or not a.size:
            return NotImplemented
        line = line_of(a, world)
        units = -(-line.layout.size // before)
        ends = np.linspace(0, units, world.size + 1).astype(np.int64) * before
        ends[-1] = line.layout.size
        line = redistributed(line, uneven_line(np.diff(ends)))
        found = original(line.block, **named)
        counts = allgather(world.communicator, np.array([found.size]), "how many bytes").reshape(-1)
        made = Section(found, uneven_line(counts), world.communicator)
        return small_or_there(made, world)

    return function


on_ranks(np.packbits)(_bits(np.packbits, 8, 1))
on_ranks(np.unpackbits)(_bits(np.unpackbits, 1, 8))


@on_ranks(np.ndarray.byteswap)
def byteswap(a: Any, inplace: bool = False) -> Any:
    arrays, world = arrays_of(a), world_among(a)
    if arrays is None or world is None:
        return NotImplemented
    made = by_blocks(np.ndarray.byteswap, arrays, world)
    if not inplace:
        return made
    a[...] = made
    return a


@on_ranks(np.ndarray.getfield)
def getfield(a: Any, dtype: Any, offset: int = 0) -> Any:
    kind = np.dtype(dtype)
    part = {"F": np.float32, "D": np.float64}.get(a.dtype.char)
    if part is None or kind != part or offset not in (0, kind.itemsize):
        return NotImplemented
    return a.imag if offset else a.real


@on_ranks(np.ndarray.setfield)
def setfield(a: Any, val: Any, dtype: Any, offset: int = 0) -> Any:
    field = getfield(a, dtype, offset)
    if field is NotImplemented:
        return field
    field[...] = val
    return None


def vectorized(function: Any, otypes: Any, args: tuple[Any, ...]) -> Any:
    """A Python function of elements, on this rank's blocks; the first element says of what dtype."""
    given, world = arrays_of(*args), world_among(*args)
    if given is None or world is None or not all(array.size for array in given):
        return NotImplemented
    if not otypes:
        first = function(*[array[(0,) * array.ndim] for array in given])
        outputs = first if isinstance(first, tuple) else (first,)
        otypes = "".join([np.asarray(one).dtype.char for one in outputs])
    if not all(is_native(np.dtype(char)) for char in otypes):
        return NotImplemented
    found = by_blocks(np.vectorize(function, otypes), given, world, agrees=True)
    made = found if isinstance(found, tuple) else (found,)
    order = kept_order(made[0].shape, [one._shape_of_view() for one in given])
    turned = tuple([shaping.in_order(one, order) for one in made])
    return turned if isinstance(found, tuple) else turned[0]
