"""Writing LLVM IR as text: modules, functions, branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from .machine import Machine

T = TypeVar("T")


@dataclass(slots=True)
class Module:
    """The text of one LLVM module."""

    machine: Machine
    declarations: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)

    def declare(self, name: str, result: str, arguments: str, attributes: str = "") -> None:
        """Declare the external function or intrinsic ``name``."""
        self.declarations[name] = f"declare {result} @{name}({arguments}) {attributes}"

    def text(self) -> str:
        """The module as LLVM reads it."""
        head = f'target triple = "{self.machine.triple}"\n'
        return (
            head + "\n".join([*self.declarations.values(), "", *self.definitions.values()]) + "\n"
        )


class Function:
    """A function under construction: its lines, the block being written, and its stack."""

    def __init__(self, module: Module, header: str) -> None:
        self.module = module
        self.header = header
        self.stack: list[str] = []
        self.lines: list[str] = []
        self.block = "entry"
        self._count = 0

    def name(self, hint: str = "v") -> str:
        """A fresh name for a value or a block, without its sigil."""
        self._count += 1
        return f"{hint}{self._count}"

    def line(self, text: str) -> None:
        """Append one instruction without a result."""
        self.lines.append("  " + text)

    def op(self, text: str) -> str:
        """Append one instruction; the name of its result."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def label(self, name: str) -> None:
        """Begin the block ``name``."""
        self.lines.append(f"{name}:")
        self.block = name

    def jump(self, target: str) -> None:
        """End the block by going to ``target``."""
        self.line(f"br label %{target}")

    def branch(self, condition: str, target: str, otherwise: str) -> None:
        """End the block by going to one of two others."""
        self.line(f"br i1 {condition}, label %{target}, label %{otherwise}")

    @contextmanager
    def when(self, condition: str, hint: str = "then") -> Iterator[None]:
        """Make the code written in the ``with`` block conditional on an ``i1``."""
        work, after = self.name(hint), self.name(hint)
        self.branch(condition, work, after)
        self.label(work)
        yield
        self.jump(after)
        self.label(after)

    def choose(self, condition: str, *choices: Callable[[], T]) -> list[tuple[T, str]]:
        """Write code that runs the first of two choices if the ``i1`` is true, else the second. The list has the result
        of each, and the block in which it ends."""
        labels, after = [self.name("choice") for _ in choices], self.name("chosen")
        self.branch(condition, *labels)
        results = []
        for label, choice in zip(labels, choices, strict=True):
            self.label(label)
            results.append((choice(), self.block))
            self.jump(after)
        self.label(after)
        return results

    def phi(self, kind: str, *sources: tuple[str, str]) -> str:
        """The value of ``kind`` that comes with the block before this one: (value, block) of each."""
        return self.op(f"phi {kind} " + ", ".join(f"[ {value}, %{b} ]" for value, b in sources))

    def word(self, number: int | str, kind: str = "i64", base: str = "%block") -> str:
        """A word of the argument block, or of another array of 8-byte words."""
        at = self.op(f"getelementptr i64, ptr {base}, i64 {number}")
        return self.op(f"load {kind}, ptr {at}, align 8")

    def allocate(self, type_: str, align: int = 64) -> str:
        """Memory of the function's own, taken once at its entry."""
        name = "%" + self.name("stack")
        self.stack.append(f"  {name} = alloca {type_}, align {align}")
        return name

    def loop(
        self, hint: str, start: str, stop: str, inside: Callable[[str], None], step: int = 1
    ) -> None:
        """``for i in range(start, stop, step): inside(i)``."""

        def turn(index: str) -> tuple[str]:
            inside(index)
            return (self.op(f"add nsw i64 {index}, {step}"),)

        self.advance(hint, start, stop, turn)

    def advance(
        self,
        hint: str,
        start: str,
        stop: str,
        turn: Callable[..., tuple[str, ...]],
        *carried: tuple[str, str],
    ) -> list[str]:
        """``i = start``, and ``while i < stop: i, *values = turn(i, *values)``. The values at the end, of which ``carried`` has
        the types and the first ones."""

        def test(index: str, *_: str) -> str:
            return self.op(f"icmp slt i64 {index}, {stop}")

        return self.repeat(hint, test, turn, ("i64", start), *carried)[1:]

    def repeat(
        self,
        hint: str,
        test: Callable[..., str],
        turn: Callable[..., tuple[str, ...]],
        *carried: tuple[str, str],
    ) -> list[str]:
        """``while test(*values): values = turn(*values)``. The values at the end, of which ``carried`` has the types and
        the first ones."""
        head = Head(self, hint, *carried)
        work, after = self.name(hint), self.name(hint)
        self.branch(test(*head.names), work, after)
        self.label(work)
        head.carry(*turn(*head.names))
        self.jump(head.label)
        self.label(after)
        return head.names

    def smaller(self, a: str, b: str) -> str:
        """The smaller one of two signed integers of 64 bits."""
        return self.op(f"select i1 {self.op(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def larger(self, a: str, b: str) -> str:
        """The larger one of two signed integers of 64 bits."""
        self.module.declare("llvm.smax.i64", "i64", "i64, i64")
        return self.op(f"call i64 @llvm.smax.i64(i64 {a}, i64 {b})")

    def end(self, name: str, result: str = "void") -> None:
        """Return from the function, and define it in its module as ``name``."""
        self.line(f"ret {result}")
        lines = [self.header + " {", "entry:", *self.stack, *self.lines, "}"]
        self.module.definitions[name] = "\n".join(lines)


class Head:
    """The block in which the turns of a loop begin. A loop carries values from turn to turn: they
    are the ``names``, of which the ``index`` is the first."""

    def __init__(self, function: Function, hint: str, *carried: tuple[str, str]) -> None:
        """``carried`` has the type of each carried value, and its value in the first iteration."""
        self._function, self._before, self._carried = function, function.block, carried
        self.label = function.name(hint)
        function.jump(self.label)
        function.label(self.label)
        self.names = ["%" + function.name() for _ in carried]
        self._at = len(function.lines)
        function.lines.extend([""] * len(carried))

    @property
    def index(self) -> str:
        """The first of the values."""
        return self.names[0]

    def carry(self, *values: str) -> None:
        """Begin the next iteration from the current block with these values."""
        block = self._function.block
        for k, (name, (kind, first), value) in enumerate(
            zip(self.names, self._carried, values, strict=True), self._at
        ):
            phi = f"phi {kind} [ {first}, %{self._before} ], [ {value}, %{block} ]"
            self._function.lines[k] = f"  {name} = {phi}"

    def end(self, step: int, stop: str, *values: str) -> None:
        """End the loop: the next turn has the index ``step`` further, if that is less than ``stop``."""
        function = self._function
        following = function.op(f"add nuw nsw i64 {self.index}, {step}")
        self.carry(following, *values)
        after = function.name("after")
        function.branch(function.op(f"icmp slt i64 {following}, {stop}"), self.label, after)
        function.label(after)
