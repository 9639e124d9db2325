"""Programs of parts: functions from named arrays to named arrays, computed by fused kernels.

A part is divided into *stages* only at functions that NumPy executes on whole arrays, and if it is very long; each stage is
one program of the engine. Programs are cached by structure, so equal parts, of any partition, share their kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import policy
from ..backend.flags import report
from ..context import statistics
from ..context.caches import Memo
from ..context.call_sites import site_text
from ..execute.parts import State
from ..execute.program import Program as EngineProgram
from ..graph.node import Node, Value, in_order
from ..graph.op import SOURCE
from ..lazy import numpy_evaluation
from ..lazy.deferred import Call
from ..lazy.evaluation import bound_program
from .nodes import Data, Input, Receive
from .partition import origin_of
from .records import DistributedGraphPart, DistributedGraphPartition

Array = np.ndarray[Any, Any]
Program = Callable[..., Mapping[str, Any]]


class Bound:
    """The values of some nodes as a function of arrays that are passed at each call.

    ``inputs`` are leaves without values. The program computes the trace from them to the roots. No node stores its value, so
    the same trace can be computed repeatedly. The arguments are never written to. The strides of an array are
    part of the program's key.
    """

    __slots__ = ("inputs", "programs", "roots")

    def __init__(self, roots: Sequence[Node], inputs: Sequence[Node]) -> None:
        self.roots = list(dict.fromkeys(roots))
        self.inputs = list(inputs)
        self.programs: Memo[Any, tuple[EngineProgram, list[Any], list[int], list[Any]]] = Memo()

    def run(self, given: Sequence[Value]) -> list[Value]:
        """The value of each root."""
        for node, value in zip(self.inputs, given, strict=True):
            if value.array.dtype != node.geometry.dtype:
                _check_dtype(node, value.array.dtype)
        form = tuple([value.array.strides for value in given])
        fitted = self.programs.get(form)
        if fitted is None:
            fitted = statistics.attempted(self._make, given)
            if fitted is None:
                # without a program, NumPy evaluates operation by operation
                roots, _ = self._over(given)
                return numpy_evaluation.values(roots, *numpy_evaluation.in_order(roots))
            self.programs[form] = fitted
        program, sources, places, scalars = fitted
        values: list[Value | None] = [
            given[source] if type(source) is int else source for source in sources
        ]
        results, flags = program.run(State(values, scalars))
        for bits, step in flags:
            report(bits, step)
        return [results[place] for place in places]

    def _over(self, given: Sequence[Value]) -> tuple[list[Node], dict[Node, int]]:
        """The roots of the same trace with these values as leaves, and the number of each leaf."""
        over: dict[Node, Node] = {}
        number: dict[Node, int] = {}
        for node, value in zip(self.inputs, given, strict=True):
            known = Value(value.array, value.address, pinned=True)
            leaf = over[node] = Node(SOURCE, (), node.geometry, value=known)
            number[leaf] = len(number)
        for node in in_order(self.roots, lambda node: node.value is None and node not in over):
            over[node] = node.again(tuple([over.get(arg, arg) for arg in node.args]))
        return [over[root] for root in self.roots], number

    def _make(
        self, given: Sequence[Value]
    ) -> tuple[EngineProgram, list[Any], list[int], list[Any]]:
        """The program for inputs with these strides, the sources of its leaves, the positions of the roots, and the scalars."""
        roots, number = self._over(given)
        program, trace = bound_program(roots)
        sources = [number.get(leaf, leaf.value) for leaf in trace.leaves]
        position = {trace.order[kept]: place for place, kept in enumerate(program.kept)}
        return program, sources, [position[root] for root in roots], trace.scalars


def _check_dtype(node: Node, dtype: np.dtype[Any]) -> None:
    """Refuse a dtype that NumPy chose for these values, as ``eigvals`` does, if the operations that follow cannot take it."""
    if not np.can_cast(dtype, node.geometry.dtype, "same_kind"):
        raise ValueError(
            f"{node.params[0].name} at {site_text(node.site)} gave {dtype} for these values, and the operations that "
            f"use its result were recorded for {node.geometry.dtype}; give it operands of dtype {dtype}"
        )


class _Called:
    """A call of NumPy as a function of the values of its arguments, with some of its results."""

    __slots__ = ("call", "outputs")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.outputs: list[int] = []

    def run(self, given: Sequence[Value]) -> list[Value]:
        """The value of each result."""
        results = self.call.run([value.array for value in given])
        return [Value(results[output]) for output in self.outputs]


class PartProgram:
    """The program of a part. Call it with the part's inputs by name; it returns its outputs.

    A run collects values in one list: the constants, the inputs, and the results of each stage.
    """

    def __init__(self, part: DistributedGraphPart, outputs: Mapping[str, Any]) -> None:
        self.pid = part.pid
        self._inputs: list[tuple[str, tuple[int, ...], np.dtype[Any]]] = []
        self._known: list[Value] = []
        self._stages: list[tuple[Bound | _Called, list[int]]] = []
        """Each stage, and the positions of its operands in the list of values."""
        roots = {name: outputs[name]._node() for name in sorted(part.output_names)}
        messages = {(r.src_rank, r.comm_tag): name for name, r in part.name_to_recv_node.items()}
        received = {id(r._node()): name for name, r in part.name_to_recv_node.items()}
        leaves: dict[str, list[Node]] = {}
        place: dict[int, int] = {}
        """By the id of a node, the position of its value."""
        computed: list[Node] = []

        def known(node: Node, value: Value) -> None:
            place[id(node)] = len(self._known)
            self._known.append(value)

        # the nodes without a value, operands first
        for node in in_order(roots.values(), lambda node: node.weight < 0):
            origin = origin_of(node)
            if origin is None:
                computed.append(node)
                for arg in node.args if node.op.is_deferred else ():
                    if arg.value is not None:
                        known(arg, arg.value)
            elif isinstance(origin, Data):
                known(node, Value(origin.array))
            else:
                name = origin.key if isinstance(origin, Input) else received.get(id(node))
                if name is None and isinstance(origin, Receive):
                    name = messages.get((origin.src_rank, origin.comm_tag))
                if name is None:
                    raise ValueError(
                        f"part {self.pid!r} reads {origin.name}, which it does not receive"
                    )
                leaves.setdefault(name, []).append(node)
        for node in roots.values():
            if node.value is not None:
                known(node, node.value)
        for name, nodes in leaves.items():
            place.update((id(node), len(self._known) + len(self._inputs)) for node in nodes)
            self._inputs.append((name, nodes[0].geometry.shape, nodes[0].geometry.dtype))
        count = len(self._known) + len(self._inputs)
        for stage, operands, results in _stages(computed, list(roots.values())):
            self._stages.append((stage, [place[id(node)] for node in operands]))
            place.update((id(node), count + k) for k, node in enumerate(results))
            count += len(results)
        self._outputs = {name: place[id(node)] for name, node in roots.items()}

    def run(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The values of the outputs, from the values of the inputs."""
        values = self._known.copy()
        for name, shape, dtype in self._inputs:
            try:
                value = given[name]
            except KeyError:
                raise TypeError(f"part {self.pid!r} needs the input {name!r}") from None
            array = value.array
            if array.shape != shape or array.dtype != dtype or not array.flags.aligned:
                value = Value(checked(name, array, shape, dtype))
            values.append(value)
        for stage, operands in self._stages:
            values += stage.run([values[place] for place in operands])
        return {name: values[place] for name, place in self._outputs.items()}

    def __call__(self, **inputs: Any) -> dict[str, Array]:
        given = {name: Value(np.asarray(value)) for name, value in inputs.items()}
        return {name: value.array for name, value in self.run(given).items()}


