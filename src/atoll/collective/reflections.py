"""QR of matrices with distributed rows: reflections as LAPACK computes them, by a tree for each panel.

The matrix is factored in panels of a few columns, from left to right. For a panel, each rank factors its
own rows, then pairs of ranks stack what they have of R and factor that, up to the first rank; the
factors are multiplied on the way back down, so each rank gets its rows of Q.

That Q has orthonormal columns, but not the signs that LAPACK would have found going down the whole panel. Its top
square says which those are: reflections that bring Q to the identity have the same vectors as those
of the panel. ``Q S - I = Y U``, with signs S, is a factorisation without pivots of that square, where
each sign is known when its column's turn comes; Y are the vectors below a unit diagonal, and
``T = -U inv(Y's square)^H`` makes ``I - Y T Y^H`` of them, the product of all reflections of the panel. With
it the columns to the right are taken on, and later Q is made of the identity, from the last panel to the first.

A rank holds its rows, a panel of them, and squares of a panel's width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import allgather, bcast
from ..exchange.messages import exchange
from ..layout import Cyclic, Layout
from .elements import everywhere
from .moving import even_rows, redistributed, uneven_line
from .operation import Form, collective, result_layout
from .section import Section, empty, replicated

Array = np.ndarray[Any, Any]
_WHAT = "factors of rows"


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The reflections of some columns of a matrix."""

    start: int
    stop: int
    joined: Array
    """T: what joins the vectors to the product of all of them; ``tau`` of each is its diagonal."""


