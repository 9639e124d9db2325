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

Where ranks compute together, each has templates of its own, for its own share. The places of slices, too, have
integers that move: the bounds of their blocks. Patches and messages are boxes between such bounds (see
``shares``), so who sends what to whom is checked and calculated like everything else; a rank whose share becomes
empty, or that gets another neighbour, has another template then. Since a template says exactly what the planner would
say, it does not matter which rank finds one and which has to plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

from ..comm.communicator import Communicator
from ..graph.geometry import Geometry, dense
from ..graph.node import Node
from ..ops.fingerprint import computed, outlined
from ..run.exchange import (
    AcrossRanks,
    CopyInside,
    FinishExchange,
    Incoming,
    Inside,
    Outgoing,
    Position,
    StartExchange,
)
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
from .build import fold_across
from .launches import Launch
from .numpy_nodes import numpy_function
from .shares import LoosePlace, NotMovingError
from .skeleton import Sample, Skeleton, Twins
from .unknown import Number, Shape, Sheet, Unknown, text_of

MOST_TEMPLATES = 8
"""How many templates a family keeps."""
_PRICE = 8
_CREDIT = 16 * _PRICE
"""A template has to serve some traces to be worth its making: each one takes ``_PRICE`` from what
a family has, each trace that is served gives one back."""


PlanOf = Callable[[Twins, Any], Program]
"""Plans a trace, with a maker of steps for launches."""


class LooseExchange:
    """Stands where the step that begins an exchange will be."""

    __slots__ = ("allocate", "communicator", "cuts", "dtypes", "incoming", "inside", "outgoing")

    def __init__(
        self,
        communicator: Communicator,
        allocate: list[tuple[int, Any]],
        incoming: list[Incoming],
        outgoing: list[Outgoing],
        inside: list[Inside],
        cuts: Any,
        dtypes: Any,
        *,
        lasting: bool,
    ) -> None:
        self.communicator = communicator
        self.allocate, self.cuts, self.dtypes = allocate, cuts, dtypes
        self.incoming, self.outgoing, self.inside = incoming, outgoing, inside

    uses = StartExchange.uses

    def run(self, state: State) -> None:
        """A template does not run."""
        raise AssertionError("a template cannot run")


class LooseFold:
    """Stands where the step will be that joins what ranks have folded along axes."""

    __slots__ = ("geometry", "home", "params", "partial", "place", "register", "ufunc")

    def __init__(
        self,
        register: int,
        partial: int,
        params: Any,
        place: Any,
        home: Any,
        ufunc: Any,
        geometry: Any,
    ) -> None:
        self.register, self.partial, self.params = register, partial, params
        self.place, self.home = place, home
        self.ufunc, self.geometry = ufunc, geometry

    def run(self, state: State) -> None:
        """A template does not run."""
        raise AssertionError("a template cannot run")


class LooseLaunch:
    """Stands where the step of a launch will be."""

    __slots__ = ("launch", "parts")
    start_exchange = LooseExchange
    fold_across = LooseFold

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
    """Traces that differ in the integers of their geometries and places alone, and their templates."""

    __slots__ = ("_credit", "_samples", "_templates")

    def __init__(self, sample: Sample) -> None:
        self._samples = [sample]
        self._templates: list[Template] = []
        self._credit = _CREDIT

    def bound(self, sample: Sample, order: Sequence[Node]) -> Program | None:
        """The program for a trace, from the first template that fits."""
        templates = self._templates
        for place, template in enumerate(templates):
            program = template.bound(sample, order)
            if program is not None:
                self._credit = min(self._credit + 1, _CREDIT)
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
        if self._credit < _PRICE:
            return None
        self._samples = [*self._samples[-2:], sample]
        alike = [one for one in self._samples if one.is_like(sample)]
        if len(alike) < 2:  # it is not to be seen yet what moves
            return None
        self._credit -= _PRICE
        skeleton = Skeleton(leaves, order, roots)
        template = None
        for tied in (False, True):
            try:
                template = Template(alike, order, skeleton, plan, step, tied)
                break
            except CoincidenceError:
                continue
            except NotMovingError:
                self._credit = 0
                return None
        if template is None:
            return None
        self._templates = [template, *self._templates[: MOST_TEMPLATES - 1]]
        return template.first


@dataclass(slots=True)
class Binding:
    """What the steps of a template are made from: one trace."""

    results: tuple[Any, ...]
    """What was calculated from its geometries."""
    sample: Sample
    order: Sequence[Node]
    folds: dict[int, Combine] = field(default_factory=dict)
    """Steps that fold partial results, by the step of the template: kernels write into them."""
    exchanges: dict[int, StartExchange] = field(default_factory=dict)
    """Steps that begin exchanges, by the step of the template."""


