"""Axis maps: which element of a node a loop reads at each index of its domain.

An expression is walked from what is stored down to memory. On the way the map of the loop's own
index becomes that of each operand: through views, broadcasting and the regions of assignments.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from ..graph.geometry import Geometry
from ..graph.node import Node

AxisMap = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
"""For each axis of a node: first index, and (loop axis, step) pairs."""


def identity(shape: Sequence[int]) -> AxisMap:
    """The map that takes the loop's index as it is. An extent that is unknown is more than one."""
    return tuple(
        [(0, ((k, 1),) if type(n) is not int or n != 1 else ()) for k, n in enumerate(shape)]
    )


def are_equal(outer: AxisMap | None, other: AxisMap) -> bool:
    """True if two maps lead to the same elements. Steps are compared first: where they differ, a plan serves any first indices."""
    if outer is None:
        return False
    return list(map(_steps, outer)) == list(map(_steps, other)) and outer == other


_steps = itemgetter(1)


def broadcast_map(node: Node, shape: Sequence[int], outer: AxisMap) -> AxisMap:
    """The map of an operand that is broadcast to ``shape``, whose own map is ``outer``."""
    own = node.geometry.shape
    if own == shape:
        return outer
    lead = len(shape) - len(own)
    return tuple(
        [(0, ()) if n == 1 and shape[lead + k] != 1 else outer[lead + k] for k, n in enumerate(own)]
    )


def through_view(view: Geometry, outer: AxisMap) -> AxisMap | None:
    """The map of the base, where ``outer`` is the map of one of its views."""
    axes = view.axes
    if axes is None:
        return None
    result = []
    for first, steps in axes:
        start = first
        coefficients: dict[int, int] = {}
        for axis, step in steps:
            begin, inner = outer[axis]
            if type(begin) is not int or begin:
                start = start + (begin if type(step) is int and step == 1 else step * begin)
            for loop, factor in inner:
                coefficients[loop] = coefficients.get(loop, 0) + step * factor
        along = sorted(coefficients.items())
        if len(steps) > 1:  # they may cancel each other
            along = [(loop, factor) for loop, factor in along if factor]
        result.append((start, tuple(along)))
    return tuple(result)


def reach(outer: AxisMap, box: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The least index along each axis that a box of loop indices leads to, and the one after the greatest."""
    reached = []
    for start, steps in outer:
        if len(steps) == 1 and type(steps[0][1]) is int and steps[0][1] == 1:
            begin, end = box[steps[0][0]]
            moved = type(start) is not int or start
            reached.append((start + begin, start + end) if moved else (begin, end))
            continue
        first = last = start
        for axis, step in steps:
            low, high = box[axis][0], box[axis][1] - 1
            if step < 0:
                low, high = high, low
            if type(low) is not int or low:
                first = first + step * low
            if type(high) is not int or high:
                last = last + step * high
        reached.append((first, last + 1))
    return tuple(reached)


def operands_under(node: Node, outer: AxisMap) -> list[tuple[Node, AxisMap | None]]:
    """The operands from which a loop computes a node under a map, each with its own map; ``None`` where there is none."""
    if node.op.is_view:
        return [(node.args[0], through_view(node.params[0], outer))]
    shape, under, args = node.geometry.shape, outer, node.args
    below: list[tuple[Node, AxisMap | None]] = []
    if node.op.is_update:
        region: Geometry = node.params[0]
        box = region.box
        if box is None:
            return [(args[0], outer), *[(arg, None) for arg in args[1:] if type(arg) is Node]]
        below.append((args[0], outer))
        shape, under, args = region.shape, inside_region(region, box, outer), args[1:]
    for arg in args:
        if type(arg) is Node:
            alike = arg.geometry.shape == shape
            below.append((arg, under if alike else broadcast_map(arg, shape, under)))
    return below


def inside_region(
    region: Geometry, box: tuple[tuple[int, int, int, int], ...], outer: AxisMap
) -> AxisMap:
    """The map of the value that was written through ``region``, where ``outer`` maps its base."""
    result: list[tuple[int, tuple[tuple[int, int], ...]]] = [(0, ())] * region.ndim
    for k, (low, high, axis, step) in enumerate(box):
        if axis < 0:
            continue
        start, steps = outer[k]
        first = low if step == 1 else high - 1
        result[axis] = ((start - first) * step, tuple([(loop, step * c) for loop, c in steps]))
    return tuple(result)
