"""Gathers whole arrays on every rank, in the memory of a node where its ranks share one.

There each rank writes its own elements, and sends them to one rank of each other node, which writes them into the memory of that
node. So an element goes to each node once, not to each rank, and the node holds it once (:mod:`.comm.node_memory`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from .. import backend, policy
from ..comm import common_warnings
from ..comm.communicator import Communicator
from ..comm.in_step import all_have_plans, allgather, summed
from ..comm.node_memory import NodeMemory, node_memory
from ..comm.world import World
from ..context import statistics
from ..context.caches import remembered
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..layout import Layout, Range, region_key
from ..ops.fingerprint import of_move
from ..ops.placement import Place
from .ghosts import GhostRegion, moves
from .messages import exchange
from .schedule import Exchange, Memory

_BITS = (1 << 64) - 1


def gather(node: Node, *, for_writing: bool = False) -> np.ndarray[Any, Any]:
    """Gather the value of an evaluated node that lies on ranks, whole on every rank. Collective.

    The result may be read-only unless ``for_writing``.
    """
    place, geometry = node.place, node.geometry
    layout, communicator = place.layout, place.world.communicator
    assert node.value is not None
    what = "the gathering of an array"
    communicator.log.step(of_move(geometry.shape, layout) ^ node.born & _BITS, what)
    given, least = [(layout, node.value.array, geometry)], policy.limits.cached
    memory = None if for_writing else shared_memory(communicator, given, least)
    if memory is not None:
        statistics.add("gathered", geometry.nbytes)
        shown = whole_on_node(memory, given, what)
        assert shown is not None
        (whole,) = shown
    elif geometry.nbytes <= policy.limits.cached and _joins_blocks(place):
        statistics.add("gathered", geometry.nbytes)
        whole = whole_value(node, what)
    else:
        whole = _collected(node, what)
    common_warnings.ask(communicator)
    return whole


def _joins_blocks(place: Place) -> bool:
    """True if all blocks travel in one collective: of many ranks, or if no rank of a few has much more than the others."""
    if place.layout.processes > policy.limits.few_ranks:
        return not place.layout.overlaps
    return place.held_once and not (place.padded or place.lopsided)


_WHAT = "an operand without a plan"


def whole_value(node: Node, what: str = _WHAT) -> np.ndarray[Any, Any]:
    """Gather an evaluated value without a plan. Collective for a value that lies on ranks."""
    assert node.value is not None
    place, block = node.place, node.value.array
    if place is None:
        return block
    if place.padded:
        block = block[place.layout.inside(place.world.rank)]
    return joined_blocks(node, block, what)


def joined_blocks(
    node: Node, block: np.ndarray[Any, Any], what: str = _WHAT
) -> np.ndarray[Any, Any]:
    """Join the blocks of all ranks, laid out as the node, into the whole array, without a plan. Collective.

    Many ranks sum words in which all bytes of the other ranks are zero.
    """
    layout, communicator = node.place.layout, node.place.world.communicator
    if layout.processes > policy.limits.few_ranks and not layout.overlaps:
        words = np.zeros(-(-node.geometry.size * block.itemsize // 8), np.uint64)
        key = _own_part(layout, communicator.rank)
        if key is not None:
            _seen(words, node.geometry, 0)[key] = block
        return _seen(summed(communicator, words, what).copy(), node.geometry, 0)
    ranks = [rank for rank in range(layout.processes) if layout.coordinates(rank) is not None]
    regions = [layout.region(rank) for rank in ranks]
    shapes = [tuple(map(len, region)) for region in regions]
    row = np.zeros(max(map(prod, shapes)), block.dtype)
    if communicator.rank in ranks:
        row[: block.size] = block.reshape(-1)
    whole = backend.current().allocate(node.geometry).array
    rows = allgather(communicator, row, what)
    for rank, region, shape in zip(ranks, regions, shapes, strict=True):
        whole[region_key(region)] = rows[rank, : prod(shape)].reshape(shape)
    return whole


def _collected(node: Node, what: str) -> np.ndarray[Any, Any]:
    world: World = node.place.world
    communicator, geometry = world.communicator, node.geometry
    region = tuple([Range(0, n) for n in geometry.shape])
    ghost = GhostRegion(1, 0, node.place, geometry.dtype, region)

    def plan() -> Exchange:
        pieces = moves(lambda rank: [(0, ghost)], world.rank, range(world.size))
        return Exchange(communicator, [(1, geometry)], *pieces, lasting=False)

    exchange = statistics.attempted(plan)
    structure = what, geometry.ndim, node.place.is_boxes
    if not all_have_plans(communicator, structure, what, exchange is not None):
        return whole_value(node)
    assert exchange is not None
    exchange.gathered = geometry.nbytes
    registers: Memory = [node.value, None]
    exchange.run(registers)
    value = registers[1]
    assert value is not None
    return value.array


Array = np.ndarray[Any, Any]


Given = tuple[Layout, Array, Geometry]
"""The layout of an array, this rank's block of it, and the form of the whole."""


