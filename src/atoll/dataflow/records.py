"""The parts of a graph as data: their dependencies, inputs, outputs, receives and sends."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .nodes import DistributedSend
from .stored import describe, packed, unpacked


class CommunicationOpIdentifier(NamedTuple):
    """A message: its sender, its receiver, and its tag."""

    src_rank: int
    dest_rank: int
    comm_tag: Hashable


CommunicationDepGraph = Mapping[CommunicationOpIdentifier, AbstractSet[CommunicationOpIdentifier]]
"""For each message, the messages that must arrive before it can be sent."""


@dataclass(frozen=True, slots=True, eq=False)
class DistributedGraphPart:
    """A piece of the computation: its receives come before it, its sends after it.

    ``partition_input_names`` are the names of the outputs of other parts and of the received arrays that it reads;
    ``output_names`` are the names of its results for sends, other parts, and the overall outputs.
    """

    pid: Hashable
    needed_pids: frozenset[Hashable]
    user_input_names: frozenset[str]
    partition_input_names: frozenset[str]
    output_names: frozenset[str]
    name_to_recv_node: Mapping[str, Any]
    name_to_send_nodes: Mapping[str, Sequence[DistributedSend]]

    def all_input_names(self) -> frozenset[str]:
        """The names of all inputs of the part."""
        return self.user_input_names | self.partition_input_names

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DistributedGraphPart):
            return NotImplemented
        return _part_facts(self) == _part_facts(other)

    def __hash__(self) -> int:
        return hash((self.pid, self.needed_pids, self.output_names))


def _part_facts(part: DistributedGraphPart) -> tuple[Any, ...]:
    received = {
        name: (r.src_rank, r.comm_tag, r.shape, r.dtype, r.axes, r.tags)
        for name, r in part.name_to_recv_node.items()
    }
    sent = {
        name: [(s.dest_rank, s.comm_tag, s.data.shape, s.data.dtype, s.tags) for s in sends]
        for name, sends in part.name_to_send_nodes.items()
    }
    return (
        part.pid,
        part.needed_pids,
        part.user_input_names,
        part.partition_input_names,
        part.output_names,
        received,
        sent,
    )


@dataclass(frozen=True, slots=True, eq=False)
class DistributedGraphPartition:
    """All parts of this rank, and the expressions of their outputs.

    ``name_to_output`` has each expression in terms of placeholders for inputs, received arrays, and outputs of other parts, by
    name. Partitions of equal structure are equal. Partitions can be pickled.
    """

    parts: Mapping[Hashable, DistributedGraphPart]
    name_to_output: Mapping[str, Any]
    overall_output_names: Sequence[str]
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    """The results of verifying and executing the partition."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DistributedGraphPartition):
            return NotImplemented
        return (
            dict(self.parts) == dict(other.parts)
            and tuple(self.overall_output_names) == tuple(other.overall_output_names)
            and describe(self.name_to_output) == describe(other.name_to_output)
        )

    def __hash__(self) -> int:
        return hash((tuple(self.overall_output_names), frozenset(self.parts)))

    def __reduce__(self) -> Any:
        return _partition_again, (packed(self),)


def _partition_again(content: Any) -> DistributedGraphPartition:
    parts, outputs, names = unpacked(content)
    return DistributedGraphPartition(
        {pid: DistributedGraphPart(*fields) for pid, fields in parts.items()}, outputs, names
    )


def topological(
    parts: Mapping[Hashable, DistributedGraphPart],
) -> list[DistributedGraphPart] | None:
    """The parts in topological order; ``None`` if they depend on each other in a cycle."""
    order = [parts[pid] for pid in ready_order({p: part.needed_pids for p, part in parts.items()})]
    return order if len(order) == len(parts) else None


def ready_order(needs: Mapping[Any, Collection[Any]]) -> list[Any]:
    """The keys in topological order, without the keys that are part of a cycle or depend on one."""
    missing = {key: len(needed) for key, needed in needs.items()}
    users: dict[Any, list[Any]] = {}
    for key, needed in needs.items():
        for other in needed:
            users.setdefault(other, []).append(key)
    order = [key for key, count in missing.items() if not count]
    for key in order:
        for user in users.get(key, ()):
            missing[user] -= 1
            if not missing[user]:
                order.append(user)
    return order
