"""Short compositions, and what NumPy does on each rank's block by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...collective import Section, fetch_flat, redistributed, uneven_line
from ...comm.in_step import allgather
from ...graph.geometry import kept_order
from ...lazy import shaping
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
    line_of,
    small_or_there,
    world_among,
)
from .table import on_ranks

Array = np.ndarray[Any, Any]
NOTHING: Any = np._NoValue


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
