"""The body of a loop: lowers an expression to loads, stores and instructions.

A node's element is found under an *axis map*, which says for each axis of the node where the
loop index leads. The walk ends at registers: leaves, and the results of earlier groups. There
a map becomes a pointer offset and one stride per loop axis.

On several ranks the loop runs over the part of the domain that this rank computes. Where it
reads elements that another rank owns, the box is cut so that one piece needs none of them; the
other piece reads from a *ghost region*: memory that is filled, before the piece runs, with just the
region that it needs. The owner of the region can compute the same ghost region, so ranks need no requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import policy
from ..backend.spec import Instruction, Reduction, whole
from ..exchange.ghosts import GhostRegion
from ..exchange.readers import region_under, shape_under
from ..exchange.shares import Box, box_of_rank, counts_locally, first_of, local_step
from ..graph.geometry import Geometry
from ..graph.node import Node, Operation
from ..layout import IndexSet, Range, Region
from ..layout.symbolic import Number
from ..layout.symbolic_layout import extent, interval
from ..ops.maps import (
    AxisMap,
    broadcast_map,
    identity,
    inside_region,
    operands_under,
    reach,
    through_view,
)
from ..ops.placement import Place
from ..ops.table import code_of
from .groups import BroadcastRead, Group, MappedRead
from .registers import Memory, Registers, new
from .shapes import dense_shape


class SplitBoxError(Exception):
    """A box is only partly covered by an update; carries the axis to cut it along, and the cuts in order."""


class Shares(dict[Any, Box | None]):
    """The shares of a rank as boxes, by place; ``None`` where it has none, or the share is no box."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __missing__(self, place: Any) -> Box | None:
        takes_part = place.layout.coordinates(self.rank) is not None
        box = self[place] = box_of_rank(place, self.rank) if takes_part else None
        return box


@dataclass(slots=True)
class Needs:
    """The distinct ghost regions that the boxes of a group request, in order. Duplicates are found by comparison: equal symbolic
    numbers need not have equal hashes, and all ranks must list the same ghost regions."""

    registers: Registers
    shares: Shares
    ghosts: list[GhostRegion] = field(default_factory=list)
    local: bool = False
    """True if loops count local indices: then the ghost regions of all ranks have the same maps."""
    group: Group | None = None
    """The group whose broadcasts its boxes read."""
    absent: bool = False
    """True if the rank has no loops, and so no ghost regions; the maps are listed for the others."""

    def whole(self, node: Node) -> GhostRegion:
        """A ghost region of the whole node, with the node's geometry."""
        region = tuple([Range(0, n) for n in node.geometry.shape])
        return self._once(node, region, node.geometry)

    def under(
        self, node: Node, outer: AxisMap, shape: tuple[Number, ...], sets: Sequence[IndexSet] | None
    ) -> GhostRegion:
        """The ghost region that loops over local indices read under a map; ``sets`` are the index sets of the domain."""
        region = () if sets is None else region_under(outer, sets)
        return self._once(node, region, dense_shape(shape, node.geometry.dtype), outer)

    def boxed(self, node: Node, box: Box) -> GhostRegion:
        """A ghost region of one box of a node."""
        region: Any = tuple([interval(low, high) for low, high in box])
        geometry = dense_shape(tuple(map(extent, region)), node.geometry.dtype)
        return self._once(node, region, geometry, boxed=True)

    def _once(
        self,
        node: Node,
        region: Region,
        geometry: Geometry,
        outer: AxisMap | None = None,
        boxed: bool = False,
    ) -> GhostRegion:
        source = self.registers.of[id(node)]
        for ghost in self.ghosts:
            if (ghost.source, ghost.boxed, ghost.outer) == (source, boxed, outer) and (
                outer is not None or ghost.region == region
            ):
                return ghost
        register, dtype = self.registers.extra(geometry), node.geometry.dtype
        ghost = GhostRegion(register, source, node.place, dtype, region, outer, boxed)
        self.ghosts.append(ghost)
        return ghost


