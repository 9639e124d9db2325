"""Steps that communicate: ghost regions, reductions over ranks, and each rank's own share.

One step begins an exchange (:mod:`..exchange.schedule`), and another finishes it. The steps between the two need none of
its ghost regions, and run while the messages travel.

Full folds end in one small message to all: the partial results of several reductions, from any loops,
are gathered together (:class:`AcrossRanks`).
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend, policy
from ..backend.base import Told
from ..backend.flags import is_noticed
from ..comm.communicator import Communicator
from ..comm.in_step import Gathering
from ..exchange.messages import Array
from ..exchange.schedule import Exchange
from ..exchange.trees import branches, folded_by_tree, in_pairs, packed, unpacked
from ..graph.geometry import Geometry
from ..graph.node import Value
from ..layout import EMPTY, IndexSet, Range, listed, region_key
from .parts import State, Step


class PartOfExchange:
    """A step, or a part of one, that begins or ends an exchange without its stages."""

    __slots__ = ("exchange", "kind", "run", "steps")

    def __init__(self, exchange: Exchange, kind: Told, step: Step) -> None:
        self.kind, self.steps = kind, (step,)
        self.become(exchange)

    def become(self, exchange: Exchange) -> None:
        """Begin or end another exchange from now on."""
        self.exchange = exchange
        self.run = exchange.begin if self.kind is Told.START else exchange.finish

    def told(self) -> tuple[Any, ...] | None:
        """The step for the native evaluation, if its messages are set up."""
        known = self.exchange.told(starts=self.kind is Told.START)
        return known and (self.kind, self, *known)


class OfExchange(ABC):
    """A step of an exchange and its stages."""

    __slots__ = ("exchange",)

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange

    @abstractmethod
    def order(self) -> list[tuple[Exchange, Told]]:
        """The exchanges that it begins or ends, in order."""

    def parts(self) -> list[PartOfExchange]:
        """The steps of which it consists."""
        return [
            PartOfExchange(each, kind, self) for each, kind in self.order() if not each.is_empty
        ]

    def run(self, state: State) -> None:
        """Run them."""
        for part in self.parts():
            part.run(state)


class StartExchange(OfExchange):
    """Begin to fill ghost regions. The messages are under way from here to :class:`FinishExchange`."""

    __slots__ = ()

    def order(self) -> list[tuple[Exchange, Told]]:
        return [(each, Told.START) for each in self.exchange.begun()]


class FinishExchange(OfExchange):
    """Wait for the messages of an exchange: later steps read the received arrays, or overwrite the sent ones."""

    __slots__ = ()

    def order(self) -> list[tuple[Exchange, Told]]:
        ended = self.exchange.ended()
        return [(each, Told.START if begins else Told.FINISH) for each, begins in ended]


class Fold:
    """A fold of one value per rank, in the order of the ranks, with the same result on all."""

    __slots__ = ("name", "register", "ufunc")

    def __init__(self, register: int, ufunc: np.ufunc) -> None:
        self.register = register
        self.ufunc = ufunc
        self.name = ufunc.__name__

    def given(self, state: State) -> Array:
        """The contribution of this rank."""
        return _array(state, self.register)

    def joined(self, every: Array) -> Array:
        """The result, from the contributions of all ranks."""
        return in_pairs(list(every), self.pair)

    def pair(self, left: Array, right: Array) -> Array:
        """The join of the contributions of two ranks or groups of ranks."""
        result: Array = np.empty_like(left)
        self.ufunc(left, right, out=result)
        return result

    def result(self, total: Array) -> Array:
        """The result, from the join of all contributions."""
        return total


_DOUBLE = np.dtype(np.float64)
WHAT = "a reduction"


@dataclass(slots=True, eq=False)
class Position:
    """The position of the extreme element of all ranks."""

    register: int
    name: str
    geometry: Geometry

    def given(self, state: State) -> Array:
        """This rank's position and the element there; a rank without elements has position -1."""
        extreme = np.asarray(state.extremes[self.register])
        row = np.zeros((), [("position", np.int64), ("extreme", extreme.dtype)])
        row["position"] = _array(state, self.register).ravel()[0]
        row["extreme"] = extreme.reshape(())
        return row

    def joined(self, every: Array) -> Array:
        """The first position of the extreme element of all ranks."""
        return self.result(self._best(every))

    def _best(self, every: Array) -> Array:
        positions, extremes = every["position"], every["extreme"]
        have = np.flatnonzero(positions >= 0)
        if not len(have):
            return np.asarray(every[0])
        have = have[np.argsort(positions[have], kind="stable")]
        return np.asarray(every[have[getattr(np, self.name)(extremes[have])]])

    def pair(self, left: Array, right: Array) -> Array:
        """The join of the contributions of two ranks or groups of ranks."""
        return self._best(np.stack([left, right]))

    def result(self, total: Array) -> Array:
        """The result, from the join of all contributions."""
        return np.full(self.geometry.shape, total["position"], self.geometry.dtype)


