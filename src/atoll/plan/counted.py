"""Exchanges for loops that count local indices, for shares that are not boxes (see ``scattered``).

All ranks read under the same maps, whichever part of the domain they run over. So a list of *readings* says what each of
them needs, and two questions to the layouts who has it: who reads what this rank has, and what others need of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..comm.communicator import Communicator
from ..execute.exchange import Incoming, Inside, Outgoing, StartExchange
from ..graph.geometry import Geometry
from ..layout import needed
from ..layout.transfer import region_key
from ..ops.maps import AxisMap
from ..ops.placement import Place
from .readers import who_reads_share
from .scattered import has_share, region_under


class Reading(NamedTuple):
    """A ghost region: its register, that of the array that it shows a region of, where this lies, and the map."""

    register: int
    source: int
    home: Place | None
    outer: AxisMap


def counted_exchange(
    readings: Sequence[Reading],
    place: Place,
    communicator: Communicator,
    allocate: list[tuple[int, Geometry]],
    cuts: Mapping[int, Any],
    dtypes: Mapping[int, np.dtype[Any]],
) -> StartExchange:
    """The step that begins an exchange for loops over what lies at ``place``.

    It is always a step, so that programs have the same steps whichever part a rank has. Ghost region ``k`` of a rank
    travels with tag ``k``.
    """
    layout, me = place.layout, communicator.rank
    incoming: list[Incoming] = []
    outgoing: list[Outgoing] = []
    inside: list[Inside] = []
    if has_share(place, me):
        sets = layout.region(me)
        for tag, (register, source, home, outer) in enumerate(readings):
            region = region_under(outer, sets)
            if home is None:  # every rank has it; the ghost region only puts it in order
                every = tuple([slice(None)] * len(region))
                inside.append(Inside(source, region_key(region), register, every))
                continue
            for record in needed(home.layout, region, me):
                there = record.target_key
                if record.peer == me:
                    inside.append(Inside(source, record.source_key, register, there))
                else:
                    incoming.append(Incoming(register, there, record.shape, record.peer, tag))
    theirs = [
        () if home is None else who_reads_share(home, me, outer, layout)
        for _, _, home, outer in readings
    ]
    for rank in sorted({rank for ranks in theirs for rank in ranks} - {me}):
        if not has_share(place, rank):
            continue
        sets = layout.region(rank)
        for tag, ((_, source, home, outer), ranks) in enumerate(zip(readings, theirs, strict=True)):
            if home is None or rank not in ranks:
                continue
            region = region_under(outer, sets)
            mine = home.layout.region(me)
            asked = tuple([held & part for held, part in zip(mine, region, strict=True)])
            outgoing += [
                Outgoing(source, record.source_key, record.shape, rank, tag)
                for record in needed(home.layout, asked, rank)
                if record.peer == me
            ]
    return StartExchange(
        communicator, allocate, incoming, outgoing, inside, cuts, dtypes, lasting=True
    )
