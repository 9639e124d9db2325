"""Process grids: the least surface between blocks, elements for every process, and neighbouring cells for the ranks of a node.

Among grids in which every process gets an element, the best one cuts the fewest elements apart; on a tie, leading axes
are cut first. If the shape has no such grid, as many processes as possible get elements.

The choice is exact and cheap. The cut surface is, up to a factor and a constant, the sum of ``processes / extent`` over
the axes, so the longer of two axes never has fewer processes; the same holds for the number of processes with elements.
It is enough to write the number of processes as a product of descending factors, in all ways (42 for 1024 processes),
and to assign the factors to the axes in descending order of extent.

A grid of all ranks may be a grid of nodes, each of which is a smaller grid of its own ranks. Nodes, and the ranks of a node, follow
each other in row-major order, so a rank's cell is arithmetic, however many ranks there are. A block of cells that belongs to one node
has less surface than a line of them: fewer elements travel between nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

import numpy as np

from .. import policy
from ..context.caches import remembered
from ..errors import LayoutError
from .index_set import ComputedSequence

Grid = tuple[int, ...]


def descending_factors(number: int, count: int, largest: int | None = None) -> list[Grid]:
    """All ways to write ``number`` as a product of ``count`` factors that do not increase."""
    if count < 2:
        fits = number == 1 if not count else largest is None or number <= largest
        return [(number,) * count] if fits else []
    return [
        (factor, *rest)
        for factor in divisors(number)
        if factor**count >= number and (largest is None or factor <= largest)
        for rest in descending_factors(number // factor, count - 1, factor)
    ]


def factorisations(number: int, count: int) -> Iterator[Grid]:
    """All ways to write ``number`` as a product of ``count`` factors, in ascending order."""
    if count == 0:
        if number == 1:
            yield ()
        return
    for factor in divisors(number) if count > 1 else (number,):
        for rest in factorisations(number // factor, count - 1):
            yield (factor, *rest)


@remembered
def divisors(number: int) -> Grid:
    """The divisors of a number, ascending."""
    low = np.arange(1, isqrt(number) + 1)
    low = low[number % low == 0]
    high = number // low[::-1]
    return (*low.tolist(), *high[int(high[0] == low[-1]) :].tolist())


def surface(shape: Grid, grid: Grid) -> int:
    """The number of elements along the cuts between blocks."""
    total = 0
    for axis, processes in enumerate(grid):
        total += (processes - 1) * prod(shape[:axis] + shape[axis + 1 :])
    return total


@remembered
def even_grid(shape: Grid, processes: int) -> Grid:
    """The grid that arrays of about this shape have in common.

    Programs have grids of n points and of the n - 1 between them, in one direction or the other, and their loops read
    one beside the other. So extents that are nearly alike count as equal: all of them are cut along the same axes.
    """
    longest, few = max(shape, default=0), 2 * policy.limits.pieces
    about = tuple([longest if few * (longest - extent) <= longest else extent for extent in shape])
    chosen, least = best_grid(about, processes), best_grid(shape, processes)
    return least if prod(map(min, chosen, shape)) < prod(map(min, least, shape)) else chosen


@remembered
def best_grid(shape: Grid, processes: int) -> Grid:
    """The best grid of at most ``processes`` along the axes of ``shape``."""
    extents = tuple(max(extent, 1) for extent in shape)
    order = sorted(range(len(extents)), key=lambda axis: (-extents[axis], axis))
    places = [order.index(axis) for axis in range(len(extents))]

    def grids(number: int) -> list[Grid]:
        every = descending_factors(number, len(extents))
        return [tuple(map(factors.__getitem__, places)) for factors in every]

    def cost(grid: Grid) -> tuple[int, Grid]:
        return surface(extents, grid), tuple(-count for count in grid)

    def busy(grid: Grid) -> int:
        return prod(map(min, grid, extents))

    if prod(extents) <= processes and len(extents) > 1:
        return extents
    everyone = grids(processes)
    if not everyone:
        return ()
    most = max(map(busy, everyone))
    for fewer in range(min(processes - 1, prod(extents)), most, -1):  # no more can have elements
        fitting = [grid for grid in grids(fewer) if busy(grid) == fewer]
        if fitting:
            return min(fitting, key=cost)
    return min((grid for grid in everyone if busy(grid) == most), key=cost)


@dataclass(frozen=True, slots=True)
class NodeOrder(ComputedSequence[int]):
    """The ranks in the row-major order of their cells; ``node`` is the grid of the ranks of one node."""

    grid: Grid
    node: Grid

    def __len__(self) -> int:
        return prod(self.grid)

    def item(self, place: Any) -> Any:
        """The rank at a place, or the ranks at an array of places."""
        number = place
        outer = inner = 0
        above = within = 1
        for count, n in zip(reversed(self.grid), reversed(self.node)):
            number, coordinate = divmod(number, count)
            outer += coordinate // n * above
            inner += coordinate % n * within
            above *= count // n
            within *= n
        return outer * within + inner

    def place(self, rank: Any) -> int | None:
        if not 0 <= rank < len(self):
            return None
        outer, inner = divmod(rank, prod(self.node))
        number, weight = 0, 1
        for count, n in zip(reversed(self.grid), reversed(self.node)):
            outer, before = divmod(outer, count // n)
            inner, within = divmod(inner, n)
            number += (before * n + within) * weight
            weight *= count
        return number


def is_in_order(grid: Grid, node: Sequence[int]) -> bool:
    """True if the hierarchical order is row-major: along each axis before the last one that nodes divide, a node has one cell."""
    divided = [k for k, (count, inner) in enumerate(zip(grid, node)) if inner < count]
    return not divided or all(inner == 1 for inner in node[: divided[-1]])


def inner_grid(grid: Grid, node: Sequence[int]) -> Grid | None:
    """The grid of a node's ranks, which must divide the grid; ``None`` where that changes nothing."""
    inner = tuple([int(count) for count in node])
    if len(inner) != len(grid) or any(n < 1 or count % n for count, n in zip(grid, inner)):
        raise LayoutError(
            f"layout: node={tuple(node)} does not divide the grid {grid}; give a divisor of the processes along each axis"
        )
    return None if is_in_order(grid, inner) else inner


@remembered
def node_grid(shape: Grid, grid: Grid, per_node: int) -> Grid | None:
    """The grid of the ranks of one node for which the cuts between nodes have the least surface.

    ``None`` where that is the row-major order, or no arrangement divides the grid.
    """
    if per_node == 1 or per_node >= prod(grid):
        return None
    fitting = [
        inner
        for inner in factorisations(per_node, len(grid))
        if not any(count % n for count, n in zip(grid, inner))
    ]

    def cost(inner: Sequence[int]) -> tuple[int, bool, Sequence[int]]:
        nodes = tuple([count // n for count, n in zip(grid, inner)])
        return surface(shape, nodes), not is_in_order(grid, inner), inner

    return inner_grid(grid, min(fitting, key=cost)) if fitting else None
