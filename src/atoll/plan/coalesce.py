"""Coalesces ghost regions, and the exchanges of several groups, into one message for each neighbour.

Boxes request ghost regions one by one, and the requests of a box that is cut again are void. Ghost regions that no body reads
are dropped; then ghost regions of one node are joined as long as the box around two of them holds no more elements than both
together: a row that was requested in three pieces, corners and middle, becomes one row again.

The groups of a program run one after the other, and each may need ghost regions. Where the ghost regions of a later group
contain nothing that the groups in between store, the messages of an earlier group can fill them as well. A joined exchange
begins and ends where the exchange of the first group does: it ends before the boxes of that group that read ghost regions, or
else after its last box. So no element is overwritten while it is sent: the sources of a later group keep their values until
then, and no group writes those of the first group before the exchange has ended. Ghost regions that hold about as much as a
rank's share (of a transposed array, say) are not filled earlier than they are needed.

These decisions follow from boxes, from the reads of the groups' loops and their maps, and from layouts, never from a rank's own
share. So all ranks join the same regions and the same exchanges, including ranks with nothing to send or receive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from ..exchange.broadcasts import Broadcast
from ..exchange.ghosts import GhostRegion
from ..exchange.shares import Box
from ..execute.parts import State
from ..layout.symbolic_layout import interval
from .body import Body, Needs
from .groups import Group, reads_elsewhere
from .registers import Registers
from .shapes import dense_shape


def coalesce_ghosts(bodies: Sequence[Body], needs: Needs) -> None:
    """Drop ghost regions that no body reads, and join others; the bodies read the joined ones."""
    if not needs.ghosts:
        return
    read = {memory.register for body in bodies for memory in body.memories}
    ghosts = [ghost for ghost in needs.ghosts if ghost.register in read]
    kept = [ghost for ghost in ghosts if not ghost.boxed]
    joined: dict[int, GhostRegion] = {}
    by_source: dict[int, list[GhostRegion]] = {}
    for ghost in ghosts:
        if ghost.boxed:
            by_source.setdefault(ghost.source, []).append(ghost)
    geometries = needs.registers.geometry
    for together in by_source.values():
        for box, members in _joined(together):
            first = members[0]
            if len(members) > 1:
                first.region = tuple([interval(low, high) for low, high in box])  # type: ignore[misc]
                geometries[first.register] = dense_shape(first.shape, first.dtype)
                joined.update((member.register, first) for member in members)
            kept.append(first)
    for body in bodies if joined else ():
        for k, memory in enumerate(body.memories):
            part = joined.get(memory.register)
            if part is not None and memory.outer is not None:
                corner = [low for low, _ in part.box]
                lies = geometries[part.register].strides
                offset, strides = body.strided(lies, memory.outer, corner)
                body.memories[k] = memory._replace(
                    register=part.register, offset=offset, strides=strides
                )
    order = {ghost.register: k for k, ghost in enumerate(ghosts)}
    needs.ghosts[:] = sorted(kept, key=lambda ghost: order[ghost.register])


def _joined(ghosts: list[GhostRegion]) -> list[tuple[Box, list[GhostRegion]]]:
    """Boxes around ghost regions of one node, each with the ghost regions in it."""
    boxes: list[tuple[Box, list[GhostRegion]]] = []
    for ghost in ghosts:
        box, members = ghost.box, [ghost]
        again = True
        while again:
            again = False
            for k, (other, inside) in enumerate(boxes):
                around = tuple(
                    [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(box, other, strict=True)]
                )
                if _volume(around) <= _volume(box) + _volume(other):
                    box, members = around, inside + members
                    del boxes[k]
                    again = True
                    break
        boxes.append((box, members))
    return boxes


def _volume(box: Box) -> int:
    return prod([high - low for low, high in box])


class Placeholder:
    """The position of a step of an exchange, until all groups that join it are known."""

    __slots__ = ()

    def run(self, state: State) -> None:
        """No program has such a step."""
        raise AssertionError("an exchange that was never made")


@dataclass(slots=True, eq=False)
class OpenExchange(Placeholder):
    """An exchange that other groups may join; it stands where it begins."""

    group: int
    """The number of the group before which it begins."""
    end: Placeholder = field(default_factory=Placeholder)
    ghosts: list[dict[int, Sequence[GhostRegion]]] = field(default_factory=list)
    """For each participating group, the ghost regions of this rank and of the ranks that may read its elements."""
    broadcasts: list[Broadcast] = field(default_factory=list)

    def ghosts_of(self, rank: int) -> list[tuple[int, GhostRegion]]:
        """The ghost regions of a rank, each with its number in its group."""
        return [pair for group in self.ghosts for pair in enumerate(group.get(rank, ()))]


def read_at_shifts(group: Group, registers: Registers) -> list[int] | None:
    """The ids of the nodes of which a group may read another rank's elements.

    ``None`` where the group keeps an exchange of its own: where shares are no boxes, or ghost regions are as large as shares.
    """
    place = group.place
    if place is None or not place.layout.is_block:
        return None
    nodes = []
    for node, outer, _ in reads_elsewhere(group, registers):
        layout = node.place.layout
        if outer is None or not layout.is_block or layout.grid != place.layout.grid:
            return None
        for axis, (_, steps) in enumerate(outer):
            if steps and (len(steps) > 1 or steps[0][1] != 1 or steps[0][0] != axis):
                return None
        nodes.append(id(node))
    return nodes
