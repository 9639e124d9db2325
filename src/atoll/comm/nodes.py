"""Nodes: the ranks that share a host and its memory.

Ranks of one node exchange data through memory that they share, and a message saved between nodes is worth more than one
saved within a node. A launcher mostly gives each node the same number of consecutive ranks. Then a :class:`Nodes` is
two numbers, however many ranks there are; otherwise it lists the node of each rank.

``config.ranks_per_node`` pretends nodes of that many consecutive ranks. All ranks have the same :class:`Nodes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import ConfigError
from .communicator import Array


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of the ranks of a communicator, numbered by their first ranks."""

    size: int
    """The number of ranks."""
    per_node: int
    """The number of consecutive ranks on each node (the last node may have fewer); 0 if ``numbers`` lists the nodes."""
    numbers: Array | None = None
    """The node of each rank, if ``per_node`` cannot describe the nodes."""
    alike: bool = True
    """True if all ranks compute equal numbers from equal numbers."""

    @property
    def count(self) -> int:
        """The number of nodes."""
        if self.numbers is not None:
            return int(self.numbers.max()) + 1
        return -(-self.size // self.per_node)

    @cached_property
    def several(self) -> bool:
        """True if there are several nodes."""
        return self.numbers is not None or self.per_node < self.size

    @property
    def two_levels(self) -> bool:
        """True if there are several nodes, and some have several ranks."""
        return self.numbers is not None or 1 < self.per_node < self.size

    @cached_property
    def save_messages(self) -> bool:
        """True if two messages from each node to each other one are fewer than one from each rank to each on another node."""
        if not self.two_levels:
            return False
        if self.numbers is not None:
            alike = int((np.bincount(self.numbers) ** 2).sum())
        else:
            full, rest = divmod(self.size, self.per_node)
            alike = full * self.per_node**2 + rest**2
        return self.size**2 - alike > 2 * self.count * (self.count - 1)

    @property
    def are_shared(self) -> bool:
        """True if some node has several ranks."""
        return self.numbers is not None or self.per_node > 1

    @property
    def even(self) -> int:
        """The number of consecutive ranks on every node; 1 if nodes differ in it."""
        return self.per_node if self.numbers is None and self.size % self.per_node == 0 else 1

    def of(self, rank: int) -> int:
        """The node of a rank."""
        return rank // self.per_node if self.numbers is None else int(self.numbers[rank])

    def ranks(self, node: int) -> Sequence[int]:
        """The ranks of a node, ascending."""
        if self.numbers is not None:
            return tuple(np.flatnonzero(self.numbers == node).tolist())
        first = node * self.per_node
        return range(first, min(first + self.per_node, self.size))

    def same(self, first: int, second: int) -> bool:
        """True if two ranks share a node."""
        return self.of(first) == self.of(second)

    def among(self, ranks: Sequence[int]) -> Nodes:
        """The nodes of a group of these ranks, in their order."""
        chosen = np.asarray(ranks)
        marks = chosen // self.per_node if self.numbers is None else self.numbers[chosen]
        return replace(numbered(marks), alike=self.alike)


def consecutive(size: int, per_node: int) -> Nodes:
    """Nodes of ``per_node`` consecutive ranks each."""
    return Nodes(size, min(per_node, size))


def numbered(marks: Array) -> Nodes:
    """The nodes of ranks, given a mark of each; ranks of one node have equal marks."""
    _, first, node = np.unique(marks, return_index=True, return_inverse=True)
    in_order_of_first_ranks = np.argsort(np.argsort(first))
    numbers = in_order_of_first_ranks[node.reshape(-1)]
    size = len(numbers)
    per_node = int(np.count_nonzero(numbers == 0))
    if bool((numbers == np.arange(size) // per_node).all()):
        return Nodes(size, per_node)
    return Nodes(size, 0, numbers)


def agreed(marks: Array, settings: Array, arithmetic: Array) -> Nodes:
    """The nodes of all ranks, from three numbers of each: the mark of its host, its ``config.ranks_per_node`` or 0, and the
    mark of its arithmetic.
    """
    first = int(settings[0])
    other = np.flatnonzero(settings != first)
    if other.size:
        rank = int(other[0])
        raise ConfigError(
            f"config.ranks_per_node is {first or None} on rank 0 and {int(settings[rank]) or None} on rank {rank}; "
            "it must be the same on all ranks: set ATOLL_RANKS_PER_NODE for all of them, or for none"
        )
    nodes = consecutive(len(marks), first) if first else numbered(marks)
    return replace(nodes, alike=bool((arithmetic == arithmetic[0]).all()))


class Charges:
    """Charges of the ranks of a node: each other node is the charge of one of them, which talks to one rank of that node.

    So two nodes exchange one message each way, however many ranks they have, and the ranks of a node share this work.
    Both ends compute the same charges.
    """

    __slots__ = ("_here", "mates", "me", "nodes")

    def __init__(self, nodes: Nodes, rank: int) -> None:
        self.nodes = nodes
        self._here = nodes.of(rank)
        self.mates = nodes.ranks(self._here)
        """The ranks of this node."""
        self.me = self.mates.index(rank)
        """The position of this rank among ``mates``."""

    def of(self, mate: int) -> list[int]:
        """The other nodes in the charge of a rank of this node."""
        numbers = range(mate, self.nodes.count, len(self.mates))
        return [node for node in numbers if node != self._here]

    def partner(self, node: int) -> int:
        """The rank of another node in whose charge this node is."""
        ranks = self.nodes.ranks(node)
        return ranks[self._here % len(ranks)]

    def carrier(self, node: int) -> int:
        """The rank of this node that has the node ``node`` in its charge."""
        return self.mates[node % len(self.mates)]
