"""Views of another shape, and copies where a view is impossible.

A view is a geometry; NumPy finds it on a shadow (see :mod:`..graph.geometry`), under the
same name as on a small array. Where NumPy would copy, a copy is recorded, and viewed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Hashable
from operator import index
from typing import Any

import numpy as np

from ..context.call_sites import user_site
from ..context.interrupts import passed_on
from ..context.warn import come_first
from ..graph.geometry import Geometry, copied_order, dense, kept_order
from ..graph.node import Node, source
from ..ops.elementwise import result_geometry
from ..ops.table import CAST, FILL, READ
from .cells import own_cells
from .conversion import from_numpy, has_methods, of_small, of_view, present
from .conversion import in_class as in_class
from .evaluation import evaluate
from .operations import record
from .views import SOLE, Cell, Handle

Array = np.ndarray[Any, Any]


def like(handle: Handle, result: Any) -> Any:
    """``result`` in the class of ``handle``, if that is a subclass of the user's."""
    kind = type(handle)
    keeps = kind is not Handle.array_type and isinstance(result, Handle) and handle.inherits
    return in_class(kind, result, handle) if keeps else result


def view(handle: Handle, key: Hashable, make: Callable[[Array], Array]) -> Any:
    """The view that ``make`` takes of a small array, or of the shadow of a large one."""
    small = handle._np
    if small is not None:
        result = of_small(make(small))
    else:
        handle._cell.viewed_from(handle)
        result = of_view(handle._cell, handle._geometry.derived(key, make))
    return result if type(handle) is Handle.array_type else like(handle, result)


def is_view_of(first: Handle, second: Handle) -> bool:
    """True if two handles share memory."""
    if first._np is not None:
        return second._np is not None and bool(np.may_share_memory(first._np, second._np))
    return second._np is None and first._cell is second._cell


def _dense_for(geometry: Geometry, order: str) -> Geometry:
    """The base in which a copy of ``geometry`` in some memory order lies."""
    shape, dtype = geometry.shape, geometry.dtype
    fortran = geometry.f_contiguous
    if order == "C" or (order == "A" and not (fortran and not geometry.c_contiguous)):
        return dense(shape, dtype)
    if order in "FA":
        return dense(shape, dtype, None if len(shape) < 2 else tuple(reversed(range(len(shape)))))
    return dense(shape, dtype, copied_order(geometry))


def copied(handle: Handle, order: Any = "C") -> Any:
    """A copy."""
    order = "C" if order is None else str(order).upper()
    if handle._np is not None or order not in ("C", "F", "A", "K"):
        return like(handle, of_small(handle._array().copy(order)))
    cell, geometry = handle._cell, handle._geometry
    short = present(handle) if geometry.short and not geometry.is_base else None
    if short is not None:
        return like(handle, from_numpy(short.copy(order)))
    if order == "C" and geometry.dense and geometry.c_contiguous and not cell.held():
        return like(handle, of_view(cell.copied(), geometry))
    target = _dense_for(geometry, order)
    if cell.held():
        node = record(CAST, (handle._node(),), target, site=user_site())
        evaluate((node,))
        return like(handle, of_view(Cell(node), target))
    if geometry.is_base and target is geometry:
        copy = of_view(cell.copied(), geometry)
    elif target is result_geometry((geometry,), geometry.dtype) and not geometry.is_base:
        copy = of_view(type(cell)(handle._node()), target)
    else:
        node = record(READ, (cell.node,), target, (geometry,), site=user_site())
        copy = of_view(type(cell)(node), target)
    return like(handle, copy)


def order_of(handle: Any) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest, as NumPy keeps them in a result like this; ``None``: C order."""
    return kept_order(handle.shape, (handle._shape_of_view(),))


def copied_order_of(handle: Any) -> tuple[int, ...] | None:
    """The same order for a copy, by NumPy's rule."""
    return copied_order(handle._shape_of_view())


def turned_order(handle: Any) -> tuple[int, ...] | None:
    """Memory order of results that are Fortran-ordered only if the whole operand is; ``None`` for C order."""
    view = handle._shape_of_view()
    turned = view.f_contiguous and not view.c_contiguous
    return tuple(reversed(range(len(handle.shape)))) if turned else None


def in_order(result: Any, order: tuple[int, ...] | None) -> Any:
    """A new array with its elements in another order of memory; ``None`` stands for C order.

    On ranks only the visible order changes, in strides and views; the blocks stay unchanged.
    """
    if not isinstance(result, Handle):
        return result
    small = result._np
    if order is not None and len(order) != len(result._shape_of_view().shape):
        return result
    if small is not None:
        if order is None:
            return result if small.flags.carray else like(result, of_small(small.copy()))
        turned = np.empty_like(small.transpose(order), order="C").transpose(np.argsort(order))
        own = np.empty_like(turned)  # in its own memory, in this order
        own[...] = small
        return like(result, of_small(own))
    geometry = result._geometry
    target = dense(geometry.shape, geometry.dtype, order)
    if geometry is target:
        return result
    cell = result._cell
    node, value = cell.node, cell.node.value
    if geometry.is_base and value is not None and node.place is not None:
        turned_node = source(value.array, target, place=node.place, born=node.born)
    else:
        turned_node = record(READ, (node,), target, (geometry,), site=user_site())
    return like(result, of_view(type(cell)(turned_node), target))


