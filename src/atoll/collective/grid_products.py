"""Products of two matrices on a grid of ranks with rows, columns and layers, where both operands are large.

A rank computes a block of the product, of its layer's part of the contracted axis. The ranks of a row need each other's
parts of the left operand, those of a column each other's parts of the right one. Every rank begins with another segment of the
contracted axis, so that in each step a rank sends to about one other rank of its row and one of its column, and no
owner sends to all. Then the partial products of the layers are summed, each rank of a layer summing its share.

With one layer a rank receives about ``2 * n**2 / sqrt(size)`` elements; with ``c`` layers ``sqrt(c)`` times fewer, for partial
products that take ``c`` shares of memory.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from ..context.caches import remembered
from ..exchange.messages import exchange
from ..layout import BlockAxis, Layout
from ..layout.axes import Axis
from ..layout.bounds import balanced_bounds
from ..layout.grids import divisors
from .messages import exchanged
from .movement import redistributed
from .section import Section, empty

Array = np.ndarray[Any, Any]
Grid = tuple[int, int, int]
"""The numbers of ranks along the rows of the product and along its columns, and of layers."""


@remembered
def product_grid(rows: int, length: int, columns: int, size: int) -> Grid | None:
    """The grid on which the fewest elements move; ``None`` if it has one row or one column of ranks and one layer.

    The partial products of several layers take no more memory than two shares of operands and product.
    """
    share = (rows * length + length * columns + rows * columns) / size
    counts = np.array(divisors(size))
    i, j = np.repeat(counts, len(counts)), np.tile(counts, len(counts))
    i, j = (part[size % (i * j) == 0] for part in (i, j))
    k = size // (i * j)
    fits = (i * k <= rows) & (j <= columns) & (k * np.maximum(i, j) <= length)
    fits &= (k == 1) | (float(rows * columns) <= 2 * share * i * j)
    i, j, k = i[fits], j[fits], k[fits]
    left = float(rows * length) * (1 - 1 / j) / (i * k)
    right = float(length * columns) * (1 - 1 / i) / (k * j)
    moved = left + right + float(rows * columns) * (1 - 1 / k) / (i * j)
    best = [(int(i[n]), int(j[n]), int(k[n])) for n in np.lexsort((k, moved))[:1]]
    return best[0] if best and sum([count > 1 for count in best[0]]) > 1 else None


def received(rows: int, length: int, columns: int, grid: Grid) -> int:
    """The number of elements that all ranks together receive, with the operands in their places."""
    i, j, k = grid
    return rows * length * (j - 1) + length * columns * (i - 1) + rows * columns * (k - 1)


@remembered
def grid_layouts(rows: int, length: int, columns: int, grid: Grid) -> tuple[Layout, Layout, Layout]:
    """The layouts of the operands and the product on a grid: in blocks, ranks counted by rows, layers, then columns."""
    i, j, k = grid
    size = i * j * k
    left = [_axis(rows, i, 1), _axis(length, k, j)]
    right = [_axis(length, k, i), _axis(columns, j, 1)]
    product = [_axis(rows, i, k), _axis(columns, j, 1)]
    by_layers = Layout.in_order(right, size)
    if k > 1:
        ranks = np.arange(size).reshape(i, k, j)
        by_layers = Layout.of(right, size, ranks.transpose(1, 0, 2).reshape(k * i, j))
    return Layout.in_order(left, size), by_layers, Layout.in_order(product, size)


def _axis(extent: int, outer: int, inner: int) -> Axis:
    """An axis in even blocks, each of which is in even blocks."""
    if 1 in (outer, inner):
        return BlockAxis.even(extent, outer * inner)
    bounds = np.asarray(balanced_bounds(extent, outer))
    width, longer = np.divmod(np.diff(bounds)[:, None], inner)
    blocks = np.arange(inner)
    starts = bounds[:-1, None] + width * blocks + np.minimum(longer, blocks)
    return BlockAxis(extent, (*starts.reshape(-1).tolist(), extent))


def multiplied_on_grid(a: Section, b: Section, grid: Grid) -> Section:
    """``a @ b`` of two matrices of one dtype, in the product's layout of :func:`grid_layouts`. Collective."""
    communicator = a.communicator
    *sides, target = grid_layouts(a.shape[0], a.shape[1], b.shape[1], grid)
    left, right = (redistributed(part, side) for part, side in zip((a, b), sides, strict=True))
    _, columns, layers = grid
    row, rest = divmod(communicator.rank, layers * columns)
    layer, column = divmod(rest, columns)
    place = row, layer, column
    mine = empty(target, a.dtype, communicator)
    shape = left.block.shape[0], right.block.shape[1]
    product = mine.block if layers == 1 else np.empty(shape, a.dtype)
    _accumulate(left, right, grid, place, product)
    if layers > 1:
        _sum_layers(mine, product, grid, place)
    return mine


