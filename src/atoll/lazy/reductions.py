"""Reductions and scans: recorded as folds, composed from folds, or left to NumPy.

A fold is recorded if its result equals NumPy's: native dtypes, an axis or several, and the dtype
that NumPy would choose or a requested one. ``initial`` is combined with the result afterwards;
``where`` becomes a selection between the element and the identity. Everything else returns
``NotImplemented``, and the caller uses NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from operator import index
from typing import Any

import numpy as np

from .. import backend, front
from ..collective.scans import scanned_by_loops
from ..context.caches import keep, remembered
from ..context.call_sites import user_site
from ..context.interrupts import passed_on
from ..front import COMPOSED, Forms, Recording, Way
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..layout import Layout
from ..ops import folds
from ..ops.elementwise import is_native, read_of
from ..ops.folds import FOLDS, POSITIONS, Fold, Position
from ..ops.table import CALL, WHERE
from . import operations, shapes
from .agreement import chosen_by, place_of, world_of
from .conversion import from_numpy, in_base_class, of_node, plain, present
from .creation import asarray
from .elementwise import general, known_of, operand_of
from .evaluation import evaluate
from .fallback import by_numpy
from .flat import flatiter
from .float_errors import free
from .operations import cast
from .rank_operands import entered
from .recipes import is_read_now, tail
from .sections import record
from .ufunc_calls import assigned_to, folded, into, overrides, register_method
from .views import Handle, is_deferred

NOTHING: Any = np._NoValue
"""NumPy's own mark of an omitted argument."""

_HALF = np.dtype(np.float16)
_SINGLE = np.dtype(np.float32)
_DOUBLE = np.dtype(np.float64)
_COUNT = np.dtype(np.intp)
_BOOL = np.dtype(np.bool_)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...] | None:
    """The axes in increasing order, ``None`` if NumPy would raise an error."""
    if axis is not None and type(axis) is not int:
        given = axis if isinstance(axis, tuple) else (axis,)
        if any(isinstance(number, (bool, np.bool_)) for number in given):
            return None
        try:
            axis = tuple([index(number) for number in given])  # 1.0 is equal to 1, and no axis
        except TypeError as problem:
            passed_on(problem)
            return None
    return _axes(axis, ndim)


@remembered
def _axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...] | None:
    if axis is None:
        return tuple(range(ndim))
    try:
        return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, ndim)))
    except ValueError as problem:
        passed_on(problem)
        return None


@remembered
def _result_dtype(ufunc: np.ufunc, operand: np.dtype[Any], dtype: Any) -> np.dtype[Any] | None:
    """The dtype in which to fold, or ``None`` to leave the call to NumPy."""
    fold = FOLDS[ufunc]
    if fold.is_truth:
        return _BOOL if dtype is None or np.dtype(dtype) == _BOOL else None
    if dtype is not None:
        wanted: np.dtype[Any] = np.dtype(dtype)
        fits = is_native(wanted) and not (operand.kind == "c" and wanted.kind != "c")
        if not fits or (wanted.kind == "b" and ufunc is not np.maximum and ufunc is not np.minimum):
            return None
        if fold.is_arithmetic or wanted == operand:
            return wanted
        return None
    try:
        resolve: Any = ufunc.resolve_dtypes
        inner: np.dtype[Any] = resolve((None, operand, None), reduction=True)[2]
    except TypeError as problem:
        passed_on(problem)
        return None
    return inner


def _masked(handle: Any, where: Any, rest: Any) -> Node | None:
    """The elements where the mask is true, ``rest`` elsewhere."""
    mask = operand_of(where)
    own: Geometry = handle._geometry
    if mask is None or mask.kind != _BOOL or mask.now:
        return None
    if mask.geometry is not None:
        try:
            if np.broadcast_shapes(mask.geometry.shape, own.shape) != own.shape:
                return None
        except ValueError as problem:
            passed_on(problem)
            return None
    chosen_by(where, handle)
    node = handle._node()
    return operations.record(
        WHERE, (mask.node, node, rest), node.geometry, (), "where", user_site()
    )


met_folds = Forms()
"""Forms of reductions that were met before: parameters, the result's geometry, code and mark."""