def _shape_of(handle: Handle, shape: Any) -> tuple[int, ...]:
    """A shape in any of the forms that NumPy takes."""
    extents: tuple[int, ...]
    if has_methods(type(shape)):  # NumPy reads it, in an array without memory
        extents = np.empty(handle._geometry.shape, "V0").reshape(shape).shape
        return extents
    try:
        extents = (index(shape),)
    except TypeError as problem:
        passed_on(problem)
        extents = tuple([index(n) for n in shape])
        if any(isinstance(n, (bool, np.bool_)) for n in shape) or extents.count(-1) > 1:
            np.empty(1).reshape(shape)  # NumPy's error
    return extents


def reshape(handle: Handle, shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
    """The elements in another shape: a view if NumPy has one, else a copy."""
    small = handle._np
    if small is not None:
        return like(handle, of_small(np.reshape(small, shape, order=order, copy=copy)))
    shape = _shape_of(handle, shape)
    order = "C" if order is None else str(order).upper()
    if order not in ("C", "F", "A"):
        np.empty(0).reshape(-1, order=order)  # NumPy's error
    geometry = handle._geometry
    if order == "A":
        order = "F" if geometry.f_contiguous and not geometry.c_contiguous else "C"
    reshaped = None if copy else _reshaped(geometry, shape, order)
    if reshaped is None:
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        handle = copied(handle, order)
        if handle._np is not None:  # a short piece of something large
            return like(handle, of_small(handle._np.reshape(shape, order=order)))
        reshaped = _reshaped(handle._geometry, shape, order)
        assert reshaped is not None
    handle._cell.viewed_from(handle)
    return like(handle, of_view(handle._cell, reshaped))


def _reshaped(geometry: Geometry, shape: tuple[int, ...], order: str) -> Geometry | None:
    if order == "C":
        return geometry.reshaped(shape)
    try:
        return geometry.derived(
            ("reshape", shape, order), lambda s: np.reshape(s, shape, order="F", copy=False)
        )
    except ValueError as problem:
        passed_on(problem)
        geometry.reshaped(shape)  # raises where no copy would help
        return None


def flatten(handle: Handle, order: Any = "C") -> Any:
    """A copy with one axis."""
    small = handle._np
    if small is not None:
        return like(handle, of_small(small.flatten(order)))
    order = _flat_order(handle._geometry, order)
    if order == "C" and handle._geometry.c_contiguous:
        return copied(reshape(handle, (-1,)))
    if order == "K":
        axes = order_of(handle)
        turned = handle if axes is None else transpose(handle, axes)
        return reshape(copied(turned), (-1,))
    return reshape(copied(handle, order), (-1,), order)


def _flat_order(geometry: Geometry, order: Any) -> str:
    order = "C" if order is None else str(order).upper()
    if order not in ("C", "F", "A", "K"):
        np.empty(0).flatten(order)
    if order == "A":
        return "F" if geometry.f_contiguous and not geometry.c_contiguous else "C"
    return str(order)


def ravel(handle: Handle, order: Any = "C") -> Any:
    """The elements along one axis: a view if the memory has that order already."""
    small = handle._np
    if small is not None:
        return like(handle, of_small(small.ravel(order)))
    geometry = handle._geometry
    order = _flat_order(geometry, order)
    if order == "C" and geometry.c_contiguous:
        return reshape(handle, (-1,))
    if order == "F" and geometry.f_contiguous:
        return reshape(handle, (-1,), "F")
    if order == "K":
        return _ravel_as_it_lies(handle)
    return flatten(handle, order)


def in_line(handle: Any) -> Any:
    """The elements along one axis, to be read: the array itself if it has one axis."""
    return handle if handle.ndim == 1 else ravel(handle)


def _ravel_as_it_lies(handle: Handle) -> Any:
    geometry = handle._geometry
    axes = tuple(sorted(range(geometry.ndim), key=lambda k: -abs(geometry.strides[k])))
    turned = view(handle, ("transpose", axes), lambda s: s.transpose(axes))
    if turned._geometry.c_contiguous:
        return reshape(turned, (-1,))
    return flatten(handle, "K")


def set_shape(handle: Handle, shape: Any, order: str = "C") -> None:
    """``a.shape = shape``."""
    if handle._np is not None:
        own = _changeable(handle)
        if order == "C":
            own.shape = shape
        else:
            own = own.reshape(shape, order=order)
        handle._np = own
        return
    reshaped = _reshaped(handle._geometry, _shape_of(handle, shape), order)
    if reshaped is None:
        raise AttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the "
            "desired shape."
        )
    handle._cell.viewed_from(handle)
    handle._geometry = reshaped


def set_dtype(handle: Handle, dtype: Any) -> None:
    """``a.dtype = dtype``."""
    if handle._np is None:
        handle._cell.viewed_from(handle)
        handle._geometry = handle._geometry.derived(
            ("view", np.dtype(dtype)), lambda s: s.view(dtype)
        )
        return
    own = _changeable(handle)
    own.dtype = dtype
    handle._np = own


