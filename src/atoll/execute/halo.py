"""Fills communication padding from the owners: one message per neighbour, corners included.

The layout knows who owns what the padding mirrors (`halo_transfer`); here the messages are
posted, all at once and without blocking, and what a rank is its own neighbour for is copied.

Version 1.0 of the Distributed Array Protocol counts the outer padding of a periodic axis
into the axis. Such an axis is periodic *and* has boundary widths here. An exchange sees it
as what it means, :func:`wrapped`: a shorter periodic axis between the two pads, which are its
communication padding.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..comm.communicator import Communicator, Request
from ..context.caches import remembered
from ..errors import LayoutError
from ..layout import BlockAxis, Layout, halo_transfer
from ..ops.fingerprint import of_layout

WHAT = "halo exchange"


def counts_its_wrap(axis: object) -> bool:
    """Whether the outer padding of a periodic axis is counted into the axis itself."""
    return isinstance(axis, BlockAxis) and axis.periodic and axis.ends != (0, 0)


def wrapped(axis: BlockAxis) -> BlockAxis:
    """The same blocks, with counted outer padding taken off the axis and made halo."""
    if not counts_its_wrap(axis):
        return axis
    left, right = axis.ends
    size = axis.size - left - right
    inner = [bound - left for bound in axis.bounds[1:-1]]
    bounds = (0, *inner, size)
    halos = list(axis.halos or [(0, 0)] * axis.processes)
    halos[0] = (left, halos[0][1])
    halos[-1] = (halos[-1][0], right)
    owned = [stop - start for start, stop in pairwise(bounds)]
    if min(owned) < 0 or left > owned[-1] or right > owned[0]:
        raise LayoutError(
            f"halo exchange: a periodic axis of size {axis.size} has outer padding {axis.ends}, more "
            "than the processes at its ends own besides"
        )
    return replace(axis, size=size, bounds=bounds, halos=tuple(halos), ends=(0, 0))


Key = tuple[Any, ...]


class Exchange(NamedTuple):
    """One rank's share, ready to run: what to index the padded block with, and with whom."""

    sends: tuple[tuple[int, Key], ...]
    receives: tuple[tuple[int, Key, tuple[int, ...]], ...]
    copies: tuple[tuple[Key, Key], ...]


@remembered
def planned(layout: Layout, rank: int) -> Exchange:
    """What ``rank`` sends, receives and copies in an exchange."""
    if any(counts_its_wrap(axis) for axis in layout.axes):
        axes = [wrapped(axis) if isinstance(axis, BlockAxis) else axis for axis in layout.axes]
        layout = Layout.of(axes, layout.processes, layout.table)
    transfer = halo_transfer(layout, rank)
    return Exchange(
        tuple((record.peer, record.source_key) for record in transfer.sends),
        tuple(
            (record.peer, record.target_key, tuple(map(len, record.region)))
            for record in transfer.receives
        ),
        tuple((record.target_key, record.source_key) for record in transfer.local),
    )


def exchange_halos(
    padded: npt.NDArray[Any], layout: Layout, communicator: Communicator
) -> npt.NDArray[Any]:
    """Fill the communication padding of this rank's block, in place. Collective.

    ``padded`` is the block with its communication padding. All ranks of the layout call this.
    """
    exchange = planned(layout, communicator.rank)
    if (exchange.receives or exchange.copies) and not padded.flags.writeable:
        raise LayoutError(
            "halo exchange: the block is read-only memory; its padding cannot be filled"
        )
    communicator.log.step(of_layout(layout), WHAT)
    tag = communicator.log.tag
    incoming: list[Request] = []
    for peer, _, shape in exchange.receives:
        incoming.append(communicator.irecv(np.empty(shape, padded.dtype), peer, tag, WHAT))
    outgoing = [communicator.isend(padded[key], peer, tag, WHAT) for peer, key in exchange.sends]
    for target, source in exchange.copies:
        padded[target] = padded[source]
    for request, (_, key, _) in zip(incoming, exchange.receives):
        padded[key] = request.wait()
    communicator.wait_all(outgoing)
    return padded
