"""Collective operations of arrays: recorded as nodes, or computed at the call.

:func:`record` makes a node of a registered operation (see :mod:`..collective.operation`). An operation that cannot be
recorded, since its result's size or its errors depend on values, runs at the call: its operands are evaluated,
every rank takes its block as a :class:`~atoll.collective.Section`, and the result is an array over the
block that the operation returns. Results lie in even blocks unless the operation's own rule differs; small
ones are replicated. Replicated arrays take part as replicated sections, without messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..collective import Section, as_line, everywhere
from ..collective.operation import Operand, is_direct, result_layout
from ..collective.section import replicated
from ..comm.in_step import least
from ..comm.world import World
from ..config import config
from ..context import statistics
from ..context.caches import remembered
from ..context.call_sites import user_site
from ..context.divergence import HASH_MASK
from ..graph import retention
from ..graph.geometry import Geometry, choice_of, dense, strided
from ..graph.identities import identity_of
from ..graph.node import Form as NodeForm
from ..graph.node import Node, nbytes_of, new_mark, node_of, source
from ..graph.op import named
from ..ops.elementwise import is_native
from ..ops.placement import Place, is_permutation, placed_view
from .agreement import place_of
from .conversion import from_numpy, is_small, of_node, of_view
from .evaluation import evaluate
from .rank_operands import entered
from .views import Cell, Handle

Array = np.ndarray[Any, Any]
_MOST = 1 << 62
"""Above the absolute value of any index; the bounds of integers end here."""


def section_of(value: Any, world: World) -> Section:
    """This rank's section of any value: nothing is copied but a view that is no transpose."""
    communicator = world.communicator
    place = place_of(value)
    if place is None:
        array = value._array() if isinstance(value, Handle) else np.asarray(value)
        return replicated(array, communicator)
    cell, geometry = value._cell, value._geometry
    if not (geometry.is_base or is_permutation(geometry)):
        cell, geometry = Cell(value._node()), None
        place = cell.node.place
        if place is None:
            return replicated(cell.settle().array, communicator)
    block = cell.settle().array
    communicator.log.step(cell.node.born & HASH_MASK, "a function of an array")
    layout = cell.node.place.layout
    if layout.is_padded:
        block = block[layout.inside(world.rank)]
        layout = layout.unpadded()
    section = Section(block, layout, communicator)
    return section if geometry is None or geometry.is_base else section.seen(geometry)


def bounds_of(value: Any, section: Section) -> tuple[int, int]:
    """The least and the greatest of integers on all ranks, ``(0, -1)`` of none. They are found once for a value in memory that the program
    does not hold: all ranks know them from then on. Collective if ranks divide the section."""
    block, known = section.block, None
    cell = getattr(value, "_cell", None)
    if cell is not None and not cell.held() and (kept := cell.node.value) is not None:
        known = kept if kept.array is block and not kept.pinned else None
    if known is not None and known.known is not None:
        bounds: tuple[int, int] = known.known[:2]
        return bounds
    bounds = (int(block.min()), int(block.max())) if block.size else (_MOST, -_MOST)
    if not section.layout.is_replicated:
        low, high = (min(max(bound, -_MOST), _MOST) for bound in bounds)
        words = least(section.communicator, [low + _MOST, _MOST - high], "the bounds of integers")
        bounds = words[0] - _MOST, _MOST - words[1]
    if bounds[0] > bounds[1]:
        bounds = 0, -1
    if known is not None:
        known.known = bounds
    return bounds


def record(
    name: str, operands: Sequence[Any], *params: Any, order: tuple[int, ...] | None = None
) -> Any:
    """An array whose value is a collective operation; ``NotImplemented`` if its rule does not support these operands,
    or all are replicated. ``order`` is the order of memory that programs see; ``None``: C order.
    """
    nodes, views, pinned = zip(*map(_operand, operands), strict=True)
    node = _node(name, nodes, views, params, order)
    if node is None:
        return NotImplemented
    if node.place is not None:
        statistics.add("distributed")
    if any(pinned):
        evaluate((node,))
    return of_node(node)


