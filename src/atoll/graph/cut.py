"""Where pending work is cut that has grown past its bound: where the fewest bytes are live.

A loop whose values are not read records iteration after iteration, and its work is evaluated in pieces. Values that are live
where a piece ends are stored: between two steps of a simulation the fields, in the middle of a step also each sum and shifted copy.

Nodes are numbered as they are recorded (``Node.born``), and a value is live between its own operation and the last one that
reads it. So the trace behind one node tells how many bytes were live after each of its operations. The cut is in its
middle third. What is live in the first third may be more than this node depends on: the last iteration has read only some of it
yet. Behind the middle third lie enough operations for the next piece to be worth a program.

The trace of a loop is periodic, so the next piece ends at the same line, after as many iterations, and its plan recurs. And ranks, which
have recorded the same trace, find the same values, whatever garbage each of them has yet to collect.

Operations that stand at different lines are no loop. They are a long formula, which ends, and may be as long as a kernel.
"""

from __future__ import annotations

from math import inf
from operator import attrgetter

from .. import policy
from .node import Node, pending_behind


def live_at_cut(root: Node) -> tuple[list[Node], int]:
    """The values to store where the work behind ``root`` is cut, and how many operations it has then; see ``_native/cuts.c``."""
    order = sorted(pending_behind(root), key=attrgetter("born"))
    count = len(order)
    recorded = sum([node.site == root.site for node in order])
    is_formula = recorded <= policy.limits.patience and root.place is None
    if count <= (policy.limits.kernel_operations if is_formula else policy.limits.pending):
        return [], count
    moment = {node: number for number, node in enumerate(order)}
    last = list(range(count))
    for number, node in enumerate(order):
        for arg in node.args:
            if type(arg) is Node and arg in moment:
                last[moment[arg]] = number
    change, live, cut, fewest = [0] * count, 0, count // 3, inf
    for number, node in enumerate(order):
        size = node.geometry.size * node.geometry.dtype.itemsize
        change[last[number]] -= size
        live += change[number] + size
        if count // 3 <= number < 2 * count // 3 and live <= fewest:
            cut, fewest = number, live
    return [node for node, end in zip(order[: cut + 1], last) if end > cut], count - cut - 1
