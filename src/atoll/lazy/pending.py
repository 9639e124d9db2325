"""The arrays of this thread whose values are pending, and when they are evaluated for their weight.

A loop whose values are not read records more and more. It is cut, at the same lines in each turn, where its pending work
grows too heavy.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import policy
from ..comm.in_step import is_same
from ..comm.world import World, current_world
from ..context import statistics
from ..context.call_sites import site_number
from ..context.threads import turn
from ..errors import MixedArraysError
from ..graph import held
from ..graph.cut import CutPoint, find_cut, live_at
from ..graph.geometry import strided
from ..graph.node import Node, in_order, nbytes_of, source, weigh, weighed
from ..ops.fingerprint import look_alike, of_text
from .cells import own_cells, pending_cells
from .evaluate import evaluate, fingerprint_of, is_occupied
from .profiles import Cut, call_sites_of

if TYPE_CHECKING:
    from .views import Cell

_MASK = (1 << 64) - 1


def too_heavy(node: Node) -> bool:
    """Whether a node above ``policy.limits.light`` operations shall be evaluated at once, or what it is made of.

    A loop whose values are not read is cut where its pending work grows too heavy. It should be cut at the same lines in
    each turn, or else the pieces are other ones each time, to be planned and compiled anew. So lines that were cut once
    are cut again, a good deal earlier. The best of them is the loop's cut (``graph.cut``): where there is one,
    what was live there is computed in later turns, and nothing that has been begun since. If a turn grows too heavy
    before it comes to that, it will be cut there when it is lighter.

    Ranks that compute together cut at the same operation, since the weight of what lies on them is the same on all, and
    so are the lines where these ranks have cut before. What every rank has may weigh less on one that has evaluated it.
    """
    limit = _limit_of(node)
    return node.weight > limit and _counted_now(node, limit)[1]


def bounded(node: Node) -> Node:
    """The node to go on with: one that is too heavy is evaluated, one that was heavier before weighs what it does now.

    Each operation that an array is made of comes here, whichever way it was recorded: ranks remember different forms and recipes.
    """
    if node.weight <= policy.limits.light or node.op.is_view or node.op.folds:
        return node
    limit = _limit_of(node)
    if node.weight > limit:
        weight, heavy = _counted_now(node, limit)
        if heavy:
            cut((node,), weight)
        elif weight < node.weight:
            return weighed(node, weight)
    return node


class _Relief(threading.local):
    """Whether this thread is evaluating what kept too many bytes alive."""

    at_work = False


_relief = _Relief()


@contextmanager
def relieving() -> Iterator[bool]:
    """Whether pending work may be evaluated for its bytes here, which does not happen again inside."""
    free = not (_relief.at_work or is_occupied())
    before, _relief.at_work = _relief.at_work, True
    try:
        yield free
    finally:
        _relief.at_work = before


def relieve(most: float | None = None) -> bool:
    """Evaluate the pending arrays of this thread that keep more than ``most`` bytes alive, beyond those that the program
    refers to; whether there were such."""
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
        held.begin(0 if heavy else max(kept.nbytes, 0), slack)
        del cells, nodes
        if heavy:
            statistics.add("relieved")
            evaluate(kept.nodes)
        return heavy


held.register_relief(relieve)


class Kept(NamedTuple):
    """What pending work keeps alive."""

    nodes: list[Node]
    """The pending values that do, without those that would take more than all that is kept."""
    nbytes: int
    """The bytes that nothing else refers to, less those that the values would take: the program has these."""
    operations: int
    """How many operations are pending."""


def kept_by(nodes: Iterable[Node]) -> Kept:
    """What the pending values of arrays keep alive on this rank."""
    keepers, nbytes = list(dict.fromkeys(nodes)), 0
    operations, before = 0, 0
    while len(keepers) != before:
        before = len(keepers)
        keepers, nbytes, count = _keeping(keepers)
        operations = max(operations, count)
    return Kept(keepers, nbytes - sum(map(nbytes_of, keepers)), operations)


def _keeping(nodes: list[Node]) -> tuple[list[Node], int, int]:
    """Those of the pending values that keep memory alive and take less, how much that is, and how many operations are pending."""
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
    """The bytes of the values that nothing but these operations refers to."""
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
            kept[leaf] = held.owner_of(leaf.value).nbytes
    return kept


def _references_to(leaf: Node) -> tuple[int, ...]:
    """How many references there are to a value in memory: to its node, itself, its array, and the array that has the memory."""
    value = leaf.value
    assert value is not None
    array = value.array
    owner = held.owner_of(value)
    return getrefcount(leaf), getrefcount(value), getrefcount(array), getrefcount(owner)


def _unknown(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The same of a value that nothing else refers to, in this version of Python."""
    uses = {source(array, strided(array.shape, array.dtype, array.strides)): 0}
    del array
    counts: tuple[int, ...] = ()
    for leaf in uses:
        counts = _references_to(leaf)
    return counts


_UNKNOWN = frozenset({_unknown(np.empty(2)), _unknown(np.empty(2)[1:])})


class _Counted(threading.local):
    """When this thread counts pending operations again: from a node that is born so late, and for a lower limit at once."""

    until = 0
    limit = 0.0


_counted = _Counted()


