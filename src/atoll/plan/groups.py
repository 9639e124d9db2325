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
from typing import NamedTuple

from .. import policy
from ..exchange.broadcasts import Broadcast
from ..exchange.readers import ends_of, who_reads
from ..graph.node import Node
from ..layout import Region
from ..ops.maps import AxisMap, broadcast_map, identity, operands_under, reach
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

    def broadcast(self, node: Node, outer: AxisMap | None) -> BroadcastRead | None:
        """The broadcast by which its loops read a node under a map, if any."""
        for read in self.broadcasts:
            if read.node is node and read.outer == outer:
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


Read = tuple[Node, AxisMap | None, bool]
"""A node in memory; the map under which it is read, ``None`` if all of it is read; and True if the loops read it in a part of their
domain, which an assignment has changed or left as it was."""


def readers_of(group: Group, registers: Registers, rank: int, size: int) -> set[int]:
    """The ranks, of ``size``, whose share of a group may read elements of ``rank``, other than by broadcasts."""
    place = group.place
    ranks: set[int] = set()
    for node, outer, _ in reads_elsewhere(group, registers):
        home: Place = node.place
        if group.broadcast(node, outer) is not None:
            continue
        if outer is None:
            if place is None:
                return set(range(size))
            ranks.update(place.layout.ranks)
        elif place is not None:
            ranks |= who_reads(home.layout.region(rank), outer, place.layout)
        elif _reaches(home.layout.region(rank), outer, group.domain):
            return set(range(size))
    return ranks


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
            (node, outer, in_part)
            for node, outer, in_part in reads_of(group, registers)
            if node.place is not None
            and not (node.place is place and node.geometry.shape == domain and outer == own)
        ]
    return group.reads


def reads_of(group: Group, registers: Registers) -> list[Read]:
    """All reads of a group's loops from memory, on any rank, each a node with its map."""
    reads: list[Read] = []
    stack: list[tuple[Node, AxisMap, bool]] = []
    seen: set[tuple[int, AxisMap, bool]] = set()

    def below(node: Node, outer: AxisMap, in_part: bool) -> None:
        in_part = in_part or node.op.is_update
        for arg, inner in operands_under(node, outer):
            if inner is None:
                reads.append((arg, None, in_part))
            else:
                stack.append((arg, inner, in_part))

    for statement in group.statements:
        node, own = statement.node, identity(statement.domain)
        args = [*node.args[1:]] if statement.style == "place" else [node.args[0]]
        if statement.style == "map":
            below(node, own, False)
            args = []
        if statement.only is not None:  # the mask under which alone it is computed
            args.append(statement.only.args[2])
        for arg in args:
            if type(arg) is Node:
                stack.append((arg, broadcast_map(arg, statement.domain, own), False))
        while stack:
            inner, outer, in_part = stack.pop()
            key = (id(inner), outer, in_part)
            if key in seen:
                continue
            seen.add(key)
            if id(inner) in registers.in_memory:
                reads.append((inner, outer, in_part))
            else:
                below(inner, outer, in_part)
    return reads
