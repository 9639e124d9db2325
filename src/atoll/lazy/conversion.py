"""Conversion between NumPy arrays and atoll arrays."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from .. import policy
from ..comm.world import World, current_world
from ..config import config
from ..context import statistics
from ..context.caches import remembered
from ..context.call_sites import Site, site_number
from ..context.threads import turn
from ..errors import LayoutError
from ..front import native
from ..graph.geometry import Geometry, dense, kept_order, strided
from ..graph.node import FOLLOWS, Node, new, source
from ..layout import Layout
from ..layout.transfer import region_key
from ..ops.elementwise import is_native
from ..ops.placement import Place
from .evaluation import evaluate
from .pending import bounded
from .protocols import ask, meet
from .recipes import Learner
from .replication import asked_for, is_undivided, stays_divided
from .views import Cell, Handle, boxed, whole_of

_SCALARS = {np.dtype(code).type for code in np.typecodes["All"]}
PASSED = frozenset(
    {int, float, complex, bool, str, bytes, NoneType, slice, EllipsisType, type}
    | _SCALARS
    | {type(np.dtype(kind)) for kind in _SCALARS}
)
"""Classes of values passed to NumPy unchanged."""


def is_small(shape: tuple[int, ...]) -> bool:
    """True if an array of this shape is kept as a NumPy array."""
    return prod(shape) < config.small


def is_modest(shape: tuple[int, ...]) -> bool:
    """True if an array of this shape is computed so quickly that ranks need not share the work.

    A message and its plan take as long as some arithmetic on that many elements. So each rank holds and computes
    the whole array. The same applies to a shape that ranks have found not worth dividing.
    """
    return prod(shape) < config.everywhere or is_undivided(shape, current_world())


def is_long(handle: Handle) -> bool:
    """True if an array is neither small nor a short view of a large one."""
    if handle._np is not None:
        return False
    geometry = handle._geometry
    return not geometry.short or geometry.size >= config.small


def present(handle: Handle) -> np.ndarray[Any, Any] | None:
    """Memory of a short view if its value is in memory, in a single process or on all ranks: recording does not pay.

    A program that iterates over the rows of a large matrix would wait for each of them.
    A view of a large array counts as short if its size would make an array small.
    """
    if is_long(handle):
        return None
    geometry = handle._geometry
    cell = handle._cell
    node = cell.node
    if node.value is None:
        if node.weight < 0 or not geometry.ndim:
            return None
        waits = node.place is not None or current_world().size == 1
        while node.place and node.value is None and node.op.is_update and node.params[0].short:
            node = node.args[0]  # a loop goes over elements or rows
        times = 1 if node.place is None or node.value is not None else policy.limits.patience
        del node  # or the old version would be referred to, and be copied
        if waits and (geometry.size > policy.limits.short or not cell.is_used_by_pieces(times)):
            return None
        cell.settle()
    return asked_for(cell, geometry)


def layout_for(layout: Any, shape: tuple[int, ...], world: World) -> Layout:
    """A layout that the program asks for: an :class:`atoll.Layout`, or the maps of one, such as ``"bn"``."""
    if not isinstance(layout, Layout):
        return Layout(shape, layout, size=world.size)
    if layout.shape != shape:
        raise LayoutError(
            f"layout: it is for shape {layout.shape}, but the array has shape {shape}; both must agree: atoll.Layout({shape})"
        )
    if layout.processes != world.size:
        raise LayoutError(
            f"layout: it is for {layout.processes} ranks, but the world of the array has {world.size}; it must be made in that world"
        )
    return layout


def default_place(
    shape: tuple[int, ...], layout: Any = None, *, among: bool = False
) -> Place | None:
    """Placement of a new array of this shape: everywhere if it is modest, else in even blocks; in these also where it
    is made ``among`` arrays on ranks, unless it is small."""
    world = current_world()
    if layout is not None:
        return chosen(layout_for(layout, shape, world), world)
    if world.size == 1 or not shape or (is_small(shape) if among else is_modest(shape)):
        return None
    return _evenly(shape, world)


def spread_place(geometry: Geometry, args: Sequence[Any], site: Site | None) -> Any:
    """Placement of the result of an elementwise operation on arrays that every rank has: even blocks, if broadcasting makes
    a large array of smaller ones, since no element has to travel. Else the placement follows from the operands."""
    world = current_world()
    if world.size == 1 or geometry.size < policy.limits.pieces * config.small:
        return FOLLOWS
    if not (turn.simulated or threading.current_thread() is threading.main_thread()):
        return FOLLOWS  # ranks would have to know the order of threads
    for arg in args:
        if type(arg) is Node and (
            arg.place is not None or arg.weight < 0 or arg.geometry.size == geometry.size
        ):
            return FOLLOWS
    if geometry.size < (config.settings().everywhere or 0) or is_undivided(geometry.shape, world):
        return FOLLOWS
    if geometry.size <= world.communicator.log.undivided_lines.get(site_number(site), 0):
        return FOLLOWS
    return distributed(_evenly(geometry.shape, world))


@remembered
def _evenly(shape: tuple[int, ...], world: World) -> Place | None:
    return Place.of(Layout.default(shape, world.size), world)


def chosen(layout: Layout, world: World) -> Place | None:
    """The distribution of a layout that the program has chosen. An uneven one stops the rebalancing of arrays."""
    place = Place.of(layout, world)
    if place is not None:
        stays_divided(layout.shape, world)
    if place is not None and place.lopsided:
        world.communicator.log.as_laid_out = True
    return place


def must_travel(dtype: np.dtype[Any]) -> None:
    """Raise a ``LayoutError`` for a dtype without memory that ranks could send."""
    if dtype.hasobject or not dtype.itemsize:
        what = "are Python objects" if dtype.hasobject else "take no memory"
        raise LayoutError(
            f"layout: the dtype is {dtype}, whose elements {what}; ranks send each other memory, so these cannot be "
            "divided: leave the layout out, and every rank has all of them, or use a dtype of a fixed size, such as 'U16'"
        )


def distributed(place: Place | None) -> Place | None:
    """Placement of a new array; distributed ones are counted."""
    if place is not None and place.layout.cells > 1:
        statistics.add("distributed")
    return place


def answered(value: Any, *dtype: Any) -> Any:
    """Result of the program's methods where NumPy would ask a value for an array: they are called once.

    That is ``value.__array__()`` where NumPy asks for nothing else, and a list with such values is an array; else the value.
    """
    kind = type(value)
    if kind is not list and kind is not tuple:
        return ask(value, *dtype) if has_methods(kind) and meet(kind) else value
    return value if is_familiar(value) else np.array(plain(value))


def is_familiar(values: Any) -> bool:
    """True if converting a list calls no method of the program's."""
    kinds = set(map(type, values))
    return not any(map(has_methods, kinds)) and (
        kinds.isdisjoint((list, tuple))
        or all(is_familiar(item) for item in values if type(item) in (list, tuple))
    )


