"""Symbolic integers: a plan for one size is a plan for many.

The planner works on integers: extents, strides, offsets. An :class:`Unknown` takes the place of
one that another trace of the same structure may have otherwise. It has a *value*, the one of the trace that is being
planned, so that every decision can be taken as usual; and it has a name. What is calculated from it
is an unknown again, and the calculation is written down on a :class:`Sheet`. Where two of them
are compared, the comparison is written down too, with how it came out: as a *check*.

The sheet is worked through for the numbers of another trace. It comes to the same
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Number = Any
"""An integer, or one that is unknown."""

_SIGNS: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.eq: "==",
    operator.lt: "<",
    operator.le: "<=",
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


def filled(number: Any, known: Mapping[str, Any] | None = None) -> Any:
    """A number as it is where these names are ``known``, or as it is at planning; or a list, tuple or slice of numbers."""
    kind = type(number)
    if kind is int:
        return number
    if kind is Unknown or kind is Given:
        return number.value if known is None else known[number.name]
    if kind is list or kind is tuple:
        return kind([part if type(part) is int else filled(part, known) for part in number])
    if kind is slice:
        return slice(filled(number.start, known), filled(number.stop, known), number.step)
    return int(number)


class Sheet:
    """What was calculated from unknowns, and which comparisons decided, in order."""

    __slots__ = ("_constants", "known", "lines", "shapes", "things")

    def __init__(self) -> None:
        self.lines: list[tuple[Any, Any, tuple[Any, ...]]] = []
        """For each line the name it gives a value to, or how a check must come out; the function; numbers and names."""
        self.known: dict[Any, Any] = {}
        """Results of calculations and checks, by function, numbers and names."""
        self._constants: dict[int, Given] = {}
        self.things: dict[str, Any] = {}
        """What is the same for all traces, by name."""
        self.shapes: dict[Any, Any] = {}
        """Geometries of symbolic extents, by these: equal ones are one."""

    def constant(self, thing: Any) -> Given:
        """A thing that is the same for all traces, and that functions ask for numbers."""
        known = self._constants.get(id(thing))
        if known is None:
            known = self._constants[id(thing)] = Given(self, f"c{len(self._constants)}", thing)
            self.things[known.name] = thing
        return known

    def let(self, key: Any, value: int) -> Unknown:
        """A name for the result of a function of numbers and names."""
        name = f"t{len(self.lines)}"
        unknown = self.known[key] = Unknown(self, name, value)
        self.lines.append((name, key[0], key[1:]))
        return unknown

    def check(self, key: Any, outcome: Any) -> bool:
        """The outcome of a comparison: from now on it must always come out so."""
        self.known[key] = outcome
        self.lines.append((outcome, key[0], key[1:]))
        return bool(outcome)

    def finish(self) -> None:
        """Forget what only further calculations would need."""
        self.known, self._constants, self.shapes = {}, {}, {}

    def function(self, what: Callable[..., int], *given: Any) -> Unknown:
        """What a pure function makes of numbers, and of things: no check on the way."""
        numbers = [
            argument if type(argument) in (int, Unknown, Given) else self.constant(argument)
            for argument in given
        ]
        key = (what, *[n if type(n) is int else n.name for n in numbers])
        known = self.known.get(key)
        if known is None:
            known = self.let(key, what(*map(filled, numbers)))
        return known

    def worked(self, known: dict[str, Any]) -> bool:
        """Work through the sheet for the names that are ``known``, adding the others; whether all checks hold."""
        known.update(self.things)
        for name, what, given in self.lines:
            result = what(*[known[part] if type(part) is str else part for part in given])
            if type(name) is str:
                known[name] = result
            elif result is not name:
                return False
        return True

    def compiled(
        self, names: Sequence[str], results: Sequence[Any]
    ) -> Callable[[Sequence[Any]], tuple[Any, ...] | None]:
        """The sheet as a function of a sequence of what has these names: it gives the ``results``, or ``None`` where a check fails."""
        texts = list(map(text_of, results))
        used: set[str] = set()
        for text in texts:
            used.update(_names_in(text))
        space: dict[str, Any] = dict(self.things)
        kept: list[str] = []
        for name, what, given in reversed(self.lines):
            if type(name) is str and name not in used:
                continue
            words = [str(part) for part in given]
            used.update(words)
            if what in _SIGNS:
                text = f" {_SIGNS[what]} ".join(words)
            else:
                space[what.__name__] = what
                text = f"{what.__name__}({', '.join(words)})"
            if type(name) is str:
                kept.append(f"    {name} = {text}")
            else:
                kept.append(f"    if {'not ' if name else ''}{text}: return None")
        source = ["def bound(given):", f"    {''.join(name + ', ' for name in names)} = given"]
        source += [*reversed(kept), f"    return ({''.join(text + ', ' for text in texts)})"]
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


def _calculation(what: Any, *unchanged: int) -> Any:
    """The methods ``a + b`` and ``b + a`` of unknowns, for a function; some ``b`` leave ``a`` ``unchanged``."""

    def forward(a: Unknown, b: Number) -> Number:
        if type(b) is Unknown:
            name: Any = b.name
            value = b.value
        elif b in unchanged:
            return a
        elif type(b) is int:
            name = value = b
        else:
            return what(int(a), b)
        key = what, a.name, name
        known = a.sheet.known.get(key)
        return a.sheet.let(key, what(a.value, value)) if known is None else known

    def backward(a: Unknown, b: Number) -> Number:
        if type(b) is not int:
            return what(b, int(a))
        key = what, b, a.name
        known = a.sheet.known.get(key)
        return a.sheet.let(key, what(b, a.value)) if known is None else known

    return forward, backward


def _comparison(what: Any, alike: bool) -> Any:
    """The methods ``a < b`` and ``b < a`` of unknowns, for a function that is ``alike`` where both are the same."""

    def forward(a: Unknown, b: Number) -> bool:
        if a is b:
            return alike
        if type(b) is not Unknown and type(b) is not int:
            return NotImplemented  # type: ignore[no-any-return]
        key = what, a.name, getattr(b, "name", b)
        known: Any = a.sheet.known.get(key)
        return a.sheet.check(key, what(a.value, filled(b))) if known is None else known

    def backward(a: Unknown, b: Number) -> bool:
        if type(b) is not Unknown and type(b) is not int:
            return NotImplemented  # type: ignore[no-any-return]
        key = what, getattr(b, "name", b), a.name
        known: Any = a.sheet.known.get(key)
        return a.sheet.check(key, what(filled(b), a.value)) if known is None else known

    return forward, backward


class Unknown:
    """An integer of which the value in one trace is known, and how it comes about in every trace."""

    __slots__ = ("name", "sheet", "value")

    def __init__(self, sheet: Sheet, name: str, value: int) -> None:
        self.sheet, self.name, self.value = sheet, name, value

    __add__, __radd__ = _calculation(operator.add, 0)
    __sub__, __rsub__ = _calculation(operator.sub, 0)
    __mul__, __rmul__ = _calculation(operator.mul, 1)
    __floordiv__, __rfloordiv__ = _calculation(operator.floordiv, 1)
    __mod__, __rmod__ = _calculation(operator.mod)
    __eq__, _ = _comparison(operator.eq, True)
    __lt__, __gt__ = _comparison(operator.lt, False)
    __le__, __ge__ = _comparison(operator.le, True)

    def __repr__(self) -> str:
        return repr(self.__index__())

    def __format__(self, form: str) -> str:
        return format(self.__index__(), form)

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
