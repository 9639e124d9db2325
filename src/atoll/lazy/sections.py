"""Between arrays and the sections that collective operations work on.

A collective operation is done at the call: its operands are evaluated, every rank takes its block
as a :class:`~atoll.collective.Section`, and the result is an array over the block that came
out. Results lie in even blocks unless the operation's own rule says otherwise; small ones lie
everywhere. Arrays that every rank has take part as replicated sections, without messages.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collective import Section
from ..collective.section import replicated
from ..comm.world import World
from ..context import statistics
from ..graph.geometry import Geometry, choice_of, dense, strided
from ..graph.node import source
from ..layout import Layout
from ..ops.elementwise import is_native
from ..ops.placement import Place, is_permutation, placed_view
from .making import from_numpy, is_small, of_view
from .spread import place_of
from .views import Cell, Handle

Array = np.ndarray[Any, Any]


def section_of(value: Any, world: World) -> Section:
    """This rank's section of any value: nothing is copied but a view that is no transpose."""
    communicator = world.communicator
    place = place_of(value)
    if place is None:
        array = value._array() if isinstance(value, Handle) else np.asarray(value)
        return replicated(array, communicator)
    cell, geometry = value._cell, value._geometry
    turned = is_permutation(geometry)
    if not (geometry.is_base or turned):
        cell, geometry = Cell(value._node()), None
        place = cell.node.place
        if place is None:
            return replicated(cell.settle().array, communicator)
    block = cell.settle().array
    layout = cell.node.place.layout
    if layout.is_padded:
        block = block[layout.inside(world.rank)]
        layout = layout.unpadded()
    made = Section(block, layout, communicator)
    if geometry is None or geometry.is_base:
        return made
    order = [0] * geometry.ndim
    for k, (_, steps) in enumerate(geometry.axes or ()):
        if steps:
            order[steps[0][0]] = k
    return made.transposed(tuple(order))


def result_layout(shape: tuple[int, ...], world: World) -> Layout:
    """Where a result lies that no rule places: in even blocks, or everywhere if it is small."""
    if not shape or is_small(shape):
        return Layout.replicated(shape, world.size)
    return Layout.default(shape, world.size)


def of_section(section: Section, world: World) -> Any:
    """The array over a section's memory, which nobody else may hold."""
    layout = section.layout
    place = Place.of(layout, world)
    block = section.block
    if place is None:
        if is_small(layout.shape) or not is_native(block.dtype):
            return from_numpy(np.ascontiguousarray(block))
        block = np.ascontiguousarray(block)
        node = source(block, strided(block.shape, block.dtype, block.strides))
    else:
        node = source(np.ascontiguousarray(block), dense(layout.shape, block.dtype), place=place)
        if layout.cells > 1:
            statistics.add("distributed")
    return of_view(Cell(node), node.geometry)


def block_of(cell: Cell, world: World) -> Section:
    """This rank's section of a base array, to be written into at once."""
    value = cell.own()
    place = cell.node.place
    layout: Layout = place.layout
    block = value.array
    if layout.is_padded:
        block = block[layout.inside(world.rank)]
    return Section(block, layout.unpadded(), world.communicator)


def block_of_view(block: Array, place: Place, view: Geometry) -> Array:
    """This rank's part of a view: over the memory of its block where NumPy can say it, else a copy for reading."""
    if is_permutation(view):
        order = [0] * view.ndim
        for k, (_, steps) in enumerate(view.axes or ()):
            order[steps[0][0]] = k
        return block.transpose(order)
    rank = place.world.rank
    if not view.size or place.layout.coordinates(rank) is None:
        return _nothing(place, view)
    layout = place.layout.unpadded()
    inner = block[place.layout.inside(rank)]
    shown = view if view.dtype == view.base.dtype else view.elements
    choice = None if shown is None else choice_of(shown)
    if shown is None or choice is None:
        raise ValueError(
            "local: this view of a distributed array selects no block of it; copy the view first"
        )
    key, taken = choice
    part = layout.slicing(key).local(inner, rank)
    if part is None:
        return _nothing(place, view)
    if part.size and not np.may_share_memory(part, block):
        part.flags.writeable = False  # nobody would see what is written there
    order = sorted(range(len(taken)), key=taken.__getitem__)
    part = part.transpose(order)
    for axis in [k for k in range(shown.ndim) if k not in taken]:
        part = np.expand_dims(part, axis)
    return part if shown is view else view.part_of(part)


def _nothing(place: Place, view: Geometry) -> Array:
    """The block of a rank that has no element of a view."""
    found = placed_view(place, view)
    shape = view.shape if found is None else found.layout.local_shape(place.world.rank)
    return np.empty(shape, view.dtype)
