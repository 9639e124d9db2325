"""Creates arrays: empty, constant, and from foreign memory."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite
from typing import Any

import numpy as np

from .. import backend
from ..context.call_sites import user_site
from ..graph.geometry import Geometry, dense
from ..graph.node import Node, source
from ..layout import Layout
from ..ops.elementwise import NATIVE, is_native
from ..ops.table import FILL, INDEX
from . import shapes
from .conversion import (
    default_place,
    distributed,
    from_numpy,
    in_base_class,
    is_small,
    must_travel,
    of_array,
    of_small,
    of_view,
    plain,
    share_of,
)
from .fallback import by_numpy
from .float_errors import free
from .operations import cast
from .pending import bounded
from .views import Cell, Handle

Array = np.ndarray[Any, Any]


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple; an invalid shape raises NumPy's error."""
    extents: tuple[int, ...] = np.empty(shape, "V0").shape  # without memory
    return extents


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """Dtype of a new array; NumPy's dtype classes are valid too."""
    if isinstance(dtype, type) and issubclass(dtype, np.dtype):
        dtype = np.empty((), dtype).dtype
    kind: np.dtype[Any] = np.dtype(dtype)
    return kind


def _base(shape: tuple[int, ...], dtype: np.dtype[Any], order: Any) -> Geometry:
    order = "C" if order is None else str(order).upper()
    if order == "F" and len(shape) > 1:
        return dense(shape, dtype, tuple(reversed(range(len(shape)))))
    if order not in ("C", "F", "A", "K"):
        np.empty(0, order=order)
    return dense(shape, dtype)


def _by_numpy(
    make: Callable[[Any, Any, Any], Array],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    order: Any,
    layout: Layout | None,
) -> Any:
    """An array that is small, or of a dtype that kernels do not hold; on ranks, each makes its own block. ``None`` for others."""
    if is_native(dtype) and not (is_small(shape) and layout is None):
        return None
    place = None
    if layout is not None:
        dtype = np.empty(0, dtype).dtype  # of 'S0', NumPy makes 'S1'
        must_travel(dtype)
        place = default_place(shape, layout)
    if place is None:
        return of_small(make(shape, dtype, order))
    block = make(place.layout.padded_shape(place.world.rank), dtype, "C")
    return recorded(source(block, _base(shape, dtype, order), place=distributed(place)))


def recorded(node: Node) -> Any:
    """A recorded array, also without axes."""
    return of_view(Cell(bounded(node)), node.geometry)


def filled(
    shape: Any,
    scalar: Any,
    dtype: Any,
    order: Any = "C",
    layout: Layout | None = None,
    make: Any = None,
) -> Any:
    """Array of one number; no memory is touched before the program reads it. ``make`` is NumPy's function for it."""

    def full(shape: Any, dtype: Any, order: Any) -> Array:
        array = np.empty(shape, dtype, order)
        np.copyto(array, scalar, casting="unsafe")
        return array

    shape, dtype = shape_of(shape), dtype_of(dtype)
    array = _by_numpy(make or full, shape, dtype, order, layout)
    if array is not None:
        return array
    geometry = _base(shape, dtype, order)
    if dtype.kind != "c" and isinstance(scalar, (float, complex, np.inexact)):
        scalar = np.full((), scalar, dtype)[()]  # NumPy warns, and has integers for inf and nan
    place = distributed(default_place(shape, layout))
    return recorded(Node(FILL, (dtype.type(scalar),), geometry, site=user_site(), place=place))


def zeros(shape: Any, dtype: Any, order: Any, layout: Layout | None = None) -> Any:
    """Zeros of any dtype."""
    return filled(shape, 0, dtype, order, layout, np.zeros)


def empty(shape: Any, dtype: Any, order: Any = "C", layout: Layout | None = None) -> Any:
    """Uninitialised array."""
    shape, dtype = shape_of(shape), dtype_of(dtype)
    array = _by_numpy(np.empty, shape, dtype, order, layout)
    if array is not None:
        return array
    geometry = _base(shape, dtype, order)
    place = distributed(default_place(shape, layout))
    lies = geometry
    if place is not None:
        lies = dense(place.layout.padded_shape(place.world.rank), dtype)
    value = backend.current().allocate(lies)
    return recorded(source(value, geometry, place=place))


