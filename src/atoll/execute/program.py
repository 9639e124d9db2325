"""A program: the steps that compute the wanted values from leaves and scalars.

A program is made once for a structure and then run any number of times. It works on
*registers*: leaves come first, then every value that it computes. Each step reads and writes
registers. A register is released after the last step that needs it, so that its buffer can
serve again within the same run.

Fingerprints include scalars and small arrays, inexact ones only where ranks compute alike. With ``config.debug``, ranks compare a digest
of each scalar and replicated array before a step, which costs a collective for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import FrameType
from typing import Any

import numpy as np

from .. import backend, policy
from ..backend.base import Told
from ..comm.communicator import Communicator
from ..context import profiler, statistics, warn
from ..context.call_sites import site_text
from ..context.interrupts import outside
from ..context.threads import turn
from ..errors import DivergenceError
from ..graph.geometry import Geometry
from ..graph.node import Node, Site, Value
from ..ops.fingerprint import Outline, computed, of_backend
from ..ops.worth import Shape, price_of
from . import spans
from .parts import State, Step, joined
from .sweeps import swept


class Combine:
    """The result of a full reduction, from one partial per chunk."""

    __slots__ = (
        "count",
        "dtype",
        "few",
        "fold",
        "from_zero",
        "geometry",
        "identity",
        "partials",
        "positions",
        "register",
        "shape",
        "ufunc",
    )

    def __init__(
        self,
        register: int,
        ufunc: np.ufunc | None,
        count: int,
        dtype: np.dtype[Any],
        geometry: Geometry,
        identity: Any,
    ) -> None:
        self.register = register
        self.ufunc = ufunc
        self.fold: Callable[..., Any] | None = None if ufunc is None else ufunc.reduce
        self.count = count
        self.shape = geometry.shape
        self.dtype = geometry.dtype
        self.from_zero = ufunc is np.add and self.dtype.kind in "fc"
        """NumPy begins with zero, so a sum of -0.0 is 0.0."""
        self.partials = np.empty(count if type(count) is int else 0, dtype)
        few = self.from_zero and not self.shape and self.dtype == dtype == np.float64
        self.few = few and 1 < len(self.partials) <= policy.limits.pieces
        """True if Python adds the partials faster than NumPy."""
        self.positions: np.ndarray[Any, Any] | None = None
        self.identity = identity
        self.geometry = geometry

    def again(self, count: int, geometry: Geometry) -> Combine:
        """The same step for another number of chunks."""
        return Combine(
            self.register, self.ufunc, count, self.partials.dtype, geometry, self.identity
        )

    def addresses(self, start: int) -> list[int]:
        """The addresses at which a kernel writes its partials (and positions), from number ``start`` on."""
        addresses = []
        for array in (self.partials, self.positions):
            if array is not None:
                first: int = array.__array_interface__["data"][0]
                addresses.append(first + start * array.itemsize)
        return addresses

    def run(self, state: State) -> None:
        """Fold the partials; without any, the result is the identity."""
        count, partials, fold = self.count, self.partials, self.fold
        if self.few:
            total = 0.0
            for partial in partials.tolist():
                total += partial
            if total - total == 0.0:  # else NumPy warns of an overflow or a NaN
                state.registers[self.register] = Value(np.array(total))
                return
        result = np.empty(self.shape, self.dtype)
        if count < 2 or fold is None:
            result[...] = partials[0] if count else self.identity
        elif self.shape:
            result[...] = fold(partials, dtype=partials.dtype)
        else:
            fold(partials, 0, partials.dtype, result)
        if self.from_zero:
            result += self.identity
        state.registers[self.register] = Value(result)

    def told(self) -> tuple[Any, ...] | None:
        """The step for the native evaluation: sums of few numbers, and results of a single chunk."""
        only = self.count == 1 and not (self.shape or self.from_zero) and self.positions is None
        if only and self.dtype == self.partials.dtype:
            return Told.ADD, self, (self.register,), self.dtype, None, self.addresses(0)[0], 0, 1
        double = self.dtype == self.partials.dtype == np.float64
        usual = self.from_zero and not self.shape and self.identity == 0.0
        if not (usual and double and 0 < self.count <= policy.limits.pieces):
            return None
        return Told.ADD, self, (self.register,), None, None, self.addresses(0)[0], 0, self.count


class CombinePositions(Combine):
    """The position of the extreme element, from each chunk's extreme and its position."""

    __slots__ = ("name", "pick")

    def __init__(
        self, register: int, pick: str, count: int, dtype: np.dtype[Any], geometry: Geometry
    ) -> None:
        super().__init__(register, None, count, dtype, geometry, 0)
        self.positions = np.empty(len(self.partials), np.int64)
        self.name = pick
        self.pick: Callable[[Any], Any] = getattr(np, pick)

    def again(self, count: int, geometry: Geometry) -> Combine:
        """The same step for another number of chunks."""
        return CombinePositions(self.register, self.name, count, self.partials.dtype, geometry)

    def run(self, state: State) -> None:
        """Choose; the extreme itself is kept for :class:`.exchange.Position`."""
        positions = self.positions
        assert positions is not None
        result = np.full(self.shape, -1, self.dtype)
        if self.count:
            order = np.argsort(positions, kind="stable")
            best = order[self.pick(self.partials[order])]
            result[...] = positions[best]
            state.extremes[self.register] = self.partials[best]
        else:
            state.extremes[self.register] = self.partials.dtype.type(0)
        state.registers[self.register] = Value(result)


