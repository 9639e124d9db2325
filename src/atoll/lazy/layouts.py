"""The attributes of a distributed array beyond NumPy: its layout, its blocks, its protocols."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from ..comm.world import World, current_world
from ..context import statistics
from ..context.divergence import HASH_MASK, asking_for
from ..context.threads import turn
from ..errors import a_type
from ..exchange.halo import exchange_halos
from ..graph.geometry import dense
from ..graph.node import source, view_of
from ..layout import Layout
from ..layout.transfer import holds, region_key
from ..ops.fingerprint import of_text
from .agreement import place_of
from .conversion import chosen, layout_for, must_travel
from .creation import asarray
from .replication import stays_divided
from .sections import block_of_view, record
from .views import Cell, Handle

Array = np.ndarray[Any, Any]


def _show(cell: Cell, what: str) -> None:
    """Begin to show the memory of an array. All ranks do so where it lies on ranks: from then on it decides how operations run."""
    with asking_for(what):
        cell.settle()
        if cell.node.place is not None and not cell.pins:
            log = cell.node.place.world.communicator.log
            log.step(of_text("memory") ^ cell.node.born & HASH_MASK, what)
            cell.own()
            cell.node.renew(log.birth())  # the program may write there


class _OneSided:
    """Placeholder for an operation that an array has only while it is open to one rank alone."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, array: Any, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__!r} has no attribute {self.name!r}: one rank alone reads and writes parts of an array inside "
            f"`with atoll.onesided(a) as g:`, by g.{self.name}(...)"
        )


