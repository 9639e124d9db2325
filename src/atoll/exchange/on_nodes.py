"""Gathers whole arrays once for each node: its ranks share the memory.

Each rank writes its own elements into the memory of its node, and sends them to one rank of each other node, which writes
them there. So an element goes to each node once, not to each rank, and the node holds it once (:mod:`.comm.node_memory`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.node_memory import NodeMemory, node_memory
from ..graph.geometry import Geometry
from ..layout import Layout, region_key
from .messages import exchange

Array = np.ndarray[Any, Any]


def shared_memory(
    communicator: Communicator, layout: Layout, geometry: Geometry
) -> NodeMemory | None:
    """The memory of this node for a whole array; ``None`` where messages to each rank are to carry it. Collective."""
    nbytes = geometry.size * geometry.dtype.itemsize
    if nbytes < policy.limits.cached or geometry.dtype.kind not in "biufcmMSUV":
        return None
    if layout.overlaps or layout.is_padded or not layout.is_dense:
        return None
    return node_memory(communicator)


def whole_on_node(
    memory: NodeMemory, layout: Layout, block: Array, geometry: Geometry, what: str
) -> Array:
    """The whole array for reading, from each rank's block of it. Collective."""

    def fill(shared: Array) -> None:
        _fill(memory.communicator, layout, block, _seen(shared, geometry), what)

    nbytes = geometry.size * geometry.dtype.itemsize
    return _seen(memory.filled(nbytes, fill, what), geometry)


def _fill(
    communicator: Communicator, layout: Layout, block: Array, whole: Array, what: str
) -> None:
    """Write this rank's elements, and the elements that ranks of other nodes send to this one."""
    rank, nodes = communicator.rank, communicator.nodes
    here = nodes.of(rank)
    mates = nodes.ranks(here)
    place = mates.index(rank)
    others = [node for node in range(nodes.count) if node != here]
    outgoing: dict[int, Array] = {}
    if _gives(layout, rank):
        whole[region_key(layout.region(rank))] = block
        mine = np.ascontiguousarray(block)
        for ranks in map(nodes.ranks, others):
            outgoing[ranks[place % len(ranks)]] = mine
    incoming: dict[int, Array] = {}
    late: list[tuple[Any, int]] = []
    for peer in [peer for node in others for peer in nodes.ranks(node)[place :: len(mates)]]:
        if not _gives(layout, peer):
            continue
        key = region_key(layout.region(peer))
        view = whole[key]
        if all(type(part) is slice for part in key) and view.flags.c_contiguous:
            incoming[peer] = view
        else:
            incoming[peer] = np.empty(view.shape, whole.dtype)
            late.append((key, peer))
    if others:
        exchange(communicator, outgoing, incoming, what)
    for key, peer in late:
        whole[key] = incoming[peer]


def _gives(layout: Layout, rank: int) -> bool:
    """True if a rank holds elements, and is the first rank that holds them."""
    place = layout.coordinates(rank)
    return place is not None and layout.ranks_at(place)[0] == rank and layout.local_size(rank) > 0


def _seen(memory: Any, geometry: Geometry) -> Array:
    """The array of a geometry over ``memory``."""
    return np.ndarray(geometry.shape, geometry.dtype, memory, 0, geometry.strides)
