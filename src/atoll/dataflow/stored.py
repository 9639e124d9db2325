"""Expressions as plain data, for the comparison and pickling of partitions.

A graph becomes a list of rows, operands first: the operation, the numbers of the operands, and the other arguments that
recreate the node. The numbers of geometries and loops are local to a process, so rows have their contents instead.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import fields
from hashlib import blake2b
from typing import Any

import numpy as np

from ..graph.geometry import Geometry, strided
from ..graph.node import Node, in_order, source
from ..graph.op import SOURCE
from ..lazy.deferred import Call, Hole
from ..ops.elementwise import Loop, loops_of
from .nodes import Data, DistributedRecv, DistributedSend, Input, Receive, array_over

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
        self.kept: list[Node] = []
        self.calls: dict[int, int] = {}

    def add(self, root: Node) -> int:
        """Add a node after its operands, without recursion, and return its row number."""
        number = self.number
        for node in in_order([root], lambda node: id(node) not in number):
            number[id(node)] = len(self.rows)
            self.kept.append(node)
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


def packed(partition: Any) -> Any:
    """Convert a partition to plain data."""
    rows = Rows()
    outputs = {name: rows.add(array._node()) for name, array in partition.name_to_output.items()}
    parts = {}
    for pid, part in partition.parts.items():
        received = {name: rows.add(r._node()) for name, r in part.name_to_recv_node.items()}
        sent = {
            name: [(rows.add(s.data._node()), s.dest_rank, s.comm_tag, s.tags) for s in sends]
            for name, sends in part.name_to_send_nodes.items()
        }
        parts[pid] = (
            part.pid, part.needed_pids, part.user_input_names, part.partition_input_names, part.output_names,
            received, sent,
        )  # fmt: skip
    return rows.rows, parts, outputs, tuple(partition.overall_output_names)


def unpacked(content: Any) -> Any:
    """Recreate the fields of the parts, the outputs, and the names of the overall outputs from plain data."""
    rows, parts, outputs, names = content
    nodes = nodes_again(rows)
    parts_again = {}
    for pid, (*values, received, sent) in parts.items():
        receives = {name: DistributedRecv._over(nodes[number]) for name, number in received.items()}
        sends = {
            name: tuple(
                [
                    DistributedSend(array_over(nodes[n]), dest, tag, tags=tags)
                    for n, dest, tag, tags in these
                ]
            )
            for name, these in sent.items()
        }
        parts_again[pid] = (*values, receives, sends)
    arrays = {name: array_over(nodes[number]) for name, number in outputs.items()}
    return parts_again, arrays, names
