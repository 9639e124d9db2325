"""Exports an array as the dictionary of ``__partitioned__``: its blocks, by their position in the grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ...comm.in_step import agree
from ...comm.world import World
from ...errors import ProtocolError
from ...layout import Axis, BlockAxis, CyclicAxis
from ..values import a_kind
from .reading import process_here

MOST_PARTITIONS = 1 << 16

_processes: WeakKeyDictionary[World, list[tuple[str, int]]] = WeakKeyDictionary()


class Tiles(NamedTuple):
    """The tiles along one axis: their lengths, and which coordinate of the layout has each."""

    lengths: tuple[int, ...]
    coordinates: tuple[int, ...]


def to_partitioned(array: Any, dialect: str = "spec") -> dict[str, Any]:
    """Describe ``array`` by ``__partitioned__``, without copying it.

    Each block of the layout is a partition; a block-cyclic axis gives a partition for each block; a replicated array is
    one partition, whose location lists every rank. With ``dialect="heat"`` a location is the rank, as Heat reads it,
    and not ``(address, process, device)``.

    Pending arrays are evaluated first. The first call in a world exchanges addresses and processes, so it is
    collective; later ones communicate nothing if nothing is pending.
    """
    if dialect not in ("spec", "heat"):
        raise ValueError(f"to_partitioned: dialect must be 'spec' or 'heat', not {dialect!r}")
    layout, world = array.layout, array.world
    tiles = [_tiles(axis, k) for k, axis in enumerate(layout.axes)]
    tiling = tuple([len(axis.lengths) for axis in tiles])
    if prod(tiling) > MOST_PARTITIONS:
        raise ProtocolError(
            f"__partitioned__: the layout has {prod(tiling)} partitions, and can have {MOST_PARTITIONS} at most; redistribute the array to blocks first: a.redistribute(atoll.Layout(a.shape))"
        )
    array._evaluate()
    places: Sequence[Any] = (
        range(world.size)
        if dialect == "heat"
        else [(*process, "kDLCPU") for process in _processes_of(world)]
    )
    local = array.local
    offsets = [(0, *accumulate(axis.lengths)) for axis in tiles]
    table = layout.table
    inside = [_inside(axis) for axis in tiles]
    partitions, own = {}, []
    for position in product(*map(range, tiling)):
        cell = tuple([axis.coordinates[k] for axis, k in zip(tiles, position)])
        ranks = table[cell].tolist()
        data = None
        if world.rank in ranks:
            own.append(position)
            data = local[
                (
                    *[
                        slice(begin[k], begin[k] + axis.lengths[k])
                        for begin, axis, k in zip(inside, tiles, position)
                    ],
                    ...,  # of no axes, it is an array all the same
                )
            ]
        partitions[position] = {
            "start": tuple([offset[k] for offset, k in zip(offsets, position)]),
            "shape": tuple([axis.lengths[k] for axis, k in zip(tiles, position)]),
            "data": data,
            "location": [places[rank] for rank in ranks],
        }
    return {
        "shape": layout.shape,
        "partition_tiling": tiling,
        "partitions": partitions,
        "locals": own,
        "get": get,
    }


def get(handles: Any) -> Any:
    """The data of one handle, or of a sequence of them: the handles of ranks are the data."""
    if isinstance(handles, np.ndarray):
        return handles
    if handles is None:
        raise ProtocolError("get: the partition lies on another rank, and its data is None here")
    if not isinstance(handles, Sequence | Iterator) or isinstance(handles, str | bytes):
        raise ProtocolError(
            f"get: a handle must be the data of a partition of this array, not {a_kind(handles)}"
        )
    return [get(handle) for handle in handles]


def _processes_of(world: World) -> list[tuple[str, int]]:
    processes = _processes.get(world)
    if processes is None:
        processes = agree(world.communicator, process_here(), "the export of partitions")
        _processes[world] = processes
    return processes


def _tiles(axis: Axis, number: int) -> Tiles:
    if isinstance(axis, BlockAxis):
        bounds = axis.bounds
        return Tiles(tuple([b - a for a, b in pairwise(bounds)]), tuple(range(axis.processes)))
    if isinstance(axis, CyclicAxis):
        lengths, coordinates = [], []
        block = 0
        while block * axis.block_size - axis.offset < axis.size:
            low = max(block * axis.block_size - axis.offset, 0)
            high = min((block + 1) * axis.block_size - axis.offset, axis.size)
            lengths.append(high - low)
            coordinates.append(block % axis.processes)
            block += 1
            if block > MOST_PARTITIONS:
                raise ProtocolError(
                    f"__partitioned__: axis {number} is cyclic in blocks of {axis.block_size}, which gives more than {MOST_PARTITIONS} partitions, the most there can be; redistribute the array to blocks first: a.redistribute(atoll.Layout(a.shape))"
                )
        return Tiles(tuple(lengths) or (0,), tuple(coordinates) or (0,))
    raise ProtocolError(
        f"__partitioned__: axis {number} is unstructured, so its parts are not rectangles, which the protocol needs; redistribute the array to blocks first: a.redistribute(atoll.Layout(a.shape))"
    )


def _inside(tiles: Tiles) -> list[int]:
    """Where in its owner's block each tile begins."""
    ends: dict[int, int] = {}
    begins = []
    for length, coordinate in zip(tiles.lengths, tiles.coordinates):
        begin = ends.get(coordinate, 0)
        begins.append(begin)
        ends[coordinate] = begin + length
    return begins
