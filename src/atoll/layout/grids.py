"""The choice of a process grid: the least surface between blocks, and nobody left out.

All ways to write the number of processes as a product are compared, so the choice is exact;
they are few (a thousand processes on three axes can be arranged in 66 ways). Among grids in
which every process gets an element the one that cuts the fewest elements apart wins, and
leading axes are preferred where that ties. If the shape has no such grid, as many processes
as possible get elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

Grid = tuple[int, ...]


def factorisations(number: int, count: int) -> Iterator[Grid]:
    """All tuples of ``count`` positive integers whose product is ``number``."""
    if count == 0:
        if number == 1:
            yield ()
        return
    if count == 1:
        yield (number,)
        return
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    for first in sorted({*small, *(number // d for d in small)}):
        for rest in factorisations(number // first, count - 1):
            yield (first, *rest)


def surface(shape: Grid, grid: Grid) -> int:
    """How many elements lie along the cuts between blocks."""
    total = 0
    for axis, processes in enumerate(grid):
        total += (processes - 1) * prod(shape[:axis] + shape[axis + 1 :])
    return total


@lru_cache(maxsize=1024)
def best_grid(shape: Grid, processes: int) -> Grid:
    """How to arrange at most ``processes`` along the axes of ``shape``."""
    extents = tuple(max(extent, 1) for extent in shape)

    def cost(grid: Grid) -> tuple[int, tuple[int, ...]]:
        return surface(extents, grid), tuple(-count for count in grid)

    def busy(grid: Grid) -> int:
        return prod(map(min, grid, extents))

    if prod(extents) <= processes and len(extents) > 1:
        return extents
    everyone = list(factorisations(processes, len(extents)))
    if not everyone:
        return ()
    most = max(map(busy, everyone))
    for fewer in range(processes - 1, most, -1):
        fitting = [grid for grid in factorisations(fewer, len(extents)) if busy(grid) == fewer]
        if fitting:
            return min(fitting, key=cost)
    return min((grid for grid in everyone if busy(grid) == most), key=cost)
