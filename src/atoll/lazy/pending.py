"""The pending arrays of this thread, and the triggers of their evaluation: the number of their operations,
the bytes that they keep alive, or a loop that assigns to them again; and ``sync()``, which evaluates all of them, distributed ones on all ranks together.

Ranks need not have the same pending arrays: uncollected garbage of one rank is still among them. So ranks compare
descriptions of their pending arrays, and compute the common ones.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import policy
from ..comm import common_warnings
from ..comm.in_step import agree, is_same
from ..comm.world import World, current_world
from ..context import statistics
from ..context.threads import turn
from ..errors import MixedArraysError
from ..front import native
from ..graph import retention
from ..graph.geometry import strided
from ..graph.node import Node, in_order, nbytes_of, source
from ..ops.fingerprint import look_alike, of_text
from . import float_errors
from .cells import own_cells, pending_cells
from .evaluation import evaluate, fingerprint_of, is_occupied

if TYPE_CHECKING:
    from .views import Cell

_MASK = (1 << 64) - 1


def bounded(node: Node) -> Node:
    """The node, with a bounded number of pending operations.

    A loop whose values are not read is cut at the fewest live bytes in the middle third of its trace (``_native/cuts.c``):
    between two iterations, so that the next piece has the same plan, and with enough operations before the cut for a program. The trace
    alone decides, so ranks find the same values, whatever garbage each has yet to collect. Operations at different lines are no loop
    but a formula, which may be as long as a kernel. Without the native front everything is computed at the bound.

    Each operation of an array passes through this function, however it was recorded: ranks remember different forms and recipes.
    """
    if node.weight <= policy.limits.pending or node.op.is_view or node.op.folds:
        return node
    if native is not None:
        return native.bounded(node)  # type: ignore[no-any-return]
    evaluate((node,))
    return node


class _Relief(threading.local):
    """True if this thread is evaluating values that kept too many bytes alive."""

    at_work = False


_relief = _Relief()


@contextmanager
def relieving() -> Iterator[bool]:
    """True if pending work may be evaluated for its bytes here, which does not happen again inside."""
    free = not (_relief.at_work or is_occupied())
    before, _relief.at_work = _relief.at_work, True
    try:
        yield free
    finally:
        _relief.at_work = before


def relieve(most: float | None = None) -> bool:
    """Evaluate the pending arrays of this thread that keep more than ``most`` bytes alive, beyond the memory that the program
    refers to; True if there were any."""
    with relieving() as free, turn.lock:
        if not free:
            return False
        cells = own_cells()
        nodes = [cell.node for cell in cells if _is_pending(cell.node) and cell.node.weight >= 0]
        if current_world().size > 1:
            nodes = [node for node in nodes if world_of(node) is None]
        kept = kept_by(nodes)
        heavy = kept.nbytes > (policy.limits.held if most is None else most)
        # the more there is to examine, the later again
        slack = min((kept.operations + len(cells)) / policy.limits.pending, 1)
        retention.begin(0 if heavy else max(kept.nbytes, 0), slack)
        del cells, nodes
        if heavy:
            statistics.add("relieved")
            evaluate(kept.nodes)
        return heavy


retention.register_relief(relieve)


class Kept(NamedTuple):
    """Memory that pending work keeps alive."""

    nodes: list[Node]
    """The pending values that keep memory alive, except values that would take more memory than they release."""
    nbytes: int
    """The bytes without other references, less the bytes of the values themselves, which the program refers to."""
    operations: int
    """Number of pending operations."""


def kept_by(nodes: Iterable[Node]) -> Kept:
    """Memory that the pending values of arrays keep alive on this rank."""
    keepers, nbytes = list(dict.fromkeys(nodes)), 0
    operations, before = 0, 0
    while len(keepers) != before:
        before = len(keepers)
        keepers, nbytes, count = _keeping(keepers)
        operations = max(operations, count)
    return Kept(keepers, nbytes - sum(map(nbytes_of, keepers)), operations)


def _keeping(nodes: list[Node]) -> tuple[list[Node], int, int]:
    """Pending values that keep more memory alive than they take, its bytes, and the number of pending operations."""
    order = in_order(nodes, _is_pending)
    kept = _bytes_by(order)
    keepers = set(kept)
    for node in order:
        if any(type(arg) is Node and arg in keepers for arg in node.args):
            keepers.add(node)
    nbytes = sum(kept.values())
    return (
        [node for node in nodes if node in keepers and nbytes_of(node) <= nbytes],
        nbytes,
        len(order),
    )


def _is_pending(node: Node) -> bool:
    return node.value is None


def _bytes_by(order: Sequence[Node]) -> dict[Node, int]:
    """The bytes of the values that only these operations refer to."""
    uses: dict[Node, int] = {}
    for node in order:
        for arg in node.args:
            if type(arg) is Node and arg.value is not None:
                uses[arg] = uses.get(arg, 0) + 1
    kept = {}
    for leaf in uses:
        known = _references_to(leaf)
        if (known[0] - uses[leaf], *known[1:]) in _UNKNOWN:
            assert leaf.value is not None
            kept[leaf] = retention.owner_of(leaf.value).nbytes
    return kept


def _references_to(leaf: Node) -> tuple[int, ...]:
    """Numbers of references to a value in memory: to its node, itself, its array, and the array that owns the memory."""
    value = leaf.value
    assert value is not None
    array = value.array
    owner = retention.owner_of(value)
    return getrefcount(leaf), getrefcount(value), getrefcount(array), getrefcount(owner)


def _unknown(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The same for a value without other references, in this version of Python."""
    uses = {source(array, strided(array.shape, array.dtype, array.strides)): 0}
    del array
    counts: tuple[int, ...] = ()
    for leaf in uses:
        counts = _references_to(leaf)
    return counts