@remembered
def has_methods(kind: type) -> bool:
    """True if NumPy may call methods of the program's to convert a value of this class."""
    return not issubclass(kind, (Handle, np.ndarray, np.generic)) and kind not in _WORDS


_WORDS = frozenset({int, float, complex, bool, str, bytes, NoneType, EllipsisType, list, tuple})


def is_numpys(values: list[Any]) -> bool:
    """True if NumPy takes the values of a list without conversion."""
    kinds = set(map(type, values))
    return not any(k in (list, tuple) or has_methods(k) or issubclass(k, Handle) for k in kinds)


def plain(value: Any) -> Any:
    """The value for NumPy: arrays as NumPy arrays over their memory, also in containers."""
    if isinstance(value, Handle):
        return value._array()
    kind = type(value)
    if kind is tuple:
        return tuple([plain(v) for v in value])
    if kind is list:
        return value if is_numpys(value) else [plain(v) for v in value]
    if kind is dict:
        return {k: plain(v) for k, v in value.items()}
    if has_methods(kind):
        meet(kind)
    return value


def from_numpy(array: np.ndarray[Any, Any], whole: int = 0) -> Any:
    """An array that takes over the memory of ``array``, which no other array may share.

    Every rank keeps all of it if it has at most ``whole`` elements: as many as an array on every rank of which it was made.
    """
    if is_small(array.shape) or not is_native(array.dtype):
        handle = new(Handle.array_type)
        handle._np = array
        return handle
    place = None if array.size <= whole else default_place(array.shape)
    if place is not None:
        return share_of(array, place)
    boxed = None if native is None else native.boxed(array)
    if boxed is not None:
        return boxed
    node = source(array, memory_geometry(array))
    return of_view(Cell(node), node.geometry)


