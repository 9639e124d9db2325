"""Partitions on a cluster, given by handles, become one block for each rank.

Assign, fetch, agree. The ranks are arranged as a grid over the grid of partitions, so that each
gets a box of neighbouring ones and the result has a layout of blocks (``best_grid``; an axis is cut
between partitions, as evenly as they allow). Which rank takes which box follows from where the
partitions lie: the box and the rank that have most elements in one process come first, then
those on one machine; loopback is every machine. All ranks work that out alike, from the same
description and from each other's address.

A rank then fetches its partitions, and nobody else does, in batches of ``BATCH`` elements. It
takes over the memory of a single one, and copies several into its block. What goes wrong on one
rank is raised on all.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..comm.world import World
from ..errors import ProtocolError
from ..layout import BlockAxis, Layout
from ..layout.grids import best_grid
from .clusters import Grid, Position, everywhere, extents

Array = npt.NDArray[Any]
Bounds = tuple[int, ...]

BATCH = 1 << 24
"""Elements that are asked for at once, where partitions are smaller than that."""


class Imported(NamedTuple):
    """What an array is made of: this rank's block, the layout, the world."""

    block: Array
    layout: Layout
    world: World


class Assignment(NamedTuple):
    """Which rank takes which box of partitions: along each axis, where boxes begin and end."""

    cuts: tuple[Bounds, ...]
    ranks: npt.NDArray[np.int64]

    def box(self, rank: int) -> tuple[range, ...] | None:
        """The partitions of a rank along each axis, ``None`` if it has none."""
        found = np.argwhere(self.ranks == rank)
        if not len(found):
            return None
        return tuple(range(cut[k], cut[k + 1]) for cut, k in zip(self.cuts, found[0]))


def fetch(name: str, description: Mapping[str, Any], grid: Grid, world: World) -> Imported:
    """This rank's block of what a dictionary without ``locals`` describes. Collective.

    ``description`` has handles that work on this rank; all else is the same on every rank.
    """
    homes = everywhere(world, name, _home)
    assignment = assign(grid, homes)
    box = assignment.box(world.rank)
    places = [] if box is None else list(product(*box))
    block: list[Array] = []

    def work() -> str:
        if not places:
            return ""
        block.append(_joined(name, places, description, grid))
        return _dtype_name(name, block[0].dtype)

    dtypes = everywhere(world, name, work)
    _agree(name, dtypes)
    layout = _layout(grid, assignment, world.size)
    if not block:
        kind = next(one for one in dtypes if one)
        block.append(np.empty(layout.local_shape(world.rank), np.dtype(kind)))
    return Imported(block[0], layout, world)


def _dtype_name(name: str, dtype: np.dtype[Any]) -> str:
    if dtype.names is not None or dtype.hasobject:
        raise ProtocolError(
            f"{name}: D1: the partitions have dtype {dtype}; objects and records do not travel"
        )
    return dtype.str


def _agree(name: str, dtypes: Sequence[str]) -> None:
    """Ranks of which each has one dtype have the same one."""
    first = next(rank for rank, one in enumerate(dtypes) if one)
    for rank, one in enumerate(dtypes):
        if one and one != dtypes[first]:
            raise ProtocolError(
                f"{name}: P7: the partitions of rank {first} have dtype {np.dtype(dtypes[first])}, "
                f"those of rank {rank} have {np.dtype(one)}"
            )


# Who takes what


def assign(grid: Grid, homes: Sequence[tuple[frozenset[str], int]]) -> Assignment:
    """A box of partitions for each rank, near to where they lie.

    ``homes`` has each rank's addresses and process.
    """
    tiles = extents(grid.tiling, grid.pieces)
    process_grid = best_grid(grid.tiling, len(homes)) if grid.tiling else ()
    process_grid = tuple(map(min, process_grid, grid.tiling))
    cuts = tuple(even_cuts(lengths, n) for lengths, n in zip(tiles, process_grid))
    boxes = list(np.ndindex(process_grid))
    scores = []
    for number, cell in enumerate(boxes):
        near = _nearness(grid, [range(c[k], c[k + 1]) for c, k in zip(cuts, cell)], homes)
        scores += [(*score, -number, -rank) for rank, score in enumerate(near)]
    ranks = np.full(process_grid, -1, np.int64)
    taken: set[int] = set()
    for _, _, number, rank in sorted(scores, reverse=True):
        if ranks[boxes[-number]] < 0 and -rank not in taken:
            ranks[boxes[-number]] = -rank
            taken.add(-rank)
    return Assignment(cuts, ranks)


def even_cuts(lengths: Sequence[int], parts: int) -> Bounds:
    """Where to cut a row of lengths into so many parts, none empty, as evenly as it allows."""
    ends = (0, *accumulate(lengths))
    cuts = [0]
    for part in range(1, parts):
        wanted = ends[-1] * part / parts
        choices = range(cuts[-1] + 1, len(lengths) - (parts - part) + 1)
        cuts.append(min(choices, key=lambda k: abs(ends[k] - wanted)))
    return (*cuts, len(lengths))


