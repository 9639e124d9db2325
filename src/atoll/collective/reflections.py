"""QR of matrices on process grids: reflections as LAPACK computes them, by a tree for each panel.

The matrix is factored in panels of a few columns, from left to right, by the column of the grid that has the panel. Each of its
ranks factors its own rows, then pairs of ranks stack their parts of R and factor these, up to the first rank; the
factors are multiplied on the way back down, so each rank gets its rows of Q.

That Q has orthonormal columns, but not the signs that LAPACK would have found going down the whole panel. Its top square
determines these: reflections that bring Q to the identity have the same vectors as those of the panel. ``Q S - I = Y U``,
with signs S, is a factorisation without pivots of that square, where each sign is known when its column's turn comes; Y are
the vectors below a unit diagonal, and ``T = -U inv(Y's square)^H`` makes ``I - Y T Y^H`` of them, the product of all
reflections of the panel. Y and T travel along the rows of the grid, and products with Y are summed down its columns: so the
columns to the right are updated, and later Q is made of the identity, from the last panel to the first.

A tall matrix is on a grid of one column: each rank has whole rows, and its part of R fits into its share. A matrix that is
not tall, and small, is brought to all ranks, which factor it by LAPACK.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..layout import BlockAxis, Layout
from .elements import everywhere
from .movement import even_line, redistributed
from .operation import Form, collective, result_layout
from .process_grid import (
    GridMatrix,
    Heights,
    Line,
    block_cyclic,
    is_better_whole,
    panel_width,
    process_grid,
    take_off,
)
from .section import Section, empty, replicated

Array = np.ndarray[Any, Any]
_WHAT = "factors of rows"


def is_one_panel(shape: tuple[int, int], size: int) -> bool:
    """True if a matrix is so tall that the memory of its tree, several squares, is no larger than a share."""
    return shape[0] >= 4 * shape[1] * size


def is_tall(shape: tuple[int, int], size: int) -> bool:
    """True if a matrix has so many rows that its R is no larger than a share."""
    return shape[0] >= shape[1] * size


def on_grid(section: Section) -> GridMatrix:
    """The matrix on a process grid: with whole rows on each rank, in their order, if it is tall."""
    rows, columns = section.shape
    size = section.communicator.size
    if is_tall((rows, columns), size):
        width = max(1, min(policy.limits.panel, columns))
        if is_one_panel((rows, columns), size):
            width = columns
        return GridMatrix(section, (size, 1), width, -(-rows // size))
    grid = process_grid(size, (rows, columns))
    return GridMatrix(section, grid, panel_width((rows, columns), grid))


def _factors(shape: tuple[int, ...], mode: str, size: int) -> list[Layout]:
    """The layouts of the results of QR."""
    rows, columns = shape
    shorter = rows if mode == "complete" else min(rows, columns)
    if mode == "raw":
        return [result_layout((columns, rows), size), Layout.replicated((shorter,), size)]
    upper = result_layout((shorter, columns), size)
    if mode != "complete" and is_one_panel((rows, columns), size):
        upper = Layout.replicated((shorter, columns), size)
    return [upper] if mode == "r" else [result_layout((rows, shorter), size), upper]


def _line_form(matrix: Form, mode: str, kind: np.dtype[Any]) -> Form:
    size = matrix.layout.processes
    layouts = _factors(matrix.shape, mode, size)
    most = sum([prod(layout.local_shape(0)) for layout in layouts])  # no rank has more
    return Form(kind, even_line(most * size, size))


@collective("qr", _line_form)
def qr(matrix: Section, mode: str, kind: np.dtype[Any], *, target: Layout) -> Section:
    """The blocks of Q and R on each rank (or of one of them, or of the vectors and ``tau``), one after the other, then zeros."""
    layouts = _factors(matrix.shape, mode, target.processes)
    rows, columns = matrix.shape
    shape, size, times = (rows, columns), target.processes, 4 / 3 if mode == "r" else 8 / 3
    if not is_tall(shape, size) and is_better_whole(shape, times, matrix.dtype, size):
        factor: Any = np.linalg.qr
        parts = factor(everywhere(matrix).block, mode)
        wholes = [parts] if mode == "r" else list(parts)
        results = [replicated(np.asarray(part), matrix.communicator) for part in wholes]
    else:
        with np.errstate(all="ignore"):
            results = factors_of(on_grid(matrix), mode)
    blocks = [
        redistributed(part, layout).block for part, layout in zip(results, layouts, strict=True)
    ]
    line = np.zeros(target.local_shape(matrix.rank), kind)
    held = np.concatenate([block.reshape(-1).astype(kind, copy=False) for block in blocks])
    line[: len(held)] = held
    return Section(line, target, matrix.communicator)


def factors_of(matrix: GridMatrix, mode: str) -> list[Section]:
    """Q and R (or one of them, or the vectors and ``tau``) of a matrix of :func:`on_grid`, which is used up. Collective."""
    rows, columns = matrix.layout.shape
    communicator = matrix.communicator
    if mode in ("reduced", "r") and is_one_panel((rows, columns), communicator.size):
        line = matrix.column_line
        q, r = _by_a_tree(matrix.block, matrix.heights(0, columns), line)
        signs, _, _ = _signs_of(q, r, rows, 0, line)
        q *= signs
        section = Section(q, matrix.layout, communicator)
        return [section, replicated(r * signs[:, None], communicator)][mode == "r" :]
    taus = factored(matrix)
    if mode == "raw":
        tau = matrix.everyone().sum(_taus(matrix, taus), "the lengths of reflections")
        return [matrix.section.transposed((1, 0)), replicated(tau, communicator)]
    shorter = rows if mode == "complete" else min(rows, columns)
    upper = upper_rows(matrix, shorter)
    return [upper] if mode == "r" else [orthogonal(matrix, taus, shorter), upper]


def _taus(matrix: GridMatrix, joined: dict[int, Array]) -> Array:
    """The scale of each reflection, on the first rank that has it."""
    tau = np.zeros(min(matrix.layout.shape), matrix.block.dtype)
    if matrix.is_member and matrix.place[0] == 0:
        for start, square in joined.items():
            tau[start : start + len(square)] = square.diagonal()
    return tau


@collective(
    "factor of qr",
    lambda line, shape, mode, number: Form(
        line.dtype, _factors(shape, mode, line.layout.processes)[number]
    ),
    lambda line, *params: [],
)
def factor_of_qr(
    line: Section, shape: tuple[int, ...], mode: str, number: int, *, target: Layout
) -> Section:
    """One of the results of :func:`qr`."""
    before = _factors(shape, mode, target.processes)[:number]
    start = sum([prod(layout.local_shape(line.rank)) for layout in before])
    local = target.local_shape(line.rank)
    block = line.block[start : start + prod(local)].reshape(local)
    return Section(block, target, line.communicator)


def factored(matrix: GridMatrix) -> dict[int, Array]:
    """Factor a matrix of :func:`on_grid` in place: R above the diagonal, vectors below it.

    The result has T for each panel of this rank's column of the grid, by the panel's first column. Collective.
    """
    joined: dict[int, Array] = {}
    if not matrix.is_member:
        return joined
    for start, stop in matrix.panels():
        first = int(np.searchsorted(matrix.rows, start))
        part = matrix.held_columns(start, stop)
        if matrix.place[1] == matrix.owner(start, 1):
            joined[start] = _panel_factored(matrix, start, stop, matrix.block[first:, part])
        if stop < matrix.layout.shape[1]:
            square, vectors = _reflections(matrix, start, stop, joined)
            right = matrix.block[first:, int(np.searchsorted(matrix.columns, stop)) :]
            _reflect(matrix.column_line, vectors, square.conj().T, right)
    return joined


def _panel_factored(matrix: GridMatrix, start: int, stop: int, block: Array) -> Array:
    """Factor a panel of this column of the grid in place, and return T."""
    line, rows = matrix.column_line, matrix.layout.shape[0] - start
    q, r = _by_a_tree(block, matrix.heights(start, stop - start), line)
    signs, upper, lower = _signs_of(q, r, rows, matrix.owner(start, 0), line)
    q *= signs
    mine = matrix.rows[len(matrix.rows) - len(block) :]
    below = int(np.searchsorted(mine, stop))
    block[below:] = _over(q[below:], upper)
    top = np.tril(lower, -1) + np.triu(r * signs[:, None])
    block[:below] = top[mine[:below] - start]
    return _joined(upper, lower)


def _reflections(
    matrix: GridMatrix, start: int, stop: int, joined: dict[int, Array]
) -> tuple[Array, Array]:
    """T of a factored panel and this row's vectors, sent along the row of the grid."""
    first, width, root = (
        int(np.searchsorted(matrix.rows, start)),
        stop - start,
        matrix.owner(start, 1),
    )
    panel = np.empty((width + len(matrix.rows) - first, width), matrix.block.dtype)
    if matrix.place[1] == root:
        panel[:width] = joined[start]
        low = int(np.searchsorted(matrix.columns, start))
        vectors = panel[width:]
        vectors[...] = matrix.block[first:, low : low + width]
        head = matrix.rows[first : int(np.searchsorted(matrix.rows, stop)), None] - start
        vectors[: len(head)] *= head > np.arange(width)
        vectors[: len(head)] += head == np.arange(width)
    matrix.row_line.share(panel, root, _WHAT)
    return panel[:width], panel[width:]