def share_of(array: np.ndarray[Any, Any], place: Place) -> Any:
    """An array on ranks with the elements of a NumPy array, of which this rank copies its part alone."""
    order = kept_order(array.shape, (memory_geometry(array),))
    block = np.array(array[region_key(place.layout.region(place.world.rank))], order="C")
    node = source(block, dense(array.shape, array.dtype, order), place=distributed(place))
    return of_view(Cell(node), node.geometry)


def become(handle: Any, other: Any) -> Any:
    """Make ``handle`` refer to the value of ``other``."""
    handle._np = other._np
    if other._np is None:
        handle._cell, handle._geometry = other._cell, other._geometry
    elif hasattr(handle, "_cell"):
        del handle._cell  # it keeps memory alive
    return handle


def in_class(kind: type, result: Any, parent: Any) -> Any:
    """Another handle on the same values, of class ``kind``; its ``__array_finalize__`` receives the source."""
    handle = become(object.__new__(kind), result)
    handle.__array_finalize__(parent)
    return handle


def in_base_class(value: Any) -> Any:
    """The same values without the user's subclass."""
    return become(object.__new__(Handle.array_type), value)


def of_small(result: Any, whole: int = 0) -> Any:
    """Array over NumPy's result for small arrays; ``whole`` as for :func:`from_numpy`."""
    if type(result) is np.ndarray:
        if result.size > policy.limits.small and result.base is None:
            return from_numpy(result, whole)  # small arrays, broadcast against each other
        handle = object.__new__(Handle.array_type)
        handle._np = result
        return handle
    return result


def of_node(node: Node) -> Any:
    """Array whose value is ``node``; without axes a NumPy scalar, computed now.

    A value that waits for another rank is not a scalar yet: it stays an array.
    """
    geometry = node.geometry
    if not geometry.ndim and node.weight >= 0:
        learner = Learner.now
        if learner is not None:
            learner.evaluated(node)
        evaluate((node,))
        number = whole_of(node)[()]
        usual = geometry.dtype.type
        if type(number) is not usual:
            number = usual(number)
        if learner is not None:
            learner.gave(number)
        return number
    return of_view(boxed(new(Cell), bounded(node)), geometry)


def memory_geometry(array: np.ndarray[Any, Any]) -> Geometry:
    """Geometry of an array's memory."""
    return strided(array.shape, array.dtype, array.strides)


def of_view(cell: Cell, geometry: Geometry) -> Any:
    """A view of a cell."""
    handle = new(Handle.array_type)
    handle._np = None
    handle._cell = cell
    handle._geometry = geometry
    return handle


def of_array(array: np.ndarray[Any, Any]) -> Any:
    """An array over NumPy memory that other arrays may share."""
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    if is_small(array.shape) or not is_native(array.dtype) or not array.flags.aligned:
        return of_small(array)
    cell = Cell.foreign(array)
    return of_view(cell, cell.geometry)
