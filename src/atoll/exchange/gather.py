"""Gathers whole arrays on every rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backend
from ..comm import common_warnings
from ..comm.in_step import agree, all_have_plans
from ..comm.world import World
from ..context import statistics
from ..graph.node import Node
from ..layout import Range, region_key
from ..ops.fingerprint import of_move
from .ghosts import GhostRegion, moves
from .on_nodes import shared_memory, whole_on_node
from .schedule import Exchange, Memory

_BITS = (1 << 64) - 1


def gather(node: Node, *, for_writing: bool = False) -> np.ndarray[Any, Any]:
    """Gather the value of an evaluated node that lies on ranks, whole on every rank. Collective.

    The result may be read-only unless ``for_writing``.
    """
    layout, geometry = node.place.layout, node.geometry
    communicator = node.place.world.communicator
    assert node.value is not None
    memory = None if for_writing else shared_memory(communicator, layout, geometry)
    if memory is not None:
        what = "the gathering of an array"
        communicator.log.step(of_move(geometry.shape, layout) ^ node.born & _BITS, what)
        statistics.add("gathered", geometry.nbytes)
        whole = whole_on_node(memory, layout, node.value.array, geometry, what)
    else:
        whole = _collected(node)
    common_warnings.ask(communicator)
    return whole


def whole_value(node: Node) -> np.ndarray[Any, Any]:
    """Gather an evaluated value without a plan. Collective for a value that lies on ranks."""
    assert node.value is not None
    if node.place is None:
        return node.value.array
    layout, rank = node.place.layout, node.place.world.rank
    return joined_blocks(node, node.value.array[layout.inside(rank)])


def joined_blocks(node: Node, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Join the blocks of all ranks, laid out as the node, into the whole array, without a plan. Collective."""
    layout, communicator = node.place.layout, node.place.world.communicator
    block = np.ascontiguousarray(block)
    whole = backend.current().allocate(node.geometry).array
    for rank, part in enumerate(agree(communicator, block, "an operand without a plan")):
        whole[region_key(layout.region(rank))] = part
    return whole


def _collected(node: Node) -> np.ndarray[Any, Any]:
    world: World = node.place.world
    communicator, geometry = world.communicator, node.geometry
    region = tuple([Range(0, n) for n in geometry.shape])
    ghost = GhostRegion(1, 0, node.place, geometry.dtype, region)

    def plan() -> Exchange:
        pieces = moves(lambda rank: [(0, ghost)], world.rank, range(world.size))
        return Exchange(communicator, [(1, geometry)], *pieces, lasting=False)

    exchange = statistics.attempted(plan)
    what = "the gathering of an array"
    mark = of_move(geometry.shape, node.place.layout)
    communicator.log.step(mark ^ hash((0, node.born)) & _BITS, what)
    structure = what, geometry.ndim, node.place.is_boxes
    if not all_have_plans(communicator, structure, what, exchange is not None):
        array = backend.current().allocate(geometry).array
        array[...] = whole_value(node)
        return array
    assert exchange is not None
    exchange.gathered = geometry.nbytes
    registers: Memory = [node.value, None]
    exchange.run(registers)
    value = registers[1]
    assert value is not None
    return value.array