def renumbered(
    instruction: Instruction, values: Mapping[int, int], place: Callable[[int], int]
) -> Instruction:
    """An instruction with the value and operand numbers of another body. A repeated load keeps its distinguishing argument."""
    op, args = instruction.op, instruction.args
    if op in ("scalar", "const", "index"):
        return instruction
    first: tuple[int, ...] = ()
    if op in ("load", "store"):
        first, args = (place(whole(args[0])),), args[1:]
    rest = args if op == "load" else [values[whole(argument)] for argument in args]
    return instruction._replace(args=(*first, *rest))


def updates_under(
    expressions: list[tuple[Node, Any]], stored: set[int], registers: Registers
) -> list[tuple[Node, AxisMap]]:
    """The first updates on the paths of a walk of expressions, with their maps. The walk skips ``stored`` nodes: they are listed as
    expressions."""
    updates: list[tuple[Node, AxisMap]] = []
    left = expressions[::-1]
    seen: set[Any] = set()
    while left:
        node, outer = left.pop()
        count = len(seen)
        seen.add((id(node), outer))
        if (
            len(seen) == count
            or id(node) not in registers.varying
            or id(node) in registers.in_memory
        ):
            continue
        if node.op.is_update:
            updates.append((node, outer))
        elif node.op.elementwise or node.op.is_view:
            below = operands_under(node, outer)
            left += [each for each in reversed(below) if id(each[0]) not in stored]
    return updates


