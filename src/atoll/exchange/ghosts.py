"""Ghost regions, and the messages that fill them: need minus own.

A rank needs regions of arrays. Each rank lists its own ghost regions, and can list those of any other rank, because they
follow from layouts alone. The pieces of its regions that other ranks own arrive, and the pieces of their regions that it
owns leave. It lists the regions only of the ranks that can read its share (see :mod:`.readers`). All pieces for one
neighbour travel in one message, unless they are large; then region ``k`` travels with tag ``k``, so both ends agree without
communication.

Regions are index sets, or intervals with symbolic ends, which a plan fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..comm.communicator import Communicator
from ..graph.geometry import Geometry
from ..layout import Region, needed, region_key
from ..layout.symbolic import Number
from ..layout.symbolic_layout import extent, known
from ..ops.maps import AxisMap
from ..ops.placement import Place
from .broadcasts import Broadcast, broadcast_axes, broadcasts_of, moves_of
from .messages import Piece
from .readers import region_under, who_reads
from .schedule import Copy, Exchange, Pieces, Stage
from .shares import Box, has_share, source_key

Ghosts = Callable[[int], Iterable[tuple[int, "GhostRegion"]]]
"""A function from a rank to its ghost regions, each with its tag; it gives the same on every rank."""


@dataclass(slots=True)
class GhostRegion:
    """A region of an array that a rank needs, in a register of its own."""

    register: int
    source: int
    """The register of the array."""
    home: Place | None
    """The place of the array; ``None`` if every rank has the array, and the region is a local copy."""
    dtype: np.dtype[Any]
    region: Region = ()
    outer: AxisMap | None = None
    """For loops that count local indices, the map under which the region is read."""
    boxed: bool = False
    """True if loops read the region under a map, so that a larger region would serve as well."""

    @property
    def shape(self) -> tuple[Number, ...]:
        """The extents of the region."""
        return tuple(map(extent, self.region))

    @property
    def box(self) -> Box:
        """The ends of a region of intervals."""
        return tuple([(part.start, part.stop) for part in self.region])  # type: ignore[attr-defined]


def moves(ghosts_of: Ghosts, rank: int, readers: Iterable[int]) -> Pieces:
    """The pieces that a rank receives, sends, and copies from its own share.

    ``readers`` are the ranks whose ghost regions may meet this rank's share.
    """
    receives: list[Piece] = []
    sends: list[Piece] = []
    copies: list[Copy] = []
    for other in sorted({rank, *readers}):
        for tag, ghost in ghosts_of(other):
            region, register, dtype = ghost.region, ghost.register, ghost.dtype
            if ghost.home is None:
                if other == rank:
                    every = (slice(None),) * len(region)
                    copies.append(Copy(ghost.source, region_key(region), register, every))
                continue
            layout = ghost.home.layout
            if not layout.is_block:
                region = tuple(map(known, region))
            if other != rank:
                own = layout.region(rank)
                region = tuple([a.intersection(b) for a, b in zip(own, region, strict=True)])
                if not all(region):
                    continue
            for record in needed(layout, region, other):
                if other != rank:
                    if record.peer == rank:
                        key = source_key(ghost.home, rank, record)
                        sends.append(
                            Piece(ghost.source, record.shape, dtype, key, peer=other, tag=tag)
                        )
                elif record.peer == rank:
                    key = source_key(ghost.home, rank, record)
                    copies.append(Copy(ghost.source, key, register, record.target_key))
                else:
                    key, peer = record.target_key, record.peer
                    receives.append(Piece(register, record.shape, dtype, key, peer=peer, tag=tag))
    return receives, sends, copies


def plan_exchange(
    ghosts_of: Ghosts,
    readers: Iterable[int],
    communicator: Communicator,
    geometries: Sequence[Geometry],
    make: Any = Exchange,
    broadcasts: Sequence[Broadcast] = (),
) -> Exchange | None:
    """This rank's exchange, or ``None`` where it has nothing to send and needs nothing.

    ``geometries`` has the geometry of each register. ``make`` constructs the exchange.
    """
    rank = communicator.rank
    pieces, stages = _together(moves(ghosts_of, rank, readers), broadcasts)
    registers = [ghost.register for _, ghost in ghosts_of(rank)]
    registers += [each.register for each in broadcasts if each.register >= 0]
    if not (registers or pieces[1]):
        return None
    allocate = [(register, geometries[register]) for register in registers]
    exchange: Exchange = make(communicator, allocate, *pieces, stages)
    return exchange


def _together(pieces: Pieces, broadcasts: Iterable[Broadcast]) -> tuple[Pieces, list[Stage]]:
    """The pieces of ghost regions and of broadcasts, and the stages of these."""
    (receives, sends, copies), (more, stages) = pieces, moves_of(broadcasts)
    return (receives + more[0], sends + more[1], copies + more[2]), stages


def exchange_under_maps(
    ghosts: Sequence[GhostRegion],
    place: Place,
    communicator: Communicator,
    allocate: list[tuple[int, Geometry]],
) -> Exchange:
    """The exchange for loops that count local indices of arrays at ``place``.

    All ranks read under the same maps, whichever part of the domain they run over. The result is an exchange
    even without messages, so that programs have the same steps on all ranks.
    """
    layout, me = place.layout, communicator.rank
    readers: list[set[int] | None] = []
    broadcasts: list[Broadcast] = []
    for tag, ghost in enumerate(ghosts):
        home, outer = ghost.home, ghost.outer or ()
        if home is None or not broadcast_axes(outer, home, place):
            readers.append(
                set()
                if home is None
                else who_reads(home.layout.region(me), outer, layout, grid=home.layout.grid)
            )
            continue
        readers.append(None)

        def region_of(rank: int, outer: AxisMap = outer) -> Region:
            return region_under(outer, layout.region(rank))

        taken = broadcasts_of(home, outer, place, ghost.source, ghost.dtype, tag, region_of)
        for each in taken:
            each.register = ghost.register if each.reads else -1
        broadcasts += taken

    def ghosts_of(rank: int) -> Iterable[tuple[int, GhostRegion]]:
        if not has_share(place, rank):
            return
        sets = layout.region(rank)
        for tag, (ghost, ranks) in enumerate(zip(ghosts, readers, strict=True)):
            if ranks is not None and (rank == me or rank in ranks):
                yield tag, replace(ghost, region=region_under(ghost.outer or (), sets))

    everyone = {rank for ranks in readers for rank in ranks or ()}
    pieces, stages = _together(moves(ghosts_of, me, everyone), broadcasts)
    return Exchange(communicator, allocate, *pieces, stages)
