"""From groups to kernel launches: the second half of planning.

A group runs over its domain box by box. Walking an expression with an *axis map* (which says,
for each axis of a node, where the loop index leads) ends at loads from leaves and stored nodes,
each a pointer offset and one stride per loop axis. An update that only covers part of a box
splits the box; the pieces are lowered again, each with its own simpler expression. That is how
the interior and the frame of a stencil become different loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ..graph.geometry import Geometry
from ..graph.node import Node
from ..kernels.spec import Instruction, KernelSpec, Operand, Reduction
from ..ops.elementwise import WEAK
from ..ops.reduction import reduced_shape
from .statements import AxisMap, Group, Statement, box_of, broadcast_map, identity, inside_region, through_view

CHUNK_ELEMENTS = 1 << 15
Box = tuple[tuple[int, int], ...]


def code_of(dtype: np.dtype[Any]) -> str:
    """The dtype as kernels name it."""
    return dtype.kind + str(dtype.itemsize)


class SplitBoxError(Exception):
    """A box is only partly covered by an update; carries where to cut it."""

    def __init__(self, axis: int, place: int) -> None:
        super().__init__(axis, place)
        self.axis = axis
        self.place = place


@dataclass(slots=True)
class Memory:
    """Where an operand of a launch lies: a register, an offset in bytes, a stride per loop axis."""

    register: int
    offset: int
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    access: str = "r"


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop of a nest: over ``axes`` of the domain that were merged, stepping along ``axis``.

    Its index counts ``scale`` elements each, from ``start`` on. ``axis`` -1 steps nowhere.
    """

    extent: int
    axis: int
    axes: tuple[int, ...]
    scale: int = 1
    start: int = 0


@dataclass(slots=True)
class Launch:
    """One kernel over one box, with everything that is bound when it runs."""

    spec: KernelSpec
    extents: tuple[int, ...]
    chunk: int
    chunks: int
    memories: list[Memory]
    scalars: list[tuple[int, np.dtype[Any], int]]
    """Number of each run-time scalar of the program (or -1 and a literal), and its dtype."""
    origins: tuple[int, ...]
    """For each loop axis, the first index along it."""
    partials: list[tuple[int, int]]
    """For each full reduction: its register of partials, and the first one that this launch writes."""
    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Registers:
    """Numbers for the memory that a program handles: leaves first, then what it computes."""

    of: dict[int, int]
    geometry: list[Geometry]
    scalar_of: dict[tuple[int, int], int]
    keep: list[Node] = field(default_factory=list)

    def add(self, node: Node) -> int:
        """A register for the value of a stored node."""
        self.of[id(node)] = len(self.geometry)
        self.geometry.append(node.geometry)
        self.keep.append(node)
        return self.of[id(node)]


