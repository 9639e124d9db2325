"""Views: reading from a base, and writing into it.

A *cell* is the mutable box of one base array: it holds the node of its present value. A
*handle* is the object that the program refers to: either a small NumPy array, or a cell with the
geometry of a view on it. Reading through a view makes a ``read`` node; writing through it
replaces the cell's node by an ``update``, so every other view of the cell sees it.

A cell is *pinned* while its memory is known outside: then its address never changes,
assignments land in it at the call, and operations read it as of the call.

Ranks must not differ because one of them has exposed memory. All ranks expose the memory of a distributed array, in a
step, so all compute its readers at the call. One rank may expose a replicated array alone: its readers take copies.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import policy
from ..comm.world import current_world
from ..context.call_sites import site_number
from ..context.threads import leave, turn
from ..context.warn import come_first
from ..exchange.gather import gather
from ..front import Box, Front, at_end, finish_ends
from ..graph.geometry import Geometry, kept_order, strided
from ..graph.node import Node, Site, Value, new, source, view_of
from ..graph.op import SOURCE
from .cells import noted
from .evaluation import evaluate
from .operations import read, update
from .pending import bounded, settle_turn

LENT = 1 << 30
"""In the pins of a cell: the program has made its array, and may refer to it still."""
ALONE = 1 << 40
"""Bit in the pins of a cell: this rank has exposed the memory of a replicated array, which other ranks may not have done."""
_value = Value(np.empty(0))
SOLE = sys.getrefcount(_value.array)
"""Reference count of an object referred to by one attribute only, including the references of the counting in this version of Python."""


class Cell(Box):
    """The mutable box of a base array."""

    __slots__ = ("__weakref__",)

    geometry: Geometry
    node: Node
    pieces: int
    pins: int
    shared: bool
    """True if other cells have, or have had, this value: equal on all ranks, whenever each collects garbage."""
    sites: set[int] | None
    """Call sites of pending assignments."""
    writeable: bool
    _first: weakref.ref[Handle] | None

    def __init__(self, node: Node) -> None:
        boxed(self, node)

    @classmethod
    def foreign(cls, array: np.ndarray[Any, Any]) -> Cell:
        """A cell over memory that another object owns: pinned while anything else refers to it."""
        geometry = strided(array.shape, array.dtype, array.strides)
        cell = cls(source(array, geometry, pinned=True))
        cell.pins = LENT if current_world().size == 1 and _is_counted(array) else 1
        cell.writeable = array.flags.writeable
        return cell

    def viewed_from(self, handle: Handle) -> None:
        """Remember the array that the first view was taken of: it is the ``base`` of all views."""
        if self._first is None and handle._geometry.is_base:
            self._first = weakref.ref(handle)

    def first(self) -> Handle | None:
        """The array that views have as their base, if it is known and alive."""
        known = self._first
        handle = None if known is None else known()
        if handle is None or handle._np is not None or handle._cell is not self:
            self._first = None
            return None
        return handle

    def copied(self) -> Cell:
        """Another cell with this value."""
        copy = boxed(new(Cell), self.node)
        copy.shared = self.shared = True
        return copy

    def settle(self) -> Value:
        """The value in memory, evaluated if it was pending."""
        node = self.node
        if node.value is None:
            evaluate((node,))
            self.sites = None
        assert node.value is not None
        return node.value

    def held(self) -> bool:
        """True if anything else may refer to the memory. ``pins`` alone may be out of date.

        The program may refer to an array that it has made: the count of references tells when it does not any more.
        """
        finish_ends()
        if self.pins & LENT:
            value = self.node.value
            assert value is not None
            if sys.getrefcount(value.array) == SOLE and (
                type(value.array.base) is not np.ndarray
                or sys.getrefcount(value.array.base) == SOLE
            ):
                self.pins -= LENT
                value.pinned = self.pins > 0
        return self.pins > 0

    def is_held_alone(self) -> bool:
        """True if other ranks cannot know that the memory is exposed; operations here must not depend on it."""
        return self.pins >= ALONE and not self.pins & (ALONE - 1)

    def own(self) -> Value:
        """The value in memory that no other node shares, so that it may be written to. The lock is held."""
        value = self.settle()
        # a value may have been pinned by the cell that it came from
        if not (value.pinned and self.pins) and not self.is_unshared():
            node = self.node
            self.node = source(
                value.array.copy(order="K"), self.geometry, place=node.place, born=node.born
            )
            assert self.node.value is not None
            value = self.node.value
        value.known = None
        return value

    def is_unshared(self) -> bool:
        """True if this cell alone refers to its value."""
        return sys.getrefcount(self.node) <= _BY_ITSELF

    def is_used_by_pieces(self, times: int = 1) -> bool:
        """True if short views have been recorded so often that it is better to compute, or copy, all of it."""
        self.pieces += 1
        if self.pieces < times * policy.limits.pieces:
            return False
        self.pieces = 0
        return True

    def comes_round(self, site: Site | None) -> bool:
        """True if a loop repeats an assignment that is still pending."""
        return self.sites is not None and site_number(site) in self.sites and self.node.weight >= 0

    def pin(self) -> int:
        """The memory keeps its address, and assignments land in it at once, until :meth:`unpin` of the number returned."""
        pins = ALONE if self.node.place is None and current_world().size > 1 else 1
        with turn.lock:
            self.own().pinned = True
            self.pins += pins
        return pins

    def lend(self) -> np.ndarray[Any, Any]:
        """The memory as a NumPy array. Assignments write to it at the call as long as the program refers to it."""
        with turn.lock:
            value = self.own()
            if not (value.pinned or value.array.flags.owndata):
                self.node = source(value.array.copy(order="K"), self.geometry)
                value = self.settle()
            value.pinned = True
            self.pins |= LENT
            return value.array

    def unpin(self, pins: int) -> None:
        """One export less. Finalisers call this, on any thread."""
        leave(lambda: self._unpinned(pins))

    def _unpinned(self, pins: int) -> None:
        self.pins -= pins
        if not self.held() and self.node.value is not None:
            self.node.value.pinned = False

    def gathered(self, view: Geometry) -> np.ndarray[Any, Any]:
        """Elements of a view from all ranks, for reading; other elements do not travel.

        Their order in memory is that of the view, so NumPy lays out its results alike.
        """
        if view.size >= self.geometry.size:
            whole = view_of(gather(self.node), view)
        else:
            node = read(self.node, view)
            evaluate((node,))
            whole = whole_of(node)
            order = kept_order(whole.shape, (view,))
            if order is not None:
                whole = np.ascontiguousarray(whole.transpose(order)).transpose(np.argsort(order))
            whole = whole.view()
        whole.flags.writeable = False
        return whole

    def export(self, view: Geometry) -> np.ndarray[Any, Any]:
        """A NumPy array over this memory; the cell stays pinned while it, or a view of it, lives."""
        with turn.lock:
            value = self.own()
            if self.node.place is None:
                array = view_of(value.array, view)
                pins = self.pin()
        if self.node.place is not None:  # the value of all ranks, not this rank's part
            return self.gathered(view)
        exported = np.asarray(_Export(array))
        if exported.dtype is not array.dtype:  # an equal dtype may lack metadata
            exported = exported.view(array.dtype)
        if not (self.writeable and view.writeable):
            exported.flags.writeable = False
        holder = exported
        while isinstance(holder.base, np.ndarray):
            holder = holder.base
        at_end(holder, partial(self.unpin, pins))
        return exported

    def write(
        self,
        region: Geometry,
        value: Any,
        mask: Node | None,
        site: Site | None,
        updated: Any = update,
        *,
        shared: bool = True,
    ) -> None:
        """Replace the value by one with ``value`` (a node, or a scalar of the dtype) in ``region``.

        ``updated`` records that, or a collective write into a distributed array; ``shared`` is True if
        other cells may have had the new value. If elements share memory, the last one in NumPy's order stays, so
        NumPy writes them.
        """
        with turn.lock:
            if (self.pins and self.held()) or region.overlapping:
                self._write_now(region, value, mask, site, updated)
                return
            node = self.node
            if not region.short:
                self.pieces = 0
            place = site_number(site)
            if node.value is not None:
                self.sites = {place}
            else:
                sites = self.sites
                if sites is None:
                    self.sites = {place}
                elif place in sites and node.weight >= 0:  # the loop has come round
                    del node
                    settle_turn(self)
                    self.sites = {place}
                else:
                    sites.add(place)
            if (
                mask is None
                and region.is_base
                and type(value) is Node
                and value.geometry is self.geometry
                and value.place is self.node.place
            ):
                self.node = value
            else:
                kept = self.shared and self.node.place is not None
                self.node = updated(self.node, region, value, mask, site, kept)
                shared = False
            self.shared = shared
            self.node = bounded(self.node)

    def _write_now(
        self, region: Geometry, value: Any, mask: Node | None, site: Site | None, updated: Any
    ) -> None:
        """The same at the call. If an operand is distributed, all ranks record the write, and each keeps the part in its own memory."""
        needed = [n for n in (value, mask) if type(n) is Node]
        place = self.node.place
        if place is None and not (self.is_held_alone() and any(n.place for n in needed)):
            evaluate(needed)
            array = whole_of(value) if type(value) is Node else value
            where: Any = True if mask is None else whole_of(mask)
            target = view_of(self.own().array, region)
            np.copyto(target, array, casting="unsafe", where=where)
            return
        # if this rank alone has exposed the memory, the others compute the write at the latest in their next joint step
        if place is not None:
            self.settle()
        old = self.node
        written = updated(old, region, value, mask, site)
        evaluate((written,))
        assert written.value is not None
        if place is None:
            np.copyto(self.own().array, written.value.array)
            return
        assert old.value is not None
        inside = place.layout.inside(place.world.rank)
        np.copyto(old.value.array[inside], written.value.array[inside])
        old.renew(written.born)


def _is_counted(array: np.ndarray[Any, Any]) -> bool:
    """True if all references to the memory of an array are references to the array or its base."""
    owner = array if array.base is None else array.base
    return type(owner) is np.ndarray and owner.flags.owndata


def _references() -> int:
    """Reference count of a node referred to by one cell only, including the references of the counting in this version of Python."""
    cell: Cell = object.__new__(Cell)
    cell.node = Node(SOURCE, (), strided((1,), np.dtype(float), (8,)))
    return sys.getrefcount(cell.node)


_BY_ITSELF = _references()


def boxed(cell: Cell, node: Node) -> Cell:
    """Makes a new object a cell: ``boxed(new(Cell), node)`` is quicker than a call of the class."""
    cell.node = node
    cell.shared = False
    cell.geometry = node.geometry
    cell.pins = 0
    cell.pieces = 0
    cell.sites = None
    cell.writeable = True
    cell._first = None
    noted(cell)
    return cell


def whole_of(node: Node) -> np.ndarray[Any, Any]:
    """The whole of an evaluated value, gathered if it is distributed. Collective then."""
    if node.place is not None:
        return gather(node)
    assert node.value is not None
    return node.value.array


class _Export:
    """An owner that is no array, so that views of an export keep that export alive."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = dict(array.__array_interface__)