def _counted_now(node: Node, limit: float) -> tuple[float, bool]:
    """What a node weighs, and whether that is too much.

    Counting takes as long as there are operations. So a process by itself counts anew when they may have become an eighth
    more. Operations that stand at different lines are no loop, which would go on, and may be ``policy.limits.straight``.
    """
    alone = node.place is None
    if alone and node.born < _counted.until and limit >= _counted.limit:
        return node.weight, False
    straight = policy.limits.straight
    weight = weigh(node, max(limit, straight))
    heavy = weight > limit
    if alone:
        if limit < weight <= straight and limit == policy.limits.pending:
            heavy = _recurs(node)
        if not heavy:
            _counted.until = node.born + int(weight) // policy.limits.pieces
            _counted.limit = limit
    return weight, heavy


def _recurs(root: Node) -> bool:
    """Whether some line has recorded several of the operations that are pending in a node and behind it."""
    times: dict[int, int] = {}
    seen = {root}
    stack = [root]
    while stack:
        node = stack.pop()
        if node.op.is_ufunc and node.site is not None:
            line = site_number(node.site)
            times[line] = times.get(line, 0) + 1
            if times[line] > policy.limits.patience:
                return True
        for arg in node.args:
            if type(arg) is Node and arg.value is None and arg not in seen:
                seen.add(arg)
                stack.append(arg)
    return False


def _limit_of(node: Node) -> float:
    known = call_sites_of(node).known(node.site)
    if known is None or known.cut is None:
        return policy.limits.pending
    return min(known.cut.limit, policy.limits.pending)


def settle_turn(cell: Cell) -> None:
    """Evaluate what a turn of a loop has assigned to an array.

    Where the loop assigns to several arrays, larger than the caches together, it evaluates all of them: kernels that read and
    write the same arrays go over them together (``execute.sweeps``).
    """
    cells = [cell]
    if cell.node.place is None:
        others = [each for each in pending_cells() if each.sites and each.node.place is None]
        cells += [each for each in others if each is not cell]
    nbytes = sum([each.geometry.size * each.geometry.dtype.itemsize for each in cells])
    if nbytes <= policy.limits.swept or not all(is_alone(each) for each in cells):
        cells = [cell]
    for each in cells:
        each.sites = None
    evaluate([each.node for each in cells])


def _cut_here_again(node: Node, point: CutPoint | None) -> None:
    """Remember where a loop was cut, or where that is better done the next time."""
    sites = call_sites_of(node)
    if point is not None:
        after = sites.of(site_number(point.after))
        if after.cut is None or after.cut.limit > policy.limits.light:
            limit = policy.limits.near if after.cut is None else policy.limits.light
            after.cut = Cut(site_number(point.line), limit)
            return
    if node.site is not None:
        sites.of(site_number(node.site)).cut = Cut(None, policy.limits.near)


def cut(nodes: Sequence[Node], weight: float | None = None) -> None:
    """Evaluate what has grown too heavy, and all that is pending with it; or what was live at the cut.

    What is recorded afterwards begins from values then, whatever was pending before.
    """
    with turn.lock:
        _cut(nodes, weigh(nodes[0]) if weight is None else weight)


def _cut(nodes: Sequence[Node], weight: float) -> None:
    first = nodes[0]
    known = call_sites_of(first).known(first.site)
    known_cut = None if known is None else known.cut
    if known_cut is not None and known_cut.line is not None:
        if weight > known_cut.limit:
            line = known_cut.line
            evaluate(statistics.attempted(lambda: live_at(first, line)) or ())
            weight = weigh(first)
        if weight <= policy.limits.near:
            return
    home = first.place
    # a line that was judged before is one where what grew too heavy is joined: the same would come of it
    judged = known_cut is not None and known_cut.line is None
    heavy = weight > policy.limits.pending and not judged
    if home is None or home.world.size == 1:
        others = [cell for cell in pending_cells() if cell.node not in nodes]
        seen: set[int] = set()
        if any(world_of(cell.node, seen) is not None for cell in others):
            others = [cell for cell in others if is_alone(cell)]
        together = [*nodes, *[cell.node for cell in others]]
        if heavy:
            _cut_here_again(first, statistics.attempted(lambda: find_cut(together)))
        evaluate(together)
        for cell in others:
            cell.sites = None
    else:
        together = with_others(home.world, nodes)
        if heavy:
            point = statistics.attempted(lambda: find_cut(together))
            number = 0 if point is None else of_text(str(point))
            # garbage that looks alike may have been made at other lines
            alike = is_same(home.world.communicator, number, "a cut")
            _cut_here_again(first, point if alike else None)
        evaluate(together)


def with_others(world: World, nodes: Sequence[Node]) -> list[Node]:
    """What has grown too heavy on ranks, and with it all that is pending there, if they agree on that. Collective.

    They may not, for some may have garbage that they have yet to collect; then it is those nodes alone. What every
    rank has may have been evaluated on some of them, and does not count. Large arrays that every rank has are in no
    fingerprint, so values that look alike must be as old on all ranks, or garbage might be taken for what all have.
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
    """Whether this process can compute a cell without others."""
    world = world_of(cell.node)
    return world is None or world.size == 1


def world_of(node: Node, seen: set[int] | None = None) -> World | None:
    """The ranks that compute a pending value together; ``None`` where each does for itself, as all do that were ``seen``."""
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
    """An operand of a deferred node, taken as it is now if it is data."""
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
