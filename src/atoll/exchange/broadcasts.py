"""Broadcasts: regions that all ranks of a line read, and the trees that carry them.

Where the map of a read leaves out a divided axis of the loop, all ranks along that axis read the same region: a row of a matrix that is
broadcast over its blocks of rows, for example. These ranks are a *line*: cells of the loop's grid that differ along such axes alone. The
owner of the region sends it to a few of them, and they pass it on. So a rank has at most as many partners as the number of ranks has
binary digits.

The line is cut in two. The first rank of the part without the region receives it, and both parts are cut again. The cuts lie between
nodes first, so that a node receives one message. A line of a few ranks on one node is not cut: the owner sends to each. A region of
several owners is collected by the first rank of the line.

All ranks of a line compute the same tree, each the part around itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..comm.nodes import Nodes
from ..layout import Layout, Region, needed
from ..layout.axes import BlockAxis
from ..layout.symbolic_layout import extent, known
from ..layout.transfer import Record
from ..ops.maps import AxisMap
from ..ops.placement import Place
from .messages import Piece
from .readers import coordinates_reading
from .schedule import Copy, Pieces, Stage
from .shares import source_key

Cell = tuple[int, ...]
Cells = tuple[Sequence[int], ...]
"""For each axis of a grid, some coordinates, ascending."""


class Member(NamedTuple):
    """A rank among others, in the role of a world."""

    rank: int
    size: int
    nodes: Nodes


class Home(NamedTuple):
    """A layout without padding, of which each element is on one rank, in the role of a :class:`Place`."""

    layout: Layout
    world: Member
    padded: bool = False
    held_once: bool = True


def broadcast_axes(
    outer: AxisMap | None, home: Place | Home | None, place: Place | Home | None
) -> Cell:
    """The divided axes of loops at ``place`` that are no part of the map under which they read an array at ``home``.

    Loops that every rank runs have one such axis, of all ranks.
    """
    if outer is None or home is None or not home.held_once:
        return ()
    if place is None:
        return (0,) * (home.world.size > 1)
    read = {axis for _, steps in outer for axis, _ in steps}
    grid = place.layout.grid if place.held_once else ()
    return tuple([k for k, count in enumerate(grid) if count > 1 and k not in read])


@dataclass(frozen=True, slots=True)
class Line:
    """The ranks that read one region."""

    layout: Any
    """The layout of their loops."""
    cells: Cells
    """Their cells. All have elements."""
    nodes: Nodes

    @property
    def first(self) -> Cell:
        """The first cell."""
        return _first(self.cells)

    @property
    def is_star(self) -> bool:
        """True if the line is not cut."""
        return _cut(self.cells, self._units()) is None

    def rank_at(self, cell: Cell) -> int:
        """The rank in a cell."""
        rank: int = self.layout.ranks_at(cell)[0]
        return rank

    def neighbours(self, cell: Cell | None, root: Cell) -> tuple[int, list[int]]:
        """The rank that sends the region to the rank in a cell (the root has itself), and the ranks to which that one sends it."""
        cells, sender, units = self.cells, root, self._units()
        children: list[int] = []
        while cut := _cut(cells, units):
            axis, at = cut
            near, far = [
                (*cells[:axis], part, *cells[axis + 1 :])
                for part in (cells[axis][:at], cells[axis][at:])
            ]
            if not has_cell(near, root):
                near, far = far, near
            if has_cell(far, cell):
                cells, sender, root = far, root, _first(far)
                continue
            if cell == root:
                children.append(self.rank_at(_first(far)))
            cells = near
        if cell == root:
            children += [self.rank_at(other) for other in product(*cells) if other != root]
        elif has_cell(cells, cell):
            sender = root
        return self.rank_at(sender), children

    def _units(self) -> list[Cell]:
        """Lengths along each axis: boxes of cells of these lengths are cut last, or not at all."""
        nodes, lengths = self.nodes, [len(part) for part in self.cells]
        units = [self._on_a_node()] if nodes.several and nodes.are_shared else []
        return units if prod(lengths) <= policy.limits.few_ranks else [*units, (1,) * len(lengths)]

    def _on_a_node(self) -> Cell:
        """The number of successive cells on a node, along each axis."""
        start, grid = _first(self.cells), self.layout.grid
        start = tuple([c if len(part) == 1 else 0 for c, part in zip(start, self.cells)])
        node = self.nodes.of(self.rank_at(start))
        units = []
        for axis, (part, count) in enumerate(zip(self.cells, grid, strict=True)):
            along = range(1, count if len(part) > 1 else 1)
            ranks = (self.rank_at((*start[:axis], c, *start[axis + 1 :])) for c in along)
            other = (c for c, rank in zip(along, ranks) if self.nodes.of(rank) != node)
            units.append(next(other, count))
        return tuple(units)


def has_cell(cells: Cells, cell: Cell | None) -> bool:
    """True if a cell is one of ``cells``."""
    return cell is not None and all(c in part for c, part in zip(cell, cells, strict=True))


def _first(cells: Cells) -> Cell:
    return tuple([part[0] for part in cells])


def _cut(cells: Cells, units: Sequence[Cell]) -> tuple[int, int] | None:
    """The axis along which cells are cut, and the number of coordinates before the cut; ``None`` where they stay together."""
    for unit in units:
        groups = [part[-1] // n - part[0] // n + 1 for part, n in zip(cells, unit, strict=True)]
        most = max(groups)
        if most > 1:
            axis = groups.index(most)
            part, n = cells[axis], unit[axis]
            half = 1 << (most - 1).bit_length() - 1
            return axis, bisect_left(part, (part[0] // n + half) * n)
    return None


@dataclass(slots=True, eq=False)
class Broadcast:
    """The part of this rank in the broadcast of one region."""

    home: Place | Home
    source: int
    """The register of the array."""
    dtype: np.dtype[Any]
    tag: int
    region: Region
    records: Sequence[Record]
    """The pieces of the region, with their owners."""
    line: Line
    root: int
    """The rank at the root of the tree: the only owner, or the rank that collects the region; -1 if each owner sends its piece to all
    ranks of the line."""
    parent: int
    """The rank that sends the region to this one."""
    children: Sequence[int]
    """The ranks to which this one sends it."""
    reads: bool
    """True if this rank is in the line."""
    register: int = -1
    """The register of the region, where this rank has one."""

    @property
    def is_own(self) -> bool:
        """True if this rank owns all of the region."""
        return len(self.records) == 1 and self.records[0].peer == self.home.world.rank

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents of the region."""
        return tuple(map(extent, self.region))

    def moves(self) -> tuple[Pieces, Stage]:
        """The pieces of owners that this rank receives, sends and copies; and the region, as it comes from other ranks and goes on."""
        rank, register, dtype, tag = self.home.world.rank, self.register, self.dtype, self.tag
        collected = len(self.records) > 1 and self.root >= 0
        receives: list[Piece] = []
        sends: list[Piece] = []
        copies: list[Copy] = []
        for record in self.records:
            key, shape = record.target_key, record.shape
            if record.peer == rank:
                own = source_key(self.home, rank, record)
                peers = [self.root] if collected else self.children
                sends += [
                    Piece(self.source, shape, dtype, own, peer=peer, tag=tag)
                    for peer in peers
                    if peer != rank
                ]
                if register >= 0 and (not collected or self.root == rank):
                    copies.append(Copy(self.source, own, register, key))
            elif self.root == rank or (self.root < 0 and self.reads):
                receives.append(Piece(register, shape, dtype, key, peer=record.peer, tag=tag))
        late: list[Piece] = []
        onward: list[Piece] = []
        if self.root >= 0 and register >= 0:
            shape = self.shape
            whole = Piece(register, shape, dtype, tuple([slice(0, n, 1) for n in shape]), tag=tag)
            if self.root != rank and self.parent == self.root and not collected:
                key = self.records[0].target_key  # the owner sends its elements in their order
                receives.append(whole._replace(key=key, peer=self.parent))
            elif self.root != rank:
                late.append(whole._replace(peer=self.parent))
            if self.root != rank or collected:
                onward = [whole._replace(peer=peer) for peer in self.children]
        return (receives, sends, copies), [late, onward]


