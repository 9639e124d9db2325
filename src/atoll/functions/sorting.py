"""Sorting and its applications: searching, partitions, several keys, interpolation, distinct elements."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import policy
from ..collective import (
    Section,
    accumulated,
    compressed,
    even_line,
    first_behind,
    in_order,
    ordered,
    positions_under,
    reshaped,
    starts,
    store,
)
from ..collective.section import empty
from ..comm.world import World
from ..config import config
from ..front import Kind
from ..layout import Layout
from ..lazy import shapes
from ..lazy.agreement import world_of
from ..lazy.creation import asarray
from ..lazy.fallback import expect
from ..lazy.sections import line_of, of_section, record, small_or_there
from ..lazy.shared_calls import by_elements, by_lines
from ..ops.elementwise import is_native
from .blocks import call
from .operands import DEFAULT, Operand, Operands, accepts, is_writeable
from .public import collective, is_large

Array = np.ndarray[Any, Any]


def _sorted(name: str, handle: Any, axis: Any, *kind: Any) -> Any:
    """A sorted copy, which lies as the operand does, a line in even blocks; or the places of elements in ascending order."""
    if axis is None and is_large(handle):
        handle, axis = shapes.in_line(handle), 0
    expect(world_of([handle]) and is_native(handle.dtype) and handle.size)
    expect(type(axis) is int and -handle.ndim <= axis < handle.ndim)
    order = shapes.order_of(handle) if name in ("sort", "partition") else None
    return record(name, (handle,), axis % handle.ndim, *kind, order=order)


@collective(np.sort, cut=by_lines(1, "sort"), keeps="arrays")
@accepts(order=DEFAULT)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return _sorted("sort", a, axis, _kind(kind, stable))


def _kind(kind: Any, stable: Any) -> str | None:
    """The kind of a sort, if it is to be stable; or NumPy's error."""
    np.sort(np.empty(0), kind=kind, stable=stable)
    return "stable" if bool(stable) or str(kind)[:1].lower() in ("m", "s") else None


@collective(np.ndarray.sort, writes=(0,), kind=Kind.WRITES, keeps="arrays")
def sort_in_place(a: Any, axis: Any = -1, *args: Any, **options: Any) -> Any:
    expect(axis is not None and is_writeable(a))
    a[...] = call("sort", a, axis, *args, **options)
    return None


@collective(np.argsort, np.ndarray.argsort, cut=by_lines(1), keeps="arrays")
@accepts(order=DEFAULT)
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    return _sorted("argsort", a, axis, _kind(kind, stable))


@collective(np.searchsorted, np.ndarray.searchsorted, cut=by_elements(1))
@accepts(a=Operand(ndim=1, empty=False), v=Operand(), side=("left", "right"))
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None, *, world: World) -> Any:
    if sorter is not None:
        a = call("take", a, sorter)
    kind = np.result_type(a.dtype, v.dtype)
    given = [each if each.dtype == kind else each.astype(kind) for each in (a, v)]
    return record("searchsorted", given, side)


@collective(np.digitize, cut=by_elements(0))
@accepts(x=Operand("biuf"), bins=Operand(ndim=1, empty=False))
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    side = "left" if right else "right"
    if bool((bins[1:] >= bins[:-1]).all()):
        return call("searchsorted", bins, x, side)
    if bool((bins[1:] <= bins[:-1]).all()):
        return bins.size - call("searchsorted", bins[::-1], x, side)
    expect(not bool((bins != bins).any()))  # the order of NaN is NumPy's own
    raise ValueError("bins must be monotonically increasing or decreasing")


@collective(np.interp, cut=by_elements(0))
@accepts(x=Operand(), xp=Operand("biuf", ndim=1, empty=False), fp=Operand(), period=DEFAULT)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None, *, world: World
) -> Any:  # fmt: skip
    expect(xp.shape == fp.shape)
    kind = np.dtype(np.complex128 if fp.dtype.kind == "c" else np.float64)
    given = x.astype(np.float64), xp.astype(np.float64), fp.astype(kind)
    return record("interp", given, left, right)


@collective(np.lexsort)
@accepts(keys=Operands(ndim=1), axis=(0, -1))
def lexsort(keys: Any, axis: int = -1) -> Any:
    expect(len({key.shape for key in keys}) == 1)
    order = call("argsort", keys[0], kind="stable")
    for key in keys[1:]:
        order = order[call("argsort", key[order], kind="stable")]
    return order


def _partitioned(name: str, whole: str, a: Any, kth: Any, axis: Any) -> Any:
    """Elements before and after those at places along an axis, or their indices: a line is sorted by ``whole``."""
    if axis is not None:
        axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    length = a.size if axis is None else a.shape[axis]
    wanted = np.atleast_1d(np.asarray(kth))
    expect(wanted.dtype.kind in "iu" and wanted.ndim == 1)
    places = tuple(wanted.tolist())
    expect(all(-length <= k < length for k in places))
    if a.ndim == 1 or axis is None:
        return _sorted(whole, a, axis, None)
    return _sorted(name, a, axis, places)


@collective(np.partition, cut=by_lines(2, "partition"), keeps="arrays")
@accepts(a=Operand(empty=False), order=DEFAULT)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    return _partitioned("partition", "sort", a, kth, axis)


