"""Coalesces the exchanges of several groups into one message for each neighbour.

The groups of a program run one after the other, and each may need ghost regions. Where the ghost regions of a later group
show nothing that the groups in between store, they can as well be filled together with those of an earlier group, in the same
messages. Whether they can follows from what the groups' loops read, under which maps, and from layouts, and never from
a rank's own share of them; so all ranks join the same exchanges, those with nothing to send or receive among them.

A joined exchange begins where that of the first group does, and ends there, too: before the boxes of that group
that read ghost regions, or else after its last one. So nothing that is sent is written over meanwhile: what a later group
reads is there until then, and what the first one reads is written by no group before that exchange has ended.

Ghost regions that hold about as much as a rank's share (of a transposed array, say) are not brought earlier than they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..execute.parts import State
from ..ops.maps import identity
from .body import Patch, Registers
from .groups import Group
from .readers import reads_of


class Begin:
    """Stands where an exchange begins, until all that joins it is known."""

    __slots__ = ()

    def run(self, state: State) -> None:
        """No program has such a step."""
        raise AssertionError("an exchange that was never made")


class End(Begin):
    """Stands where it is over."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Exchange:
    """An exchange that is still open to others."""

    group: int
    """The number of the group before which it begins."""
    begin: Begin = field(default_factory=Begin)
    end: End = field(default_factory=End)
    patches: list[dict[int, Sequence[Patch]]] = field(default_factory=list)
    """For each group that takes part, the ghost regions of this rank and of those that may read what it owns."""

    def patches_of(self, rank: int) -> list[tuple[int, Patch]]:
        """The ghost regions of a rank, each with its number in its group."""
        return [pair for group in self.patches for pair in enumerate(group.get(rank, ()))]


def read_elsewhere(group: Group, registers: Registers, available: set[int]) -> list[int] | None:
    """The nodes of which a group may read what another rank owns, by their ids.

    ``None`` where its exchange stays its own: where shares are no boxes, or ghost regions as large as shares.
    """
    place = group.place
    if place is None or not place.layout.is_block:
        return None
    found = []
    for node, outer in reads_of(group, registers, available):
        home = node.place
        if home is None:
            continue
        if outer is None or not home.layout.is_block or home.layout.grid != place.layout.grid:
            return None
        if (
            home is place
            and node.geometry.shape == group.domain
            and outer == identity(group.domain)
        ):
            continue
        for axis, (_, steps) in enumerate(outer):
            if len(steps) > 1 or any(step != 1 or at != axis for at, step in steps):
                return None
        found.append(id(node))
    return found
