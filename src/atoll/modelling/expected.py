"""Expected messages of collectives that depend on the values of arrays: those for random values in random order."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np

from ..collective.operation import Call
from ..collective.sort import destinations
from ..comm.dry_run import Sent, Waited
from ..comm.world import World
from ..exchange.partners import arriving
from ..layout.bounds import balanced_bounds
from .work import Work, near


def _ordered(call: Call, world: World) -> None:
    """Add the events of a distributed sort, in several levels on many ranks: its boundaries are found, and no element moves."""
    form = call.operands[0].form(world)
    communicator: Any = world.communicator
    length, share = form.layout.size, form.layout.local_size(world.rank)
    items = [
        form.dtype.itemsize,
        *[np.dtype(np.int64).itemsize] * (call.function.name == "argsort"),
    ]
    group = range(world.size)
    while len(group) > 1:
        events, members, rank = communicator.events, communicator.members, communicator.rank
        start = balanced_bounds(length, communicator.size)[rank]
        values = np.broadcast_to(np.zeros((), form.dtype), share)
        spans, group, length = destinations(values, start, length, communicator)
        leaving = {peer: len(span) for peer, span in spans.items() if peer != rank}
        come = arriving(communicator, leaving, "elements in order")
        for item in items:
            events += [Sent(False, members[peer], count * item) for peer, count in come.items()]
            events += [Sent(True, members[peer], count * item) for peer, count in leaving.items()]
        events.append(Waited())
        # the sorted parts from all ranks are sorted once more
        events.append(Work("sort", near(2 * share * sum(items)), share * log2(max(share, 2)), ""))
        communicator = communicator.group(group)
        share = balanced_bounds(length, len(group))[communicator.rank + 1]
        share -= balanced_bounds(length, len(group))[communicator.rank]


EXPECTED = {"sort": _ordered, "argsort": _ordered}
"""The rules by name of a collective operation."""
