"""Hierarchical grids: the ranks of a node have neighbouring cells.

The grid of all ranks is a grid of nodes, and each node is a smaller grid of its own ranks. Nodes, and the ranks of a
node, follow each other in row-major order. So a rank's cell is arithmetic, however many ranks there are, and a block of
cells that belongs to one node has less surface than a line of them: fewer elements travel between nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..context.caches import remembered
from ..errors import LayoutError
from .grids import Grid, factorisations, surface
from .index_set import Computed


@dataclass(frozen=True, slots=True)
class NodeOrder(Computed[int]):
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


def checked(grid: Grid, node: Sequence[int]) -> Grid | None:
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

    return checked(grid, min(fitting, key=cost)) if fitting else None
