"""Symbolic integers: a plan for one size is a plan for many.

The planner works on integers: extents, strides, offsets. An :class:`Unknown` replaces an integer that may differ in another trace
of the same structure. Its *value* is the integer of the trace that is being planned, so that every decision can be taken as usual.
A number that is calculated from unknowns is an unknown again, and the calculation is recorded on a :class:`Sheet`. A comparison of
unknowns is recorded too, with its result: as a *check*.

A finished sheet is a :class:`Guard`, a program of integers. For the integers of another trace it computes the numbers that the
planner would compute, or reports that a check failed: then the planner might have decided otherwise, and has to run. The
dependencies of decisions need no proof.

Code that needs an actual integer (an index, ``range``, a text) gets the value, and that is a check as well: the plan then
serves this value alone. As keys of a dictionary unknowns are equal if they are one object, so a table may miss an entry. It
may keep results that can be made twice, such as the instruction for an expression. An entry that must be found (the value
that a loop has stored, the ghost region of a region) is found by comparing.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ..context.interrupts import passed_on
from ..front import native

Number = Any
"""An integer, or an :class:`Unknown`."""

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}
_CALL, _END = len(_SIGNS), -1
_KINDS = {list: -1, tuple: -2, slice: -3}
"""The words of a guard that stand for no line; ``_native/guards.c`` has the same numbers."""


class Sheet:
    """The calculations from unknowns, and the comparisons that decided, in order."""

    __slots__ = ("given", "known", "numbers", "shapes")

    def __init__(self) -> None:
        self.numbers: list[Unknown] = []
        """The integers in which traces differ, in the order in which the guard takes them."""
        self.given: list[Variable] = []
        """The things in which traces differ."""
        self.known: dict[tuple[Any, ...], Any] = {}
        """The results of calculations and comparisons, by line: a sign or a function, and operands. A result is an unknown, or the
        truth of a comparison, which must be the same in every trace."""
        self.shapes: dict[Any, Any] = {}
        """Geometries of symbolic extents, by dtype and extents, so that equal geometries are one object."""

    def unknown(self, values: Sequence[int]) -> list[Unknown]:
        """Unknowns for integers in which traces differ."""
        unknowns = []
        for value in values:
            number = Unknown()
            number.sheet, number.value = self, value
            unknowns.append(number)
        self.numbers += unknowns
        return unknowns

    def thing(self, value: Any) -> Variable:
        """The stand-in for a thing in which traces differ."""
        self.given.append(Variable(self, value))
        return self.given[-1]

    def guard(self, results: list[Any]) -> Guard:
        """The program for the ``results``: numbers, and lists, tuples and slices of them. The sheet's records are cleared."""
        at: dict[Any, int] = {number: k for k, number in enumerate(self.numbers)}
        form: list[int] = []
        left: list[Any] = [results]
        while left:
            part = left.pop()
            kind = type(part)
            if kind is list or kind is tuple:
                form += _KINDS[kind], len(part)
                left += part[::-1]
            elif kind is slice:
                form += _KINDS[slice], 3
                left += part.step, part.stop, part.start
            else:
                form.append(at.setdefault(part if kind is Unknown else int(part), len(at)))
        things: dict[Any, int] = {thing: k for k, thing in enumerate(self.given)}
        lines: list[Any] = []
        for (sign, *operands), result in reversed(self.known.items()):
            place = at.get(result) if type(result) is Unknown else result
            if place is None:  # nothing depends on it
                continue
            if type(sign) is str:
                a, b = operands
                lines.append((_CODES[sign], at.setdefault(a, len(at)), at.setdefault(b, len(at)), place))  # fmt: skip
                continue
            places = [
                at.setdefault(operand, len(at))
                if type(operand) is int or type(operand) is Unknown
                else -1 - things.setdefault(operand, len(things))
                for operand in operands
            ]
            lines.append((_CALL, things.setdefault(sign, len(things)), place, len(places), *places))
        constants = [(place, number) for number, place in at.items() if type(number) is int]
        words = array("q", (len(at), len(constants)))
        words.extend(chain.from_iterable([*constants, *reversed(lines), (_END, *form)]))
        self.known, self.shapes = {}, {}
        return Guard(
            words, tuple(things)[len(self.given) :], form, {place for place, _ in constants}
        )


_CODES = {sign: code for code, sign in enumerate(_SIGNS)}


@dataclass(frozen=True, slots=True)
class Guard:
    """A finished sheet: the checks, and the results where none of them fails.

    The words of the program are the number of its places, the number of its constants, the constants, each with its place;
    lines; -1; and the form of the results. The numbers of the trace have the first places. A line is a code, the places of
    two operands, and the place of the result, or the required result of a comparison; or a call: its code, a function among
    the things, the place of the result, the number of operands, and the operands, with -1, -2, ... for things. The things of
    the trace come first. A form is a place, or a kind, a length, and as many forms.
    """

    words: array[int]
    things: tuple[Any, ...]
    form: Sequence[int]
    constants: set[int]
    """Places whose numbers are the same in every trace."""

    def places(self) -> Any:
        """The results as places of numbers."""
        return _formed(iter(self.form).__next__, lambda place: place)

    def results(self, numbers: Sequence[int], given: Sequence[Any] = ()) -> Any:
        """The results for the numbers and things of a trace; ``None`` where a check fails, or a number cannot be computed."""
        things = (*given, *self.things)
        if native is not None:
            return native.guarded(self.words, things, numbers)
        try:
            return _guarded(iter(self.words).__next__, things, numbers)
        except ZeroDivisionError as problem:
            passed_on(problem)
            return None


