"""The description of a program for its explanation: names and shapes, but no data.

The planner writes it once, while the nodes still exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..exchange.ghosts import GhostRegion
from ..execute.parts import Step
from ..graph.geometry import Geometry
from ..graph.node import Operation, Site
from ..graph.words import label
from ..layout import IndexSet, Layout
from ..ops.placement import Place
from .groups import Group
from .registers import Registers


@dataclass(frozen=True, slots=True)
class RegisterNote:
    """Memory that a program handles: a leaf, a value that it computes, or a ghost region of either."""

    role: str
    """``data``, ``value`` or ``patch``."""
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    local: Geometry
    """Geometry of this rank's share in memory."""
    corner: tuple[int, ...]
    """The first global index of the share on each axis."""
    padding: int
    """Bytes before the element with that index."""
    layout: Layout | None
    seen: bool = False
    """True if something outside the program refers to it, too."""
    source: int = -1
    """For a ghost region, the register of its source."""
    region: tuple[IndexSet, ...] = ()


@dataclass(frozen=True, slots=True)
class StatementNote:
    """A value that is stored; see ``statements.Statement``."""

    register: int
    label: str
    style: str
    reason: str
    remark: str
    site: Site | None


@dataclass(frozen=True, slots=True)
class GroupNote:
    """A group, and the steps that carry it out."""

    statements: tuple[StatementNote, ...]
    domain: tuple[int, ...]
    layout: Layout | None
    apart: tuple[tuple[int, str], ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """All of a program, for ``atoll.explain``."""

    registers: tuple[RegisterNote, ...]
    groups: tuple[GroupNote, ...]
    operations: int
    """Number of pending nodes."""
    left: tuple[Operation, ...]
    """The values that are still referenced but stay pending."""
    rank: int
    ranks: int


def describe_registers(
    registers: Registers, leaves: int, alive: frozenset[int], ghosts: Mapping[int, GhostRegion]
) -> tuple[RegisterNote, ...]:
    """A note for each register."""
    notes = []
    for number, node in enumerate(registers.keep):
        lies = registers.geometry[number], registers.corner[number], registers.padding[number]
        if node is None:
            ghost, local = ghosts.get(number), lies[0]
            shown = (-1, ()) if ghost is None else (ghost.source, ghost.region)
            note = RegisterNote("patch", local.shape, local.dtype, *lies, None, False, *shown)
        else:
            role, seen = "data" if number < leaves else "value", id(node) in alive
            form = node.geometry
            note = RegisterNote(role, form.shape, form.dtype, *lies, _layout(node.place), seen)
        notes.append(note)
    return tuple(notes)


def _layout(place: Place | None) -> Layout | None:
    return None if place is None else place.layout


def describe_group(group: Group, registers: Registers, steps: list[Step]) -> GroupNote:
    """A note for a group that has become steps."""
    statements = [
        StatementNote(
            registers.of[id(s.node)], label(s.node), s.style, s.reason, s.remark, s.node.site
        )
        for s in group.statements
    ]
    apart = tuple(sorted(group.apart.items()))
    return GroupNote(tuple(statements), group.domain, _layout(group.place), apart, tuple(steps))