class AcrossRanks:
    """Join small values of all ranks: a few ranks by one message to all, many by a tree."""

    __slots__ = ("_rows", "communicator", "gathering", "joins")

    def __init__(self, communicator: Communicator, joins: Sequence[Fold | Position]) -> None:
        self.communicator = communicator
        self.joins = tuple(joins)
        self.gathering: Gathering | None = None
        self._rows: list[tuple[Fold | Position, bool, Array, Array]] = []
        """For each join: True if it adds single numbers, and the memory of this rank's contribution and of all contributions."""

    def _begun(self, state: State) -> Gathering:
        given = [join.given(state) for join in self.joins]
        forms = [(mine.shape, mine.dtype) for mine in given]
        gathering = self.gathering = Gathering(self.communicator, forms)
        self._rows = [
            (join, join.name == "add" and forms[k] == ((), _DOUBLE), gathering.given[k], rows)
            for k, (join, rows) in enumerate(zip(self.joins, gathering.found, strict=True))
        ]
        return gathering

    def run(self, state: State) -> None:
        """Gather, and join."""
        if self.communicator.size > policy.limits.few_ranks:
            self._by_tree([join.given(state) for join in self.joins], state)
            return
        gathering, registers = self.gathering or self._begun(state), state.registers
        for join, adds, place, _ in self._rows:
            place[()] = registers[join.register].array if adds else join.given(state)  # type: ignore[union-attr]
        gathering.run(WHAT, bool(state.flags) and is_noticed(state.flags))
        self.join(state)

    def told(self) -> tuple[Any, ...] | None:
        """The step for the native evaluation, if it sums numbers by an operation that is set up."""
        gathering = self.gathering
        if gathering is None or not all(adds for _, adds, _, _ in self._rows):
            return None
        registers = tuple([join.register for join, _, _, _ in self._rows])
        known = gathering.told(self.join, WHAT)
        return None if known is None else (Told.ACROSS, self, registers, known)

    def join(self, state: State) -> None:
        """Join the gathered contributions."""
        registers, log = state.registers, self.communicator.log
        before = len(log.noted)
        for join, adds, _, rows in self._rows:
            total = in_pairs(rows.tolist(), operator.add) if adds else math.nan
            if total - total == 0.0:
                registers[join.register].array[()] = total  # type: ignore[union-attr]
            else:  # NumPy warns of an overflow or a NaN
                registers[join.register] = Value(join.joined(rows))
        if len(log.noted) > before:  # on all ranks, unless one has noted a warning before
            log.raised = True

    def _by_tree(self, given: Sequence[Array], state: State) -> None:
        """Join the values of all ranks by messages in a tree; the last byte is nonzero if some rank has a warning."""
        communicator = self.communicator
        log = communicator.log

        def together(arrays: Sequence[Array], raised: bool) -> Array:
            return packed([*arrays, np.array(raised)])

        def pairs(left: Array, right: Array) -> Array:
            both = zip(self.joins, unpacked(left, given), unpacked(right, given), strict=True)
            joined = [join.pair(first, second) for join, first, second in both]
            return together(joined, bool(left[-1] or right[-1] or log.noted))

        tree = branches(communicator.rank, communicator.size, int, communicator.nodes)
        mine = together(given, bool(log.noted) or is_noticed(state.flags))
        total = folded_by_tree(communicator, tree, mine, pairs, WHAT)
        log.unasked, log.raised = False, log.raised or bool(total[-1])
        for join, value in zip(self.joins, unpacked(total, given), strict=True):
            state.registers[join.register] = Value(join.result(value.copy()))


