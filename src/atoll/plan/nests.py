"""From the body of a box to its launches: passes over a loop nest.

Loops are ordered for unit strides, and axes that form one axis in memory are merged. Short loops are unrolled, reductions of long axes
are split into slabs, and the outermost loop is cut so that threads share it. :data:`PASSES` lists all of it in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from operator import attrgetter
from typing import Any

from .. import policy
from ..backend.spec import KernelSpec, Operand, Reduction, rounds, whole
from ..graph.node import Node
from ..layout.symbolic import Number, function, greatest, least
from ..ops.table import code_of
from .body import Body
from .launches import Launch, Loop, alias_groups
from .orders import Order, axis_to_cut
from .passes import Pass, applied, check_launch, check_nest
from .registers import Memory, Registers, new
from .split_reductions import Cut, cut_into_slabs
from .unrolling import short_row, stored_first, unrolled


@dataclass(slots=True, eq=False)
class Nest:
    """A body, and the loops that run it."""

    body: Body
    registers: Registers
    folded: dict[int, Node]
    """The reductions of the group, by the registers of their results."""
    order: Order | None
    """The order of the axes, where rounding makes it visible in a result."""
    memories: list[Memory] = field(default_factory=list)
    extents: list[Number] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    """The axes of more than one element, the slowest first."""
    loops: list[Loop] = field(default_factory=list)
    several: bool = False
    """True if there are several loops, and none was left out."""
    partial: list[Reduction] = field(default_factory=list)
    """The reductions along some of the axes."""
    cut: int | None = None
    """The axis that is cut into slabs, or -1 for none, where rounding makes the order of a sum visible; else ``None``."""
    run: int = 1
    """Number of consecutive copies of each element that are written."""
    slabs: Cut | None = None
    begins: tuple[tuple[int, Any], ...] = ()
    """Registers of its folds, with their initial values."""
    ends: list[Launch] = field(default_factory=list)
    """The launches that must follow it."""

    @property
    def flat(self) -> bool:
        """True if the kernel treats all elements as one row: see :func:`~atoll.backend.spec.is_flat`."""
        folds = self.body.reductions
        return len(self.loops) > 1 and not self.partial and any(map(rounds, folds))


def launches_of_nest(
    body: Body,
    folded: dict[int, Node],
    registers: Registers,
    scratch: dict[int, int],
    order: Order | None,
) -> list[Launch]:
    """The launches of a body. ``scratch`` counts the partials of full reductions, by register."""
    nest = Nest(body, registers, folded, order)
    launches: list[Launch] = []
    for each in applied(PASSES, nest, check_nest if registers.debug else None):
        launches += [_assemble(each, scratch), *each.ends]
    if registers.debug:
        for launch in launches:
            check_launch(launch, "all passes")
    return launches


def _measured(nest: Nest) -> None:
    """Compute the extents, and find the axes of more than one element."""
    nest.memories = list(nest.body.memories)
    for k, (low, high) in enumerate(nest.body.box):
        extent = high - low if type(low) is not int or low else high
        nest.extents.append(extent)
        if extent != 1:
            nest.axes.append(k)


def _with_results(nest: Nest) -> None:
    """Add operands for reductions along some of the axes, which read and write their results."""
    body, memories, registers = nest.body, nest.memories, nest.registers
    ndim = len(body.box)
    for k, reduction in enumerate(body.reductions):
        if len(reduction.axes) == ndim:
            continue
        node = nest.folded[reduction.operand]
        first = len(memories)
        targets = [reduction.operand]
        if reduction.position >= 0:  # the elements, and after them their positions
            targets.insert(0, registers.extremes[id(node)])
        for register in targets:
            strides, corner = _fold_strides(node, registers, ndim, register)
            if body.counts is not None:  # loops count local indices, from zero
                corner = [0] * ndim
            corners = zip(body.box, strides, corner, strict=True)
            offset = sum([(low - c) * s for (low, _), s, c in corners])
            dtype = registers.geometry[register].dtype
            memories.append(Memory(register, offset, strides, dtype, "rw"))
        body.reductions[k] = reduction._replace(operand=first)
        nest.partial.append(body.reductions[k])


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


def _ordered(nest: Nest) -> None:
    """Order the axes by the strides of results, or of loads beside partial reductions; the axis of the smallest strides runs
    innermost."""
    if nest.order is not None:
        nest.axes = list(filter(nest.axes.__contains__, nest.order))
    if nest.order is not None or len(nest.axes) < 2:
        return
    memories = nest.memories
    slowest: dict[int, tuple[Number, Number, int]] = {}
    for k in nest.axes:
        written: Number = 0
        every: Number = 0
        for m in memories:
            step = abs(m.strides[k])
            every = every - step
            if m.access != "r":
                written = written - step
        slowest[k] = written, every, k
    nest.axes.sort(key=slowest.__getitem__)
    if nest.partial:
        nest.axes.sort(
            key=lambda k: (-sum([abs(m.strides[k]) for m in memories if m.access == "r"]), k)
        )


def _merged(nest: Nest) -> None:
    """Merge axes that form one axis in all memory, and that the same reductions fold, into one loop."""
    extents, memories, partial = nest.extents, nest.memories, nest.partial
    folded: list[Any] = [()] * len(extents)
    if partial:
        folded = [tuple([k in fold.axes for fold in partial]) for k in range(len(extents))]
    if nest.order is not None and (sums := list(filter(rounds, partial))):
        nest.cut = axis_to_cut(nest.order, extents, sums[0].axes)
    merged: list[list[int]] = []
    for k in nest.axes:
        if merged:
            outer = merged[-1][-1]
            extent = extents[k]
            if (
                folded[outer] == folded[k]
                and not {outer, k} & nest.body.indexed
                and nest.cut not in (outer, k)
                and all(m.strides[outer] == extent * m.strides[k] for m in memories)
            ):
                merged[-1].append(k)
                continue
        merged.append([k])
    for axes in merged:
        extent = extents[axes[0]]
        for k in axes[1:]:
            extent = extent * extents[k]
        nest.loops.append(new(Loop, (extent, axes[-1], tuple(axes), 1, 0)))
    nest.several = len(nest.loops) > 1


def _repeated(nest: Nest) -> None:
    """Drop a short inner loop that only repeats stores; the kernel then writes each element of a vector several times."""
    body, (*_, outer, inner) = nest.body, nest.loops
    if body.reductions or inner.extent > policy.limits.registers:
        return
    if body.indexed.intersection(inner.axes):
        return
    if any(i.op == "store" and len(i.args) == 3 for i in body.instructions):
        return
    written = {memory.register for memory in nest.memories if memory.access != "r"}
    for memory in nest.memories:
        size, along = memory.dtype.itemsize, memory.strides[inner.axis]
        if memory.access == "r":
            if along or memory.register in written:
                return
            continue
        rows = outer.extent == 1 or memory.strides[outer.axis] == inner.extent * size
        if memory.access != "w" or along != size or not rows:
            return
    nest.run, nest.several = int(inner.extent), False  # the kernel is made for it
    nest.loops.pop()


def _stored_first(nest: Nest) -> list[Nest] | None:
    """Split a full fold over short rows: one nest stores the rows, another folds the stored elements as one row."""
    parts = stored_first(nest.body, nest.loops, nest.registers) if nest.flat else None
    if parts is None:
        return None
    storing, folding, stored = parts
    nests: list[Nest] = []
    for body in (storing, folding):
        other = Nest(body, nest.registers, nest.folded, nest.order)
        check = check_nest if nest.registers.debug else None
        nests += applied(PASSES[:_STORED], other, check)
    nests[0].begins = (stored,)
    return nests


def _unrolled(nest: Nest) -> None:
    nest.body, nest.loops, nest.memories = unrolled(nest.body, nest.loops, nest.memories)
    if nest.partial:
        ndim = len(nest.body.box)
        nest.partial = [fold for fold in nest.body.reductions if len(fold.axes) < ndim]


def _completed(nest: Nest) -> None:
    """Add a loop to a nest without any, and an unfolded loop to a nest of folded ones, whose reduction would else be one of the
    whole nest."""
    partial = nest.partial
    if partial and all(_is_folded(loop, partial) for loop in nest.loops):
        kept = [k for k in range(len(nest.body.box)) if not any(k in r.axes for r in partial)]
        if kept:
            nest.loops.insert(0, Loop(1, kept[0], (kept[0],)))
    if not nest.loops:
        nest.loops = [Loop(1, -1, ())]


def _is_folded(loop: Loop, partial: list[Reduction]) -> bool:
    return loop.axis >= 0 and any(loop.axis in fold.axes for fold in partial)


def _in_slabs(nest: Nest) -> list[Nest] | None:
    """Split the reduction of a long axis into slabs; see :mod:`.split_reductions`."""
    slabs = None
    if nest.partial:
        slabs = cut_into_slabs(nest.body, nest.loops, nest.memories, nest.registers, nest.cut)
    if slabs is None:
        return None
    nests = [
        replace(nest, loops=cut.loops, memories=slabs.memories, slabs=cut, ends=[])
        for cut in slabs.nests
    ]
    nests[0].begins = tuple(slabs.begins)
    nests[-1].ends = slabs.ends
    return nests


def _for_threads(nest: Nest) -> list[Nest] | None:
    """Make the outermost loop divisible into disjoint chunks."""
    single = len(nest.loops) < 2 and not nest.partial
    if single or nest.slabs is not None or (nest.body.reductions and nest.flat):
        return None
    along = [_is_folded(loop, nest.partial) for loop in nest.loops]
    nests = _in_strips(nest.loops, along, nest.body.indexed)
    following = [replace(nest, loops=loops, begins=()) for loops in nests[1:]]
    return [replace(nest, loops=nests[0]), *following]


_several, _folds = attrgetter("several"), attrgetter("body.reductions")
PASSES: tuple[Pass[Nest], ...] = (
    Pass("extents", None, _measured),
    Pass("results of reductions", _folds, _with_results),
    Pass("order of axes", None, _ordered),
    Pass("merged axes", None, _merged),
    Pass("repeated stores", _several, _repeated),
    Pass("stored rows", _folds, _stored_first),
    Pass("short loops", _several, _unrolled),
    Pass("complete loops", None, _completed),
    Pass("slabs", _folds, _in_slabs),
    Pass("strips", None, _for_threads),
)
"""The passes over a nest, in order."""
_STORED = 1 + [each.name for each in PASSES].index("stored rows")


def _in_strips(loops: list[Loop], folded: list[bool], indexed: set[int]) -> list[list[Loop]]:
    """Nests whose outermost axis can be cut into disjoint chunks.

    Chunks of a folded axis would add to the same elements; a short axis makes too few of them.
    Then strips of a longer, unfolded axis become the outermost loop, and the remainder a nest of its own.
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
    """The width of a strip of an axis: all of a short axis, half of a longer one, else at most 2048 elements with little remainder.
    The remainder is a nest of its own, which threads do not share."""
    if extent < 32:
        return extent
    if extent < 4096:
        return extent // 2
    for width in range(2048, 1023, -8):
        if extent % width == 0:
            return width
    return extent // -(-extent // 2048)


def _assemble(nest: Nest, scratch: dict[int, int]) -> Launch:
    """The launch of a nest."""
    body, loops, memories, run, cut = nest.body, nest.loops, nest.memories, nest.run, nest.slabs
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
    if nest.flat:
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
        op, dtype, value, _, _, position = reduction
        reductions.append(new(Reduction, (op, dtype, value, axes, operand, position)))
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
    instructions = body.instructions
    if body.indexed:
        instructions = [
            i._replace(args=(place_of[whole(i.args[0])],)) if i.op == "index" else i
            for i in instructions
        ]
    scalars, operations = body.scalars, body.operations
    codes = tuple([code_of(dtype) for _, dtype, _ in scalars]) if scalars else ()
    row = short_row(body, loops, memories) if run == 1 else 0
    lists = tuple(operands), codes, tuple(instructions), tuple(reductions)
    spec = new(KernelSpec, (depth, *lists, row))
    return Launch(
        spec, tuple(extents), chunk, chunks, final, scalars, tuple(origins), partials, operations, tuple(along),
        begins=nest.begins,
    )  # fmt: skip
