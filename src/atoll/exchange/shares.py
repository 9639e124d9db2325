"""Shares: the elements of an array that a rank owns, as boxes, or as index sets that loops count locally.

In blocks, a rank's share is a box, and loops run over its global indices. Where an axis is cyclic, or listed, a share is still
an array without gaps, and so is its part of a slice: the elements of ``a[k + 1 :, k + 1 :]`` that a rank owns lie
one step apart in its block of ``a``, whatever their global indices are. So such loops run from zero to the number of elements
that the rank has along each axis, and read and write its block at an offset and with strides. :func:`counts_locally` is
true for the slices of which that holds on every rank.

A :class:`SymbolicPlace` stands for the places of a slice that moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from ..comm.world import World
from ..graph.geometry import Geometry
from ..layout import Layout, Region, region_key
from ..layout.symbolic import Number, Variable, function
from ..layout.symbolic_layout import SymbolicLayout
from ..layout.transfer import Record
from ..ops.placement import Place

Box = tuple[tuple[Number, Number], ...]
"""For each axis, the first index, and the last plus one."""


class SymbolicPlace:
    """A :class:`SymbolicLayout` over the ranks of a world; its ``number`` is negative."""

    __slots__ = (
        "folds_whole", "given", "held_once", "layout", "lopsided", "number", "padded", "read", "world",
    )  # fmt: skip

    def __init__(
        self,
        like: Place,
        given: Variable,
        number: int,
        fixed: bool,
        shape: Sequence[Number] | None,
    ) -> None:
        self.given = given
        self.layout = SymbolicLayout(like.layout, given, fixed, shape)
        self.world: World = like.world
        self.number = number
        self.padded, self.folds_whole, self.held_once = False, like.folds_whole, like.held_once
        self.lopsided = False
        self.read: dict[int, Any] = {}


def box_of_rank(place: Any, rank: int) -> Box | None:
    """A rank's share as a box; ``None`` if it is not a box."""
    if place.number < 0:
        layout: SymbolicLayout = place.layout
        if not layout.is_block:
            return None
        return tuple([(part.start, part.stop) for part in layout.region(rank)])
    region: Region = place.layout.region(rank)
    if any(len(part) and not part.is_contiguous for part in region):
        return None
    return tuple([(p.lowest, p.highest + 1) if len(p) else (0, 0) for p in region])


def counts_locally(layout: Layout, view: Geometry) -> bool:
    """True if each rank's share of a view lies in its block at one step along each axis."""
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


def source_key(home: Any, rank: int, record: Record) -> tuple[Any, ...]:
    """The key of a record in the memory of the sender's share, communication padding included."""
    if not home.padded:
        return record.source_key
    halo = home.layout.halo(rank)
    return region_key(
        [part.shifted(before) for part, (before, _) in zip(record.source, halo, strict=True)]
    )


def local_step(dealt: Any, step: Number) -> Number:
    """The distance in a block between neighbouring elements of a rank's share of every ``step``-th index of an axis."""
    if dealt.kind == "c" and dealt.block_size == 1:
        return function(_cyclic_step, step, dealt.processes)
    return step


def _cyclic_step(step: int, processes: int) -> int:
    return step // gcd(step, processes)


def has_share(place: Place, rank: int) -> bool:
    """True if a rank owns elements of an array."""
    return place.layout.coordinates(rank) is not None and all(place.layout.local_shape(rank))


def region_of_rank(place: Any, rank: int) -> Region | None:
    """The indices that a rank owns; ``None`` where the place is symbolic."""
    return None if place.number < 0 else place.layout.region(rank)


def first_of(
    home: Any, place: Any, axis: int, first: Number, along: int, step: Number, rank: int
) -> Number:
    """The index along ``axis`` of a rank's block of ``home`` of its first element of a view that lies at ``place``.

    The view begins at index ``first``, and its axis ``along`` takes every ``step``-th index; a negative ``along`` takes
    ``first`` alone. A rank without a share has zero.
    """
    given = [getattr(place_, "given", place_) for place_ in (home, place)]
    return function(local_start, *given, axis, first, along, step, rank)


def local_start(
    home: Place, place: Place, axis: int, first: int, along: int, step: int, rank: int
) -> int:
    """:func:`first_of` for places that are not symbolic."""
    here, taken_at = home.layout.coordinates(rank), place.layout.coordinates(rank)
    if here is None or taken_at is None:
        return 0
    if along >= 0:
        taken = place.layout.axes[along].owned(taken_at[along])
        if not len(taken):
            return 0
        first += step * taken.global_of(0)
    held = home.layout.axes[axis].owned(here[axis])
    return held.local_of(first) if first in held else 0
