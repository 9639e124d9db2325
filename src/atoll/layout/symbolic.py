"""Symbolic integers: planning once for slices that change.

The planner works on integers: extents, strides, offsets. An :class:`Unknown` takes the place of
one that differs from step to step of a loop. It has a *value*, the one of the step that is being
planned, so that every decision can be taken as usual; and it has a name. What is calculated from it
is an unknown again, and the calculation is written down on a :class:`Sheet`. Where two of them
are compared, the comparison is written down too, with how it came out: as a *check*.

The sheet is compiled into a function of the unknowns. For other values it comes to the same
numbers that the planner would come to, or says that a check failed: then the planner might have
decided otherwise, and has to be asked. No proof is needed of which decisions depend on what.

Whatever needs an actual integer (an index, ``range``, a text) gets the value, and that is a check as
well: the plan then serves this value alone. A key of a dictionary is found only if it is equal to
the one that was put there, which is a check; but that it is not found says nothing, for equal numbers need not have equal
hashes. So tables may keep what may as well be made twice, such as the instruction for an expression. What must be found if
it is there (what a loop has stored, the ghost region of a region) is looked for by comparing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Number = Any
"""An integer, or one that is unknown."""

_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


def text_of(number: Any) -> str:
    """How a number is written on the sheet, or a list, tuple or slice of numbers."""
    kind = type(number)
    if kind is Unknown or kind is Given:
        name: str = number.name
        return name
    if kind is list:
        return "[" + ", ".join(map(text_of, number)) + "]"
    if kind is tuple:
        return "(" + "".join([text_of(part) + ", " for part in number]) + ")"
    if kind is slice:
        return f"slice({text_of(number.start)}, {text_of(number.stop)}, {number.step})"
    return repr(int(number))


def value_of(number: Number) -> Any:
    """What a number, or a thing that is given, is at the step that is being planned."""
    return number.value if type(number) in (Unknown, Given) else int(number)


class Sheet:
    """What was calculated from unknowns, and which comparisons decided, in order."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, tuple[str, ...]]] = []
        """For each line the name it gives a value to, or nothing for a check; the text; names in it."""
        self._known: dict[Any, Unknown] = {}
        self._checked: dict[tuple[str, str, str], bool] = {}
        self._constants: dict[int, Given] = {}
        self.functions: dict[str, Any] = {}

    def unknown(self, name: str, value: int) -> Unknown:
        """A number that the compiled function is given."""
        return Unknown(self, name, value)

    def constant(self, thing: Any) -> Given:
        """A thing that is the same at every step, and that functions ask for numbers."""
        known = self._constants.get(id(thing))
        if known is None:
            known = self._constants[id(thing)] = Given(self, f"c{len(self._constants)}", thing)
            self.functions[known.name] = thing
        return known

    def _let(self, key: Any, text: str, names: tuple[str, ...], value: int) -> Unknown:
        unknown = self._known.get(key)
        if unknown is None:
            unknown = self._known[key] = Unknown(self, f"t{len(self._known)}", value)
            self.lines.append((unknown.name, text, names))
        return unknown

    def calculate(self, sign: str, a: Number, b: Number) -> Number:
        """A sum, a product and so on."""
        if (type(b) is int and b == 0 and sign in "+-") or (
            type(b) is int and b == 1 and sign in ("*", "//")
        ):
            return a
        if type(a) is int and ((a == 0 and sign == "+") or (a == 1 and sign == "*")):
            return b
        first, second = text_of(a), text_of(b)
        value = _OPERATIONS[sign](value_of(a), value_of(b))
        return self._let((sign, first, second), f"{first} {sign} {second}", (first, second), value)

    def function(self, what: Callable[..., int], *given: Any) -> Unknown:
        """What a pure function makes of numbers, and of things: no check on the way."""
        numbers = [
            argument if type(argument) in (int, Unknown, Given) else self.constant(argument)
            for argument in given
        ]
        name = what.__name__.lstrip("_")
        self.functions[name] = what
        texts = tuple(map(text_of, numbers))
        value = what(*map(value_of, numbers))
        return self._let((name, *texts), f"{name}({', '.join(texts)})", texts, value)

    def compare(self, sign: str, a: Number, b: Number) -> bool:
        """How a comparison comes out; from now on it must always come out so."""
        first, second = text_of(a), text_of(b)
        if first == second:
            return sign != "<"
        key = (sign, first, second)
        outcome = self._checked.get(key)
        if outcome is None:
            outcome = _COMPARISONS[sign](value_of(a), value_of(b))
            self._checked[key] = outcome
            wrong = f"{first} {sign} {second}"
            self.lines.append(("", f"not {wrong}" if outcome else wrong, (first, second)))
        return outcome

    def compiled(
        self, given: str, results: Sequence[str], first: str = ""
    ) -> Callable[[Sequence[int]], tuple[Any, ...] | None]:
        """The sheet as a function of the sequence of what is ``given`` (names, as Python unpacks them).

        It gives the ``results``, or ``None`` where a check fails; ``first`` is a condition on what is
        given under which it fails at once.
        """
        used: set[str] = set()
        for text in results:
            used.update(_names_in(text))
        kept: list[str] = []
        for name, text, names in reversed(self.lines):
            if not name:
                kept.append(f"    if {text}: return None")
            elif name in used:
                kept.append(f"    {name} = {text}")
            else:
                continue
            used.update(names)
        source = ["def bound(given):", f"    {given} = given"]
        if first:
            source.append(f"    if {first}: return None")
        source += reversed(kept)
        source.append(f"    return ({''.join(text + ', ' for text in results)})")
        space: dict[str, Any] = dict(self.functions)
        exec("\n".join(source), space)
        bound: Callable[[Sequence[int]], tuple[Any, ...] | None] = space["bound"]
        return bound


