"""The input of planning: a trace, and the choice of its stored nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..graph.node import Node
from .reasons import Reasons


@dataclass(slots=True)
class Trace:
    """The pending nodes behind the wanted values, and facts about their surroundings."""

    order: list[Node]
    roots: list[Node]
    alive: frozenset[int]
    """ids of pending nodes and of sources that something outside this trace refers to."""
    supported: Callable[[Node], bool]
    numpy_below: int
    scalar_of: dict[tuple[int, int], int]
    """Number of the run-time scalar that is an argument: by id of the node and place."""
    regions: dict[int, Any] = field(default_factory=dict)
    """The places of assigned regions, by id of the node, as far as they are known already."""
    debug: bool = False
    """True if the result of each pass is checked."""
    placed: bool = False
    """True if some value is distributed, even over a single rank."""
    together: bool = False
    """True if ranks compute the trace together. Then the loops, and so the messages, must not depend on which nodes are
    alive: garbage is collected at different times on different ranks."""


@dataclass(slots=True)
class Choice:
    """The nodes of a trace that are stored, and those that NumPy computes, each with the first reason."""

    trace: Trace
    stored: Reasons
    by_numpy: Reasons

    def store(self, reason: str, *nodes: Any) -> None:
        """Store the arguments that are nodes and not in memory already."""
        for node in nodes:
            if type(node) is Node and node.value is None:
                self.stored.setdefault(id(node), reason)
