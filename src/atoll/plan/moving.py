"""Plans for slices that move: ``for k in range(n): a[k+1:, k+1:] -= ...`` is planned once.

Two traces are of one *family* if they differ in the integers of their geometries alone. The first
one is planned as usual. With the second one it is known which of those integers move and
which of them move together, and the planner works once more, on geometries whose moving
integers are unknown (see ``unknown``). What comes out is a *template*: a program whose extents,
strides and offsets are calculated from the geometries of the trace that it is for, as long as
every decision of the planner would be the same. Where one would not (slices begin to overlap, or
become empty, or so short that NumPy is quicker) there is another template, and at last a plan of their own.

What does not move is part of the template, and compared: which geometries stay, which are equal,
and which integers among those that move stay or are equal.

Programs of ranks that compute together have no templates: what a rank sends follows from
layouts, with index sets in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

from ..graph.geometry import Geometry, dense
from ..graph.node import Node, Value
from ..run.parts import State, Step
from ..run.program import (
    Allocate,
    ByNumpy,
    Combine,
    Copy,
    Program,
    Release,
    Share,
)
from .launches import Launch
from .numpy_nodes import numpy_function
from .unknown import Number, Shape, Sheet, Unknown, text_of

MOST_TEMPLATES = 8
"""How many templates a family keeps."""
_PRICE = 8
_CREDIT = 16 * _PRICE
"""A template has to serve some traces to be worth its making: each one takes ``_PRICE`` from what
a family has, each trace that is served gives one back."""


class NotMovingError(Exception):
    """A program does something that no template can say."""


class Skeleton:
    """A trace without its data: what the planner needs to know besides geometries."""

    def __init__(
        self, leaves: Sequence[Node], order: Sequence[Node], roots: Sequence[Node]
    ) -> None:
        number = {id(node): k for k, node in enumerate((*leaves, *order))}
        self.pinned = [leaf.value.pinned for leaf in leaves if leaf.value is not None]
        self.holders = [node.holders for node in (*leaves, *order)]
        self.nodes = [
            (
                node.kind,
                tuple([number[id(arg)] if type(arg) is Node else None for arg in node.args]),
                tuple([None if type(part) is Geometry else part for part in node.params]),
                node.name,
                node.site,
            )
            for node in order
        ]
        self.roots = [number[id(root)] - len(leaves) for root in roots]

    def dressed(self, geometries: Sequence[Any]) -> tuple[list[Node], list[Node], list[Node]]:
        """Leaves, nodes and roots with these geometries, in the order of ``evaluate.geometries_of``."""
        nodes: list[Node] = []
        views = iter(geometries[len(self.holders) :])
        for pinned, geometry in zip(self.pinned, geometries, strict=False):
            leaf = Node("source", (), geometry)
            leaf.value = Value(None, 0, pinned=pinned)  # type: ignore[arg-type]
            leaf.weight = 0
            nodes.append(leaf)
        for (kind, args, params, name, site), geometry in zip(
            self.nodes, geometries[len(self.pinned) :], strict=False
        ):
            operands = tuple([arg if arg is None else nodes[arg] for arg in args])
            if kind in ("read", "update"):
                params = (next(views), *params[1:])
            nodes.append(Node(kind, operands, geometry, params, name, site))
        for node, holders in zip(nodes, self.holders, strict=True):
            node.holders = holders
        leaves, order = nodes[: len(self.pinned)], nodes[len(self.pinned) :]
        return leaves, order, [order[root] for root in self.roots]


PlanOf = Callable[[list[Node], list[Node], list[Node], Any], Program]
"""Plans leaves, nodes and roots, with a maker of steps for launches."""


class LooseLaunch:
    """Stands where the step of a launch will be."""

    __slots__ = ("launch", "parts")

    def __init__(self, launch: Launch, parts: list[tuple[Combine, Number]]) -> None:
        self.launch = launch
        self.parts = parts

    def run(self, state: State) -> None:
        """A template does not run, the programs that are made from it do."""
        raise AssertionError("a template cannot run")


class MovingStep(Protocol):
    """A step that runs a launch."""

    @staticmethod
    def moving(launch: Launch, parts: list[tuple[Combine, Number]], template: Template) -> Loose:
        """How the step is made when the geometries are known."""


class Family:
    """Traces that differ in the integers of their geometries alone, and their templates."""

    __slots__ = ("_credit", "_samples", "_templates")

    def __init__(self, geometries: list[Geometry]) -> None:
        self._samples = [geometries]
        self._templates: list[Template] = []
        self._credit = _CREDIT

    def bound(self, geometries: list[Geometry], order: Sequence[Node]) -> Program | None:
        """The program for these geometries, from the first template that fits."""
        templates = self._templates
        for place, template in enumerate(templates):
            program = template.bound(geometries, order)
            if program is not None:
                self._credit = min(self._credit + 1, _CREDIT)
                if place:
                    templates.insert(0, templates.pop(place))
                return program
        return None

    def extended(
        self,
        geometries: list[Geometry],
        order: Sequence[Node],
        skeleton: Skeleton,
        plan: PlanOf,
        step: type[MovingStep],
    ) -> Program | None:
        """The program for these geometries, from a new template; ``None`` where there cannot be one."""
        if self._credit < _PRICE:
            return None
        self._credit -= _PRICE
        self._samples = [*self._samples[-2:], geometries]
        try:
            template = Template(self._samples, order, skeleton, plan, step)
        except NotMovingError:
            self._credit = 0
            return None
        self._templates = [template, *self._templates[: MOST_TEMPLATES - 1]]
        return template.first


@dataclass(slots=True)
class Binding:
    """What the steps of a template are made from: one trace."""

    results: tuple[Any, ...]
    """What was calculated from its geometries."""
    geometries: list[Geometry]
    order: Sequence[Node]
    folds: dict[int, Combine] = field(default_factory=dict)
    """Steps that fold partial results, by the step of the template: kernels write into them."""


Loose = Callable[[Binding], Step]


class Template:
    """A program that waits for geometries."""

    def __init__(
        self,
        samples: list[list[Geometry]],
        order: Sequence[Node],
        skeleton: Skeleton,
        plan: PlanOf,
        step: type[MovingStep],
    ) -> None:
        self.skeleton = skeleton
        self.plan = plan
        now = samples[-1]
        self.sheet = Sheet()
        numbers = list(zip(*[[g.number for g in sample] for sample in samples], strict=True))
        leader: dict[tuple[int, ...], int] = {}
        stay: list[int] = []
        follow: list[tuple[int, int]] = []
        self.moving: list[int] = []
        for k, seen in enumerate(numbers):
            if len(set(seen)) == 1:
                stay.append(k)
            elif seen in leader:
                follow.append((k, leader[seen]))
            else:
                leader[seen] = k
                self.moving.append(k)
        self._stay = _picked(stay)
        self._stayed = self._stay([g.number for g in now])
        self._follow, self._lead = _picked([a for a, _ in follow]), _picked([b for _, b in follow])
        names, first = self._unknowns(samples)
        _, nodes, _ = twins = skeleton.dressed(self._dressed(numbers, leader, names, now))
        before = [(node.args, node.params) for node in nodes]
        self.program = plan(*twins, LooseLaunch)
        changed = [(node.args, node.params) != old for node, old in zip(nodes, before, strict=True)]
        self._results: list[str] = []
        steps = self.program.steps
        self._folds = {id(one): self._loose_fold(one) for one in steps if isinstance(one, Combine)}
        self._steps = [self._loose(one, step, changed) for one in steps]
        given = "(" + "".join(f"v{k}, " for k in range(len(names))) + ")"
        self._function = self.sheet.compiled(given, self._results, first)
        self._place = {id(one): k for k, one in enumerate(steps)}
        self.first = self.bound(now, order)

    def _unknowns(self, samples: list[list[Geometry]]) -> tuple[list[Number], str]:
        """For each integer that is given, what the planner sees; and what would be against that."""
        given = [self._given(sample) for sample in samples]
        names: list[Number] = []
        first: list[str] = []
        leader: dict[tuple[int, ...], Unknown] = {}
        for k, seen in enumerate(zip(*given, strict=True)):
            if len(set(seen)) == 1:
                names.append(seen[0])
                first.append(f"v{k} != {seen[0]}")
            elif seen in leader:
                names.append(leader[seen])
                first.append(f"v{k} != {leader[seen].name}")
            else:
                leader[seen] = self.sheet.unknown(f"v{k}", seen[-1])
                names.append(leader[seen])
        return names, " or ".join(first)

    def _given(self, geometries: Sequence[Geometry]) -> list[int]:
        found: list[int] = []
        for k in self.moving:
            found += geometries[k].integers
        return found

    def _dressed(
        self,
        numbers: list[tuple[int, ...]],
        leader: dict[tuple[int, ...], int],
        names: list[Number],
        now: list[Geometry],
    ) -> list[Any]:
        """For each geometry what the planner sees: those that move have unknown integers."""
        made: dict[int, Any] = {}
        at: dict[int, int] = {}
        start = 0
        for k in self.moving:
            at[k] = start
            start += len(now[k].integers)
        base_of = {g.number: k for k, g in enumerate(now) if g.is_base}

        def shape(k: int) -> Any:
            k = leader.get(numbers[k], k)
            if k not in at:
                return now[k]
            found = made.get(k)
            if found is None:
                like = now[k]
                base = None if like.is_base else shape(base_of[like.base.number])
                n, own = like.ndim, names[at[k] : at[k] + len(like.integers)]
                found = made[k] = Shape(
                    like, k, tuple(own[:n]), tuple(own[n : 2 * n]), own[2 * n], like.dtype, base
                )
            return found

        return [shape(k) for k in range(len(now))]

    def bound(self, geometries: list[Geometry], order: Sequence[Node]) -> Program | None:
        """The program for these geometries, or ``None`` where the planner has to be asked."""
        numbers = [g.number for g in geometries]
        if self._stay(numbers) != self._stayed or self._follow(numbers) != self._lead(numbers):
            return None
        given: list[int] = []
        for k in self.moving:
            given += geometries[k].integers
        try:
            results = self._function(given)
        except ZeroDivisionError:  # a stride that planning divides by has become zero
            return None
        if results is None:
            return None
        binding = Binding(results, geometries, order)
        steps = [step(binding) for step in self._steps]
        like, place = self.program, self._place
        stored = tuple([(steps[place[id(one)]], node, reg) for one, node, reg in like.stored])
        program = Program(like.leaves, like.size, steps, like.outputs, like.kept, None, stored)
        program.described = lambda make: self.described(geometries, make)
        program.sites = like.sites
        return program

    def described(self, geometries: list[Geometry], make: Any) -> Program:
        """The plan that these geometries would have alone, for people to read."""
        return self.plan(*self.skeleton.dressed(geometries), make)

    def result(self, numbers: Any) -> int:
        """The place of a number, or a list or tuple of numbers, among the results."""
        self._results.append(text_of(numbers))
        return len(self._results) - 1

    def fold(self, one: Combine, binding: Binding) -> Combine:
        """The step of a program that stands for a template's."""
        found = binding.folds.get(id(one))
        if found is None:
            found = binding.folds[id(one)] = self._folds[id(one)](binding)
        return found

    def _geometry(self, shape: Any) -> Callable[[Binding], Geometry]:
        """How the geometry is found that an unknown one stands for."""
        if type(shape) is not Shape:
            return lambda binding: shape
        position, dtype = shape.position, shape.dtype
        if position >= 0:
            return lambda binding: binding.geometries[position]
        place = self.result(shape.shape)
        return lambda binding: dense(binding.results[place], dtype)

    def _loose_fold(self, one: Combine) -> Callable[[Binding], Combine]:
        geometry, place = self._geometry(one.geometry), self.result(one.count)
        return lambda binding: one.again(binding.results[place], geometry(binding))

    def _loose(self, one: Any, step: type[MovingStep], changed: list[bool]) -> Loose:
        """How a step is made when the geometries are known."""
        if isinstance(one, (Share, Release)):
            return lambda binding: one
        if isinstance(one, Combine):
            return lambda binding: self.fold(one, binding)
        if isinstance(one, LooseLaunch):
            return step.moving(one.launch, one.parts, self)
        if isinstance(one, Allocate):
            return self._loose_allocate(one)
        if isinstance(one, Copy):
            geometry = self._geometry(one.geometry)
            return lambda binding: Copy(
                one.register, one.source, geometry(binding), one.wanted.site
            )
        if isinstance(one, ByNumpy) and one.number >= 0 and not changed[one.number]:
            return self._loose_numpy(one)
        raise NotMovingError

    def _loose_allocate(self, one: Allocate) -> Loose:
        if type(one.geometry) is Geometry:
            return lambda binding: one
        geometry, register, initial = self._geometry(one.geometry), one.register, one.initial
        return lambda binding: Allocate(register, geometry(binding), initial, one.wanted.site)

    def _loose_numpy(self, one: ByNumpy) -> Loose:
        geometry, number = self._geometry(one.geometry), one.number
        return lambda binding: ByNumpy(
            one.register,
            numpy_function(binding.order[number])[0],
            one.arguments,
            geometry(binding),
            number,
        )


def _picked(places: list[int]) -> Callable[[list[int]], Any]:
    """Picks the numbers at these places."""
    return itemgetter(*places) if places else lambda numbers: None