def orthogonal(matrix: GridMatrix, joined: dict[int, Array], columns: int) -> Section:
    """The first columns of Q of a factored matrix, in the same division of rows. Collective."""
    rows, size = matrix.layout.shape[0], matrix.communicator.size
    layout = block_cyclic((rows, columns), matrix.grid, matrix.sizes, size)
    basis = empty(layout, matrix.block.dtype, matrix.communicator)
    if not matrix.is_member:
        return basis
    numbers = basis.region[1].array()
    basis.block[...] = matrix.rows[:, None] == numbers
    for start, stop in reversed(list(matrix.panels())):
        square, vectors = _reflections(matrix, start, stop, joined)
        first, left = np.searchsorted(matrix.rows, start), np.searchsorted(numbers, start)
        _reflect(matrix.column_line, vectors, square, basis.block[first:, left:])
    return basis


def upper_rows(matrix: GridMatrix, rows: int) -> Section:
    """R of a factored matrix: its first rows, with zeros below the diagonal."""
    top = matrix.section.sliced((slice(0, rows), slice(None)))
    block = top.block.copy()
    if block.size:
        block[matrix.rows[: len(block), None] > matrix.columns] = 0
    return top.with_block(block)


def tall_r(matrix: Section) -> Array:
    """R, up to the signs of its rows, of a tall matrix with whole rows on each rank; on every rank. Collective."""
    axis, size = matrix.layout.axes[0], matrix.communicator.size
    assert isinstance(axis, BlockAxis)
    heights = Heights(axis.bounds.__getitem__, size, matrix.shape[1])

    def factor(level: int, rows: Array) -> Array:
        r: Array = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]
        return r

    mine = factor(0, matrix.block) if len(matrix.block) else matrix.block
    line = Line(matrix.communicator, range(size))
    return _of_first(line, line.upwards(mine, heights, factor, _WHAT))


