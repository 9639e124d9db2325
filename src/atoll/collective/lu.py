"""LU factors of matrices on a process grid, and the solutions of equations.

The matrix is factored in panels of a few columns, from left to right. The ranks of a panel's column of the grid choose its
pivot rows by a tournament: each takes the best of its rows by partial pivoting, then pairs of ranks choose among theirs.
Rows do not change places between ranks: a rank moves its pivot rows before the others of its block, and ``order`` says which
rows they are. The panel travels along the rows of the grid while the ranks do updates that do not need it, and the pivot
rows are gathered down the columns.

Right sides are further columns of the matrix, so that the factorisation leaves ``inv(L) @ P @ b`` there. The upper triangle
is solved from the last panel to the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .process_grid import (
    GridMatrix,
    Heights,
    Line,
    Sharing,
    panel_width,
    process_grid,
    take_off,
)
from .section import Section, empty

Array = np.ndarray[Any, Any]
_NARROW = 8
_WHAT = "a panel of LU factors"


class Factors:
    """The factors of a square matrix, and the right sides as ``inv(L) @ P @ b``.

    ``order`` has the rows of the matrix in the order in which they were pivots; all ranks have it.
    """

    __slots__ = ("_active", "_rows", "_singular", "beside", "block", "matrix", "order")

    def __init__(self, section: Section, right: Section | None = None) -> None:
        """Factor. Collective."""
        length, size = section.shape[0], section.communicator.size
        grid = process_grid(size)
        self.matrix = matrix = GridMatrix(section, grid, panel_width((length, length), grid))
        self.block = matrix.block
        self.beside: GridMatrix | None = None
        if right is not None:
            self.beside = GridMatrix(right, grid, matrix.width)
            self.block = np.concatenate([matrix.block, self.beside.block], axis=1)
        self.order = np.zeros(length, np.int64)
        self._singular = np.zeros(1, np.int64)
        self._rows = matrix.rows.copy()
        """The global numbers of this rank's rows, as they lie in its block now."""
        self._active = matrix.owners(np.arange(length), 0)
        """The number of rows in each row of the grid that have not been pivots."""
        if matrix.is_member:
            with np.errstate(all="ignore"):
                self._factor()
        everyone = matrix.everyone()
        everyone.share(self._singular, 0, "whether a matrix is singular")
        if grid[0] * grid[1] < size:
            everyone.share(self.order, 0, "the order of pivots")

    @property
    def is_singular(self) -> bool:
        """True if a pivot was zero."""
        return bool(self._singular[0])

    @property
    def sign(self) -> int:
        """The sign of the order of rows; 0 if the matrix is singular."""
        if self.is_singular:
            return 0
        swaps, followed = 0, self.order.tolist()
        for k, row in enumerate(followed):
            while row != k:
                followed[k], followed[row] = followed[row], row
                swaps, row = swaps + 1, followed[k]
        return -1 if swaps % 2 else 1

    def _factor(self) -> None:
        done, length = 0, len(self.order)
        under_way = self._panel(0, done)
        for start, stop in self.matrix.panels():
            pivots, panel = (each.finish() for each in under_way)
            pivots = pivots[:, 0] + np.arange(start, stop)
            width, column = stop - start, self.matrix.held_columns(start, stop)
            self.order[start:stop] = pivots
            top, below = panel[:width], panel[width:]
            self._singular[0] = bool((top.diagonal() == 0).any())
            if self._singular[0]:
                return
            self._active -= self.matrix.owners(pivots, 0)
            homes = self.matrix.homes(pivots, 0)
            mine = pivots[homes == self.matrix.place[0]]
            places = np.argsort(self._rows[done:])
            chosen = places[np.searchsorted(self._rows[done:], mine, sorter=places)]
            for part in (self._rows[done:], self.block[done:], below):
                _to_front(part, chosen)
            moved, below = slice(done, done + len(mine)), below[len(mine) :]
            done = moved.stop
            local = np.flatnonzero(homes == self.matrix.place[0])
            if column.start < column.stop:
                self.block[moved, column] = top[local]
                self.block[done:, column] = below
            rest = self.block[:, column.stop :]
            across = self.matrix.gathered(rest[moved], pivots, _WHAT)
            lower = np.tril(top, -1) + np.eye(width, dtype=top.dtype)
            across = np.linalg.solve(lower, across)
            rest[moved] = across[local]
            following = 0
            if stop < length:
                ahead = self.matrix.held_columns(stop, min(stop + self.matrix.width, length))
                following = ahead.stop - ahead.start
                take_off(rest[done:, :following], below, across[:, :following])
                under_way = self._panel(stop, done)
            take_off(rest[done:, following:], below, across[:, following:])

    def _panel(self, start: int, done: int) -> tuple[Sharing, Sharing]:
        """Choose the pivots of the panel from ``start`` on, and send them and this row's part of it along the row of the grid.

        The pivots are sent as their distance from the diagonal; the part is the factored pivot rows, then L for all rows that
        have not been pivots, those that now are included.
        """
        matrix = self.matrix
        stop = min(start + matrix.width, len(self.order))
        width, root = stop - start, matrix.owner(start, 1)
        panel = np.empty((width + len(self._rows) - done, width), self.block.dtype)
        pivots = np.empty((width, 1), np.int64)
        if matrix.place[1] == root:
            rows = self.block[done:, self.matrix.held_columns(start, stop)]
            top = panel[:width]
            chosen = _tournament(rows, self._rows[done:], self._active, matrix.column_line, top)
            if matrix.place[0] == 0:
                pivots[:, 0] = chosen - np.arange(start, stop)
            matrix.column_line.share(pivots, 0, _WHAT)
            matrix.column_line.share(top, 0, _WHAT)
            upper = np.triu(top)
            if upper.diagonal().all():
                panel[width:] = np.linalg.solve(upper.T, rows.T).T
        line = matrix.row_line
        return Sharing(line, pivots, root, _WHAT), Sharing(line, panel, root, _WHAT)

    def diagonal(self) -> Array:
        """The diagonal of U, on every rank. Collective."""
        values = np.zeros(len(self.order), self.block.dtype)
        if self.matrix.is_member:
            place = np.empty(len(self.order), np.int64)
            place[self.order] = np.arange(len(self.order))
            mine, columns = place[self._rows], self.matrix.columns
            at = np.searchsorted(columns, mine)
            held = np.flatnonzero(np.append(columns, -1)[at] == mine)
            values[mine[held]] = self.block[held, at[held]]
        return self.matrix.everyone().sum(values, "the diagonal of a factor")

    def solution(self) -> Section:
        """The solution for the right sides. Collective."""
        assert self.beside is not None
        matrix, beside = self.matrix, self.beside
        section = empty(beside.layout, self.block.dtype, matrix.communicator)
        if matrix.is_member:
            sides = self.block[:, len(matrix.columns) :]
            done = len(self._rows)
            for start, stop in reversed(list(self.matrix.panels())):
                done = self._substituted(start, stop, sides, done, section.block)
        return section

    def _substituted(self, start: int, stop: int, sides: Array, done: int, solution: Array) -> int:
        """Solve for the rows of a panel, and take them out of the equations above."""
        matrix, width = self.matrix, stop - start
        root, column = matrix.owner(start, 0), self.matrix.held_columns(start, stop)
        owners = matrix.homes(self.order[start:stop], 0)
        counts = np.bincount(owners, minlength=matrix.grid[0])
        before = done - int(counts[matrix.place[0]])
        upper = np.empty((done, width), self.block.dtype)
        upper[...] = self.block[:done, column] if column.start < column.stop else 0
        matrix.row_line.share(upper, matrix.owner(start, 1), _WHAT)
        line, part = (
            matrix.column_line,
            np.concatenate([upper[before:], sides[before:done]], axis=1),
        )
        arrived = line.collect(part, counts.tolist(), root, _WHAT)
        solved = np.empty((width, sides.shape[1]), self.block.dtype)
        if arrived is not None:
            both = np.empty_like(arrived)
            both[np.argsort(owners, kind="stable")] = arrived
            solved[...] = np.linalg.solve(np.triu(both[:, :width]), both[:, width:])
            first = start // matrix.width // matrix.grid[0] * matrix.width
            solution[first : first + width] = solved
        line.share(solved, root, _WHAT)
        take_off(sides[:before], upper[:before], solved)
        return before