Stage = tuple[Bound | _Called, list[Node], list[Node]]
"""A computation, its operands and its results."""


def _stages(computed: Sequence[Node], roots: Sequence[Node]) -> list[Stage]:
    """Divide the nodes of a part into stages by level: a result of a call is one level above the call's operands."""
    level: dict[int, int] = {}
    fused: list[Node] = []
    results: list[Node] = []
    for node in computed:
        own = [level.get(id(arg), 0) for arg in node.args if type(arg) is Node and arg.weight < 0]
        level[id(node)] = max(own, default=0) + node.op.is_deferred
        (results if node.op.is_deferred else fused).append(node)
    calls: dict[int, tuple[int, _Called, list[Node], list[Node]]] = {}
    for node in results:
        call, output = node.params
        if id(call) not in calls:
            calls[id(call)] = level[id(node)], _Called(call), list(node.args), []
        calls[id(call)][1].outputs.append(output)
        calls[id(call)][3].append(node)
    fused.sort(key=lambda node: level[id(node)])
    stage_of: dict[int, int] = {}
    cuts: list[list[Node]] = []
    last = -1
    for node in fused:
        if level[id(node)] != last or len(cuts[-1]) >= policy.limits.kernel_operations:
            cuts.append([])
            last = level[id(node)]
        stage_of[id(node)] = len(cuts) - 1
        cuts[-1].append(node)
    wanted: list[dict[int, Node]] = [{} for _ in cuts]
    sources: list[dict[int, Node]] = [{} for _ in cuts]
    for stage, nodes in enumerate(cuts):
        for arg in [arg for node in nodes for arg in node.args]:
            if type(arg) is Node and arg.weight < 0 and stage_of.get(id(arg)) != stage:
                sources[stage][id(arg)] = arg
                if id(arg) in stage_of:
                    wanted[stage_of[id(arg)]][id(arg)] = arg
    for node in [*roots, *[arg for result in results for arg in result.args]]:
        if id(node) in stage_of:
            wanted[stage_of[id(node)]][id(node)] = node
    ordered: list[tuple[int, int, Stage]] = [
        (depth, 0, (called, operands, own)) for depth, called, operands, own in calls.values()
    ]
    for nodes, ends, operands in zip(cuts, wanted, sources):
        bound = Bound(list(ends.values()), list(operands.values()))
        ordered.append((level[id(nodes[0])], 1, (bound, bound.inputs, bound.roots)))
    ordered.sort(key=lambda entry: entry[:2])
    return [stage for _, _, stage in ordered]


def checked(name: str, array: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Check an input and convert it to this shape and dtype; it is copied only if its dtype or alignment differs."""
    if array.shape != shape:
        raise ValueError(f"the input {name!r} has shape {array.shape}; it must have {shape}")
    if array.dtype != dtype:
        if not np.can_cast(array.dtype, dtype, "same_kind") and array.dtype.kind not in "biu":
            raise TypeError(f"the input {name!r} has dtype {array.dtype}; it must have {dtype}")
        array = array.astype(dtype)
    return array if array.flags.aligned else array.copy()


def generate_code_for_partition(partition: DistributedGraphPartition) -> dict[Hashable, Program]:
    """A program for each part: a callable from inputs to outputs, both by name.

    The engine compiles at the first call, when the strides of the inputs are known.
    """
    return {
        pid: PartProgram(part, partition.name_to_output) for pid, part in partition.parts.items()
    }
