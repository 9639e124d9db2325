"""The steps of a template, and how they are bound to extents and distributions.

A template's program has *loose* steps in the places of those that depend on what moves. They do not run. For each of them
:class:`LooseSteps` keeps a function of a *binding*, one trace with what was calculated for it, that gives the step.

An exchange of loops over boxes is calculated like their extents. One of loops over local indices
(see ``counted``) is made anew, from the places of the trace and the maps of its reads: who sends what to whom
there may be different at every step, a pivot's owner above all, without the template being another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..collective.operation import Call
from ..collective.steps import RunCollective
from ..comm.communicator import Communicator
from ..execute.exchange import (
    AcrossRanks,
    CopyInside,
    FinishExchange,
    Incoming,
    Inside,
    Outgoing,
    Position,
    StartExchange,
)
from ..execute.parts import State, Step
from ..execute.program import Allocate, ByNumpy, Combine, Copy, Release, Share
from ..graph.geometry import Geometry, dense
from ..graph.node import Node
from .build import fold_across
from .counted import Reading, counted_exchange
from .launches import Launch
from .numpy_steps import function_of
from .shares import LoosePlace, NotMovingError
from .symbolic import Number, Shape, Unknown, text_of
from .template_traces import Sample


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


class LooseCounted:
    """Stands where the step will be that begins an exchange for loops over local indices."""

    __slots__ = ("allocate", "communicator", "cuts", "dtypes", "place", "readings")

    def __init__(
        self,
        readings: Sequence[Reading],
        place: Any,
        communicator: Communicator,
        allocate: list[tuple[int, Any]],
        cuts: Any,
        dtypes: Any,
    ) -> None:
        self.readings, self.place, self.communicator = readings, place, communicator
        self.allocate, self.cuts, self.dtypes = allocate, cuts, dtypes

    def run(self, state: State) -> None:
        """A template does not run."""
        raise AssertionError("a template cannot run")


class LooseLaunch:
    """Stands where the step of a launch will be."""

    __slots__ = ("launch", "parts")
    start_exchange = LooseExchange
    counted_exchange = LooseCounted
    fold_across = LooseFold

    def __init__(self, launch: Launch, parts: list[tuple[Combine, Number]]) -> None:
        self.launch = launch
        self.parts = parts

    def run(self, state: State) -> None:
        """A template does not run, the programs that are made from it do."""
        raise AssertionError("a template cannot run")


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


class MovingStep(Protocol):
    """A step that runs a launch."""

    @staticmethod
    def moving(launch: Launch, parts: list[tuple[Combine, Number]], template: LooseSteps) -> Loose:
        """How the step is made when the geometries are known."""


class LooseSteps:
    """The steps of a program that waits for geometries and places."""

    def __init__(self, steps: Sequence[Any], step: type[MovingStep], changed: list[bool]) -> None:
        self.results: list[str] = []
        """What is to be calculated, as the texts of expressions."""
        self._changed = changed
        """For each node of the trace, whether planning has rewritten it."""
        self._folds = {id(one): self._loose_fold(one) for one in steps if isinstance(one, Combine)}
        self._exchanges: dict[int, Callable[[Binding], StartExchange]] = {}
        for one in steps:
            if type(one) is LooseExchange:
                self._exchanges[id(one)] = self._loose_exchange(one)
            elif type(one) is LooseCounted:
                self._exchanges[id(one)] = self._loose_counted(one)
        self.made = [self._loose(one, step) for one in steps]
        """How each of the steps is made."""

    def result(self, numbers: Any) -> int:
        """The place of a number, or a list or tuple of numbers, among the results."""
        self.results.append(text_of(numbers))
        return len(self.results) - 1

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

    def _loose_counted(self, one: LooseCounted) -> Callable[[Binding], StartExchange]:
        """How an exchange is made when it is known who has what."""
        forms = [(register, self._geometry(shape)) for register, shape in one.allocate]
        place = self._place(one.place)
        readings = [
            (reading, self._place(reading.home), self.result(reading.outer))
            for reading in one.readings
        ]

        def make(binding: Binding) -> StartExchange:
            return counted_exchange(
                [
                    Reading(known.register, known.source, home(binding), binding.results[outer])
                    for known, home, outer in readings
                ],
                place(binding),
                one.communicator,
                [(register, form(binding)) for register, form in forms],
                one.cuts,
                one.dtypes,
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

    def _loose(self, one: Any, step: type[MovingStep]) -> Loose:
        """How a step is made when the geometries are known."""
        if isinstance(one, (Share, Release)):
            return lambda binding: one
        if isinstance(one, Combine):
            return lambda binding: self.fold(one, binding)
        if isinstance(one, LooseLaunch):
            return step.moving(one.launch, one.parts, self)
        if type(one) in (LooseExchange, LooseCounted):
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
        if isinstance(one, ByNumpy) and one.number >= 0 and not self._changed[one.number]:
            return self._loose_numpy(one)
        if isinstance(one, RunCollective) and one.number >= 0 and not self._changed[one.number]:
            return self._loose_collective(one)
        raise NotMovingError

    def _loose_collective(self, one: RunCollective) -> Loose:
        geometry, number = self._geometry(one.geometry), one.number
        return lambda binding: RunCollective(
            one.register, Call(binding.order[number]), one.sources, geometry(binding), number
        )

    def _loose_allocate(self, one: Allocate) -> Loose:
        if type(one.geometry) is Geometry:
            return lambda binding: one
        geometry, register, initial = self._geometry(one.geometry), one.register, one.initial
        return lambda binding: Allocate(register, geometry(binding), initial, one.wanted.site)

    def _loose_numpy(self, one: ByNumpy) -> Loose:
        geometry, number = self._geometry(one.geometry), one.number
        return lambda binding: ByNumpy(
            one.register,
            function_of(binding.order[number]),
            one.arguments,
            geometry(binding),
            number,
        )