Loose = Callable[[Binding], Step]


class CoincidenceError(Exception):
    """Things that move apart from each other are the same at this step."""


class _Moving:
    """Which of some numbered things move: those that lead, the others staying or following one of these.

    If ``tied``, things that are the same now are taken to be the same always.
    """

    __slots__ = (
        "_different",
        "_follow",
        "_lead",
        "_stay",
        "_stayed",
        "_told_apart",
        "leader",
        "leads",
    )

    def __init__(self, samples: list[list[int]], told_apart: slice, tied: bool) -> None:
        now = samples[-1]
        self._told_apart = told_apart
        self.leads: list[int] = []
        seen = list(zip(*samples, strict=True))
        staying = {one[-1] for one in seen if len(set(one)) == 1}
        stay: list[int] = []
        follow: list[tuple[int, int]] = []
        first: dict[Any, int] = {}
        for k, one in enumerate(seen):
            key = one[-1] if tied else one
            if len(set(one)) == 1 or (tied and one[-1] in staying):
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
        self._forms = [now.places[k].form for k in self._homes.leads]  # type: ignore[union-attr]
        names, first = self._unknowns(samples)
        twins = skeleton.dressed(self._dressed(names, now.geometries), self._housed(names, now))
        nodes = twins[1]
        before = [(node.args, node.params) for node in nodes]
        self.program = plan(twins, LooseLaunch)
        changed = [(node.args, node.params) != old for node, old in zip(nodes, before, strict=True)]
        self._results: list[str] = []
        steps = self.program.steps
        self._folds = {id(one): self._loose_fold(one) for one in steps if isinstance(one, Combine)}
        self._exchanges = {
            id(one): self._loose_exchange(one) for one in steps if type(one) is LooseExchange
        }
        self._steps = [self._loose(one, step, changed) for one in steps]
        given = "(" + "".join(f"v{k}, " for k in range(len(names))) + ")"
        self._function = self.sheet.compiled(given, self._results, first)
        self._step_at = {id(one): k for k, one in enumerate(steps)}
        self._shared = _shared_bases(order) if homes[-1] else []
        """Which assignments are to arrays that others have had, too: on ranks that decides about buffers."""
        self._outline = outlined(order, [order[root] for root in skeleton.roots])
        self.first = self.bound(now, order)

    def _are_different(self, numbers: list[int], homes: list[int]) -> bool:
        """Whether what ranks would do alike follows from the numbers that are given: the planner tells
        geometries and places apart, too. One process alone need not care."""
        return not homes or (self._shapes.differs(numbers) and self._homes.differs(homes))

    def _unknowns(self, samples: list[Sample]) -> tuple[list[Number], str]:
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

    def _given(self, sample: Sample) -> list[int]:
        found: list[int] = []
        for k in self._shapes.leads:
            found += sample.geometries[k].integers
        for k in self._homes.leads:
            found += sample.places[k].bounds  # type: ignore[union-attr]
        return found

    def _housed(self, names: list[Number], now: Sample) -> list[Any]:
        """For each place what the planner sees: those that move have blocks of unknown bounds."""
        start = sum([len(now.geometries[k].integers) for k in self._shapes.leads])
        made: dict[int, LoosePlace] = {}
        for k in self._homes.leads:
            like = now.places[k]
            assert like is not None
            ends = []
            for count in like.layout.grid:
                ends.append(tuple(names[start : start + count + 1]))
                start += count + 1
            made[k] = LoosePlace(like, tuple(ends), -1 - k)
        leader = self._homes.leader
        return [made.get(leader.get(k, -1), place) for k, place in enumerate(now.places)]

    def _dressed(self, names: list[Number], now: list[Geometry]) -> list[Any]:
        """For each geometry what the planner sees: those that move have unknown integers."""
        leader = self._shapes.leader
        made: dict[int, Any] = {}
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

    def bound(self, sample: Sample, order: Sequence[Node]) -> Program | None:
        """The program for a trace, or ``None`` where the planner has to be asked."""
        numbers, homes = sample.numbers(), sample.homes()
        if not (self._shapes.fits(numbers) and self._homes.fits(homes)):
            return None
        if not self._are_different(numbers, homes):
            return None
        if homes and _shared_bases(order) != self._shared:
            return None
        for k, form in zip(self._homes.leads, self._forms, strict=True):
            place = sample.places[k]
            if place is None or place.form != form:
                return None
        try:
            results = self._function(self._given(sample))
        except ZeroDivisionError:  # a stride that planning divides by has become zero
            return None
        if results is None:
            return None
        binding = Binding(results, sample, order)
        steps = [step(binding) for step in self._steps]
        like, at = self.program, self._step_at
        stored = tuple([(steps[at[id(one)]], node, reg) for one, node, reg in like.stored])
        program = Program(like.leaves, like.size, steps, like.outputs, like.kept, None, stored)
        program.described = lambda make: self.described(sample, make)
        program.sites = like.sites
        program.communicator = like.communicator
        if program.communicator is not None:
            program.fingerprint = self._outline.of(order)
            program.computes = computed(order)
        return program

    def described(self, sample: Sample, make: Any) -> Program:
        """The plan that a trace would have alone, for people to read."""
        return self.plan(self.skeleton.dressed(sample.geometries, sample.places), make)

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
            return lambda binding: binding.sample.geometries[position]
        place = self.result(shape.shape)
        return lambda binding: dense(binding.results[place], dtype)

    def _loose_across(self, one: LooseFold) -> Loose:
        """How a fold along axes is joined: who has which part of it is asked of the layouts again."""
        place, home, geometry = (
            self._place(one.place),
            self._place(one.home),
            self._geometry(one.geometry),
        )
        return lambda binding: fold_across(
            one.register,
            one.partial,
            one.params,
            place(binding),
            home(binding),
            one.ufunc,
            geometry(binding),
        )

    def _place(self, place: Any) -> Callable[[Binding], Any]:
        """How the place is found that a loose one stands for."""
        if type(place) is not LoosePlace:
            return lambda binding: place
        k = -1 - place.number
        return lambda binding: binding.sample.places[k]

    def _exchange(self, one: Any, binding: Binding) -> StartExchange:
        """The step of a program that begins the exchange of a template's."""
        if id(one) not in self._exchanges:  # it is not of this program's own loops
            raise NotMovingError
        found = binding.exchanges.get(id(one))
        if found is None:
            found = binding.exchanges[id(one)] = self._exchanges[id(one)](binding)
        return found

    def _loose_exchange(self, one: LooseExchange) -> Callable[[Binding], StartExchange]:
        """How an exchange is made when the bounds of its pieces are known."""
        forms = [(register, self._geometry(shape)) for register, shape in one.allocate]
        incoming = [
            (self._key(piece.key), self.result(piece.shape), piece) for piece in one.incoming
        ]
        outgoing = [
            (self._key(piece.key), self.result(piece.shape), piece) for piece in one.outgoing
        ]
        inside = [
            (self._key(piece.source_key), self._key(piece.key), piece) for piece in one.inside
        ]

        def make(binding: Binding) -> StartExchange:
            results = binding.results
            return StartExchange(
                one.communicator,
                [(register, form(binding)) for register, form in forms],
                [
                    Incoming(piece.register, key(results), results[shape], piece.peer, piece.tag)
                    for key, shape, piece in incoming
                ],
                [
                    Outgoing(piece.register, key(results), results[shape], piece.peer, piece.tag)
                    for key, shape, piece in outgoing
                ],
                [
                    Inside(piece.source, source(results), piece.register, key(results))
                    for source, key, piece in inside
                ],
                one.cuts,
                one.dtypes,
                lasting=True,
            )

        return make

    def _key(self, key: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
        """How the index of a piece is made from the results."""
        if not any(
            type(part) is slice and Unknown in map(type, (part.start, part.stop)) for part in key
        ):
            return lambda results: key
        place = self.result([(part.start, part.stop) for part in key])
        return lambda results: tuple([slice(low, high, 1) for low, high in results[place]])

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
        if type(one) is LooseExchange:
            return lambda binding: self._exchange(one, binding)
        if type(one) is LooseFold:
            return self._loose_across(one)
        if isinstance(one, CopyInside):
            return lambda binding: CopyInside(self._exchange(one.start, binding))
        if isinstance(one, FinishExchange):
            return lambda binding: FinishExchange(self._exchange(one.start, binding))
        if isinstance(one, AcrossRanks) and not any(
            type(join) is Position and type(join.geometry) is not Geometry for join in one.joins
        ):
            return lambda binding: one
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


def _shared_bases(order: Sequence[Node]) -> list[bool]:
    """For each assignment, whether more than one array has ever had the old version."""
    return [node.args[0].holders > 1 for node in order if node.kind == "update"]


def _picked(places: list[int]) -> Callable[[list[int]], Any]:
    """Picks the numbers at these places."""
    return itemgetter(*places) if places else lambda numbers: None