class Body:
    """The instructions of one launch while they are collected."""

    def __init__(self, registers: Registers, box: Box, available: set[int]) -> None:
        self.registers = registers
        self.box = box
        self.available = available
        self.instructions: list[Instruction] = []
        self.memories: list[Memory] = []
        self.scalars: list[tuple[int, np.dtype[Any], int]] = []
        self.reductions: list[Reduction] = []
        self.nodes: list[Node] = []
        self._values: dict[Any, int] = {}

    def emit(self, op: str, dtype: str, args: tuple[Any, ...], name: str = "") -> int:
        """Add an instruction, or find the one that computes the same."""
        key = (op, dtype, args, name)
        if op != "store":
            found = self._values.get(key)
            if found is not None:
                return found
        self.instructions.append(Instruction(op, dtype, args, name))
        number = len(self.instructions) - 1
        self._values[key] = number
        return number

    def load(self, register: int, offset: int, strides: tuple[int, ...], dtype: np.dtype[Any]) -> int:
        """Read memory at the loop index."""
        for k, memory in enumerate(self.memories):
            if (memory.register, memory.offset, memory.strides, memory.dtype) == (register, offset, strides, dtype):
                return self.emit("load", code_of(dtype), (k,))
        self.memories.append(Memory(register, offset, strides, dtype))
        return self.emit("load", code_of(dtype), (len(self.memories) - 1,))

    def cast(self, value: int, dtype: np.dtype[Any]) -> int:
        """The value in another dtype."""
        code = code_of(dtype)
        if self.instructions[value].dtype == code:
            return value
        return self.emit("cast", code, (value,))

    def scalar(self, number: int, dtype: np.dtype[Any]) -> int:
        """A run-time scalar of the program."""
        for k, (known, kind, _) in enumerate(self.scalars):
            if known == number and kind == dtype:
                return self.emit("scalar", code_of(dtype), (k,))
        self.scalars.append((number, dtype, 0))
        return self.emit("scalar", code_of(dtype), (len(self.scalars) - 1,))

    def _strided(self, geometry: Geometry, outer: AxisMap) -> tuple[int, tuple[int, ...]]:
        offset = 0
        strides = [0] * len(self.box)
        for (start, steps), stride in zip(outer, geometry.strides, strict=True):
            offset += start * stride
            for axis, step in steps:
                strides[axis] += step * stride
        offset += sum(low * stride for (low, _), stride in zip(self.box, strides, strict=True))
        return offset, tuple(strides)

    def value(self, node: Node, outer: AxisMap) -> int:
        """The number of the instruction that has the node's element under the map ``outer``."""
        key = ("node", id(node), outer)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = self._value(node, outer)
        return found

    def define(self, node: Node, outer: AxisMap, value: int) -> None:
        """Say that a stored node's element is already here as instruction ``value``."""
        self._values["node", id(node), outer] = value

    def _value(self, node: Node, outer: AxisMap) -> int:
        register = self.registers.of.get(id(node))
        if register is not None and (node.value is not None or id(node) in self.available):
            offset, strides = self._strided(node.geometry, outer)
            return self.load(register, offset, strides, node.geometry.dtype)
        return self.compute(node, outer)

    def operand(self, node: Node, place: int, ndim: int, shape: Sequence[int], outer: AxisMap, dtype: np.dtype[Any]) -> int:
        """An argument of ``node``, broadcast and in ``dtype``."""
        arg = node.args[place]
        if type(arg) is Node:
            return self.cast(self.value(arg, broadcast_map(arg, ndim, shape, outer)), dtype)
        return self.scalar(self.registers.scalar_of[id(node), place], dtype)

    def compute(self, node: Node, outer: AxisMap) -> int:
        """The instructions of one node."""
        geometry = node.geometry
        dtype = geometry.dtype
        ndim, shape = geometry.ndim, geometry.shape
        kind = node.kind
        if kind == "call":
            loop = node.params[0]
            self.nodes.append(node)
            args = tuple([self.operand(node, k, ndim, shape, outer, d) for k, d in enumerate(loop.inputs)])
            return self.emit("call", code_of(loop.output), args, loop.name)
        if kind == "cast":
            return self.cast(self.value(node.args[0], outer), dtype)
        if kind == "where":
            mask = self.operand(node, 0, ndim, shape, outer, np.dtype(np.bool_))
            return self.emit(
                "where",
                code_of(dtype),
                (mask, self.operand(node, 1, ndim, shape, outer, dtype), self.operand(node, 2, ndim, shape, outer, dtype)),
            )
        if kind == "fill":
            return self.operand(node, 0, ndim, shape, outer, dtype)
        if kind == "index":
            return self._index(node, outer)
        if kind == "read":
            return self._read(node, outer)
        if kind == "update":
            return self._update(node, outer)
        raise AssertionError(f"{node!r} cannot be computed inside a loop")

    def position(self, axis: int) -> int:
        """The loop index along a domain axis, counted from the domain's start."""
        low, high = self.box[axis]
        if high - low == 1:
            return self.constant(low)
        return self.emit("index", "i8", (axis,))

    def constant(self, number: int) -> int:
        """An integer that is bound when the program is made, so that kernels do not depend on it."""
        for k, (which, _, literal) in enumerate(self.scalars):
            if which < 0 and literal == number:
                return self.emit("scalar", "i8", (k,))
        self.scalars.append((-1, np.dtype(np.int64), number))
        return self.emit("scalar", "i8", (len(self.scalars) - 1,))

    def integer(self, name: str, a: int, b: int) -> int:
        """An operation on two ``i8`` values."""
        return self.emit("call", "i8", (a, b), name)

    def _index(self, node: Node, outer: AxisMap) -> int:
        start, steps = outer[node.params[0]]
        total = self.constant(start) if start or not steps else -1
        for axis, step in steps:
            term = self.position(axis)
            if step != 1:
                term = self.integer("multiply", term, self.constant(step))
            total = term if total < 0 else self.integer("add", total, term)
        dtype = node.geometry.dtype
        wide = np.dtype(np.int64) if dtype.kind in "iub" else dtype
        step_value = self.operand(node, 1, 1, (1,), outer, wide)
        scaled = self.emit("call", code_of(wide), (self.cast(total, wide), step_value), "multiply")
        first = self.operand(node, 0, 1, (1,), outer, wide)
        return self.cast(self.emit("call", code_of(wide), (first, scaled), "add"), dtype)

    def _read(self, node: Node, outer: AxisMap) -> int:
        view: Geometry = node.params[0]
        base = node.args[0]
        register = self.registers.of.get(id(base))
        if register is not None and (base.value is not None or id(base) in self.available):
            offset, strides = self._strided(view, outer)
            return self.load(register, view.offset + offset, strides, view.dtype)
        inner = through_view(view, outer)
        if inner is None:
            raise AssertionError(f"{base!r} should have been stored: {view!r} is no axis map")
        return self.value(base, inner)

    def _update(self, node: Node, outer: AxisMap) -> int:
        region: Geometry = node.params[0]
        box = box_of(region)
        if box is None:
            raise AssertionError(f"{node!r} should have been stored: {region!r} is no box")
        covered = True
        for k, (low, high, _, _) in enumerate(box):
            start, steps = outer[k]
            first = last = start
            for axis, step in steps:
                begin, end = self.box[axis]
                ends = (step * begin, step * (end - 1))
                first += min(ends)
                last += max(ends)
            if last < low or first >= high:
                return self.value(node.args[0], outer)
            if first < low or last >= high:
                covered = False
        if covered:
            inner = inside_region(region, box, outer)
            value = node.args[1]
            if type(value) is Node:
                return self.cast(self.value(value, broadcast_map(value, region.ndim, region.shape, inner)), node.geometry.dtype)
            return self.scalar(self.registers.scalar_of[id(node), 1], node.geometry.dtype)
        for k, (low, high, _, _) in enumerate(box):
            start, steps = outer[k]
            if len(steps) != 1:
                continue
            axis, step = steps[0]
            begin, end = self.box[axis]
            for bound in (low, high):
                # the first loop index at which start + step * index has passed the bound
                cut = -((start - bound) // step) if step > 0 else (start - bound) // -step + 1
                if begin < cut < end:
                    raise SplitBoxError(axis, cut)
        raise AssertionError(f"{node!r}: no axis to cut box {self.box} along")


def lower_group(group: Group, registers: Registers, available: set[int], reusable: dict[int, int], scratch: dict[int, int]) -> list[Launch]:
    """The launches of a group of ``map``, ``fold`` and ``place`` statements.

    ``scratch`` receives, for each full reduction's node, the number of partials it needs.
    """
    whole: Box = tuple([(0, n) for n in group.domain])
    if any(n == 0 for n in group.domain):
        return []
    pending = [whole]
    launches: list[Launch] = []
    while pending:
        box = pending.pop()
        body = Body(registers, box, available)
        try:
            for statement in group.statements:
                _emit_statement(statement, body, registers, reusable)
        except SplitBoxError as split:
            low, high = box[split.axis]
            for part in ((split.place, high), (low, split.place)):
                pending.append((*box[: split.axis], part, *box[split.axis + 1 :]))
            continue
        launches.extend(_launches(body, group, registers, scratch))
    return launches


def _emit_statement(statement: Statement, body: Body, registers: Registers, reusable: dict[int, int]) -> None:
    node = statement.node
    own = identity(statement.domain)
    if statement.style == "map":
        value = body.compute(node, own)
        offset, strides = body._strided(node.geometry, own)
        _store(body, registers.of[id(node)], offset, strides, node.geometry.dtype, value, reusable)
        body.define(node, own, value)
    elif statement.style == "place":
        region: Geometry = node.params[0]
        dtype = region.dtype
        ndim, shape = region.ndim, region.shape
        value = body.operand(node, 1, ndim, shape, own, dtype)
        offset, strides = body._strided(region, own)
        mask = body.operand(node, 2, ndim, shape, own, np.dtype(np.bool_)) if len(node.args) == 3 else None
        _store(body, registers.of[id(node)], region.offset + offset, strides, dtype, value, reusable, mask)
    else:
        operand = node.args[0]
        value = body.value(operand, own)
        dtype = node.geometry.dtype
        axes = node.params[0]
        loops = tuple(axes)
        if node.kind == "reduce":
            value = body.cast(value, dtype)
            body.reductions.append(Reduction(node.name, code_of(dtype), value, loops, registers.of[id(node)]))
        else:
            position = _linear_index(body, statement.domain, axes)
            code = body.instructions[value].dtype
            body.reductions.append(Reduction(node.name, code, value, loops, registers.of[id(node)], position))


def _linear_index(body: Body, domain: tuple[int, ...], axes: Sequence[int]) -> int:
    """The position along the folded axes, in C order."""
    total = -1
    scale = 1
    for axis in reversed(axes):
        term = body.position(axis)
        if scale != 1:
            term = body.integer("multiply", term, body.constant(scale))
        total = term if total < 0 else body.integer("add", total, term)
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
) -> None:
    """Write a value; where the same memory is read at the same index, the operands are one."""
    value = body.cast(value, dtype)
    source = reusable.get(register, register)
    args: tuple[int, ...]
    for k, memory in enumerate(body.memories):
        if (memory.register, memory.offset, memory.strides, memory.dtype) == (source, offset, strides, dtype):
            memory.access = "rw"
            memory.register = source
            args = (k, value)
            break
    else:
        body.memories.append(Memory(source, offset, strides, dtype, "w"))
        args = (len(body.memories) - 1, value)
    body.emit("store", code_of(dtype), args if mask is None else (*args, mask))