@collective(np.ndarray.partition, writes=(0,), keeps="arrays")
def partition_in_place(a: Any, kth: Any, *args: Any, **options: Any) -> Any:
    a[...] = call("partition", a, kth, *args, **options)
    return None


@collective(np.argpartition, np.ndarray.argpartition, cut=by_lines(2), keeps="arrays")
@accepts(a=Operand(empty=False), order=DEFAULT)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    return _partitioned("argpartition", "argsort", a, kth, axis)


@collective(np.sort_complex, order=shapes.order_of)
def sort_complex(a: Any) -> Any:
    line = call("sort", asarray(a).copy())
    if line.dtype.kind == "c":
        return line
    return line.astype("F" if line.dtype.char in "bhBH" else "G" if line.dtype.char == "g" else "D")


def with_inverse(handle: Any, world: World) -> tuple[Section, Section, Section]:
    """The different elements, their first places, and for each element its number among them.

    The latter in even blocks of the line of elements. Collective.
    """
    line = line_of(handle, world)
    values, origin = ordered(line)
    first = starts(values)
    distinct, places = compressed(values, first), compressed(origin, first)
    del values
    numbers = accumulated(first, 0, np.add, np.dtype(np.int64)).block - 1
    whence = origin.block
    inverse = empty(even_line(line.layout.size, world.size), np.dtype(np.intp), world.communicator)
    limits, share = policy.limits, 8 * line.layout.size // world.size
    rounds = min(limits.pieces, 1 + share // limits.packed)
    bounds = np.linspace(0, numbers.size, rounds + 1).astype(np.int64).tolist()
    for start, stop in pairwise(bounds):
        store(inverse, (whence[start:stop],), numbers[start:stop])
    return distinct, places, inverse


@collective(np.unique, keeps="arrays")
@accepts(ar=Operand(empty=False), equal_nan=(True,))
def unique(
    ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False,
    axis: Any = None, *, equal_nan: Any = True, sorted: Any = True, world: World,
) -> Any:  # fmt: skip
    if axis is not None:
        return _unique_rows(ar, return_index, return_inverse, return_counts, axis)
    if not return_inverse:
        return _unique_line(ar, world, bool(return_index), bool(return_counts))
    distinct, first, numbers = with_inverse(ar, world)
    parts = [small_or_there(distinct, world)]
    if return_index:
        parts.append(small_or_there(first, world))
    inverse = small_or_there(reshaped(numbers, Layout.default(ar.shape, world.size)), world)
    parts.append(inverse)
    if return_counts:
        parts.append(call("bincount", shapes.ravel(inverse), minlength=distinct.layout.size))
    return tuple(parts)


def _unique_line(ar: Any, world: World, index: bool, counts: bool) -> Any:
    """The distinct elements, ascending, in even blocks; with their first positions and their counts."""
    if index:
        values, places = ordered(line_of(ar, world))
    else:
        values = places = in_order(line_of(ar, world))
    first = starts(values)
    results = [of_section(compressed(values, first, config.results), world)]
    if index:
        results.append(of_section(compressed(places, first, config.results), world))
    if counts:
        begins = positions_under(first)
        after = first_behind(begins, values.layout.size)
        ends = np.append(begins.block[1:], after) if begins.block.size else begins.block
        results.append(small_or_there(begins.with_block(ends - begins.block), world))
    return results[0] if len(results) == 1 else tuple(results)


def _unique_rows(ar: Any, index: Any, inverse: Any, counts: Any, axis: Any) -> Any:
    """The unique rows: rows are numbered in sorted order column by column, with one number for all columns before."""
    axis = np.lib.array_utils.normalize_axis_index(axis, ar.ndim)
    moved = call("moveaxis", ar, axis, 0)
    rows = shapes.reshape(moved, (moved.shape[0], -1))
    number = call("unique", rows[:, 0], return_inverse=True)[1]
    for k in range(1, rows.shape[1]):
        values, column = call("unique", rows[:, k], return_inverse=True)
        number = call("unique", number * values.size + column, return_inverse=True)[1]
    _, first, number, many = call("unique", number, True, True, True)
    parts = [call("moveaxis", call("take", moved, first, 0), 0, axis)]
    wanted = ((index, first), (inverse, number), (counts, many))
    parts += [part for asked, part in wanted if asked]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _named(kind: str, *fields: Any) -> Any:
    """One of the named tuples that the functions of the array standard return."""
    return type(getattr(np, kind)(np.empty(0)))(*fields)


def _has_no_nan(x: Any) -> bool:
    """True if no element is NaN: the newer functions treat NaNs as different from each other."""
    x = asarray(x)
    return x.dtype.kind not in "fc" or not bool(call("isnan", x).any())


@collective(np.unique_all)
def unique_all(x: Any) -> Any:
    return _named("unique_all", *call("unique", x, True, True, True, equal_nan=_has_no_nan(x)))


@collective(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    return _named(
        "unique_inverse", *call("unique", x, return_inverse=True, equal_nan=_has_no_nan(x))
    )


@collective(np.unique_counts)
def unique_counts(x: Any) -> Any:
    return _named("unique_counts", *call("unique", x, return_counts=True, equal_nan=_has_no_nan(x)))


@collective(np.unique_values)
def unique_values(x: Any) -> Any:
    return call("unique", x, equal_nan=_has_no_nan(x))
