"""Search for a layout under which every rank keeps its partitions.

Along each axis, positions whose partitions have the same owners form a group. If the positions of each group adjoin, the
group becomes one larger block; if groups alternate in equal sizes, the axis is cyclic; otherwise it is unstructured. The
layout exists if each rank has only one position in the grid of these groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, product
from typing import Any

import numpy as np

from ...layout import Axis, BlockAxis, CyclicAxis, Layout, UnstructuredAxis, listed
from ..clusters import Extents, Position, Shape

Owners = Mapping[Position, tuple[int, ...]]
"""The ranks that have each partition."""


def arranged(
    extents: Extents, owners: Owners, size: int
) -> tuple[Layout, dict[int, list[list[int]]]] | None:
    """The layout, and by rank its positions along each axis; ``None`` if there is no such layout."""
    if not extents:
        ranks = owners[()]
        return Layout.of((), size, np.array(ranks, np.int64)), {rank: [] for rank in ranks}
    groups = [_groups(axis, extents, owners) for axis in range(len(extents))]
    table: dict[Position, tuple[int, ...]] = {}
    seats: dict[int, Position] = {}
    for position, ranks in owners.items():
        cell = tuple([group[place] for group, place in zip(groups, position)])
        if table.setdefault(cell, ranks) != ranks:
            return None
        for rank in ranks:
            if seats.setdefault(rank, cell) != cell:
                return None
    copies = {len(ranks) for ranks in table.values()}
    if len(copies) != 1:
        return None
    axes = [_axis(lengths, group) for lengths, group in zip(extents, groups)]
    counts = [max(group) + 1 for group in groups]
    ranks_of = np.array([table[cell] for cell in product(*map(range, counts))], np.int64)
    layout = Layout.of(axes, size, ranks_of.reshape(*counts, copies.pop()))
    places = {
        rank: [
            [place for place, number in enumerate(group) if number == mine]
            for group, mine in zip(groups, cell)
        ]
        for rank, cell in seats.items()
    }
    return layout, places


def _groups(axis: int, extents: Extents, owners: Owners) -> list[int]:
    """The number of the group of each position along an axis, in the order of first appearance."""
    by_place: list[list[tuple[Position, tuple[int, ...]]]] = [[] for _ in extents[axis]]
    for position, ranks in owners.items():
        by_place[position[axis]].append((position[:axis] + position[axis + 1 :], ranks))
    numbers: dict[tuple[tuple[Position, tuple[int, ...]], ...], int] = {}
    return [numbers.setdefault(tuple(sorted(some)), len(numbers)) for some in by_place]


def _axis(lengths: Sequence[int], group: Sequence[int]) -> Axis:
    count = max(group) + 1
    size = sum(lengths)
    if list(group) == sorted(group):
        sizes = [0] * count
        for length, number in zip(lengths, group):
            sizes[number] += length
        return BlockAxis(size, (0, *accumulate(sizes)))
    in_turn = all(number == place % count for place, number in enumerate(group))
    equal = set(lengths[:-1])
    if in_turn and len(equal) == 1 and 0 < lengths[-1] <= lengths[0]:
        return CyclicAxis(size, count, lengths[0])
    offsets = (0, *accumulate(lengths))
    indices: list[list[Any]] = [[] for _ in range(count)]
    for place, number in enumerate(group):
        indices[number].append(np.arange(offsets[place], offsets[place + 1]))
    sets = tuple([listed(np.concatenate(parts)) for parts in indices])
    return UnstructuredAxis(size, sets, True, labels=False)


def dealt(
    tiling: Shape,
    locations: Mapping[Position, tuple[tuple[str, int], ...]],
    processes: Sequence[tuple[str, int]],
) -> dict[Position, tuple[int, ...]]:
    """Assign each partition of a cluster to a rank: the process that has it, else one on its node, else evenly in blocks of
    the grid."""
    size = len(processes)
    by_process = {process: rank for rank, process in reversed(list(enumerate(processes)))}
    by_address: dict[str, list[int]] = {}
    for rank, (address, _) in enumerate(processes):
        by_address.setdefault(address, []).append(rank)
    blocks = Layout.default(tiling, size) if tiling else Layout.replicated((), size)
    even: dict[Position, int] = {}
    for rank in reversed(range(size)):
        region = blocks.region(rank) if blocks.coordinates(rank) is not None else None
        if region is not None:
            even.update(dict.fromkeys(product(*[part.array().tolist() for part in region]), rank))
    load = [0] * size
    owners: dict[Position, tuple[int, ...]] = {}
    for position in product(*map(range, tiling)):
        places = locations.get(position, ())
        exact = [by_process[place] for place in places if place in by_process]
        near: set[int] = set()
        for address, _ in places:
            near.update(by_address.get(address, range(size) if _loops(address) else ()))
        rank = even[position]
        if exact:
            rank = exact[0]
        elif near and rank not in near:
            rank = min(sorted(near), key=lambda r: load[r])
        load[rank] += 1
        owners[position] = (rank,)
    return owners


def _loops(address: str) -> bool:
    """True if an address is a loopback address."""
    return not address or address.startswith("127.") or address in ("localhost", "::1")
