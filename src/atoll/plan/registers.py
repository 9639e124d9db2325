"""The memory that a program handles, by number, and the locations of launch operands in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..exchange.shares import box_of_rank
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..ops.maps import AxisMap
from ..ops.placement import Place
from .shapes import dense_shape

new: Any = tuple.__new__
"""Makes a named tuple of its fields in order, without a call of Python."""


class Memory(NamedTuple):
    """The location of a launch operand: a register, an offset in bytes, a stride per loop axis."""

    register: int
    offset: int
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    access: str = "r"
    outer: AxisMap | None = None
    """For a ghost region, the map under which it is read; with it, a larger ghost region can be read as well."""
    part: tuple[int, ...] = ()
    """The turns of unrolled loops that use this operand; other turns use other elements."""

    @property
    def inner(self) -> str:
        """The kind of the innermost stride; see :class:`~atoll.backend.spec.Operand`."""
        last = self.strides[-1]
        return "unit" if last == self.dtype.itemsize else "zero" if last == 0 else "any"


@dataclass(slots=True)
class Registers:
    """Numbers for the memory that a program handles: leaves first, then the values that it computes.

    ``geometry`` is that of this rank's share; ``corner`` its first global index on each axis,
    communication padding not counted, and ``padding`` the bytes that lie before that element.
    """

    of: dict[int, int]
    in_memory: dict[int, int]
    """Registers of leaves and of the results of earlier groups, by node."""
    scalar_of: dict[tuple[int, int], int]
    rank: int = 0
    debug: bool = False
    """True if the result of each pass is checked."""
    geometry: list[Geometry] = field(default_factory=list)
    corner: list[tuple[int, ...]] = field(default_factory=list)
    padding: list[int] = field(default_factory=list)
    keep: list[Node | None] = field(default_factory=list)
    extremes: dict[int, int] = field(default_factory=dict)
    """Registers of the elements found by position searches along axes, by node."""
    varying: set[int] = field(default_factory=set)
    """Updates and the nodes above them, by id: these may be other expressions in other parts of a box."""

    def add(self, node: Node) -> int:
        """A register for the value of a leaf or a stored node."""
        number = len(self.geometry)
        self.of[id(node)] = number
        if node.value is not None:
            self.in_memory[id(node)] = number
        place: Place | None = node.place
        geometry = node.geometry
        corner = (0,) * geometry.ndim
        before = 0
        if place is not None:
            owned = box_of_rank(place, self.rank)
            if owned is not None:
                corner = tuple([low for low, _ in owned])
            geometry = local_geometry(node, self.rank)
            if place.padded:
                halo = place.layout.halo(self.rank)
                before = sum(w * s for (w, _), s in zip(halo, geometry.strides, strict=True))
        self.geometry.append(geometry)
        self.corner.append(corner)
        self.padding.append(before)
        self.keep.append(node)
        return number

    def extra(self, geometry: Geometry) -> int:
        """A register that belongs to no node."""
        self.geometry.append(geometry)
        self.corner.append((0,) * geometry.ndim)
        self.padding.append(0)
        self.keep.append(None)
        return len(self.geometry) - 1

    def forget(self, count: int) -> None:
        """Drop the registers from number ``count`` on, which were only tentative."""
        for table in (self.geometry, self.corner, self.padding, self.keep):
            del table[count:]


def local_geometry(node: Node, rank: int) -> Geometry:
    """Geometry of this rank's share of a placed node in memory, communication padding included."""
    if node.value is not None and node.value.array is not None:
        return node.value.geometry
    place: Place = node.place
    layout = place.layout
    shape = layout.padded_shape(rank) if place.padded else layout.local_shape(rank)
    local: Geometry = dense_shape(shape, node.geometry.dtype)
    return local
