"""Templates: ``for k in range(n): a[k+1:, k+1:] -= ...`` is planned once.

Two traces are of one *family* if they differ in the integers of their geometries alone. The first
one is planned as usual. With the second one it is known which of those integers move and
which of them move together, and the planner works once more, on geometries whose moving
integers are unknown (see ``symbolic``). What comes out is a *template*: a program whose extents,
strides and offsets are calculated from the geometries of the trace that it is for, as long as
every decision of the planner would be the same. Where one would not (slices begin to overlap, or
become empty, or so short that NumPy is quicker) there is another template, and at last a plan of their own.

What does not move is part of the template, and compared: which geometries stay, which are equal,
and which integers among those that move stay or are equal.

Where ranks compute together, each has templates of its own, for its own share. The places of slices move, too. They are given
like the integers, and what the planner asks of them is calculated from them: the bounds of blocks, how many indices a
rank has. Ghost regions and messages of loops over blocks are boxes between such bounds (see
``shares``), so who sends what to whom is checked and calculated like everything else; a rank whose share becomes
empty, or that gets another neighbour, has another template then. Exchanges of loops over other shares are made anew from
the places (see ``template_steps``). Since a template says exactly what the planner would
say, it does not matter which rank finds one and which has to plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from .. import policy
from ..context.interrupts import passed_on
from ..exchange.shares import SymbolicPlace
from ..execute.program import Program
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..layout.symbolic import Given, Number, Sheet, Unknown
from ..layout.symbolic_layout import NoTemplateError
from ..ops.fingerprint import outlined
from .flattened import whole_folds
from .shapes import Shape
from .template_steps import Binding, MovingStep, SymbolicLaunch, TemplateSteps
from .template_traces import Sample, Skeleton, Twins

PlanOf = Callable[[Twins, Any], Program]
"""Plans a trace, with a maker of steps for launches."""


def _most_credit() -> int:
    """What a family may have: making a template takes ``template_price`` of it, serving a trace gives one back."""
    return 16 * policy.limits.template_price


class Family:
    """Traces that differ in the integers of their geometries and places alone, and their templates."""

    __slots__ = ("_credit", "_samples", "_templates")

    def __init__(self, sample: Sample) -> None:
        self._samples = [sample]
        self._templates: list[Template] = []
        self._credit = _most_credit()

    def bound(self, sample: Sample, order: Sequence[Node]) -> Program | None:
        """The program for a trace, from the first template that fits."""
        templates = self._templates
        for place, template in enumerate(templates):
            program = template.bound(sample, order)
            if program is not None:
                self._credit = min(self._credit + 1, _most_credit())
                if place:
                    templates.insert(0, templates.pop(place))
                return program
        return None

    def extended(
        self,
        sample: Sample,
        leaves: Sequence[Node],
        order: Sequence[Node],
        roots: Sequence[Node],
        plan: PlanOf,
        step: type[MovingStep],
    ) -> Program | None:
        """The program for a trace, from a new template; ``None`` where there cannot be one."""
        if self._credit < policy.limits.template_price:
            return None
        self._samples = [*self._samples[-2:], sample]
        alike = [other for other in self._samples if other.is_like(sample)]
        if len(alike) < 2:  # it is not to be seen yet what moves
            return None
        self._credit -= policy.limits.template_price
        skeleton = Skeleton(leaves, order, roots)
        template = None
        for tied in (False, True):
            try:
                template = Template(alike, leaves, order, skeleton, plan, step, tied)
                break
            except CoincidenceError:
                continue
            except NoTemplateError:
                self._credit = 0
                return None
        if template is None:
            return None
        self._templates = [template, *self._templates[: policy.limits.templates - 1]]
        return template.first


class CoincidenceError(Exception):
    """Things that move apart from each other are the same at this step."""


class _Moving:
    """Which of some numbered things move: those that lead, the others staying or following one of these.

    If ``tied``, things that are the same now are taken to be the same always.
    """

    def __init__(self, samples: list[list[int]], told_apart: slice, tied: bool) -> None:
        now = samples[-1]
        self._told_apart = told_apart
        self.leads: list[int] = []
        seen = list(zip(*samples, strict=True))
        staying = {values[-1] for values in seen if len(set(values)) == 1}
        stay: list[int] = []
        follow: list[tuple[int, int]] = []
        first: dict[Any, int] = {}
        for k, values in enumerate(seen):
            key = values[-1] if tied else values
            if len(set(values)) == 1 or (tied and values[-1] in staying):
                stay.append(k)
            elif key in first:
                follow.append((k, first[key]))
            else:
                first[key] = k
                self.leads.append(k)
        self.leader = {**dict(zip(self.leads, self.leads, strict=True)), **dict(follow)}
        """For each that moves, whom it follows: itself, perhaps."""
        self._stay = _picked(stay)
        self._stayed = self._stay(now)
        self._follow, self._lead = _picked([a for a, _ in follow]), _picked([b for _, b in follow])
        places = range(*told_apart.indices(len(now)))
        self._different = len({now[k] for k in places if k not in self.leader}) + len(
            {self.leader[k] for k in places if k in self.leader}
        )

    def fits(self, numbers: list[int]) -> bool:
        """Whether in another sample the same ones stay, and follow."""
        return bool(
            self._stay(numbers) == self._stayed and self._follow(numbers) == self._lead(numbers)
        )

    def differs(self, numbers: list[int]) -> bool:
        """Whether those that move are different ones, too, as the planner takes them to be."""
        return len(set(numbers[self._told_apart])) == self._different


class Template:
    """A program that waits for geometries, and for places."""

    def __init__(
        self,
        samples: list[Sample],
        leaves: Sequence[Node],
        order: Sequence[Node],
        skeleton: Skeleton,
        plan: PlanOf,
        step: type[MovingStep],
        tied: bool,
    ) -> None:
        self.skeleton = skeleton
        self.plan = plan
        now = samples[-1]
        self.sheet = Sheet()
        numbers = [sample.numbers() for sample in samples]
        homes = [sample.homes() for sample in samples]
        first_view, first_base = skeleton.views
        self._shapes = _Moving(numbers, slice(first_view, first_base), tied)
        self._homes = _Moving(homes, slice(None), tied)
        if not self._are_different(numbers[-1], homes[-1]):
            raise CoincidenceError
        self._forms = [now.form_of(now.places[k]) for k in self._homes.leads]
        names, first = self._unknowns(samples)
        twins = skeleton.dressed(self._dressed(names, now.geometries), self._housed(now))
        nodes = twins[1]
        self.program = plan(twins, SymbolicLaunch)
        planned = whole_folds(nodes, {})
        changed = [node.params != two.params for node, two in zip(nodes, planned, strict=True)]
        steps = self.program.steps
        bound = TemplateSteps(steps, step, changed)
        self._steps = bound.made
        given = [f"v{k}, " for k in range(len(names))] + [f"p{k}, " for k in self._homes.leads]
        self._function = self.sheet.compiled(f"({''.join(given)})", bound.results, first)
        self._step_at = {id(planned): k for k, planned in enumerate(steps)}
        self._outline = outlined(order, [order[root] for root in skeleton.roots], leaves)
        self.first = self.bound(now, order)

    def _are_different(self, numbers: list[int], homes: list[int]) -> bool:
        """Whether what ranks would do alike follows from the numbers that are given: the planner tells
        geometries and places apart, too. One process alone need not care."""
        return not homes or (self._shapes.differs(numbers) and self._homes.differs(homes))

    def _unknowns(self, samples: list[Sample]) -> tuple[list[Number], str]:
        """For each integer that is given, what the planner sees; and what would be against that."""
        given = [self._integers(sample) for sample in samples]
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

    def _integers(self, sample: Sample) -> list[int]:
        integers: list[int] = []
        for k in self._shapes.leads:
            integers += sample.geometries[k].integers
        return integers

    def _housed(self, now: Sample) -> list[Any]:
        """For each place what the planner sees: of those that move, what a template can ask for."""
        places: dict[int, SymbolicPlace] = {}
        for k in self._homes.leads:
            like = now.places[k]
            assert like is not None
            given = Given(self.sheet, f"p{k}", like)
            places[k] = SymbolicPlace(like, given, -1 - k, fixed=not now.scattered)
        leader = self._homes.leader
        return [places.get(leader.get(k, -1), place) for k, place in enumerate(now.places)]

    def _dressed(self, names: list[Number], now: list[Geometry]) -> list[Any]:
        """For each geometry what the planner sees: those that move have unknown integers."""
        leader = self._shapes.leader
        shapes: dict[int, Any] = {}
        at: dict[int, int] = {}
        start = 0
        for k in self._shapes.leads:
            at[k] = start
            start += len(now[k].integers)
        base_of = {g.number: k for k, g in enumerate(now) if g.is_base}

        def shape(k: int) -> Any:
            k = leader.get(k, k)
            if k not in at:
                return now[k]
            known = shapes.get(k)
            if known is None:
                like = now[k]
                base = None if like.is_base else shape(base_of[like.base.number])
                n, own = like.ndim, names[at[k] : at[k] + len(like.integers)]
                known = shapes[k] = Shape(
                    like, k, tuple(own[:n]), tuple(own[n : 2 * n]), own[2 * n], like.dtype, base
                )
            return known

        return [shape(k) for k in range(len(now))]

    def bound(self, sample: Sample, order: Sequence[Node]) -> Program | None:
        """The program for a trace, or ``None`` where the planner has to be asked."""
        numbers, homes = sample.numbers(), sample.homes()
        if not (self._shapes.fits(numbers) and self._homes.fits(homes)):
            return None
        if not self._are_different(numbers, homes):
            return None
        for k, form in zip(self._homes.leads, self._forms, strict=True):
            place = sample.places[k]
            if place is None or sample.form_of(place) != form:
                return None
        given: list[Any] = [*self._integers(sample), *[sample.places[k] for k in self._homes.leads]]
        try:
            results = self._function(given)
        except ZeroDivisionError as problem:  # a stride that planning divides by has become zero
            passed_on(problem)
            return None
        if results is None:
            return None
        binding = Binding(results, sample, order)
        steps = [step(binding) for step in self._steps]
        like, at = self.program, self._step_at
        stored = tuple([(steps[at[id(planned)]], node, reg) for planned, node, reg in like.stored])
        program = Program(like.leaves, like.size, steps, like.outputs, like.kept, None, stored)
        program.described = lambda make: self.described(sample, make)
        program.sites = like.sites
        if like.communicator is not None:
            program.shared(like.communicator, self._outline, order)
        return program

    def described(self, sample: Sample, make: Any) -> Program:
        """The plan that a trace would have alone, for people to read."""
        return self.plan(self.skeleton.dressed(sample.geometries, sample.places), make)


def _picked(places: list[int]) -> Callable[[list[int]], Any]:
    """Picks the numbers at these places."""
    return itemgetter(*places) if places else lambda numbers: None