@dataclass(slots=True, eq=False)
class ByNumpy:
    """A node that NumPy computes, on whole arrays."""

    register: int
    function: Callable[..., Any]
    arguments: tuple[tuple[bool, int], ...]
    """For each argument: True if it is a register (else a scalar), and its number."""
    geometry: Geometry
    number: int = -1
    """The number of its node among the pending nodes; -1 for a node that the planner made."""

    def run(self, state: State) -> None:
        args = []
        for is_register, number in self.arguments:
            if is_register:
                value = state.registers[number]
                assert value is not None
                args.append(value.array)
            else:
                args.append(state.scalars[number])
        if type(self.function) is np.ufunc and not self.geometry.shape:
            scalar = np.empty((), self.geometry.dtype)
            self.function(*args, out=scalar)
            state.registers[self.register] = Value(scalar)
            return
        outputs = self.function(*args)
        if type(outputs) is Value:
            state.registers[self.register] = outputs
            return
        result = np.asarray(outputs)
        geometry = self.geometry
        owned = (
            result.base is None
            and result.strides == geometry.strides
            and result.dtype == geometry.dtype
        )
        if owned and result.flags.writeable:
            state.registers[self.register] = Value(result)
            return
        value = backend.current().allocate(geometry)
        np.copyto(value.array, result, casting="unsafe")
        state.registers[self.register] = value

    def become(self, function: Callable[..., Any], geometry: Geometry) -> None:
        """Compute another node of the same kind from now on."""
        self.function, self.geometry = function, geometry

    def told(self) -> tuple[Any, ...]:
        """The step for the native evaluation, with the number of its node."""
        return Told.PYTHON, self, (self.number,) if self.number >= 0 else ()


def _running(frame: FrameType) -> Site | None:
    """The line that recorded the NumPy step in a frame, where the native evaluation runs it."""
    return frame.f_locals["state"].site if frame.f_code is ByNumpy.run.__code__ else None


warn.register_sites(_running)


def computed_words(
    nodes: Sequence[tuple[str, Any, Any]],
    asked: Site | None,
    numbers: Sequence[Any],
    sites: Sequence[Site | None],
) -> str:
    """The operations of a program as text, for the error of ranks that have diverged; ``sites`` are the lines of ``numbers``."""
    last = nodes[-_LAST:]
    words = [
        " ".join([f"{name} {result.shape} {result.dtype}", *map(_elements, views)])
        for name, result, views in last
    ]
    where = f", recorded at {site_text(asked)}" if asked else ""
    compared = f" of {', '.join(map(_number, numbers, sites))}" if numbers else ""
    return "; ".join(["..."] * (len(last) < len(nodes)) + words) + compared + where