def broadcast() -> np.ndarray[Any, Any]:
    """An array that makes NumPy warn when its ``writeable`` flag is read or it is written to."""
    return np.broadcast_arrays(np.empty(1), np.empty(2))[0]


class Handle(Front):
    """The object that the user holds: a small NumPy array (``_np``), or a view (``_geometry``) on a cell."""

    __slots__ = ()
    inherits: ClassVar[bool] = True
    """True if results computed from an array of a subclass keep its class."""
    array_type: ClassVar[Any]
    """The class that results have: ``ndarray``, which is defined above this room."""
    call_later: ClassVar[Callable[..., Any]]
    """Function that records a NumPy call on operands without values (:mod:`.deferred`)."""
    _np: np.ndarray[Any, Any] | None
    _cell: Cell
    _geometry: Geometry

    def _node(self) -> Node:
        """The value as a node; for a small array, a snapshot."""
        small = self._np
        if small is not None:
            array = small.copy(order="K")
            return source(array, strided(array.shape, array.dtype, array.strides))
        cell = self._cell
        geometry = self._geometry
        if cell.pins and cell.is_held_alone():
            copy = source(cell.settle().array.copy(order="K"), cell.geometry)
            return copy if geometry.is_base else read(copy, geometry)
        return cell.node if geometry.is_base else read(cell.node, geometry)

    def _shape_of_view(self) -> Geometry:
        small = self._np
        if small is not None:
            return strided(small.shape, small.dtype, small.strides)
        return self._geometry

    def _array(self) -> np.ndarray[Any, Any]:
        """The value as a NumPy array over the memory it lies in; for reading at once."""
        small = self._np
        if small is not None:
            return small
        value = self._cell.settle()
        geometry = self._geometry
        if self._cell.node.place is not None:
            return self._cell.gathered(geometry)
        array = view_of(value.array, geometry)
        if not geometry.writeable and array.flags.writeable:
            array = array.view() if geometry.is_base else array
            array.flags.writeable = False
        return array

    def _array_to_write(self) -> np.ndarray[Any, Any]:
        """Memory for NumPy to write into at once; call :meth:`_written` afterwards.

        For an array that lies on ranks it is a gathered copy, written to by every rank alike. For a read-only array it
        is a read-only copy, and NumPy raises its own error.
        """
        small = self._np
        if small is not None:
            return small
        cell = self._cell
        if not self._may_be_written():
            refused = self._array().copy("K")
            refused.flags.writeable = False
            return refused
        value = cell.own()
        if cell.node.place is None:
            return view_of(value.array, self._geometry)
        return view_of(gather(cell.node, for_writing=True), self._geometry)

    def _may_be_written(self) -> bool:
        """True if elements may be assigned to; a result of ``broadcast_arrays`` warns before the first assignment."""
        geometry = self._geometry
        if geometry.warns:
            come_first()
            broadcast()[0] = 0  # NumPy's warning
            self._geometry = geometry = geometry.base.at(geometry, geometry.offset, writeable=True)
        return self._cell.writeable and geometry.writeable

    def _written(self, array: np.ndarray[Any, Any]) -> None:
        """Keep this rank's share of an array that :meth:`_array_to_write` gave and that has been written to."""
        if self._np is not None or self._cell.node.place is None or not array.flags.writeable:
            return
        cell = self._cell
        value, place = cell.own(), cell.node.place
        whole = array
        if not self._geometry.is_base:
            whole = gather(cell.node, for_writing=True)
            view_of(whole, self._geometry)[...] = array
        layout, rank = place.layout, place.world.rank
        share = whole[np.ix_(*[part.array() for part in layout.region(rank)])]
        value.array[layout.inside(rank)] = share

    def _mutate(self, function: Callable[[np.ndarray[Any, Any]], Any]) -> Any:
        """Let NumPy write into the memory at once: ``function(array)``."""
        if self._np is None and self._cell.node.weight < 0:
            return Handle.call_later(function, (self,), {}, (0,))
        with self._held():
            array = self._array_to_write()
            try:
                result = function(array)
            except (FloatingPointError, Warning):  # raised after NumPy has written the results
                self._written(array)
                raise
            self._written(array)
        return result

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep the address of the memory while NumPy writes into it: other threads then write into the same memory."""
        cell = None if self._np is not None or self._cell.node.place is not None else self._cell
        pins = 0 if cell is None else cell.pin()
        try:
            yield
        finally:
            if cell is not None:
                cell.unpin(pins)


def is_deferred(value: Any) -> bool:
    """True if an array waits for a value that is not available yet."""
    return isinstance(value, Handle) and value._np is None and value._cell.node.weight < 0


def arrays_among(values: Iterable[Any]) -> list[Any]:
    """The arrays among arguments, including arrays in containers and under flat iterators."""
    arrays: list[Any] = []
    for value in values:
        if isinstance(value, Handle):
            arrays.append(value)
        elif isinstance(value, list | tuple):
            arrays += arrays_among(value)
        elif isinstance(value, dict):
            arrays += arrays_among(value.values())
        elif hasattr(type(value), "_handle"):  # a flat iterator
            arrays.append(value.base)
    return arrays


def any_deferred(*values: Any) -> bool:
    """True if a deferred array is among the values, or in a container among them."""
    return any(map(is_deferred, arrays_among(values)))


def register_array_type(kind: type[Handle]) -> None:
    """Set the class of results."""
    Handle.array_type = kind


def register_deferred_calls(call: Callable[..., Any]) -> None:
    """Register ``call`` as the function that records NumPy calls on values that are not available yet."""
    Handle.call_later = staticmethod(call)
