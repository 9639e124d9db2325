"""Readers: the regions that loops read under axis maps, and the ranks that read a rank's share.

A loop reads a node under an *axis map*, index ``start + step * i`` along each axis. The image of a rank's share of the loop
under the map is the region that the rank needs. The inverse of the map gives the loop indices ``i`` that lead to a rank's
share of the node, and the layout of the loop gives the ranks that run them. Only the ghost regions of these ranks have to be
listed, however many ranks there are: two neighbours, for a shift by one.

The readers may be too many, never too few. For a sum of two loop indices, each leads to the share with some value of the other. An
axis without a cheap inverse (a stride over scattered indices) excludes no rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from ..layout import IndexSet, Layout, Range, Region
from ..layout.symbolic import Number, greatest, least
from ..layout.symbolic_layout import Interval, interval, known
from ..ops.maps import AxisMap, reach


def region_under(outer: AxisMap, sets: Sequence[IndexSet]) -> Region:
    """The indices of a node, ascending along each axis, that loops over ``sets`` of their domain read under a map."""
    region: list[IndexSet] = []
    for start, steps in outer:
        if not steps:
            region.append(Range(start, start + 1))
            continue
        axis, step = steps[0]
        image = sets[axis].scaled(step, start)
        region.append(image.reversed() if step < 0 else image)
    return tuple(region)


def shape_under(outer: AxisMap, counts: Sequence[Number]) -> tuple[Number, ...]:
    """The shape of a region under a map, from the number of loop indices along each axis."""
    return tuple([counts[steps[0][0]] if steps else 1 for _, steps in outer])


def who_reads(
    mine: Region,
    outer: AxisMap,
    layout: Layout,
    *parts: tuple[Region, AxisMap],
    grid: Sequence[int] = (),
) -> set[int]:
    """The ranks of a loop's layout that read from ``mine``, a share of an array on a ``grid``, under an axis map, at loop indices that
    lead into regions under other maps.

    A region narrows down only axes along which all coordinates would read.
    """
    reading = coordinates_reading(mine, outer, layout, grid)
    for part in parts:
        if reading is not None and None in reading:
            reading = coordinates_reading(*part, layout, settled=reading)
    if reading is None:
        return set()
    choices: list[Iterable[int]] = [
        range(count) if reached is None else sorted(reached)
        for reached, count in zip(reading, layout.grid, strict=True)
    ]
    return {rank for cell in product(*choices) for rank in layout.ranks_at(cell)}


def coordinates_reading(
    mine: Region,
    outer: AxisMap,
    layout: Layout,
    grid: Sequence[int] = (),
    settled: Sequence[set[int] | None] = (),
) -> list[set[int] | None] | None:
    """The coordinates of a loop's layout, along each axis, that read from ``mine`` under an axis map.

    ``None`` stands for all coordinates of an axis, and in place of the list for no ranks. With the array's ``grid``, axes that
    neither the array nor the loop divides are left out. Coordinates that are ``settled`` stay.
    """
    coordinates = list(settled) or [None] * layout.ndim
    boxes = layout.is_block
    for k, (held, (start, steps)) in enumerate(zip(mine, outer, strict=True)):
        if not held:
            return None
        if grid and grid[k] == 1 and (not steps or layout.grid[steps[0][0]] == len(steps) == 1):
            continue  # the whole axis, and all that the loop reads of it
        if not steps and not _holds(held, start):
            return None
        for number, (axis, step) in enumerate(steps):
            if settled and settled[axis] is not None:
                continue
            starts = start, start
            if len(steps) > 1:
                others = steps[:number] + steps[number + 1 :]
                ((least_start, stop),) = reach(((start, others),), [(0, n) for n in layout.shape])
                starts = least_start, stop - 1
            leading = _leading(held, starts, step, layout.shape[axis], boxes)
            if leading is None:
                continue
            along: Any = layout.axes[axis]
            if boxes and type(leading) is Interval:
                holders: Any = leading.by_owner(along)
            else:
                holders = along.holders_of(known(leading))
            reached = {coordinate for coordinate, _ in holders}
            seen = coordinates[axis]
            coordinates[axis] = reached if seen is None else seen & reached
    return coordinates


def ends_of(held: Any) -> tuple[Number, Number]:
    """The lowest index, and the highest plus one."""
    if type(held) is Interval:
        return held.start, held.stop
    return held.lowest, held.highest + 1


def _holds(held: Any, index: Number) -> bool:
    if type(held) is Interval or held.is_contiguous:
        begin, end = ends_of(held)
        return bool(begin <= index < end)
    return index in held


def _leading(
    held: Any, starts: tuple[Number, Number], step: Number, shape: Number, boxes: bool
) -> IndexSet | Interval | None:
    """The loop indices that lead into ``held`` from a start between two; ``None`` where their computation is not cheap.

    Loops over boxes gather all elements between the first index and the last, so for them a
    stride that steps over ``held`` counts as well.
    """
    if type(held) is Interval or held.is_contiguous:
        low, high = ends_of(held)
        if type(step) is int and step == 1:
            return interval(greatest(low - starts[1], 0), least(high - starts[0], shape))
        across = abs(step) - 1 if boxes else 0
        first, last = low - across - starts[1], high - 1 + across - starts[0]
        if step < 0:
            first, last = -last, -first
        begin = greatest(-(-first // abs(step)), 0)
        return interval(begin, least(last // abs(step) + 1, shape))
    if step not in (1, -1) or starts[0] != starts[1]:
        return None
    moved: IndexSet = held.scaled(step, -starts[0] * step)
    return moved.intersection(Range(0, shape))