def _guarded(word: Callable[[], int], things: Sequence[Any], numbers: Sequence[int]) -> Any:
    """:meth:`Guard.results` without C."""
    signs = list(_SIGNS.values())
    memory = dict(enumerate(numbers))
    word()
    memory.update([(word(), word()) for _ in range(word())])
    while (code := word()) != _END:
        if code == _CALL:
            function, place, count = things[word()], word(), word()
            places = [word() for _ in range(count)]
            memory[place] = function(*[memory[k] if k >= 0 else things[-1 - k] for k in places])
            continue
        number, place = signs[code](memory[word()], memory[word()]), word()
        if type(number) is not bool:
            memory[place] = number
        elif number != place:
            return None

    return _formed(word, memory.__getitem__)


def _formed(word: Callable[[], int], number: Callable[[int], int]) -> Any:
    """The results of a form, by the number at each place."""
    kind = word()
    if kind >= 0:
        return number(kind)
    parts = [_formed(word, number) for _ in range(word())]
    if kind == _KINDS[list]:
        return parts
    return tuple(parts) if kind == _KINDS[tuple] else slice(*parts)


@dataclass(slots=True, eq=False)
class Variable:
    """A thing that differs from trace to trace, and from which functions compute numbers: the place of an array."""

    sheet: Sheet
    value: Any


def _calculation(sign: str, *unchanged: int) -> Any:
    """The methods ``a + b`` and ``b + a`` of unknowns, for a sign; some ``b`` leave ``a`` ``unchanged``."""
    what = _SIGNS[sign]
    first = unchanged if sign in "+*" else ()

    def forward(a: Unknown, b: Number) -> Number:
        kind = type(b)
        if kind is int:
            if b in unchanged:
                return a
            value = what(a.value, b)
        elif kind is Unknown:
            value = what(a.value, b.value)
        else:
            return what(int(a), b)
        sheet, line = a.sheet, (sign, a, b)
        result = sheet.known.get(line)
        if result is None:
            result = sheet.known[line] = Unknown()
            result.sheet, result.value = sheet, value
        return result

    def backward(a: Unknown, b: Number) -> Number:
        if type(b) is not int:
            return what(b, int(a))
        if b in first:
            return a
        sheet, line = a.sheet, (sign, b, a)
        result = sheet.known.get(line)
        if result is None:
            result = sheet.known[line] = Unknown()
            result.sheet, result.value = sheet, what(b, a.value)
        return result

    return forward, backward


def _comparison(sign: str, alike: bool, negated: bool = False) -> Any:
    """The method ``a < b`` of unknowns, or ``a >= b``, for a sign; ``alike`` is its result where both are the same unknown."""
    what = _SIGNS[sign]

    def compared(a: Unknown, b: Number) -> bool:
        kind = type(b)
        if kind is int:
            value = b
        elif a is b:
            return alike is not negated
        elif kind is Unknown:
            value = b.value
        else:
            return NotImplemented  # type: ignore[no-any-return]
        known, line = a.sheet.known, (sign, a, b)
        result = known.get(line)
        if result is None:
            result = known[line] = what(a.value, value)
        return result is not negated

    return compared


class Unknown:
    """An integer with a known value in one trace, and a recorded calculation for every trace."""

    __slots__ = ("sheet", "value")
    sheet: Sheet
    value: int

    __add__, __radd__ = _calculation("+", 0)
    __sub__, __rsub__ = _calculation("-", 0)
    __mul__, __rmul__ = _calculation("*", 1)
    __floordiv__, __rfloordiv__ = _calculation("//", 1)
    __mod__, __rmod__ = _calculation("%")
    __eq__ = _comparison("==", True)
    __lt__ = _comparison("<", False)
    __le__ = _comparison("<=", True)
    __gt__ = _comparison("<=", True, negated=True)
    __ge__ = _comparison("<", False, negated=True)
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return repr(self.__index__())

    def __divmod__(self, other: Number) -> tuple[Number, Number]:
        return self // other, self % other

    def __rdivmod__(self, other: int) -> tuple[Number, Number]:
        return other // self, other % self

    def __neg__(self) -> Number:
        return 0 - self

    def __abs__(self) -> Number:
        is_below = self.sheet.known.setdefault(("<=", self, 0), self.value <= 0)
        return 0 - self if is_below else self

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        self == self.value  # noqa: B015
        return self.value

    __int__ = __index__


def function(what: Callable[..., int], *given: Any) -> Number:
    """The result of a pure function of numbers and things, some of which may be unknown, without a check."""
    for argument in given:
        if type(argument) is Unknown or type(argument) is Variable:
            break
    else:
        return what(*given)
    known, line = argument.sheet.known, (what, *given)
    result = known.get(line)
    if result is None:
        result = known[line] = Unknown()
        result.sheet = argument.sheet
        result.value = int(what(*[getattr(n, "value", n) for n in given]))
    return result


def _choice(sign: str) -> Callable[[Number, Number], Number]:
    """A function that selects one of two numbers by a sign, without a check."""
    what = _SIGNS[sign]

    def chosen(a: Number, b: Number) -> Number:
        number = a if type(a) is Unknown else b
        if type(number) is not Unknown:
            return what(a, b)
        known, line = number.sheet.known, (sign, a, b)
        result = known.get(line)
        if result is None:
            result = known[line] = Unknown()
            result.sheet = number.sheet
            result.value = what(getattr(a, "value", a), getattr(b, "value", b))
        return result

    return chosen


least, greatest = _choice("min"), _choice("max")