class Localise:
    """Keep this rank's share of a value that every rank has computed."""

    __slots__ = ("geometry", "inside", "key", "register")

    def __init__(self, register: int, place: Any, geometry: Geometry) -> None:
        self.register = register
        self.geometry = geometry
        rank = place.world.rank
        self.key = region_key(place.layout.region(rank))
        self.inside = place.layout.inside(rank)

    def run(self, state: State) -> None:
        """Keep the share."""
        value = backend.current().allocate(self.geometry)
        value.array[self.inside] = _array(state, self.register)[self.key]
        state.registers[self.register] = value


class AssignedPart:
    """One rank's part of a region of a scattered array: its indices in the block, and in the region."""

    __slots__ = ("inside", "order", "rows", "targets")

    def __init__(self, place: Any, region: Geometry, rank: int) -> None:
        axes = region.axes
        assert axes is not None
        self.inside = place.layout.inside(rank)
        """The key that cuts the padding off the block."""
        self.targets: list[IndexSet] = []
        """For each axis of the array, local indices in the order of ``rows``."""
        self.rows: list[IndexSet] = [Range(1)] * region.ndim
        """For each axis of the region, ascending indices."""
        taken = [steps[0][0] for _, steps in axes if steps]
        self.order = taken + [k for k in range(region.ndim) if k not in taken]
        for held, (first, steps) in zip(place.layout.region(rank), axes, strict=True):
            assigned = Range(first, first + 1)
            if steps:
                axis, step = steps[0]
                assigned = Range(first, first + step * region.shape[axis], step)
            part = held.intersection(assigned)
            if steps:
                part = listed(np.sort(assigned.positions(part).array()))
                self.rows[axis] = part
                part = assigned.select(part)
            self.targets.append(held.positions(part))

    @property
    def is_empty(self) -> bool:
        """True if the rank owns no element of the region."""
        return not all(self.targets)

    def wanted(self, shape: tuple[int, ...]) -> tuple[IndexSet, ...]:
        """The indices that the rank needs of a value of a shape that is broadcast to the region."""
        if self.is_empty:
            return (EMPTY,) * len(shape)
        rows = self.rows[len(self.rows) - len(shape) :]
        return tuple([Range(0, 1) if n == 1 else row for n, row in zip(shape, rows, strict=True)])


@dataclass(slots=True, eq=False)
class AssignLocally:
    """Write into this rank's part of a region of a scattered array.

    The value is a scalar, or a register with the whole value or, with ``cut``, this rank's part of it.
    """

    register: int
    part: AssignedPart
    source: int | None
    scalar: int | None
    cut: bool

    def run(self, state: State) -> None:
        """Write the value, which has the shape of the region or broadcasts to it."""
        part = self.part
        if part.is_empty:
            return
        array = _array(state, self.register)[part.inside]
        value: Any
        if self.source is None:
            value = state.scalars[self.scalar]  # type: ignore[index]
        else:
            value = _array(state, self.source)
            if not self.cut:
                value = value[region_key(part.wanted(value.shape))]
            value = np.broadcast_to(value, [len(r) for r in part.rows])
            value = value.transpose(part.order).reshape([len(t) for t in part.targets])
        array[region_key(part.targets)] = value


def _array(state: State, register: int) -> np.ndarray[Any, Any]:
    value = state.registers[register]
    assert value is not None
    return value.array
