"""Grouping of statements into shared loop nests.

Statements over one domain are *grouped* when each reads the results of the others of the group at its own index only. A statement
joins the earliest group that it can: looking back from the last one, it passes groups that store none of its operands, and
stops at the first that stores one. An assignment through a mask to all of an array begins a group that others may join, if
they read its result.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from .. import policy
from ..ops.placement import Place
from . import reasons
from .statements import Statement


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
