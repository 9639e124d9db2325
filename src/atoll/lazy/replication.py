"""Replication of arrays whose operations are too short to divide; and rebalancing of uneven arrays.

A mask, rows at indices, or a few elements take a message and its plan each, on every rank: as long as NumPy needs
for a million elements. Whether a program computes long formulas of an array of that size, or indexes it
again and again, shows only while it runs. So for each shape of arrays that every rank could hold, the log has an account of the time
that ranks lose by dividing it (see :mod:`..ops.worth`). Once the loss exceeds the cost of bringing such an array to all ranks,
arrays of this shape are no longer divided: a new one is made on every rank, and an existing one is brought to all
ranks at its next use.

The account follows from operations, shapes and places, in collective steps, so it is the same on all ranks. Layouts and memory that
the program knows stay: a shape that it has laid out itself, or of which it has the blocks, remains divided.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .. import policy
from ..collective import Section, redistributed
from ..comm.world import World, current_world
from ..config import Settings, config
from ..context import log
from ..context.divergence import StepLog
from ..exchange.gather import gather
from ..graph.geometry import Geometry
from ..graph.node import Node, source, view_of
from ..layout import Layout
from ..ops.elementwise import is_native
from ..ops.placement import Place, crosses
from ..ops.worth import Shape, gain
from .cells import cells_of


def stays_divided(shape: Shape, world: World) -> None:
    """Note that the program has laid out an array of this shape itself, or has the block of one. Collective."""
    log = world.communicator.log
    log.losses[shape] = -inf
    log.undivided.discard(shape)


def is_undivided(shape: Shape, world: World) -> bool:
    """True if ranks no longer divide arrays of this shape."""
    return shape in world.communicator.log.undivided and config.settings().everywhere is None


def reason_of(node: Node) -> str:
    """The reason why every rank has a value, or is to have it; empty if ranks divide it, or there is one rank."""
    world, shape = current_world(), node.geometry.shape
    if world.size == 1 or node.place is not None:
        return ""
    if is_undivided(shape, world):
        loss = world.communicator.log.losses.get(shape, 0.0) / 1e6
        return f"on every rank, since dividing such arrays was expected to lose {loss:.1f} ms"
    if node.geometry.size < config.everywhere:
        return f"on every rank, since it has less than {config.everywhere:,} elements"
    return "on every rank, as all that it is made of"


def priced(log: StepLog, shape: Shape, nbytes: int, loss: float, settings: Settings) -> None:
    """Add the loss, or gain, of ranks by dividing arrays of a shape to its account; ``nbytes`` is their size."""
    losses = log.losses
    before = losses.get(shape, 0.0)
    if not log.computes or settings.everywhere is not None or before < 0.0:
        return
    if shape in losses or len(losses) < policy.limits.entries:
        losses[shape] = max(before + loss, 0.0)
        price = policy.limits.pieces * policy.limits.step + nbytes / policy.limits.travelled_bytes
        if losses[shape] > price:
            log.undivided.add(shape)


def called(node: Node, steps: float = 1, nbytes: int = 0, travelled: int = 0) -> None:
    """Add a step of all ranks at the call to the account of an array on ranks: they share the work on ``nbytes`` bytes, and
    ``travelled`` bytes move between them."""
    settings, size = config.settings(), node.geometry.nbytes
    if settings.everywhere is None and size <= settings.gather_bytes:
        place = node.place
        work = policy.numpy_time(nbytes, heavy=True) if nbytes else 0.0
        loss = steps * policy.limits.step - gain(work, place.world.size)
        loss += travelled / policy.limits.travelled_bytes
        priced(place.log, node.geometry.shape, size, loss, settings)


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
    return _for_all_arrays(node, whole)


def asked_for(cell: Any, view: Geometry) -> np.ndarray[Any, Any] | None:
    """A short view of a computed value, in memory on this rank; ``None`` if ranks divide the value. Collective if they do."""
    node = cell.node
    if node.place is not None and brought(node) is None:
        called(node)
        return None
    return view_of(cell.settle().array, view)


def with_whole(node: Node) -> tuple[Any, ...]:
    """The operands of a node being recorded; operands that ranks no longer divide are brought to all ranks. Collective."""
    bases = dict.fromkeys([base for _, base in _placed(node)])
    wholes = {base: whole for base in bases if (whole := brought(base)) is not None}
    return _with_others(node, wholes)


def evened(node: Node) -> tuple[Any, ...]:
    """The operands of a node being recorded, rebalanced if all of them are uneven results in memory. Collective.

    A slice keeps its owners, so a result computed from ``a[:1000]`` lies on the few ranks that have these rows, as do the results
    computed from it. That costs nothing as long as it is computed together with its uses. But a result in memory that is used
    again lives for longer: then it is rebalanced, once. Results are not rebalanced beside operands with the layout of
    the slice, in a program that has laid an array out unevenly itself, nor once the program has the memory of one.
    """
    results = []
    for arg, base in _placed(node) if node.op.elementwise else ():
        uneven = base.value is not None and base.place.lopsided and base.geometry.dense
        through = arg is base or not crosses(arg.params[0])
        if not (uneven and through and base.geometry.size >= max(config.small, 1)):
            return node.args
        results.append(base)
    if not results:
        return node.args
    log = results[0].place.log
    if log.as_laid_out or not log.computes:
        return node.args
    if any(result.value.pinned for result in results):
        log.as_laid_out = True
        return node.args
    return _with_others(node, {result: _moved(result) for result in dict.fromkeys(results)})


def _placed(node: Node) -> list[tuple[Node, Any]]:
    """The operands of an elementwise node or an assignment that lie on ranks, each with the array that it is a view of, or itself."""
    placed = [arg for arg in node.args if type(arg) is Node and arg.place is not None]
    if not (node.op.elementwise or node.op.is_update):
        return []
    return [(a, a.args[0] if a.value is None and a.op.is_view else a) for a in placed]


def _with_others(node: Node, instead: dict[Node, Node]) -> tuple[Any, ...]:
    """The operands of a node, with some of them, or the bases of their views, replaced by the nodes in ``instead``."""
    others = {
        a: instead[a] if a is b else a.again((instead[b],))
        for a, b in _placed(node)
        if b in instead
    }
    return (
        tuple([others.get(a, a) if type(a) is Node else a for a in node.args])
        if others
        else node.args
    )


def _moved(result: Node) -> Node:
    """The same value in even blocks; all arrays that have it have that one from now on."""
    home, shape = result.place, result.geometry.shape
    layout = Layout.default(shape, home.world.size)
    assert result.value is not None
    section = Section(result.value.array, home.layout, home.world.communicator)
    log.ranks.info("rebalanced an array of shape %s, which lay on the ranks unevenly", shape)
    block = redistributed(section, layout).block
    place = Place.of(layout, home.world)
    moved = source(block, result.geometry, place=place, born=result.born)
    return _for_all_arrays(result, moved)


def _for_all_arrays(node: Node, moved: Node) -> Node:
    """Another node for a value, which all arrays that have the value have from now on."""
    for cell in cells_of(node):
        cell.node = moved
    return moved
