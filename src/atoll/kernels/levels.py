"""What a body needs: which values, how often each, and how wide the code should be."""

from __future__ import annotations

from .overlap import written_operands
from .spec import Instruction, KernelSpec
from .types import COMPONENT, itemsize

NEST, ROW, ELEMENT = 0, 1, 2
"""How often a value is computed: once, once for every row, or in every element."""

_WIDEST = 64
_SCATTERED = 8
_LONGEST_TAIL = 8
_SMALL = 6


def whole(number: int | float | complex) -> int:
    """An argument of an instruction that is a number of something."""
    return int(number.real)


def arguments(instruction: Instruction) -> list[int]:
    """The values that an instruction uses."""
    if instruction.op in ("load", "scalar", "const", "index"):
        return []
    first = 1 if instruction.op == "store" else 0
    return [whole(argument) for argument in instruction.args[first:]]


class Analysis:
    """``members`` lists the instructions of each level; ``width`` is the number of elements that
    vector code takes at a time, ``tail`` that of the masked code at the end of a row; ``scans`` tells
    whether the kernel only looks for positions, ``folds_only`` whether its body is small and stores
    nothing."""

    def __init__(self, spec: KernelSpec, vector_bytes: int) -> None:
        self.spec = spec
        needed = self._needed()
        levels = self._levels()
        self.members = [
            [n for n, used in enumerate(needed) if used and levels[n] == level]
            for level in range(3)
        ]
        widest = self._widest()
        one = max(1, vector_bytes // widest)
        self.width = min(_WIDEST, one * self._registers())
        if not spec.reductions:
            self.width = min(self.width, self._useful())
        self.scans = bool(spec.reductions) and all(
            reduction.position >= 0 and spec.ndim - 1 in reduction.axes
            for reduction in spec.reductions
        )
        self.scans &= not any(instruction.op == "store" for instruction in spec.body)
        self.folds_only = len(self.members[ELEMENT]) <= _SMALL and not any(
            instruction.op == "store" for instruction in spec.body
        )
        self.tail = min(self.width, one, _LONGEST_TAIL)

    def _needed(self) -> list[bool]:
        needed = [instruction.op == "store" for instruction in self.spec.body]
        for reduction in self.spec.reductions:
            for number in (reduction.value, reduction.position, reduction.mask):
                if number >= 0:
                    needed[number] = True
        for number in reversed(range(len(needed))):
            if needed[number]:
                for argument in arguments(self.spec.body[number]):
                    needed[argument] = True
        return needed

    def _levels(self) -> list[int]:
        spec = self.spec
        written = {spec.operands[k].alias for k in written_operands(spec)}
        levels: list[int] = []
        for instruction in spec.body:
            level = max([NEST, *(levels[a] for a in arguments(instruction))])
            if instruction.op == "load":
                operand = spec.operands[whole(instruction.args[0])]
                constant = operand.inner == "zero" and operand.alias not in written
                level = ROW if constant else ELEMENT
            elif instruction.op == "index":
                level = ELEMENT if instruction.args[0] == spec.ndim - 1 else ROW
            elif instruction.op == "store":
                level = ELEMENT
            levels.append(level)
        return levels

    def _useful(self) -> int:
        """How wide vectors may be that are of use: where elements are read or written one by one,
        wide ones are only more code, and a row that writes to one place has one element."""
        inner = {
            (instruction.op, self.spec.operands[whole(instruction.args[0])].inner)
            for instruction in map(self.spec.body.__getitem__, self.members[ELEMENT])
            if instruction.op in ("load", "store")
        }
        if ("store", "zero") in inner:
            return 1
        return _SCATTERED if {("load", "any"), ("store", "any")} & inner else _WIDEST

    def _widest(self) -> int:
        """Bytes of the largest number that is computed with in every element."""
        sizes = [1]
        for number in self.members[ELEMENT]:
            dtype = self.spec.body[number].dtype
            if dtype:
                dtype = COMPONENT.get(dtype, dtype)
                sizes.append(4 if dtype == "f2" else itemsize(dtype))
        for reduction in self.spec.reductions:
            dtype = COMPONENT.get(reduction.dtype, reduction.dtype)
            sizes.append(8 if reduction.position >= 0 else 4 if dtype == "f2" else itemsize(dtype))
        return max(sizes)

    def _registers(self) -> int:
        """How many vector registers a value should fill: several if the body is small."""
        work = len(self.members[ELEMENT]) + len(self.spec.reductions)
        return 4 if work <= 12 else 2 if work <= 24 else 1
