"""Process grids: ranks in rows and columns, and messages along a row or a column by trees.

Factorisations divide a matrix block-cyclically over a grid of ranks. The parts of a panel that a step needs then go along one row
of ranks or down one column, so that a rank takes part in messages with about ``2 * sqrt(size)`` others instead of all,
and receives about ``n**2 / sqrt(size)`` elements in a factorisation of ``n`` rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isqrt
from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator, Request
from ..config import config
from ..context import statistics
from ..context.caches import remembered
from ..exchange.messages import exchange, post
from ..layout import Cyclic, Layout
from .movement import redistributed
from .section import Section

Array = np.ndarray[Any, Any]
_BLOCKS, _ROWS = 4, 512


class Heights:
    """The numbers of rows at the places of a line before each level of a binary tree, which keeps at most ``most`` rows of any two.

    ``below(place)`` is the number of rows at all places before one, of a line of ``length`` places.
    """

    __slots__ = ("_below", "_length", "_most", "levels")

    def __init__(self, below: Callable[[int], int], length: int, most: int) -> None:
        self._below, self._length, self._most = below, length, most
        self.levels = range((length - 1).bit_length())

    def at(self, level: int, place: int) -> int:
        """The number of rows at a place that takes part in a level."""
        stop = min(place + (1 << level), self._length)
        return min(self._below(stop) - self._below(place), self._most)


class Line:
    """An ordered set of ranks, from the view of one of them. All of these ranks, and no others, call each method."""

    __slots__ = ("communicator", "place", "ranks")

    def __init__(self, communicator: Communicator, ranks: Sequence[int]) -> None:
        self.communicator = communicator
        self.ranks = ranks
        self.place = ranks.index(communicator.rank)
        """The place of this rank."""

    def __len__(self) -> int:
        return len(self.ranks)

    def share(self, array: Array, root: int, what: str) -> Array:
        """Fill ``array`` by that of the rank at place ``root``, and return it."""
        Sharing(self, array, root, what).finish()
        return array

    def gather(self, part: Array, counts: Sequence[int] | None, what: str) -> Array:
        """Gather the rows of all ranks in order, as many from each as in ``counts``, in ``log2`` rounds.

        ``None``: as many from each as from this rank, one at least.
        """
        size, place = len(self), self.place
        ends: Sequence[int] = range(0, size * len(part) + 1, max(len(part), 1))
        if counts is not None:
            ends = np.cumsum([0, *counts[place:], *counts[:place]]).tolist()
        held, step = np.ascontiguousarray(part), 1
        while step < size:
            few = min(step, size - step)
            arriving = np.empty((ends[step + few] - ends[step], *part.shape[1:]), part.dtype)
            # The rank ``step`` places before this one receives the rows of its own places ``step`` to ``step + few``.
            self.message(held[: ends[few]], place - step, arriving, place + step, what)
            held = np.concatenate([held, arriving])
            step += few
        first = ends[size - place]
        return np.concatenate([held[first:], held[:first]]) if place else held

    def upwards(
        self,
        part: Array,
        heights: Heights,
        join: Callable[[int, Array], Array],
        what: str,
    ) -> Array:
        """Combine rows by a binary tree: place 0 returns the rows of all ranks, other places the rows that they had last.

        ``join(level, rows)`` combines the rows of two ranks, one below the other.
        """
        for level in heights.levels:
            step = 1 << level
            if self.place % (2 * step) == step:
                if heights.at(level, self.place):
                    self.message(part, self.place - step, None, 0, what)
                continue
            source = self.place + step
            if self.place % (2 * step) == 0 and source < len(self) and heights.at(level, source):
                arriving = np.empty((heights.at(level, source), *part.shape[1:]), part.dtype)
                self.message(None, 0, arriving, source, what)
                part = join(level, np.concatenate([part, arriving]))
        return part

    def sum(self, part: Array, what: str) -> Array:
        """The sum over all ranks, in one order, so that each has the same bits; ``part`` may be overwritten."""
        part, step = np.ascontiguousarray(part), 1
        while step < len(self):
            if self.place % (2 * step) == step:
                self.message(part, self.place - step, None, 0, what)
            elif self.place % (2 * step) == 0 and self.place + step < len(self):
                arriving = np.empty_like(part)
                self.message(None, 0, arriving, self.place + step, what)
                part += arriving
            step *= 2
        return self.share(part, 0, what)

    def collect(self, part: Array, counts: Sequence[int], root: int, what: str) -> Array | None:
        """The rows of all ranks in order on the rank at place ``root``; ``None`` elsewhere."""
        if self.place != root:
            self.message(part, root, None, 0, what)
            return None
        ends = np.cumsum([0, *counts]).tolist()
        whole = np.empty((ends[-1], *part.shape[1:]), part.dtype)
        whole[ends[root] : ends[root + 1]] = part
        pieces = {
            rank: whole[ends[k] : ends[k + 1]]
            for k, rank in enumerate(self.ranks)
            if k != root and counts[k] and whole.size
        }
        exchange(self.communicator, {}, pieces, what)
        return whole

    def message(
        self, going: Array | None, to: int, arriving: Array | None, source: int, what: str
    ) -> None:
        """One message to a place and one from a place; empty arrays are not sent."""
        outgoing, incoming = {}, {}
        if going is not None and going.size:
            outgoing[self.ranks[to % len(self)]] = np.ascontiguousarray(going)
        if arriving is not None and arriving.size:
            incoming[self.ranks[source % len(self)]] = arriving
        exchange(self.communicator, outgoing, incoming, what)


class Sharing:
    """An array on its way from one rank of a line to the others by a binomial tree.

    The root's messages leave at once, so other work of all ranks goes on until :meth:`finish`, where a rank waits for the array
    and sends it on. The array must not change until then.
    """

    __slots__ = ("_array", "_children", "_communicator", "_requests", "_waits", "_what")

    def __init__(self, line: Line, array: Array, root: int, what: str) -> None:
        size = len(line)
        number = (line.place - root) % size
        bit = number & -number if number else 1 << max(size - 1, 0).bit_length()
        self._communicator, self._what = line.communicator, what
        self._array = array
        self._waits = bool(number)
        self._children: list[int] = []
        self._requests: list[Request] = []
        if not array.size:
            return
        if number:
            parent = line.ranks[(number - bit + root) % size]
            self._communicator.log.check(what)
            self._requests = post(self._communicator, [(array, parent, 0, what)], [])
        while bit := bit >> 1:
            if number + bit < size:
                self._children.append(line.ranks[(number + bit + root) % size])
        if not self._waits:
            self._send()

    def _send(self) -> None:
        if self._children:
            statistics.sent(len(self._children), len(self._children) * self._array.nbytes)
            sends = [(self._array, child, 0, self._what) for child in self._children]
            self._requests += post(self._communicator, [], sends)

    def finish(self) -> Array:
        """Wait for the array, send it on, and return it."""
        if self._waits:
            self._communicator.wait_all(self._requests)
            self._send()
        self._communicator.wait_all(self._requests)
        return self._array


@remembered
def process_grid(size: int, shape: tuple[int, int] = (1, 1)) -> tuple[int, int]:
    """The rows and columns of ranks over which a matrix is divided: in its proportions as far as that leaves out few ranks."""
    rows, columns = shape
    for count in range(min(size, isqrt(size * columns // max(rows, 1))), 1, -1):
        if size % count <= size >> 4:
            return size // count, count
    return size, 1


class GridMatrix:
    """This rank's part of a matrix in blocks of ``height`` rows and ``width`` columns, distributed in turns over a process grid.

    A rank outside the grid has no elements; it takes part only in the operations of all ranks.
    """

    __slots__ = (
        "block", "column_line", "columns", "communicator", "grid", "layout", "place", "row_line", "rows", "sizes", "width",
    )  # fmt: skip

    def __init__(
        self, section: Section, grid: tuple[int, int], width: int, height: int = 0
    ) -> None:
        communicator = self.communicator = section.communicator
        self.width = width
        self.grid = grid
        self.sizes = height or width, width
        """The rows and columns of a block."""
        self.layout = block_cyclic(section.shape, grid, self.sizes, communicator.size)
        moved = redistributed(section, self.layout).block
        owned = moved.copy() if np.may_share_memory(moved, section.block) else moved
        self.block = np.ascontiguousarray(owned)
        """This rank's block, in memory of its own."""
        self.rows, self.columns = (part.array() for part in self.layout.region(communicator.rank))
        """The global numbers of its rows and columns."""
        self.place = divmod(communicator.rank, grid[1])
        """The row and the column of this rank in the grid."""
        if self.is_member:
            row, column = self.place
            first = row * grid[1]
            self.row_line = Line(communicator, range(first, first + grid[1]))
            self.column_line = Line(communicator, range(column, grid[0] * grid[1], grid[1]))

    def panels(self) -> Iterator[tuple[int, int]]:
        """The first column of each panel, and the one behind its last."""
        length = min(self.layout.shape)
        for start in range(0, length, self.width):
            yield start, min(start + self.width, length)

    def held_columns(self, start: int, stop: int) -> slice:
        """The columns of a panel in this rank's block."""
        return slice(*np.searchsorted(self.columns, (start, stop)).tolist())

    def homes(self, indices: Array, axis: int) -> Array:
        """The row or the column of the grid that has each of these rows or columns of the matrix."""
        return indices // self.sizes[axis] % self.grid[axis]

    @property
    def is_member(self) -> bool:
        """True if this rank is in the grid."""
        return self.place[0] < self.grid[0]

    def owner(self, index: int, axis: int) -> int:
        """The row of the grid that has a row of the matrix, or the column that has a column of it."""
        return index // self.sizes[axis] % self.grid[axis]

    def heights(self, start: int, most: int) -> Heights:
        """The heights for the rows of the matrix from ``start`` on, in this rank's column of the grid."""
        height, count = self.sizes[0], self.grid[0]

        def dealt(rows: int, places: int) -> int:
            turns, rest = divmod(rows, height * count)
            return turns * places * height + min(rest, places * height)

        rows = self.layout.shape[0]
        return Heights(lambda places: dealt(rows, places) - dealt(start, places), count, most)

    def owners(self, indices: Array, axis: int) -> Array:
        """The number of these rows or columns of the matrix in each row or column of the grid."""
        return np.bincount(self.homes(indices, axis), minlength=self.grid[axis])

    def gathered(self, part: Array, rows: Array, what: str) -> Array:
        """Rows of the matrix, of which each rank of this column of the grid has a ``part``, in the order of their numbers."""
        homes = self.homes(rows, 0)
        counts = np.bincount(homes, minlength=self.grid[0]).tolist()
        gathered = self.column_line.gather(part, counts, what)
        ordered = np.empty_like(gathered)
        ordered[np.argsort(homes, kind="stable")] = gathered
        return ordered

    @property
    def section(self) -> Section:
        """The block as a section."""
        return Section(self.block, self.layout, self.communicator)

    def everyone(self) -> Line:
        """All ranks, those outside of the grid included."""
        return Line(self.communicator, range(self.communicator.size))


