"""Grouping of statements into shared loop nests.

Statements over one domain are *grouped* when each reads the results of the others of the group at its own index only. A statement
joins the earliest group that it can: looking back from the last one, it passes groups that store none of its operands, and
stops at the first that stores one. An assignment through a mask to all of an array begins a group that others may join, if
they read its result.

The reads of a group's loops from memory, each with its axis map, decide which ranks may read a rank's elements.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import policy
from ..exchange.broadcasts import Broadcast
from ..exchange.readers import ends_of, who_reads
from ..graph.node import Node
from ..layout import Region
from ..layout.symbolic_layout import interval
from ..ops.maps import AxisMap, are_equal, broadcast_map, identity, operands_under, reach
from ..ops.placement import Place
from . import reasons
from .registers import Registers
from .statements import Statement


class BroadcastRead(NamedTuple):
    """A read of a region that all ranks of a line read."""

    node: Node
    outer: AxisMap
    parts: list[Broadcast]
    """The broadcasts of it in which this rank takes part."""

    @property
    def ghost(self) -> Broadcast | None:
        """The broadcast of a region that this rank reads from a register of its own."""
        return next((part for part in self.parts if part.register >= 0), None)


MappedRead = tuple[Node, AxisMap, int]
"""An array in blocks that a loop reads, the map, and the number of the operand."""


@dataclass(slots=True, eq=False)
class Group:
    """Statements that share one loop nest."""

    domain: tuple[int, ...]
    statements: list[Statement]
    place: Place | None = None
    inside: set[int] = field(default_factory=set)
    """The nodes, by id, that its loops compute."""
    streams: set[int] = field(default_factory=set)
    """The nodes, by id, that its loops read from memory."""
    apart: dict[int, str] = field(default_factory=dict)
    """Why its first statement did not join an earlier group, by the number of that one."""
    reads: list[Read] | None = None
    """The reads that may reach other ranks' shares, once they are listed."""
    broadcasts: list[BroadcastRead] = field(default_factory=list)
    """The reads from memory that are broadcasts. The planner lists them before it lowers the group."""
    updates: list[tuple[Node, AxisMap]] | None = None
    """The first updates on the paths of its expressions, once they are listed; see :func:`.body.updates_under`."""
    patterns: dict[tuple[bool, ...], list[MappedRead]] = field(default_factory=dict)
    """The arrays in blocks that a box reads, by the parts of partly assigned arrays; the same on all ranks."""

    def broadcast(self, node: Node, outer: AxisMap | None) -> BroadcastRead | None:
        """The broadcast by which its loops read a node under a map, if any."""
        for read in self.broadcasts:
            if read.node is node and are_equal(outer, read.outer):
                return read
        return None

    def stores(self, nodes: Collection[int]) -> bool:
        """True if one of these nodes, by their ids, is stored here."""
        return any(id(statement.node) in nodes for statement in self.statements)


def make_groups(statements: list[Statement], fusion: bool) -> list[Group]:
    """Join statements into groups, each as early as its operands allow."""
    groups: list[Group] = []
    for statement in statements:
        home: Group | None = None
        apart: dict[int, str] = {}
        if statement.style in ("map", "fold"):
            for number in range(len(groups) - 1, -1, -1):
                group = groups[number]
                inside = {id(s.node) for s in group.statements}
                needs = [source for source in statement.reads if source in inside]
                why = _why_apart(statement, group, needs) if fusion else reasons.NOT_FUSED
                if why:
                    apart[number] = why
                else:
                    home = group
                if needs:
                    break
        if home is None:
            home = Group(statement.domain, [], statement.place, apart=apart)
            groups.append(home)
        home.statements.append(statement)
        home.inside |= statement.inside
        home.streams.update(statement.reads)
        home.streams -= {id(each.node) for each in home.statements}
    return groups


def _why_apart(statement: Statement, group: Group, needs: list[int]) -> str:
    """The reason that keeps a statement out of a group; empty if it may join."""
    if any(s.style not in ("map", "fold") for s in group.statements) and not (
        needs and group.statements[0].joinable
    ):
        return reasons.OTHER_STYLE
    if any(not s.joinable for s in group.statements if id(s.node) in needs):
        return reasons.UNFINISHED
    if group.domain != statement.domain:
        return reasons.OTHER_DOMAIN
    if group.place is not statement.place:
        return reasons.OTHER_LAYOUT
    if not all(statement.reads[source] for source in needs):
        return reasons.OTHER_INDICES
    limits = policy.limits
    if (
        2 * len(group.statements) >= limits.kernel_streams
        or len(group.streams.union(statement.reads).difference(needs)) > limits.kernel_streams
        or len(group.inside | statement.inside) > limits.kernel_operations
    ):
        return reasons.FULL
    return ""


