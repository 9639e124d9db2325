"""From groups to kernel launches: the second half of planning.

A group runs over its domain box by box. Walking an expression with an *axis map* (which says,
for each axis of a node, where the loop index leads) ends at loads from leaves and stored nodes,
each a pointer offset and one stride per loop axis. An update that only covers part of a box
splits the box; the pieces are lowered again, each with its own simpler expression. That is how
the interior and the frame of a stencil become different loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..backend.spec import Instruction, KernelSpec, Operand, Reduction, rounds
from ..exchange.shares import Box, box_of_rank, region_of_rank
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..layout.symbolic import Number, function, greatest, least
from ..ops.maps import AxisMap, broadcast_map, through_view
from ..ops.table import code_of
from .body import Body, Needs, SplitBoxError, updates_under
from .coalesce import coalesce_ghosts
from .groups import Group
from .launches import Launch, Loop, alias_groups
from .orders import Order, Want, axis_to_cut, order_of, parted
from .registers import Memory, Registers, new
from .split_reductions import Cut, cut_into_slabs
from .statements import Statement
from .unrolling import stored_first, unrolled


def bodies_of(
    group: Group, registers: Registers, reusable: dict[int, int], rank: int
) -> tuple[list[Body], Needs]:
    """The boxes of a rank's share of a group, each with its body, and the ghost regions they need."""
    place = group.place
    if counted_locally(group):
        return _body_of_counts(group, registers, reusable, rank)
    needs = Needs(registers)
    if place is None:
        whole: Box = tuple([(0, n) for n in group.domain])
    elif place.layout.coordinates(rank) is None:  # one number, which another rank has
        return [], needs
    else:
        owned = box_of_rank(place, rank)
        assert owned is not None
        whole = owned
    done: list[Body] = []
    if any(low >= high for low, high in whole):
        return done, needs
    stored = {id(statement.node) for statement in group.statements}
    computed = [each for s in group.statements for each in _computed(s, stored)]
    updates = updates_under(computed, stored, registers)
    alike: dict[tuple[bool, ...], Body] = {}
    pending = [whole]
    while pending:
        box = pending.pop()
        body = Body(registers, box, needs, rank, place)
        try:
            body.cut_for(updates, stored)
            parts = tuple(body.parts)
            if parts in alike:
                done.append(_over(box, alike[parts]))
                continue
            _emit(group, body, registers, reusable)
        except SplitBoxError as split:
            axis, cuts = split.args
            low, high = box[axis]
            for part in reversed(list(pairwise((low, *cuts, high)))):
                pending.append((*box[:axis], part, *box[axis + 1 :]))
            continue
        if place is None and body.is_movable and len(body.parts) == len(parts):
            alike[parts] = body
        done.append(body)
    coalesce_ghosts(done, needs)
    return done, needs


def _over(box: Box, like: Body) -> Body:
    """The loop of a body over another box, where it reads the same parts."""
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
    return body


def _computed(statement: Statement, stored: set[int]) -> list[tuple[Node, AxisMap]]:
    """The expressions that the loops of a statement compute, but for what others store, and under which maps."""
    node, own = statement.node, statement.own
    if statement.style == "map":
        return [(node, own)]
    if statement.style == "fold":
        return [(node.args[0], own)] if id(node.args[0]) not in stored else []
    region: Geometry = node.params[0]
    operands = [arg for arg in node.args[1:] if type(arg) is Node and id(arg) not in stored]
    return [(arg, broadcast_map(arg, region.shape, own)) for arg in operands]


def counted_locally(group: Group) -> bool:
    """Whether the loops of a group count local indices, for what they run over or write to is no box."""
    return group.place is not None and (
        not group.place.layout.is_block
        or any(s.style == "place" and not s.node.place.layout.is_block for s in group.statements)
    )


def _body_of_counts(
    group: Group, registers: Registers, reusable: dict[int, int], rank: int
) -> tuple[list[Body], Needs]:
    """The one body of loops over local indices. A rank without a share has none, but needs the same ghost regions' maps."""
    place = group.place
    assert place is not None
    counts: Any = place.layout.local_shape(rank)
    sets = region_of_rank(place, rank)
    absent = place.layout.coordinates(rank) is None or 0 in counts
    needs = Needs(registers, local=True, absent=absent)
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
            launches += _launches(part, node_of, registers, scratch, order)
    return launches


