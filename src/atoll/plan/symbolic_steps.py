"""The steps of a plan, and their binding to extents and distributions.

A plan's program has *symbolic* steps in place of the steps that depend on changing numbers. They do not run. For each of them
:class:`SymbolicSteps` keeps a function that makes the step from a *binding*: one trace with the numbers calculated for it.

An exchange of loops over boxes is calculated like their extents. An exchange of loops over local indices is made anew, from the
places of the trace and the maps of its reads: its senders and receivers may differ at every step under one plan, as the owner of a
pivot does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..backend.base import KernelStep
from ..collective.operation import Call
from ..collective.steps import RunCollective
from ..exchange.ghosts import GhostRegion, exchange_under_maps
from ..exchange.schedule import Exchange, registers_of
from ..exchange.shares import SymbolicPlace
from ..execute.allocation import Allocate, Copy, Release, Share
from ..execute.exchange import AcrossRanks, FinishExchange, Fold, Position, StartExchange
from ..execute.parts import State
from ..execute.program import ByNumpy, Combine
from ..graph.geometry import dense
from ..graph.node import Node
from ..layout.symbolic import Unknown
from ..layout.symbolic_layout import NoPlanError
from .build import fold_across
from .launches import Launch
from .samples import Sample
from .shapes import Shape
from .steps import EmptyShare, function_of


class Symbolic:
    """A deferred call of ``make`` with arguments of which some are symbolic: a step, or an exchange."""

    __slots__ = ("arguments", "make")

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self.make, self.arguments = make, arguments

    def uses(self) -> set[int]:
        """The registers of an exchange."""
        _, allocate, _, sends, copies, _ = self.arguments
        return registers_of(allocate, sends, copies)

    def run(self, state: State) -> None:
        """Raise an error: a plan does not run, only the programs made from it do."""
        raise AssertionError("a plan cannot run")


class SymbolicLaunch(Symbolic):
    """The deferred step of a launch."""

    __slots__ = ("combines", "launch")
    exchange = staticmethod(partial(Symbolic, Exchange))
    exchange_under_maps = staticmethod(partial(Symbolic, exchange_under_maps))
    fold_across = staticmethod(partial(Symbolic, fold_across))

    def __init__(self, launch: Launch, combines: dict[int, Combine]) -> None:
        self.launch, self.combines = launch, combines


@dataclass(slots=True)
class Binding:
    """The input from which the steps of a plan are made: one trace."""

    results: Sequence[Any]
    """The numbers calculated from its geometries and places."""
    sample: Sample
    order: Sequence[Node]
    shared: dict[int, Any] = field(default_factory=dict)
    """Objects that several steps of a program share, by the id of their counterpart in the plan: exchanges, and the steps that fold
    the partial results of kernels."""


Maker = Callable[[Binding], Any]


class SymbolicSteps:
    """The steps of a program that waits for geometries and places."""

    def __init__(
        self, steps: Sequence[Any], step: type[KernelStep], changed: Callable[[], list[bool]]
    ) -> None:
        """``changed`` says of each node of the trace whether planning folds it over other axes."""
        self.results: list[Any] = []
        """The numbers to calculate."""
        self.launches: dict[int, int] = {}
        """The place of each launch's numbers among the results, by the number of its step."""
        self.positions: list[tuple[int, int]] = []
        """The geometries of the trace that steps have: pairs of a step's number, -1 for shared objects, and a geometry's number."""
        self.nodes: set[int] = set()
        """The nodes that NumPy computes."""
        self.together: list[int] = []
        """The numbers of the steps that a program bound to other numbers has anew: those in which ranks compute something
        together, and those that take memory for this rank's share of a value."""
        self.anew: set[int] = set()
        """The results of which these steps and exchanges are made."""
        self._now = -1
        numbered = [planned for planned in steps if getattr(planned, "number", -1) >= 0]
        self._changed = changed() if numbered else []
        self._shared: dict[int, Maker] = {}
        for planned in steps:
            if isinstance(planned, Combine):
                self._shared[id(planned)] = self._combine(planned)
            elif isinstance(planned, StartExchange):
                if not isinstance(planned.exchange, Symbolic):  # of other loops than the program's
                    raise NoPlanError
                self._shared[id(planned.exchange)] = self._anew(self._called, planned.exchange)
        self.made: list[Maker] = []
        """The functions that make the steps."""
        for self._now, planned in enumerate(steps):
            if isinstance(planned, SymbolicLaunch):
                self.made.append(self._launch(planned, step))
            elif isinstance(planned, (Symbolic, RunCollective)) or _is_of_share(planned):
                self.together.append(self._now)
                self.made.append(self._anew(self._step, planned))
            else:
                self.made.append(self._step(planned))

    def result(self, numbers: Any) -> int:
        """The place of a number, or of nested tuples, lists and slices of numbers, among the results."""
        self.results.append(numbers)
        return len(self.results) - 1

    def shared(self, planned: Any, binding: Binding) -> Any:
        """The counterpart in a program of a plan's exchange, or of its step that folds partial results."""
        known = binding.shared.get(id(planned))
        if known is None:
            known = binding.shared[id(planned)] = self._shared[id(planned)](binding)
        return known

    def _anew(self, make: Callable[[Any], Maker], planned: Any) -> Maker:
        """A function that makes an exchange or a step which a program bound to other numbers has anew: its geometries may differ."""
        count, staying = len(self.results), len(self.positions)
        maker = make(planned)
        self.anew.update(range(count, len(self.results)))
        del self.positions[staying:]
        return maker

    def _called(self, symbolic: Symbolic) -> Maker:
        """A function that makes the object for which a symbolic one stands."""
        arguments = [self._bound(argument) for argument in symbolic.arguments]
        return lambda binding: symbolic.make(*[argument(binding) for argument in arguments])

    def _bound(self, value: Any) -> Maker:
        """A function that makes a value with symbolic geometries, places or numbers from a binding."""
        maker = self._maker(value)
        return (lambda binding: value) if maker is None else maker

    def _maker(self, value: Any) -> Maker | None:
        """The same; ``None`` if the value has nothing symbolic."""
        kind = type(value)
        if kind is Shape:
            position, dtype = value.position, value.dtype
            if position >= 0:
                self.positions.append((self._now, position))
                return lambda binding: binding.sample.geometries[position]
            shape = self.result(value.shape)
            return lambda binding: dense(binding.results[shape], dtype)
        if kind is SymbolicPlace:
            place = -1 - value.number
            return lambda binding: binding.sample.places[place]
        if kind is GhostRegion:
            home, outer = self._bound(value.home), self._bound(value.outer)
            return lambda binding: replace(value, home=home(binding), outer=outer(binding))
        names = getattr(value, "_fields", None)
        if names is not None:
            parts = [(n, part) for n, p in zip(names, value) if (part := self._maker(p))]
            if not parts:
                return None
            return lambda binding: value._replace(**{name: part(binding) for name, part in parts})
        if kind is list or (kind is tuple and Shape in map(type, value)):
            items = list(map(self._bound, value))
            return lambda binding: kind([item(binding) for item in items])
        if not _is_symbolic(value):
            return None
        numbers = self.result(value)
        return lambda binding: binding.results[numbers]

    def _combine(self, planned: Combine) -> Maker:
        geometry, count = self._bound(planned.geometry), self._bound(planned.count)
        return lambda binding: planned.again(count(binding), geometry(binding))

    def _launch(self, planned: SymbolicLaunch, step: type[KernelStep]) -> Maker:
        launch, combines = planned.launch, planned.combines
        place = self.result((step.numbers_of(launch), launch.partials))
        self.launches[self._now] = place

        def make(binding: Binding) -> KernelStep:
            numbers, partials = binding.results[place]
            parts: list[tuple[Any, int]] = []
            for register, start in partials:
                parts.append((self.shared(combines[register], binding), start))
            return step(launch, numbers, parts)

        return make

    def _function(self, planned: ByNumpy) -> Maker:
        """A function that makes the NumPy function of a step."""
        if type(planned.function) is EmptyShare:
            dtype, counts = planned.function.dtype, self.result(tuple(planned.function.shape))
            return lambda binding: EmptyShare(binding.results[counts], dtype)
        return lambda binding: function_of(binding.order[planned.number])

    def _join(self, join: Fold | Position) -> Maker:
        if type(join) is not Position:
            return lambda binding: join
        geometry = self._bound(join.geometry)
        return lambda binding: Position(join.register, join.name, geometry(binding))

    def _step(self, planned: Any) -> Maker:
        """A function that makes a step once the geometries are known."""
        if isinstance(planned, (Share, Release)):
            return lambda binding: planned
        if isinstance(planned, Combine):
            return lambda binding: self.shared(planned, binding)
        if isinstance(planned, Symbolic):
            return self._called(planned)
        if isinstance(planned, (StartExchange, FinishExchange)):
            return lambda binding: type(planned)(self.shared(planned.exchange, binding))
        if isinstance(planned, AcrossRanks):
            joins = [self._join(join) for join in planned.joins]
            if all(type(join) is not Position for join in planned.joins):
                return lambda binding: planned
            return lambda binding: AcrossRanks(
                planned.communicator, [join(binding) for join in joins]
            )
        register, geometry = planned.register, self._bound(getattr(planned, "geometry", None))
        if isinstance(planned, Allocate):
            initial, site = planned.initial, planned.wanted.site
            return lambda binding: Allocate(register, geometry(binding), initial, site)
        if isinstance(planned, Copy):
            source, site = planned.source, planned.wanted.site
            return lambda binding: Copy(register, source, geometry(binding), site)
        number = getattr(planned, "number", -1)
        if number >= 0 and not self._changed[number]:
            if isinstance(planned, ByNumpy):
                self.nodes.add(number)
                function = self._function(planned)
                return lambda binding: ByNumpy(
                    register, function(binding), planned.arguments, geometry(binding), number
                )
            if isinstance(planned, RunCollective):
                return lambda binding: RunCollective(
                    register,
                    Call(binding.order[number]),
                    planned.sources,
                    geometry(binding),
                    number,
                )
        raise NoPlanError


def _is_of_share(planned: Any) -> bool:
    """True for a step that takes memory of an extent which no geometry of the trace has."""
    geometry = getattr(planned, "geometry", None)
    return (
        isinstance(planned, (Allocate, Copy)) and type(geometry) is Shape and geometry.position < 0
    )


def _is_symbolic(value: Any) -> bool:
    kind = type(value)
    if kind is slice:
        return type(value.start) is Unknown or type(value.stop) is Unknown
    if isinstance(value, (list, tuple)):
        return any(map(_is_symbolic, [part for part in value if type(part) is not int]))
    return kind in (Unknown, Shape, SymbolicPlace, GhostRegion)
