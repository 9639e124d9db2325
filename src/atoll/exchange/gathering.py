"""Whole arrays, or boxes of them, brought together on every rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backend
from ..comm import common_warnings
from ..comm.in_step import agree, all_have_plans
from ..comm.world import World
from ..context import statistics
from ..graph.geometry import Geometry, dense
from ..graph.node import Node
from ..layout import Range, Region, region_key
from ..ops.fingerprint import of_move
from .ghosts import GhostRegion, moves
from .on_nodes import shared_memory, whole_on_node
from .schedule import Exchange, Memory
from .shares import Box

_BITS = (1 << 64) - 1


def gather(node: Node, *, for_writing: bool = False) -> np.ndarray[Any, Any]:
    """The whole value of an evaluated node that lies on ranks, on each of them; for reading, unless more is asked for.

    Collective.
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
        region = tuple([Range(0, n) for n in geometry.shape])
        whole = _collected(node, geometry, region, 0)
    common_warnings.ask(communicator)
    return whole


def gathered_box(node: Node, box: Box) -> np.ndarray[Any, Any]:
    """The elements of an evaluated node within a box, on each rank. Collective."""
    region = tuple([Range(low, high) for low, high in box])
    shape = tuple([high - low for low, high in box])
    elements = _collected(node, dense(shape, node.geometry.dtype), region, hash(box))
    common_warnings.ask(node.place.world.communicator)
    return elements


def whole_value(node: Node) -> np.ndarray[Any, Any]:
    """All of an evaluated value, brought together without a plan. Collective for one that lies on ranks."""
    assert node.value is not None
    if node.place is None:
        return node.value.array
    layout, rank = node.place.layout, node.place.world.rank
    return joined_blocks(node, node.value.array[layout.inside(rank)])


def joined_blocks(node: Node, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The whole of what lies as a node does, from the block of each rank, without a plan. Collective."""
    layout, communicator = node.place.layout, node.place.world.communicator
    block = np.ascontiguousarray(block)
    whole = backend.current().allocate(node.geometry).array
    for rank, part in enumerate(agree(communicator, block, "an operand without a plan")):
        whole[region_key(layout.region(rank))] = part
    return whole


def _collected(node: Node, geometry: Geometry, region: Region, which: int) -> np.ndarray[Any, Any]:
    world: World = node.place.world
    communicator = world.communicator
    ghost = GhostRegion(1, 0, node.place, geometry.dtype, region)

    def plan() -> Exchange:
        pieces = moves(lambda rank: [(0, ghost)], world.rank, range(world.size))
        return Exchange(communicator, [(1, geometry)], *pieces, lasting=False)

    exchange = statistics.attempted(plan)
    what = "the gathering of an array"
    mark = of_move(node.geometry.shape, node.place.layout)
    communicator.log.step(mark ^ hash((which, node.born)) & _BITS, what)
    structure = what, node.geometry.ndim, node.place.is_boxes
    if not all_have_plans(communicator, structure, what, exchange is not None):
        array = backend.current().allocate(geometry).array
        array[...] = whole_value(node)[region_key(region)]
        return array
    assert exchange is not None
    if not which:
        exchange.gathered = node.geometry.nbytes
    registers: Memory = [node.value, None]
    exchange.run(registers)
    value = registers[1]
    assert value is not None
    return value.array