def _accumulate(left: Section, right: Section, grid: Grid, place: Grid, product: Array) -> None:
    """Multiply the segments of this layer, each rank beginning with another one."""
    rows, columns, layers = grid
    row, layer, column = place
    edges = [side.layout.axes[axis] for side, axis in ((left, 1), (right, 0))]
    cuts = [
        np.array(axis.bounds[layer * count : (layer + 1) * count + 1])  # type: ignore[attr-defined]
        for axis, count in zip(edges, (columns, rows), strict=True)
    ]
    ends = np.union1d(*cuts)
    count = len(ends) - 1
    owners = [np.searchsorted(cut, ends[:-1], side="right") - 1 for cut in cuts]
    first = np.arange(rows) * count // rows, np.arange(columns) * count // columns
    in_row = range((row * layers + layer) * columns, (row * layers + layer + 1) * columns)
    in_column = range(layer * columns + column, rows * layers * columns, layers * columns)
    for step in range(count):
        number = int(first[0][row] + first[1][column] + step) % count
        outgoing: dict[int, Array] = {}
        incoming: dict[int, Array] = {}
        parts = []
        lines = [
            (column, 1, first[0][row] + first[1], owners[0], in_row),
            (row, 0, first[0] + first[1][column], owners[1], in_column),
        ]
        for (own, axis, starts, owner, ranks), side, cut in zip(lines, (left, right), cuts):
            turns = (starts + step) % count
            for k in (owner[turns] == own).nonzero()[0].tolist():
                if k != own:
                    outgoing[ranks[k]] = np.ascontiguousarray(
                        _segment(side.block, axis, ends, int(turns[k]), int(cut[own]))
                    )
            home = int(owner[number])
            if home == own:
                parts.append(_segment(side.block, axis, ends, number, int(cut[own])))
            else:
                extents = list(side.block.shape)
                extents[axis] = int(ends[number + 1] - ends[number])
                incoming[ranks[home]] = np.empty(extents, side.dtype)
                parts.append(incoming[ranks[home]])
        exchange(
            left.communicator,
            {peer: piece for peer, piece in outgoing.items() if piece.size},
            {peer: piece for peer, piece in incoming.items() if piece.size},
            "a segment of a product",
        )
        if step:
            np.add(product, np.matmul(parts[0], parts[1]), out=product)
        else:
            np.matmul(parts[0], parts[1], out=product)


def _segment(block: Array, axis: int, ends: Array, number: int, start: int) -> Array:
    part = slice(int(ends[number]) - start, int(ends[number + 1]) - start)
    return block[:, part] if axis else block[part]


def _sum_layers(mine: Section, product: Array, grid: Grid, place: Grid) -> None:
    """Sum the partial products of all layers in their order, each rank its rows of them."""
    _, columns, layers = grid
    row, _, column = place
    axis = mine.layout.axes[0]
    cuts = [int(axis.bounds[row * layers + k]) for k in range(layers + 1)]  # type: ignore[attr-defined]
    pieces = {
        (row * layers + k) * columns + column: product[low - cuts[0] : high - cuts[0]]
        for k, (low, high) in enumerate(pairwise(cuts))
    }
    shape: tuple[int, ...] = mine.block.shape
    shapes = dict.fromkeys(pieces, shape)
    what = "partial products of layers"
    arrived = exchanged(mine.communicator, pieces, shapes, mine.dtype, what)
    mine.block[...] = reduce(np.add, arrived.values())
