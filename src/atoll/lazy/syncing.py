"""``sync()``: evaluates all pending arrays, distributed ones on all ranks together.

Ranks need not have the same pending arrays: what one of them has yet to collect is garbage, and still there. So they compare
what their pending arrays look like, and compute what all of them have.
"""

from __future__ import annotations

import gc

from .. import policy
from ..comm import common_warnings
from ..comm.in_step import agree, is_same
from ..comm.world import World, current_world
from ..context import statistics
from ..graph import held
from ..graph.node import Node
from ..ops.fingerprint import of_text
from . import float_errors
from .cells import pending_cells
from .evaluate import evaluate, fingerprint_of
from .pending import is_alone, kept_by, relieving, world_of
from .views import Cell


def sync() -> None:
    """Evaluate all pending arrays that this thread has recorded.

    All ranks of the current world call it, and evaluate together what lies on them. Arrays of other worlds stay
    pending. Use it before you read a clock.
    """
    here = current_world()
    _settle([cell for cell in pending_cells() if is_alone(cell)])
    if here.size > 1:
        for cells in _agreed(here):
            _settle(cells)
        common_warnings.ask(here.communicator)


def settle_operations() -> None:
    """Evaluate the pending operations of a process by itself, under the rules that hold for their errors."""
    _settle([cell for cell in pending_cells() if is_alone(cell) and _has_operands(cell.node)])


def _settle(cells: list[Cell]) -> None:
    evaluate(list(dict.fromkeys([cell.node for cell in cells])))
    for cell in cells:
        cell.sites = None


float_errors.register_settling(settle_operations)


def _agreed(world: World) -> list[list[Cell]]:
    """The pending arrays that all ranks have, in the same order on each: together if that is all of them,
    and they hang together alike; else one by one. Collective.

    Garbage that some ranks still have may look like what they all have, and would be taken for it: large arrays that every rank
    has are in no fingerprint. So as long as there may be garbage, what looks alike must be as old on all ranks, too. Where it is not, garbage
    is collected, and what still differs is left to those who look at it, unless it is the only one of its kind.
    """
    cells = _shared(world)  # referred to from here on, so that no garbage goes before all is done
    communicator, whole = world.communicator, of_text(repr(_outlined(cells, world)))
    if communicator.kind == "dry run" or is_same(communicator, whole, "sync()"):
        return [cells] if cells else []
    every = agree(world.communicator, _outlined(cells, world), "sync()")
    looks = [look for look, _, _ in every]
    if any(outline[:2] != every[0][:2] for outline in every) or (
        len(set(looks[0])) < len(looks[0]) and any(outline != every[0] for outline in every)
    ):
        del cells
        gc.collect()
        cells = _shared(world)
        every = agree(world.communicator, _outlined(cells, world), "sync()")
        looks = [look for look, _, _ in every]
    if all(outline[:2] == every[0][:2] for outline in every):
        return [cells] if cells else []
    exact = communicator.log.exact
    mine = {fingerprint_of([cell.node], exact): cell for cell in cells}
    return [[mine[look]] for look in looks[0] if all(others.count(look) == 1 for others in looks)]


def _shared(world: World) -> list[Cell]:
    """What is pending and lies on the ranks of a world."""
    return [cell for cell in pending_cells() if not is_alone(cell) and world_of(cell.node) == world]


def relieve_ranks(world: World) -> None:
    """Evaluate what is pending on the ranks of a world, if it keeps too many bytes alive on one of them. Collective."""
    communicator = world.communicator
    with relieving() as free:
        if not free or communicator.kind == "dry run":
            return
        communicator.log.stored = 0
        heavy = kept_by([cell.node for cell in _shared(world)]).nbytes > policy.limits.held
        if is_same(communicator, int(heavy), "pending memory") and not heavy:
            return
        statistics.add("relieved")
        for cells in _agreed(world):
            evaluate([cell.node for cell in cells if _has_operands(cell.node)])


held.register_joint_relief(relieve_ranks)


def _has_operands(node: Node) -> bool:
    """Whether a node is made of others. Arrays of one number (``zeros``) are not, and stay without memory."""
    return any(type(argument) is Node for argument in node.args)


def _outlined(cells: list[Cell], world: World) -> tuple[list[int], int, list[int]]:
    """What pending arrays look like, each and together, and how old they are."""
    nodes = list(dict.fromkeys([cell.node for cell in cells]))
    exact = world.communicator.log.exact
    looks = [fingerprint_of([node], exact) for node in nodes]
    return looks, fingerprint_of(nodes, exact) if nodes else 0, [node.born for node in nodes]