class Distributed(Handle):
    """The share of this rank in an array, and the distribution of the other shares."""

    __slots__ = ()

    get = _OneSided()
    accumulate = _OneSided()
    gather = _OneSided()
    scatter = _OneSided()
    scatter_add = _OneSided()
    fetch_add = _OneSided()
    compare_swap = _OneSided()

    @classmethod
    def _from_block(cls, padded_block: Array, layout: Layout, world: World) -> Any:
        """The array over this rank's block, communication padding included; nothing is copied."""
        array = object.__new__(cls)
        array._np = None
        place = chosen(layout, world)
        if place is None:
            array._cell = Cell.foreign(padded_block)
        else:
            must_travel(padded_block.dtype)
            geometry = dense(layout.shape, padded_block.dtype)
            array._cell = Cell(source(padded_block, geometry, pinned=True, place=place))
            array._cell.pins = 1
            array._cell.writeable = padded_block.flags.writeable
            if layout.cells > 1:
                statistics.add("distributed")
        array._geometry = array._cell.geometry
        return array

    @property
    def world(self) -> World:
        """The ranks that share the array; for a replicated array, the current world."""
        place = place_of(self)
        return current_world() if place is None else place.world

    @property
    def layout(self) -> Layout:
        """The distribution of the elements over the ranks."""
        place = place_of(self)
        if place is not None:
            return place.layout
        shape = self._geometry.shape if self._np is None else self._np.shape
        return Layout.replicated(shape, current_world().size)

    def _evaluate(self) -> None:
        """Evaluate the value into memory."""
        if self._np is None:
            _show(self._cell, "the export of an array by a protocol")

    def _block(self) -> Array:
        """This rank's block with its padding; the memory is pinned permanently."""
        if self._np is not None:
            return self._np
        cell, geometry = self._cell, self._geometry
        if cell.node.place is None:
            return cell.export(geometry)
        _show(cell, "a.local, a rank's block,")
        stays_divided(cell.geometry.shape, cell.node.place.world)
        value = cell.own()
        value.pinned = True
        cell.pins += 1
        return value.array if geometry.is_base else self._part_of(value.array)

    def _part_of(self, block: Array) -> Array:
        """This rank's block of a view: over the memory of its base, or a copy for reading; that is collective."""
        part = block_of_view(block, self._cell.node.place, self._geometry)
        if part is None:
            part = np.array(Cell(self._node()).settle().array)
            part.flags.writeable = False  # writes there would be lost
        return part

    @property
    def local_padded(self) -> Array:
        """This rank's block with its communication padding, as NumPy sees it; no copy."""
        return self._block()

    @property
    def local(self) -> Array:
        """This rank's block as a NumPy array over the same memory, without communication padding.

        The block of a view that mixes axes, such as a reshape, is a read-only copy, which all ranks take together.
        """
        block = self._block()
        layout = self.layout
        if not layout.is_padded:
            return block
        return block[layout.inside(self.world.rank)]

    @contextmanager
    def access(self) -> Iterator[Array]:
        """Give this rank's block, without padding, as a NumPy array to read and write inside a ``with`` statement.

        Unlike ``a.local``, which holds the memory for good, the array is an ordinary one again afterwards; the block must
        not be used any more then.
        """
        small = self._np
        if small is not None:
            yield small
            return
        cell, geometry = self._cell, self._geometry
        _show(cell, "a.access(), a rank's block,")
        pins = cell.pin()
        try:
            place = cell.node.place
            if place is None:
                yield view_of(cell.settle().array, geometry)
            else:
                value = cell.settle().array
                block = value if geometry.is_base else self._part_of(value)
                layout = self.layout
                yield block[layout.inside(self.world.rank)] if layout.is_padded else block
        finally:
            with turn.lock:
                cell.own()  # facts learnt about the changed elements are dropped
            cell.unpin(pins)

    def owns(self, region: Any) -> bool:
        """Return whether this rank holds all elements of a region, an index of integers and slices."""
        return holds(self.layout, self.world.rank, region)

    def exchange_halos(self, axis: int | None = None, side: str | None = None) -> Any:
        """Fill the communication padding from the ranks that own the elements. Collective.

        ``axis`` limits that to the padding along one axis, without corners, and ``side`` ("left" or "right") to one side.
        """
        block = self._block()
        born = 0 if self._np is not None else self._cell.node.born
        exchange_halos(block, self.layout, self.world.communicator, axis, side, born)
        return self

    def redistribute(self, layout: Any) -> Any:
        """Return a copy in another layout: a :class:`Layout`, or maps for the axes, such as ``"bn"``. Collective."""
        world = self.world
        shape = self._geometry.shape if self._np is None else self._np.shape
        layout = layout_for(layout, shape, world)
        must_travel(self._shape_of_view().dtype)
        if place_of(self) is not None:
            chosen(layout, world)
            moved = record("redistribute", (self,), layout)
            return moved if isinstance(moved, Handle) else asarray(moved)
        block = np.array(self._array()[region_key(layout.region(world.rank))])
        padded = block
        if layout.is_padded:
            padded = np.zeros(layout.padded_shape(world.rank), block.dtype)
            padded[layout.inside(world.rank)] = block
        array = self._from_block(padded, layout, world)
        array._cell.pins = 0
        array._cell.node.value.pinned = False
        return array

    @property
    def __partitioned__(self) -> dict[str, Any]:
        """The blocks of all ranks by ``__partitioned__``; no copy. The first access is collective."""
        from ..interchange.partitioned import to_partitioned

        return to_partitioned(self)

    def __distarray__(self) -> dict[str, Any]:
        """This rank's section by the Distributed Array Protocol 1.0; no copy."""
        from ..interchange.distarray import to_distarray

        return to_distarray(self)


def laid_out(result: Any, layout: Any) -> Any:
    """The result of a function, an array or several, in the requested layout, if any. Collective."""
    if layout is None:
        return result
    if isinstance(result, tuple | list):
        return type(result)([laid_out(m, layout) if isinstance(m, Handle) else m for m in result])
    if not issubclass(type(result), Handle):
        raise TypeError(
            f"layout: the result is {a_type(result)}, which lies on every rank; only an atoll array has a layout: leave layout= out"
        )
    world = result.world
    wanted = layout_for(layout, result.shape, world)
    return result if place_of(result) == chosen(wanted, world) else result.redistribute(wanted)
