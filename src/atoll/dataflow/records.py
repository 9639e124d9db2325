"""The parts of a graph as data: their dependencies, inputs, outputs, receives and sends; their comparison and pickles.

For these, a graph becomes a list of rows, operands first: the operation, the numbers of the operands, and the other arguments
that recreate the node. The numbers of geometries and loops are local to a process, so rows have their contents instead.
"""

from __future__ import annotations

import pickle
from collections.abc import Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from ..graph.geometry import Geometry, strided
from ..graph.node import Node, in_order, source
from ..graph.op import SOURCE
from ..lazy.deferred import Call, Hole
from ..ops.elementwise import Loop, loops_of
from .nodes import Data, DistributedRecv, DistributedSend, Input, Receive, array_over


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
        return unpacked, (packed(self),)


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


# Expressions as plain data


Row = tuple[Any, ...]


def _geometry(form: Geometry) -> Row:
    own = (form.shape, form.dtype, form.strides)
    if form.is_base:
        return own
    return (*own, form.offset, form.writeable, *_geometry(form.base))


def _geometry_again(row: Row) -> Geometry:
    shape, dtype, strides, *rest = row
    if not rest:
        return strided(shape, dtype, strides)
    offset, writeable, *base = rest
    form = _geometry_again(tuple(base))
    return form.at(strided(shape, dtype, strides), offset, writeable)


def _parameter(value: Any) -> Any:
    if isinstance(value, Geometry):
        return ("geometry", _geometry(value))
    if isinstance(value, Loop):
        outputs = loops_of(value.ufunc, (*value.inputs,))
        return (
            "loop",
            value.ufunc,
            value.inputs,
            [loop.name for loop in outputs].index(value.name),
        )
    if isinstance(value, Input | Data | Receive):
        return ("origin", type(value), *[getattr(value, field.name) for field in fields(value)])
    return ("plain", value)


def _parameter_again(row: Any) -> Any:
    kind, *rest = row
    if kind == "geometry":
        return _geometry_again(rest[0])
    if kind == "loop":
        return loops_of(rest[0], rest[1])[rest[2]]
    return rest[0](*rest[1:]) if kind == "origin" else rest[0]


class Rows:
    """The rows of a graph, and the row number of each node."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.number: dict[int, int] = {}
        self.nodes: list[Node] = []
        self.calls: dict[int, int] = {}

    def add(self, root: Node) -> int:
        """Add a node after its operands, without recursion, and return its row number."""
        number = self.number
        for node in in_order([root], lambda node: id(node) not in number):
            number[id(node)] = len(self.rows)
            self.nodes.append(node)
            self.rows.append(self._row(node))
        return number[id(root)]

    def _row(self, node: Node) -> Row:
        if node.value is not None:
            return (SOURCE, (), _geometry(node.geometry), (node.value.array,), "", -1)
        args = [self.number[id(a)] if type(a) is Node else (a,) for a in node.args]
        # the results of one call stay results of one call in the copy
        shared = -1
        if node.op.is_deferred and isinstance(node.params[0], Call):
            shared = self.calls.setdefault(id(node.params[0]), len(self.calls))
        params = tuple([_parameter(p) for p in node.params])
        return (node.op, tuple(args), _geometry(node.geometry), params, node.name, shared)


def nodes_again(rows: list[Row]) -> list[Node]:
    """Recreate the nodes of rows."""
    nodes: list[Node] = []
    calls: dict[int, Any] = {}
    for op, args, form, params, name, shared in rows:
        geometry = _geometry_again(form)
        if op.is_leaf:
            nodes.append(source(params[0], geometry))
            continue
        operands = tuple([nodes[a] if type(a) is int else a[0] for a in args])
        again = [_parameter_again(p) for p in params]
        if shared >= 0:
            again[0] = calls.setdefault(shared, again[0])
        nodes.append(Node(op, operands, geometry, tuple(again), name))
    return nodes


def describe(outputs: Mapping[str, Any]) -> Any:
    """A comparable value that is equal for expressions of equal structure and data."""
    rows = Rows()
    numbers = {name: rows.add(array._node()) for name, array in outputs.items()}
    return numbers, [_comparable(row) for row in rows.rows]


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return pickle.dumps(value)
        return (value.shape, value.dtype.str, blake2b(value.tobytes()).digest())
    if isinstance(value, Call):
        return ("call", value.function, _comparable(value.args), _comparable(value.options))
    if isinstance(value, (tuple, list)):
        return tuple([_comparable(v) for v in value])
    if isinstance(value, dict):
        return tuple([(k, _comparable(v)) for k, v in value.items()])
    if isinstance(value, Hole):
        return ("array", value.number)
    return value


def packed(partition: DistributedGraphPartition) -> Any:
    """Convert a partition to plain data."""
    rows = Rows()
    outputs = {name: rows.add(array._node()) for name, array in partition.name_to_output.items()}
    parts = {}
    for key, part in partition.parts.items():
        receives = {name: rows.add(r._node()) for name, r in part.name_to_recv_node.items()}
        sends = {
            name: [(rows.add(s.data._node()), s.dest_rank, s.comm_tag, s.tags) for s in sends]
            for name, sends in part.name_to_send_nodes.items()
        }
        parts[key] = (
            part.pid, part.needed_pids, part.user_input_names, part.partition_input_names, part.output_names,
            receives, sends,
        )  # fmt: skip
    return rows.rows, parts, outputs, tuple(partition.overall_output_names)


def unpacked(content: Any) -> DistributedGraphPartition:
    """Recreate a partition from plain data."""
    rows, parts, outputs, names = content
    nodes = nodes_again(rows)

    def send(number: int, dest: int, tag: Hashable, tags: frozenset[Any]) -> DistributedSend:
        return DistributedSend(array_over(nodes[number]), dest, tag, tags=tags)

    recreated: dict[Hashable, DistributedGraphPart] = {}
    for key, (*values, receives, sends) in parts.items():
        arrivals = {name: DistributedRecv._over(nodes[number]) for name, number in receives.items()}
        departures = {name: tuple([send(*row) for row in some]) for name, some in sends.items()}
        recreated[key] = DistributedGraphPart(*[*values, arrivals, departures])
    arrays = {name: array_over(nodes[number]) for name, number in outputs.items()}
    return DistributedGraphPartition(recreated, arrays, names)
