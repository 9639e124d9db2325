"""Hazards: whether an assignment may overwrite memory that its value or its mask reads.

It may if each element is read at the index at which it is written, for a loop reads before it writes; or if
nothing of what is read is written at all, which bounds along the axes can tell.
"""

from __future__ import annotations

from typing import Any

from ..graph.geometry import Geometry
from ..graph.node import Node
from .reasons import Chosen


def reads_safely(
    node: Any,
    region: Geometry,
    base: Node,
    stored: Chosen,
    seen: set[tuple[int, bool]],
    same: bool = True,
) -> bool:
    """Whether ``node`` can be computed while ``region`` of ``base`` is overwritten.

    It can if it reads ``base`` through the very view that is written, index by index (``same``
    says that the loop's index is still the region's), or only where nothing is written.
    """
    if type(node) is not Node or (id(node), same) in seen:
        return True
    seen.add((id(node), same))
    if node is base:
        return same and region.is_base
    if node.value is not None or id(node) in stored:
        return True
    if node.op.is_view:
        view: Geometry = node.params[0]
        if node.args[0] is base:
            return (same and view.number == region.number) or _apart(view, region)
        return reads_safely(node.args[0], region, base, stored, seen, False)
    if node.op.is_update or node.op.folds:
        return not _mentions(node, base, stored)
    return all(
        reads_safely(
            arg,
            region,
            base,
            stored,
            seen,
            same and type(arg) is Node and arg.geometry.shape == region.shape,
        )
        for arg in node.args
    )


def _apart(view: Geometry, other: Geometry) -> bool:
    """Whether two views of one base touch no common element, as far as their bounds tell."""
    first, second = _bounds(view), _bounds(other)
    if first is None or second is None:
        return False
    return any(b <= c or d <= a for (a, b), (c, d) in zip(first, second, strict=True))


def _bounds(view: Geometry) -> list[tuple[int, int]] | None:
    axes = view.axes
    if axes is None:
        return None
    bounds = []
    for first, steps in axes:
        low = first + sum(min(0, step * (view.shape[axis] - 1)) for axis, step in steps)
        high = first + sum(max(0, step * (view.shape[axis] - 1)) for axis, step in steps)
        bounds.append((low, high + 1))
    return bounds


def _mentions(node: Node, base: Node, stored: Chosen) -> bool:
    stack, seen = [node], set()
    while stack:
        n = stack.pop()
        if n is base:
            return True
        if n.value is not None or id(n) in stored or id(n) in seen:
            continue
        seen.add(id(n))
        stack.extend(a for a in n.args if type(a) is Node)
    return False