def _to_front(rows: Array, chosen: Array) -> None:
    """Move chosen rows before the others, in their order; those that lay there take their places."""
    count = len(chosen)
    first = rows[chosen]
    replaced = np.setdiff1d(np.arange(count), chosen, assume_unique=True)
    rows[chosen[chosen >= count]] = rows[replaced]
    rows[:count] = first


def _tournament(rows: Array, numbers: Array, counts: Array, line: Line, top: Array) -> Array:
    """Choose the pivots of a panel: their numbers, and the factored pivot rows in ``top``, both at place 0 of the line.

    Every rank of the line has some ``rows`` of the panel with their ``numbers``; ``counts`` has the number of rows at each place.
    Rows are sent as bytes, each followed by its number.
    """
    width, end = rows.shape[1], rows.shape[1] * rows.itemsize
    candidates = np.empty((len(rows), end + 8), np.uint8)
    candidates[:, :end] = np.ascontiguousarray(rows).view(np.uint8)
    candidates[:, end:] = np.ascontiguousarray(numbers[:, None]).view(np.uint8)

    def best(level: int, candidates: Array) -> Array:
        panel = np.ascontiguousarray(candidates[:, :end]).view(rows.dtype)
        chosen = factored_panel(panel)[:width]
        top[: len(chosen)] = panel[:width]
        return candidates[chosen]

    ends = [0, *np.cumsum(counts).tolist()]
    heights = Heights(ends.__getitem__, len(line), width)
    chosen = line.upwards(best(0, candidates), heights, best, _WHAT)
    return np.ascontiguousarray(chosen[:, end:]).view(np.int64)[:, 0]