_UNKNOWN = frozenset({_unknown(np.empty(2)), _unknown(np.empty(2)[1:])})


def settle_turn(cell: Cell) -> None:
    """Evaluate the assignments to an array in one iteration of a loop.

    If the loop assigns to several arrays that together exceed the caches, all of them are evaluated: kernels that read and
    write the same arrays sweep over them together (``execute.sweeps``).
    """
    cells = [cell]
    if cell.node.place is None:
        others = [each for each in pending_cells() if each.sites and each.node.place is None]
        cells += [each for each in others if each is not cell]
    nbytes = sum([each.geometry.size * each.geometry.dtype.itemsize for each in cells])
    if nbytes <= policy.limits.pieces * policy.limits.cached or not all(
        is_alone(each) for each in cells
    ):
        cells = [cell]
    for each in cells:
        each.sites = None
    evaluate([each.node for each in cells])


def with_others(world: World, nodes: Sequence[Node]) -> list[Node]:
    """Heavy distributed nodes, with all other pending distributed nodes if the ranks agree on them. Collective.

    The ranks may differ, for some may have uncollected garbage; then the result is ``nodes`` alone. Replicated
    values may have been evaluated on some ranks, and do not count. Large replicated arrays are in no
    fingerprint, so values with equal fingerprints must have equal ages on all ranks, or garbage might be taken for a common value.
    """
    others = [
        cell for cell in pending_cells() if cell.node.place and cell.node.place.world == world
    ]
    together = list(dict.fromkeys([*nodes, *[cell.node for cell in others]]))

    def fingerprint() -> int:
        number = fingerprint_of(together, world.communicator.log.exact)
        if look_alike(together):
            number = hash((number, *[node.born for node in together])) & _MASK
        return number

    number = statistics.attempted(fingerprint)
    if number is None:
        number = world.rank  # no two ranks agree
    if not is_same(world.communicator, number, "a cut"):
        return list(nodes)
    for cell in others:
        cell.sites = None
    return together


def is_alone(cell: Cell) -> bool:
    """True if this process can compute a cell without others."""
    world = world_of(cell.node)
    return world is None or world.size == 1


def world_of(node: Node, seen: set[int] | None = None) -> World | None:
    """The ranks that compute a pending value together; ``None`` if each computes it alone, as all nodes in ``seen`` are."""
    seen = set() if seen is None else seen
    if id(node) in seen:
        return None
    seen.add(id(node))
    stack = [node]
    while stack:
        behind = stack.pop()
        if behind.place is not None:
            world: World = behind.place.world
            return world
        for arg in behind.args:
            if type(arg) is Node and id(arg) not in seen:
                seen.add(id(arg))
                stack.append(arg)
    return None