def _of_first(line: Line, square: Array) -> Array:
    """The square matrix that place 0 of a line has, on all ranks of the line."""
    if line.place:
        square = np.empty((square.shape[1],) * 2, square.dtype)
    return line.share(np.ascontiguousarray(square), 0, _WHAT)


def _by_a_tree(block: Array, heights: Heights, line: Line) -> tuple[Array, Array]:
    """This rank's rows of a Q, and R on every rank, of a matrix whose rows are on the ranks of a line; ``heights`` has their
    numbers."""
    place, columns = line.place, block.shape[1]
    q, mine = np.linalg.qr(block) if len(block) else (block[:, :0], block)
    stacked: dict[int, Array] = {}

    def factor(level: int, rows: Array) -> Array:
        stacked[level], r = np.linalg.qr(rows)
        return r

    r = _of_first(line, line.upwards(mine, heights, factor, _WHAT))
    turn = np.eye(columns, dtype=r.dtype)
    for level in reversed(heights.levels):
        step, height = 1 << level, heights.at(level, place)
        if place % (2 * step) == step and height:
            turn = np.empty((height, columns), r.dtype)
            line.message(None, 0, turn, place - step, _WHAT)
        elif level in stacked:
            both = stacked.pop(level) @ turn
            turn = both[:height]
            line.message(both[height:], place + step, None, 0, _WHAT)
    return q @ turn[: q.shape[1]], r


