"""Symbolic integers: a plan for one size is a plan for many.

The planner works on integers: extents, strides, offsets. An :class:`Unknown` takes the place of
one that another trace of the same structure may have otherwise. It has a *value*, the one of the trace that is being
planned, so that every decision can be taken as usual; and it has a name. What is calculated from it
is an unknown again, and the calculation is written down on a :class:`Sheet`. Where two of them
are compared, the comparison is written down too, with how it came out: as a *check*.

The sheet is compiled into a function of the unknowns. For those of another trace it comes to the same
numbers that the planner would come to, or says that a check failed: then the planner might have
decided otherwise, and has to be asked. No proof is needed of which decisions depend on what.

Whatever needs an actual integer (an index, ``range``, a text) gets the value, and that is a check as
well: the plan then serves this value alone. A key of a dictionary is found only if it is equal to
the one that was put there, which is a check; but that it is not found says nothing, for what differs now may be equal
at another time. So tables may keep what may as well be made twice, such as the instruction for an expression. What must be found if
it is there (what a loop has stored, the ghost region of a region) is looked for by comparing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Number = Any
"""An integer, or one that is unknown."""

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


def text_of(number: Any) -> str:
    """How a number is written as Python, or a list, tuple or slice of numbers."""
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


def filled(number: Any) -> Any:
    """A number as it is in the trace that is planned, or a list, tuple or slice of numbers."""
    kind = type(number)
    if kind is Unknown:
        return number.value
    if kind is list or kind is tuple:
        return kind([n if type(n) is int else n.value if type(n) is Unknown else filled(n) for n in number])  # fmt: skip
    if kind is slice:
        return slice(filled(number.start), filled(number.stop), number.step)
    return int(number)


class Sheet:
    """What was calculated from unknowns, and which comparisons decided, in order."""

    __slots__ = ("known", "lines", "names", "shapes", "things")

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []
        """What was calculated or compared: the sign or the name of a function, and numbers and names."""
        self.names: list[Any] = []
        """For each line the name of its result, or how a comparison must come out."""
        self.known: dict[Any, Any] = {}
        """Results, by line."""
        self.things: dict[str, Any] = {}
        """What is the same for all traces, by name: functions, and what they ask for numbers."""
        self.shapes: dict[Any, Any] = {}
        """Geometries of symbolic extents, by these: equal ones are one."""

    def let(self, line: tuple[Any, ...], value: int) -> Unknown:
        """A name for what is calculated in a line."""
        name = f"t{len(self.lines)}"
        unknown = self.known[line] = Unknown(self, name, value)
        self.lines.append(line)
        self.names.append(name)
        return unknown

    def check(self, line: tuple[Any, ...], outcome: Any) -> bool:
        """The outcome of a comparison: from now on it must always come out so."""
        self.known[line] = outcome
        self.lines.append(line)
        self.names.append(outcome)
        return bool(outcome)

    def finish(self) -> None:
        """Forget what only further calculations would need."""
        self.known, self.shapes = {}, {}

    def function(self, what: Callable[..., int], *given: Any) -> Unknown:
        """What a pure function makes of numbers, and of things: no check on the way."""
        known = [n if type(n) in (int, Unknown, Given) else self._constant(n) for n in given]
        line = what.__name__, *[getattr(n, "name", n) for n in known]
        result: Any = self.known.get(line)
        if result is None:
            self.things[what.__name__] = what
            result = self.let(line, what(*[getattr(n, "value", n) for n in known]))
        return result  # type: ignore[no-any-return]

    def _constant(self, thing: Any) -> Given:
        """A thing that is the same for all traces, and that functions ask for numbers."""
        name = f"c{id(thing)}"
        self.things[name] = thing
        return Given(self, name, thing)

    def compiled(
        self, names: Sequence[str], results: Sequence[Any]
    ) -> Callable[[Sequence[Any]], tuple[Any, ...] | None]:
        """The sheet as a function of a sequence of what has these names: it gives the ``results``, or ``None`` where a check fails."""
        texts = list(map(text_of, results))
        used: set[str] = set()
        for text in texts:
            used.update(_names_in(text))
        kept: list[str] = []
        for name, (what, *given) in zip(reversed(self.names), reversed(self.lines), strict=True):
            if type(name) is str and name not in used:
                continue
            words = list(map(str, given))
            used.update(words)
            text = f" {what} ".join(words) if what in _SIGNS else f"{what}({', '.join(words)})"
            if type(name) is str:
                kept.append(f"    {name} = {text}")
            else:
                kept.append(f"    if {'not ' if name else ''}{text}: return None")
        source = ["def bound(given):", f"    {''.join(name + ', ' for name in names)} = given"]
        source += [*reversed(kept), f"    return ({''.join(text + ', ' for text in texts)})"]
        space: dict[str, Any] = dict(self.things)
        exec("\n".join(source), space)
        bound: Callable[[Sequence[Any]], tuple[Any, ...] | None] = space["bound"]
        return bound


def _names_in(text: str) -> set[str]:
    for sign in "[](),":
        text = text.replace(sign, " ")
    return set(text.split())


@dataclass(slots=True, eq=False)
class Given:
    """A thing that differs from trace to trace, and that functions ask for numbers: where an array lies."""

    sheet: Sheet
    name: str
    value: Any


def _calculation(sign: str, *unchanged: int) -> Any:
    """The methods ``a + b`` and ``b + a`` of unknowns, for a sign; some ``b`` leave ``a`` ``unchanged``."""
    what = _SIGNS[sign]
    first = unchanged if sign in "+*" else ()

    def forward(a: Unknown, b: Number) -> Number:
        if type(b) is Unknown:
            line: Any = sign, a.name, b.name
        elif b in unchanged:
            return a
        elif type(b) is int:
            line = sign, a.name, b
        else:
            return what(int(a), b)
        known = a.sheet.known.get(line)
        return a.sheet.let(line, what(a.value, getattr(b, "value", b))) if known is None else known

    def backward(a: Unknown, b: Number) -> Number:
        if b in first:
            return a
        if type(b) is not int:
            return what(b, int(a))
        line = sign, b, a.name
        known = a.sheet.known.get(line)
        return a.sheet.let(line, what(b, a.value)) if known is None else known

    return forward, backward


def _comparison(sign: str, alike: bool) -> Any:
    """The method ``a < b`` of unknowns, for a sign that holds where both are the same, or does not."""
    what = _SIGNS[sign]

    def compared(a: Unknown, b: Number) -> bool:
        if type(b) is Unknown:
            if a is b:
                return alike
            line: Any = sign, a.name, b.name
        elif type(b) is int:
            line = sign, a.name, b
        else:
            return NotImplemented  # type: ignore[no-any-return]
        known: Any = a.sheet.known.get(line)
        return (
            a.sheet.check(line, what(a.value, getattr(b, "value", b))) if known is None else known
        )

    return compared


class Unknown:
    """An integer of which the value in one trace is known, and how it comes about in every trace."""

    __slots__ = ("name", "sheet", "value")

    def __init__(self, sheet: Sheet, name: str, value: int) -> None:
        self.sheet, self.name, self.value = sheet, name, value

    __add__, __radd__ = _calculation("+", 0)
    __sub__, __rsub__ = _calculation("-", 0)
    __mul__, __rmul__ = _calculation("*", 1)
    __floordiv__, __rfloordiv__ = _calculation("//", 1)
    __mod__, __rmod__ = _calculation("%")
    __eq__ = _comparison("==", True)
    __lt__ = _comparison("<", False)
    __le__ = _comparison("<=", True)

    def __gt__(self, other: Number) -> bool:
        return not self <= other

    def __ge__(self, other: Number) -> bool:
        return not self < other

    def __repr__(self) -> str:
        return repr(self.__index__())

    def __divmod__(self, other: Number) -> tuple[Number, Number]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[Number, Number]:
        return other // self, other % self

    def __neg__(self) -> Number:
        return 0 - self

    def __abs__(self) -> Number:
        return self.sheet.function(abs, self)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        self == self.value  # noqa: B015
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
