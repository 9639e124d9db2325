"""Splits the reduction of a long axis into slabs, so that several threads share it.

A sum over the rows of a matrix adds all rows to one row of results, so it cannot be shared out by rows; and sharing it out by
columns gives each thread short pieces of rows, which memory delivers more slowly than whole rows. So the axis is cut into
*slabs*, as long as there are enough rows: a launch folds each slab into results of its own, and a short one folds those, in
the order of the slabs. The number of slabs follows from the extents alone, so the bits of a result are the same at any number
of threads.

The first loop then runs over slabs, and the cut loop over the rows of a slab. The same is done
where a long axis is folded inside few others: three sums of a million elements each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..backend.spec import (
    QUARTER,
    STEPS,
    STREAMS,
    Instruction,
    KernelSpec,
    Operand,
    Reduction,
    arguments,
)
from ..layout.symbolic import Number, function
from ..ops.folds import fold_named
from ..ops.table import code_of
from .body import Body
from .launches import Launch, Loop
from .registers import Memory, Registers
from .shapes import dense_shape


def slab_count(rows: int, results: int, work: int) -> int:
    """The number of slabs: each is long, and they are few enough that folding their results is quick.

    If possible, they are equally long: the remainder is not split.
    """
    least = 2 * STREAMS * QUARTER
    most = min(STREAMS * STEPS, rows // STEPS, least // max(results, 1), work // least)
    for count in range(most, most // 2, -1):
        if rows % count == 0:
            return count
    return most


@dataclass(frozen=True, slots=True)
class Cut:
    """A nest whose first loop runs over slabs of the one at ``place``."""

    loops: list[Loop]
    place: int
    origin: Number
    """The first index along the loop that is cut, from which positions are counted."""
    strides: dict[int, Number]
    """Distance between the results of consecutive slabs, by the number of their memory."""


@dataclass(frozen=True, slots=True)
class Slabs:
    """A nest cut into slabs: its memories with results for each slab in place of the results, and the launches that fold these."""

    nests: list[Cut]
    memories: list[Memory]
    begins: list[tuple[int, Any]]
    ends: list[Launch]


def cut_into_slabs(
    body: Body,
    loops: list[Loop],
    memories: list[Memory],
    registers: Registers,
    axis: int | None = None,
) -> Slabs | None:
    """The slabs of a nest, or ``None`` where they are not needed or do not help.

    They are cut along ``axis`` if it is given; -1 means that no axis is cut.
    """
    partial = [r for r in body.reductions if len(r.axes) < len(body.box)]
    if axis is None:
        place = _place(loops, partial)
    else:
        place = next((p for p, loop in enumerate(loops) if loop.axis == axis >= 0), -1)
    if place < 0:
        return None
    loop = loops[place]
    cut = [r for r in partial if loop.axis in r.axes]
    if not _only_positions(body, loop.axis, cut):
        return None
    results = [_kept(loops, r) for r in cut]
    extents = [high - low for low, high in body.box]  # of all loops, unrolled ones included
    many = max([prod([n for k, n in enumerate(extents) if k not in r.axes]) for r in cut])
    count = function(slab_count, loop.extent, many, prod(extents))
    if count < STREAMS:
        return None
    height = loop.extent // count
    left = loop.extent - count * height
    slabs = Slabs([], list(memories), [], [])
    strides: dict[int, Number] = {}
    for reduction, kept in zip(cut, results, strict=True):
        _apart(body, reduction, kept, count, height, loop, slabs, strides, registers)
    first = Loop(count, loop.axis, loop.axes, height)
    rows = Loop(height, loop.axis, loop.axes)
    slabs.nests.append(Cut(_with(loops, place, first, rows), place + 1, 0, strides))
    if left:  # joins the first slab
        start = count * height
        rest = Loop(left, loop.axis, loop.axes, 1, start)
        nest = _with(loops, place, Loop(1, -1, ()), rest)
        slabs.nests.append(Cut(nest, place + 1, start, strides))
    return slabs


def _with(loops: list[Loop], place: int, first: Loop, instead: Loop) -> list[Loop]:
    return [first, *loops[:place], instead, *loops[place + 1 :]]


def _place(loops: list[Loop], partial: list[Reduction]) -> int:
    """The loop to cut: the first one that is folded, unless those outside make enough chunks."""
    outside = 1
    for place, loop in enumerate(loops):
        if any(loop.axis in r.axes for r in partial):
            return place
        outside *= loop.extent
        if outside >= policy.limits.pieces:
            return -1
    return -1


def _only_positions(body: Body, axis: int, cut: list[Reduction]) -> bool:
    """True if indices along the axis serve only as positions in folds along it."""
    numbers = {
        number
        for number, instruction in enumerate(body.instructions)
        if instruction.op == "index" and instruction.args[0] == axis
    }
    used = {n for instruction in body.instructions for n in arguments(instruction)}
    positions = {r.position for r in body.reductions if r not in cut}
    sought = all(r.position in numbers for r in cut if r.position >= 0)
    return sought and not numbers & used and not numbers & positions


def _kept(loops: list[Loop], reduction: Reduction) -> list[Loop]:
    """The loops that a reduction does not fold: at least one, if only of a single turn."""
    kept = [loop for loop in loops if loop.axis >= 0 and loop.axis not in reduction.axes]
    return kept or [Loop(1, -1, ())]


def _apart(
    body: Body,
    reduction: Reduction,
    kept: list[Loop],
    count: Number,
    height: Number,
    loop: Loop,
    slabs: Slabs,
    strides: dict[int, Number],
    registers: Registers,
) -> None:
    """Let a reduction fold each slab into results of its own, and add the launch that folds these."""
    shape = (count, *[axis.extent for axis in kept])
    starts = [fold_named(reduction.op).identity(slabs.memories[reduction.operand].dtype)]
    if reduction.position >= 0:
        starts.append(np.iinfo(np.int64).max)
    inputs, outputs = [], []
    for number, start in enumerate(starts, reduction.operand):
        original = slabs.memories[number]
        geometry = dense_shape(shape, original.dtype)
        register = registers.extra(geometry)
        along, wanted = [0] * len(body.box), [0]
        for axis, stride in zip(kept, geometry.strides[1:], strict=True):
            if axis.axis >= 0:
                along[axis.axis] = stride
            wanted.append(original.strides[axis.axis] if axis.axis >= 0 else 0)
        slabs.begins.append((register, start))
        slabs.memories[number] = Memory(register, 0, tuple(along), original.dtype, "rw")
        strides[number] = geometry.strides[0]
        inputs.append(Memory(register, 0, geometry.strides, original.dtype))
        outputs.append(
            Memory(original.register, original.offset, tuple(wanted), original.dtype, "rw")
        )
    slabs.ends.append(_joining(body, reduction, kept, height, loop, shape, inputs, outputs))


def _joining(
    body: Body,
    reduction: Reduction,
    kept: list[Loop],
    height: Number,
    loop: Loop,
    shape: tuple[Number, ...],
    inputs: list[Memory],
    outputs: list[Memory],
) -> Launch:
    """The launch that folds the results of the slabs in order."""
    code = code_of(inputs[0].dtype)
    instructions = [Instruction("load", code, (0,))]
    position = -1
    scalars: list[tuple[int, np.dtype[Any], int]] = []
    if len(inputs) == 2:  # positions are counted from the beginning of the slab
        scalars = [(-1, np.dtype(np.int64), height)]
        instructions += [
            Instruction("load", "i8", (1,)),
            Instruction("index", "i8", (0,)),
            Instruction("scalar", "i8", (0,)),
            Instruction("call", "i8", (2, 3), "multiply"),
            Instruction("call", "i8", (1, 4), "add"),
        ]
        position = 5
        low = body.box[loop.axis][0]
        if type(low) is not int or low:
            scalars.append((-1, np.dtype(np.int64), low))
            instructions += [
                Instruction("scalar", "i8", (1,)),
                Instruction("call", "i8", (5, 6), "add"),
            ]
            position = 7
    memories = [*inputs, *outputs]
    operands = [
        Operand(code_of(memory.dtype), memory.access, memory.inner, group)
        for group, memory in enumerate(memories)
    ]
    spec = KernelSpec(
        len(shape),
        tuple(operands),
        ("i8",) * len(scalars),
        tuple(instructions),
        (Reduction(reduction.op, code, 0, (0,), len(inputs), position),),
    )
    origins, along = (0,) * len(shape), (loop.axes, *[axis.axes for axis in kept])
    return Launch(spec, shape, shape[0], 1, memories, scalars, origins, [], body.operations, along)
