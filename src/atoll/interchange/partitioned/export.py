"""Export of an array as the dictionary of ``__partitioned__``: its blocks, by their position in the grid.

A grid may have a million positions, of which a program reads few. So the partitions are a mapping that computes an entry at
the first access, from the layout and a row for each process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...comm.in_step import allgather
from ...comm.world import World
from ...errors import ProtocolError
from ...layout import Axis, BlockAxis, CyclicAxis, Layout
from ..clusters import Position
from ..values import a_kind
from .description import process_here

MOST_PARTITIONS = 1 << 16
"""Greatest number of partitions of a rank, which lists them."""

_PROCESS = np.dtype([("process", np.int64), ("address", "S16")])


class Tile(NamedTuple):
    """A part of an axis: its indices, the coordinate of its block in the layout, and its offset in that block."""

    start: int
    length: int
    coordinate: int
    inside: int


class Tiles:
    """The tiles along one axis: blocks, or each block of a cyclic axis."""

    __slots__ = ("_axis", "count")

    def __init__(self, axis: Axis, number: int) -> None:
        self._axis = axis
        self.count = axis.processes
        if isinstance(axis, CyclicAxis):
            self.count = max(-(-(axis.size + axis.offset) // axis.block_size), 1)
            each = -(-self.count // axis.processes)
            if each > MOST_PARTITIONS:
                raise ProtocolError(
                    f"__partitioned__: axis {number} is cyclic in blocks of {axis.block_size}, which gives a rank {each} partitions, and it can have {MOST_PARTITIONS} at most; redistribute the array to blocks first: a.redistribute(atoll.Layout(a.shape))"
                )
        elif not isinstance(axis, BlockAxis):
            raise ProtocolError(
                f"__partitioned__: axis {number} is unstructured, so its parts are not rectangles, which the protocol needs; redistribute the array to blocks first: a.redistribute(atoll.Layout(a.shape))"
            )

    def of(self, coordinate: int) -> range:
        """The numbers of the tiles at a coordinate of the layout."""
        if isinstance(self._axis, CyclicAxis):
            return range(coordinate, self.count, self._axis.processes)
        return range(coordinate, coordinate + 1)

    def __getitem__(self, number: int) -> Tile:
        axis = self._axis
        if not isinstance(axis, CyclicAxis):
            return Tile(axis.bounds[number], axis.count(number), number, 0)  # type: ignore[attr-defined]
        low = max(number * axis.block_size - axis.offset, 0)
        high = min((number + 1) * axis.block_size - axis.offset, axis.size)
        return Tile(
            low, high - low, number % axis.processes, axis.locate(low)[1] if axis.size else 0
        )


class Partitions(Mapping[Position, "dict[str, Any]"]):
    """The partitions by position. Entries are computed at the first access and kept. Copies and pickles are ``dict``."""

    __slots__ = ("_entries", "_layout", "_local", "_places", "_rank", "_tiles")

    def __init__(self, layout: Layout, rank: int, local: Any, places: Sequence[Any]) -> None:
        self._layout, self._rank, self._local, self._places = layout, rank, local, places
        self._tiles = [Tiles(axis, number) for number, axis in enumerate(layout.axes)]
        self._entries: dict[Position, dict[str, Any]] = {}

    @property
    def tiling(self) -> Position:
        """The number of partitions along each axis."""
        return tuple([tiles.count for tiles in self._tiles])

    def own(self) -> list[Position]:
        """The positions of this rank's partitions."""
        count = prod([len(tiles.of(0)) for tiles in self._tiles])  # no rank has more
        if count > MOST_PARTITIONS:
            raise ProtocolError(
                f"__partitioned__: a rank has {count} partitions of the layout, and can have {MOST_PARTITIONS} at most; redistribute the array to blocks first: a.redistribute(atoll.Layout(a.shape))"
            )
        place = self._layout.coordinates(self._rank)
        if place is None:
            return []
        return list(product(*[tiles.of(c) for tiles, c in zip(self._tiles, place, strict=True)]))

    def __len__(self) -> int:
        return prod(self.tiling)

    def __iter__(self) -> Iterator[Position]:
        return product(*map(range, self.tiling))

    def __getitem__(self, position: Position) -> dict[str, Any]:
        entry = self._entries.get(position)
        if entry is None:
            inside = type(position) is tuple and len(position) == len(self._tiles)
            if not inside or not all(
                k in range(n) for k, n in zip(position, self.tiling, strict=True)
            ):
                raise KeyError(position)
            entry = self._entries[position] = self._entry(position)
        return entry

    def _entry(self, position: Position) -> dict[str, Any]:
        tiles = [along[k] for along, k in zip(self._tiles, position, strict=True)]
        ranks = self._layout.ranks_at([tile.coordinate for tile in tiles])
        data = None
        if self._rank in ranks:
            parts = [slice(tile.inside, tile.inside + tile.length) for tile in tiles]
            data = self._local[(*parts, ...)]  # the ellipsis makes it an array even without axes
        return {
            "start": tuple([tile.start for tile in tiles]),
            "shape": tuple([tile.length for tile in tiles]),
            "data": data,
            "location": [self._places[rank] for rank in ranks],
        }

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __repr__(self) -> str:
        return f"<{len(self)} partitions, {self.tiling} of them along the axes>"


