"""The messages that fill ghost regions: this rank's receives, and its sends to other ranks.

Each rank lists its own ghost regions in the order in which its boxes ask for them, and can list
those of any other rank, for they follow from layouts alone. It does so for the ranks that can
read what it owns (see ``readers``), and for no others. All pieces for one neighbour travel in one message, unless they
are large. Then ghost region ``k`` of a group travels in messages with tag ``k``, one from each owner of a piece, in the order of groups
(an exchange may be that of several, see ``joining``); so both ends of a message agree on it without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import backend
from ..comm.in_step import agree, all_have_plans
from ..comm.world import World
from ..context import statistics
from ..execute.exchange import CopyInside, FinishExchange, Incoming, Inside, Outgoing, StartExchange
from ..execute.parts import State
from ..graph.geometry import Geometry, dense
from ..graph.node import Node
from ..layout import IndexSet, Range, needed
from ..layout.transfer import region_key
from ..ops.fingerprint import of_move
from .shares import Intervals, common, intervals_of, key_of, pieces_of

if TYPE_CHECKING:
    from .body import Patch, Registers


_BITS = (1 << 64) - 1


def plan_exchange(
    patches_of: Callable[[int], Iterable[tuple[int, Patch]]],
    registers: Registers,
    world: World,
    readers: Iterable[int],
    *,
    lasting: bool = True,
    make: Any = StartExchange,
) -> StartExchange | None:
    """The step that begins this rank's share of an exchange, or ``None`` where it has none.

    ``patches_of`` gives the ghost regions of a rank, each with its tag: the same wherever that is asked.
    ``readers`` are the ranks whose ghost regions may show something of this rank's. The exchange of a program is
    ``lasting``: its ghost regions are its own, and it will come again. ``make`` makes the step.
    """
    incoming: list[Incoming] = []
    outgoing: list[Outgoing] = []
    inside: list[Inside] = []
    allocate = []
    for rank in sorted({world.rank, *readers}):
        for tag, patch in patches_of(rank):
            node = patch.node
            source = registers.of[id(node)]
            if rank == world.rank:
                allocate.append((patch.register, registers.geometry[patch.register]))
            if node.place is None:  # every rank has it; the ghost region only puts it in order
                if rank == world.rank:
                    if patch.box is not None:
                        picked = key_of(patch.box, [0] * len(patch.box))
                    else:
                        picked = region_key(patch.sets)
                    every = tuple([slice(None)] * len(picked))
                    inside.append(Inside(source, picked, patch.register, every))
                continue
            layout = node.place.layout
            if patch.box is not None and layout.is_block:
                box: Intervals | None = patch.box
                if rank != world.rank:
                    box = common(patch.box, intervals_of(node.place, world.rank) or ())
                for peer, piece, corner in pieces_of(layout, box, rank) if box is not None else ():
                    if peer != world.rank and rank != world.rank:
                        continue
                    shape = tuple([high - low for low, high in piece])
                    there = key_of(piece, corner)
                    if rank != world.rank:
                        outgoing.append(Outgoing(source, there, shape, rank, tag))
                        continue
                    here = key_of(piece, [low for low, _ in patch.box])
                    if peer == rank:
                        inside.append(Inside(source, there, patch.register, here))
                    else:
                        incoming.append(Incoming(patch.register, here, shape, peer, tag))
                continue
            region = patch.region
            if rank != world.rank:  # of what others ask for, only this rank's own matters
                mine = layout.region(world.rank)
                region = tuple([held & part for held, part in zip(mine, region, strict=True)])
            for record in needed(layout, region, rank):
                if rank == world.rank and record.peer == rank:
                    inside.append(
                        Inside(source, record.source_key, patch.register, record.target_key)
                    )
                elif rank == world.rank:
                    incoming.append(
                        Incoming(patch.register, record.target_key, record.shape, record.peer, tag)
                    )
                elif record.peer == world.rank:
                    outgoing.append(Outgoing(source, record.source_key, record.shape, rank, tag))
    if not (allocate or outgoing):
        return None
    cuts = cuts_of(registers, world.rank)
    moved = {one.register for one in incoming} | {one.register for one in outgoing}
    dtypes = {register: registers.geometry[register].dtype for register in moved}
    start: StartExchange = make(
        world.communicator, allocate, incoming, outgoing, inside, cuts, dtypes, lasting=lasting
    )
    return start


def cuts_of(registers: Registers, rank: int, among: Container[int] | None = None) -> dict[int, Any]:
    """For the registers of padded arrays, what cuts off the padding."""
    return {
        registers.of[id(node)]: node.place.layout.inside(rank)
        for node in registers.keep
        if node is not None
        and node.place is not None
        and node.place.padded
        and (among is None or registers.of[id(node)] in among)
    }


def gather(node: Node) -> np.ndarray[Any, Any]:
    """The whole value of an evaluated node that lies on ranks, on each of them. Collective."""
    whole = tuple([Range(0, n) for n in node.geometry.shape])
    return _collected(node, node.geometry, whole, 0)


def gathered_box(node: Node, box: Intervals) -> np.ndarray[Any, Any]:
    """The elements of an evaluated node within a box, on each rank. Collective."""
    region = tuple([Range(low, high) for low, high in box])
    shape = tuple([high - low for low, high in box])
    return _collected(node, dense(shape, node.geometry.dtype), region, hash(box))


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


def _collected(
    node: Node, geometry: Geometry, region: tuple[IndexSet, ...], which: int
) -> np.ndarray[Any, Any]:
    # the planner's: one process alone never needs them here
    from .body import Patch, Registers

    world: World = node.place.world
    registers = Registers({}, {}, world.rank)
    registers.add(node)
    patch = Patch(registers.extra(geometry), node, region)
    everyone = range(world.size)
    start = statistics.attempted(
        lambda: plan_exchange(lambda rank: [(0, patch)], registers, world, everyone, lasting=False)
    )
    what = "the gathering of an array"
    mark = of_move(node.geometry.shape, node.place.layout)
    world.communicator.log.step(mark ^ which & _BITS, what)
    structure = what, node.geometry.ndim, node.place.is_boxes
    if not all_have_plans(world.communicator, structure, what, start is not None):
        array = backend.current().allocate(geometry).array
        array[...] = whole_value(node)[region_key(region)]
        return array
    assert start is not None
    if not which:
        start.gathered = node.geometry.shadow.nbytes
    state = State([node.value, None], ())
    for step in (start, CopyInside(start), FinishExchange(start)):
        step.run(state)
    statistics.sent(state.messages, state.moved)
    value = state.registers[patch.register]
    assert value is not None
    return value.array
