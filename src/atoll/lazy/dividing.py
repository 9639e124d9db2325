"""Arrays that ranks stop dividing, since what the program does with them is all short.

A mask, rows at indices, or a few elements take a message and its plan each, on every rank: as long as NumPy goes
through a million elements. Whether a program computes long formulas of an array of that size, or picks from it
again and again, shows only while it runs. So the log has an account for each shape of arrays that every rank could hold, of what
ranks lose by dividing it (see :mod:`..ops.worth`). Once they have lost more than it takes to bring such an array to all ranks,
arrays of this shape are no longer divided: a new one is made on every rank, and one that is there is brought to all
ranks when it is next computed with.

The account follows from operations, shapes and places, in collective steps, so it is the same on all ranks. Layouts and memory that
the program knows stay: a shape that it has laid out itself, or of which it has the blocks, remains divided.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .. import policy
from ..comm.world import World, current_world
from ..config import Settings, config
from ..context import log
from ..context.divergence import StepLog
from ..exchange.gathering import gather
from ..graph.geometry import Geometry
from ..graph.node import Node, source, view_of
from ..ops.elementwise import is_native
from ..ops.worth import Shape, gain, may_be_whole
from .cells import cells_of


def stays_divided(shape: Shape, world: World) -> None:
    """Note that the program has laid out an array of this shape itself, or has the block of one. Collective."""
    log = world.communicator.log
    log.losses[shape] = -inf
    log.undivided.discard(shape)


def is_undivided(shape: Shape, world: World) -> bool:
    """Whether ranks no longer divide arrays of this shape."""
    return shape in world.communicator.log.undivided and config.settings().everywhere is None


def priced(log: StepLog, shape: Shape, nbytes: int, loss: float, settings: Settings) -> None:
    """Note what ranks lose, or gain, by dividing arrays of a shape and so many bytes, in what they compute together."""
    losses = log.losses
    before = losses.get(shape, 0.0)
    if not log.computes or settings.everywhere is not None or before < 0.0:
        return
    if shape in losses or len(losses) < policy.limits.entries:
        losses[shape] = max(before + loss, 0.0)
        price = policy.limits.pieces * policy.limits.step + nbytes / policy.limits.travelled_bytes
        if losses[shape] > price:
            log.undivided.add(shape)


def called(node: Node, steps: float = 1, nbytes: int = 0) -> None:
    """Note what all ranks do at the call with elements of an array on ranks, going through so many bytes."""
    if may_be_whole(node.geometry):
        log, settings = node.place.world.communicator.log, config.settings()
        work = policy.numpy_time(nbytes, heavy=True) if nbytes else 0.0
        loss = steps * policy.limits.step - gain(work, node.place.world.size)
        priced(log, node.geometry.shape, node.geometry.nbytes, loss, settings)


def brought(node: Node) -> Node | None:
    """A value on all ranks, where it was brought to them because ranks no longer divide arrays of its shape; else ``None``.
    Collective then: all arrays that have the value have the whole from now on."""
    place, value = node.place, node.value
    if place is None or value is None or not is_undivided(node.geometry.shape, place.world):
        return None
    world, geometry = place.world, node.geometry
    movable = place.is_boxes and is_native(geometry.dtype) and not value.pinned
    if not (movable and world == current_world()):
        return None
    whole = source(gather(node, for_writing=True), geometry)
    log.ranks.info("brought an array of shape %s to all ranks for good", geometry.shape)
    for cell in cells_of(node):
        cell.node = whole
    return whole


def asked_for(cell: Any, view: Geometry) -> np.ndarray[Any, Any] | None:
    """A short view of a value that is there, in memory on this rank; ``None`` where ranks divide it. Collective there."""
    node = cell.node
    if node.place is not None and brought(node) is None:
        called(node)
        return None
    return view_of(cell.settle().array, view)


def with_whole(node: Node) -> tuple[Any, ...]:
    """The operands of a node that is being recorded, those brought to all ranks that they no longer divide. Collective."""
    if not node.op.elementwise:
        return node.args
    args = list(node.args)
    wholes: dict[Node, Node | None] = {}
    for k, arg in enumerate(args):
        if type(arg) is not Node or arg.place is None:
            continue
        seen = arg.value is None and arg.op.is_view
        base = arg.args[0] if seen else arg
        if base not in wholes:
            wholes[base] = brought(base)
        whole = wholes[base]
        if whole is not None:
            args[k] = arg.again((whole,)) if seen else whole
    return tuple(args) if any(wholes.values()) else node.args
