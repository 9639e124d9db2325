"""Reductions: accumulators in lanes, flushed pairwise.

A :class:`Fold` keeps ``lanes`` accumulators in memory of the kernel's own. Element ``j`` of
a row goes to accumulator ``j % lanes``, whatever the width of the code that computes it (at most ``lanes``), so
the order of additions depends on the shape of the data only: not on the
processor, the fused operations, or the instructions that handle the end of a row.

Rounded sums would lose accuracy if the accumulators ran on: after every 16 additions to
each, the accumulators as a vector are pushed on a stack, where they are added up pairwise,
as a binary counter carries (:data:`STEPS` x ``lanes`` is 256 or 512 elements). At the end the
stack, the accumulators and then their lanes are added up in a fixed tree. The number of
roundings on the way of an element is the same as in NumPy's pairwise sum.

Sums of truth values are *counts*: one accumulator, to which each vector adds the number of its
true lanes, by one instruction on the bits of the mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from ...ops.folds import fold_named
from ..spec import STEPS, Reduction, accumulators, rounds
from .arithmetic import cast, combine_position
from .builder import Code, Value
from .function import Function
from .types import COMPONENT, KIND, MEMORY_TYPE, VALUE_TYPE
from .ufuncs import emission

_DEPTH = 40
_SPARE = 8


def quicker(code: Code, op: str, new: Value, old: Value) -> Value:
    """The extreme of two values; ``old`` where one is NaN. A single instruction on many processors.

    It raises a flag where one is NaN, so it is for kernels that ask for none of that kind.
    """
    relation = "olt" if op == "minimum" else "ogt"
    kind = code.type(new.dtype)
    better = code.function.op(f"fcmp {relation} {kind} {new.name}, {old.name}")
    text = f"select {code.lanes('i1')} {better}, {kind} {new.name}, {kind} {old.name}"
    return Value(new.dtype, code.function.op(text))


def join_nans(code: Code, nans: Value, new: Value) -> Value:
    """``nans``, or where there are NaNs among ``new``: one comparison sees two values."""
    half = Code(code.function, code.width // 2)
    return half.op("or", nans, half.fcmp("uno", *code.halves(new)))


def with_nans(code: Code, best: Value, nans: Value, width: int) -> Value:
    """``best``, or NaN in all lanes if :func:`join_nans` has seen one in code of ``width`` lanes."""
    some = Code(code.function, width // 2).any(nans)
    nan = code.const(best.dtype, float("nan"))
    text = (
        f"select i1 {some}, {code.type(best.dtype)} {nan.name}, {code.type(best.dtype)} {best.name}"
    )
    return Value(best.dtype, code.function.op(text))


class Fold:
    """The state of one reduction in registers and memory of the kernel's own."""

    def __init__(
        self, reduction: Reduction, width: int, counts: bool = False, silent: bool = False
    ) -> None:
        dtype = "i8" if counts else reduction.dtype
        self.reduction = reduction
        self.counts = counts
        self.op = reduction.op
        self.rounds = not counts and rounds(reduction)
        self.blocked = self.rounds and self.op == "add"
        self.dtype = {"f2": "f4", "b1": "u1"}.get(dtype, dtype)
        part = COMPONENT.get(self.dtype, self.dtype)
        self.lanes = accumulators(part) if self.rounds else 1 if counts else width
        self.parts = (part, part) if part != self.dtype else (part,)
        if self.op in ("argmin", "argmax"):
            self.parts = (self.dtype, "i8")
        self.silent = silent
        extreme = self.op in ("minimum", "maximum") and KIND[self.dtype] == "f"
        self.quick = extreme and silent and self.lanes > 2
        """True if extremes are found sooner with NaNs apart; see :func:`quicker`."""
        self.accumulators: list[str] = []
        self.steps = ""
        self._stacks: list[str] = []
        self._pushed = ""
        self._strands: Fold | None = None

    def allocate(self, function: Function, strands: int = 0) -> None:
        """Reserve memory for the accumulators and for ``strands`` strands."""
        self._reserve(function, 1)
        if strands:
            self._strands = copy(self)
            self._strands._reserve(function, strands)

    def _reserve(self, function: Function, number: int) -> None:
        def memory(count: int, part: str) -> str:
            return function.allocate(f"[{count} x {MEMORY_TYPE[part]}]")

        # A vector that begins in the middle of the accumulators reads past their end, and writes the same back.
        self.accumulators = [memory(number * self.lanes + _SPARE, part) for part in self.parts]
        if self.blocked:
            self._stacks = [memory(number * _DEPTH * self.lanes, part) for part in self.parts]
            self.steps = function.allocate(f"[{number} x i64]", 8)
            self._pushed = function.allocate(f"[{number} x i64]", 8)

    def strand(self, function: Function, number: str) -> Fold:
        """The same fold with the accumulators of a strand."""
        first = self._strands
        assert first is not None
        strand = copy(first)

        def at(addresses: list[str], count: int) -> list[str]:
            kinds = [f"[{count} x {MEMORY_TYPE[part]}]" for part in self.parts]
            return [member(address, kind) for address, kind in zip(addresses, kinds)]

        def member(address: str, kind: str = "[1 x i64]") -> str:
            return function.op(f"getelementptr {kind}, ptr {address}, i64 {number}")

        strand.accumulators = at(first.accumulators, self.lanes)
        if self.blocked:
            strand._stacks = at(first._stacks, _DEPTH * self.lanes)
            strand.steps, strand._pushed = member(first.steps), member(first._pushed)
        return strand

    # operations of the fold

    def identity(self, code: Code) -> list[Value]:
        """The identity values of the fold."""
        number = fold_named(self.op).neutral(np.dtype(self.reduction.dtype)).item()
        value = code.const(self.dtype, number)
        if self.op in ("argmin", "argmax"):
            return [value, code.const("i8", (1 << 63) - 1)]
        return self._split(code, value)

    def _split(self, code: Code, value: Value) -> list[Value]:
        """The parts of a value without a position."""
        return [value] if len(self.parts) == 1 else [code.real(value), code.imag(value)]

    def prepare(self, code: Code, value: Value, *position: Value) -> list[Value]:
        """A body's value, and its position if there is one, in the form that is folded."""
        if self.counts:
            return [value if value.dtype == "b1" else cast(code, value, self.dtype)]
        value = cast(code, value, self.reduction.dtype)
        if self.reduction.dtype == "b1":
            value = code.convert("zext", value, "u1")
        if self.reduction.dtype == "f2":
            value = code.single(value)
        return [value, *position] if position else self._split(code, value)

    def result(self, code: Code, parts: list[Value]) -> list[Value]:
        """The inverse of :meth:`prepare`: the value, and the position if there is one."""
        value = parts[0]
        if self.counts:
            value = cast(code, value, self.reduction.dtype)
        if self.reduction.dtype == "b1":
            value = code.icmp("ne", value, code.const("u1", 0))
        if self.reduction.dtype == "f2":
            value = code.half(value)
        if len(self.parts) == 2 and self.op not in ("argmin", "argmax"):
            return [code.complex(parts[0], parts[1])]
        return [value, *parts[1:]]

    def combine(self, code: Code, old: list[Value], new: list[Value]) -> list[Value]:
        """``old`` op ``new``."""
        op, kind = self.op, KIND[self.dtype]
        if op in ("argmin", "argmax"):
            return combine_position(code, op, old, new)
        bitwise = {"logical_and": "and", "logical_or": "or"}.get(op, "")
        if op == "add" and self.reduction.dtype == "b1":
            bitwise = "or"
        if bitwise:
            return [code.op(bitwise, old[0], new[0])]
        values = (code.complex(*parts) if kind == "c" else parts[0] for parts in (old, new))
        return self._split(code, emission(op, kind)(code, *values))

    # accumulators

    def begin(self, code: Code) -> None:
        """Set all accumulators to the identity."""
        self._reset(code)
        if self.blocked:
            code.function.line(f"store i64 0, ptr {self._pushed}")

    def _reset(self, code: Code) -> None:
        wide = Code(code.function, self.lanes)
        for address, value in zip(self.accumulators, self.identity(wide)):
            self._store(wide, address, value)
        if self.blocked:
            code.function.line(f"store i64 0, ptr {self.steps}")

    @staticmethod
    def _load(code: Code, part: str, address: str) -> Value:
        return Value(part, code.function.op(f"load {code.type(part)}, ptr {address}, align 8"))

    @staticmethod
    def _store(code: Code, address: str, value: Value) -> None:
        code.function.line(f"store {code.type(value.dtype)} {value.name}, ptr {address}, align 8")

    def load(self, code: Code) -> list[Value]:
        """All accumulators, as one vector for each part; ``code`` has ``lanes`` lanes."""
        return [
            self._load(code, part, address) for part, address in zip(self.parts, self.accumulators)
        ]

    def store(self, code: Code, values: list[Value]) -> None:
        """Store values in the layout of :meth:`load`."""
        for address, value in zip(self.accumulators, values):
            self._store(code, address, value)

    def add_pieces(self, code: Code, old: list[Value], new: list[Value]) -> list[Value]:
        """Fold ``code.width`` elements, a multiple of ``lanes``, into all accumulators."""
        wide = Code(code.function, self.lanes)
        if self.counts:
            return self.combine(wide, old, [Value(self.dtype, code.count(new[0]))])
        for start in range(0, code.width, self.lanes):
            pieces = [
                Value(
                    v.dtype, code.slice(VALUE_TYPE[v.dtype], v.name, code.width, start, self.lanes)
                )
                for v in new
            ]
            old = self.combine(wide, old, pieces)
        return old

    def add_quickly(self, code: Code, old: Value, nans: Value, new: Value) -> tuple[Value, Value]:
        """:meth:`add_pieces` for an extreme, with the NaNs so far."""
        nans = join_nans(code, nans, new)
        for start in range(0, code.width, self.lanes):
            kind = VALUE_TYPE[new.dtype]
            piece = Value(new.dtype, code.slice(kind, new.name, code.width, start, self.lanes))
            old = quicker(Code(code.function, self.lanes), self.op, piece, old)
        return old, nans

    def add_in_memory(self, code: Code, index: str, new: list[Value], mask: Value | None) -> None:
        """Fold ``code.width`` elements, at most ``lanes``, the first being number ``index``."""
        function = code.function
        if self.counts:
            single = Code(function, 1)
            truth = new[0] if mask is None else code.op("and", new[0], mask)
            self.store(single, self.add_pieces(code, self.load(single), [truth]))
            return
        lane = function.op(f"and i64 {index}, {self.lanes - 1}")
        addresses = [
            function.op(f"getelementptr {MEMORY_TYPE[part]}, ptr {address}, i64 {lane}")
            for part, address in zip(self.parts, self.accumulators)
        ]
        old = [self._load(code, part, address) for part, address in zip(self.parts, addresses)]
        result = self.combine(code, old, new)
        if mask is not None:
            result = [code.select(mask, a, b) for a, b in zip(result, old)]
        for address, value in zip(addresses, result):
            self._store(code, address, value)

    def advance(self, code: Code, steps: str) -> None:
        """Count ``steps`` additions to every accumulator, and push if that is enough."""
        function = code.function
        old = function.op(f"load i64, ptr {self.steps}")
        new = function.op(f"add i64 {old}, {steps}")
        function.line(f"store i64 {new}, ptr {self.steps}")
        with function.when(function.op(f"icmp sge i64 {new}, {STEPS}"), "push"):
            self.push(function, self.load(Code(function, self.lanes)))
            self._reset(code)

    def aligned(self, function: Function, pushes: int) -> str:
        """An ``i1``, true if the pushes so far are a multiple of ``pushes``, with nothing after them."""
        steps = function.op(f"load i64, ptr {self.steps}")
        pushed = function.op(f"load i64, ptr {self._pushed}")
        odd = function.op(f"and i64 {pushed}, {pushes - 1}")
        return function.op(f"icmp eq i64 {function.op(f'or i64 {steps}, {odd}')}, 0")

    def join(self, code: Code, strands: int, pushes: int) -> None:
        """Push the sum of the strands, in each of which there were ``pushes``; both are powers of two."""
        wide = Code(code.function, self.lanes)
        level = str(pushes.bit_length() - 1)
        values = [
            self.strand(code.function, str(way))._level(wide, level) for way in range(strands)
        ]
        while len(values) > 1:
            values = [self.combine(wide, *pair) for pair in zip(values[::2], values[1::2])]
        self.push(code.function, values[0], (strands * pushes).bit_length() - 1)

    def push(self, function: Function, values: list[Value], first: int = 0) -> None:
        """Carry: level ``k`` of the stack holds the sum of ``2**k`` pushes where bit ``k`` is set.

        ``values`` are the sum of ``2**first`` pushes, of which there have been a multiple.
        """
        wide = Code(function, self.lanes)
        count = function.op(f"load i64, ptr {self._pushed}")
        kinds = [wide.type(value.dtype) for value in values]

        def is_set(level: str, *_: str) -> str:
            return function.op(f"trunc i64 {function.op(f'lshr i64 {count}, {level}')} to i1")

        def carry(level: str, *names: str) -> tuple[str, ...]:
            sums = self.combine(wide, self._level(wide, level), self._named(names))
            return function.op(f"add i64 {level}, 1"), *[total.name for total in sums]

        begin = zip(kinds, [value.name for value in values])
        level, *names = function.repeat("carry", is_set, carry, ("i64", str(first)), *begin)
        current = self._named(names)
        for address, value in zip(self._stack_addresses(function, level), current):
            self._store(wide, address, value)
        pushed = function.op(f"add i64 {count}, {1 << first}")
        function.line(f"store i64 {pushed}, ptr {self._pushed}")

    def _stack_addresses(self, function: Function, level: str) -> list[str]:
        offset = function.op(f"mul i64 {level}, {self.lanes}")
        return [
            function.op(f"getelementptr {MEMORY_TYPE[part]}, ptr {stack}, i64 {offset}")
            for part, stack in zip(self.parts, self._stacks)
        ]

    def _level(self, wide: Code, level: str) -> list[Value]:
        addresses = self._stack_addresses(wide.function, level)
        return [self._load(wide, part, address) for part, address in zip(self.parts, addresses)]

    def finish(self, code: Code) -> list[Value]:
        """The fold of everything since :meth:`begin`, one lane, as :meth:`prepare` has it."""
        function = code.function
        wide = Code(function, self.lanes)
        values = self.load(wide)
        if self.blocked:
            values = self._unwind(wide, values)
        return self.across(wide, values)

    def across(self, code: Code, values: list[Value]) -> list[Value]:
        """The fold of all lanes."""
        while code.width > 1:
            low, high = zip(*[code.halves(value) for value in values])
            code = Code(code.function, code.width // 2)
            values = self.combine(code, list(low), list(high))
        return values

    # folds of truth values that one element decides

    def settled(self, code: Code) -> str:
        """An ``i1``, true if no further element can change the result."""
        wide = Code(code.function, self.lanes)
        relation = "eq" if self.op == "logical_and" else "ne"
        return wide.any(wide.icmp(relation, self.load(wide)[0], wide.const(self.dtype, 0)))

    def settle(self, code: Code) -> None:
        """Set the accumulators to the result that no element can change."""
        wide = Code(code.function, self.lanes)
        self.store(wide, [wide.const(self.dtype, int(self.op == "logical_or"))])

    def _unwind(self, wide: Code, values: list[Value]) -> list[Value]:
        """Add up the entries of the stack, the latest first."""
        function = wide.function
        count = function.op(f"load i64, ptr {self._pushed}")
        kinds = [wide.type(value.dtype) for value in values]

        def unwind(level: str, rest: str, *names: str) -> tuple[str, ...]:
            before = function.block
            with function.when(function.op(f"trunc i64 {rest} to i1"), "add"):
                sums = self.combine(wide, self._level(wide, level), self._named(names))
                add = function.block
            merged = [
                function.phi(kind, (name, before), (total.name, add))
                for kind, name, total in zip(kinds, names, sums)
            ]
            following = function.op(f"add i64 {level}, 1")
            return following, function.op(f"lshr i64 {rest}, 1"), *merged

        def is_left(_: str, rest: str, *names: str) -> str:
            return function.op(f"icmp ne i64 {rest}, 0")

        begin = zip(kinds, [value.name for value in values])
        state = function.repeat("unwind", is_left, unwind, ("i64", "0"), ("i64", count), *begin)
        return self._named(state[2:])

    def _named(self, names: Sequence[str]) -> list[Value]:
        """The accumulators of these names."""
        return [Value(part, name) for part, name in zip(self.parts, names)]
