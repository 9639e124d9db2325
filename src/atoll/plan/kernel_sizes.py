"""Cuts expressions that one kernel cannot hold.

Many operations are no burden: values that do not fit into registers are kept in the first-level cache, which costs less than
memory. But compile time grows with them, and a processor follows only a limited number of arrays at a time.
"""

from __future__ import annotations

from .. import policy
from ..graph.node import Node
from . import reasons
from .reasons import Reasons
from .trace import Choice


def bound_sizes(choice: Choice) -> None:
    """Store the values between the kernels of an expression that is too large for one.

    A kernel takes the operations in their order. In the second half of its capacity, it ends where later operations need the fewest
    values; these values are stored.
    """
    order, stored, by_numpy = choice.trace.order, choice.stored, choice.by_numpy
    limits = policy.limits
    if len(order) <= limits.kernel_operations:
        read = {id(arg) for node in order for arg in node.args if type(arg) is Node and arg.value}
        if len(read) + len(stored) <= limits.kernel_streams:
            return
    positions = {id(node): k for k, node in enumerate(order)}
    for root in [node for node in order if id(node) in stored and id(node) not in by_numpy]:
        inside = _inside(root, stored)
        if len(inside) <= limits.kernel_operations:
            operands = [arg for node in inside for arg in node.args if type(arg) is Node]
            read = {id(arg) for arg in operands if arg.value is not None or id(arg) in stored}
            if len(read) <= limits.kernel_streams:
                continue
        inside.sort(key=lambda node: positions[id(node)])
        for last in _ends(inside, stored):
            stored.setdefault(
                id(last),
                reasons.GROWN.format(
                    operations=limits.kernel_operations, streams=limits.kernel_streams
                ),
            )


def _inside(root: Node, stored: Reasons) -> list[Node]:
    """The nodes that the loop storing ``root`` computes, ``root`` included."""
    inside = [root]
    seen = {id(root)}
    for node in inside:
        for arg in node.args:
            if type(arg) is Node and arg.value is None and id(arg) not in seen:
                seen.add(id(arg))
                if id(arg) not in stored:
                    inside.append(arg)
    return inside


def _ends(inside: list[Node], stored: Reasons) -> list[Node]:
    """The nodes to store so that several loops compute the nodes that one loop would, which are in their order."""
    limits = policy.limits
    last_use: dict[int, int] = {}
    for k, node in enumerate(inside):
        for arg in node.args:
            if type(arg) is Node:
                last_use[id(arg)] = k
    chosen: dict[int, Node] = {}
    begin, best = 0, -1
    live: dict[int, Node] = {}
    """Values that this kernel has computed and that are needed after the current node."""
    held: list[Node] = []
    """The same at the best end of the kernel."""
    streams: set[int] = set()
    k = 0
    while k < len(inside):
        node = inside[k]
        for arg in node.args:
            if type(arg) is Node:
                while _is_read(arg, stored):
                    arg = arg.args[0]
                if arg.value is not None or id(arg) in stored or id(arg) in chosen:
                    streams.add(id(arg))
                if last_use.get(id(arg)) == k:
                    live.pop(id(arg), None)
        if best >= begin and (
            k - begin >= limits.kernel_operations or len(streams) > limits.kernel_streams
        ):
            chosen.update((id(value), value) for value in held)
            begin = k = best + 1
            live, streams = {}, set()
            continue
        if not _is_read(node, stored) and not node.op.is_trivial(node):
            live[id(node)] = node
        half = 2 * max((k - begin) / limits.kernel_operations, len(streams) / limits.kernel_streams)
        if half >= 1 and (best < begin or len(live) <= len(held)):
            best, held = k, list(live.values())
        k += 1
    return list(chosen.values())


def _is_read(node: Node, stored: Reasons) -> bool:
    """True if a node only reads memory."""
    if not node.op.is_view or node.value is not None:
        return False
    base: Node = node.args[0]
    return base.value is not None or id(base) in stored
