"""Random layouts of every kind, and the same questions answered by explicit lists."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from atoll.layout import Block, Cyclic, Layout, Map, Undistributed, Unstructured

Held = dict[int, list[tuple[int, ...]]]


@st.composite
def bounds(draw: st.DrawFn, size: int, processes: int) -> tuple[int, ...]:
    cuts = draw(st.lists(st.integers(0, size), min_size=processes - 1, max_size=processes - 1))
    return (0, *sorted(cuts), size)


@st.composite
def maps(draw: st.DrawFn, size: int, processes: int) -> Map:
    kinds = ["block", "ceil", "bounds", "cyclic", "cyclic", "one_to_one", "overlapping"]
    kind = draw(st.sampled_from(kinds if processes > 1 else [*kinds, "undistributed"]))
    if kind == "block":
        return Block()
    if kind == "ceil":
        return Block("ceil")
    if kind == "bounds":
        return Block(draw(bounds(size, processes)))
    if kind == "cyclic":
        block = draw(st.integers(1, 5))
        return Cyclic(block, draw(st.integers(0, block - 1)))
    if kind == "undistributed":
        return Undistributed()
    order = draw(st.permutations(range(size)))
    cuts = draw(bounds(size, processes))
    held = [list(order[start:stop]) for start, stop in pairwise(cuts)]
    if kind == "overlapping" and size:
        extra = draw(st.lists(st.tuples(st.integers(0, processes - 1), st.integers(0, size - 1))))
        for process, index in extra:
            if index not in held[process]:
                held[process].append(index)
    return Unstructured(held, one_to_one=kind == "one_to_one")


@st.composite
def layouts(
    draw: st.DrawFn, shape: tuple[int, ...] | None = None, size: int | None = None
) -> Layout:
    if shape is None:
        shape = tuple(draw(st.lists(st.integers(0, 11), max_size=3)))
    if size is None:
        size = draw(st.integers(1, 8))
    left, grid = size, []
    for _ in shape:
        grid.append(draw(st.integers(1, left)))
        left //= grid[-1]
    copies = draw(st.integers(1, left))
    members = draw(st.permutations(range(size)))
    if draw(st.booleans()):
        members = sorted(members)
    chosen = [draw(maps(extent, count)) for extent, count in zip(shape, grid)]
    return Layout(shape, chosen, grid=grid, size=size, ranks=members[: prod(grid) * copies])


def held(layout: Layout) -> Held:
    """For each rank, the global index of each element of its block, in C order."""
    result: Held = {}
    for rank in range(layout.processes):
        if layout.coordinates(rank) is None:
            result[rank] = []
        else:
            result[rank] = list(product(*(list(part) for part in layout.region(rank))))
    return result


def scatter(whole: npt.NDArray[Any], layout: Layout) -> list[npt.NDArray[Any] | None]:
    """Each rank's block of an array."""
    return [
        None
        if layout.coordinates(rank) is None
        else whole[np.ix_(*(part.array() for part in layout.region(rank)))]
        if layout.ndim
        else whole.copy()
        for rank in range(layout.processes)
    ]
