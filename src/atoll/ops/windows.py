"""Windows: when ranks compute a value that all of them receive, wherever each reads it.

``total = a.sum(0)`` gives every rank the whole value, so a program may well look at it on one rank
only: ``if rank == 0: print(total)``. The messages of the sum need all ranks. So the sum opens a
*window*, and the next operation that involves an array on these ranks closes it: computes
what is in it, before anything else. Who looks at the value earlier computes just the same, earlier.
Either way each rank does the same things in the same order.

A sum over all elements is a number, and all ranks compute it when they come to it.

Reductions of one line share a window: they are computed together, in common loops where arrays lie
alike, and joined by one message. Another line begins another one: in between, some rank may
have looked. So does the same operation at the same place, for then a loop has come round.

Nothing here depends on time, memory or what is alive: a window holds its values itself. A heavy window
takes with it what else is pending, as far as the ranks agree that it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .. import policy
from ..comm.world import World
from ..context.caches import remembered
from ..context.call_sites import Site, line_of
from ..context.divergence import StepLog, opened
from ..graph.node import Node
from .placement import place_of

line = remembered(line_of)


class Window:
    """Values that all ranks will have, and that are computed together."""

    __slots__ = ("nodes",)

    def __init__(self, node: Node) -> None:
        self.nodes = [node]

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


def _line(site: Site | None) -> object:
    return None if site is None else (site[0], line(*site))


class Evaluation:
    """How nodes are evaluated: set by ``evaluate`` and ``lazy.views``, which are above this room."""

    compute: ClassVar[Callable[[list[Node]], None]]
    with_others: ClassVar[Callable[[World, list[Node]], list[Node]]]
    """What is too heavy, with all that is pending on the ranks of a world. Collective."""
    evened: ClassVar[Callable[[Node], bool]]
    """Lay the operands of a node out evenly, if they are uneven results; whether that was done. Collective."""


class _Looks(threading.local):
    """The looks of one thread."""

    shown: Callable[[list[Node]], None] | None = None
    """Who is told what would be computed, and ends the call there."""


looks = _Looks()


def _close(log: StepLog) -> None:
    nodes = taken(log)
    if nodes:
        Evaluation.compute(nodes)


def taken(log: StepLog) -> list[Node]:
    """What is yet to be computed in a rank's window, which is no longer open."""
    window, log.window = log.window, None
    opened.logs.pop(log, None)
    if window is None:
        return []
    nodes = [node for node in window.nodes if node.value is None]
    for node in nodes:
        if (
            node.weight > policy.limits.near
        ):  # what it counts lies on ranks, so it is the same on all of them
            lies = next(arg.place for arg in node.args if type(arg) is Node and arg.place)
            return Evaluation.with_others(lies.world, nodes)
    return nodes


def _placed(node: Node, place: Any) -> Any:
    """The place of a node that is being made; closes or opens windows as it says."""
    if place is not None:
        if place.lopsided and not opened.still and Evaluation.evened(node):
            place = place_of(node)
        if opened.logs and not opened.still:
            log = place.world.communicator.log
            if log.window is not None:
                _close(log)
                weigh(node)
        return place
    if opened.still:
        return None
    for operand in node.args:
        if type(operand) is Node and operand.place is not None:
            break
    world = operand.place.world
    if world.size > 1:
        log = world.communicator.log
        if log.window is not None:
            if log.window.takes(node):
                return None
            _close(log)
            weigh(node)
        if log.windows:
            log.window = Window(node)
            opened.logs[log] = None
    return None


def weigh(node: Node) -> None:
    """Set the weight of a node whose operands have been computed meanwhile."""
    node.weight = 1 + sum(
        [arg.weight for arg in node.args if type(arg) is Node and arg.place is not None]
    )


def _asked(roots: Sequence[Node]) -> list[StepLog]:
    """The windows that these values depend on."""
    held = {id(node): log for log in opened.logs for node in log.window.nodes}
    found: dict[StepLog, None] = {}
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        log = held.get(id(node))
        if node.place is not None:
            log = node.place.world.communicator.log
        if log is not None:
            if log.window is not None:
                found[log] = None
            continue
        for arg in node.args:
            if type(arg) is Node and arg.value is None and id(arg) not in seen:
                seen.add(id(arg))
                stack.append(arg)
    return [log for log in opened.logs if log in found]


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
            taken(log)


def closing(roots: Sequence[Node]) -> list[Node]:
    """What to compute where these values are evaluated; closes the windows that they depend on."""
    for log in _asked(roots):
        _close(log)
    return [node for node in roots if node.value is None]


StepLog.close = staticmethod(_close)
Node.placed = staticmethod(_placed)