class Places(Sequence["tuple[str, int, str]"]):
    """The location of each rank's process, from a table with a row for each rank."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rank: Any) -> Any:
        process, address = self._rows[rank].item()
        return address.decode(), process, "kDLCPU"


def to_partitioned(array: Any, dialect: str = "spec") -> dict[str, Any]:
    """Describe ``array`` by ``__partitioned__``, without copying it.

    Each block of the layout is a partition; each block of a block-cyclic axis is one of its own; a replicated array is
    one partition, whose location lists every rank. ``partitions`` is a mapping that computes its entries on demand.
    With ``dialect="heat"`` a location is a rank, as Heat reads it, instead of ``(address, process, device)``.

    Pending arrays are evaluated first. The first call in a world exchanges addresses and processes, so it is
    collective; later ones communicate nothing if nothing is pending.
    """
    if dialect not in ("spec", "heat"):
        raise ValueError(f"to_partitioned: dialect must be 'spec' or 'heat', not {dialect!r}")
    layout, world = array.layout, array.world
    partitions = Partitions(layout, world.rank, (), ())
    own = partitions.own()
    array._evaluate()
    places = range(world.size) if dialect == "heat" else _places_of(world)
    partitions = Partitions(layout, world.rank, array.local, places)
    return {
        "shape": layout.shape,
        "partition_tiling": partitions.tiling,
        "partitions": partitions,
        "locals": own,
        "get": get,
    }


def get(handles: Any) -> Any:
    """The data of one handle, or of a sequence of handles; the handles of ranks are the data."""
    if isinstance(handles, np.ndarray):
        return handles
    if handles is None:
        raise ProtocolError("get: the partition lies on another rank, and its data is None here")
    if not isinstance(handles, Sequence | Iterator) or isinstance(handles, str | bytes):
        raise ProtocolError(
            f"get: a handle must be the data of a partition of this array, not {a_kind(handles)}"
        )
    return [get(handle) for handle in handles]


def _places_of(world: World) -> Places:
    communicator = world.communicator
    places: Places | None = communicator.places
    if places is None:
        address, process = process_here()
        row = np.array([(process, address.encode())], _PROCESS)
        if communicator.kind == "dry run":
            rows = np.broadcast_to(row, world.size)
        else:
            rows = allgather(communicator, row.view(np.uint8), "the export of partitions")
            rows = rows.reshape(-1).view(_PROCESS)
        places = communicator.places = Places(rows)
    return places