def counted(first: Any, step: Any, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Any:
    """``first + step * index along axis``, an array that needs no memory."""
    node = Node(
        INDEX,
        (dtype.type(first), dtype.type(step)),
        dense(shape, dtype),
        (axis,),
        site=user_site(),
        place=distributed(default_place(shape)),
    )
    return recorded(node)


COUNTED = NATIVE.translate(dict.fromkeys(map(ord, "?eFD")))


def arange(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """``numpy.arange`` of numbers; ``None`` leaves the arguments to NumPy."""
    values = [plain(v) for v in (start, stop, step) if v is not None]
    if not all(
        type(v) in (int, float, bool) or isinstance(v, (np.integer, np.floating)) for v in values
    ):
        return None
    if dtype is None:
        dtype = np.result_type(np.intp, *[np.asarray(v).dtype for v in values])
    dtype = np.dtype(dtype)
    if stop is None:
        start, stop = 0, start
    start, stop, step = plain(start), plain(stop), 1 if step is None else plain(step)
    if start is None:
        start = 0
    if dtype.char not in COUNTED or not dtype.isnative or not step or isinstance(step, bool):
        return None
    if not all(isfinite(v) for v in (start, stop, step)):
        return None
    length = max(ceil((stop - start) / step), 0)
    if is_small((length,)) or length > 1 << 52:
        return None
    first = dtype.type(start)
    if dtype.kind == "f":
        if not first and np.signbit(first):
            return None  # -0.0 + 0 * step is not -0.0
        return counted(first, dtype.type(start + step) - first, (length,), 0, dtype)
    # the values are those of Python integers; only they must fit
    delta = int(dtype.type(start + step)) - int(first)
    info = np.iinfo(dtype)
    if not (info.min <= int(first) + (length - 1) * delta <= info.max and info.min <= delta):
        return None
    return counted(first, delta, (length,), 0, dtype)


def asarray(value: Any, dtype: Any = None, order: Any = None, copy: bool | None = None) -> Any:
    """An atoll array: the argument itself if it is one, or an array over the memory of a NumPy array."""
    if isinstance(value, Handle):
        handle = value
        if type(value) is not Handle.array_type:
            handle = in_base_class(value)
        return _converted(handle, dtype, order, copy)
    inner = getattr(type(value), "_handle", None)
    if inner is not None:
        return _converted(inner(value), dtype, order, copy)
    value, order = plain(value), "K" if order is None else order
    if copy and order == "K" and type(value) is np.ndarray and dtype in (None, value.dtype):
        place = None if is_small(value.shape) else default_place(value.shape)
        if place is not None and is_native(value.dtype) and value.flags.aligned:
            return share_of(value, place)
    array = np.array(value, dtype, copy=copy, order=order)
    if array is not value and array.base is None and array.flags.owndata:
        return from_numpy(array)
    return of_array(array)


def _laid_out(handle: Any, order: Any) -> bool:
    if order is None or handle.ndim < 1:
        return True
    order = str(order).upper()
    form = handle._np.flags if handle._np is not None else handle._geometry
    return bool(
        order not in ("C", "F") or (form.c_contiguous if order == "C" else form.f_contiguous)
    )


def _is_of(own: np.dtype[Any], wanted: Any) -> bool:
    """True if the dtype ``own`` is the requested one: a dtype, a class of dtypes, or ``None`` for any."""
    if wanted is None or isinstance(wanted, type(np.dtype)):
        return wanted is None or isinstance(own, wanted)
    return bool(own == wanted) and (own.kind != "T" or own is wanted)  # strings lie in an arena


def _converted(handle: Any, dtype: Any, order: Any, copy: bool | None) -> Any:
    if dtype is not None and not isinstance(dtype, type(np.dtype)):
        dtype = np.dtype(dtype)
    same = _is_of(handle.dtype, dtype)
    if same and not copy and _laid_out(handle, order):
        twin = isinstance(dtype, np.dtype) and dtype.num != handle.dtype.num  # longlong, of long
        return shapes.of_dtype(handle, dtype) if twin else handle
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested.\n"
            "If using `np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy "
            "when needed (no behavior change in NumPy 1.x).\n"
            "For more details, see https://numpy.org/devdocs/numpy_2_0_migration_guide.html"
            "#adapting-to-changes-in-the-copy-keyword."
        )
    order = "K" if order is None else order
    if same:
        return shapes.copied(handle, order)
    return astype(handle, dtype, order, "unsafe", copy=True)


def astype(
    handle: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", *, copy: bool = True
) -> Any:
    """The elements in another dtype."""
    small = handle._np
    if small is not None:
        result = small.astype(dtype, order, casting, copy=copy)
        if result is small:
            return handle
        return from_numpy(result) if not is_native(small.dtype) else of_small(result)
    if isinstance(dtype, type(np.dtype)):  # a class of dtypes, such as np.dtypes.StrDType
        dtype = np.empty(0, handle.dtype).astype(dtype).dtype
    target = np.dtype(dtype)
    own: Geometry = handle._geometry
    if target == own.dtype and not copy and _laid_out(handle, None if order == "K" else order):
        return handle
    if casting == "same_value":  # NumPy looks at every value
        return by_numpy(np.ndarray.astype, (handle, target, order, casting), {})
    twin = target.num != own.dtype.num  # as longlong is of long
    if target == own.dtype and not twin and np.can_cast(own.dtype, target, casting):
        return shapes.copied(handle, order)
    native = (
        is_native(target)
        and is_native(own.dtype)
        and np.can_cast(own.dtype, target, casting)
        and not (own.dtype.kind == "c" and target.kind not in "cb")
    )
    if not native or handle._cell.held() or not free():
        return by_numpy(np.ndarray.astype, (handle, target, order, casting), {})
    result = recorded(cast(handle._node(), target, user_site()))
    if order == "K":
        return shapes.in_order(result, shapes.copied_order_of(handle))
    if not _laid_out(result, order):
        return shapes.copied(result, order)
    return result