def _emit(group: Group, body: Body, registers: Registers, reusable: dict[int, int]) -> None:
    """The instructions of all statements of a group.

    A result may be written over a leaf that dies. Where its own box reads nothing of that leaf, as where all of an array is
    assigned, a later statement must not read what was written: it is loaded before.
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
        fold = node.name, code, value, axes, register, position, -1
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
    """Write a value; the number of the operand, which is one with any that is read at the same index."""
    value = body.cast(value, dtype)
    place = body.place_of(reusable.get(register, register), offset, strides, dtype, "w")
    args = (place, value) if mask is None else (place, value, mask)
    body.emit("store", code_of(dtype), args)
    return place


def _launches(
    body: Body,
    node_of: dict[int, Node],
    registers: Registers,
    scratch: dict[int, int],
    seen: Order | None,
) -> list[Launch]:
    """Order the loop axes, unless that is ``seen`` in a result, drop and merge what can be, and cut the work into chunks."""
    box = body.box
    ndim = len(box)
    memories = list(body.memories)
    extents: list[Number] = []
    order: list[int] = []
    for k, (low, high) in enumerate(box):
        extent = high - low if type(low) is not int or low else high
        extents.append(extent)
        if extent != 1:
            order.append(k)
    partial: list[Reduction] = []
    for k, reduction in enumerate(body.reductions):
        if len(reduction.axes) == ndim:
            continue
        partial.append(reduction)
        node = node_of[reduction.operand]
        first = len(memories)
        targets = [reduction.operand]
        if reduction.position >= 0:  # the elements, and after them their positions
            targets.insert(0, registers.extremes[id(node)])
        for register in targets:
            strides, corner = _fold_strides(node, registers, ndim, register)
            if body.counts is not None:  # loops count local indices, from zero
                corner = [0] * ndim
            corners = zip(box, strides, corner, strict=True)
            offset = sum([(low - c) * s for (low, _), s, c in corners])
            dtype = registers.geometry[register].dtype
            memories.append(Memory(register, offset, strides, dtype, "rw"))
        body.reductions[k] = reduction._replace(operand=first)
    if len(order) > 1:
        slowest: dict[int, tuple[Number, Number, int]] = {}
        for k in order:
            written: Number = 0
            every: Number = 0
            for m in memories:
                step = abs(m.strides[k])
                every = every - step
                if m.access != "r":
                    written = written - step
            slowest[k] = written, every, k
        order.sort(key=slowest.__getitem__)
    if partial:
        # loads decide: the axis on which most operands step by single items runs innermost
        order.sort(
            key=lambda k: (-sum([abs(m.strides[k]) for m in memories if m.access == "r"]), k)
        )
    if seen is not None:
        order = list(filter(order.__contains__, seen))
    folded = _folded(partial, ndim) if partial else [()] * ndim
    sums = list(filter(rounds, partial)) if seen is not None else []
    cut = axis_to_cut(seen, extents, sums[0].axes) if seen is not None and sums else None
    indexed = body.indexed
    merged: list[list[int]] = []
    for k in order:
        if merged:
            outer = merged[-1][-1]
            extent = extents[k]
            if (
                folded[outer] == folded[k]
                and not {outer, k} & indexed
                and cut not in (outer, k)
                and all(m.strides[outer] == extent * m.strides[k] for m in memories)
            ):
                merged[-1].append(k)
                continue
        merged.append([k])
    loops: list[Loop] = []
    for axes in merged:
        extent = extents[axes[0]]
        for k in axes[1:]:
            extent = extent * extents[k]
        loops.append(new(Loop, (extent, axes[-1], tuple(axes), 1, 0)))
    run, flat = 1, False
    if len(loops) > 1:
        run = _run(loops, memories, body)
        flat = run == 1 and _is_flat(body)
    if run > 1:
        loops.pop()
    elif len(loops) > 1:
        parts = stored_first(body, loops, registers) if flat else None
        if parts is not None:
            storing, folding, stored = parts
            launches = [
                *_launches(storing, node_of, registers, scratch, seen),
                *_launches(folding, node_of, registers, scratch, seen),
            ]
            launches[0].begins += (stored,)
            return launches
        body, loops, memories = unrolled(body, loops, memories)
        partial = [r for r in body.reductions if len(r.axes) < ndim]
        folded = _folded(partial, ndim) if partial else [()] * ndim
        flat = len(loops) > 1 and _is_flat(body)
    if partial and all(any(folded[loop.axis]) for loop in loops):
        kept = [k for k in range(ndim) if not any(folded[k])]
        if kept:  # an axis of length one, that keeps the reduction from being one of the whole nest
            loops.insert(0, Loop(1, kept[0], (kept[0],)))
    if not loops:
        loops = [Loop(1, -1, ())]
    slabs = cut_into_slabs(body, loops, memories, registers, cut) if partial else None
    if slabs is not None:
        launches = [
            _assemble(body, cut.loops, slabs.memories, scratch, run, False, cut)
            for cut in slabs.nests
        ]
        launches[0].begins = tuple(slabs.begins)
        return launches + slabs.ends
    nests = [loops]
    if not flat and (partial or len(loops) > 1):
        along = [loop.axis >= 0 and any(folded[loop.axis]) for loop in loops]
        nests = _for_threads(loops, along, indexed)
    launches = []
    for nest in nests:
        launches.append(_assemble(body, nest, memories, scratch, run, flat))
    return launches


def _folded(partial: list[Reduction], ndim: int) -> list[tuple[bool, ...]]:
    """For each axis, which of the folds over some axes are along it."""
    return [tuple([k in r.axes for r in partial]) for k in range(ndim)]


def _is_flat(body: Body) -> bool:
    """Whether the kernel of a body takes all elements of its loops as those of one row: see :func:`~atoll.backend.spec.is_flat`."""
    folds, ndim = body.reductions, len(body.box)
    return not [fold for fold in folds if len(fold.axes) < ndim] and any(map(rounds, folds))


def _run(loops: list[Loop], memories: list[Memory], body: Body) -> int:
    """How often in a row each element is written, where that is all that a short inner loop does.

    Then the loop is left out, and a vector of elements is written as several vectors.
    """
    if len(loops) < 2 or body.reductions or loops[-1].extent > policy.limits.registers:
        return 1
    inner, outer = loops[-1], loops[-2]
    if body.indexed.intersection(inner.axes):
        return 1
    if any(i.op == "store" and len(i.args) == 3 for i in body.instructions):
        return 1
    written = {memory.register for memory in memories if memory.access != "r"}
    for memory in memories:
        size, along = memory.dtype.itemsize, memory.strides[inner.axis]
        if memory.access == "r":
            if along or memory.register in written:
                return 1
            continue
        rows = outer.extent == 1 or memory.strides[outer.axis] == inner.extent * size
        if memory.access != "w" or along != size or not rows:
            return 1
    return int(inner.extent)  # the kernel is made for it


def _for_threads(loops: list[Loop], folded: list[bool], indexed: set[int]) -> list[list[Loop]]:
    """Nests whose outermost axis can be cut into chunks that do not meet.

    Chunks of a folded axis would add to the same elements; a short axis makes too few of them.
    Then strips of a longer, unfolded axis become the outermost loop, and what is left over a
    nest of its own.
    """
    if not folded[0] and (
        len(loops) == 1 or loops[0].extent >= 8 or prod([loop.extent for loop in loops]) < 1 << 17
    ):
        return [loops]
    candidates = [
        k
        for k, loop in enumerate(loops)
        if not folded[k] and loop.axis not in indexed and loop.extent > 1
    ]
    if not candidates:
        return [loops]
    place = max(candidates, key=lambda k: loops[k].extent)
    loop = loops[place]
    if not folded[0] and loop.extent < 1024:
        return [loops]
    others = [loop for k, loop in enumerate(loops) if k != place]
    between = 0 < place < len(loops) - 1 and folded[place - 1] and folded[place + 1]
    if place < len(loops) - 1 and folded[0] and not between:  # folds on either side stay apart
        return [[loop, *others]]
    width = function(strip_width, loop.extent)
    strips = loop.extent // width
    inner = [*loops[:place], Loop(width, loop.axis, loop.axes), *loops[place + 1 :]]
    nests = [[Loop(strips, loop.axis, loop.axes, width), *inner]]
    left = loop.extent - strips * width
    if left:
        rest = Loop(left, loop.axis, loop.axes, 1, strips * width)
        nests.append([Loop(1, -1, ()), *loops[:place], rest, *loops[place + 1 :]])
    return nests


def strip_width(extent: int) -> int:
    """How wide a strip of an axis is: a half, or at most two thousand elements, of which hardly any are
    left over: what is left is a nest of its own, that no other thread shares."""
    if extent < 32:
        return extent
    if extent < 4096:
        return extent // 2
    for width in range(2048, 1023, -8):
        if extent % width == 0:
            return width
    return extent // -(-extent // 2048)


def _fold_strides(
    node: Node, registers: Registers, ndim: int, register: int
) -> tuple[tuple[int, ...], list[int]]:
    axes, keepdims = node.params
    strides, corner = [0] * ndim, [0] * ndim
    kept = [k for k in range(ndim) if k not in axes]
    places = kept if keepdims else range(len(kept))
    for k, place in zip(kept, places, strict=True):
        strides[k] = registers.geometry[register].strides[place]
        corner[k] = registers.corner[register][place]
    return tuple(strides), corner


def _assemble(
    body: Body,
    loops: list[Loop],
    memories: list[Memory],
    scratch: dict[int, int],
    run: int,
    flat: bool,
    cut: Cut | None = None,
) -> Launch:
    """The launch of a nest; ``flat``: it takes all elements as those of one row."""
    depth, ndim = len(loops), len(body.box)
    place_of: dict[int, int] = {}
    along: list[tuple[int, ...]] = []
    extents: list[Number] = []
    origins: list[Number] = []
    for place, loop in enumerate(loops):
        for axis in loop.axes:
            place_of[axis] = place
        along.append(loop.axes)
        extents.append(loop.extent)
        origins.append(body.box[loop.axis][0] if loop.axis >= 0 else 0)
    if cut is not None:
        origins[cut.place] = cut.origin
    many: Number = extents[0]
    chunk: Number = policy.limits.chunk
    if flat:
        many = prod(extents[1:], start=many)
    elif [r for r in body.reductions if len(r.axes) < ndim and 0 in map(place_of.get, r.axes)]:
        chunk = many
    else:
        inner: Number = prod(extents[2:], start=extents[1]) if depth > 1 else 1
        chunk //= greatest(inner if run == 1 else inner * run, 1)
        chunk = greatest(least(many, chunk), 1)
    chunks = (many + (chunk - 1)) // chunk
    partials: list[tuple[int, int]] = []
    reductions: list[Reduction] = []
    for reduction in body.reductions:
        axes, operand = tuple(range(depth)), -1
        if len(reduction.axes) == ndim:
            start = scratch.get(reduction.operand, 0)
            partials.append((reduction.operand, start))
            scratch[reduction.operand] = start + chunks
        else:
            axes = tuple(sorted({place_of[k] for k in reduction.axes if k in place_of}))
            operand = reduction.operand
        op, dtype, value, _, _, position, mask = reduction
        reductions.append(new(Reduction, (op, dtype, value, axes, operand, position, mask)))
    operands: list[Operand] = []
    final: list[Memory] = []
    groups = alias_groups(memories)
    for number, (memory, group) in enumerate(zip(memories, groups, strict=True)):
        offset, access = memory.offset, memory.access
        strides: list[Number] = []
        for loop in loops:
            stride: Number = memory.strides[loop.axis] if loop.axis >= 0 else 0
            if type(stride) is not int or stride:
                if type(loop.start) is not int or loop.start:
                    offset = offset + stride * loop.start
                if type(loop.scale) is not int or loop.scale != 1:
                    stride = stride * loop.scale
            strides.append(stride)
        if cut is not None and number in cut.strides:
            strides[0] = cut.strides[number]
        lies = memory.register, offset, tuple(strides), memory.dtype, access
        final.append(new(Memory, (*lies, None, ())))
        kind = f"run{run}" if run > 1 and access == "w" else final[-1].inner
        operands.append(new(Operand, (code_of(memory.dtype), access, kind, group)))
    instructions: list[Instruction] = []
    for instruction in body.instructions:
        if instruction.op == "index":
            place = place_of[int(instruction.args[0].real)]
            instruction = Instruction("index", "i8", (place,))
        instructions.append(instruction)
    scalars, operations = body.scalars, body.operations
    codes = tuple([code_of(dtype) for _, dtype, _ in scalars]) if scalars else ()
    spec = new(KernelSpec, (depth, tuple(operands), codes, tuple(instructions), tuple(reductions)))
    return Launch(
        spec, tuple(extents), chunk, chunks, final, scalars, tuple(origins), partials, operations, tuple(along)
    )  # fmt: skip
