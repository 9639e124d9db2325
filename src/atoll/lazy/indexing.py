"""Indexing: which keys are views, and reading and writing through them."""

from __future__ import annotations

import sys
from operator import getitem, index
from types import EllipsisType
from typing import Any

import numpy as np

from .. import policy
from ..comm import common_warnings
from ..comm.in_step import bcast
from ..config import config
from ..context.call_sites import site_from, user_site
from ..context.interrupts import passed_on
from ..context.threads import turn
from ..graph.geometry import Geometry
from ..graph.node import view_of
from ..ops.elementwise import FAST_SCALARS, is_native
from ..ops.placement import crosses, placed_view
from .conversion import (
    answered,
    has_methods,
    is_familiar,
    of_small,
    of_view,
    plain,
    present,
)
from .creation import asarray
from .elementwise import assign
from .fallback import Given, by_numpy
from .float_errors import free
from .masks import compressed, put_masked
from .replication import asked_for, brought, called
from .views import Cell, Handle

BASIC = frozenset({int, slice, type(None), EllipsisType})


def basic_key(key: Any) -> tuple[Any, ...] | None:
    """The index as a tuple of ints, slices, None and Ellipsis, or ``None`` if it is advanced."""
    items = key if type(key) is tuple else (key,)
    for item in items:
        if type(item) not in BASIC:
            break
    else:
        return items
    integers = []
    for item in items:
        kind = type(item)
        if kind in BASIC:
            integers.append(item)
        elif isinstance(item, np.integer) or _counts_as_integer(item):
            integers.append(item.__index__())
        else:
            return None
    return tuple(integers)


def _counts_as_integer(item: Any) -> bool:
    """True if NumPy takes an item of a key for an integer although it is an array: it has no axes."""
    if not isinstance(item, (np.ndarray, Handle.array_type)):
        return False
    return bool(item.ndim == 0 and item.dtype.kind in "iu")


def settled(key: Any) -> Any:
    """The key with its items converted by the program's own methods, each called once, in NumPy's order."""
    if isinstance(key, tuple):
        key = tuple(key)  # of a subclass, too
    items = key if type(key) is tuple else (key,)
    if not any(map(_asks, items)):
        return key
    asked = [_answer_of(item) if _asks(item) else item for item in items]
    bounded = [_bounded(item) if type(item) is slice else item for item in asked]
    return tuple(bounded) if type(key) is tuple else bounded[0]


def _asks(item: Any) -> bool:
    """True if an item of a key, or a value, has methods that NumPy would call."""
    kind = type(item)
    if kind is slice:
        return any(has_methods(type(bound)) for bound in (item.start, item.stop, item.step))
    return not is_familiar(item) if kind is list or kind is tuple else has_methods(kind)


def _answer_of(item: Any) -> Any:
    """The integer or the index array that an item of a key converts to."""
    if type(item) is slice or item is Ellipsis:
        return item
    if hasattr(type(item), "__index__"):
        try:
            return index(item)
        except Exception as problem:  # then NumPy does not take it for an integer
            passed_on(problem)
    array = asarray(answered(item))
    if array.dtype.kind in "biu":
        return array
    if array.size:
        by_numpy(getitem, (np.empty(0), object()), {})  # NumPy's error
    return array.astype(np.intp)


def _bounded(item: slice) -> slice:
    """A slice with its bounds converted to integers where they can be."""
    step = _bound(item.step)
    if type(step) is int and not step:  # NumPy's first check
        return slice(item.start, item.stop, step)
    return slice(_bound(item.start), _bound(item.stop), step)


def _bound(number: Any) -> Any:
    return index(number) if hasattr(type(number), "__index__") else number


def get(handle: Handle, key: Any) -> Any:
    """``handle[key]``."""
    small = handle._np
    if small is not None:
        key = settled(key)
        short = _short_key(key)
        return _picked(handle, key) if short is None else of_small(small[short])
    key = settled(key)
    items = basic_key(key)
    if items is None:
        geometry = handle._geometry.field(key)
        if geometry is None:
            elements: Any = compressed(handle, key)
            return _picked(handle, key) if elements is None else elements
    else:
        if any(map(_counts_as_integer, key if type(key) is tuple else (key,))):  # NumPy copies
            elements = get(handle, items)
            return elements if isinstance(elements, np.generic) else elements.copy("K")
        geometry = handle._geometry.index(items)
        if geometry.ndim == 0 and Ellipsis not in items:
            return element(handle, geometry)
    cell = handle._cell
    place = cell.node.place
    if place is not None and not place.is_boxes and geometry.number not in place.read:
        placed_view(place, geometry)  # raises for a view that no layout describes
    if cell._first is None:
        cell.viewed_from(handle)
    return of_view(cell, geometry)


def _picked(handle: Handle, key: Any) -> Any:
    """The elements that index arrays or masks choose."""
    from . import fancy_indexing

    elements = fancy_indexing.picked(handle, key)
    return by_numpy(getitem, (handle, key), {}) if elements is NotImplemented else elements


_PLAIN = BASIC | {np.int64, np.intp, np.bool_}


def _short_key(key: Any) -> Any:
    """A key of numbers, slices and small arrays for NumPy; ``None`` if it holds other objects."""
    items = key if type(key) is tuple else (key,)
    given = []
    for item in items:
        if type(item) is Handle.array_type:
            item = present(item) if item._np is None else item._np
            if item is None:
                return None
        elif type(item) not in _PLAIN and not isinstance(item, (np.ndarray, np.generic)):
            return None
        given.append(item)
    return tuple(given) if type(key) is tuple else given[0]