def _names_in(text: str) -> set[str]:
    for sign in "[](),+":
        text = text.replace(sign, " ")
    return set(text.split())


@dataclass(slots=True, eq=False)
class Given:
    """A thing that differs from step to step, and that functions ask for numbers: where an array lies."""

    sheet: Sheet
    name: str
    value: Any


@dataclass(slots=True, eq=False, repr=False)
class Unknown:
    """An integer of which the value at one step is known, and how it comes about at every step."""

    sheet: Sheet
    name: str
    value: int

    def __repr__(self) -> str:
        return repr(self.__index__())

    def __format__(self, form: str) -> str:
        return format(self.__index__(), form)

    def __add__(self, other: Number) -> Number:
        return self.sheet.calculate("+", self, other)

    def __radd__(self, other: int) -> Number:
        return self.sheet.calculate("+", other, self)

    def __sub__(self, other: Number) -> Number:
        return self.sheet.calculate("-", self, other)

    def __rsub__(self, other: int) -> Number:
        return self.sheet.calculate("-", other, self)

    def __mul__(self, other: Number) -> Number:
        return self.sheet.calculate("*", self, other)

    def __rmul__(self, other: int) -> Number:
        return self.sheet.calculate("*", other, self)

    def __floordiv__(self, other: Number) -> Number:
        return self.sheet.calculate("//", self, other)

    def __rfloordiv__(self, other: int) -> Number:
        return self.sheet.calculate("//", other, self)

    def __mod__(self, other: Number) -> Number:
        return self.sheet.calculate("%", self, other)

    def __rmod__(self, other: int) -> Number:
        return self.sheet.calculate("%", other, self)

    def __divmod__(self, other: Number) -> tuple[Number, Number]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[Number, Number]:
        return other // self, other % self

    def __neg__(self) -> Number:
        return self.sheet.calculate("-", 0, self)

    def __abs__(self) -> Number:
        return self.sheet.function(abs, self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not int and type(other) is not Unknown:
            return False
        return self.sheet.compare("==", self, other)

    def __hash__(self) -> int:
        return 0x5EED

    def __lt__(self, other: Number) -> bool:
        return self.sheet.compare("<", self, other)

    def __le__(self, other: Number) -> bool:
        return self.sheet.compare("<=", self, other)

    def __gt__(self, other: Number) -> bool:
        return not self.sheet.compare("<=", self, other)

    def __ge__(self, other: Number) -> bool:
        return not self.sheet.compare("<", self, other)

    def __bool__(self) -> bool:
        return not self.sheet.compare("==", self, 0)

    def __index__(self) -> int:
        self.sheet.compare("==", self, self.value)
        return self.value

    __int__ = __index__


def function(what: Callable[..., int], *given: Any) -> Number:
    """What a pure function makes of numbers and things, some of which may be unknown."""
    for argument in given:
        if type(argument) is Unknown or type(argument) is Given:
            return argument.sheet.function(what, *given)
    return what(*given)


def least(a: Number, b: Number) -> Number:
    """The smaller one; which it is need not be decided."""
    return function(min, a, b)


def greatest(a: Number, b: Number) -> Number:
    """The larger one."""
    return function(max, a, b)