def moves_of(broadcasts: Iterable[Broadcast]) -> tuple[Pieces, list[Stage]]:
    """The pieces of broadcasts, and a stage for each tree, of all broadcasts that take it. All ranks have their stages in one order."""
    pieces: Pieces = [], [], []
    stages: dict[tuple[int, Line], Stage] = {}
    for broadcast in broadcasts:
        at_once, passed = broadcast.moves()
        stage = stages.setdefault((broadcast.root, broadcast.line), [[], []])
        for all_pieces, more in zip((*pieces, *stage), (*at_once, *passed), strict=True):
            all_pieces += more  # type: ignore[operator]
    return pieces, [stage for stage in stages.values() if any(stage)]


def broadcasts_of(
    home: Place | Home,
    outer: AxisMap,
    place: Place | Home | None,
    source: int,
    dtype: np.dtype[Any],
    tag: int,
    region_of: Callable[[int], Region],
) -> list[Broadcast]:
    """The broadcasts in which this rank takes part, of regions that loops at ``place`` read under a map, its own line's first.

    ``region_of`` gives the region that a rank reads. This rank takes part for its own line, and for others whose region it owns, or
    pieces of it.
    """
    rank, axes = home.world.rank, broadcast_axes(outer, home, place)
    layout: Any = _in_a_row(home.world.size) if place is None else place.layout
    here, filled = layout.coordinates(rank), tuple([axis.filled() for axis in layout.axes])

    def line_of(cell: Cell) -> Line:
        """The line of a cell with elements."""
        cells = [filled[k] if k in axes else (c,) for k, c in enumerate(cell)]
        return Line(layout, tuple(cells), home.world.nodes)

    mine = line_of(here) if has_cell(filled, here) else None
    lines = {} if mine is None else {mine.cells: mine}
    grid = home.layout.grid
    reading = place and coordinates_reading(home.layout.region(rank), outer, layout, grid)
    if reading and all(filled):
        choices = [
            filled[k][:1] if k in axes else filled[k] if some is None else sorted(some)
            for k, some in enumerate(reading)
        ]
        for cell in product(*choices):
            if has_cell(filled, cell):
                line = line_of(cell)
                lines.setdefault(line.cells, line)
    taken = []
    for line in lines.values():
        region = region_of(line.rank_at(line.first))
        if not home.layout.is_block:
            region = tuple(map(known, region))
        records = needed(home.layout, region, rank)
        if records and (line is mine or rank in [record.peer for record in records]):
            tree, reads = _tree(line, records, rank, here), line is mine
            taken.append(Broadcast(home, source, dtype, tag, region, records, line, *tree, reads))
    return taken


def _tree(
    line: Line, records: Sequence[Record], rank: int, here: Cell | None
) -> tuple[int, int, Sequence[int]]:
    """The root of the tree of a line, and the parent and the children of this rank."""
    owner, first = records[0].peer, line.rank_at(line.first)
    if len(records) == 1:
        root = line.layout.coordinates(owner)
        if has_cell(line.cells, root):
            return owner, *line.neighbours(here, root)
        if rank == owner:
            return owner, owner, [first]
        parent, children = line.neighbours(here, line.first)
        return owner, owner if rank == first else parent, children
    if line.is_star:
        _, others = line.neighbours(line.first, line.first)
        return -1, -1, [peer for peer in (first, *others) if peer != rank]
    return first, *line.neighbours(here, line.first)


def _in_a_row(size: int) -> Layout:
    """The layout of a number of each rank."""
    return Layout.in_order((BlockAxis.even(size, size),), size)