def _number(number: Any, site: Site | None) -> str:
    return f"{number} ({site_text(site)})" if site else str(number)


def _elements(view: Any) -> str:
    return f"through the view {view.shape} with strides {view.strides} from byte {view.offset}"


_LAST = 4
"""The number of operations that the text names."""


@dataclass(slots=True, eq=False)
class Program:
    """The steps, and the registers that hold the wanted values."""

    leaves: int
    size: int
    steps: list[Step]
    outputs: tuple[int, ...]
    kept: tuple[int, ...]
    """For each output, the number of its node among the pending nodes of the trace."""
    description: Any
    """The description that ``atoll.explain`` shows; see ``plan.description``."""
    stored: tuple[tuple[Step, int, int], ...] = ()
    """For each stored node: the step that completes it, its number, and its register."""
    running: bool = False
    """True while it runs: its steps have memory of their own, so a finaliser that computes meanwhile needs another program."""
    quick: Sequence[Step] | None = None
    """The steps as they run: neighbours that one call can execute are joined into one step."""
    described: Callable[[Any], Program] | None = None
    """A function that plans it anew for an explanation, if it was bound to slices that have moved."""
    plan: Any = None
    """The plan of the program."""
    backend: str = ""
    """The name of the backend of its kernels, if ranks run it together."""
    sites: tuple[Site | None, ...] = ()
    """The lines that recorded the trace of the program, node by node."""
    communicator: Communicator | None = None
    """The communicator of the ranks that run it together; ``None`` if each rank computes for itself."""
    fingerprint: int = 0
    """The fingerprint, equal on all ranks that run it together by the same backend."""
    structure: int = 0
    """The fingerprint without extents. For each value of it, ranks ask each other once whether all have a plan."""
    outline: Outline | None = None
    """The outline of the trace: the leaves and scalars that ranks compare when they run it together."""
    births: Sequence[int] = ()
    """For each output, its number among the nodes that ranks compare; -1 for others."""
    computes: tuple[tuple[str, Any, Any], ...] = ()
    """The names, geometries and views of its nodes, if ranks run it together."""
    to_all: bool = False
    """True if all ranks get a value that is computed from arrays on the ranks."""
    divides: bool = False
    """True if it computes a value that lies on the ranks and that nothing else in it reads."""
    prices: tuple[tuple[Shape, int, float], ...] = ()
    """The price of dividing its arrays among the ranks, by shape: see ``price_of``."""

    def shared(self, communicator: Communicator, outline: Outline, order: Sequence[Node]) -> None:
        """Note that ranks run it together, and the data that they compare."""
        self.communicator, self.outline = communicator, outline
        self.structure = outline.structure
        self.backend = backend.current().name if self.plan is None else self.plan.backend
        communicator.log.backend = self.backend
        self.compare(order)
        # independent of the stored outputs: liveness decides those, and differs by rank
        read = {id(arg) for node in order for arg in node.args}
        for node in order:
            if node.place is not None:
                self.divides = self.divides or id(node) not in read
                continue
            for arg in node.args:
                self.to_all = self.to_all or (type(arg) is Node and arg.place is not None)
        self.births = [outline.ordinals.get(k, -1) for k in self.kept]

    def compare(self, order: Sequence[Node]) -> None:
        """Note the data that ranks compare before they compute these nodes, and the prices of dividing them."""
        assert self.communicator is not None
        assert self.outline is not None
        self.computes = computed(order)
        self.fingerprint = self.outline.of(order) ^ of_backend(self.backend)
        self.prices = price_of(order, self.communicator.size)

    def settle(self, node: Node, value: Value, birth: int) -> None:
        """Give a node the value of a run; ``birth`` is its number among the nodes that ranks compare."""
        if self.communicator is None:
            node.settle(value)
        else:
            node.settle(value, hash((self.communicator.log.hash, birth)))

    def run(self, state: State) -> tuple[list[Value], list[tuple[int, Any]]]:
        """Run the steps; the wanted values, and the floating-point flags that kernels raised.

        At first ``state.registers`` has the values of the leaves. The run consumes them: it releases a leaf
        that dies after its last use.
        """
        state.registers.extend([None] * (self.size - self.leaves))
        try:
            with turn.lock:
                self.running = True
                steps = self.quick or self.joined()
                try:
                    if profiler.now.recording is None:
                        for step in steps:
                            state.step = step
                            step.run(state)
                    else:
                        spans.run(steps, state, getattr(state, "sites", {}))
                    state.done = self
                except BaseException as error:
                    if state.done is not None and self.communicator is None and outside(error):
                        self._finish(steps, state)
                    raise
        finally:
            self.running = False
            statistics.add("kernels_run", state.kernels)
            statistics.add("plans_reused", state.reused)
        registers = state.registers
        return [registers[k] for k in self.outputs], state.flags  # type: ignore[misc]

    def _finish(self, steps: Sequence[Step], state: State) -> None:
        """Complete the steps after an interrupt, because kernels may have overwritten a part of their operands."""
        place = steps.index(state.step)
        while place < len(steps):
            state.step = step = steps[place]
            try:
                if state.done is step:
                    step.flagged(state)
                else:
                    step.run(state)
                place += 1
            except BaseException as error:
                if not outside(error):
                    raise
        state.done = self

    def joined(self) -> Sequence[Step]:
        """The steps that run, joined before the first run."""
        self.quick = statistics.attempted(lambda: joined(swept(self.steps)))
        return self.quick or self.steps

    def completed(self, state: State) -> list[tuple[int, Value]]:
        """The values that a failed run has stored and that remain, each with the number of its node.

        A step may have overwritten memory of a leaf. All steps that need the old version ran
        before, so with these values the trace can be computed again.
        """
        failed = getattr(state, "step", None)
        if failed is None:
            return []
        complete = self.steps.index(getattr(failed, "steps", (failed,))[0])
        if state.done is self:
            complete = len(self.steps)
        before = set(map(id, self.steps[:complete]))
        values = []
        for step, number, register in self.stored:
            value = state.registers[register]
            if id(step) in before and value is not None:
                values.append((number, value))
        return values