@dataclass(slots=True, eq=False)
class Body:
    """The instructions of one launch while they are collected."""

    registers: Registers
    box: Box
    needs: Needs
    rank: int = 0
    place: Place | None = None
    counts: tuple[Number, ...] | None = None
    """The rank's number of indices along each axis, where loops count local indices, else ``None``."""
    sets: tuple[IndexSet, ...] | None = None
    """The global indices along each axis, if they are known."""
    instructions: list[Instruction] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    scalars: list[tuple[int, np.dtype[Any], int]] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    _values: dict[Any, int] = field(default_factory=dict)
    _stored: dict[int, tuple[AxisMap, int]] = field(default_factory=dict)
    _sources: dict[tuple[int, int], tuple[Any, AxisMap, AxisMap]] = field(default_factory=dict)
    """Results of :meth:`_source_of` by the ids of node and map. An entry keeps its map alive, so that the id stays valid."""
    reads: list[MappedRead] = field(default_factory=list)
    """The arrays in blocks of ranks that it reads, other than by broadcasts."""
    parts: list[bool] = field(default_factory=list)
    """For each partly assigned array that the body reads: True if it reads outside the assigned part."""
    indexed: set[int] = field(default_factory=set)
    """The axes whose indices are values."""
    is_movable: bool = True
    """False where the position of the box decides more than offsets."""

    def emit(self, op: str, dtype: str, args: tuple[Any, ...], name: str = "") -> int:
        """Add an instruction and return its number. An equal instruction, other than a store, is reused."""
        instruction = new(Instruction, (op, dtype, args, name))
        known = None if op == "store" else self._values.get(instruction)
        if known is None:
            known = self._values[instruction] = len(self.instructions)
            self.instructions.append(instruction)
        return known

    def load(
        self, register: int, offset: int, strides: tuple[int, ...], dtype: np.dtype[Any]
    ) -> int:
        """Read memory at the loop index."""
        return self.emit("load", code_of(dtype), (self.place_of(register, offset, strides, dtype),))

    def place_of(
        self,
        register: int,
        offset: int,
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        access: str = "r",
    ) -> int:
        """The number of the operand with this register, offset, strides and dtype; a new operand is appended."""
        lies = register, offset, strides, dtype
        for k, memory in enumerate(self.memories):
            if memory[:4] == lies:
                if access == "w":
                    self.memories[k] = memory._replace(access="rw")
                return k
        self.memories.append(new(Memory, (*lies, access, None, ())))
        return len(self.memories) - 1

    def load_again(self, place: int) -> int:
        """Load an operand again after a store that may have changed it at the loop index."""
        memory = self.memories[place] = self.memories[place]._replace(access="rw")
        return self.emit("load", code_of(memory.dtype), (place, len(self.instructions)))

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

    def strided(
        self, strides_of_axes: Sequence[int], outer: AxisMap, corner: Sequence[int] | None = None
    ) -> tuple[int, tuple[int, ...]]:
        """Byte offset and loop strides of an array whose first element has index ``corner``."""
        offsets: list[int] = []
        strides = [0] * len(self.box)
        for k, ((start, steps), stride) in enumerate(zip(outer, strides_of_axes, strict=True)):
            first = 0 if corner is None else corner[k]
            for axis, step in steps:
                low, before = self.box[axis][0], strides[axis]
                is_unit = type(step) is int and step == 1
                along = stride if is_unit else step * stride
                strides[axis] = before + along if type(before) is not int or before else along
                if low is first and is_unit:
                    first = 0  # both begin at the corner
                elif type(low) is not int or low:
                    start = start + (low if is_unit else step * low)
            if type(first) is not int or first:
                start = start - first
            if type(start) is not int or start:
                offsets.append(start * stride)
        return sum(offsets[1:], offsets[0]) if offsets else 0, tuple(strides)

    def own(self, node: Node, outer: AxisMap) -> tuple[int, tuple[int, ...]]:
        """Byte offset and loop strides of a node's element in this rank's share, which must contain the element."""
        register = self.registers.of[id(node)]
        geometry = self.registers.geometry[register]
        if self.counts is not None:
            return self.registers.padding[register], geometry.strides
        offset, strides = self.strided(geometry.strides, outer, self.registers.corner[register])
        padding = self.registers.padding[register]
        return padding + offset if padding else offset, strides

    def share(self, node: Node, view: Geometry) -> tuple[Number, tuple[Number, ...]]:
        """Byte offset and loop strides, in this rank's share of a node, of its share of a view that is distributed like the loop's
        domain."""
        register = self.registers.of[id(node)]
        offset: Number = self.registers.padding[register]
        strides: list[Number] = [0] * len(self.box)
        home: Place = node.place
        assert view.axes is not None
        assert self.place is not None
        along_axes = self.registers.geometry[register].strides
        for k, ((first, steps), stride) in enumerate(zip(view.axes, along_axes, strict=True)):
            axis, step = steps[0] if steps else (-1, 0)
            start = first_of(home, self.place, k, first, axis, step, self.rank)
            offset = offset + start * stride
            if steps:
                strides[axis] = local_step(home.layout.axes[k], step) * stride
        return offset, tuple(strides)

    def _from_register(self, node: Node, register: int, outer: AxisMap) -> int:
        dtype = node.geometry.dtype
        if self.counts is not None:
            return self._by_sets(node, register, outer)
        if node.place is None:
            offset, strides = self.strided(node.geometry.strides, outer)
            return self.load(register, offset, strides, dtype)
        group = self.needs.group
        if group is not None and group.broadcasts and (read := group.broadcast(node, outer)):
            return self._broadcast(read, outer)
        ghost = self.ghost(node, outer)
        if ghost is None:
            offset, strides = self.own(node, outer)
        else:
            register, offset, strides = ghost.register, *self.in_ghost(ghost, outer)
        number = self.load(register, offset, strides, dtype)
        operand = whole(self.instructions[number].args[0])
        if ghost is not None:
            self.memories[operand] = self.memories[operand]._replace(outer=outer)
        self.reads.append((node, outer, operand))
        return number

    def in_ghost(self, ghost: GhostRegion, outer: AxisMap) -> tuple[int, tuple[int, ...]]:
        """Byte offset and loop strides of a read in a ghost region."""
        lies = self.registers.geometry[ghost.register].strides
        return self.strided(lies, outer, [low for low, _ in ghost.box])

    def ghost(self, node: Node, outer: AxisMap) -> GhostRegion | None:
        """The ghost region that a read from memory needs; ``None`` if this rank's share has all of the elements."""
        place: Place = node.place
        owned = self.needs.shares[place]
        if owned is None:
            return self.needs.boxed(node, reach(outer, self.box))
        for parts, along, (begin, end) in zip(place.layout.grid, outer, owned, strict=True):
            if parts > 1:  # an undivided axis is in each share
                ((low, high),) = reach((along,), self.box)
                if not ((begin is low or begin <= low) and (high is end or high <= end)):
                    break
        else:
            return None
        wanted = reach(outer, self.box)
        self._cut(outer, wanted, owned)
        return self.needs.boxed(node, wanted)

    def _broadcast(self, read: BroadcastRead, outer: AxisMap) -> int:
        """A load of a region that all ranks of a line read: from the register of the region, or from this rank's share."""
        node, ghost = read.node, read.ghost
        self.is_movable = False
        if ghost is None:
            return self.load(
                self.registers.of[id(node)], *self.own(node, outer), node.geometry.dtype
            )
        lies = self.registers.geometry[ghost.register].strides
        corner = [part.start for part in ghost.region]  # type: ignore[attr-defined]
        return self.load(ghost.register, *self.strided(lies, outer, corner), node.geometry.dtype)

    def _cut(self, outer: AxisMap, wanted: Box, owned: Box) -> None:
        """Cut the box where its reads enter or leave this rank's own elements."""
        if any(high <= a or low >= b for (low, high), (a, b) in zip(wanted, owned, strict=True)):
            return
        for (start, steps), bounds in zip(outer, owned, strict=True):
            if len(steps) == 1:
                self.cut_at(start, steps[0], bounds)

    def cut_at(self, start: int, steps: tuple[int, int], bounds: tuple[int, int]) -> None:
        """Split the box along a loop axis where ``start + step * index`` passes bounds inside it."""
        axis, step = steps
        begin, end = self.box[axis]
        cuts: list[int] = []
        for bound in bounds if step > 0 else reversed(bounds):
            # the first loop index at which the bound has been passed
            if type(step) is int and step == 1:
                cut = bound - start if type(start) is not int or start else bound
            else:
                cut = -((start - bound) // step) if step > 0 else (start - bound) // -step + 1
            if begin < cut < end:
                cuts.append(cut)
                begin = cut
        if cuts:
            raise SplitBoxError(axis, cuts)

    def _by_sets(self, node: Node, register: int, outer: AxisMap) -> int:
        """A load where the loops count local indices: from the aligned share, or from a ghost region in the same order."""
        assert self.counts is not None
        place: Place | None = node.place
        dtype = node.geometry.dtype
        aligned = len(outer) == len(self.counts) and all(
            (start, steps) == (0, ((k, 1),))
            or ((start, steps) == (0, ()) and node.geometry.shape[k] == 1)
            for k, (start, steps) in enumerate(outer)
        )
        if aligned and place is self.place and node.geometry.shape == self.place.layout.shape:  # type: ignore[union-attr]
            offset, strides = self.own(node, outer)
            return self.load(register, offset, strides, dtype)
        if any(len(steps) > 1 for _, steps in outer):
            raise AssertionError(f"{node!r} is read along two axes at once")
        shape = shape_under(outer, self.counts)
        ghost = self.needs.under(node, outer, shape, self.sets)
        lies = self.registers.geometry[ghost.register].strides
        offset = 0
        along = [0] * len(self.box)
        for (_, steps), stride, count in zip(outer, lies, shape, strict=True):
            if steps:
                axis, step = steps[0]
                along[axis] += -stride if step < 0 else stride
                if step < 0:
                    offset += (count - 1) * stride
        return self.load(ghost.register, offset, tuple(along), dtype)

    def value(self, node: Node, outer: AxisMap) -> int:
        """The number of the instruction that yields the node's element under the map ``outer``."""
        if id(node) in self._stored:
            own, stored = self._stored[id(node)]
            if outer != own:
                raise AssertionError(
                    f"{node!r} is read at other indices than this loop stores it at"
                )
            return stored
        key = id(node), outer
        known = self._values.get(key)
        if known is None:
            if node.weight > 2 * policy.limits.kernel_streams:
                self._from_below(node, outer)
            register = self.registers.in_memory.get(id(node))
            if register is None:
                known = node.op.lower(node, self, outer)
            else:
                known = self._from_register(node, register, outer)
            self._values[key] = known
        return known

    def cut_for(self, updates: list[tuple[Node, AxisMap]], stored: set[int]) -> None:
        """Raise :class:`SplitBoxError` if an update covers only part of the box, before any instruction is lowered in vain."""
        left = updates[::-1]
        seen: set[Any] = set()
        while left:
            update, outer = left.pop()
            if (id(update), outer) not in seen:
                seen.add((id(update), outer))
                source, inner = self._source_of(update, outer)
                if id(source) in self.registers.varying and id(source) not in stored:
                    left += updates_under([(source, inner)], stored, self.registers)[::-1]

    def _from_below(self, node: Node, outer: AxisMap) -> None:
        """Compute the operands of a deep expression, deepest first, since recursion would go too deep."""
        stack = [(node, outer, False)]
        while stack:
            operand, under, ready = stack.pop()
            if (id(operand), under) in self._values or id(operand) in self._stored:
                continue
            if ready:
                if operand is not node or under != outer:
                    self.value(operand, under)
            elif id(operand) not in self.registers.in_memory:
                stack.append((operand, under, True))
                stack += [
                    (arg, inner, False) for arg, inner in reversed(self._below(operand, under))
                ]

    def _below(self, node: Node, outer: AxisMap) -> list[tuple[Node, Any]]:
        """The operands of a node that has to be computed, each with its map; the map ``None`` stands for all of a value in memory."""
        if node.op.is_update:
            source, inner = self._source_of(node, outer)
            return [(source, inner)] if type(source) is Node else []
        return operands_under(node, outer) if node.op.elementwise or node.op.is_view else []

    def define(self, node: Node, outer: AxisMap, value: int) -> None:
        """Record that instruction ``value`` yields the element of a stored node.

        Its operands may have been overwritten, so the element is never computed again. Lookups compare maps, since equal maps of
        unknown numbers need not have equal hashes.
        """
        self._stored[id(node)] = outer, value

    def operands(
        self, node: Node, first: int, shape: Sequence[int], outer: AxisMap, dtypes: Iterable[Any]
    ) -> list[int]:
        """The instructions of the arguments of ``node`` from ``first`` on, broadcast, in ``dtypes``."""
        values: list[int] = []
        for place, (arg, dtype) in enumerate(zip(node.args[first:], dtypes), first):
            if type(arg) is not Node:
                values.append(self.scalar(self.registers.scalar_of[id(node), place], dtype))
                continue
            alike = arg.geometry.shape == shape
            value = self.value(arg, outer if alike else broadcast_map(arg, shape, outer))
            code = code_of(dtype)
            if self.instructions[value].dtype != code:
                value = self.emit("cast", code, (value,))
            values.append(value)
        return values

    def position(self, axis: int) -> int:
        """The loop index along a domain axis, counted from the domain's start."""
        if self.counts is not None:
            raise AssertionError(f"a loop cannot count the indices along axis {axis}")
        low, high = self.box[axis]
        self.is_movable = False
        if high - low == 1:
            return self.constant(low)
        self.indexed.add(axis)
        return self.emit("index", "i8", (axis,))

    def constant(self, number: int) -> int:
        """An integer that is bound when the program is made, so that kernels do not depend on it."""
        for k, (which, _, literal) in enumerate(self.scalars):
            if which < 0 and literal == number:
                return self.emit("scalar", "i8", (k,))
        self.scalars.append((-1, np.dtype(np.int64), number))
        return self.emit("scalar", "i8", (len(self.scalars) - 1,))

    def index(self, node: Node, outer: AxisMap) -> int:
        """An element of an arithmetic sequence along an axis."""
        start, steps = outer[node.params[0]]
        total = self.constant(start) if start or not steps else -1
        for axis, step in steps:
            term = self.position(axis)
            if step != 1:
                term = self.emit("call", "i8", (term, self.constant(step)), "multiply")
            total = term if total < 0 else self.emit("call", "i8", (total, term), "add")
        dtype = node.geometry.dtype
        wide = np.dtype(np.int64) if dtype.kind in "iub" else dtype
        first, scale = self.operands(node, 0, (1,), outer, (wide, wide))
        scaled = self.emit("call", code_of(wide), (self.cast(total, wide), scale), "multiply")
        return self.cast(self.emit("call", code_of(wide), (first, scaled), "add"), dtype)

    def read(self, node: Node, outer: AxisMap) -> int:
        """An element of a view, from memory or from the expression below."""
        view: Geometry = node.params[0]
        base = node.args[0]
        register = self.registers.in_memory.get(id(base))
        if register is not None and base.place is None and self.counts is None:
            offset, strides = self.strided(view.strides, outer)
            return self.load(register, view.offset + offset, strides, view.dtype)
        if register is not None and self._is_share(node, outer):
            offset, strides = self.share(base, view)
            return self.load(register, offset, strides, view.dtype)
        inner = through_view(view, outer)
        if inner is not None:
            return self.value(base, inner)
        if register is None or self.counts is not None:
            raise AssertionError(f"{base!r} should have been stored: {view!r} is no axis map")
        ghost = self.needs.whole(base)
        offset, strides = self.strided(view.strides, outer)
        return self.load(ghost.register, view.offset + offset, strides, view.dtype)

    def _is_share(self, node: Node, outer: AxisMap) -> bool:
        """True if loops over local indices find the elements of a view in this rank's own block."""
        if self.counts is None or self.place is None or node.place is not self.place:
            return False
        home: Place | None = node.args[0].place
        return (
            home is not None
            and outer == identity(node.geometry.shape)
            and counts_locally(home.layout, node.params[0])
        )

    def update(self, node: Node, outer: AxisMap) -> int:
        """An element of an array with an assigned box: from the assigned value, or from the old version."""
        source, inner = self._source_of(node, outer)
        if source is node.args[0]:
            return self.value(source, inner)
        if type(source) is Node:
            return self.cast(self.value(source, inner), node.geometry.dtype)
        return self.scalar(self.registers.scalar_of[id(node), 1], node.geometry.dtype)

    def _source_of(self, node: Node, outer: AxisMap) -> tuple[Any, AxisMap]:
        """The source of an element of an array with an assigned box, and the map under which it is read."""
        known = self._sources.get((id(node), id(outer)))
        if known is not None:
            return known[:2]
        region: Geometry = node.params[0]
        box = region.box
        if box is None or self.counts is not None or len(node.args) > 2:
            raise AssertionError(f"{node!r} should have been stored: {region!r} is no box")
        inside, outside = True, False
        for (first, last), (low, high, _, _) in zip(reach(outer, self.box), box, strict=True):
            if first is low and last is high:
                continue
            if last is low or first is high or last <= low or first >= high:
                outside = True
                break
            inside = inside and (first is low or first >= low) and (last is high or last <= high)
        if outside or inside:
            source, inner = node.args[0], outer
            if inside and not outside:
                source, inner = node.args[1], inside_region(region, box, outer)
                if type(source) is Node:
                    inner = broadcast_map(source, region.shape, inner)
            self._sources[id(node), id(outer)] = source, inner, outer
            self.parts.append(outside)
            return source, inner
        for (start, steps), (low, high, _, _) in zip(outer, box, strict=True):
            if len(steps) == 1:
                self.cut_at(start, steps[0], (low, high))
        raise AssertionError(f"{node!r}: no axis to cut box {self.box} along")
