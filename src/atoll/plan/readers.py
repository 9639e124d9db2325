"""Which ranks read what a rank owns, computed from the maps of the reads.

A loop reads a node under an *axis map*, index ``start + step * i`` along each axis. Turned
round, the map says which loop indices ``i`` lead to what this rank owns, and the layout of the
loop says who runs them. Only those ranks' ghost regions have to be worked out, however many ranks
there are: two neighbours, for a shift by one.

What is found may be too many, never too few. An axis that no inverse is cheap for (two loop
indices that are added up, a stride over scattered indices) excludes no rank.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from ..graph.node import Node
from ..layout import IndexSet, Layout, Range, Region
from ..ops.maps import AxisMap, box_of, broadcast_map, identity, inside_region, through_view
from ..ops.placement import Place
from .body import Registers
from .groups import Group
from .shares import Intervals, bounds_of, intervals_of, owners_of
from .symbolic import greatest, least

Found = tuple[Node, AxisMap | None]
"""A node in memory, and the map under which it is read; ``None`` where all of it is."""


def readers_of(
    group: Group, registers: Registers, available: set[int], rank: int, size: int
) -> set[int]:
    """The ranks, of ``size``, whose share of a group may read what ``rank`` owns."""
    place = group.place
    ranks: set[int] = set()
    for node, outer in reads_of(group, registers, available):
        home: Place | None = node.place
        if home is None:
            continue
        if outer is None:
            if place is None:
                return set(range(size))
            ranks.update(place.layout.ranks)
            continue
        own = home is place and node.geometry.shape == group.domain
        if own and outer == identity(group.domain):
            continue
        if place is None:
            if _reaches(home.layout.region(rank), outer, group.domain):
                return set(range(size))
            continue
        ranks |= who_reads_share(home, rank, outer, place.layout)
    return ranks


def who_reads_share(home: Place, rank: int, outer: AxisMap, layout: Layout) -> set[int]:
    """The ranks of a loop's layout that reach what ``rank`` owns at ``home`` by an axis map."""
    if home.layout.is_block and layout.is_block:
        mine = intervals_of(home, rank)
        assert mine is not None
        return _who_reads_box(mine, outer, layout)
    return who_reads(home.layout.region(rank), outer, layout)


def _who_reads_box(mine: Intervals, outer: AxisMap, layout: Any) -> set[int]:
    """:func:`who_reads`, where shares are boxes."""
    coordinates: list[set[int] | None] = [None] * layout.ndim
    ends = bounds_of(layout)
    for (low, high), (start, steps) in zip(mine, outer, strict=True):
        if not low < high or (not steps and not low <= start < high):
            return set()
        if len(steps) != 1:
            continue
        axis, step = steps[0]
        # loops over boxes bring together all that lies between the first index and the last
        least_index, most_index = low - abs(step) + 1 - start, high + abs(step) - 2 - start
        if step < 0:
            least_index, most_index = -most_index, -least_index
        first = greatest(-(-least_index // abs(step)), 0)
        last = least(most_index // abs(step) + 1, layout.shape[axis])
        found = {coordinate for coordinate, _ in owners_of(ends[axis], (first, last))}
        known = coordinates[axis]
        coordinates[axis] = found if known is None else known & found
    return _ranks_in(coordinates, layout)


def who_reads(mine: Region, outer: AxisMap, layout: Layout) -> set[int]:
    """The ranks of a loop's layout that reach ``mine`` by an axis map."""
    coordinates: list[set[int] | None] = [None] * layout.ndim
    boxes = layout.is_block
    for held, (start, steps) in zip(mine, outer, strict=True):
        if not len(held) or (not steps and start not in held):
            return set()
        if len(steps) != 1:
            continue
        axis, step = steps[0]
        leading = _leading(held, start, step, layout.shape[axis], boxes)
        if leading is None:
            continue
        found = {coordinate for coordinate, _ in layout.axes[axis].holders_of(leading)}
        known = coordinates[axis]
        coordinates[axis] = found if known is None else known & found
    return _ranks_in(coordinates, layout)


def _ranks_in(coordinates: list[set[int] | None], layout: Layout) -> set[int]:
    """The ranks with these coordinates; ``None`` is any."""
    choices: list[Iterable[int]] = [
        range(count) if found is None else sorted(found)
        for found, count in zip(coordinates, layout.grid, strict=True)
    ]
    return {rank for cell in product(*choices) for rank in layout.ranks_at(cell)}


def _leading(held: IndexSet, start: int, step: int, extent: int, boxes: bool) -> IndexSet | None:
    """The loop indices that lead into ``held``; ``None`` where that is not cheap to say.

    Loops over boxes bring together all that lies between the first index and the last, so
    for them a stride that steps over ``held`` counts as well.
    """
    if held.is_contiguous:
        low, high = held.lowest, held.highest
        if boxes:
            low, high = low - abs(step) + 1, high + abs(step) - 1
        ends = (low - start, high - start)
        if step < 0:
            ends = (-ends[1], -ends[0])
        first = -(-ends[0] // abs(step))
        last = ends[1] // abs(step)
        return Range(max(first, 0), max(min(last + 1, extent), max(first, 0)))
    if step not in (1, -1):
        return None
    moved = held.scaled(step, -start * step)
    return moved.intersection(Range(0, extent))


def _reaches(mine: Region, outer: AxisMap, domain: tuple[int, ...]) -> bool:
    """Whether a loop over the whole domain can reach ``mine``."""
    for held, (start, steps) in zip(mine, outer, strict=True):
        if not len(held):
            return False
        ends = [sorted((0, step * (domain[axis] - 1))) for axis, step in steps]
        low = start + sum(first for first, _ in ends)
        high = start + sum(last for _, last in ends)
        if high < held.lowest or low > held.highest:
            return False
    return True


def reads_of(group: Group, registers: Registers, available: set[int]) -> list[Found]:
    """What the loops of a group read from memory, on whichever rank, each with its map."""
    found: list[Found] = []
    stack: list[tuple[Node, AxisMap]] = []
    seen: set[tuple[int, AxisMap]] = set()

    def operands(node: Node, places: Iterable[int], shape: tuple[int, ...], own: AxisMap) -> None:
        for k in places:
            arg = node.args[k]
            if type(arg) is Node:
                stack.append((arg, broadcast_map(arg, len(shape), shape, own)))

    def below(node: Node, outer: AxisMap) -> None:
        if node.op.is_view:
            inner = through_view(node.params[0], outer)
            if inner is None:
                found.append((node.args[0], None))
            else:
                stack.append((node.args[0], inner))
        elif node.op.is_update:
            region = node.params[0]
            box = box_of(region)
            if box is None:
                found.extend((arg, None) for arg in node.args if type(arg) is Node)
                return
            stack.append((node.args[0], outer))
            operands(node, (1,), region.shape, inside_region(region, box, outer))
        else:
            operands(node, range(len(node.args)), node.geometry.shape, outer)

    for statement in group.statements:
        node, own = statement.node, identity(statement.domain)
        if statement.only is not None:  # the mask under which alone it is computed
            operands(statement.only, (2,), statement.domain, own)
        if statement.style == "map":
            below(node, own)
        elif statement.style == "place":
            operands(node, range(1, len(node.args)), node.params[0].shape, own)
        else:
            stack.append((node.args[0], own))
        while stack:
            inner, outer = stack.pop()
            key = (id(inner), outer)
            if key in seen:
                continue
            seen.add(key)
            at_hand = inner.value is not None or id(inner) in available
            if at_hand and id(inner) in registers.of:
                found.append((inner, outer))
            else:
                below(inner, outer)
    return found