PRODUCT = Recording(Way.DOT, (met_folds, np.add, known_of(np.multiply)))
"""The product of two lines: the fold of their elementwise product."""


def reduce(
    ufunc: np.ufunc,
    handle: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NOTHING,
    where: Any = True,
) -> Any:
    """Record ``ufunc.reduce``; ``NotImplemented`` leaves it to NumPy."""
    if handle._np is not None or ufunc not in FOLDS or not free():
        return NotImplemented
    geometry: Geometry = handle._geometry
    plainly = (
        dtype is None
        and out is None
        and keepdims is False
        and initial is NOTHING
        and where is True
        and (axis is None or type(axis) is int)
    )
    if not is_native(geometry.dtype) or geometry.size == 0 or geometry.ndim == 0:
        return NotImplemented
    axes = axes_of(axis, geometry.ndim)
    if not axes or (len(axes) > 1 and not FOLDS[ufunc].takes_axes):
        return NotImplemented
    if not (keepdims is NOTHING or type(keepdims) is bool or type(keepdims) is int):
        return NotImplemented
    result_dtype = _result_dtype(ufunc, geometry.dtype, dtype)
    if result_dtype is None or not is_native(result_dtype):
        return NotImplemented
    identity = ufunc.identity
    if initial is not NOTHING and initial is not None:
        initial = plain(initial)
        if not np.isscalar(initial) or not np.can_cast(
            np.asarray(initial), result_dtype, "same_kind"
        ):
            return NotImplemented
        if ufunc is np.add and np.any(np.equal(initial, 0) & np.signbit(np.real(initial))):
            return NotImplemented  # a sum of our own begins with 0.0
        try:
            identity = result_dtype.type(initial)
        except (OverflowError, ValueError, TypeError) as problem:
            passed_on(problem)
            return NotImplemented
    keepdims = bool(keepdims) if keepdims is not NOTHING else False
    if where is True or where is NOTHING:
        operand = handle._node()
    else:
        if identity is None:
            return NotImplemented
        neutral = ufunc.identity if ufunc.identity is not None else identity
        masked = _masked(handle, where, geometry.dtype.type(neutral))
        if masked is None:
            return NotImplemented
        operand = masked
    if operand.place is not None:
        operand = _held_once(operand, axes)
    inner = result_dtype
    if result_dtype == _HALF and ufunc is np.add:
        inner = _SINGLE
    site = user_site()
    if inner != geometry.dtype:
        operand = cast(operand, inner, site)
    form = folds.reduced_geometry(geometry, axes, keepdims, inner)
    node = folds.fold(FOLDS[ufunc], operand, form, axes, keepdims, site)
    # The form of a distributed node may contain its distribution.
    if plainly and inner == result_dtype == geometry.dtype and node.place is None:
        whole, known = read_of(geometry), node.form()
        keep(met_folds, (ufunc, whole, axis), known)
        if axis is None and min(whole.shape, default=0) > 1 and whole.is_plain(whole.shape):
            keep(met_folds, (ufunc, CALL, axis, whole.dtype, whole.ndim), known)  # of any shape
    del operand
    node = entered(node)
    if is_read_now(handle._cell):
        evaluate((node,))
    if (out is None or out is NOTHING) and type(handle) is Handle.array_type:
        handle = None  # an operand of a function's own ends here, as where the native recorder records the function
    result = _in_dtype(of_node(node), result_dtype)
    if initial is not NOTHING and initial is not None:
        result = general(ufunc, result, identity)
    return result if handle is None else finished(handle, result, out)


def _held_once(operand: Node, axes: tuple[int, ...]) -> Node:
    """The operand of a fold over ranks, in blocks where several of them hold the same elements."""
    layout: Layout = operand.place.layout
    shared = layout.copies > 1 and (layout.cells == 1 or not folds.has_rows(layout, axes))
    if not shared and not any(layout.axes[axis].overlaps for axis in axes):
        return operand
    once = Layout(layout.shape, "b" + "n" * (layout.ndim - 1), size=layout.processes)
    held: Node = of_node(operand).redistribute(once)._node()
    return held


