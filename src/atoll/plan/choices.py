"""What planning begins with: a trace, and which of its nodes are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..graph.node import Node
from .reasons import Chosen


@dataclass(slots=True)
class Trace:
    """The pending nodes behind what is wanted, and what is known of their surroundings."""

    order: list[Node]
    roots: list[Node]
    alive: frozenset[int]
    """ids of pending nodes and of sources that something outside this trace refers to."""
    supported: Callable[[Node], bool]
    numpy_below: int
    scalar_of: dict[tuple[int, int], int]
    """Number of the run-time scalar that is an argument: by id of the node and place."""
    regions: dict[int, Any] = field(default_factory=dict)
    """Where the regions of assignments lie, by id of the node, as far as that is known already."""
    debug: bool = False
    """True if what passes make is checked."""
    placed: bool = False
    """True if something lies on ranks, be they one."""
    together: bool = False
    """True if ranks compute it together. Then which loops there are, and so which messages, must
    not depend on what is alive: garbage is collected at different times on different ranks."""


@dataclass(slots=True)
class Choice:
    """Which nodes of a trace are stored, and which of them NumPy computes; each with the first reason."""

    trace: Trace
    stored: Chosen
    by_numpy: Chosen

    def store(self, reason: str, *nodes: Any) -> None:
        """Store those that are nodes, and not in memory already."""
        for node in nodes:
            if type(node) is Node and node.value is None:
                self.stored.setdefault(id(node), reason)
