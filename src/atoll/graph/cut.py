"""Where to cut a loop: at the line of a turn where the fewest bytes are live.

A loop whose values are not read records turn after turn, and its work is evaluated in pieces. Whatever is live where a piece
ends is stored: between two steps of a simulation the fields, in the middle of a step also each sum and shifted copy.

Nodes are numbered as they are recorded (``Node.born``). A value is live at a moment if it was recorded before, or is in
memory, and an operation that was recorded later reads it. So a trace tells how many bytes were live when each operation
was recorded. Lines that a trace contains at least twice belong to a loop; the one with the fewest live bytes is its cut. What
is read after the end of the trace is unknown: a line counts with the most that was live in any of its turns, and what
no operation has read yet is live to the end.

A later turn finds the values that were live at the cut from an operation that depends on all of them: going back
from there in the order of recording, they are what has not been met when the cut is (:func:`live_at`). So a cut
comes with the first line that can tell; a line without one is passed over for the next best.

All of this follows from traces, so ranks find the same lines and the same values, whatever garbage each has yet to collect.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import NamedTuple

from .. import policy
from ..context.call_sites import site_number, site_text
from .node import Node, Site

_born = attrgetter("born")


class CutPoint(NamedTuple):
    """Two places in a loop."""

    line: Site
    """The first operation after the cut."""
    after: Site
    """The first one that depends on that, and on everything that was live at the cut."""

    def __str__(self) -> str:
        return ", ".join([f"{site_text(site)} at {site[1]}" for site in self])


def find_cut(nodes: Sequence[Node]) -> CutPoint | None:
    """The cut of the loop whose work is pending in these nodes and behind them, if there is one.

    A node that several arrays have (one is a copy of the other, say) may stand there more than once. Of what lies on ranks, only what lies on ranks counts.
    """
    shared = nodes[0].place is not None
    readers: dict[Node, list[Node]] = {node: [] for node in nodes}
    pending = list(readers)
    for node in pending:
        for arg in _counted(node, shared):
            if arg not in readers:
                readers[arg] = []
                if arg.value is None:
                    pending.append(arg)
            readers[arg].append(node)
    pending.sort(key=_born)
    moment = {node: number for number, node in enumerate(pending)}
    turns: dict[int, list[int]] = {}
    for number, node in enumerate(pending):
        if node.op.is_ufunc and node.site is not None:
            turns.setdefault(site_number(node.site), []).append(number)
    sizes = _sizes(readers, moment)
    loops = [line for line, numbers in turns.items() if len(numbers) > 1]
    loops.sort(key=lambda line: max([sizes[number] for number in turns[line]]))
    for line in loops[: policy.limits.pieces]:
        begin, end = turns[line][:2]
        after = _after(pending, readers, moment, begin, end, shared)
        start = pending[begin].site
        if after is not None and start is not None:
            return CutPoint(start, after)
    return None


def _after(
    pending: Sequence[Node],
    readers: dict[Node, list[Node]],
    moment: dict[Node, int],
    begin: int,
    end: int,
    shared: bool,
) -> Site | None:
    """Of the turn from moment ``begin`` to ``end``, the first line that depends on it, and on what was live before."""
    wanted = 1
    covers = {pending[begin]: 1}
    for node, by in readers.items():
        numbers = [moment[reader] for reader in by]
        if _made(node, moment) < begin <= max(numbers, default=-1):
            first = {_line(pending[number]) for number in numbers if begin <= number < end}
            again = {_line(pending[number]) for number in numbers if number >= end}
            if node.value is None or not first & again:  # else it is the same in all turns
                covers[node] = wanted + 1
                wanted += covers[node]
    for node in pending[begin:end]:
        covered = covers.get(node, 0)
        for arg in _counted(node, shared):
            covered |= covers.get(arg, 0)
        covers[node] = covered
        if covered == wanted > 1 and node.op.is_ufunc and node.site is not None:
            return node.site
    return None


def live_at(root: Node, line: int) -> list[Node]:
    """What is pending behind ``root`` and was live when its loop last came to a line, in the order of recording."""
    shared = root.place is not None
    waiting = [(-root.born, root)]
    heapify(waiting)
    seen = {root}
    while waiting:
        _, node = heappop(waiting)
        for arg in _counted(node, shared):
            if arg.value is None and arg not in seen:
                seen.add(arg)
                heappush(waiting, (-arg.born, arg))
        if node.op.is_ufunc and site_number(node.site) == line:
            return [node for _, node in sorted(waiting, reverse=True)]
    return []


def _counted(node: Node, shared: bool) -> list[Node]:
    return [arg for arg in node.args if type(arg) is Node and (arg.place is not None or not shared)]


def _line(node: Node) -> int:
    return site_number(node.site)


def _made(node: Node, moment: dict[Node, int]) -> int:
    """The moment of a node; less than nothing for what is there."""
    return moment[node] if node.value is None else -1


def _sizes(readers: dict[Node, list[Node]], moment: dict[Node, int]) -> list[int]:
    """How many bytes were live when each of the pending nodes was recorded."""
    change = [0] * (len(moment) + 1)
    for node, by in readers.items():
        size = node.geometry.size * node.geometry.dtype.itemsize
        change[_made(node, moment) + 1] += size
        change[max([moment[reader] for reader in by], default=len(moment) - 1) + 1] -= size
    sizes, size = [], 0
    for more in change:
        size += more
        sizes.append(size)
    return sizes
