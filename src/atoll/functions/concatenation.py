"""Arrays side by side, repeated, rolled and padded.

A join of large arrays is an empty array with one assignment for each part: a loop nest that
reads the parts runs over each of its boxes, fused with the operations that compute them. NumPy does joins
of many parts, since each part is a separate box.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from .. import policy
from ..context.call_sites import user_site
from ..context.interrupts import passed_on
from ..context.warn import come_first
from ..front import COMPOSED, Kind
from ..graph.geometry import Geometry, dense, kept_order
from ..graph.node import Node
from ..lazy import creation, shapes
from ..lazy.agreement import place_of, world_of
from ..lazy.conversion import default_place, distributed, plain
from ..lazy.creation import asarray
from ..lazy.fallback import by_numpy, expect, has_class, is_foreign
from ..lazy.float_errors import free
from ..lazy.operations import cast, update
from ..lazy.ufunc_calls import check_shape
from ..lazy.views import Handle
from ..ops.elementwise import is_native, join_of
from ..ops.table import FILL
from .blocks import into
from .operands import Operands
from .public import array_of, collective, is_large, names, native, publish
from .shapes import atleast_1d, atleast_2d, atleast_3d


def _fit(arrays: Sequence[Any], axis: int) -> bool:
    """True if arrays can be joined along ``axis``; NumPy checks it before their dtypes."""
    ndim = arrays[0].ndim
    if not -ndim <= axis < ndim or any(a.ndim != ndim for a in arrays):
        return False
    axis %= ndim
    return len({(*a.shape[:axis], *a.shape[axis + 1 :]) for a in arrays}) == 1


def _shape(arrays: Sequence[Any], axis: int) -> tuple[int, ...]:
    """The shape of arrays that are joined along ``axis``."""
    first = arrays[0].shape
    return (*first[:axis], sum([a.shape[axis] for a in arrays]), *first[axis + 1 :])


def _joined(arrays: Sequence[Any], axis: int, dtype: Any = None) -> Any:
    """Record a join of the parts along ``axis``; ``None`` leaves it to NumPy."""
    first = arrays[0]
    ndim = first.ndim
    wanted = first.dtype if dtype is None else dtype
    usable = (
        len(arrays) <= policy.limits.pieces
        and (free() or all(a.dtype == wanted for a in arrays))  # only a cast can break a rule
        and any(is_large(a) for a in arrays)
        and all(is_native(a.dtype) and not (is_large(a) and a._cell.pins) for a in arrays)
    )
    if not usable:
        return None
    axis %= ndim
    kind = np.result_type(*[a.dtype for a in arrays]) if dtype is None else np.dtype(dtype)
    shape = _shape(arrays, axis)
    order = kept_order(shape, [a._shape_of_view() for a in arrays], repeats=True)
    place = None
    if any(place_of(a) is not None for a in arrays):
        place = distributed(default_place(shape, among=True))
    boxes, start = [], 0
    for a in arrays:
        stop = start + a.shape[axis]
        boxes.append(((slice(None),) * axis + (slice(start, stop),), a))
        start = stop
    return filled_by(boxes, dense(shape, kind, order), place)


def filled_by(boxes: Sequence[tuple[Any, Any]], geometry: Geometry, place: Any = None) -> Any:
    """Record an array that consists of parts, each in its own box."""
    boxes = [(key, part) for key, part in boxes if part.size]
    site, kind = user_site(), geometry.dtype
    node = Node(FILL, (kind.type(0),), geometry, (), join_of(len(boxes)), site, place=place)
    for key, part in boxes:
        node = update(node, geometry.index(key), cast(part._node(), kind), None, site)
    return creation.recorded(node)


@native(recording=COMPOSED, joins=True)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    if isinstance(arrays, Handle):
        arrays = list(arrays)  # type: ignore[call-overload]
    several = isinstance(arrays, (list, tuple))
    expect(not (several and any(map(has_class, arrays))))
    if is_foreign(arrays):
        arrays = [array_of(a) if is_foreign(a) else a for a in arrays]
        return names["concatenate"](arrays, axis, out, dtype=dtype, casting=casting)
    expect(several and any(map(is_large, arrays)))
    parts = [array_of(a) for a in arrays]
    on_ranks = any(place_of(part) is not None for part in parts)
    expect(on_ranks or out is None)
    flat, kind = axis is None, None
    if flat:
        parts, axis = [part.ravel() for part in parts], 0
    if type(axis) is bool:
        np.concatenate(([0],), axis=axis)  # NumPy's error
    axis = index(axis)
    expect(_fit(parts, axis))
    if hasattr(out, "dtype"):
        check_shape(out, _shape(parts, axis % parts[0].ndim))
    if flat or casting != "same_kind" or not (dtype is out is None):
        kind = _joined_dtype(arrays, parts, flat, out, dtype, casting)
    if on_ranks:
        parts = _few_parts(parts, axis, kind)
    joined = _joined(parts, axis, kind)
    expect(joined is not None)
    return into(out, joined)


def _joined_dtype(
    arrays: Any, parts: list[Any], flat: bool, out: Any, dtype: Any, casting: Any
) -> np.dtype[Any]:
    """The dtype of a join, or NumPy's error for a cast or an argument, from a join of empty arrays.

    Python's numbers have no dtype of their own if ``axis`` is ``None``.
    """
    samples = [
        a if flat and type(a) in (int, float, complex) else np.empty(0, part.dtype)
        for a, part in zip(arrays, parts)
    ]
    if out is not None and hasattr(out, "dtype"):
        out = np.empty(sum(map(np.size, samples)), out.dtype)
    joined: Any = np.concatenate(samples, axis=None, out=out, dtype=dtype, casting=casting)
    return joined.dtype  # type: ignore[no-any-return]


def _few_parts(parts: list[Any], axis: int, kind: Any) -> list[Any]:
    """Parts on ranks, joined to few, in memory of its own, and of one dtype where a cast may be an error."""
    parts = [shapes.copied(part) if is_large(part) and part._cell.pins else part for part in parts]
    if not free():
        wanted = np.result_type(*[part.dtype for part in parts]) if kind is None else kind
        parts = [part.astype(wanted, copy=False) for part in parts]
    most = policy.limits.pieces
    while len(parts) > most and len({part.ndim for part in parts}) == 1:
        groups = [parts[k : k + most] for k in range(0, len(parts), most)]
        parts = [concatenate(group, axis) for group in groups]
    return parts


publish("concat", concatenate, "native", np.concat)


@native(recording=COMPOSED, joins=True)
def stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    parts = [array_of(a) for a in _sequence(arrays)]
    axis = index(axis)
    expect(len({a.shape for a in parts}) == 1 and -parts[0].ndim - 1 <= axis <= parts[0].ndim)
    axis %= parts[0].ndim + 1
    expanded = [shapes.view(a, ("stack", axis), lambda s: np.expand_dims(s, axis)) for a in parts]
    return concatenate(expanded, axis, out, dtype=dtype, casting=casting)


def _sequence(arrays: Any) -> Any:
    if not hasattr(arrays, "__getitem__"):
        raise TypeError(
            'arrays to stack must be passed as a "sequence" type such as list or tuple.'
        )
    return arrays


def _all(function: Any, arrays: Any) -> list[Any]:
    _sequence(arrays)
    results = function(*arrays)
    return list(results) if isinstance(results, tuple) else [results]


@native(recording=COMPOSED, joins=True)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return concatenate(_all(atleast_2d, tup), 0, dtype=dtype, casting=casting)


@native(recording=COMPOSED, joins=True)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    arrays = _all(atleast_1d, tup)
    return concatenate(
        arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting
    )


@native(recording=COMPOSED, joins=True)
def dstack(tup: Any) -> Any:
    return concatenate(_all(atleast_3d, tup), 2)


@native(recording=COMPOSED, joins=True)
def column_stack(tup: Any) -> Any:
    arrays = [array_of(a) for a in _sequence(tup)]
    return concatenate([shapes.reshape(a, (-1, 1)) if a.ndim < 2 else a for a in arrays], 1)


if hasattr(np, "row_stack"):

    @native()
    def row_stack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
        come_first()
        np.row_stack([()])  # NumPy's warning
        return vstack(tup, dtype=dtype, casting=casting)


@native(keeps="")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    arr, values = array_of(arr), array_of(values)
    if axis is None:
        arr, values, axis = arr.ravel(), values.ravel(), 0
    return concatenate((arr, values), axis)


@native(recording=COMPOSED, kind=Kind.ROLLS, grows=True, keeps="arrays")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = array_of(a)
    if axis is None and a.ndim == 1:
        axis = 0
    if not is_large(a):
        return shapes.like(a, by_numpy(np.roll, (a, shift, axis), {}))
    if axis is None:
        return shapes.reshape(names["roll"](a.ravel(), shift, 0), a.shape)
    if np.asarray(plain(shift)).dtype.kind not in "iubO":
        shift = np.asarray(plain(shift)).real.astype(int).tolist()
    axes = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)
    shifts = np.broadcast_arrays(np.asarray(plain(shift)), axes)[0]
    if np.ndim(shifts) > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    result = a
    for by, along in zip(
        np.atleast_1d(shifts).tolist(), np.atleast_1d(axes).tolist() * len(np.atleast_1d(shifts))
    ):
        n = a.shape[along]
        by = int(by) % n if n else 0
        if by:
            before = (slice(None),) * along
            result = concatenate(
                [result[(*before, slice(-by, None))], result[(*before, slice(None, -by))]], along
            )
    return (
        shapes.copied(result, "K")
        if result is a
        else shapes.in_order(result, shapes.copied_order_of(a))
    )


@native(recording=COMPOSED, grows=True, keeps="")
def tile(A: Any, reps: Any) -> Any:
    A = array_of(A)
    reps = plain(reps)
    try:
        counts = tuple([index(r) for r in (reps if np.iterable(reps) else (reps,))])
    except TypeError as problem:
        passed_on(problem)
        counts = (0,)  # left to NumPy
    expect(is_large(A) and A.size and 0 not in counts)
    ndim = max(len(counts), A.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - A.ndim) + A.shape
    spread = shapes.reshape(A, tuple(n for length in shape for n in (1, length)))
    wide = shapes.broadcast_to(
        spread, tuple(n for r, length in zip(counts, shape) for n in (r, length))
    )
    return shapes.reshape(
        shapes.copied(wide), tuple(r * length for r, length in zip(counts, shape))
    )


@collective(np.block)
def block(arrays: Any) -> Any:
    def depth_of(value: Any) -> int:
        return 1 + max(map(depth_of, value)) if isinstance(value, list) and value else 0

    def wide(value: Any, ndim: int) -> Any:
        if isinstance(value, list):
            return [wide(item, ndim) for item in value]
        value = asarray(value)
        return shapes.reshape(value, (1,) * max(ndim - value.ndim, 0) + value.shape)

    def most(value: Any) -> int:
        return max(map(most, value)) if isinstance(value, list) else np.ndim(value)

    def joined(value: Any, axis: int) -> Any:
        if not isinstance(value, list):
            return value
        return concatenate([joined(item, axis + 1) for item in value], axis)

    depth = depth_of(arrays)
    return (
        joined(wide(arrays, max(depth, most(arrays))), -depth) if depth else asarray(arrays).copy()
    )


def joined_along(items: Any, axis: int, least: int, *, at_end: bool) -> Any:
    """The results of ``r_`` and ``c_`` for arrays and numbers, but not for slices and strings."""
    listed = items if isinstance(items, tuple) else (items,)
    arrays = (Handle, np.ndarray, list, int, float, complex)
    expect(all(isinstance(item, arrays) for item in listed))
    parts = Operands().accept(listed)
    expect(world_of(parts))
    shaped = []
    for part in parts:
        missing = max(least - part.ndim, 0)
        ones = (1,) * missing
        shape = (*part.shape, *ones) if at_end else (*ones, *part.shape)
        shaped.append(shapes.reshape(part, shape))
    return concatenate(shaped, axis)