def _launches(body: Body, group: Group, registers: Registers, scratch: dict[int, int]) -> list[Launch]:
    """Order the loop axes, drop and merge what can be, and cut the work into chunks."""
    box = body.box
    ndim = len(box)
    memories = list(body.memories)
    extents = [high - low for low, high in box]
    node_of = {registers.of[id(s.node)]: s.node for s in group.statements if s.style == "fold"}
    partial = [r for r in body.reductions if len(r.axes) < ndim]
    for k, reduction in enumerate(body.reductions):
        if len(reduction.axes) == ndim:
            continue
        node = node_of[reduction.operand]
        strides = _fold_strides(node, ndim)
        offset = sum(low * s for (low, _), s in zip(box, strides, strict=True))
        memories.append(Memory(reduction.operand, offset, strides, node.geometry.dtype, "rw"))
        body.reductions[k] = Reduction(
            reduction.op, reduction.dtype, reduction.value, reduction.axes, len(memories) - 1, reduction.position
        )
    order = [k for k in range(ndim) if extents[k] != 1]
    stores = [m for m in memories if m.access != "r"] or memories
    order.sort(key=lambda k: (-sum(abs(m.strides[k]) for m in stores), -sum(abs(m.strides[k]) for m in memories), k))
    if partial:
        # loads decide: the axis on which most operands step by single items runs innermost
        order.sort(key=lambda k: (-sum(abs(m.strides[k]) for m in memories if m.access == "r"), k))
    folded = [tuple(k in r.axes for r in body.reductions if len(r.axes) < ndim) for k in range(ndim)]
    indexed = {int(i.args[0].real) for i in body.instructions if i.op == "index"}
    merged: list[list[int]] = []
    for k in order:
        if merged:
            outer = merged[-1][-1]
            extent = extents[k]
            if (
                folded[outer] == folded[k]
                and outer not in indexed
                and k not in indexed
                and all(m.strides[outer] == extent * m.strides[k] for m in memories)
            ):
                merged[-1].append(k)
                continue
        merged.append([k])
    loops = [Loop(prod(extents[k] for k in axes), axes[-1], tuple(axes)) for axes in merged]
    if partial and all(any(folded[loop.axis]) for loop in loops):
        kept = [k for k in range(ndim) if not any(folded[k])]
        if kept:  # an axis of length one, that keeps the reduction from being one of the whole nest
            loops.insert(0, Loop(1, kept[0], (kept[0],)))
    if not loops:
        loops = [Loop(1, -1, ())]
    return [
        _assemble(body, nest, memories, registers, scratch, ndim)
        for nest in _for_threads(loops, [loop.axis >= 0 and any(folded[loop.axis]) for loop in loops], indexed)
    ]


