"""Hazards: whether an assignment may overwrite memory that its value or its mask reads.

It may if each element is read at the index at which it is written, for a loop reads before it writes; or if no element that is read
is written at all, as bounds along the axes can show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph.geometry import Geometry
from ..graph.node import Node, in_order
from ..ops.maps import reach
from .reasons import Chosen


def reads_safely(values: Sequence[Any], region: Geometry, base: Node, stored: Chosen) -> bool:
    """True if values can be computed while ``region`` of ``base`` is overwritten: they read ``base`` through the very view that is
    written, index by index, or only where nothing is written."""
    stack = [(value, True) for value in values]
    """Nodes to visit, each with True if the loop's index is still that of the region."""
    seen: set[tuple[int, bool]] = set()
    while stack:
        node, same = stack.pop()
        if type(node) is not Node or (id(node), same) in seen:
            continue
        seen.add((id(node), same))
        if node is base:
            if not (same and region.is_base):
                return False
        elif node.value is not None or id(node) in stored:
            continue
        elif node.op.is_view:
            view: Geometry = node.params[0]
            if node.args[0] is not base:
                stack.append((node.args[0], False))
            elif not (same and view.number == region.number) and not _apart(view, region):
                return False
        elif node.op.is_update or node.op.folds:
            below = in_order([node], lambda each: each.value is None and id(each) not in stored)
            if any(arg is base for each in below for arg in each.args):
                return False
        else:
            for arg in node.args:
                if type(arg) is Node:
                    stack.append((arg, same and arg.geometry.shape == region.shape))
    return True


def _apart(view: Geometry, other: Geometry) -> bool:
    """True if two views of one base touch no common element, as far as their bounds tell."""
    if view.axes is None or other.axes is None:
        return False
    reads = reach(view.axes, [(0, n) for n in view.shape])
    writes = reach(other.axes, [(0, n) for n in other.shape])
    return any(high <= begin or end <= low for (low, high), (begin, end) in zip(reads, writes))