def record_write(name: str, target: Handle, operands: Sequence[Any], *params: Any) -> None:
    """Let a collective operation write the operands into an array that lies on ranks, or into a view of it."""
    cell, view = target._cell, target._geometry
    nodes, views, pinned = zip(*map(_operand, operands), strict=True)
    seen = None if view.is_base else view

    def updated(old: Node, *_: Any) -> Node:
        return _node(name, (old, *nodes), (seen, *views), params, None)  # type: ignore[return-value]

    cell.write(view, None, None, user_site(), updated)
    if any(pinned):
        cell.settle()


def _node(
    name: str,
    nodes: Sequence[Node],
    views: Sequence[Geometry | None],
    params: tuple[Any, ...],
    order: Any,
) -> Node | None:
    seen = tuple([Operand(n.geometry, n.place, v) for n, v in zip(nodes, views, strict=True)])
    form = _form(name, seen, params, order, config.results)
    return None if form is None else entered(node_of(form, tuple(nodes), user_site()))


@remembered
def _form(
    name: str,
    operands: tuple[Operand, ...],
    params: tuple[Any, ...],
    order: tuple[int, ...] | None,
    results: int,
) -> NodeForm | None:
    """Common parts of the nodes of an operation on such operands; ``config.results`` decides where the result lies."""
    op: Any = named(name)
    world = next((operand.place.world for operand in operands if operand.place is not None), None)
    if world is None:
        return None
    if op.writes:
        geometry, place, _ = operands[0]
    else:
        form = op.rule(*[operand.form(world) for operand in operands], *params)
        if form is None:
            return None
        place = Place.of(form.layout, world)
        geometry = dense(form.shape, form.dtype, order)
    views = [operand.view for operand in operands]
    code = identity_of(
        (op, geometry.form, params, place and place.form, *[view and view.form for view in views])
    )
    params = (params, place, *views)
    return op, geometry, params, name, code, new_mark()


def _operand(value: Any) -> tuple[Node, Geometry | None, bool]:
    """A value as a node, the operation's view of the node, and True if others may write into its memory at any time."""
    if type(value) is Node:
        return value, None, False
    if not isinstance(value, Handle):
        array = np.asarray(value)
        return source(array, strided(array.shape, array.dtype, array.strides)), None, True
    if value._np is not None:
        return value._node(), None, False
    node, view = value._cell.node, value._geometry
    pinned = value._cell.held() and not value._cell.is_held_alone()
    if not view.is_base and node.place is not None and node.place.is_boxes and is_direct(view):
        return node, view, pinned
    return value._node(), None, pinned


def of_section(section: Section, world: World) -> Any:
    """The array over a section's memory, which no other array may share."""
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
        retention.stored(world, nbytes_of(node))
    return of_view(Cell(node), node.geometry)


def small_or_there(section: Section, world: World) -> Any:
    """An array with the layout of a section; a small one is replicated."""
    if world.size == 1:
        return from_numpy(np.ascontiguousarray(section.block))
    if not section.layout.is_replicated:
        target = result_layout(section.shape, world.size)
        section = everywhere(section) if target.is_replicated else section
    return of_section(section, world)


def line_of(value: Any, world: World) -> Section:
    """The elements in C order, in even blocks."""
    return as_line(section_of(value, world))


def block_of_view(block: Array, place: Place, view: Geometry) -> Array | None:
    """This rank's part of a view: a NumPy view of its block if one exists, else a copy for reading.

    ``None``, on all ranks, if the part needs elements of other ranks: a view that mixes axes, such as a reshape.
    """
    shown = view if view.dtype == view.base.dtype else view.elements
    choice = None if shown is None else choice_of(shown)
    if shown is None or choice is None:
        return None
    key, taken = choice
    order = sorted(range(len(taken)), key=taken.__getitem__)
    if is_permutation(view):
        return block.transpose(order)
    rank = place.world.rank
    part = None
    if view.size and place.layout.coordinates(rank) is not None:
        inner = block[place.layout.inside(rank)]
        _, part = place.layout.unpadded().block_slice(key, inner, rank)
    if part is None:  # this rank has no element of the view
        home = placed_view(place, view)
        return np.empty(view.shape if home is None else home.layout.local_shape(rank), view.dtype)
    if part.size and not np.may_share_memory(part, block):
        part.flags.writeable = False  # writes there would be lost
    part = part.transpose(order)
    for axis in [k for k in range(shown.ndim) if k not in taken]:
        part = np.expand_dims(part, axis)
    return part if shown is view else view.part_of(part)
