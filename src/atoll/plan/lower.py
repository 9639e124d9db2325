"""From groups to kernel launches: the second half of planning.

A group runs over its domain box by box. Walking an expression with an *axis map* (which says,
for each axis of a node, where the loop index leads) ends at loads from leaves and stored nodes,
each a pointer offset and one stride per loop axis. An update that only covers part of a box
splits the box; the pieces are lowered again, each with its own simpler expression. So the interior and the frame of a stencil
become different loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..backend.spec import Reduction
from ..exchange.ghosts import GhostRegion
from ..exchange.shares import Box, region_of_rank
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..layout.symbolic import Number
from ..ops.maps import AxisMap, broadcast_map, through_view
from ..ops.table import code_of
from .body import Body, Needs, Shares, SplitBoxError, updates_under
from .coalesce import coalesce_ghosts
from .groups import Group, MappedRead
from .launches import Launch
from .nests import launches_of_nest
from .orders import Want, order_of, parted
from .registers import Memory, Registers, new
from .statements import Statement


def bodies_of(
    group: Group, registers: Registers, reusable: dict[int, int], rank: int
) -> tuple[list[Body], Needs]:
    """The boxes of a rank's share of a group, each with its body, and the ghost regions they need. Bodies of other ranks may lack
    instructions."""
    place = group.place
    if counted_locally(group):
        return _body_of_counts(group, registers, reusable, rank)
    needs = Needs(registers, Shares(rank), group=group)
    if place is None:
        whole: Box = tuple([(0, n) for n in group.domain])
    else:
        owned = needs.shares[place]
        if owned is None:  # one number, which another rank has
            return [], needs
        whole = owned
    done: list[Body] = []
    if any(low >= high for low, high in whole):
        return done, needs
    stored = {id(statement.node) for statement in group.statements}
    if group.updates is None:
        computed = [each for s in group.statements for each in _computed(s, stored)]
        group.updates = updates_under(computed, stored, registers)
    alike: dict[tuple[bool, ...], Body] = {}
    pending = [whole]
    while pending:
        box = pending.pop()
        body = Body(registers, box, needs, rank, place)
        try:
            body.cut_for(group.updates, stored)
            parts = tuple(body.parts)
            if parts in alike or (rank != registers.rank and parts in group.patterns):
                reads = group.patterns[parts]
                ghosts = [body.ghost(node, outer) for node, outer, _ in reads]
                if parts in alike:
                    moved = _over(box, alike[parts], reads, ghosts)
                else:  # of another rank: its ghost regions suffice
                    body.memories += [Memory(g.register, 0, (), g.dtype) for g in ghosts if g]
                    moved = body
                if moved is not None:
                    done.append(moved)
                    continue
            _emit(group, body, registers, reusable)
        except SplitBoxError as split:
            axis, cuts = split.args
            low, high = box[axis]
            for part in reversed(list(pairwise((low, *cuts, high)))):
                pending.append((*box[:axis], part, *box[axis + 1 :]))
            continue
        if len(body.parts) == len(parts):
            group.patterns[parts] = body.reads
            if body.is_movable:
                alike[parts] = body
        done.append(body)
    coalesce_ghosts(done, needs)
    return done, needs


def _over(
    box: Box, like: Body, reads: Sequence[MappedRead], ghosts: Sequence[GhostRegion | None]
) -> Body | None:
    """The body moved to another box, in which it reads the same parts, some of them from ghost regions; ``None`` where two operands of
    one body may be one of the other."""
    moves: list[tuple[int, Number]] = []
    for axis, ((low, _), (before, _)) in enumerate(zip(box, like.box, strict=True)):
        if low is not before:
            moves.append((axis, low - before if type(before) is not int or before else low))
    body = Body(like.registers, box, like.needs, instructions=like.instructions)
    for memory in like.memories:
        offset, strides = memory.offset, memory.strides
        for axis, move in moves:
            if type(strides[axis]) is not int or strides[axis]:
                step = move * strides[axis]
                offset = step + offset if type(offset) is not int or offset else step
        lies = memory.register, offset, strides, memory.dtype, memory.access
        body.memories.append(new(Memory, (*lies, None, ())))
    body.scalars, body.operations = like.scalars, like.operations
    body.reductions = [*like.reductions]
    operands = [operand for _, _, operand in reads]
    for (node, outer, operand), ghost in zip(reads, ghosts, strict=True):
        memory = like.memories[operand]
        if ghost is None and memory.outer is None:
            continue
        if ghost is None:
            register, (offset, strides) = like.registers.of[id(node)], body.own(node, outer)
        else:
            register, (offset, strides) = ghost.register, body.in_ghost(ghost, outer)
        placed = register, offset, strides, memory.dtype
        others = [other for k, other in enumerate(body.memories) if k != operand]
        if (
            memory.access != "r"
            or operands.count(operand) > 1
            or placed in [other[:4] for other in others]
        ):
            return None
        body.memories[operand] = new(Memory, (*placed, "r", None if ghost is None else outer, ()))
    return body


def _computed(statement: Statement, stored: set[int]) -> list[tuple[Node, AxisMap]]:
    """The expressions that the loops of a statement compute, except nodes that others store, each with its map."""
    node, own = statement.node, statement.own
    if statement.style == "map":
        return [(node, own)]
    if statement.style == "fold":
        return [(node.args[0], own)] if id(node.args[0]) not in stored else []
    region: Geometry = node.params[0]
    operands = [arg for arg in node.args[1:] if type(arg) is Node and id(arg) not in stored]
    return [(arg, broadcast_map(arg, region.shape, own)) for arg in operands]


def counted_locally(group: Group) -> bool:
    """True if the loops of a group count local indices, since the share that they run over or write to is no box."""
    return group.place is not None and (
        not group.place.layout.is_block
        or any(s.style == "place" and not s.node.place.layout.is_block for s in group.statements)
    )


def _body_of_counts(
    group: Group, registers: Registers, reusable: dict[int, int], rank: int
) -> tuple[list[Body], Needs]:
    """The single body of loops over local indices. A rank without a share has no body, but lists the maps of the same ghost
    regions."""
    place = group.place
    assert place is not None
    counts: Any = place.layout.local_shape(rank)
    sets = region_of_rank(place, rank)
    absent = place.layout.coordinates(rank) is None or 0 in counts
    needs = Needs(registers, Shares(rank), local=True, absent=absent)
    box: Box = tuple([(0, count) for count in counts])
    body = Body(registers, box, needs, rank, place, counts, sets)
    _emit(group, body, registers, reusable)
    coalesce_ghosts([body], needs)
    return [] if needs.absent else [body], needs


def launches_of(
    bodies: Sequence[Body], group: Group, registers: Registers, scratch: dict[int, int]
) -> list[Launch]:
    """The launches of boxes of a group of ``map``, ``fold`` and ``place`` statements.

    ``scratch`` receives, for each full reduction's node, the number of partials it needs.
    """
    node_of = {registers.of[id(s.node)]: s.node for s in group.statements if s.style == "fold"}
    wanted: dict[int, Want] = {}
    for register, node in node_of.items():
        if node.geometry.dtype.kind in "fc" and not node.op.is_exact:
            axes = tuple(node.params[0])
            wanted[register] = order_of(node.args[0].geometry, axes), axes
    launches: list[Launch] = []
    for body in bodies:
        for part, order in parted(body, wanted):
            launches += launches_of_nest(part, node_of, registers, scratch, order)
    return launches


def _emit(group: Group, body: Body, registers: Registers, reusable: dict[int, int]) -> None:
    """Emit the instructions of all statements of a group.

    A result may be written over a leaf that dies. Where its own box does not read that leaf, as where all of an array is assigned,
    a later statement must not read the new value: the leaf is loaded first.
    """
    for k, statement in enumerate(group.statements):
        if statement.style == "map" and registers.of[id(statement.node)] in reusable:
            source = registers.keep[reusable[registers.of[id(statement.node)]]]
            if any(id(source) in later.reads for later in group.statements[k + 1 :]):
                assert source is not None
                body.value(source, statement.own)
        _emit_statement(statement, body, registers, reusable)


def _emit_statement(
    statement: Statement, body: Body, registers: Registers, reusable: dict[int, int]
) -> None:
    node, own = statement.node, statement.own
    if statement.style == "map":
        value: int = node.op.lower(node, body, own)
        offset, strides = body.own(node, own)
        wanted = None
        if statement.only is not None:
            shape = statement.domain
            truth = np.dtype(np.bool_)
            (wanted,) = body.operands(statement.only, 2, shape, own, (truth,))
        register = registers.of[id(node)]
        _store(body, register, offset, strides, node.geometry.dtype, value, reusable, wanted)
        body.define(node, own, value)
    elif statement.style == "place":
        region: Geometry = node.params[0]
        dtype, shape = region.dtype, region.shape
        value, *masks = body.operands(node, 1, shape, own, (dtype, np.dtype(np.bool_)))
        if node.place is None:
            offset, strides = body.strided(region.strides, own)
            offset += region.offset
        elif body.counts is not None:
            offset, strides = body.share(node, region)
        else:
            inner = through_view(region, own)
            assert inner is not None
            offset, strides = body.own(node, inner)
        register = registers.of[id(node)]
        written = _store(body, register, offset, strides, dtype, value, reusable, *masks)
        if statement.joinable:
            body.define(node, own, body.load_again(written))
    else:
        operand = node.args[0]
        value = body.value(operand, own)
        axes, position = tuple(node.params[0]), -1
        if node.op.finds_position:
            position = _linear_index(body, statement.domain, axes)
        else:
            value = body.cast(value, node.geometry.dtype)
        code, register = body.instructions[value].dtype, registers.of[id(node)]
        fold = node.name, code, value, axes, register, position
        body.reductions.append(new(Reduction, fold))


def _linear_index(body: Body, domain: tuple[int, ...], axes: Sequence[int]) -> int:
    """The position along the folded axes, in C order."""
    total = -1
    scale = 1
    for axis in reversed(axes):
        term = body.position(axis)
        if scale != 1:
            term = body.emit("call", "i8", (term, body.constant(scale)), "multiply")
        total = term if total < 0 else body.emit("call", "i8", (total, term), "add")
        scale *= domain[axis]
    return total if total >= 0 else body.constant(0)


def _store(
    body: Body,
    register: int,
    offset: int,
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    value: int,
    reusable: dict[int, int],
    mask: int | None = None,
) -> int:
    """Write a value and return the number of its operand, which a read at the same index shares."""
    value = body.cast(value, dtype)
    place = body.place_of(reusable.get(register, register), offset, strides, dtype, "w")
    args = (place, value) if mask is None else (place, value, mask)
    body.emit("store", code_of(dtype), args)
    return place
