"""Programs of parts: functions from arrays by name to arrays by name, computed by fused kernels.

A part is cut into *stages* only where NumPy executes a function on whole arrays, and in very long parts; each stage is
one program of the engine. Programs are cached by structure, so equal parts, of this partition or another, share their
kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import policy
from ..backend.flags import report
from ..context import statistics
from ..context.caches import Memo
from ..execute.parts import State
from ..execute.program import Program as EngineProgram
from ..graph.node import Node, Value, in_order
from ..graph.op import SOURCE
from ..lazy import unplanned
from ..lazy.deferred import Call
from ..lazy.evaluate import bound_program
from .nodes import Data, Input, Receive
from .partition import origin_of
from .records import DistributedGraphPart, DistributedGraphPartition

Array = np.ndarray[Any, Any]
Program = Callable[..., Mapping[str, Any]]
_NOTHING = np.empty(0)


class Bound:
    """The values of some nodes as a function of arrays that are passed at each call.

    ``inputs`` are leaves without values. The program is that of the trace between them and the roots; no node takes its
    value, so the same trace can be computed repeatedly. The arguments are never written to. The strides of an array are
    part of the program's key.
    """

    __slots__ = ("inputs", "programs", "roots")

    def __init__(self, roots: Sequence[Node], inputs: Sequence[Node]) -> None:
        self.roots = list(dict.fromkeys(roots))
        self.inputs = list(inputs)
        self.programs: Memo[Any, tuple[EngineProgram, list[Any], list[int], list[Any]]] = Memo()

    def run(self, given: Sequence[Value]) -> list[Value]:
        """The value of each root."""
        form = tuple([value.array.strides for value in given])
        fitted = self.programs.get(form)
        if fitted is None:
            fitted = statistics.attempted(self._make, given)
            if fitted is None:
                return self._unplanned(given)
            self.programs[form] = fitted
        program, sources, places, scalars = fitted
        values: list[Value | None] = [
            given[source] if type(source) is int else source for source in sources
        ]
        results, flags = program.run(State(values, scalars))
        for bits, step in flags:
            report(bits, step)
        return [results[place] for place in places]

    def _unplanned(self, given: Sequence[Value]) -> list[Value]:
        """The value of each root, operation by operation, where there is no program."""
        roots, _ = self._over(given)
        return unplanned.values(roots, *unplanned.in_order(roots))

    def _over(self, given: Sequence[Value]) -> tuple[list[Node], dict[Node, int]]:
        """The roots of the same trace over these values, and the numbers of its inputs."""
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
        """The program for inputs with these strides, and the sources of its leaves."""
        roots, number = self._over(given)
        program, trace = bound_program(roots)
        sources = [number.get(leaf, leaf.value) for leaf in trace.leaves]
        position = {trace.order[kept]: place for place, kept in enumerate(program.kept)}
        return program, sources, [position[root] for root in roots], trace.scalars


class _Stage:
    __slots__ = ("bound", "calls", "results", "sources")

    def __init__(
        self, roots: list[Node], sources: list[Node], calls: list[tuple[Call, list[Node]]]
    ) -> None:
        self.bound = Bound(roots, sources) if roots else None
        self.sources = [id(node) for node in sources]
        self.results = [id(node) for node in self.bound.roots] if self.bound else []
        self.calls = calls


class _Short:
    """A part that is one program of the engine: values go in and come out as they are."""

    __slots__ = ("bound", "checks", "outputs", "sources")

    def __init__(
        self,
        bound: Bound,
        sources: list[tuple[str, Value]],
        checks: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
        outputs: dict[str, int],
    ) -> None:
        self.bound = bound
        self.sources = [(name, *checks.get(name, ((), None)), value) for name, value in sources]
        """The name of an input, its form, and, without a name, the value itself."""
        self.outputs = outputs

    def run(self, pid: Hashable, given: Mapping[str, Value]) -> dict[str, Value]:
        """The outputs."""
        values = []
        for name, shape, dtype, value in self.sources:
            if not name:
                values.append(value)
                continue
            try:
                value = given[name]
            except KeyError:
                raise TypeError(f"part {pid!r} needs the input {name!r}") from None
            array = value.array
            if array.shape != shape or array.dtype != dtype or not array.flags.aligned:
                value = Value(checked(name, array, shape, dtype))
            values.append(value)
        results = self.bound.run(values)
        return {name: results[place] for name, place in self.outputs.items()}


class PartProgram:
    """The program of a part. Call it with the part's inputs by name; it returns its outputs."""

    def __init__(self, part: DistributedGraphPart, outputs: Mapping[str, Any]) -> None:
        self.pid = part.pid
        self.roots = {name: outputs[name]._node() for name in sorted(part.output_names)}
        self._received = {id(r._node()): name for name, r in part.name_to_recv_node.items()}
        self._by_message = {
            (r.src_rank, r.comm_tag): name for name, r in part.name_to_recv_node.items()
        }
        self._inputs: dict[str, list[Node]] = {}
        self._data: list[tuple[int, Array]] = []
        self._call_results: dict[int, list[tuple[int, int]]] = {}
        self._stages: list[_Stage] | None = None
        self.short: _Short | None = None
        """The whole part, where it is one program of the engine; known once it is prepared."""
        self._checks: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}

    def _order(self) -> list[Node]:
        """The nodes of this part that wait for values, operands first."""
        return in_order(self.roots.values(), lambda node: node.weight < 0)

    def _make(self) -> list[_Stage]:
        """Sort nodes into stages: a result of a call is one stage above what the call reads."""
        level: dict[int, int] = {}
        computed: list[Node] = []
        leaves: dict[int, Node] = {}
        results: list[Node] = []
        for node in self._order():
            origin = origin_of(node)
            level[id(node)] = deepest = max(
                (level[id(a)] for a in node.args if type(a) is Node and a.weight < 0), default=0
            )
            if origin is not None:
                self._leaf(node, origin)
                leaves[id(node)] = node
            elif node.op.is_deferred:
                level[id(node)] = deepest + 1
                leaves[id(node)] = node
                results.append(node)
            else:
                computed.append(node)
        computed.sort(key=lambda node: level[id(node)])
        stage_of: dict[int, int] = {}
        cuts: list[list[Node]] = []
        last = -1
        for node in computed:
            if level[id(node)] != last or len(cuts[-1]) >= policy.limits.kernel_operations:
                cuts.append([])
                last = level[id(node)]
            stage_of[id(node)] = len(cuts) - 1
            cuts[-1].append(node)
        return self._stages_of(cuts, stage_of, level, leaves, results)

    def _stages_of(
        self,
        cuts: list[list[Node]],
        stage_of: dict[int, int],
        level: dict[int, int],
        leaves: dict[int, Node],
        results: list[Node],
    ) -> list[_Stage]:
        wanted: list[dict[int, Node]] = [{} for _ in cuts]
        sources: list[dict[int, Node]] = [{} for _ in cuts]
        for stage, nodes in enumerate(cuts):
            for node in nodes:
                for arg in node.args:
                    if type(arg) is not Node or arg.weight >= 0:
                        continue
                    if id(arg) in leaves:
                        sources[stage][id(arg)] = arg
                    elif stage_of[id(arg)] != stage:
                        wanted[stage_of[id(arg)]][id(arg)] = arg
                        sources[stage][id(arg)] = arg
        for node in [*self.roots.values(), *[a for r in results for a in r.args]]:
            if id(node) in stage_of:
                wanted[stage_of[id(node)]][id(node)] = node
        by_level: dict[int, list[tuple[Call, list[Node]]]] = {}
        for node in results:
            call, output = node.params
            known = self._call_results.get(id(call))
            if known is None:
                known = self._call_results[id(call)] = []
                by_level.setdefault(level[id(node)], []).append((call, list(node.args)))
            known.append((output, id(node)))
        ordered: list[tuple[int, int, _Stage]] = []
        for stage, nodes in enumerate(cuts):
            fused = _Stage(list(wanted[stage].values()), list(sources[stage].values()), [])
            ordered.append((level[id(nodes[0])], 1, fused))
        for depth, calls in by_level.items():
            ordered.append((depth, 0, _Stage([], [], calls)))
        ordered.sort(key=lambda entry: entry[:2])
        return [stage for _, _, stage in ordered]

    def _leaf(self, node: Node, origin: Any) -> None:
        name: str | None
        if isinstance(origin, Data):
            self._data.append((id(node), origin.array))
            return
        if isinstance(origin, Input):
            name = origin.key
        else:
            assert isinstance(origin, Receive)
            name = self._received.get(id(node)) or self._by_message.get(
                (origin.src_rank, origin.comm_tag)
            )
            if name is None:
                raise ValueError(
                    f"part {self.pid!r} reads {origin.name}, which it does not receive"
                )
        self._inputs.setdefault(name, []).append(node)
        self._checks[name] = (node.geometry.shape, node.geometry.dtype)

    def prepare(self) -> None:
        """Sort out the stages, which is done once."""
        if self._stages is not None:
            return
        self._stages = self._make()
        if len(self._stages) == 1 and not self._stages[0].calls:
            self._prepare_short(self._stages[0])

    def _prepare_short(self, stage: _Stage) -> None:
        """Where each array comes from and goes to, if there is one program of the engine only."""
        named = {id(node): name for name, nodes in self._inputs.items() for node in nodes}
        data = dict(self._data)
        results = {key: place for place, key in enumerate(stage.results)}
        if any(id(node) not in results for node in self.roots.values()):
            return
        sources: list[tuple[str, Value]] = [
            (named.get(key, ""), Value(data.get(key, _NOTHING))) for key in stage.sources
        ]
        assert stage.bound is not None
        outputs = {name: results[id(node)] for name, node in self.roots.items()}
        self.short = _Short(stage.bound, sources, self._checks, outputs)

    def __call__(self, **inputs: Any) -> dict[str, Array]:
        self.prepare()
        if self.short is not None:
            given = {
                name: Value(np.asarray(inputs[name])) for name in self._inputs if name in inputs
            }
            outputs = self.short.run(self.pid, given)
            return {name: value.array for name, value in outputs.items()}
        values: dict[int, Array] = dict(self._data)
        for name, nodes in self._inputs.items():
            try:
                given = inputs[name]
            except KeyError:
                raise TypeError(f"part {self.pid!r} needs the input {name!r}") from None
            array = checked(name, given, *self._checks[name])
            for node in nodes:
                values[id(node)] = array
        assert self._stages is not None
        for stage in self._stages:
            for call, args in stage.calls:
                called = call.run([self._value(values, a) for a in args])
                for output, key in self._call_results[id(call)]:
                    values[key] = called[output]
            if stage.bound is not None:
                results = stage.bound.run([Value(values[key]) for key in stage.sources])
                values.update({k: v.array for k, v in zip(stage.results, results, strict=True)})
        return {name: self._value(values, node) for name, node in self.roots.items()}

    @staticmethod
    def _value(values: dict[int, Array], node: Node) -> Array:
        if node.weight < 0:
            return values[id(node)]
        assert node.value is not None
        return node.value.array


def checked(name: str, given: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An input as an array of this shape and dtype; it is copied only if kernels could not read it."""
    array = given if type(given) is np.ndarray else np.asarray(given)
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
    programs: dict[Hashable, Program] = {}
    for pid, part in partition.parts.items():
        program = PartProgram(part, partition.name_to_output)
        program.prepare()
        programs[pid] = program
    return programs