def _for_threads(loops: list[Loop], folded: list[bool], indexed: set[int]) -> list[list[Loop]]:
    """Nests whose outermost axis can be cut into chunks that do not meet.

    Chunks of a folded axis would add to the same elements; a short axis makes too few of them.
    Then strips of a longer, unfolded axis become the outermost loop, and what is left over a
    nest of its own.
    """
    work = prod(loop.extent for loop in loops)
    if not folded[0] and (loops[0].extent >= 8 or len(loops) == 1 or work < 1 << 17):
        return [loops]
    candidates = [
        k for k, loop in enumerate(loops) if not folded[k] and loop.axis not in indexed and loop.extent > 1
    ]
    if not candidates:
        return [loops]
    place = max(candidates, key=lambda k: loops[k].extent)
    loop = loops[place]
    if not folded[0] and loop.extent < 1024:
        return [loops]
    others = [one for k, one in enumerate(loops) if k != place]
    if place < len(loops) - 1 and folded[0]:
        return [[loop, *others]]
    width = strip_width(loop.extent)
    strips = loop.extent // width
    inner = [*loops[:place], Loop(width, loop.axis, loop.axes), *loops[place + 1 :]]
    nests = [[Loop(strips, loop.axis, loop.axes, width), *inner]]
    left = loop.extent - strips * width
    if left:
        rest = Loop(left, loop.axis, loop.axes, 1, strips * width)
        nests.append([Loop(1, -1, ()), *loops[:place], rest, *loops[place + 1 :]])
    return nests