def finished(handle: Any, result: Any, out: Any, casting: str = "unsafe") -> Any:
    """The result in the class of the operand, or written into ``out``; NumPy converts, but on ranks."""
    if out is None or out is NOTHING:
        return shapes.like(handle, result)
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    target: Any = out
    if isinstance(out, Handle) and (target.dtype, target.shape) == (result.dtype, result.shape):
        return assigned_to(target, result)
    return NotImplemented if place_of(handle) is None or out is ... else into(out, result, casting)


def _count(handle: Any, axes: tuple[int, ...]) -> int:
    return prod([handle.shape[k] for k in axes])


def _divided(total: Any, divisor: Any, dtype: np.dtype[Any]) -> Any:
    """``total / divisor`` as NumPy's mean divides: by a full-size integer, rounded back once."""
    if not isinstance(total, Handle):
        return tail(total, lambda number: _in_dtype(np.true_divide(number, divisor), dtype))
    return _in_dtype(general(np.true_divide, total, divisor), dtype)


def _in_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    """A result of a composition, cast to ``dtype``."""
    if value.dtype == dtype:
        return value
    if not isinstance(value, Handle):
        return value.astype(dtype)
    return of_node(cast(value._node(), dtype, user_site()))


def mean_of(
    handle: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:  # fmt: skip
    """The arithmetic mean."""
    if where is not True and where is not NOTHING:
        return NotImplemented
    own = handle.dtype
    result_dtype = own if dtype is None else np.dtype(dtype)
    inner = result_dtype
    if dtype is None and own.kind in "iub":
        inner = result_dtype = _DOUBLE
    elif dtype is None and own == _HALF:
        inner = _SINGLE
    if inner.kind not in "fc":
        return NotImplemented
    total = reduce(np.add, handle, axis, inner, None, keepdims)
    if total is NotImplemented:
        return NotImplemented
    axes = axes_of(axis, len(handle.shape))
    assert axes is not None
    return finished(handle, _divided(total, np.intp(_count(handle, axes)), result_dtype), out)


def variance(
    handle: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = NOTHING,
) -> Any:  # fmt: skip
    """The variance: the mean of the squared distances from the mean."""
    if (where is not True and where is not NOTHING) or handle._np is not None:
        return NotImplemented
    own: np.dtype[Any] = handle.dtype
    axes = axes_of(axis, len(handle.shape))
    if not axes or not is_native(own) or handle.size == 0:
        return NotImplemented
    count = _count(handle, axes) - ddof
    if not isinstance(ddof, (int, float)) or not count > 0:
        return NotImplemented
    if own.kind == "c":
        if dtype is not None or mean is not NOTHING:
            return NotImplemented
        parts = [
            variance(part, axis, None, None, ddof, keepdims)
            for part in (shapes.real(handle), shapes.imag(handle))
        ]
        if parts[0] is NotImplemented:
            return NotImplemented
        return finished(handle, general(np.add, *parts), out)
    inner = np.dtype(dtype) if dtype is not None else (_DOUBLE if own.kind in "iub" else own)
    if inner.kind != "f":
        return NotImplemented
    if mean is NOTHING:
        mean = mean_of(handle, axis, inner, None, True)
        if mean is NotImplemented:
            return NotImplemented
    distance = general(np.subtract, handle, mean)
    squares = general(np.square, distance)
    del distance
    total = reduce(np.add, squares, axis, inner, None, keepdims)
    if total is NotImplemented:
        return NotImplemented
    del squares
    divisor = np.intp(count) if isinstance(ddof, int) else np.float64(count)
    return finished(handle, _divided(total, divisor, inner), out)


def deviation(
    handle: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = NOTHING,
) -> Any:  # fmt: skip
    """The square root of the variance."""
    result = variance(handle, axis, dtype, None, ddof, keepdims, where=where, mean=mean)
    if result is NotImplemented:
        return NotImplemented
    root = general(np.sqrt, result) if isinstance(result, Handle) else tail(result, np.sqrt)
    return finished(handle, root, out, "same_kind")


def position(
    op: Position, handle: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False
) -> Any:
    """The position of an extreme element."""
    if handle._np is not None or not free():
        return NotImplemented
    geometry: Geometry = handle._geometry
    if not is_native(geometry.dtype) or geometry.size == 0 or geometry.ndim == 0:
        return NotImplemented
    axes = axes_of(axis, geometry.ndim)
    if axes is None or (axis is not None and len(axes) != 1) or isinstance(axis, (tuple, list)):
        return NotImplemented
    keepdims = bool(keepdims) if keepdims is not NOTHING else False
    if out is not None and out is not NOTHING:
        target = out[0] if type(out) is tuple and len(out) == 1 else out
        if hasattr(target, "dtype"):
            op.find(np.zeros((1, 1)), axis=0, out=np.empty(1, target.dtype))  # or NumPy's error
    world = world_of([handle])
    if world is not None and not _finds_alone(handle, axes):
        along = None if axis is None or geometry.ndim == 1 else axis % geometry.ndim
        places = record("position", (handle,), along, op.name)
        if keepdims:  # of a whole array the position is a number
            shape = folds.reduced_shape(geometry.shape, axes, True)
            number = along is None
            places = from_numpy(np.full(shape, places)) if number else shapes.reshape(places, shape)
        return finished(handle, places, out)
    node = entered(folds.position(op, handle._node(), axes, keepdims, user_site()))
    if is_read_now(handle._cell):
        evaluate((node,))
    return finished(handle, of_node(node), out)


def _finds_alone(handle: Any, axes: tuple[int, ...]) -> bool:
    """True if each rank finds positions in blocks of its own: along axes that are not divided, or over all."""
    place = place_of(handle)
    if place is None or not place.layout.is_block:
        return place is None
    return len(axes) == place.layout.ndim or folds.has_rows(place.layout, axes)


def _accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    if not isinstance(array, Handle):
        return NotImplemented
    if ufunc not in FOLDS and not _is_ordered(ufunc, array):
        return NotImplemented
    if axis is None and len(array._shape_of_view().shape) != 1:  # NumPy refuses it
        return NotImplemented
    target = out[0] if isinstance(out, tuple) else out
    if target is not None and not isinstance(target, Handle):
        return NotImplemented
    result = accumulate(ufunc, array, axis, dtype)
    return finished(array, result, target) if result is not NotImplemented else result


def accumulate(ufunc: np.ufunc, handle: Any, axis: Any, dtype: Any) -> Any:
    """``ufunc.accumulate``; ``NotImplemented`` leaves it to NumPy."""
    world = world_of([handle])
    if not is_native(handle.dtype) or not handle.size:
        return NotImplemented
    if world is None and (handle._np is not None or is_deferred(handle)):
        return NotImplemented
    if axis is None:
        handle, axis = shapes.in_line(handle), 0
    if type(axis) is not int or not -handle.ndim <= axis < handle.ndim:
        return NotImplemented
    kind = ufunc.accumulate(np.empty(1, handle.dtype)).dtype if dtype is None else np.dtype(dtype)
    if not is_native(kind):
        return NotImplemented
    if world is None:
        return _accumulated_here(ufunc, handle, axis % handle.ndim, kind)
    order = shapes.order_of(handle)
    return record("accumulate", (handle,), axis % handle.ndim, ufunc, kind, order=order)


def _accumulated_here(ufunc: np.ufunc, handle: Any, axis: int, kind: np.dtype[Any]) -> Any:
    """A scan in this process, by loops; NumPy repeats it if it must warn."""
    name, kernels = ufunc.__name__, backend.current()
    if not kernels.can_scan(name, kind, kind):
        return NotImplemented
    array = (handle if kernels.can_scan(name, kind, handle.dtype) else handle.astype(kind))._array()
    result = scanned_by_loops(array, axis, ufunc, kind)
    return NotImplemented if result is None else from_numpy(result)


def _fold_in_order(
    ufunc: np.ufunc, handle: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **others: Any
) -> Any:  # fmt: skip
    """``ufunc.reduce`` of a distributed array, in the order of its elements; ``NotImplemented`` leaves it to NumPy."""
    if others or not _is_ordered(ufunc, handle) or not handle.size:
        return NotImplemented
    if axis is None and handle.ndim == 1:
        axis = 0
    if type(axis) is not int or not -handle.ndim <= axis < handle.ndim:
        return NotImplemented
    kind = np.asarray(ufunc.reduce(np.ones(1, handle.dtype), dtype=dtype)).dtype
    if not is_native(kind):
        return NotImplemented
    result = record("fold in order", (handle,), axis % handle.ndim, ufunc, kind)
    if handle.ndim == 1:
        result = result[()]
    if keepdims:
        shape = tuple([1 if k == axis % handle.ndim else n for k, n in enumerate(handle.shape)])
        result = shapes.reshape(asarray(result), shape)
    return into(out, result)


def _is_ordered(ufunc: np.ufunc, handle: Any) -> bool:
    """True if ranks can apply a ufunc element by element in order: an error of one rank's elements would be unknown to others,
    as one of a user's function (``frompyfunc``) or of an integer power."""
    if not isinstance(handle, Handle) or ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature:
        return False
    dtype = handle._shape_of_view().dtype
    fails = ufunc.types == ["OO->O"] or (ufunc is np.power and dtype.kind in "iu")
    return not fails and is_native(dtype) and world_of([handle]) is not None


register_method("accumulate", _accumulate)


def reduced(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = NOTHING, where: Any = True,
) -> Any:  # fmt: skip
    """``ufunc.reduce``, by NumPy if it cannot be recorded."""
    if isinstance(array, (Handle, flatiter)):
        result = reduce(ufunc, asarray(array), axis, dtype, out, keepdims, initial, where)
        if result is not NotImplemented:
            return folded(array, result, out)
    options: dict[str, Any] = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
    if out is not None:
        options["out"] = out
    if initial is not NOTHING:
        options["initial"] = initial
    if where is not True:
        options["where"] = where
    jointly = partial(_fold_in_order, ufunc)
    return folded(array, by_numpy(ufunc.reduce, (array,), options, jointly=jointly), out)


METHODS: dict[str, Callable[..., Any]] = {}
"""The reductions among the methods of arrays, by name."""


def _method(
    name: str,
    record: Callable[..., Any],
    kind: front.Kind = front.Kind.ARRAYS,
    recording: Recording = COMPOSED,
    *,
    positions: bool = False,
) -> None:
    """Declare a method of arrays: NumPy's on small ones, ``record`` on large ones, else NumPy's on the data.

    ``positions`` are numbers also for an array of a user's class.
    """
    small_method = getattr(np.ndarray, name)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        if type(self) is not Handle.array_type:
            bare = call(in_base_class(self), *args, **options)
            if positions:
                return shapes.like(self, bare) if getattr(bare, "ndim", 0) else bare
            given = any(bare is value for value in (*args, *options.values()))
            return bare if given else folded(self, bare)
        result = NotImplemented
        few = self._np is not None or not (args or options or present(self) is None)
        if not (few or any(map(overrides, (*args, *options.values())))):
            result = record(self, *args, **options)
        if result is NotImplemented:
            result = by_numpy(small_method, (self, *args), options)
        return result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = small_method.__doc__
    METHODS[name] = front.method(kind, recording)(call)


def _fold_method(fold: Fold) -> None:
    """Declare the method of a fold, with NumPy's arguments."""
    ufunc = fold.ufunc

    def extreme(
        handle: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = NOTHING, where: Any = True
    ) -> Any:  # fmt: skip
        return reduce(ufunc, handle, axis, None, out, keepdims, initial, where)

    def test(
        handle: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        return reduce(ufunc, handle, axis, None, out, keepdims, NOTHING, where)

    if fold.is_truth:
        _method(fold.method, test, fold.kind, Recording(Way.RECIPE, None, ufunc.reduce))
    else:
        record = partial(reduce, ufunc) if fold.is_arithmetic else extreme
        known = met_folds, ufunc
        _method(fold.method, record, fold.kind, Recording(Way.FOLD, known, ufunc.reduce))


for _entry in FOLDS.values():
    if _entry.method:
        _fold_method(_entry)
for _position in POSITIONS:
    _method(_position.method, partial(position, _position), _position.kind, positions=True)
for _name, _record in (("mean", mean_of), ("var", variance), ("std", deviation)):
    _method(_name, _record)