def is_better_whole(shape: tuple[int, int], times: float, dtype: np.dtype[Any], size: int) -> bool:
    """True if every rank should have a matrix as a whole and factor it by LAPACK, as that is expected to take less time.

    The number of LAPACK's operations is ``times`` the product of the longer extent and the square of the shorter one.
    """
    rows, columns = shape
    elements, shorter = rows * columns, min(shape)
    nbytes = elements * dtype.itemsize
    if elements > policy.limits.whole or nbytes > config.gather_bytes:
        return False
    operations = times * elements * shorter * (4 if dtype.kind == "c" else 1)
    return policy.factored_alone(shorter, operations, nbytes, size)


def panel_width(shape: tuple[int, int], grid: tuple[int, int]) -> int:
    """The width of the blocks of a matrix that is distributed over a grid: each rank gets several blocks."""
    fitting = min(extent // (_BLOCKS * count) for extent, count in zip(shape, grid, strict=True))
    return max(1, min(policy.limits.panel, fitting))


def block_cyclic(
    shape: tuple[int, ...], grid: tuple[int, int], sizes: tuple[int, int], size: int
) -> Layout:
    """Blocks of some rows and columns, to the rows and columns of a grid in turn."""
    return Layout(shape, tuple(map(Cyclic, sizes)), grid=grid, size=size)


def take_off(block: Array, left: Array, right: Array) -> None:
    """Subtract a product from a block, some rows at a time: without a second block of its size."""
    for start in range(0, len(block), _ROWS):
        block[start : start + _ROWS] -= left[start : start + _ROWS] @ right
