"""Symbolic integers: a plan for one size is a plan for many.

The planner works on integers: extents, strides, offsets. An :class:`Unknown` takes the place of
one that another trace of the same structure may have otherwise. It has a *value*, the one of the trace that is being
planned, so that every decision can be taken as usual. A number that is calculated from it
is an unknown again, and the calculation is written down on a :class:`Sheet`. Where two of them
are compared, the comparison is written down too, with how it came out: as a *check*.

A finished sheet is a :class:`Guard`, a program of integers. For those of another trace it comes to the same
numbers that the planner would come to, or says that a check failed: then the planner might have
decided otherwise, and has to be asked. No proof is needed of which decisions depend on what.

Whatever needs an actual integer (an index, ``range``, a text) gets the value, and that is a check as
well: the plan then serves this value alone. As keys of a dictionary unknowns are equal if they are one object, so a table may miss an
entry. It may keep results that can be made twice, such as the instruction for an expression. An entry that must be found (the value that a
loop has stored, the ghost region of a region) is found by comparing.
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
"""An integer, or one that is unknown."""

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
    """What was calculated from unknowns, and which comparisons decided, in order."""

    __slots__ = ("given", "known", "numbers", "shapes")

    def __init__(self) -> None:
        self.numbers: list[Unknown] = []
        """The integers that traces differ in, as their guard is given them."""
        self.given: list[Given] = []
        """The things that they differ in."""
        self.known: dict[tuple[Any, ...], Any] = {}
        """What was calculated or compared, by line: a sign or a function, and operands. It came to an unknown, or to the truth
        of a comparison, which must come out so again."""
        self.shapes: dict[Any, Any] = {}
        """Geometries of symbolic extents, by these: equal ones are one."""

    def unknown(self, values: Sequence[int]) -> list[Unknown]:
        """Unknowns for integers that traces differ in."""
        unknowns = []
        for value in values:
            number = Unknown()
            number.sheet, number.value = self, value
            unknowns.append(number)
        self.numbers += unknowns
        return unknowns

    def thing(self, value: Any) -> Given:
        """What stands for a thing that traces differ in."""
        self.given.append(Given(self, value))
        return self.given[-1]

    def guard(self, results: list[Any]) -> Guard:
        """The program for the ``results``, numbers, lists, tuples and slices of them; the sheet forgets what it knows."""
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

    The words of the program are the number of its places, of its constants, and these, each with its place; lines; -1; and the form of
    the results. The numbers of the trace have the first places. A line is a code, the places of two operands, and that of the result,
    or, of a comparison, how it must come out; or a call: its code, a function among the things, the place of the result, how many
    operands, and these, with -1, -2, ... for things. Things are those of the trace first. A form is a place, or a kind, a
    length, and so many forms.
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
        """The results for the numbers and things of a trace; ``None`` where a check fails, or a number cannot be had."""
        things = (*given, *self.things)
        if native is not None:
            return native.guarded(self.words, things, numbers)
        try:
            return _guarded(iter(self.words).__next__, things, numbers)
        except ZeroDivisionError as problem:
            passed_on(problem)
            return None


def _guarded(word: Callable[[], int], things: Sequence[Any], numbers: Sequence[int]) -> Any:
    """The same without C."""
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
class Given:
    """A thing that differs from trace to trace, and that functions ask for numbers: where an array lies."""

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
    """The method ``a < b`` of unknowns, or ``a >= b``, for a sign that holds where both are the same, or does not."""
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
    """An integer of which the value in one trace is known, and how it comes about in every trace."""

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
    """What a pure function makes of numbers and things, some of which may be unknown: no check on the way."""
    for argument in given:
        if type(argument) is Unknown or type(argument) is Given:
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
    """One of two numbers; which it is need not be decided."""
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
