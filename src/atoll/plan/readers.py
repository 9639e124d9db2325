"""The nodes that the loops of a group read, with their axis maps, and the ranks that may read a rank's elements."""

from __future__ import annotations

from collections.abc import Iterator

from ..exchange.readers import ends_of, who_reads
from ..graph.node import Node
from ..layout import Region
from ..ops.maps import AxisMap, broadcast_map, identity, operands_under, reach
from ..ops.placement import Place
from .groups import Group
from .registers import Registers

Read = tuple[Node, AxisMap | None]
"""A node in memory, and the map under which it is read; ``None`` if all of it is read."""


def readers_of(group: Group, registers: Registers, rank: int, size: int) -> set[int]:
    """The ranks, of ``size``, whose share of a group may read elements of ``rank``."""
    place = group.place
    ranks: set[int] = set()
    for node, outer in reads_elsewhere(group, registers):
        home: Place = node.place
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


def reads_elsewhere(group: Group, registers: Registers) -> Iterator[Read]:
    """Reads of a group's loops that may reach other ranks' shares: all but aligned reads at their own index."""
    own = identity(group.domain)
    for node, outer in reads_of(group, registers):
        aligned = node.place is group.place and node.geometry.shape == group.domain
        if node.place is not None and not (aligned and outer == own):
            yield node, outer


def reads_of(group: Group, registers: Registers) -> list[Read]:
    """All reads of a group's loops from memory, on any rank, each a node with its map."""
    reads: list[Read] = []
    stack: list[tuple[Node, AxisMap]] = []
    seen: set[tuple[int, AxisMap]] = set()

    def below(node: Node, outer: AxisMap) -> None:
        for arg, inner in operands_under(node, outer):
            if inner is None:
                reads.append((arg, None))
            else:
                stack.append((arg, inner))

    for statement in group.statements:
        node, own = statement.node, identity(statement.domain)
        args = [*node.args[1:]] if statement.style == "place" else [node.args[0]]
        if statement.style == "map":
            below(node, own)
            args = []
        if statement.only is not None:  # the mask under which alone it is computed
            args.append(statement.only.args[2])
        for arg in args:
            if type(arg) is Node:
                stack.append((arg, broadcast_map(arg, statement.domain, own)))
        while stack:
            inner, outer = stack.pop()
            key = (id(inner), outer)
            if key in seen:
                continue
            seen.add(key)
            if id(inner) in registers.in_memory:
                reads.append((inner, outer))
            else:
                below(inner, outer)
    return reads