def captured(node: Node) -> Node:
    """A deferred node with nothing below it that others may still change: such memory is read now."""
    return node.again(
        tuple([captured_operand(arg) if type(arg) is Node else arg for arg in node.args])
    )


def captured_operand(node: Node) -> Node:
    """An operand of a deferred node; data are captured with their present value."""
    if node.weight < 0:
        return node
    if node.place is not None:
        raise MixedArraysError(
            f"one operand is a dataflow array, local to its rank, another lies on {node.place.world!r}; "
            "take the block of the latter (a.local) into the graph"
        )
    evaluate((node,))
    assert node.value is not None
    if not node.value.pinned:
        return node
    return source(node.value.array.copy(order="K"), node.geometry, place=node.place, born=node.born)


def sync() -> None:
    """Evaluate all pending arrays that this thread has recorded.

    All ranks of the current world call it, and evaluate their distributed arrays together. Arrays of other worlds stay
    pending. Use it before you read a clock.
    """
    here = current_world()
    _settle([cell for cell in pending_cells() if is_alone(cell)])
    if here.size > 1:
        for cells in _agreed(here):
            _settle(cells)
        common_warnings.ask(here.communicator)


def settle_operations() -> None:
    """Evaluate the pending operations of this process alone, under their rules for floating-point errors."""
    _settle([cell for cell in pending_cells() if is_alone(cell) and _has_operands(cell.node)])


def _settle(cells: list[Cell]) -> None:
    evaluate(list(dict.fromkeys([cell.node for cell in cells])))
    for cell in cells:
        cell.sites = None


float_errors.register_settling(settle_operations)


def _agreed(world: World) -> list[list[Cell]]:
    """The pending arrays that all ranks have, in the same order on each: in one group if the ranks have no others and
    the dependencies agree, else one by one. Collective.

    Garbage of some ranks may have the fingerprint of a common array, and would be taken for it: large replicated arrays
    are in no fingerprint. So while garbage is possible, arrays with equal fingerprints must have equal ages on all ranks, too. If they
    differ, garbage is collected, and arrays that still differ stay pending until they are read, unless their fingerprint is unique.
    """
    cells = _shared(world)  # referred to from here on, so that none is collected before the end
    communicator, whole = world.communicator, of_text(repr(_together(cells, world)))
    if not communicator.log.computes or is_same(communicator, whole, "sync()"):
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
    """The cells of pending arrays on the ranks of a world."""
    return [cell for cell in pending_cells() if not is_alone(cell) and world_of(cell.node) == world]


def relieve_ranks(world: World) -> None:
    """Evaluate the pending arrays on the ranks of a world, if they keep too many bytes alive on one of them. Collective."""
    communicator = world.communicator
    with relieving() as free:
        if not (free and communicator.log.computes):
            return
        communicator.log.stored = 0
        heavy = kept_by([cell.node for cell in _shared(world)]).nbytes > policy.limits.held
        if is_same(communicator, int(heavy), "pending memory") and not heavy:
            return
        statistics.add("relieved")
        for cells in _agreed(world):
            evaluate([cell.node for cell in cells if _has_operands(cell.node)])


retention.register_joint_relief(relieve_ranks)


def _has_operands(node: Node) -> bool:
    """True if a node has operands. Arrays of one number (``zeros``) have none, and stay without memory."""
    return any(type(argument) is Node for argument in node.args)


def _together(cells: list[Cell], world: World) -> tuple[int, list[int]]:
    """The fingerprint of pending arrays together, and their ages."""
    nodes = list(dict.fromkeys([cell.node for cell in cells]))
    exact = world.communicator.log.exact
    return fingerprint_of(nodes, exact) if nodes else 0, [node.born for node in nodes]


def _outlined(cells: list[Cell], world: World) -> tuple[list[int], int, list[int]]:
    """Fingerprints of pending arrays, each and together, and their ages."""
    exact = world.communicator.log.exact
    looks = [fingerprint_of([node], exact) for node in dict.fromkeys([c.node for c in cells])]
    return looks, *_together(cells, world)