def _changeable(handle: Handle) -> Any:
    """The array of a small one, or a view of it where another array may be the same or show it."""
    return handle._np if sys.getrefcount(handle._np) == SOLE else handle._np.view()  # type: ignore[union-attr]


def strides_of(handle: Handle) -> tuple[int, ...]:
    """``a.strides``, as in the result of ``__array__``: a part of a distributed array is gathered without gaps."""
    if handle._np is not None:
        return handle._np.strides
    geometry, cell = handle._geometry, handle._cell
    if cell.node.place is None or geometry.size >= cell.geometry.size:
        return geometry.strides
    order = kept_order(geometry.shape, (geometry,))
    return dense(geometry.shape, geometry.dtype, order).strides


def set_strides(handle: Handle, strides: Any) -> None:
    """``a.strides = strides``, where NumPy finds that they stay within the memory."""
    if handle._np is None and strides_of(handle) != handle._geometry.strides:
        raise ValueError(
            f"strides: a part of an array that is distributed over ranks has no memory with strides {strides}; "
            "use atoll.array(a) for a copy that has"
        )

    come_first()

    def strided(array: Array) -> Array:
        view = array.view()
        view.strides = strides
        return view

    if handle._np is not None:
        handle._np = strided(handle._np)
        return
    geometry = handle._geometry
    shadow_view = strided(geometry.shadow)
    ends = [
        stride * (n - 1) for stride, n in zip(shadow_view.strides, shadow_view.shape, strict=True)
    ]
    first = geometry.offset + sum(min(end, 0) for end in ends)
    last = geometry.offset + sum(max(end, 0) for end in ends) + shadow_view.itemsize
    if shadow_view.size and (first < 0 or last > geometry.base.size * geometry.base.dtype.itemsize):
        raise ValueError("strides is not compatible with available memory")
    key = ("strides", shadow_view.strides)
    handle._geometry = geometry.derived(key, lambda shadow: shadow_view)


def transpose(handle: Handle, axes: Any = None) -> Any:
    """The axes in another order, by default reversed."""
    if axes is None:
        return view(handle, "T", lambda s: s.T)
    axes = tuple(axes)
    return view(handle, ("transpose", axes), lambda s: s.transpose(axes))


def broadcast_to(handle: Handle, shape: Any) -> Any:
    """The read-only view that repeats the elements to ``shape``."""
    shape = _shape_of(handle, tuple(shape) if np.iterable(shape) else (shape,))
    return view(handle, ("broadcast", shape), lambda s: np.broadcast_to(s, shape))


def real(handle: Handle) -> Any:
    """The real parts."""
    if handle.dtype.kind != "c" and handle.dtype.kind != "O":  # type: ignore[attr-defined]
        return handle
    return view(handle, "real", lambda s: s.real)


def imag(handle: Handle) -> Any:
    """The imaginary parts: a view of complex elements, read-only zeros otherwise."""
    if handle._np is not None or handle._geometry.dtype.kind == "c":
        return view(handle, "imag", lambda s: s.imag)
    geometry = handle._geometry
    form = dense(geometry.shape, geometry.dtype, turned_order(handle))
    node = Node(FILL, (geometry.dtype.type(0),), form)
    return like(handle, view(of_view(Cell(node), node.geometry), "read-only", read_only))


def read_only(array: Array) -> Array:
    """A view that may not be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


def of_dtype(handle: Handle, dtype: Any) -> Any:
    """The same memory, interpreted as elements of another dtype."""
    kind = np.dtype(dtype)
    return view(handle, ("view", kind, kind.num), lambda s: s.view(dtype))


def writeable_again(handle: Handle) -> Geometry:
    """The geometry of a read-only view made writeable again, or NumPy's error."""
    owner = handle._cell.first()
    owned = owner is None or owner is handle or owner._geometry.writeable
    if not (owned and handle._cell.writeable):
        np.frombuffer(b"0", np.uint8).flags.writeable = True  # NumPy's error
    return handle._cell.geometry.at(handle._geometry, handle._geometry.offset, writeable=True)


def base_of(handle: Handle) -> Any:
    """Base of ``handle``, or ``None``."""
    small = handle._np
    if small is not None:
        owner = small.base
        return _shown(owner) if type(owner) is np.ndarray else owner
    cell = handle._cell
    known = cell.first()
    if known is handle or (known is None and handle._geometry.is_base):
        return None
    if known is None:
        known = of_view(cell, cell.geometry)
        cell.viewed_from(known)
    return known


def _shown(array: Array) -> Any:
    """The atoll array over a NumPy array, searched when ``base`` is read."""
    for referrer in gc.get_referrers(array):
        if isinstance(referrer, Handle) and referrer._np is array:
            return referrer
    for cell in own_cells():
        if cell.node.value is not None and cell.node.value.array is array:
            first = cell.first()
            return of_view(cell, cell.geometry) if first is None else first
    return of_small(array)