def _nearness(
    grid: Grid, box: Sequence[range], homes: Sequence[tuple[frozenset[str], int]]
) -> list[tuple[int, int]]:
    """By rank, how many elements of a box lie in its process, and how many on its machine."""
    same, near = [0] * len(homes), [0] * len(homes)
    for place in product(*box):
        piece = grid.pieces[place]
        size = prod(piece.shape)
        for rank, (addresses, process) in enumerate(homes):
            here = [p for address, p in piece.locations if address in addresses or _loops(address)]
            near[rank] += size if here else 0
            same[rank] += size if process in here else 0
    return list(zip(same, near))


def _loops(address: str) -> bool:
    return address in ("localhost", "::1", "0.0.0.0") or address.startswith("127.")


@lru_cache(maxsize=1)
def _addresses() -> frozenset[str]:
    """What this machine is called in the network, as far as it knows."""
    found = {socket.gethostname()}
    try:
        found.update(str(one[4][0]) for one in socket.getaddrinfo(socket.gethostname(), None))
    except OSError:  # a machine without a name server is called by its name
        found.add("localhost")
    # No packet is sent: the kernel says from which address it would go out.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            found.add(probe.getsockname()[0])
        except OSError:  # no network at all
            found.add("localhost")
    return frozenset(found)


def _home() -> tuple[frozenset[str], int]:
    return _addresses(), os.getpid()


def _layout(grid: Grid, assignment: Assignment, size: int) -> Layout:
    if size == 1:
        return Layout.replicated(grid.shape, 1)
    axes = [
        BlockAxis(sum(lengths), tuple(ends[k] for k in cut))
        for lengths, cut in zip(extents(grid.tiling, grid.pieces), assignment.cuts)
        for ends in [(0, *accumulate(lengths))]
    ]
    return Layout.of(axes, size, assignment.ranks)


# Fetching


def _joined(
    name: str, places: Sequence[Position], description: Mapping[str, Any], grid: Grid
) -> Array:
    """The partitions of a box as one array."""
    parts = description["partitions"]
    origin = parts[places[0]]["start"]
    last = parts[places[-1]]
    stop = [start + length for start, length in zip(last["start"], last["shape"])]
    block: Array | None = None
    for batch in batches(places, grid):
        handles = [parts[place]["data"] for place in batch]
        for place, data in zip(batch, description["get"](handles)):
            array = as_array(name, place, data)
            wanted = parts[place]["shape"]
            if array.shape != wanted:
                raise ProtocolError(
                    f"{name}: P8: position {place}: the data has shape {array.shape}; it is said to have {wanted}"
                )
            if block is None:
                if len(places) == 1:
                    return array if array.flags.writeable else array.copy()
                block = np.empty([b - a for a, b in zip(origin, stop)], array.dtype)
            if array.dtype != block.dtype:
                raise ProtocolError(
                    f"{name}: P7: position {place}: the data has dtype {array.dtype}, at "
                    f"{places[0]} it has {block.dtype}"
                )
            start = [a - b for a, b in zip(parts[place]["start"], origin)]
            block[tuple([slice(a, a + n) for a, n in zip(start, array.shape)])] = array
    assert block is not None
    return block


def batches(places: Sequence[Position], grid: Grid) -> list[list[Position]]:
    """The places in order, so many at a time that they have ``BATCH`` elements, at least one."""
    ends = [0, *accumulate(prod(grid.pieces[place].shape) for place in places)]
    cuts = [0]
    for k in range(1, len(places)):
        if ends[k + 1] - ends[cuts[-1]] > BATCH:
            cuts.append(k)
    return [list(places[a:b]) for a, b in pairwise([*cuts, len(places)])]


def as_array(name: str, place: Position, data: Any) -> Array:
    """A partition as an array: NumPy's, what gives one, or the columns of a DataFrame."""
    where = f"{name}: D1: position {place}"
    if hasattr(data, "dtypes") and hasattr(data, "to_numpy") and getattr(data, "ndim", 2) == 2:
        kinds = {str(kind) for kind in data.dtypes}
        if len(kinds) > 1:
            raise ProtocolError(
                f"{name}: P7: position {place}: the columns have dtypes {', '.join(sorted(kinds))}; an array has one"
            )
    if isinstance(data, np.ma.MaskedArray):
        raise ProtocolError(f"{where}: the data is a masked array; fill it first")
    if isinstance(data, str | bytes | list | tuple | dict | set) or data is None:
        raise ProtocolError(
            f"{where}: the data is a {type(data).__name__}; it must be an array or a DataFrame"
        )
    try:
        array = np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else data)
    except Exception as error:
        raise ProtocolError(
            f"{where}: the data is a {type(data).__name__} that gives no array "
            f"({type(error).__name__}: {error})"
        ) from error
    if array.dtype.hasobject:
        raise ProtocolError(
            f"{where}: the data is a {type(data).__name__} of dtype object; objects do not travel"
        )
    return array