def strip_width(extent: int) -> int:
    """How wide a strip of an axis is: what divides it, or about a thousand elements."""
    if extent < 16:
        return extent
    if extent < 2048:
        return -(-extent // 16) * 8 if extent >= 32 else extent
    for width in range(1024, 511, -8):
        if extent % width == 0:
            return width
    return 1024


def _fold_strides(node: Node, ndim: int) -> tuple[int, ...]:
    axes, keepdims = node.params
    strides = [0] * ndim
    kept = [k for k in range(ndim) if k not in axes]
    own = node.geometry.strides if not keepdims else tuple(node.geometry.strides[k] for k in kept)
    for k, stride in zip(kept, own, strict=True):
        strides[k] = stride
    return tuple(strides)


def _assemble(
    body: Body,
    loops: list[Loop],
    memories: list[Memory],
    registers: Registers,
    scratch: dict[int, int],
    ndim: int,
) -> Launch:
    place_of = {axis: place for place, loop in enumerate(loops) for axis in loop.axes}
    depth = len(loops)
    extents = tuple([loop.extent for loop in loops])
    shared = any(place_of.get(k) == 0 for r in body.reductions if len(r.axes) < ndim for k in r.axes)
    inner = prod(extents[1:])
    chunk = extents[0] if shared else max(1, min(extents[0], CHUNK_ELEMENTS // max(inner, 1)))
    chunks = -(-extents[0] // chunk)
    full = [r for r in body.reductions if len(r.axes) == ndim]
    partials: list[tuple[int, int]] = []
    for reduction in full:
        start = scratch.get(reduction.operand, 0)
        partials.append((reduction.operand, start))
        scratch[reduction.operand] = start + chunks
    operands = []
    final: list[Memory] = []
    groups = _alias_groups(memories)
    for memory, group in zip(memories, groups, strict=True):
        strides = tuple([memory.strides[loop.axis] * loop.scale if loop.axis >= 0 else 0 for loop in loops])
        shift = sum(memory.strides[loop.axis] * loop.start for loop in loops if loop.axis >= 0)
        last = strides[-1]
        kind = "unit" if last == memory.dtype.itemsize else "zero" if last == 0 else "any"
        operands.append(Operand(code_of(memory.dtype), memory.access, kind, group))
        final.append(Memory(memory.register, memory.offset + shift, strides, memory.dtype, memory.access))
    reductions = []
    for reduction in body.reductions:
        whole = len(reduction.axes) == ndim
        axes = tuple(range(depth)) if whole else tuple(sorted({place_of[k] for k in reduction.axes if k in place_of}))
        reductions.append(
            Reduction(
                reduction.op, reduction.dtype, reduction.value, axes, -1 if whole else reduction.operand, reduction.position
            )
        )
    instructions = [
        Instruction("index", "i8", (place_of[int(i.args[0].real)],)) if i.op == "index" else i for i in body.instructions
    ]
    origins = tuple([body.box[loop.axis][0] if loop.axis >= 0 else 0 for loop in loops])
    spec = KernelSpec(
        depth,
        tuple(operands),
        tuple([code_of(dtype) for _, dtype, _ in body.scalars]),
        tuple(instructions),
        tuple(reductions),
    )
    return Launch(spec, extents, chunk, chunks, final, body.scalars, origins, partials, body.nodes)


def _alias_groups(memories: list[Memory]) -> list[int]:
    """Operands of one register may overlap if one of them is written; all others do not."""
    written = {m.register for m in memories if m.access != "r"}
    numbers: dict[int, int] = {}
    return [numbers.setdefault(m.register if m.register in written else -1, len(numbers)) for m in memories]


__all__ = ["WEAK", "Launch", "Memory", "Registers", "code_of", "lower_group", "reduced_shape"]
