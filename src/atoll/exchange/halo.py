"""Fills communication padding from the owners: one message per neighbour, corners included.

The layout gives the owners of the elements that the padding mirrors (`halo_transfer`). This module
posts the messages, all at once and without blocking, and copies the elements for which a rank is its
own neighbour.

Version 1.0 of the Distributed Array Protocol counts the outer padding of a periodic axis
into the axis. Such an axis is periodic *and* has boundary widths here. An exchange treats
it as its equivalent, :func:`wrapped`: a shorter periodic axis between the two pads, which are its
communication padding.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy.typing as npt
from numpy.exceptions import AxisError

from ..comm.communicator import Communicator
from ..context.caches import remembered
from ..context.divergence import HASH_MASK
from ..errors import LayoutError
from ..graph.node import Value
from ..layout import BlockAxis, HaloRecord, Layout, Transfer, halo_transfer
from ..ops.fingerprint import of_layout
from .schedule import Exchange, pieces_of

WHAT = "halo exchange"


def counts_its_wrap(axis: object) -> bool:
    """True if the outer padding of a periodic axis is counted into the axis itself."""
    return isinstance(axis, BlockAxis) and axis.periodic and axis.ends != (0, 0)


def wrapped(axis: BlockAxis) -> BlockAxis:
    """The axis with the same blocks, whose counted outer padding has become halo."""
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
            f"exchange_halos: a periodic axis of size {axis.size} has outer padding {axis.ends}; it must not be wider than what the processes at its ends own besides: choose smaller padding or fewer processes"
        )
    return replace(axis, size=size, bounds=bounds, halos=tuple(halos), ends=(0, 0))


@remembered
def _planned(layout: Layout, rank: int, axis: int | None, side: str | None) -> Transfer[HaloRecord]:
    """The sends, receives and copies of ``rank``."""
    if any(counts_its_wrap(axis) for axis in layout.axes):
        axes = [wrapped(axis) if isinstance(axis, BlockAxis) else axis for axis in layout.axes]
        layout = layout.seated(axes, layout.seats)
    return halo_transfer(layout, rank, axis, side)


def _checked(layout: Layout, axis: int | None, side: str | None) -> tuple[int | None, str | None]:
    if side not in (None, "left", "right"):
        raise ValueError(f"exchange_halos: side must be 'left', 'right' or None, not {side!r}")
    if axis is None:
        if side is not None:
            raise ValueError(
                f"exchange_halos: side={side!r} needs an axis: a.exchange_halos(axis, side={side!r})"
            )
        return None, None
    if not -layout.ndim <= axis < layout.ndim:
        raise AxisError(axis, layout.ndim)
    return axis % layout.ndim, side


def exchange_halos(
    padded: npt.NDArray[Any],
    layout: Layout,
    communicator: Communicator,
    axis: int | None = None,
    side: str | None = None,
    born: int = 0,
) -> npt.NDArray[Any]:
    """Fill the communication padding of this rank's block, in place. Collective.

    ``padded`` is the block with its communication padding. All ranks of the layout call this. ``axis`` and ``side``
    select a part of the padding. ``born`` is the birth of the array.
    """
    axis, side = _checked(layout, axis, side)
    plan = _planned(layout, communicator.rank, axis, side)
    if (plan.receives or plan.local) and not padded.flags.writeable:
        raise LayoutError(
            f"exchange_halos: the block of shape {padded.shape} is read-only memory, so its padding cannot be filled; copy the array first"
        )
    part = "" if axis is None else f" of axis {axis}{', ' + side if side else ''}"
    mark = of_layout(layout) ^ zlib.crc32(part.encode()) ^ born & HASH_MASK
    communicator.log.step(mark, WHAT + part)
    pieces = pieces_of(plan, padded.dtype, 0, 0)
    Exchange(communicator, (), *pieces, lasting=False, what=WHAT).run([Value(padded)])
    return padded
