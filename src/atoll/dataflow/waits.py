"""The sets of receives, by class, that the computations of a graph wait for; see ``partition``.

A set is represented by a number, and equal sets have equal numbers. A set is a binary tree over a range of integers whose
leaves are bit masks, and equal subtrees are stored once. So a set that differs from another by one element takes memory that
grows with the logarithm of the range, not with the range, and a union visits only the subtrees in which its operands differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import policy
from ..graph.node import Node
from ..lazy.deferred import Call

_LEAF = 256
"""Number of integers of one leaf."""

EMPTY = 0


class Sets:
    """Sets of non-negative integers below ``limit``."""

    __slots__ = ("_counts", "_height", "_known", "_trees", "_unions")

    def __init__(self, limit: int) -> None:
        self._height = (max(limit - 1, 0) // _LEAF).bit_length()
        self._trees: list[Any] = [None]
        """By number, the bit mask of a leaf, or the numbers of two subtrees."""
        self._counts = [0]
        self._known: dict[Any, int] = {}
        self._unions: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        """The number of stored trees and subtrees, the empty one included."""
        return len(self._trees)

    def _number(self, tree: Any, count: int) -> int:
        number = self._known.setdefault(tree, len(self._trees))
        if number == len(self._trees):
            self._trees.append(tree)
            self._counts.append(count)
        return number

    def single(self, element: int) -> int:
        """The set of one integer."""
        leaf, place = divmod(element, _LEAF)
        number = self._number(1 << place, 1)
        for level in range(self._height):
            pair = (EMPTY, number) if leaf >> level & 1 else (number, EMPTY)
            number = self._number(pair, 1)
        return number

    def union(self, first: int, second: int) -> int:
        """The union of two sets."""
        if first == second or second == EMPTY:
            return first
        if first == EMPTY:
            return second
        key = (first, second) if first < second else (second, first)
        known = self._unions.get(key)
        if known is None:
            left, right = self._trees[first], self._trees[second]
            if type(left) is int:
                known = self._number(left | right, (left | right).bit_count())
            else:
                low, high = self.union(left[0], right[0]), self.union(left[1], right[1])
                known = self._number((low, high), self._counts[low] + self._counts[high])
            self._unions[key] = known
        return known

    def count(self, number: int) -> int:
        """The number of elements of a set."""
        return self._counts[number]

    def includes(self, number: int, other: int) -> bool:
        """True if a set includes all elements of another."""
        return self.union(number, other) == number


Operands = Callable[[Node], Iterator[Node]]
"""Function that yields the operands of a node that have no value yet; holders and tags are resolved."""


class Waits:
    """The wait set of each node that depends on a receive; ``order`` has operands first."""

    __slots__ = ("_ends", "_operands", "_order", "of", "sets")

    def __init__(
        self,
        order: Sequence[Node],
        operands: Operands,
        receives: Sequence[Node],
        ends: Sequence[Node],
    ) -> None:
        self._operands = operands
        self.of: dict[int, int] = dict.fromkeys(map(id, receives), EMPTY)
        for node in order:
            if any(id(operand) in self.of for operand in operands(node)):
                self.of[id(node)] = EMPTY
        self._order = [node for node in order if id(node) in self.of]
        self._ends = dict.fromkeys(id(node) for node in ends if id(node) in self.of)
        classes = self._classes(receives)
        self.sets = sets = Sets(len(set(classes)))
        leaves = {
            id(node): sets.single(number) for node, number in zip(receives, classes, strict=True)
        }
        for node in self._order:
            here = leaves.get(id(node), EMPTY)
            for operand in operands(node):
                here = sets.union(here, self.of.get(id(operand), EMPTY))
            self.of[id(node)] = here
        self._join([node for node in self._order if id(node) not in leaves])

    def _classes(self, receives: Sequence[Node]) -> list[int]:
        """Number the classes of receives by first appearance; receives that feed the same ends are one class."""
        sets = Sets(len(self._ends))
        fed = dict.fromkeys(self.of, EMPTY)
        fed.update((end, sets.single(number)) for number, end in enumerate(self._ends))
        for node in reversed(self._order):
            here = fed[id(node)]
            for operand in self._operands(node):
                if id(operand) in fed:
                    fed[id(operand)] = sets.union(fed[id(operand)], here)
        numbers: dict[int, int] = {}
        return [numbers.setdefault(fed[id(node)], len(numbers)) for node in receives]

    def _join(self, computed: Sequence[Node]) -> None:
        """Merge small groups, which only later parts read, into the groups of their readers.

        The groups that wait for most come first, so that the readers of a group have their final sets.
        """
        groups: dict[int, list[Node]] = {}
        for node in computed:
            groups.setdefault(self.of[id(node)], []).append(node)
        readers: dict[int, int | None] = {}
        for group in sorted(groups, key=self.sets.count, reverse=True):
            self.of.update(self._joined(groups[group], readers))
            for node in groups[group]:
                for operand in self._operands(node):
                    self._read(readers, operand, self.of[id(node)])

    def _joined(self, nodes: Sequence[Node], readers: Mapping[int, int | None]) -> dict[int, int]:
        """The new sets of all nodes of a group; empty if one of them must stay, or if the group is large enough for a part."""
        if any(id(node) in self._ends or _is_call(node) for node in nodes):
            return {}
        if sum(node.geometry.size for node in nodes) > policy.limits.small:
            return {}
        least = {id(node): readers[id(node)] for node in nodes if id(node) in readers}
        joined: dict[int, int] = {}
        for node in reversed(nodes):
            reader = least[id(node)]
            if reader is None:
                return {}
            joined[id(node)] = reader
            for operand in self._operands(node):
                self._read(least, operand, reader)
        return joined

    def _read(self, readers: dict[int, int | None], operand: Node, reader: int) -> None:
        """Add a reader of an operand to ``readers``: its readers' least set, or ``None`` if no set is within all others."""
        known = readers.setdefault(id(operand), reader)
        if known is not None and not self.sets.includes(reader, known):
            readers[id(operand)] = reader if self.sets.includes(known, reader) else None


def _is_call(node: Node) -> bool:
    """True if a call of NumPy, of unknown duration, computes a node."""
    return node.op.is_deferred and isinstance(node.params[0], Call)