def compare_replicated(
    communicator: Communicator, scalars: Sequence[Any], leaves: Sequence[Node]
) -> None:
    """Raise on all ranks if a number, or a replicated array, differs between ranks. Collective."""
    mine = [_digest(f"the number {value!r}", np.asarray(value)) for value in scalars]
    for leaf in leaves:
        if leaf.place is None and leaf.value is not None:
            where = f", made at {site_text(leaf.site)}" if leaf.site else ""
            shown = np.array2string(leaf.value.array, threshold=8, precision=17)
            words = f"{shown} in an array of shape {leaf.geometry.shape}{where}"
            mine.append(_digest(words, leaf.value.array))
    every = communicator.allgather_object(mine, "replicated values, compared by config.debug")
    for rank, theirs in enumerate(every):
        if len(theirs) != len(every[0]):
            continue  # one rank has evaluated a leaf that the other has not
        for (words, digest), (other_words, other) in zip(every[0], theirs, strict=True):
            if digest != other:
                raise DivergenceError(
                    f"ranks have diverged: a replicated value differs between them, in {communicator.log.where()}: rank 0 has {words}, rank {rank} has {other_words}. Every rank must compute replicated values alike: look for what differs by rank, such as a random seed, a clock or a file"
                )


def _digest(words: str, array: np.ndarray[Any, Any]) -> tuple[str, bytes]:
    return words, blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).digest()
