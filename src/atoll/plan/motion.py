"""Programs that the native evaluation binds to other numbers (``_native/guards.c``).

The steps of such a program are its own: it is bound in place, by writing the results of its plan's guard. Numbers of
launches are written into their argument blocks, memory has the geometries of the trace, and NumPy's functions, exchanges and other steps
of all ranks are made anew. Everything else that follows from the numbers must stay the same: the parts of a sum, the number of threads.
Otherwise the program does not serve the trace, and Python looks for another program.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any

from .. import policy
from ..backend.base import Told as Kind
from ..execute.exchange import OfExchange, PartOfExchange
from ..execute.parts import joined, told
from ..execute.program import ByNumpy, Program
from ..execute.sweeps import swept
from ..graph.geometry import Geometry
from ..graph.node import Node
from .plans import Plan
from .samples import Sample
from .steps import function_of
from .symbolic_steps import Binding

_MOST = 1000
"""The largest number of geometries of a trace, the capacity in ``_native/traces.c``."""

Told = tuple[Any, ...]
"""A step for the native evaluation."""
Movable = tuple[Program, Sequence[Told], tuple[Any, ...], "Together | None"]
"""A program, its steps, the encoding of its binding to other numbers, and its steps of all ranks, if ranks run it together."""


def movable(
    program: Program, sample: Sample, leaves: Sequence[Node], order: Sequence[Node]
) -> Movable | None:
    """The same program with steps of its own; ``None`` where it serves these numbers alone."""
    plan = program.plan
    if plan is None or not plan.spare or len(sample.geometries) > _MOST or not plan.is_movable:
        return None
    plan.spare -= 1
    own = plan.filled(sample, order)
    steps = own.steps
    if any(step is not like for step, like in zip_longest(swept(steps), steps)):
        return None  # kernels that go over arrays together, block by block
    own.quick = joined(steps)
    known = [told(step) for step in own.quick]
    native = sum([len(step.steps) for kind, step, *_ in known if kind == Kind.KERNELS])
    if native < len(plan.waiting.launches):
        return None  # Python runs a launch
    words = _Words(plan, own, known).all(sample)
    together = None if own.communicator is None else Together(own)
    forms = tuple([leaf.geometry.form for leaf in leaves]), tuple(plan.form[2])
    return own, known, (plan.guard.words, plan.guard.things, words, _call, *forms), together


def _call(step: ByNumpy, node: Node) -> None:
    """Let NumPy compute another node in a step."""
    step.become(function_of(node), node.geometry)


class Together:
    """What ranks do together in a program: exchanges and other steps, which are made anew for each trace."""

    def __init__(self, program: Program) -> None:
        self.program = program
        waiting = program.plan.waiting
        self._steps: dict[Any, list[Any]] = {}
        """The steps that begin or end an exchange, by its counterpart in the plan."""
        for step, planned in zip(program.steps, program.plan.program.steps, strict=True):
            if isinstance(step, OfExchange):
                self._steps.setdefault(planned.exchange, []).append(step)
        self._parts: list[tuple[int, Any]] = [
            (number, part)
            for number, part in enumerate(program.quick or ())
            if isinstance(part, PartOfExchange)
        ]
        """The parts of these steps, with their numbers."""
        number_of = {id(step): number for number, step in enumerate(program.quick or ())}
        self._together: list[tuple[int, Any, Any]] = [
            (number_of[id(program.steps[k])], program.steps[k], waiting.made[k])
            for k in waiting.together
        ]
        """Other steps, each with its number and the function that makes it."""

    def __call__(
        self,
        results: Sequence[Any],
        geometries: list[Geometry],
        places: list[Any],
        order: Sequence[Node],
    ) -> list[tuple[int, Told]] | None:
        """Make them for another trace: the parts of steps, by number; ``None`` where there are others."""
        binding = Binding(results, Sample(geometries, places), order)
        waiting = self.program.plan.waiting
        instead: dict[Any, Any] = {}
        for planned, steps in self._steps.items():
            old, new = steps[0].exchange, waiting.shared(planned, binding)
            if not new.follow(old):
                return None
            instead |= zip(old.with_stages(), new.with_stages(), strict=True)
        for _, step, make in self._together:
            new_step = make(binding)
            for name in step.__slots__:
                setattr(step, name, getattr(new_step, name))
        for steps in self._steps.values():
            for step in steps:
                step.exchange = instead[step.exchange]
        for _, part in self._parts:
            part.become(instead[part.exchange])
        return [
            *[(number, told(part)) for number, part in self._parts],
            *[(number, told(step)) for number, step, _ in self._together],
        ]


class _Words:
    """The binding of a program, encoded for ``moved`` in ``_native/guards.c``; places are those of the guard's numbers."""

    def __init__(self, plan: Plan, program: Program, known: Sequence[Any]) -> None:
        self.plan, self.program = plan, program
        self.fixed: list[tuple[int, int]] = []
        """Places, and the numbers that must stay there."""
        self.bounds: list[tuple[int, int, bool]] = []
        """Places, limits, and True where the number at the place is at least the limit."""
        self.written: list[tuple[int, int]] = []
        """Addresses, and the places of the numbers that are written there."""
        self.memories: list[tuple[int, int]] = []
        """Steps, and the geometries of their memory."""
        self.called: list[tuple[int, int]] = []
        """Steps that NumPy executes, and their nodes."""
        numbers = {id(step): number for number, step in enumerate(program.steps)}
        places, geometry_of = plan.guard.places(), dict(plan.waiting.positions)
        moved = set()
        for k, (kind, step, *_) in enumerate(known):
            number = numbers.get(id(step), -1)
            if kind == Kind.KERNELS:
                for n, launch in enumerate(step.steps):
                    self._launch(step, n, places[plan.waiting.launches[numbers[id(launch)]]])
            elif kind in (Kind.ALLOCATE, Kind.COPY) and number >= 0 and number in geometry_of:
                self.memories.append((k, geometry_of[number]))
                moved.add(number)
            elif type(step) is ByNumpy and step.number in plan.waiting.nodes:
                self.called.append((k, step.number))
                moved.add(number)
        self.staying = {geometry for step, geometry in plan.waiting.positions if step not in moved}
        """The geometries of steps that are not bound to other geometries."""

    def _launch(self, kernels: Any, n: int, places: Any) -> None:
        """Bind one of the kernels of a step."""
        (words, offsets, chunks, work), folds = places
        launch, limits = kernels.steps[n], policy.limits
        addresses, last = kernels.places(n)
        self.written += [*launch.places(words), *zip(addresses, offsets, strict=True)]
        self.written.append((last, chunks))
        if folds:
            self.fixed.append((chunks, launch.chunks))
        self.bounds.append((chunks, 2, launch.chunks >= 2))
        for limit in (limits.parallel, limits.chunk):
            self.bounds.append((work, limit, launch.work >= limit))

    def all(self, sample: Sample) -> array[int]:
        """The words of the encoding, for the trace to which the program is bound."""
        plan, constants = self.plan, self.plan.guard.constants
        launches = set(plan.waiting.launches.values())
        results = zip(plan.guard.places(), plan.results(sample), strict=True)
        # only ranks make steps anew: in one process the memory of slabs keeps its extent
        anew = () if self.program.communicator is None else plan.waiting.anew
        for k, (place, result) in enumerate(results):
            if k in anew:
                continue
            if k in launches:
                place, result = place[1], result[1]
            self.fixed += zip(_flat(place), _flat(result), strict=True)
        parts: list[Sequence[tuple[int, ...]]] = [
            [(k,) for k in plan.form[0]],
            [(k, sample.geometries[k].number) for k in sorted(self.staying)],
            [(k,) for k in plan.lead_shapes],
            [pair for pair in self.fixed if pair[0] not in constants],
            [bound for bound in self.bounds if bound[0] not in constants],
            [pair for pair in self.written if pair[1] not in constants],
            self.memories,
            self.called,
        ]
        words = array("q")
        for numbers in plan.words_of_places():
            words.extend(numbers)
        for part in parts:
            words.append(len(part))
            words.extend(chain.from_iterable(part))
        return words


def _flat(numbers: Any) -> Iterator[int]:
    """The numbers in lists, tuples and slices."""
    if type(numbers) is int:
        yield numbers
        return
    if type(numbers) is slice:
        numbers = numbers.start, numbers.stop, numbers.step
    for part in numbers:
        yield from _flat(part)
