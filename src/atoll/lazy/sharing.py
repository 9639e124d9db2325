"""What is computed together with a value that the program needs: other arrays made of the same long expressions.

A function that returns several fields, or keeps some of its intermediate results, has computed most of each for the others. One
kernel that stores all of them computes it once. Values that only died names held are not among them, since the arrays
are gone by then. What ranks compute together does not depend on what is alive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf

from .. import policy
from ..comm.world import current_world
from ..front import native
from ..graph.node import Node
from .cells import pending_cells


def with_sharers(pending: Sequence[Node]) -> list[Node]:
    """Pending nodes, and after them the values of other arrays that share much of their work."""
    limit = policy.limits.light
    nodes = list(pending)
    if all(node.weight <= limit for node in nodes) or current_world().size > 1:
        return nodes
    known = set(nodes)
    others = [
        node
        for node in dict.fromkeys([cell.node for cell in pending_cells()])
        if node.weight > limit and node.place is None and node not in known
    ]
    if not others:
        return nodes
    trace = behind(nodes, (), inf)
    if len(trace) <= limit:
        return nodes
    most = max([node.geometry.size for node in trace])
    shared: dict[Node, float] = {}
    operands = {arg for node in pending for arg in node.args if type(arg) is Node}
    for node in others:
        if node in operands or node.geometry.size > most:
            continue
        if node in trace or _shared(node, trace, shared) > max(limit, node.weight / 2):
            nodes.append(node)
    few = policy.limits.patience
    for node in others:
        # an operand may be a temporary of this very call; what takes few operations more than others is computed again
        if node in operands and len(behind([node], nodes, few)) > few:
            nodes.append(node)
    return nodes


def _behind(nodes: Sequence[Node], known: Collection[Node], most: float) -> set[Node]:
    """The pending nodes behind these, and these, without those that are ``known``; not many more than ``most``."""
    met = set(nodes)
    stack = list(nodes)
    while stack and len(met) <= most:
        for arg in stack.pop().args:
            if type(arg) is Node and arg.value is None and arg not in met and arg not in known:
                met.add(arg)
                stack.append(arg)
    return met


behind: Callable[[Sequence[Node], Collection[Node], float], set[Node]] = (
    _behind if native is None else native.behind
)


def _shared(root: Node, trace: set[Node], known: dict[Node, float]) -> float:
    """The weight of the heaviest value of a trace that a node is made of; of all that lies between, ``known`` keeps it."""
    stack = [root]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
        elif node in trace:
            known[stack.pop()] = node.weight
        else:
            args = [arg for arg in node.args if type(arg) is Node and arg.value is None]
            waiting = [arg for arg in args if arg not in known]
            if not waiting:
                known[stack.pop()] = max([known[arg] for arg in args], default=0)
            stack += waiting
    return known[root]
