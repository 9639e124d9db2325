"""Shares that are not boxes: loops over them count local indices.

Where an axis is cyclic, or listed, a rank's share is an array without gaps all the same, and so is
its share of a slice: the elements of ``a[k + 1 :, k + 1 :]`` that a rank owns lie one step apart in its block of ``a``,
whatever their global indices are. So loops run from zero to the number of elements that the rank has along each axis,
and read and write its block at an offset and with strides, like loops over boxes. :func:`counts_locally` says
for which slices that is so on every rank.

Everything else that is read comes by a *ghost region*, which has the elements in the order of the loop. Which ones these are
follows from the map of the read and from what a rank owns of the loop's domain (:func:`region_under`); so the ghost regions of
all ranks follow from one list of maps, and no loops have to be made for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from ..graph.geometry import Geometry
from ..layout import IndexSet, Layout, Range
from ..ops.maps import AxisMap
from ..ops.placement import Place
from .symbolic import Number, function

Sets = tuple[IndexSet, ...]


def counts_locally(layout: Layout, view: Geometry) -> bool:
    """Whether what a rank owns of a view lies in its block at one step along each axis, on every rank."""
    axes = view.axes
    if axes is None:
        return False
    taken: set[int] = set()
    for dealt, (_, steps) in zip(layout.axes, axes, strict=True):
        if not steps:
            if dealt.overlaps:
                return False
            continue
        axis, step = steps[0]
        if len(steps) > 1 or axis in taken or not dealt.keeps_step(step):
            return False
        taken.add(axis)
    return True


def hop(dealt: Any, step: Number) -> Number:
    """How far apart in a block lie what a rank owns of every ``step``-th index of an axis."""
    if dealt.kind == "c" and dealt.block_size == 1:
        return function(_hop, step, dealt.processes)
    return step


def _hop(step: int, processes: int) -> int:
    return step // gcd(step, processes)


def has_share(place: Place, rank: int) -> bool:
    """Whether a rank has any elements of an array."""
    return place.layout.coordinates(rank) is not None and all(place.layout.local_shape(rank))


def seated(place: Any, rank: int) -> bool:
    """Whether a rank takes part in an array."""
    return bool(place.layout.coordinates(rank) is not None)


def counts_of(place: Any, rank: int) -> tuple[Number, ...]:
    """How many indices a rank has along each axis."""
    found: tuple[Number, ...] = place.layout.local_shape(rank)
    return found


def sets_of(place: Any, rank: int) -> Sets | None:
    """These indices; ``None`` where the place is a loose one, which cannot tell."""
    return None if place.number < 0 else place.layout.region(rank)


def first_of(
    home: Any, place: Any, axis: int, first: Number, along: int, step: Number, rank: int
) -> Number:
    """Where along ``axis`` of its block of ``home`` a rank has its first element of a view that lies at ``place``.

    The view begins at index ``first``, and its axis ``along`` takes every ``step``-th one; less than nothing for
    ``along`` takes that alone. A rank without a share has zero.
    """
    given = [getattr(one, "given", one) for one in (home, place)]
    return function(local_start, *given, axis, first, along, step, rank)


def local_start(
    home: Place, place: Place, axis: int, first: int, along: int, step: int, rank: int
) -> int:
    """What :func:`first_of` says, of places that are known."""
    here, there = home.layout.coordinates(rank), place.layout.coordinates(rank)
    if here is None or there is None:
        return 0
    if along >= 0:
        taken = place.layout.axes[along].owned(there[along])
        if not len(taken):
            return 0
        first += step * taken.global_of(0)
    held = home.layout.axes[axis].owned(here[axis])
    return held.local_of(first) if first in held else 0


def region_under(outer: AxisMap, sets: Sequence[IndexSet]) -> Sets:
    """The indices of a node, ascending along each axis, that loops over ``sets`` of their domain read under a map."""
    found: list[IndexSet] = []
    for start, steps in outer:
        if not steps:
            found.append(Range(start, start + 1))
            continue
        axis, step = steps[0]
        image = sets[axis].scaled(step, start)
        found.append(image.reversed() if step < 0 else image)
    return tuple(found)


def shape_under(outer: AxisMap, counts: Sequence[Number]) -> tuple[Number, ...]:
    """The shape of such a region."""
    return tuple([counts[steps[0][0]] if steps else 1 for _, steps in outer])