Part = tuple[Any, AxisMap]
"""The box of an assignment, and the map under which loops reach it: only loop indices that the map takes into the box read the assigned
values. The box is ``None`` where it does not say which indices these are."""
Read = tuple[Node, AxisMap | None, Part | None]
"""A node in memory; the map under which it is read, ``None`` if all of it is read; and the part of the loops' domain in which they read
it, where an assignment has changed the part or left it as it was."""


def readers_of(group: Group, registers: Registers, rank: int, size: int) -> set[int]:
    """The ranks, of ``size``, whose share of a group may read elements of ``rank``, other than by broadcasts."""
    place = group.place
    ranks: set[int] = set()
    for node, outer, part in reads_elsewhere(group, registers):
        home: Place = node.place
        if group.broadcast(node, outer) is not None:
            continue
        if outer is None:
            if place is None:
                return set(range(size))
            ranks.update(place.layout.ranks)
        elif place is not None:
            share, parts = home.layout.region(rank), _box_of(part)
            ranks |= who_reads(share, outer, place.layout, *parts, grid=home.layout.grid)
        elif _reaches(home.layout.region(rank), outer, group.domain):
            return set(range(size))
    return ranks


def _box_of(part: Part | None) -> list[tuple[Region, AxisMap]]:
    """The box of an assignment as a region, with its map, if there is one."""
    if part is None or part[0] is None:
        return []
    box, outer = part
    return [(tuple([interval(low, high) for low, high, *_ in box]), outer)]  # type: ignore[misc]


def _reaches(mine: Region, outer: AxisMap, domain: tuple[int, ...]) -> bool:
    """True if a loop over the whole domain can reach ``mine``."""
    for held, (low, high) in zip(mine, reach(outer, [(0, n) for n in domain]), strict=True):
        if not held:
            return False
        begin, end = ends_of(held)
        if high <= begin or low >= end:
            return False
    return True


def reads_elsewhere(group: Group, registers: Registers) -> list[Read]:
    """Reads of a group's loops that may reach other ranks' shares: all but aligned reads at their own index. The group keeps them."""
    if group.reads is None:
        own, place, domain = identity(group.domain), group.place, group.domain
        group.reads = [
            (node, outer, part)
            for node, outer, part in reads_of(group, registers)
            if node.place is not None
            and not (
                node.place is place and node.geometry.shape == domain and are_equal(outer, own)
            )
        ]
    return group.reads


def reads_of(group: Group, registers: Registers) -> list[Read]:
    """All reads of a group's loops from memory, on any rank, each a node with its map."""
    reads: list[Read] = []
    stack: list[tuple[Node, AxisMap, Part | None]] = []
    seen: set[tuple[int, AxisMap, Part | None]] = set()

    def below(node: Node, outer: AxisMap, part: Part | None) -> None:
        inside = part
        if node.op.is_update:
            part = part or (None, outer)
            inside = (node.params[0].box, outer)
        for place, (arg, inner) in enumerate(operands_under(node, outer)):
            within = inside if place else part
            if inner is None:
                reads.append((arg, None, within))
            else:
                stack.append((arg, inner, within))

    for statement in group.statements:
        node, own = statement.node, identity(statement.domain)
        args = [*node.args[1:]] if statement.style == "place" else [node.args[0]]
        if statement.style == "map":
            below(node, own, None)
            args = []
        if statement.only is not None:  # the mask under which alone it is computed
            args.append(statement.only.args[2])
        for arg in args:
            if type(arg) is Node:
                stack.append((arg, broadcast_map(arg, statement.domain, own), None))
        while stack:
            inner, outer, part = stack.pop()
            key = (id(inner), outer, part)
            if key in seen:
                continue
            seen.add(key)
            if id(inner) in registers.in_memory:
                reads.append((inner, outer, part))
            else:
                below(inner, outer, part)
    return reads