def _signs_of(q: Array, r: Array, rows: int, root: int, line: Line) -> tuple[Array, Array, Array]:
    """The signs that give the columns of Q those of LAPACK, with U and Y of its top square, both square.

    The ranks have ``rows`` rows together, and the rank at place ``root`` has the square. A column that is a column of the identity
    already, or has no rows below it, gets no reflection: zero in U. Every rank of the line calls it.
    """
    columns = q.shape[1]
    top = q[:columns].copy() if line.place == root else np.empty((columns, columns), q.dtype)
    line.share(top, root, _WHAT)
    kept = _kept(q[columns if line.place == root else 0 :], top, rows, line)
    signs, work = np.ones(columns, r.real.dtype), top.copy()
    for k in range(columns):
        leading = work[k, k].real
        if kept[k]:
            signs[k] = 1 if leading >= 0 else -1
        else:
            leading = leading or r[k, k].real
            signs[k] = -1 if leading >= 0 else 1
        work[:, k] *= signs[k]
        work[k, k] -= 1
        if kept[k]:
            work[k:, k] = work[k, k:] = 0
        else:
            work[k + 1 :, k] /= work[k, k]
            work[k + 1 :, k + 1 :] -= work[k + 1 :, k, np.newaxis] * work[k, k + 1 :]
    return signs, np.triu(work), np.tril(work, -1) + np.eye(columns, dtype=work.dtype)


def _kept(below: Array, top: Array, rows: int, line: Line) -> Array:
    """A mask of the columns of Q that are columns of the identity, up to a sign, or end at the diagonal. Every rank of the
    line calls it."""
    ends = top.diagonal()
    kept: Array = (np.abs(ends.real) == 1) & (ends.imag == 0)
    if kept.any():
        others = line.sum(np.count_nonzero(below, axis=0), "which columns are the identity's")
        kept &= others + np.count_nonzero(top, axis=0) == 1
    if rows == len(top) and top.dtype.kind != "c":
        kept[-1] = True
    return kept


def _joined(upper: Array, lower: Array) -> Array:
    """T of the reflections with these U and Y."""
    joined: Array = -np.triu(np.linalg.solve(lower, upper.conj().T).conj().T)
    return joined


def _over(q: Array, upper: Array) -> Array:
    """The vectors of rows below a top square: those rows of Q times the inverse of U."""
    idle = upper.diagonal() == 0
    square = upper + np.diag(idle.astype(upper.dtype))
    vectors: Array = q @ np.linalg.inv(square)
    vectors[:, idle] = 0
    return vectors


def _reflect(line: Line, vectors: Array, square: Array, right: Array) -> None:
    """Apply the reflections of a panel, or their adjoint, to rows from its first on. Every rank of the line calls it."""
    sums = line.sum(vectors.conj().T @ right, "sums of products")
    take_off(right, vectors, square @ sums)
