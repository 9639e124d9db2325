"""Seats: the ranks in each cell of a process grid, in closed form.

Ranks fill a grid in row-major order. Digits describe the order after slices, transposes and reductions: the number
of a rank is a mixed-radix number with a digit for each axis of the first grid, and each digit is read off a coordinate of the
present grid, in order, backwards, with a stride or going round; or it numbers the copies of a cell. So a question about a
rank or a cell is answered by arithmetic, at a cost that does not grow with the number of ranks. Where a program lists the
ranks, the list is read at that number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from ..context.interrupts import passed_on
from .bounds import evenly
from .grids import NodeOrder
from .index_set import ComputedSequence, Indices


@dataclass(frozen=True, slots=True)
class Turning(ComputedSequence[int]):
    """The numbers ``(first + hop * k) % modulus`` for ``k`` in ``range(length)``, which all differ."""

    first: int
    hop: int
    modulus: int
    length: int

    def __len__(self) -> int:
        return self.length

    def item(self, place: int) -> int:
        return (self.first + self.hop * place) % self.modulus

    def items(self, places: range) -> Sequence[int]:
        first = self.first + self.hop * places.start
        return turning(first, self.hop * places.step, self.modulus, len(places))

    def place(self, number: Any) -> int | None:
        common = gcd(self.hop, self.modulus)
        apart, rest = divmod(number - self.first, common)
        if rest or not 0 <= number < self.modulus:
            return None
        period = self.modulus // common
        place = apart * pow(self.hop // common, -1, period) % period
        return place if place < self.length else None


def turning(first: int, hop: int, modulus: int, count: int) -> Sequence[int]:
    """The numbers ``(first + hop * k) % modulus``: as a range where they do not go round."""
    first, hop = first % modulus, hop % modulus
    if count < 2:
        return range(first, first + count)
    for step in (hop, hop - modulus):
        if 0 <= first + step * (count - 1) < modulus:
            return range(first, first + step * count, step)
    return Turning(first, hop, modulus, count)


def _taken(order: Sequence[int] | Indices, places: Indices) -> Indices:
    """The numbers at an array of places."""
    taken: Indices
    if isinstance(order, range):
        taken = places if order.step == 1 else places * order.step
        taken = taken + order.start if order.start else taken
    elif isinstance(order, Turning):
        taken = (places * order.hop + order.first) % order.modulus
    elif isinstance(order, NodeOrder):
        taken = order.item(places)
    else:
        taken = np.asarray(order, np.int64)[places]
    return taken


class Digit(NamedTuple):
    """One digit of the number of a rank: its weight, and its values in the order of the coordinates or copies that determine it."""

    weight: int
    base: int
    """The upper bound of the digit, exclusive."""
    values: Sequence[int]

    def selected(self, order: Sequence[int]) -> Digit:
        """The digit with its values at some places only, in ``order``."""
        values = self.values
        if isinstance(order, range) and isinstance(values, range | Turning):
            if isinstance(values, Turning):
                return self._replace(values=values.items(order))
            step = values.step * order.step
            first = values.start + values.step * order.start
            return self._replace(values=range(first, first + step * len(order), step))
        if isinstance(order, Turning) and isinstance(values, range | Turning):
            first, hop = values[0], values.hop if isinstance(values, Turning) else values.step
            if (
                order.modulus == len(values) and hop * len(values) % self.base == 0
            ):  # they go round as well
                first += hop * order.first
                return self._replace(values=turning(first, hop * order.hop, self.base, len(order)))
        listed = [values[place] for place in order]
        if len(listed) < 2:
            return self._replace(values=range(listed[0], listed[0] + 1) if listed else ())
        step = listed[1] - listed[0]
        even = range(listed[0], listed[0] + step * len(listed), step)
        return self._replace(values=even if listed == list(even) else tuple(listed))


class Seats:
    """The ranks of a grid, several to a cell where there are copies. ``members`` gives a rank by its number."""

    __slots__ = ("_hash", "_inverse", "along", "copied", "members")

    def __init__(
        self,
        members: range | NodeOrder | Indices,
        along: tuple[Digit | None, ...],
        copied: tuple[Digit, ...],
    ) -> None:
        self.members = members
        self.along = along
        """The digit of each axis of the grid; ``None`` for an axis without a digit, which has one cell."""
        self.copied = copied
        """The digits that number the copies of a cell, the first being the slowest."""
        self._inverse: Indices | None = None
        self._hash: int | None = None

    @classmethod
    def over(cls, members: range | NodeOrder | Indices, grid: Sequence[int], copies: int) -> Seats:
        """Members fill a grid in row-major order, the copies of a cell next to each other."""
        weight, digits = 1, []
        for count in (copies, *reversed(grid)):
            digits.append(Digit(weight, count, range(count)))
            weight *= count
        copied, *along = digits
        listed = members
        if not isinstance(members, range | NodeOrder) and len(members):
            first = int(members[0])
            step = int(members[1]) - first if len(members) > 1 else 1
            even = range(first, first + step * len(members), step or 1)
            if step and bool((members == np.asarray(even)).all()):
                listed = even
        return cls(listed, tuple(reversed(along)), (copied,) if copies > 1 else ())

    @classmethod
    def by_nodes(cls, grid: tuple[int, ...], node: tuple[int, ...]) -> Seats:
        """The ranks of a node have neighbouring cells."""
        return cls.over(NodeOrder(grid, node), grid, 1)

    @property
    def node(self) -> tuple[int, ...] | None:
        """The grid of the ranks of one node, where the grid, apart from axes of one cell, is that of all nodes."""
        members = self.members
        if not isinstance(members, NodeOrder) or self.copied:
            return None
        whole = Seats.over(range(len(members)), members.grid, 1).along
        inner = iter([pair for pair in zip(whole, members.node) if pair[0] and pair[0].base > 1])
        node = []
        for digit in self.along:
            expected = (None, 1) if digit is None or digit.base == 1 else next(inner, (None, 0))
            if (expected[0] is not None and digit != expected[0]) or not expected[1]:
                return None
            node.append(expected[1])
        return None if next(inner, None) else tuple(node)

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of cells along each axis."""
        return tuple([1 if digit is None else len(digit.values) for digit in self.along])

    @property
    def cells(self) -> int:
        """The number of cells."""
        return prod(self.grid)

    @property
    def copies(self) -> int:
        """The number of ranks in each cell."""
        return prod([len(digit.values) for digit in self.copied])

    def _number(self, coordinates: Iterable[int]) -> int:
        number = 0
        for digit, coordinate in zip(self.along, coordinates, strict=True):
            if digit is not None:
                number += digit.weight * digit.values[coordinate]
        return number

    def rank(self, coordinates: Iterable[int], copy: int = 0) -> int:
        """The rank that holds a copy of a cell."""
        number = self._number(coordinates)
        for digit in reversed(self.copied):
            copy, place = divmod(copy, len(digit.values))
            number += digit.weight * digit.values[place]
        return int(self.members[number])

    def at(self, coordinates: Sequence[int]) -> Sequence[int]:
        """The ranks of a cell, its owner first."""
        if not self.copied:
            return (self.rank(coordinates),)
        members = self.members
        if isinstance(members, range):
            numbers: range | None = range(number := self._number(coordinates), number + 1)
            for digit in reversed(self.copied):
                numbers = _products(numbers, digit)
            if numbers is not None:
                first, step = members[numbers[0]], members.step * numbers.step
                return range(first, first + step * len(numbers), step)
        return Holders(self, tuple(coordinates))

    def ranks_of(self, coordinates: Sequence[Indices], copy: Any = 0) -> Indices:
        """The rank of each cell, for arrays of coordinates; ``copy`` is a number, or an array of them."""
        numbers: Any = 0
        for digit, places in zip(self.along, coordinates, strict=True):
            if digit is not None:
                numbers = numbers + _taken(digit.values, places) * digit.weight
            else:
                numbers = numbers + np.zeros_like(places)
        for digit in reversed(self.copied):
            copy, place = divmod(copy, len(digit.values))
            numbers = numbers + _taken(digit.values, place) * digit.weight
        ranks: Indices = _taken(self.members, np.asarray(numbers, np.int64))
        return ranks

    def seat(self, rank: int) -> tuple[tuple[int, ...], int] | None:
        """The coordinates of a rank and the number of its copy; ``None`` if it has no seat."""
        number = self._numbered(rank)
        if number is None:
            return None
        try:
            place = tuple(
                [
                    0 if digit is None else digit.values.index(number // digit.weight % digit.base)
                    for digit in self.along
                ]
            )
            copy = 0
            for digit in self.copied:
                values = digit.values
                copy = copy * len(values) + values.index(number // digit.weight % digit.base)
        except ValueError as problem:
            passed_on(problem)
            return None
        return place, copy

    def _numbered(self, rank: int) -> int | None:
        members = self.members
        if isinstance(members, range | NodeOrder):
            return members.index(rank) if rank in members else None
        if self._inverse is None:
            self._inverse = np.full(int(members.max()) + 1, -1, np.int64)
            self._inverse[members] = np.arange(len(members))
        number = int(self._inverse[rank]) if 0 <= rank < len(self._inverse) else -1
        return number if number >= 0 else None

    # The seats of derived layouts

    def selected(self, axis: int, order: Sequence[int]) -> Seats:
        """The cells at some coordinates of an axis, in this order."""
        digit = self.along[axis]
        if digit is None:
            return self
        return self._with(axis, (digit.selected(order),), self.copied)

    def joined(self, axis: int) -> Seats:
        """The seats without an axis of the grid: its cells become one, and their ranks the copies of that cell."""
        digit = self.along[axis]
        return self._with(axis, (), self.copied if digit is None else (digit, *self.copied))

    def expanded(self, axis: int) -> Seats:
        """The seats with a new axis of one cell."""
        along = (*self.along[:axis], None, *self.along[axis:])
        return Seats(self.members, along, self.copied)

    def transposed(self, order: Sequence[int]) -> Seats:
        """The axes of the grid in another order."""
        return Seats(self.members, tuple([self.along[axis] for axis in order]), self.copied)

    def _with(
        self, axis: int, digits: tuple[Digit | None, ...], copied: tuple[Digit, ...]
    ) -> Seats:
        along = (*self.along[:axis], *digits, *self.along[axis + 1 :])
        return Seats(self.members, along, copied)

    # Properties of all seats together

    @property
    def is_row_major(self) -> bool:
        """True if the ranks sit in the grid in ascending order from 0."""
        form = self._form
        if form is None and not isinstance(self.members, range):  # a list, or a part of it
            count = self.cells * self.copies
            if self.node or self.samples != tuple(evenly(count)):
                return False
            return bool((self.table().reshape(-1) == np.arange(self.cells * self.copies)).all())
        return form == self._plain

    @property
    def _plain(self) -> tuple[Any, ...]:
        steps, step = [], 1
        for count in (self.copies, *reversed(self.grid)):
            steps.append((count, step) if count > 1 else (1, 0))
            step *= count
        copied, *along = steps
        return 0, tuple(reversed(along)), (copied,) if copied[0] > 1 else ()

    @property
    def _form(self) -> tuple[Any, ...] | None:
        """The rank of the first cell, and for each axis and for the copies the counts and steps of ranks.

        Equal for all equal seats that have it; ``None`` where ranks go round, or are listed.
        """
        members = self.members
        if not isinstance(members, range):
            return None
        first, along = members.start, []
        copied: list[tuple[int, int]] = []
        for number, digit in enumerate((*self.along, *self.copied)):
            if digit is None:
                along.append((1, 0))
                continue
            values = digit.values
            if not isinstance(values, range):
                return None
            first += members.step * digit.weight * values.start
            step = members.step * digit.weight * values.step
            count = len(values)
            if number < len(self.along):
                along.append((count, step if count > 1 else 0))
            elif count > 1:
                if copied and copied[-1][1] == step * count:  # two digits that count on
                    count *= copied.pop()[0]
                copied.append((count, step))
        return first, tuple(along), tuple(copied)

    @property
    def samples(self) -> tuple[int, ...]:
        """Some of the ranks, at places that equal seats share; all ranks if they are few."""
        grid, copies = self.grid, self.copies
        cells, copy = np.divmod(np.array(evenly(prod(grid) * copies), np.int64), copies)
        places = []
        for count in reversed(grid):
            cells, place = np.divmod(cells, count)
            places.append(place)
        ranks: list[int] = self.ranks_of(places[::-1], copy).reshape(-1).tolist()
        return tuple(ranks)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Seats):
            return NotImplemented
        mine, theirs = self._form, other._form
        if mine is not None and theirs is not None:
            return mine == theirs
        if (self.grid, self.copies) != (other.grid, other.copies):
            return False
        orders = self.members, other.members
        if all(isinstance(order, NodeOrder) for order in orders) and orders[0] == orders[1]:
            same = (self.along, self.copied) == (other.along, other.copied)
            if same:
                return True
        if hash(self) != hash(other):
            return False
        return bool((self.table() == other.table()).all())

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.grid, self.copies, self.samples))
        return self._hash

    def table(self) -> Indices:
        """All ranks as an array: one dimension for each axis, and one for copies."""
        grid = self.grid
        numbers: Any = np.zeros((1,) * (len(grid) + 1), np.int64)
        for axis, digit in enumerate(self.along):
            if digit is not None:
                shape = [1] * (len(grid) + 1)
                shape[axis] = -1
                values = np.asarray(digit.values, np.int64) * digit.weight
                numbers = numbers + values.reshape(shape)
        copied: Any = np.zeros(1, np.int64)
        for digit in self.copied:
            values = np.asarray(digit.values, np.int64) * digit.weight
            copied = (copied[:, None] + values).reshape(-1)
        ranks: Indices = _taken(self.members, numbers + copied)
        return ranks


class Holders(ComputedSequence[int]):
    """The ranks of a cell, where they form no range."""

    __slots__ = ("_cell", "_count", "_seats")

    def __init__(self, seats: Seats, cell: tuple[int, ...]) -> None:
        self._seats, self._cell, self._count = seats, cell, seats.copies

    def __len__(self) -> int:
        return self._count

    def item(self, place: int) -> int:
        return self._seats.rank(self._cell, place)

    def place(self, rank: Any) -> int | None:
        seat = self._seats.seat(rank)
        return seat[1] if seat is not None and seat[0] == self._cell else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def _products(numbers: range | None, digit: Digit) -> range | None:
    """The sums of ``numbers`` and the weighted values of a digit as a range; ``None`` where they form none."""
    values = digit.values
    if numbers is None or not isinstance(values, range):
        return None
    count = len(numbers)
    first, step = numbers.start + digit.weight * values.start, digit.weight * values.step
    if count == 1 or len(values) == 1:
        step = step if count == 1 else numbers.step
    elif step == numbers.step * count:
        step = numbers.step
    else:
        return None
    return range(first, first + step * count * len(values), step)