def shared_memory(
    communicator: Communicator, given: Sequence[Given], least: int
) -> NodeMemory | None:
    """The memory of this node for whole arrays of at least ``least`` bytes together; ``None`` where messages to each rank are to carry
    them. Collective."""
    if sum([form.nbytes for _, _, form in given]) < least:
        return None
    for layout, _, form in given:
        if form.dtype.kind not in "biufcmMSUV":
            return None
        if layout.overlaps or layout.is_padded or not layout.is_dense:
            return None
    return node_memory(communicator)


def whole_on_node(memory: NodeMemory, given: Sequence[Given], what: str) -> list[Array] | None:
    """Whole arrays for reading, from each rank's blocks of them; ``None`` where short ones find no memory. Collective."""
    ends = [*accumulate([form.nbytes + -form.nbytes % 64 for _, _, form in given], initial=0)]

    def fill(shared: Array) -> None:
        for (layout, block, form), start in zip(given, ends, strict=False):
            _fill(memory.communicator, layout, block, _seen(shared, form, start), what)

    shown = memory.filled(ends[-1], fill, what)
    if shown is None:
        return None
    return [_seen(shown, form, start) for (_, _, form), start in zip(given, ends, strict=False)]


def _fill(
    communicator: Communicator, layout: Layout, block: Array, whole: Array, what: str
) -> None:
    """Write this rank's elements, and the elements that ranks of other nodes send to this one."""
    key, nodes = _own_part(layout, communicator.rank), communicator.nodes
    if key is not None:
        whole[key] = block
    if nodes.several:
        _fill_from_others(communicator, layout, block if key is not None else None, whole, what)


def _fill_from_others(
    communicator: Communicator, layout: Layout, block: Array | None, whole: Array, what: str
) -> None:
    rank, nodes = communicator.rank, communicator.nodes
    here = nodes.of(rank)
    mates = nodes.ranks(here)
    place = mates.index(rank)
    others = [node for node in range(nodes.count) if node != here]
    outgoing: dict[int, Array] = {}
    if block is not None:
        mine = np.ascontiguousarray(block)
        for ranks in map(nodes.ranks, others):
            outgoing[ranks[place % len(ranks)]] = mine
    incoming: dict[int, Array] = {}
    late: list[tuple[Any, int]] = []
    for peer in [peer for node in others for peer in nodes.ranks(node)[place :: len(mates)]]:
        key = _part_of(layout, peer)
        if key is None:
            continue
        view = whole[key]
        if all(type(part) is slice for part in key) and view.flags.c_contiguous:
            incoming[peer] = view
        else:
            incoming[peer] = np.empty(view.shape, whole.dtype)
            late.append((key, peer))
    exchange(communicator, outgoing, incoming, what)
    for key, peer in late:
        whole[key] = incoming[peer]


def _part_of(layout: Layout, rank: int) -> tuple[Any, ...] | None:
    """The index of a rank's share, if the rank is the first that holds these elements; ``None`` for other ranks, which give nothing."""
    place = layout.coordinates(rank)
    gives = place is not None and layout.ranks_at(place)[0] == rank and layout.local_size(rank) > 0
    return region_key(layout.region(rank)) if gives else None


_own_part = remembered(_part_of)


def _seen(memory: Any, geometry: Geometry, start: int) -> Array:
    """The array of a geometry over ``memory``, from a byte on."""
    return np.ndarray(geometry.shape, geometry.dtype, memory, start, geometry.strides)
