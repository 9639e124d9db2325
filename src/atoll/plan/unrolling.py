"""Short loops, which kernels of their own run.

A loop of three turns costs more to begin and to end than its turns do. So where the innermost loop of a nest is short and
the others are long, the kernel knows that. Where the loop writes neighbours in memory, as ``positions - centre`` of ``n x 3``
elements does, its turns are a few vectors without masks. Else it is *unrolled*: the body is written once for each turn, and vectors
run along the next loop. ``(positions ** 2).sum(1)`` has three squares of ``n`` elements each, whose operand steps by three.

Folds along the loop become instructions. They take the elements in the order of a row (``backend/llvm/fold.py``): each has an
accumulator of its own, and these are added up in halves. So a result has the same bits whether its loop is unrolled or not.
Vectors along a short row would be mostly empty, so a loop that folds may have more turns than others.
A few columns that are folded down the rows are read in one pass, with accumulators for each.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..backend.spec import Instruction, Reduction, accumulators, arguments, rounds, whole
from ..ops.table import code_of
from ..ops.ufuncs import COSTS, Cost
from .body import Body, renumbered
from .launches import Loop
from .registers import Memory, Registers
from .shapes import dense_shape


def unrolled(
    body: Body, loops: list[Loop], memories: list[Memory]
) -> tuple[Body, list[Loop], list[Memory]]:
    """The nest after unrolling its short loops."""
    while len(loops) > 1:
        place = next(
            (p for p in reversed(range(len(loops))) if _fits(body, loops, memories, p)), -1
        )
        if place < 0:
            break
        body, memories = _Turns(body, loops, memories, place).written()
        loops = [*loops[:place], *loops[place + 1 :]]
    return body, loops, memories


def stored_first(
    body: Body, loops: list[Loop], registers: Registers
) -> tuple[Body, Body, tuple[int, Any]] | None:
    """A full fold over short rows as two bodies: one stores the folded elements, the other folds them as one row.

    The third item is the register of the new memory. ``None`` where one nest is better: where its rows are long, or its loop cannot
    be unrolled.
    """
    values = {fold.value for fold in body.reductions}
    if len(values) > 1 or any(fold.position >= 0 for fold in body.reductions):
        return None
    (value,) = values
    first = copy(body)
    first.reductions = []
    memories, inner = body.memories, len(loops) - 1
    # memory for all of longer rows costs more than it saves
    if loops[-1].extent > policy.limits.part_vector:
        return None
    if not short_row(first, loops, memories) and not _fits(first, loops, memories, inner):
        return None
    dtype = np.dtype(body.instructions[value].dtype)
    order = [axis for loop in loops for axis in loop.axes]
    geometry = dense_shape(tuple([body.box[axis][1] - body.box[axis][0] for axis in order]), dtype)
    strides = [0] * len(body.box)
    for axis, stride in zip(order, geometry.strides, strict=True):
        strides[axis] = stride
    register = registers.extra(geometry)
    first.memories = [*body.memories, Memory(register, 0, tuple(strides), dtype, "w")]
    store = Instruction("store", code_of(dtype), (len(body.memories), value))
    first.instructions = [*body.instructions, store]
    second = copy(body)
    second.memories = [Memory(register, 0, tuple(strides), dtype)]
    second.instructions = [Instruction("load", code_of(dtype), (0,))]
    second.reductions = [fold._replace(value=0) for fold in body.reductions]
    second.scalars, second.indexed = [], set()
    return first, second, (register, None)


def _fits(body: Body, loops: list[Loop], memories: list[Memory], place: int) -> bool:
    """True if a loop is to be unrolled: the innermost one, or one whose turns share their cache lines."""
    loop, limits = loops[place], policy.limits
    if loop.axis < 0 or not 1 < loop.extent <= limits.registers:
        return False
    if loop.extent > _most_turns(body, loop):
        return False
    if prod([each.extent for each in loops]) < limits.short:
        return False
    inner = loops[-1].axis
    if loop.axis != inner and not any(
        0 < abs(m.strides[loop.axis]) < abs(m.strides[inner]) for m in memories
    ):
        return False
    if not _independent(body, loops, memories, place):
        return False
    if loop.axis == inner and short_row(body, loops, memories):
        return False
    copies = sum(1 for memory in memories if memory.strides[loop.axis])
    work = len(_varying(body, loop, memories))
    return (
        int(loop.extent) * work <= limits.kernel_operations  # the kernel is made for it
        and int(loop.extent) * copies <= limits.vector
    )


def short_row(body: Body, loops: list[Loop], memories: list[Memory]) -> int:
    """The row of the kernel (:class:`~atoll.backend.spec.KernelSpec`): the extent of the innermost loop if that is very short, -1 if it
    is short, else 0. One kernel serves all extents between, which loops over growing slices have.

    The loop is short, folds nothing and writes neighbours in memory, which an unrolled loop would write one by one. Functions that take
    long fill the vectors of an unrolled loop better.
    """
    loop, limits = loops[-1], policy.limits
    if len(loops) < 2 or not 1 < loop.extent <= limits.registers:
        return 0
    if prod([each.extent for each in loops]) < limits.short:
        return 0
    if any(loop.axis in fold.axes for fold in body.reductions):
        return 0
    if loop.extent <= limits.part_vector and any(
        i.op == "call" and COSTS.get(i.name, Cost()).is_heavy for i in body.instructions
    ):
        return 0
    outer = loops[-2].axis
    for memory in memories:
        along = memory.strides[loop.axis]
        if memory.access != "r" and along != memory.dtype.itemsize:
            return 0
        if 0 < abs(memory.strides[outer]) < abs(along):
            return 0
    return int(loop.extent) if loop.extent <= limits.registers // 2 else -1


def _most_turns(body: Body, loop: Loop) -> int:
    """The largest number of turns to unroll. Each element of a rounded fold needs an accumulator of its own."""
    folds = [fold for fold in body.reductions if loop.axis in fold.axes]
    if not folds:
        return policy.limits.part_vector
    return min([policy.limits.registers, *[accumulators(f.dtype) for f in folds if rounds(f)]])


def _independent(body: Body, loops: list[Loop], memories: list[Memory], place: int) -> bool:
    """True if the turns of a loop may be done in any order, and the folds be written as instructions."""
    loop, ndim = loops[place], len(body.box)
    reached = [memory.register for memory in memories]
    for memory in memories:
        if memory.access != "r" and reached.count(memory.register) > 1:
            return False
    for store in body.instructions:
        if store.op == "store" and not memories[whole(store.args[0])].strides[loop.axis]:
            return False
    if len(loop.axes) > 1 and body.indexed.intersection(loop.axes):
        return False
    for fold in body.reductions:
        along, full = loop.axis in fold.axes, len(fold.axes) == ndim
        outside = place > 0 and loops[place - 1].axis in fold.axes
        last = place == len(loops) - 1
        inside = not last and loops[place + 1].axis in fold.axes
        if fold.position >= 0 and (not along or outside or inside):
            return False
        if rounds(fold) and (full or (outside and (last or inside)) or (along and not last)):
            return False
        if along and (fold.dtype == "f2" or (fold.dtype[0] == "c" and fold.op != "add")):
            return False
    return type(body.box[loop.axis][0]) is int or loop.axis not in body.indexed


def _varying(body: Body, loop: Loop, memories: list[Memory]) -> set[int]:
    """The instructions whose values differ between the turns of a loop."""
    varying: set[int] = set()
    for number, instruction in enumerate(body.instructions):
        if instruction.op in ("load", "store"):
            differs = memories[whole(instruction.args[0])].strides[loop.axis] != 0
        else:
            differs = instruction.op == "index" and whole(instruction.args[0]) == loop.axis
        if differs or any(argument in varying for argument in arguments(instruction)):
            varying.add(number)
    return varying


class _Turns:
    """The turns of a loop, written one after the other."""

    def __init__(self, body: Body, loops: list[Loop], memories: list[Memory], place: int) -> None:
        self.old, self.memories, self.loop = body, memories, loops[place]
        self.others = [loop for loop in loops if loop is not self.loop and loop.axis >= 0]
        self.varying, self.turns = _varying(body, self.loop, memories), int(self.loop.extent)
        self.body = copy(body)
        self.body.instructions = []
        self.body.reductions = []
        self.body.memories = []
        self.places: list[list[int]] = []
        """For each memory, its number at each turn."""

    def written(self) -> tuple[Body, list[Memory]]:
        """The new body, and its memories."""
        memories = self._copies()
        values = [dict[int, int]() for _ in range(self.turns)]
        old = self.old.instructions
        for number, instruction in enumerate(old):
            if number not in self.varying:
                new = self._emit(self._moved(instruction, values[0], 0))
                for known in values:
                    known[number] = new
        for turn, known in enumerate(values):
            for number in sorted(self.varying):
                known[number] = self._emit(self._moved(old[number], known, turn))
        for fold in self.old.reductions:
            if self.loop.axis in fold.axes:
                self._fold(fold, values)
            else:
                self._apart(fold, values)
        self.body.memories = memories[: sum(map(len, self.places[: len(self.old.memories)]))]
        return self.body, memories

    def _copies(self) -> list[Memory]:
        copies: list[Memory] = []
        for memory in self.memories:
            stride = memory.strides[self.loop.axis]
            first = len(copies)
            if not stride:
                copies.append(memory)
            else:
                copies += [
                    memory._replace(
                        offset=memory.offset + turn * stride,
                        strides=tuple(
                            [0 if k in self.loop.axes else s for k, s in enumerate(memory.strides)]
                        ),
                        part=(*memory.part, turn),
                    )
                    for turn in range(self.turns)
                ]
            self.places.append(list(range(first, len(copies))))
        return copies

    def _place(self, number: int, turn: int) -> int:
        places = self.places[number]
        return places[turn] if len(places) > 1 else places[0]

    def _emit(self, instruction: Instruction) -> int:
        self.body.instructions.append(instruction)
        return len(self.body.instructions) - 1

    def _moved(self, instruction: Instruction, known: dict[int, int], turn: int) -> Instruction:
        op, args = instruction.op, instruction.args
        if op == "index" and whole(args[0]) == self.loop.axis:
            return Instruction("const", "i8", (self.old.box[self.loop.axis][0] + turn,))
        moved = renumbered(instruction, known, lambda number: self._place(number, turn))
        if op == "load" and len(args) > 1:
            return moved._replace(args=(moved.args[0], len(self.body.instructions)))
        return moved

    def _call(self, name: str, dtype: str, *args: int) -> int:
        return self._emit(Instruction("call", dtype, args, name))

    # folds

    def _apart(self, fold: Reduction, values: list[dict[int, int]]) -> None:
        """Write a fold along other loops, once for each turn."""
        for turn, known in enumerate(values):
            full = len(fold.axes) == len(self.old.box)
            operand = fold.operand if full else self._place(fold.operand, turn)
            self.body.reductions.append(fold._replace(value=known[fold.value], operand=operand))

    def _fold(self, fold: Reduction, values: list[dict[int, int]]) -> None:
        """Write a fold along the loop, and along other loops if it has more axes."""
        parts = [known[fold.value] for known in values]
        full = len(fold.axes) == len(self.old.box)
        if fold.position >= 0:
            self._seek(fold, parts, [known[fold.position] for known in values])
            return
        name = "logical_or" if fold.dtype == "b1" and fold.op == "add" else fold.op

        def combined(a: int, b: int) -> int:
            return self._call(name, fold.dtype, a, b)

        value = in_halves(parts, combined)
        others = {k for loop in self.others for k in loop.axes}
        if full or others & set(fold.axes):
            operand = fold.operand if full else self._place(fold.operand, 0)
            self.body.reductions.append(fold._replace(value=value, operand=operand))
            return
        number = self._place(fold.operand, 0)
        before = self._emit(Instruction("load", fold.dtype, (number,)))
        self._emit(Instruction("store", fold.dtype, (number, combined(before, value))))

    def _seek(self, fold: Reduction, parts: list[int], positions: list[int]) -> None:
        """Write a search for the position of the best element: the first one, or the first NaN. Other nests may have seen
        elements before or after."""
        best = parts[0], positions[0]
        for later in zip(parts[1:], positions[1:]):
            best = self._better(fold, best, later, self._beats(fold, later[0], best[0]))
        numbers = [self._place(fold.operand + offset, 0) for offset in (0, 1)]
        codes = fold.dtype, "i8"
        known = [self._emit(Instruction("load", c, (n,))) for c, n in zip(codes, numbers)]
        worse = self._beats(fold, known[0], best[0])
        same = self._call("logical_or", "b1", worse, self._beats(fold, best[0], known[0]))
        first = self._call("less", "b1", known[1], best[1])
        tie = self._call("logical_and", "b1", self._call("logical_not", "b1", same), first)
        ends = self._better(
            fold, best, (known[0], known[1]), self._call("logical_or", "b1", worse, tie)
        )
        for code, number, value in zip(codes, numbers, ends):
            self._emit(Instruction("store", code, (number, value)))

    def _beats(self, fold: Reduction, new: int, old: int) -> int:
        """True if an element is better than another: a NaN is better than any number."""
        better = self._call("less" if fold.op == "argmin" else "greater", "b1", new, old)
        if fold.dtype[0] != "f":
            return better
        number = self._call("equal", "b1", old, old)
        nan = self._call("logical_and", "b1", number, self._call("not_equal", "b1", new, new))
        return self._call("logical_or", "b1", better, nan)

    def _better(
        self, fold: Reduction, old: tuple[int, int], new: tuple[int, int], better: int
    ) -> tuple[int, int]:
        value = self._emit(Instruction("where", fold.dtype, (better, new[0], old[0])))
        return value, self._emit(Instruction("where", "i8", (better, new[1], old[1])))


def in_halves(values: list[int], combined: Callable[[int, int], int]) -> int:
    """Combine values in halves, in the order of a row's accumulators when each holds one value."""
    size = 1
    while size < len(values):
        size *= 2
    values = list(values)
    while size > 1:
        size //= 2
        later = values[size:]
        values = [
            combined(value, later[place]) if place < len(later) else value
            for place, value in enumerate(values[:size])
        ]
    return values[0]