def panel_width(shape: tuple[int, int], size: int) -> int:
    """How wide panels are: a square of that width is no larger than a share."""
    rows, columns = shape
    if is_one_panel(shape, size):
        return columns
    return max(1, min(policy.limits.panel, max(rows, columns) // size))


def is_one_panel(shape: tuple[int, int], size: int) -> bool:
    """Whether a matrix is so tall that what its tree takes, several squares, is no larger than a share."""
    return shape[0] >= 4 * shape[1] * size


def is_tall(shape: tuple[int, int], size: int) -> bool:
    """Whether a matrix has so many rows that its R is no larger than a share."""
    return shape[0] >= shape[1] * size


def in_rows(section: Section) -> Section:
    """The matrix with whole rows on each rank, in memory of its own: in even blocks if it is tall."""
    rows, columns = section.shape
    size = section.communicator.size
    layout = even_rows(section.shape, size)
    if not is_tall((rows, columns), size):  # what is left of a square moves to the right, and down
        width = min(panel_width((rows, columns), size), max(1, rows // size))
        layout = Layout(section.shape, (Cyclic(width), "n"), size=size)
    moved = redistributed(section, layout)
    block = moved.block.copy() if moved.block is section.block else moved.block
    return Section(np.ascontiguousarray(block), layout, section.communicator)


def _factors(shape: tuple[int, ...], mode: str, size: int) -> list[Layout]:
    """How the results of QR lie."""
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
    counts = [sum([prod(layout.local_shape(k)) for layout in layouts]) for k in range(size)]
    return Form(kind, uneven_line(np.array(counts)))


@collective("qr", _line_form)
def qr(matrix: Section, mode: str, kind: np.dtype[Any], *, target: Layout) -> Section:
    """What each rank has of Q and R (or of one of them, or of the vectors and ``tau``), one after the other."""
    layouts = _factors(matrix.shape, mode, target.processes)
    with np.errstate(all="ignore"):
        results = factors_of(in_rows(matrix), mode)
    blocks = [
        redistributed(part, layout).block for part, layout in zip(results, layouts, strict=True)
    ]
    line = np.concatenate([block.reshape(-1).astype(kind, copy=False) for block in blocks])
    return Section(line, target, matrix.communicator)


def factors_of(matrix: Section, mode: str) -> list[Section]:
    """Q and R (or one of them, or the vectors and ``tau``) of a matrix of :func:`in_rows`, which may be used up. Collective."""
    rows, columns = matrix.shape
    communicator = matrix.communicator
    if mode in ("reduced", "r") and is_one_panel((rows, columns), communicator.size):
        q, r = _by_a_tree(matrix.block, _counts(matrix, 0), communicator)
        signs, _, _ = _signs_of(matrix.with_block(q), r)
        q *= signs
        return [matrix.with_block(q), replicated(r * signs[:, None], communicator)][mode == "r" :]
    panels = factored(matrix)
    if mode == "raw":
        tau = np.concatenate([panel.joined.diagonal() for panel in panels])
        return [matrix.transposed((1, 0)), replicated(tau, communicator)]
    shorter = rows if mode == "complete" else min(rows, columns)
    upper = upper_rows(matrix, shorter)
    return [upper] if mode == "r" else [orthogonal(matrix, panels, shorter), upper]


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
    """One of the results."""
    before = _factors(shape, mode, target.processes)[:number]
    start = sum([prod(layout.local_shape(line.rank)) for layout in before])
    local = target.local_shape(line.rank)
    block = line.block[start : start + prod(local)].reshape(local)
    return Section(block, target, line.communicator)


def factored(matrix: Section) -> list[Panel]:
    """Factor a matrix of :func:`in_rows` in place: R above the diagonal, vectors below it. Collective."""
    rows, columns = matrix.shape
    communicator, block = matrix.communicator, matrix.block
    mine = matrix.region[0].array()
    width = panel_width((rows, columns), communicator.size)
    panels = []
    for start in range(0, min(rows, columns), width):
        stop = min(start + width, rows, columns)
        first = int(np.searchsorted(mine, start))
        q, r = _by_a_tree(block[first:, start:stop], _counts(matrix, start), communicator)
        panel_of_q = matrix.sliced((slice(start, None), slice(start, stop))).with_block(q)
        signs, upper, lower = _signs_of(panel_of_q, r)
        joined = _joined(upper, lower)
        q *= signs
        below = int(np.searchsorted(mine, stop))
        vectors = block[first:, start:stop]
        vectors[below - first :] = _over(q[below - first :], upper)
        held = mine[first:below] - start
        vectors[: below - first] = (np.tril(lower, -1) + np.triu(r * signs[:, None]))[held]
        panel = Panel(start, stop, joined)
        panels.append(panel)
        if stop < columns:
            right = block[first:, stop:]
            _reflect(matrix, panel, right, turned=True)
    return panels


def orthogonal(matrix: Section, panels: Sequence[Panel], columns: int) -> Section:
    """The first columns of Q of a factored matrix, with the owners of its rows. Collective."""
    size = matrix.communicator.size
    shape = matrix.shape[0], columns
    layout = Layout.of([matrix.layout.axes[0], even_rows(shape, size).axes[1]], size, np.arange(size)[:, None])  # fmt: skip
    basis = empty(layout, matrix.dtype, matrix.communicator)
    mine = matrix.region[0].array()
    basis.block[...] = 0
    ones = np.flatnonzero(mine < columns)
    basis.block[ones, mine[ones]] = 1
    for panel in reversed(panels):
        first = int(np.searchsorted(mine, panel.start))
        _reflect(matrix, panel, basis.block[first:, panel.start :], turned=False)
    return basis


def upper_rows(matrix: Section, rows: int) -> Section:
    """R of a factored matrix: its first rows, without what is below the diagonal."""
    top = matrix.sliced((slice(0, rows), slice(None)))
    block = top.block.copy()
    if block.size:
        mine = matrix.region[0].array()
        columns = np.arange(matrix.shape[1])
        block[mine[: len(block), None] > columns] = 0
    return top.with_block(block)


def _counts(matrix: Section, start: int) -> list[int]:
    """How many rows from ``start`` on each rank has."""
    layout, rows = matrix.layout, matrix.shape[0]
    return [len(layout.region(rank)[0].clipped(start, rows)) for rank in range(layout.processes)]


def tall_r(matrix: Section) -> Array:
    """R, with some signs, of a matrix with whole rows on each rank that is tall; on every rank. Collective."""
    heights = list(_heights(_counts(matrix, 0), matrix.shape[1]))

    def factor(level: int, rows: Array) -> Array:
        r: Array = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]
        return r

    mine = factor(0, matrix.block) if len(matrix.block) else matrix.block
    return _upwards(mine, heights, matrix.communicator, factor)


def _by_a_tree(
    block: Array, counts: Sequence[int], communicator: Communicator
) -> tuple[Array, Array]:
    """This rank's rows of a Q, and R on every rank, of a matrix with as many rows as ``counts`` say."""
    rank, columns = communicator.rank, block.shape[1]
    heights = list(_heights(counts, columns))
    q, mine = np.linalg.qr(block) if len(block) else (block[:, :0], block)
    stacked: dict[int, Array] = {}

    def factor(level: int, rows: Array) -> Array:
        stacked[level], r = np.linalg.qr(rows)
        return r

    r = _upwards(mine, heights, communicator, factor)
    turn = np.eye(columns, dtype=r.dtype)
    for level, height in reversed(list(enumerate(heights))):
        step = 1 << level
        outgoing, incoming = {}, {}
        if rank % (2 * step) == step and height[rank]:
            incoming[rank - step] = np.empty((height[rank], columns), r.dtype)
        elif level in stacked:
            both = stacked.pop(level) @ turn
            turn, outgoing[rank + step] = both[: height[rank]], both[height[rank] :]
        exchange(communicator, outgoing, incoming, _WHAT)
        for arrived in incoming.values():
            turn = arrived
    return q @ turn[: q.shape[1]], r


def _upwards(
    r: Array,
    heights: Sequence[Sequence[int]],
    communicator: Communicator,
    factor: Callable[[int, Array], Array],
) -> Array:
    """R of what all ranks have of it, on every rank; ``factor`` finds that of what two have. Collective."""
    rank, columns = communicator.rank, r.shape[1]
    for level, height in enumerate(heights):
        step = 1 << level
        outgoing, incoming = {}, {}
        if rank % (2 * step) == step and height[rank]:
            outgoing[rank - step] = np.ascontiguousarray(r)
        elif rank % (2 * step) == 0 and rank + step < len(height) and height[rank + step]:
            incoming[rank + step] = np.empty((height[rank + step], columns), r.dtype)
        exchange(communicator, outgoing, incoming, _WHAT)
        for arrived in incoming.values():
            r = factor(level, np.concatenate([r, arrived]))
    whole = np.ascontiguousarray(r) if rank == 0 else np.empty((columns, columns), r.dtype)
    return bcast(communicator, whole, 0, _WHAT)


def _heights(counts: Sequence[int], columns: int) -> Iterator[list[int]]:
    """For each level of the tree, how many rows of R each rank has before it."""
    heights, step = [min(count, columns) for count in counts], 1
    while step < len(counts):
        yield list(heights)
        for low in range(0, len(counts) - step, 2 * step):
            heights[low] = min(heights[low] + heights[low + step], columns)
        step *= 2


def _signs_of(q: Section, r: Array) -> tuple[Array, Array, Array]:
    """The signs that give the columns of ``q`` those of LAPACK, with U and Y of its top square, both square.

    A column that is one of the identity's already, or has nothing below it, gets no reflection: zero in U. Collective.
    """
    columns = q.shape[1]
    top = everywhere(q.sliced((slice(0, columns), slice(None)))).block
    kept = _kept(q, top)
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
            work[k + 1 :, k + 1 :] -= np.outer(work[k + 1 :, k], work[k, k + 1 :])
    return signs, np.triu(work), np.tril(work, -1) + np.eye(columns, dtype=work.dtype)


def _kept(q: Section, top: Array) -> Array:
    """Which columns of Q are those of the identity, up to a sign, or end at the diagonal. Collective."""
    rows, columns = q.shape
    ends = top.diagonal()
    kept: Array = (np.abs(ends.real) == 1) & (ends.imag == 0)
    if kept.any():
        mine = q.region[0].array()
        other = np.count_nonzero(q.block, axis=0) - np.bincount(
            mine[mine < columns], minlength=columns
        )
        others = allgather(q.communicator, other + 0, "which columns are the identity's")
        kept &= others.reshape(-1, columns).sum(0) == 0
    if rows == columns and top.dtype.kind != "c":
        kept[-1] = True
    return kept


def _joined(upper: Array, lower: Array) -> Array:
    """T of the reflections with these U and Y."""
    joined: Array = -np.triu(np.linalg.solve(lower, upper.conj().T).conj().T)
    return joined


def _over(q: Array, upper: Array) -> Array:
    """The vectors of rows below a top square: Q without what is above, over U."""
    idle = upper.diagonal() == 0
    square = upper + np.diag(idle.astype(upper.dtype))
    vectors: Array = q @ np.linalg.inv(square)
    vectors[:, idle] = 0
    return vectors


def _reflect(matrix: Section, panel: Panel, right: Array, *, turned: bool) -> None:
    """Apply the reflections of a panel, or their adjoint, to rows from its first on. Collective."""
    mine = matrix.region[0].array()
    first, below = (int(np.searchsorted(mine, at)) for at in (panel.start, panel.stop))
    vectors = matrix.block[first:, panel.start : panel.stop].copy()
    head = mine[first:below, None] - panel.start
    across = np.arange(panel.stop - panel.start)
    vectors[: below - first][head < across] = 0
    vectors[: below - first][head == across] = 1
    sums = _summed(vectors.conj().T @ right, matrix.communicator)
    joined = panel.joined.conj().T if turned else panel.joined
    sums = joined @ sums
    for start in range(
        0, right.shape[1], policy.limits.panel
    ):  # no second block of the size of a share
        part = slice(start, start + policy.limits.panel)
        right[:, part] -= vectors @ sums[:, part]


def _summed(part: Array, communicator: Communicator) -> Array:
    """The sum over all ranks, the same bits on each. Collective."""
    rank, size, what = communicator.rank, communicator.size, "sums of products"
    part, step = np.ascontiguousarray(part), 1
    while step < size:
        outgoing, incoming = {}, {}
        if rank % (2 * step) == step:
            outgoing[rank - step] = part
        elif rank % (2 * step) == 0 and rank + step < size:
            incoming[rank + step] = np.empty_like(part)
        exchange(communicator, outgoing, incoming, what)
        for arrived in incoming.values():
            part += arrived
        step *= 2
    return bcast(communicator, part, 0, what)
