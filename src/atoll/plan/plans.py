"""Plans that wait for numbers: ``for k in range(n): a[k+1:, k+1:] -= ...`` is planned once.

Traces of one *structure* differ in the integers of their geometries alone. The first of them is planned on integers that record the
calculations with them and the results of comparisons (see ``symbolic``). The result is a *plan*: a program whose extents, strides
and offsets are calculated from the geometries of the trace that it serves, as long as every decision of the planner would be the
same. The program of the first trace is the plan with the numbers of that trace. Where a decision would differ (slices begin to
overlap, or become empty, or so short that NumPy is quicker) another plan is made.

Equal geometries and equal extents are recorded as well.

Where ranks compute together, each has plans of its own, for its own share. The places of slices differ, too. They are inputs
like the integers, and the planner's queries are calculated from them: the bounds of blocks, the number of indices of a rank.
Ghost regions and messages of loops over blocks are boxes between such bounds (see ``shares``), so senders, receivers and
pieces are checked and calculated like everything else; a rank whose share becomes empty, or that gets another neighbour, then
has another plan. Exchanges of loops over other shares are made anew from the places (see ``symbolic_steps``). Since a plan
gives exactly the planner's result for these numbers, some ranks may find a plan while others make one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import backend, policy
from ..backend.base import KernelStep
from ..exchange.shares import SymbolicPlace
from ..execute.program import Program
from ..graph.node import Node
from ..layout.symbolic import Sheet
from ..layout.symbolic_layout import NoPlanError
from ..ops.fingerprint import outlined
from .flat_folds import whole_folds
from .samples import Sample, Skeleton, Twins
from .shapes import Dresser
from .symbolic_steps import Binding, SymbolicLaunch, SymbolicSteps

PlanOf = Callable[[Twins, Any], Program]
"""Plans a trace, with a maker of steps for launches."""


class Plans:
    """The plans of one structure, the latest that served first."""

    __slots__ = ("_each_alone", "known")

    def __init__(self) -> None:
        self.known: list[Plan] = []
        self._each_alone = False
        """True if its traces do something that needs actual numbers."""

    def bound(self, sample: Sample, order: Sequence[Node]) -> Program | None:
        """The program for a trace, from the first plan that fits."""
        for place, plan in enumerate(self.known):
            program = plan.bound(sample, order)
            if program is not None:
                if place:
                    self.known.insert(0, self.known.pop(place))
                return program
        return None

    def extended(
        self,
        sample: Sample,
        leaves: Sequence[Node],
        order: Sequence[Node],
        roots: Sequence[Node],
        plan: PlanOf,
        step: type[KernelStep],
    ) -> Program | None:
        """The program for a trace, from a new plan; ``None`` where it has to be planned with actual numbers."""
        if self._each_alone:
            return None
        try:
            new = Plan(sample, leaves, order, Skeleton(leaves, order, roots), plan, step)
        except NoPlanError:
            self._each_alone = True
            return None
        self.known = [new, *self.known[: policy.limits.pieces - 1]]
        return new.first


def _changed(nodes: Sequence[Node]) -> list[bool]:
    """For each node of a trace, whether planning folds it over other axes."""
    planned = whole_folds(nodes, {})
    return [node.params != two.params for node, two in zip(nodes, planned, strict=True)]


class Plan:
    """A program that waits for geometries, and for places."""

    def __init__(
        self,
        now: Sample,
        leaves: Sequence[Node],
        order: Sequence[Node],
        skeleton: Skeleton,
        plan: PlanOf,
        step: type[KernelStep],
    ) -> None:
        self.skeleton = skeleton
        self.plan = plan
        self.backend = backend.current().name
        """The backend of its kernels."""
        sheet = Sheet()
        self.form = now.form()
        shapes = self._dressed(now, sheet)
        twins = skeleton.dressed(
            shapes, self._housed(now, sheet, shapes[: len(leaves) + len(order)])
        )
        self.program = plan(twins, SymbolicLaunch)
        steps = self.program.steps
        waiting = SymbolicSteps(steps, step, lambda: _changed(twins[1]))
        self.waiting, self._steps = waiting, waiting.made
        self.guard = sheet.guard(waiting.results)
        self._step_at = {id(planned): k for k, planned in enumerate(steps)}
        self._outline = None
        if self.program.communicator is not None:
            self._outline = outlined(order, [order[root] for root in skeleton.roots], leaves)
        self.is_movable = not (now.scattered or self._staying or any(skeleton.lies))
        """True if the native evaluation may bind programs to other numbers: every share of an array is a box that fills its memory."""
        self.spare = 8
        """Number of further programs that the native evaluation may get, to bind to other numbers. Each serves traces that no
        earlier one does, so traces that need many differ in more than the numbers that are written into such a program."""
        self.first = self.filled(now, order)
        if self.first is None:  # numbers that C has no integers for
            raise NoPlanError

    def words_of_places(self) -> list[Sequence[int]]:
        """For each place of a trace the first that is equal, and the places that the guard is given: for the native evaluation."""
        return [self.form[1], [len(self._lead_homes), *self._lead_homes]]

    def _housed(self, now: Sample, sheet: Sheet, shapes: Sequence[Any]) -> list[Any]:
        """For each place of the sample, the place that the planner sees: a symbolic one where it is not unique. ``shapes``: the
        geometries of the values at the first places; the others are of assigned regions."""
        self._lead_homes: list[int] = []
        places: dict[int, Any] = {}
        leader = self.form[1]
        for k in set(leader):
            places[k] = like = now.places[k]
            if like is not None and not like.is_like_no_other:
                self._lead_homes.append(k)
                extents = shapes[k].shape if k < len(shapes) else None
                given = sheet.thing(like)
                places[k] = SymbolicPlace(like, given, -1 - k, not now.scattered, extents)
        return [places[lead] for lead in leader]

    def _dressed(self, now: Sample, sheet: Sheet) -> list[Any]:
        """For each geometry of the sample, the geometry that the planner sees: one with unknown integers, unless it must stay."""
        dresser = Dresser(sheet)
        leader = self.form[0]
        shapes: dict[int, Any] = {}
        self.lead_shapes: list[int] = []
        alone = [place for place in {*now.places} if place is not None and place.is_like_no_other]
        staying = {lead for lead, place in zip(leader, now.places) if place in alone}
        self._staying = [(k, now.geometries[k].integers) for k in staying]
        at = {geometry.number: k for k, geometry in enumerate(now.geometries)}
        leads = sorted({*leader})
        leads.sort(key=[not geometry.is_base for geometry in now.geometries].__getitem__)
        for k in leads:  # bases first
            shapes[k] = like = now.geometries[k]
            if k not in staying:
                base = None if like.is_base else shapes[leader[at[like.base.number]]]
                self.lead_shapes.append(k)
                shapes[k] = dresser.shape(like, k, base)
        return [shapes[k] for k in leader]

    def bound(self, sample: Sample, order: Sequence[Node]) -> Program | None:
        """The program for a trace, or ``None`` where the planner has to run."""
        if sample.form() != self.form:
            return None
        if any(sample.geometries[k].integers != integers for k, integers in self._staying):
            return None
        return self.filled(sample, order)

    def filled(self, sample: Sample, order: Sequence[Node]) -> Program | None:
        """The program with the numbers of a trace; ``None`` where a check fails."""
        results = self.results(sample)
        if results is None:
            return None
        binding = Binding(results, sample, order)
        steps = [step(binding) for step in self._steps]
        like, at = self.program, self._step_at
        stored = tuple([(steps[at[id(planned)]], node, reg) for planned, node, reg in like.stored])
        program = Program(like.leaves, like.size, steps, like.outputs, like.kept, None, stored)
        program.described = lambda make: self.described(sample, make)
        program.plan = self
        program.sites = like.sites
        if like.communicator is not None and self._outline is not None:
            program.shared(like.communicator, self._outline, order)
        return program

    def results(self, sample: Sample) -> Any:
        """The numbers for a trace; ``None`` where a check fails."""
        numbers: list[int] = []
        for k in self.lead_shapes:
            numbers += sample.geometries[k].integers
        return self.guard.results(numbers, [sample.places[k] for k in self._lead_homes])

    def described(self, sample: Sample, make: Any) -> Program:
        """The program that a trace would have alone, for people to read."""
        return self.plan(self.skeleton.dressed(sample.geometries, sample.places), make)