def factored_panel(panel: Array) -> Array:
    """Factor a few columns with partial pivoting in place, and return the order of the rows."""
    rows, columns = panel.shape
    if columns > _NARROW:
        return _by_halves(panel)
    order = list(range(rows))
    turned = np.ascontiguousarray(panel.T)  # in which a column lies in one piece
    for k in range(min(rows, columns)):
        pivot = k + int(np.abs(turned[k, k:]).argmax())
        if pivot != k:
            former = turned[:, k].copy()
            turned[:, k] = turned[:, pivot]
            turned[:, pivot] = former
            order[k], order[pivot] = order[pivot], order[k]
        if turned[k, k] != 0:
            column = turned[k, k + 1 :]
            column /= turned[k, k]
            turned[k + 1 :, k + 1 :] -= turned[k + 1 :, k, np.newaxis] * column
    panel[...] = turned.T
    return np.array(order, np.intp)


def _by_halves(panel: Array) -> Array:
    """Factor the left columns, then the remainder of the right ones."""
    half = panel.shape[1] // 2
    left, right = panel[:, :half], panel[:, half:]
    order = factored_panel(left)
    right[...] = right[order]
    count = min(half, len(panel))
    lower = np.tril(left[:count], -1)[:, :count] + np.eye(count, dtype=panel.dtype)
    right[:count] = np.linalg.solve(lower, right[:count])
    if len(panel) > half:
        right[half:] -= left[half:] @ right[:half]
        turned = factored_panel(right[half:])
        left[half:], order[half:] = left[half:][turned], order[half:][turned]
    return order
