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
from ..layout import Layout
from ..lazy import shaping
from ..lazy.creation import asarray
from ..lazy.sections import line_of, record, small_or_there
from ..lazy.spread import in_step, world_of
from ..ops.elementwise import is_native
from .blocks import arrays_of, call
from .public import collective, is_large

Array = np.ndarray[Any, Any]


def _by_value(kind: Any, order: Any, stable: Any) -> bool:
    """Whether elements are to be sorted by their values, in a way that NumPy knows: it refuses others."""
    if kind is not None or stable is not None:
        np.sort(np.empty(0), kind=kind, stable=stable)
    return order is None


def _sorted(name: str, handle: Any, axis: Any, *kind: Any) -> Any:
    """A sorted copy, which lies as the operand does, a line in even blocks; or the places of elements in ascending order."""
    if axis is None and is_large(handle):
        handle, axis = shaping.ravel(handle), 0
    if world_of([handle]) is None or not is_native(handle.dtype) or not handle.size:
        return NotImplemented
    if type(axis) is not int or not -handle.ndim <= axis < handle.ndim:
        return NotImplemented
    order = shaping.order_of(handle) if name == "sort" else None
    return record(name, (handle,), axis % handle.ndim, *kind, order=order)


@collective(np.sort, keeps="arrays")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    if not _by_value(kind, order, stable):
        return NotImplemented
    keeps = bool(stable) or str(kind)[:1].lower() in ("m", "s")
    return _sorted("sort", a, axis, "stable" if keeps else None)


@collective(np.ndarray.sort, writes=(0,), keeps="arrays")
def sort_in_place(a: Any, axis: Any = -1, *args: Any, **options: Any) -> Any:
    if axis is None or not (a._cell.writeable and a._geometry.writeable):
        return NotImplemented
    a[...] = call("sort", a, axis, *args, **options)
    return None


@collective(np.argsort, np.ndarray.argsort, keeps="arrays")
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    return _sorted("argsort", a, axis) if _by_value(kind, order, stable) else NotImplemented


@collective(np.searchsorted, np.ndarray.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    arrays = arrays_of(a, v)
    if arrays is None or side not in ("left", "right"):
        return NotImplemented
    sequence, values = arrays
    if sequence.ndim != 1 or not sequence.size:
        return NotImplemented
    if sorter is not None:
        sequence = call("take", sequence, sorter)
    kind = np.result_type(sequence.dtype, values.dtype)
    sequence, values = sequence.astype(kind), values.astype(kind)
    if world_of([sequence, values]) is None:
        return NotImplemented
    return record("searchsorted", (sequence, values), side)


@collective(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    arrays = arrays_of(x, bins)
    if arrays is None:
        return NotImplemented
    x, bins = arrays
    if bins.ndim != 1 or not bins.size or x.dtype.kind == "c":
        return NotImplemented
    side = "left" if right else "right"
    if bool((bins[1:] >= bins[:-1]).all()):
        return call("searchsorted", bins, x, side)
    if bool((bins[1:] <= bins[:-1]).all()):
        return bins.size - call("searchsorted", bins[::-1], x, side)
    if bool((bins != bins).any()):
        return NotImplemented  # the order of NaN is NumPy's own
    raise ValueError("bins must be monotonically increasing or decreasing")


@collective(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    arrays = arrays_of(x, xp, fp)
    if arrays is None or period is not None:
        return NotImplemented
    x, xp, fp = arrays
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size or xp.dtype.kind == "c":
        return NotImplemented
    kind = np.dtype(np.complex128 if fp.dtype.kind == "c" else np.float64)
    if world_of([x, xp, fp]) is None:
        return NotImplemented
    given = x.astype(np.float64), xp.astype(np.float64), fp.astype(kind)
    return record("interp", given, left, right)


@collective(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    listed = [asarray(key) for key in keys]
    if arrays_of(*listed) is None or not listed or any(key.ndim != 1 for key in listed):
        return NotImplemented
    if len({key.shape for key in listed}) > 1 or axis not in (0, -1):
        return NotImplemented
    order = call("argsort", listed[0], kind="stable")
    for key in listed[1:]:
        order = order[call("argsort", key[order], kind="stable")]
    return order


def _places(a: Any, kth: Any, axis: Any) -> bool:
    """Whether the places to partition at are within the array."""
    if axis is not None:
        axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    length = a.size if axis is None else a.shape[axis]
    return all(-length <= int(k) < length for k in np.atleast_1d(np.asarray(kth)))


@collective(np.partition, keeps="arrays")
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    a = asarray(a)
    if order is not None or not a.size or not _places(a, kth, axis):
        return NotImplemented
    return _sorted("sort", a, axis, None)


@collective(np.ndarray.partition, writes=(0,), keeps="arrays")
def partition_in_place(a: Any, kth: Any, *args: Any, **options: Any) -> Any:
    a[...] = call("partition", a, kth, *args, **options)
    return None


@collective(np.argpartition, np.ndarray.argpartition, keeps="arrays")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    a = asarray(a)
    if order is not None or not a.size or not _places(a, kth, axis):
        return NotImplemented
    return _sorted("argsort", a, axis)


@collective(np.sort_complex, order=shaping.order_of)
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
def unique(
    ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False,
    axis: Any = None, *, equal_nan: Any = True, sorted: Any = True,
) -> Any:  # fmt: skip
    ar = asarray(ar)
    world = world_of([ar])
    if world is None or arrays_of(ar) is None or not ar.size or not equal_nan:
        return NotImplemented
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
        parts.append(call("bincount", shaping.ravel(inverse), minlength=distinct.layout.size))
    return tuple(parts)


def _unique_line(ar: Any, world: World, index: bool, counts: bool) -> Any:
    """The different elements, ascending, in even blocks; with their first places and how many."""
    line = shaping.ravel(ar)
    in_step(world, "unique", line, index, counts)
    if index:
        values, places = ordered(line_of(line, world))
    else:
        values = places = in_order(line_of(line, world))
    first = starts(values)
    results = [small_or_there(compressed(values, first), world)]
    if index:
        results.append(small_or_there(compressed(places, first), world))
    if counts:
        begins = positions_under(first)
        after = first_behind(begins, values.layout.size)
        ends = np.append(begins.block[1:], after) if begins.block.size else begins.block
        results.append(small_or_there(begins.with_block(ends - begins.block), world))
    return results[0] if len(results) == 1 else tuple(results)


def _unique_rows(ar: Any, index: Any, inverse: Any, counts: Any, axis: Any) -> Any:
    """Rows are numbered in their order, column by column: a number stands for the columns before."""
    axis = np.lib.array_utils.normalize_axis_index(axis, ar.ndim)
    moved = call("moveaxis", ar, axis, 0)
    rows = shaping.reshape(moved, (moved.shape[0], -1))
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
    """Whether nothing is a NaN: the newer functions hold these to be different from each other."""
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
