"""Partitioning of a graph into parts, by each rank without communication.

Let R(u) be the set of receives that a computation u depends on. A part is a set of computations that wait for the same
set of receives W(u), and W follows a rule that needs no communication:

R(u) is in W(u), and W(u) is in R(s) for every send s that u feeds.

Besides, W(u) is in W(v) whenever u feeds v; otherwise two groups could wait for each other on one rank.

The parts of a rank form no cycle: a part P needs another part Q only where some u in Q feeds some v in P; then W(Q) is in
W(P) and differs from it, so W grows strictly along every dependency. A cycle through messages exists only if the user's
messages form one: a send waits for the union of W(u) over its part and the parts that its part needs. Its data d has W(d)
in R(s), and W of a needed part is within W(d). So it waits only for receives in R(s), which are true dependencies.

W = R obeys the rule, but creates a part for every combination of receives. Here receives that feed *the same sends and outputs* form a
class, and W(u) is the union of the classes that R(u) touches. A class lies within R(s) as soon as one of its receives
does, so the rule holds; unions grow along edges, so W does. An exchange with six neighbours is one class; computations
that depend on no receive do not wait; and receives that feed different sends are never waited for together without
need.

A small partial result, such as the sum of two of ten received arrays, is not worth a part. A result u that only later parts
read may wait with the first of its readers, for W(v), if W(v) is within W of the other readers. The rule still holds,
because u feeds only the sends that v and the other readers feed. A part is dissolved in this way if it contains no data of a
send, no output, no call of NumPy and only few elements, and if it waits for a receive: computations that wait for no
receive run while messages travel.

Four passes, none of them recursive, compute the parts: (1) the nodes in order, (2) the ends that each receive feeds, which
give the classes, (3) W, which gives the groups (see ``waits``), (4) names for values that cross between groups, and the
expressions rewritten in terms of these names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import a_type
from ..graph.node import Node, in_order
from ..lazy.deferred import Call, Mark
from ..lazy.evaluation import evaluate
from ..ops.table import DEFERRED
from .nodes import (
    Data,
    DistributedRecv,
    DistributedSend,
    Hold,
    Input,
    Receive,
    array_over,
    node_of,
    sends_of,
)
from .records import DistributedGraphPart, DistributedGraphPartition
from .waits import Waits


class Graph:
    """The nodes that outputs and sends depend on; holders and tagged values stand for the nodes whose value they have."""

    def __init__(self, outputs: Mapping[str, Node], sends: Iterable[DistributedSend]) -> None:
        self.order: list[Node] = []
        """The nodes without a value, operands first."""
        self.same: dict[int, Node] = {}
        """By the id of a holder or tagged value, the node whose value it has."""
        self.sends: list[DistributedSend] = []
        self._known_sends: set[int] = set()
        pending: dict[int, Node] = {}

        def waits(node: Node) -> bool:
            if node.weight >= 0:
                pending[id(node)] = node
                return False
            return True

        given = list(sends)
        self.keep: list[Any] = [*outputs.values(), *[node_of(send.data) for send in given]]
        for node in in_order(self.keep, waits):
            self._take(node)
        for send in given:
            self._add_send(send)
        evaluate(list(pending.values()))  # values that depend on no input are computed once, here

    def _add_send(self, send: DistributedSend) -> None:
        if id(send) not in self._known_sends:
            self._known_sends.add(id(send))
            self.sends.append(send)

    def _take(self, node: Node) -> None:
        origin = node.params[0] if node.op.is_deferred else None
        if isinstance(origin, (Hold, Mark)):
            self.same[id(node)] = self.real(node.args[0])
            self.keep.append(node)
            if isinstance(origin, Hold):
                self._add_send(origin.send)
        else:
            self.order.append(node)

    def real(self, node: Node) -> Node:
        """The node whose value a node has: itself, unless it is a holder or a tagged value."""
        return self.same.get(id(node), node)

    def operands(self, node: Node) -> Iterator[Node]:
        """The operands of a node that have no value yet."""
        for arg in node.args:
            if type(arg) is Node and arg.weight < 0:
                yield self.same.get(id(arg), arg)


def origin_of(node: Node) -> Any:
    """The origin of the value of a leaf; ``None`` for a computed node."""
    if not node.op.is_deferred or isinstance(node.params[0], Call):
        return None
    return node.params[0]


def _is_computed(node: Node) -> bool:
    """True if a part computes a node: it is not a leaf and has no value yet."""
    return node.weight < 0 and origin_of(node) is None


class _Group:
    """The contents of a part under construction."""

    __slots__ = ("inputs", "needed", "outputs", "receives", "sends", "used")

    def __init__(self) -> None:
        self.receives: dict[str, Any] = {}
        self.sends: dict[str, list[DistributedSend]] = {}
        self.outputs: dict[str, None] = {}
        self.inputs: dict[str, None] = {}
        self.used: dict[str, None] = {}
        self.needed: set[Hashable] = set()


def find_distributed_partition(
    mpi_communicator: Any, outputs: Mapping[str, Any], *, sends: Sequence[Any] = ()
) -> DistributedGraphPartition:
    """Partition a graph into the parts that compute ``outputs`` and execute ``sends`` and the sends of the graph's holders.

    No communication; ``mpi_communicator`` is the communicator of the later steps, or ``None``.
    """
    if not isinstance(outputs, Mapping):
        raise TypeError(f"outputs must be arrays by name (a dictionary), not {a_type(outputs)}")
    wanted = {name: node_of(array) for name, array in outputs.items()}
    graph = Graph(wanted, sends_of(sends))
    wanted = {name: graph.real(node) for name, node in wanted.items()}
    return _Partitioner(graph, wanted).partition()


class _Partitioner:
    def __init__(self, graph: Graph, wanted: dict[str, Node]) -> None:
        self.graph = graph
        self.wanted = wanted
        self.send_data = [graph.real(node_of(send.data)) for send in graph.sends]
        self.receives = [n for n in graph.order if isinstance(origin_of(n), Receive)]
        self.taken = set(wanted)
        self.input_nodes: dict[str, Node] = {}
        self._inputs()
        self.names: dict[int, str] = {}
        waits = Waits(
            graph.order, graph.operands, self.receives, [*self.send_data, *wanted.values()]
        )
        self.waits, self.sets = waits.of, waits.sets
        self.groups: dict[int, _Group] = {}
        self.counts = {"recv": 0, "send": 0, "part": 0}

    def _inputs(self) -> None:
        for node in self.graph.order:
            origin = origin_of(node)
            if isinstance(origin, Input):
                other = self.input_nodes.setdefault(origin.key, node)
                if (other.geometry.shape, other.geometry.dtype) != (
                    node.geometry.shape,
                    node.geometry.dtype,
                ):
                    raise ValueError(
                        f"find_distributed_partition: two placeholders are called {origin.key!r}, one of shape {other.geometry.shape} and dtype {other.geometry.dtype}, the other of shape {node.geometry.shape} and dtype {node.geometry.dtype}; give each its own name"
                    )
                self.taken.add(origin.key)

    def _name(self, kind: str) -> str:
        while True:
            name = f"_{kind}_{self.counts[kind]}"
            self.counts[kind] += 1
            if name not in self.taken:
                self.taken.add(name)
                return name

    def _add_group(self, wait: int) -> None:
        if wait not in self.groups:
            self.groups[wait] = _Group()

    def _wait(self, node: Node) -> int:
        """The number of the set of receives that a node waits for; 0 for none."""
        return self.waits.get(id(node), 0)

    def partition(self) -> DistributedGraphPartition:
        computed = [n for n in self.graph.order if origin_of(n) is None]
        for node in [*computed, *self.send_data]:
            self._add_group(self._wait(node))
        homes = self._homes_of_receives(computed)
        if not self.groups:
            self._add_group(0)
        order = sorted(self.groups, key=self.sets.count)  # stable: by appearance
        self.pids: dict[int, int] = {wait: pid for pid, wait in enumerate(order)}
        for node, wait in zip(self.receives, homes, strict=True):
            name = self.names[id(node)] = self._name("recv")
            self.groups[wait].receives[name] = DistributedRecv._over(node)
        self._name_what_is_stored(computed)
        rewritten = self._rewritten(computed, homes)
        return self._records(rewritten, order)

    def _homes_of_receives(self, computed: list[Node]) -> list[int]:
        """For each receive the W of its part: its class, or the W of the first computation that reads the class.

        The second applies to a class that is the W of no computation, which would otherwise make a part without computations.
        """
        waits, groups = self.waits, self.groups
        readers: dict[int, dict[int, None]] = {}
        alone = {id(n) for n in self.receives if waits[id(n)] not in groups}
        if alone:
            for node in computed:
                for operand in self.graph.operands(node):
                    if id(operand) in alone:
                        readers.setdefault(waits[id(operand)], {})[self._wait(node)] = None
        homes = []
        chosen: dict[int, int] = {}
        for node in self.receives:
            wait = waits[id(node)]
            home = chosen.get(wait)
            if home is None:
                home = wait
                if wait not in groups and wait in readers:
                    first = min(readers[wait], key=self.sets.count)
                    if all(self.sets.includes(other, first) for other in readers[wait]):
                        home = first
                chosen[wait] = home
                self._add_group(home)
            homes.append(home)
        return homes

    def _name_what_is_stored(self, computed: list[Node]) -> None:
        names = self.names
        for name, node in self.wanted.items():
            if _is_computed(node):
                names.setdefault(id(node), name)
        for node in self.send_data:
            if _is_computed(node) and id(node) not in names:
                names[id(node)] = self._name("send")
        crossing: dict[int, None] = {}
        for node in computed:
            wait = self._wait(node)
            for operand in self.graph.operands(node):
                crosses = origin_of(operand) is None and self._wait(operand) != wait
                if crosses and id(operand) not in names:
                    crossing[id(operand)] = None
        for key in crossing:
            names[key] = self._name("part")

    def _rewritten(self, computed: list[Node], homes: list[int]) -> dict[int, Node]:
        """Rewrite each node in terms of placeholders for receives and the outputs of other parts."""
        graph, names = self.graph, self.names
        again: dict[int, Node] = {}
        placeholders: dict[str, Node] = {}
        home_of = {id(n): home for n, home in zip(self.receives, homes, strict=True)}

        def leaf(node: Node, name: str) -> Node:
            placeholder = placeholders.get(name)
            if placeholder is None:
                placeholder = Node(DEFERRED, (), node.geometry, (Input(name), 0), "", node.site)
                placeholders[name] = placeholder
            return placeholder

        self.leaf = leaf
        for node in computed:
            wait = self._wait(node)
            group = self.groups[wait]
            args: list[Any] = []
            changed = False
            for arg in node.args:
                if type(arg) is not Node or arg.weight >= 0:
                    args.append(arg)
                    continue
                real = graph.real(arg)
                origin = origin_of(real)
                if isinstance(origin, Input):
                    new = self.input_nodes[origin.key]
                    group.inputs[origin.key] = None
                elif isinstance(origin, Data):
                    new = real
                elif isinstance(origin, Receive) or self._wait(real) != wait:
                    name = names[id(real)]
                    new = leaf(real, name)
                    group.used[name] = None
                    home = home_of.get(id(real), self._wait(real))
                    if home != wait:
                        group.needed.add(self.pids[home])
                else:
                    new = again[id(real)]
                changed = changed or new is not arg
                args.append(new)
            again[id(node)] = node.again(tuple(args)) if changed else node
        return again

    def _leaf_again(self, node: Node, group: _Group | None) -> Node:
        """The expression of an input, of data, or of a received array."""
        origin = origin_of(node)
        if isinstance(origin, Input):
            if group is not None:
                group.inputs[origin.key] = None
            return self.input_nodes[origin.key]
        if isinstance(origin, Receive):
            name = self.names[id(node)]
            if group is not None:
                group.used[name] = None
            return self.leaf(node, name)
        return node

    def _records(self, again: dict[int, Node], order: list[int]) -> DistributedGraphPartition:
        outputs: dict[str, Any] = {}
        names = self.names
        for node in self.graph.order:
            name = names.get(id(node))
            if name is not None and origin_of(node) is None:
                outputs[name] = array_over(again[id(node)])
                self.groups[self._wait(node)].outputs[name] = None
        for name, node in self.wanted.items():
            if name in outputs:
                continue
            if _is_computed(node):
                outputs[name] = outputs[names[id(node)]]
                self.groups[self._wait(node)].outputs[name] = None
            else:  # not computed: an input, data, or a received array
                outputs[name] = array_over(self._leaf_again(node, None))
        passed: dict[int, str] = {}
        for send, node in zip(self.graph.sends, self.send_data, strict=True):
            group = self.groups[self._wait(node)]
            sent = names.get(id(node)) if _is_computed(node) else passed.get(id(node))
            if sent is None:
                sent = passed[id(node)] = self._name("send")
                outputs[sent] = array_over(self._leaf_again(node, group))
                group.outputs[sent] = None
            group.sends.setdefault(sent, []).append(replace(send, data=outputs[sent]))
        parts: dict[Hashable, DistributedGraphPart] = {}
        for wait in order:
            group, pid = self.groups[wait], self.pids[wait]
            parts[pid] = DistributedGraphPart(
                pid,
                frozenset(group.needed),
                frozenset(group.inputs),
                frozenset(group.used),
                frozenset(group.outputs),
                group.receives,
                {name: tuple(sends) for name, sends in group.sends.items()},
            )
        ordered = {name: outputs[name] for name in self.wanted}
        ordered.update(outputs)
        return DistributedGraphPartition(parts, ordered, tuple(self.wanted))
