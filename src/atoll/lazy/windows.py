"""Windows: when ranks compute a value that all of them receive, wherever each reads it.

``total = a.sum(0)`` gives every rank the whole value, so a program may well look at it on one rank
only: ``if rank == 0: print(total)``. The messages of the sum need all ranks. So the sum opens a
*window*, and the next operation that involves an array on these ranks closes it: computes
what is in it, before its own node is made. Who looks at the value earlier computes just the same, earlier.
Either way each rank does the same things in the same order.

A sum over all elements is a number, and all ranks compute it when they come to it.

Reductions of one line share a window: they are computed together, in common loops where arrays lie
alike, and joined by one message. Another line begins another one: in between, some rank may
have looked. So does the same operation at the same place, for then a loop has come round.

Nothing here depends on time, memory or what is alive: a window holds its values itself. A heavy window
takes with it what else is pending, as far as the ranks agree that it is.

A small value that every rank computes by itself is computed before an operation with arrays on ranks takes it: then
ranks can compare its elements, whichever of them has read it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import policy
from ..context.caches import remembered
from ..context.call_sites import Site, line_of
from ..context.divergence import StepLog, opened
from ..graph.node import Node
from ..ops.fingerprint import is_small
from .dividing import with_whole
from .evaluate import compute, evaluate
from .pending import with_others
from .rebalance import evened

line = remembered(line_of)


class Window:
    """Values that all ranks will have, and that are computed together."""

    __slots__ = ("log", "nodes")

    def __init__(self, log: StepLog, node: Node) -> None:
        self.log = log
        self.nodes = [node]
        log.window = self
        opened.logs[log] = None

    def takes(self, node: Node) -> bool:
        """Take in another value, if it belongs here."""
        if node.op.is_collective or self.nodes[0].op.is_collective:
            return False  # there is nothing to share
        site = node.site
        for other in self.nodes:
            if other.site == site and other.name == node.name:
                return False
        if _line(site) != _line(self.nodes[0].site):
            return False
        self.nodes.append(node)
        return True

    def close(self) -> None:
        """Compute what is in the window, which is no longer open."""
        self.log.window = None
        opened.logs.pop(self.log, None)
        nodes = [node for node in self.nodes if node.value is None]
        for node in nodes:
            if node.weight > policy.limits.pending:  # it counts what lies on ranks: the same on all
                world = next(
                    arg.place.world for arg in node.args if type(arg) is Node and arg.place
                )
                nodes = with_others(world, nodes)
                break
        if nodes:
            compute(nodes)


def _line(site: Site | None) -> object:
    return None if site is None else (site[0], line(site[0], site[1]))


def entered(node: Node) -> Node:
    """The node to record for an operation on ranks: made again where that has computed or moved its operands. Collective.

    An operation whose result lies on ranks closes their window. One whose value all of them will have joins it, or
    opens another one.
    """
    place = node.place
    if place is not None and place.world.communicator.log.undivided:
        args = with_whole(node)
        if args is not node.args:
            node = node.again(args)
            place = node.place
    if node.value is not None or not (place is None or place.lopsided or opened.logs):
        return _with_small(node)
    if place is None:
        operands = [arg for arg in node.args if type(arg) is Node and arg.place is not None]
        if not operands or operands[0].place.world.size == 1:
            return node
        place = operands[0].place
    log = place.world.communicator.log
    window = log.window
    args = evened(node) if place.lopsided and node.place is not None else node.args
    if log.window is not None:
        if node.place is None and window.takes(node):
            return node
        log.window.close()
    if window is not None or args is not node.args:
        node = node.again(args)
    _with_small(node)
    if node.place is None and log.windows:
        Window(log, node)
    return node


def _with_small(node: Node) -> Node:
    """A node for an operation on ranks, once the small arrays that it takes, and every rank has, are computed."""
    for arg in node.args:
        if type(arg) is Node and arg.place is None and arg.value is None and is_small(arg.geometry):
            others = [each.place for each in (node, *node.args) if type(each) is Node]
            world = next(place.world for place in others if place is not None)
            if world.size > 1 and world.communicator.log.windows:
                evaluate((arg,))
    return node


def together(roots: list[Node]) -> list[Node]:
    """What one program would compute, were these values evaluated now."""
    for log in opened.logs:
        held = log.window.nodes
        if all(root in held for root in roots):
            return [node for node in held if node.value is None]
    return roots


def dropped(roots: Sequence[Node]) -> None:
    """Take values that the program will never see out of the windows that they opened."""
    for log in list(opened.logs):
        window = log.window
        window.nodes = [node for node in window.nodes if node not in roots]
        if not window.nodes:
            window.close()
