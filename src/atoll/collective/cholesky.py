"""Cholesky factors of matrices on a process grid.

The matrix is factored in panels of a few columns, from left to right. The owner of a panel's corner factors it; the ranks of
its column of the grid take their rows of the panel from there, and send them along their rows of the grid. Each rank then
has the panel's rows for the rows of its own block, and gathers those for its columns down its column of the grid.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .process_grid import GridMatrix, Sharing, take_off

Array = np.ndarray[Any, Any]
_STRIPS = 4
_WHAT = "a panel of Cholesky factors"


def cholesky(matrix: GridMatrix) -> None:
    """Factor a Hermitian matrix in place, from its lower triangle; zeros above the diagonal. Collective."""
    failed = np.zeros(1, np.int64)
    if matrix.is_member:
        with np.errstate(all="ignore"):
            failed[0] = not _factored(matrix)
        matrix.block[matrix.rows[:, None] < matrix.columns] = 0
    if matrix.everyone().share(failed, 0, "whether a matrix is positive definite")[0]:
        raise np.linalg.LinAlgError("Matrix is not positive definite")


def _factored(matrix: GridMatrix) -> bool:
    """True if all pivots were positive, which all ranks of the grid know; else the factors are not complete."""
    length = matrix.layout.shape[0]
    under_way = _panel(matrix, 0)
    for start, stop in matrix.panels():
        panel = under_way.finish()
        if np.isnan(panel[0, 0]):
            return False
        if stop == length:
            break
        below = int(np.searchsorted(matrix.rows, stop))
        right = int(np.searchsorted(matrix.columns, stop))
        left = panel[stop - start :]
        across = _for_columns(matrix, left, below, right).conj().T
        ends = _strips(matrix, stop, right)
        for number, (low, high) in enumerate(pairwise(ends)):
            # Only elements on or below the diagonal are read later; the next panel is updated first, so that it leaves early.
            if low < high:
                top = int(np.searchsorted(matrix.rows, matrix.columns[low]))
                columns = slice(low - right, high - right)
                take_off(matrix.block[top:, low:high], left[top - below :], across[:, columns])
            if number == 0:
                under_way = _panel(matrix, stop)
    return True


def _panel(matrix: GridMatrix, start: int) -> Sharing:
    """Factor the panel from ``start`` on, and send this row's part of it along the row of the grid: the corner, then rows."""
    stop = min(start + matrix.width, matrix.layout.shape[0])
    width = stop - start
    below, root = int(np.searchsorted(matrix.rows, stop)), matrix.owner(start, 1)
    panel = np.empty((width + len(matrix.rows) - below, width), matrix.block.dtype)
    if matrix.place[1] == root:
        top = matrix.owner(start, 0)
        columns = matrix.held_columns(start, stop)
        corner = panel[:width]
        if matrix.place[0] == top:
            held = slice(below - width, below)
            corner[...] = _corner(matrix.block[held, columns])
            matrix.block[held, columns] = corner
        matrix.column_line.share(corner, top, _WHAT)
        if not np.isnan(corner[0, 0]):
            rows = matrix.block[below:, columns]
            rows[...] = np.linalg.solve(np.tril(corner).conj(), rows.T).T
            panel[width:] = rows
    return Sharing(matrix.row_line, panel, root, _WHAT)


def _corner(block: Array) -> Array:
    """The factor of a corner; NaN where it is not positive definite."""
    try:
        return np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        return np.full_like(block, np.nan)


def _for_columns(matrix: GridMatrix, left: Array, below: int, right: int) -> Array:
    """The panel's rows that have the numbers of this rank's columns: each rank of this column of the grid has some."""
    columns = matrix.columns[right:]
    mine = columns[matrix.homes(columns, 0) == matrix.place[0]]
    part = left[np.searchsorted(matrix.rows, mine) - below]
    return matrix.gathered(part, columns, _WHAT)


def _strips(matrix: GridMatrix, stop: int, right: int) -> list[int]:
    """The bounds of strips of this rank's columns: the next panel, then the rest in a few."""
    following = int(np.searchsorted(matrix.columns, stop + matrix.width))
    count = len(matrix.columns)
    rest = [following + (count - following) * k // _STRIPS for k in range(_STRIPS + 1)]
    return [right, *rest]
