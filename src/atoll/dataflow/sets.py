"""Sets of small integers that share equal subtrees.

A set is represented by a number, and equal sets have equal numbers. A set is a binary tree over a range of integers whose
leaves are bit masks, and equal subtrees are stored once. So a set that differs from another by one element takes memory that
grows with the logarithm of the range, not with the range, and a union visits only the subtrees in which its operands differ.
"""

from __future__ import annotations

from typing import Any

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
