"""Steps of all ranks before an operation on their arrays is recorded.

``total = a.sum(0)`` is replicated, so a program may read it on one rank
only: ``if rank == 0: print(total)``. The messages of the sum need all ranks, so all compute it when they record its use.
A heavy one is computed together with the other pending values, as far as the ranks agree on them.

A small value that every rank computes by itself is computed before an operation with distributed arrays takes it: then
ranks can compare its elements, whether or not one of them has read it.
"""

from __future__ import annotations

from typing import Any

from .. import policy
from ..context.call_sites import site_number
from ..exchange.gather import gather
from ..graph.node import Node, in_order, source
from ..ops.fingerprint import is_small, of_elements
from .evaluation import evaluate
from .pending import with_others
from .replication import evened, with_whole


def _on_this_rank(arg: Any) -> Any:
    """An operand of an assignment to an array that every rank has: its value on every rank, if ranks divide it. Collective.

    The assignment itself is not computed here, where the array still has its old version, which would be copied.
    """
    if type(arg) is not Node or arg.place is None:
        return arg
    alone = _computed_by_each(arg)
    if alone is not None:
        return alone
    evaluate((arg,))
    return source(gather(arg), arg.geometry)


def _computed_by_each(node: Node) -> Node | None:
    """The same pending value for every rank to compute by itself, where it follows from what every rank has; else ``None``.

    The lines that have divided it do so no more. A value much smaller than what it is computed from, such as forces between pairs,
    comes to all ranks instead.
    """
    order = in_order([node], lambda each: each.value is None)
    below = [arg for each in order for arg in each.args if type(arg) is Node]
    if any(each.op.is_collective or each.op.selects for each in order) or any(
        arg.value is not None and arg.place is not None for arg in below
    ):
        return None
    laid_out = [each for each in order if each.is_laid_out()]
    largest = max([each.geometry.size for each in laid_out], default=0)
    if node.geometry.size * policy.limits.pieces <= largest:
        return None
    instead: dict[Node, Node] = {}
    for each in laid_out:
        lines, line = each.place.log.undivided_lines, site_number(each.site)
        lines[line] = max(lines.get(line, 0), each.geometry.size)
    for each in order:
        if each.place is None and not any(arg in instead for arg in each.args):
            continue
        args = tuple([instead.get(arg, arg) for arg in each.args])
        instead[each] = Node(
            each.op, args, each.geometry, each.params, each.name, each.site, place=None
        )
    return instead.get(node)


def _compare(node: Node) -> None:
    """Let ranks compare the operands of a large result that they divide, as far as programs do not; of many elements some."""
    log = node.place.log
    for arg in node.args:
        if type(arg) is not Node or arg.value is None or is_small(arg.geometry):
            continue
        if log.exact or arg.geometry.dtype.kind in "biu":
            array = arg.value.array
            some = array.flat[:: max(array.size // policy.limits.short, 1)]
            log.step(of_elements(some), "a large result")


def entered(node: Node) -> Node:
    """The node to record for an operation on ranks: made again where that has moved its operands, and computed if all ranks
    will have its value. Collective."""
    place = node.place
    if place is not None and place.log.undivided:
        args = with_whole(node)
        if args is not node.args:
            node = node.again(args)
    place = node.place or next(
        (arg.place for arg in node.args if type(arg) is Node and arg.place), None
    )
    if place is None or place.world.size == 1:
        return node
    if node.place is not None and place.lopsided:
        args = evened(node)
        if args is not node.args:
            node = node.again(args)
    if place.log.computes:
        is_laid_out = node.is_laid_out()
        for arg in node.args:
            if (
                type(arg) is Node
                and arg.place is None
                and arg.value is None
                and (is_laid_out or is_small(arg.geometry))
            ):
                evaluate((arg,))
        if is_laid_out:
            _compare(node)
        heavy = (
            node.weight > policy.limits.pending
        )  # the weight counts distributed operations: the same on all ranks
        if node.place is None and node.op.is_update and node.args[0].place is None:
            return node.again(tuple(map(_on_this_rank, node.args)))
        if node.place is None and (node.geometry.ndim or heavy):
            evaluate(with_others(place.world, [node]) if heavy else [node])
    return node
