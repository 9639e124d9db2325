"""The steps of a template, and how they are bound to extents and distributions.

A template's program has *loose* steps in the places of those that depend on what moves. They do not run. For each of them
:class:`LooseSteps` keeps a function of a *binding*, one trace with what was calculated for it, that gives the step.

An exchange of loops over boxes is calculated like their extents. One of loops over local indices is made anew, from the places of the trace and the maps of its reads: who sends what to whom
there may be different at every step, a pivot's owner above all, without the template being another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..collective.operation import Call
from ..collective.steps import RunCollective
from ..comm.communicator import Communicator
from ..exchange.ghosts import GhostRegion, exchange_under_maps
from ..exchange.messages import Piece
from ..exchange.schedule import Copy as Inside
from ..exchange.schedule import Exchange
from ..exchange.shares import SymbolicPlace
from ..execute.exchange import (
    AcrossRanks,
    FinishExchange,
    Position,
    StartExchange,
)
from ..execute.parts import State, Step
from ..execute.program import Allocate, ByNumpy, Combine, Copy, Release, Share
from ..graph.geometry import Geometry, dense
from ..graph.node import Node
from ..layout.symbolic import Number, Unknown, text_of
from ..layout.symbolic_layout import NoTemplateError
from .build import fold_across
from .launches import Launch
from .numpy_steps import function_of
from .shapes import Shape
from .template_traces import Sample


class SymbolicExchange:
    """Stands for an exchange whose pieces have symbolic bounds."""

    __slots__ = ("allocate", "communicator", "copies", "receives", "sends")

    def __init__(
        self,
        communicator: Communicator,
        allocate: Sequence[tuple[int, Any]],
        receives: Sequence[Piece],
        sends: Sequence[Piece],
        copies: Sequence[Inside],
    ) -> None:
        self.communicator, self.allocate = communicator, allocate
        self.receives, self.sends, self.copies = receives, sends, copies

    uses = Exchange.uses


class SymbolicExchangeUnderMaps:
    """Stands for the exchange of loops that count local indices."""

    __slots__ = ("allocate", "communicator", "ghosts", "place")

    def __init__(
        self,
        ghosts: Sequence[GhostRegion],
        place: Any,
        communicator: Communicator,
        allocate: list[tuple[int, Any]],
    ) -> None:
        self.ghosts, self.place, self.communicator = ghosts, place, communicator
        self.allocate = allocate


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
    exchange = SymbolicExchange
    exchange_under_maps = SymbolicExchangeUnderMaps
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
    exchanges: dict[int, Exchange] = field(default_factory=dict)
    """By the exchange of the template."""


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
        """For each node of the trace, whether planning folds it over other axes."""
        self._folds = {id(one): self._loose_fold(one) for one in steps if isinstance(one, Combine)}
        self._exchanges: dict[int, Callable[[Binding], Exchange]] = {}
        for one in steps:
            if isinstance(one, StartExchange):
                planned: Any = one.exchange
                if type(planned) is SymbolicExchange:
                    make = self._loose_exchange(planned)
                elif type(planned) is SymbolicExchangeUnderMaps:
                    make = self._loose_under_maps(planned)
                else:  # it is not of this program's own loops
                    raise NoTemplateError
                self._exchanges[id(planned)] = make
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
        if type(place) is not SymbolicPlace:
            return lambda binding: place
        k = -1 - place.number
        return lambda binding: binding.sample.places[k]

    def _exchange(self, one: Any, binding: Binding) -> Exchange:
        """The exchange of a program that stands for a template's."""
        found = binding.exchanges.get(id(one))
        if found is None:
            found = binding.exchanges[id(one)] = self._exchanges[id(one)](binding)
        return found

    def _loose_exchange(self, one: SymbolicExchange) -> Callable[[Binding], Exchange]:
        """How an exchange is made when the bounds of its pieces are known."""
        forms = [(register, self._geometry(shape)) for register, shape in one.allocate]
        receives, sends = (
            [(self._key(piece.key), self.result(piece.shape), piece) for piece in pieces]
            for pieces in (one.receives, one.sends)
        )
        copies = [(self._key(c.source_key), self._key(c.key), c) for c in one.copies]

        def pieces_of(moving: list[Any], results: tuple[Any, ...]) -> list[Piece]:
            return [p._replace(key=key(results), shape=results[k]) for key, k, p in moving]

        def make(binding: Binding) -> Exchange:
            results = binding.results
            return Exchange(
                one.communicator,
                [(register, form(binding)) for register, form in forms],
                pieces_of(receives, results),
                pieces_of(sends, results),
                [
                    c._replace(source_key=source(results), key=key(results))
                    for source, key, c in copies
                ],
            )

        return make

    def _loose_under_maps(self, one: SymbolicExchangeUnderMaps) -> Callable[[Binding], Exchange]:
        """How an exchange is made when it is known who has what."""
        forms = [(register, self._geometry(shape)) for register, shape in one.allocate]
        place = self._place(one.place)
        ghosts = [(g, self._place(g.home), self.result(g.outer)) for g in one.ghosts]
        return lambda binding: exchange_under_maps(
            [
                replace(ghost, home=home(binding), outer=binding.results[outer])
                for ghost, home, outer in ghosts
            ],
            place(binding),
            one.communicator,
            [(register, form(binding)) for register, form in forms],
        )

    def _key(self, key: Any) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
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
        if type(one) is LooseFold:
            return self._loose_across(one)
        if isinstance(one, (StartExchange, FinishExchange)):
            return lambda binding: type(one)(self._exchange(one.exchange, binding))
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
        raise NoTemplateError

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
