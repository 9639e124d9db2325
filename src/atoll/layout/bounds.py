"""Block bounds in closed form: the start of each block of an axis, at a cost that does not grow with the number of blocks.

Even blocks and blocks of equal width follow from a few integers, and so do the blocks of any slice of such an axis. Code that reads
some of the bounds computes only these. Bounds that a program lists are tuples. Both are sequences, and
equal ones compare equal. Padding is similar: one pair of widths serves all blocks but the first and the last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter, sub
from typing import Any, overload

import numpy as np

from .. import policy
from .index_set import ComputedSequence, Indices

Widths = tuple[int, int]


@dataclass(slots=True, eq=False, repr=False)
class Bounds(Sequence[int]):
    """The bounds of blocks of ``width`` elements; the first ``longer`` blocks have ``more`` additional elements.

    The blocks cut ``range(size)``. ``selected`` is the part of it that the axis has, in its order: all of it, or a slice.
    Blocks come in the order of ``selected``.
    """

    width: int
    longer: int
    size: int
    blocks: int
    selected: range | None = None
    """``None``: all."""
    more: int = 1

    def __len__(self) -> int:
        return self.blocks + 1

    @overload
    def __getitem__(self, number: int) -> int: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[int, ...]: ...
    def __getitem__(self, number: int | slice) -> int | tuple[int, ...]:
        blocks = self.blocks
        if isinstance(number, slice):
            return tuple(self.starts(np.arange(*number.indices(blocks + 1))).tolist())
        if number < 0:
            number += blocks + 1
        if not 0 <= number <= blocks:
            raise IndexError(f"bound {number} of {blocks} blocks: there are bounds 0 to {blocks}")
        selected = self.selected
        if selected is None:
            return min(number * self.width + min(number, self.longer) * self.more, self.size)
        start, step, count = selected.start, selected.step, len(selected)
        if (
            step < 0
        ):  # the blocks come in the opposite order; a cut counts the elements not below a bound
            number = blocks - number
        bound = min(number * self.width + min(number, self.longer) * self.more, self.size)
        cut = -((start - bound) // step) if step > 0 else -((start - bound + 1) // step)
        return 0 if cut < 0 else count if cut > count else cut

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Indices:
        bounds = self.starts(np.arange(self.blocks + 1))
        return bounds if dtype is None else bounds.astype(dtype, copy=False)

    def starts(self, numbers: Indices) -> Indices:
        """The bounds at an array of numbers."""
        selected = self.selected
        if selected is not None and selected.step < 0:
            numbers = self.blocks - numbers
        starts: Indices = np.minimum(numbers, self.longer) * self.more
        starts += numbers * self.width
        np.minimum(starts, self.size, out=starts)
        if selected is None:
            return starts
        starts -= selected.start + (1 if selected.step < 0 else 0)
        np.negative(starts, out=starts)
        np.floor_divide(starts, selected.step, out=starts)
        np.negative(starts, out=starts)
        return np.clip(starts, 0, len(selected), out=starts)

    def block(self, index: int) -> int:
        """The block that has an index; -1 before the first one, and the number of blocks after the last."""
        if index < 0:
            return -1
        selected, longer, width = self.selected, self.longer, self.width
        if index >= (self.size if selected is None else len(selected)):
            return self.blocks
        if selected is not None:
            index = selected[index]
        if index < longer * (width + self.more):
            block = index // (width + self.more)
        else:
            block = (index - longer * self.more) // width
        return block if selected is None or selected.step > 0 else self.blocks - 1 - block

    def locate(self, given: Indices, blocks: Indices, local: Indices) -> None:
        """The block and the place in it of an array of indices, all of which are in range."""
        if self.blocks <= policy.limits.pieces:  # comparisons take less time than divisions
            starts = np.asarray(self)
            blocks[...] = 0
            for start in starts[1:-1]:
                np.add(blocks, given >= start, out=blocks)
            np.subtract(given, starts[blocks], out=local)
            return
        selected, longer, width = self.selected, self.longer, self.width
        base = given if selected is None else given * selected.step + selected.start
        # Exact: the first quotient is right in the longer blocks and never too large after them, the second is right after them and
        # never too large in them.
        more = self.more
        np.floor_divide(base, width + more if longer else width, out=blocks)
        if longer and width:
            np.maximum(blocks, (base - longer * more) // width, out=blocks)
        if selected is None:
            np.multiply(blocks, width, out=local)
            if longer:
                local += np.minimum(blocks, longer) * more
            np.subtract(given, local, out=local)
            return
        if selected.step < 0:
            np.subtract(self.blocks - 1, blocks, out=blocks)
        np.subtract(given, self.starts(blocks), out=local)

    def cut(self, selected: range) -> Bounds:
        """The bounds of a slice of the axis; for a negative step, of its blocks in the opposite order."""
        held = self.selected
        if held is not None:
            first = held.start + selected.start * held.step
            step = selected.step * held.step
            selected = range(first, first + len(selected) * step, step)
        is_all = selected.step == 1 and selected.start == 0 and len(selected) == self.size
        part = None if is_all else selected
        return Bounds(self.width, self.longer, self.size, self.blocks, part, self.more)

    def _with(self, selected: range | None, times: int = 1) -> Bounds:
        """The same blocks, each ``times`` times as long, with another selection."""
        width, size, more = times * self.width, times * self.size, times * self.more
        return Bounds(width, self.longer, size, self.blocks, selected, more)

    def scaled(self, times: int) -> Sequence[int]:
        """Each bound multiplied by ``times``."""
        selected = self.selected
        if selected is None:
            return self._with(None, times)
        if selected.step == 1:
            return self._with(range(selected.start * times, selected.stop * times), times)
        return tuple((np.asarray(self) * times).tolist())

    @property
    def longest(self) -> int:
        """The length of the longest block; of slices with a stride, at most one more than it."""
        width = self.width + (self.more if self.longer else 0)
        if self.selected is None:
            return min(width, self.size)
        if not self.selected:
            return 0
        first, last = self.block(0), self.block(len(self.selected) - 1)
        some = {first, min(first + 1, last), max(last - 1, first), last}
        longest = max([self[block + 1] - self[block] for block in some])
        step = abs(self.selected.step)
        return longest if step == 1 or last - first < 4 else max(longest, -(-width // step))

    def _breaks(self) -> list[int]:
        """The numbers of bounds between which the bounds grow evenly, except for the rounding of a stride."""
        selected, last = self.selected, self[self.blocks]
        breaks = [self.longer, self._with(None).block(self.size - 1) + 1]
        if selected is not None and selected.step < 0:
            breaks = [self.blocks - number for number in breaks]
        ends = [self.block(0), self.block(last - 1) + 1] if last else []
        return [0, *breaks, *ends, self.blocks]

    def _equals(self, other: Bounds) -> bool:
        """True if two sequences of equally many bounds are equal: where they grow evenly, one period of the strides decides."""
        period = 1
        for bounds in (self, other):
            period *= 1 if bounds.selected is None else abs(bounds.selected.step)
        around = np.arange(-period - 2, period + 3)
        breaks = [*self._breaks(), *other._breaks()]
        if len(breaks) * around.size < self.blocks:
            numbers = np.clip(np.add.outer(breaks, around).reshape(-1), 0, self.blocks)
        else:
            numbers = np.arange(self.blocks + 1)
        return bool((self.starts(numbers) == other.starts(numbers)).all())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Bounds | tuple):
            return NotImplemented
        if len(other) != len(self) or samples(self) != samples(other):
            return False
        if isinstance(other, Bounds):
            return _form(self) == _form(other) or self._equals(other)
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(samples(self))

    def __iter__(self) -> Any:
        return iter(np.asarray(self).tolist())

    def __repr__(self) -> str:
        return repr(tuple(self))


_form = attrgetter("width", "longer", "more", "size", "blocks", "selected")


def evenly(count: int) -> Sequence[int]:
    """Evenly spaced numbers of ``range(count)``, the first and the last among them; all numbers if they are few."""
    most = policy.limits.numbers
    if count <= most:
        return range(count)
    return [(count - 1) * k // (most - 1) for k in range(most)]


def samples(bounds: Sequence[int]) -> tuple[int, ...]:
    """Some of the bounds, at positions that equal sequences share."""
    last = len(bounds) - 1
    first = bounds[1 if last else 0]
    return last, bounds[last], first if last < 3 else bounds[(last + 1) // 2], first


def balanced_bounds(size: int, processes: int) -> Sequence[int]:
    """Bounds of blocks that differ by one element at most, the longer ones first."""
    if processes == 1:
        return (0, size)
    return Bounds(*divmod(size, processes), size, processes)


def ceiling_bounds(size: int, processes: int) -> Sequence[int]:
    """Bounds of blocks of ``ceil(size / processes)``; the last ones may be short or empty."""
    return (0, size) if processes == 1 else Bounds(-(-size // processes), 0, size, processes)


def is_even(bounds: Sequence[int]) -> bool:
    """True if blocks differ by one element at most, the longer ones first."""
    return bounds == balanced_bounds(bounds[-1], len(bounds) - 1)


def block_of(bounds: Sequence[int], index: int, low: int = 0) -> int:
    """The block that has an index, -1 before the first, the number of blocks after the last; the search begins at block ``low``."""
    if type(bounds) is Bounds:
        return bounds.block(index)
    return bisect_right(bounds, index, low) - 1


def cut_bounds(bounds: Sequence[int], selected: range) -> Sequence[int]:
    """The bounds of a slice of an axis; for a negative step, of its blocks in the opposite order."""
    if type(bounds) is Bounds:
        return bounds.cut(selected)
    count, start, step = len(selected), selected.start, selected.step
    if step < 0:
        bounds = [bound - 1 for bound in bounds[::-1]]
    return tuple([min(max(-((start - bound) // step), 0), count) for bound in bounds])


def filled_blocks(bounds: Sequence[int]) -> Sequence[int]:
    """The blocks that have elements, ascending."""
    last = bounds[-1]
    if not last:
        return ()
    if type(bounds) is Bounds and (
        bounds.selected is None or abs(bounds.selected.step) <= max(bounds.width, 1)
    ):
        return range(bounds.block(0), bounds.block(last - 1) + 1)
    return [k for k, (low, high) in enumerate(pairwise(bounds)) if low < high]


def scaled_bounds(bounds: Sequence[int], times: int) -> Sequence[int]:
    """Each bound multiplied by ``times``."""
    if type(bounds) is Bounds:
        return bounds.scaled(times)
    return tuple([times * bound for bound in bounds])


def longest_block(bounds: Sequence[int]) -> int:
    """The length of the longest block."""
    if type(bounds) is Bounds:
        return bounds.longest
    longest: int = max(map(sub, bounds[1:], bounds))
    return longest


class Halos(ComputedSequence[Widths]):
    """The same widths beside every block but the first and the last."""

    __slots__ = ("_blocks", "_ends", "_middle")

    def __init__(self, first: Widths, middle: Widths, last: Widths, blocks: int) -> None:
        self._ends, self._middle, self._blocks = (first, last), middle, blocks

    def __len__(self) -> int:
        return self._blocks

    def item(self, place: int) -> Widths:
        if place == 0:
            return self._ends[0]
        return self._ends[1] if place == self._blocks - 1 else self._middle

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Halos):
            return (self._ends, self._middle, self._blocks) == (
                other._ends, other._middle, other._blocks,
            )  # fmt: skip
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash((self._blocks, self._ends[0]))