def put(handle: Handle, key: Any, value: Any) -> None:
    """``handle[key] = value``."""
    small = handle._np
    if small is not None:
        short = _short_key(key)
        kind = type(value)
        if kind is Handle.array_type and value._np is not None and small.dtype.kind != "O":
            value = value._np
        elif kind not in FAST_SCALARS and not _is_element_of_objects(handle, key):
            value = plain(value)
        small[plain(key) if short is None else short] = value
        return
    if not handle._may_be_written():
        raise ValueError("assignment destination is read-only")
    key = settled(key)
    items = basic_key(key)
    region = handle._geometry.field(key) if items is None else handle._geometry.index(items)
    if _asks(value):
        if type(value) not in (list, tuple) and (region is None or region.ndim):
            value = answered(value, (region or handle._geometry).dtype)
        if _asks(value):
            _put_by_numpy(handle, key, value)
            return
    if region is not None:
        cell = handle._cell
        large = isinstance(value, Handle) and value._np is None
        if large and value._cell is cell and value._geometry.number == region.number:
            return  # Python ends ``a[key] += x`` by assigning a view to itself
        if cell.node.place is not None and crosses(region):
            from . import fancy_indexing

            if fancy_indexing.put_across(cell, region, value):
                return
        elif region.short and _put_now(cell, region, value):
            return
        elif large and not (cell.held() or value._cell.held()) and free():
            theirs = value._geometry
            fits = theirs.shape == region.shape and theirs.dtype is region.dtype
            simple = type(value) is Handle.array_type and not region.is_base
            if fits and simple and theirs.size and is_native(theirs.dtype):
                cell.write(region, value._node(), None, site_from(sys._getframe(2)))
                return
        if assign(cell, region, value):
            return
    elif _put_through(handle, key, value):
        return
    _put_by_numpy(handle, key, value)


def _put_by_numpy(handle: Handle, key: Any, value: Any) -> None:
    given = Given()
    key = given.give(key)
    if not _is_element_of_objects(handle, key):
        value = given.give(value)
    handle._mutate(lambda array: array.__setitem__(key, value))


def _is_element_of_objects(handle: Handle, key: Any) -> bool:
    """True if a key is one element of an array of objects, which holds whatever is assigned to it."""
    form = handle._np if handle._np is not None else handle._geometry
    if form.dtype.kind != "O":
        return False
    items = basic_key(key)
    return (
        items is not None and len(items) == form.ndim and all(type(item) is int for item in items)
    )


def _put_now(cell: Cell, region: Geometry, value: Any) -> bool:
    """Write a few numbers into memory that no other array shows; True if it was done.

    A pending value is computed for it only if a loop repeats the assignment: then it would be computed anyway.
    """
    if cell.node.place is not None and not brought(cell.node):
        lies = isinstance(value, Handle) and value._np is None and value._cell.node.place
        is_next = cell.comes_round(user_site()) if cell.node.value is None else not lies
        if is_next and region.size < config.small:
            called(cell.node, 1 / policy.limits.pieces)
        return False
    array = type(value) is Handle.array_type
    if not (array or type(value) in FAST_SCALARS) or region.size >= config.small:
        return False
    round_again = cell.node.value is None
    if round_again:
        if not cell.comes_round(user_site()):
            return False
        cell.settle()
    if array:
        value = _few(value, round_again)
        if value is None or (value.ndim and not region.ndim):
            return False  # an element: NumPy decides which values it takes
    with turn.lock:
        if not (round_again or cell.is_unshared() or cell.is_used_by_pieces()):
            # pending values need the old value, and may be computed before it has to be copied
            return False
        view_of(cell.own().array, region)[...] = value
    return True


def _few(handle: Any, round_again: bool) -> Any:
    """The elements of a short array, computed if a loop has reached its assignment again; else ``None``."""
    if handle._np is not None:
        return handle._np
    elements = present(handle)
    if elements is None and round_again and handle._geometry.short:
        node = handle._cell.node
        if node.place is None and node.weight >= 0:
            elements = handle._array()
    return elements


def _put_through(handle: Handle, key: Any, value: Any) -> bool:
    """Assign through masks and index arrays; True if it was done or recorded."""
    from . import fancy_indexing

    place = handle._cell.node.place
    blocks = place is None or place.layout.is_block  # no loop runs over other shares
    masked = blocks and put_masked(handle, key, value)
    return masked or bool(fancy_indexing.put(handle, key, value))


def element(handle: Handle, geometry: Geometry) -> Any:
    """One element as a NumPy scalar; its owner broadcasts an element of a distributed array."""
    cell = handle._cell
    value = cell.settle()
    place = cell.node.place
    if place is None:
        return view_of(value.array, geometry)[()]
    near = asked_for(cell, geometry)
    if near is not None:
        return near[()]
    axes = geometry.axes
    if axes is None:
        return cell.gathered(geometry)[()]
    where = tuple([first for first, _ in axes])
    # hashes of integers are the same on all ranks
    which = hash((place.layout.shape, where, cell.node.born))
    owner, local = place.layout.locate(where)
    scalar = np.empty((), geometry.dtype)
    if owner == place.world.rank:
        halo = place.layout.halo(owner)
        scalar[...] = value.array[tuple([i + a for i, (a, _) in zip(local, halo, strict=True)])]
    scalar = bcast(place.world.communicator, scalar, owner, "an element", which)
    common_warnings.ask(place.world.communicator)
    scalar.flags.writeable = (
        False  # NumPy's structured scalars are views: writes there would be lost
    )
    return scalar[()]
