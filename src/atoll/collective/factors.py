"""Factors of matrices with cyclic rows: LU and Cholesky.

LU and Cholesky go from left to right in panels of a few columns. Every rank gets the panel, factors it
alike, and takes its rows of the rest on from there; rows change places between their owners. A panel is no
larger than a share.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import policy
from ..layout import Cyclic, Layout
from .elements import everywhere, fetch
from .moving import redistributed
from .section import Section

Array = np.ndarray[Any, Any]


def dealt_rows(section: Section) -> Section:
    """The matrix with its rows in turns, in memory of its own."""
    rows, _ = section.shape
    size = section.communicator.size
    layout = Layout(section.shape, (Cyclic(_width(rows, size)), "n"), size=size)
    moved = redistributed(section, layout)
    block = moved.block.copy() if moved.block is section.block else moved.block
    return Section(np.ascontiguousarray(block), layout, section.communicator)


def _width(rows: int, size: int) -> int:
    return max(1, min(policy.limits.panel, rows // size))


def _panels(section: Section) -> Iterator[tuple[int, int]]:
    rows = section.shape[0]
    width = _width(rows, section.communicator.size)
    for start in range(0, rows, width):
        yield start, min(start + width, rows)


def lu(matrix: Section) -> tuple[Array, int, bool]:
    """Factor a square matrix of dealt rows in place: the order of its rows, its sign, whether singular.

    Collective.
    """
    block = matrix.block
    mine = matrix.region[0].array()
    order = np.arange(matrix.shape[0])
    sign, singular = 1, False
    for start, stop in _panels(matrix):
        panel = everywhere(matrix.sliced((slice(start, None), slice(start, stop)))).block.copy()
        moved, swaps, zero = _lu_panel(panel)
        sign = -sign if swaps % 2 else sign
        singular |= zero
        targets = np.flatnonzero(moved != np.arange(len(moved)))
        if targets.size:
            here = np.isin(mine, start + targets)
            sources = start + moved[mine[here] - start]
            block[here] = fetch(matrix, (sources,))
            order[start:] = order[start:][moved]
        below = mine >= start
        block[below, start:stop] = panel[mine[below] - start]
        if stop == matrix.shape[0]:
            break
        top = everywhere(matrix.sliced((slice(start, stop), slice(stop, None)))).block
        width = stop - start
        lower = np.tril(panel[:width], -1) + np.eye(width, dtype=panel.dtype)
        top = np.linalg.solve(lower, top)
        held = (mine >= start) & (mine < stop)
        block[held, stop:] = top[mine[held] - start]
        rest = mine >= stop
        block[rest, stop:] -= panel[mine[rest] - start] @ top
    return order, sign, singular


def _lu_panel(panel: Array) -> tuple[Array, int, bool]:
    """Factor a few columns with partial pivoting, in place."""
    order = np.arange(len(panel))
    swaps, singular = 0, False
    for k in range(panel.shape[1]):
        pivot = k + int(np.argmax(np.abs(panel[k:, k])))
        if pivot != k:
            panel[[k, pivot]] = panel[[pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
            swaps += 1
        if panel[k, k] == 0:
            singular = True
            continue
        panel[k + 1 :, k] /= panel[k, k]
        panel[k + 1 :, k + 1 :] -= np.outer(panel[k + 1 :, k], panel[k, k + 1 :])
    return order, swaps, singular


def solved(factors: Section, order: Array, right: Section) -> Section:
    """The solution for a right side of dealt rows, from the factors of a matrix. Collective."""
    mine = factors.region[0].array()
    block = fetch(right, (order[mine],)).astype(factors.dtype, copy=False)
    solution = right.with_block(block)
    panels = list(_panels(factors))
    for start, stop in panels:
        corner = everywhere(factors.sliced((slice(start, stop), slice(start, stop)))).block
        lower = np.tril(corner, -1) + np.eye(stop - start, dtype=corner.dtype)
        done = np.linalg.solve(
            lower, everywhere(solution.sliced((slice(start, stop), slice(None)))).block
        )
        _substituted(factors, block, mine, (start, stop), done, mine >= stop)
    for start, stop in reversed(panels):
        corner = np.triu(everywhere(factors.sliced((slice(start, stop), slice(start, stop)))).block)
        done = np.linalg.solve(
            corner, everywhere(solution.sliced((slice(start, stop), slice(None)))).block
        )
        _substituted(factors, block, mine, (start, stop), done, mine < start)
    return solution


def _substituted(
    factors: Section, block: Array, mine: Array, panel: tuple[int, int], done: Array, rest: Array
) -> None:
    """Put in rows of the solution, and take them out of the equations that are left."""
    start, stop = panel
    held = (mine >= start) & (mine < stop)
    block[held] = done[mine[held] - start]
    block[rest] -= factors.block[rest, start:stop] @ done


def diagonal(matrix: Section) -> Array:
    """The diagonal of a square matrix of dealt rows, on every rank. Collective."""
    mine = matrix.region[0].array()
    line = matrix.with_block(matrix.block[np.arange(len(mine)), mine][:, None])
    layout = matrix.layout.reduced(1, keepdims=True)
    every = Layout.replicated((matrix.shape[0], 1), matrix.communicator.size)
    return redistributed(Section(line.block, layout, matrix.communicator), every).block[:, 0]


def cholesky(matrix: Section) -> None:
    """Factor a Hermitian matrix of dealt rows in place, from its lower triangle. Collective."""
    block = matrix.block
    mine = matrix.region[0].array()
    for start, stop in _panels(matrix):
        corner = everywhere(matrix.sliced((slice(start, stop), slice(start, stop)))).block
        lower = np.linalg.cholesky(corner)  # an error is one on all ranks
        held = (mine >= start) & (mine < stop)
        block[held, start:stop] = lower[mine[held] - start]
        block[held, stop:] = 0
        rest = mine >= stop
        block[rest, start:stop] = np.linalg.solve(lower.conj(), block[rest, start:stop].T).T
        if stop < matrix.shape[0]:
            left = everywhere(matrix.sliced((slice(stop, None), slice(start, stop)))).block
            block[rest, stop:] -= block[rest, start:stop] @ left.conj().T
