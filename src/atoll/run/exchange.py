"""Steps that speak to other ranks: patches, whole-array folds, and each rank's own share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..comm.communicator import Communicator
from ..comm.trail import PATCHES, Gathering, allgather
from ..graph.geometry import Geometry
from ..graph.node import Value
from ..layout import EMPTY, IndexSet, Range, listed
from . import statistics
from .arrays import allocate_array
from .messages import Message, Piece
from .parts import Part, Schedule, State, Step

Key = tuple[Any, ...]

MESSAGES = 1 << PATCHES
"""How many patches of one step have tags of their own; others match in the order of posting."""

KEPT = 1 << 15
"""Up to how many bytes for one neighbour travel in a parcel, whose memory is kept."""

TOGETHER = 1 << 22
"""Up to how many bytes are copied together so that they are one message."""

WHAT = "a halo or a piece of an array"


class Incoming(NamedTuple):
    """A piece of a patch that another rank sends."""

    register: int
    key: Key
    shape: tuple[int, ...]
    peer: int
    tag: int


class Outgoing(NamedTuple):
    """A piece of this rank's share that another rank needs."""

    register: int
    key: Key
    shape: tuple[int, ...]
    peer: int
    tag: int


class Inside(NamedTuple):
    """A piece of a patch that this rank owns."""

    source: int
    source_key: Key
    register: int
    key: Key


class StartExchange:
    """Memory for patches. Their messages are under way from here to :class:`FinishExchange`."""

    __slots__ = (
        "allocate",
        "arriving",
        "cuts",
        "gathered",
        "incoming",
        "inside",
        "leaving",
        "outgoing",
    )

    def __init__(
        self,
        allocate: list[tuple[int, Geometry]],
        incoming: list[Incoming],
        outgoing: list[Outgoing],
        inside: list[Inside],
        halos: Mapping[int, Any],
        dtypes: Mapping[int, np.dtype[Any]],
    ) -> None:
        self.allocate = allocate
        self.incoming = incoming
        self.outgoing = outgoing
        self.inside = inside
        self.cuts = {
            register: tuple([slice(a, -b if b else None) for a, b in widths])
            for register, widths in halos.items()
            if any(map(any, widths))
        }
        """For arrays with communication padding, what cuts it off."""
        self.arriving = _messages(
            [
                (one, Piece(one.register, one.shape, dtypes[one.register], one.key))
                for one in incoming
            ]
        )
        self.leaving = _messages(
            [
                (
                    one,
                    Piece(
                        one.register,
                        one.shape,
                        dtypes[one.register],
                        one.key,
                        self.cuts.get(one.register),
                    ),
                )
                for one in outgoing
            ]
        )
        self.gathered = 0
        """The bytes of a whole array, where this brings one together."""

    def uses(self) -> set[int]:
        """The registers that must live until the exchange is over."""
        return (
            {register for register, _ in self.allocate}
            | {one.register for one in self.outgoing}
            | {one.source for one in self.inside}
        )

    def run(self, state: State) -> None:
        """Allocate."""
        for register, geometry in self.allocate:
            state.registers[register] = allocate_array(geometry)
        if self.gathered:
            statistics.add("gathered", self.gathered)


def _messages(moving: Sequence[tuple[Incoming | Outgoing, Piece]]) -> tuple[Message, ...]:
    """One message for all pieces of a neighbour, unless they are large. Both ends agree on it."""
    peers: dict[int, list[tuple[Incoming | Outgoing, Piece]]] = {}
    for one, piece in moving:
        peers.setdefault(one.peer, []).append((one, piece))
    found = []
    for peer, some in peers.items():
        nbytes = sum([piece.nbytes for _, piece in some])
        if nbytes <= TOGETHER:
            pieces = [piece for _, piece in some]
            tag = some[0][0].tag % MESSAGES
            found.append(Message(peer, tag, pieces, WHAT, kept=nbytes <= KEPT))
        else:
            found += [Message(peer, one.tag % MESSAGES, (piece,), WHAT) for one, piece in some]
    return tuple(found)


class CopyInside:
    """Copy those pieces of patches that this rank owns, while the others travel."""

    __slots__ = ("start",)

    def __init__(self, start: StartExchange) -> None:
        self.start = start

    def run(self, state: State) -> None:
        """Copy."""
        cuts = self.start.cuts
        for within in self.start.inside:
            share = _array(state, within.source)
            cut = cuts.get(within.source)
            if cut is not None:
                share = share[cut]
            _array(state, within.register)[within.key] = share[within.source_key]


class FinishExchange:
    """What comes after it needs the messages of an exchange, or writes where they came from."""

    __slots__ = ("start",)

    def __init__(self, start: StartExchange) -> None:
        self.start = start

    def run(self, state: State) -> None:
        """The part that begins here has waited already."""


def scheduled(communicator: Communicator, steps: Sequence[Step]) -> Schedule | None:
    """The steps of a program as parts, one after the other; ``None`` where it sends nothing.

    A part ends where an exchange begins, and another where it must be over.
    """
    parts: list[Part] = []
    here: list[Step] = []
    for step in steps:
        if isinstance(step, StartExchange):
            here.append(step)
            parts.append(Part(here, opens=step.arriving, sends=step.leaving))
            here = []
        elif isinstance(step, FinishExchange):
            if here:
                parts.append(Part(here))
                here = []
            for message in (*step.start.arriving, *step.start.leaving):
                message.readers = (len(parts),)
        else:
            here.append(step)
    if not parts:
        return None
    parts.append(Part(here))
    return Schedule(communicator, parts, [(k - 1,) if k else () for k in range(len(parts))])


class AcrossRanks:
    """Fold one value of each rank, in the order of the ranks, the same on all."""

    __slots__ = ("communicator", "gathering", "register", "ufunc")

    def __init__(self, register: int, ufunc: np.ufunc, communicator: Communicator) -> None:
        self.register = register
        self.ufunc = ufunc
        self.communicator = communicator
        self.gathering: Gathering | None = None

    def run(self, state: State) -> None:
        """Gather and fold."""
        mine = _array(state, self.register)
        gathering = self.gathering
        if gathering is None:
            gathering = self.gathering = Gathering(self.communicator, mine, "a reduction")
        every = gathering.run(mine)
        result = np.asarray(self.ufunc.reduce(every, axis=0, dtype=mine.dtype))
        if result.strides != mine.strides:
            copy = np.empty_like(mine)
            copy[...] = result
            result = copy
        state.registers[self.register] = Value(result)


class PositionAcrossRanks:
    """The position of the extreme element of all ranks."""

    __slots__ = ("communicator", "geometry", "name", "register")

    def __init__(
        self, register: int, name: str, communicator: Communicator, geometry: Geometry
    ) -> None:
        self.register = register
        self.name = name
        self.communicator = communicator
        self.geometry = geometry

    def run(self, state: State) -> None:
        """Gather and choose; a rank without elements has position -1."""
        position = int(_array(state, self.register).ravel()[0])
        extreme = np.asarray(state.extremes[self.register])
        found = np.zeros((), [("position", np.int64), ("extreme", extreme.dtype)])
        found["position"], found["extreme"] = position, extreme.reshape(())
        every = allgather(self.communicator, found, "a search")
        positions, extremes = every["position"], every["extreme"]
        have = np.flatnonzero(positions >= 0)
        have = have[np.argsort(positions[have], kind="stable")]
        best = positions[have[getattr(np, self.name)(extremes[have])]]
        state.registers[self.register] = Value(
            np.full(self.geometry.shape, best, self.geometry.dtype)
        )


class Localise:
    """Keep this rank's share of a value that every rank has computed."""

    __slots__ = ("geometry", "key", "register")

    def __init__(self, register: int, place: Any, geometry: Geometry) -> None:
        self.register = register
        self.geometry = geometry
        self.key = np.ix_(*[part.array() for part in place.layout.region(place.world.rank)])

    def run(self, state: State) -> None:
        """Keep the share."""
        value = allocate_array(self.geometry)
        value.array[...] = _array(state, self.register)[self.key]
        state.registers[self.register] = value


class AssignedPart:
    """One rank's part of a region of a scattered array: where it is in the block, and in the region."""

    __slots__ = ("order", "rows", "targets")

    def __init__(self, place: Any, region: Geometry, rank: int) -> None:
        axes = region.axes
        assert axes is not None
        self.targets: list[np.ndarray[Any, Any]] = []
        """For each axis of the array, local indices in the order of ``rows``."""
        self.rows: list[np.ndarray[Any, Any]] = [np.zeros(1, np.int64)] * region.ndim
        """For each axis of the region, ascending indices."""
        taken = [steps[0][0] for _, steps in axes if steps]
        self.order = taken + [k for k in range(region.ndim) if k not in taken]
        for part, (first, steps) in zip(place.layout.region(rank), axes, strict=True):
            indices = part.array()
            if not steps:
                self.targets.append(np.flatnonzero(indices == first))
                continue
            axis, step = steps[0]
            offsets = indices - first
            inside = (
                (offsets % step == 0)
                & (offsets // step >= 0)
                & (offsets // step < region.shape[axis])
            )
            rows = offsets[inside] // step
            order = np.argsort(rows)
            self.targets.append(np.flatnonzero(inside)[order])
            self.rows[axis] = rows[order]

    @property
    def is_empty(self) -> bool:
        """Whether the rank has nothing of the region."""
        return any(not len(target) for target in self.targets)

    def wanted(self, shape: tuple[int, ...]) -> tuple[IndexSet, ...]:
        """The indices of a value of some shape, broadcast to the region, that the rank needs."""
        if self.is_empty:
            return (EMPTY,) * len(shape)
        rows = self.rows[len(self.rows) - len(shape) :]
        return tuple(
            [Range(0, 1) if n == 1 else listed(row) for n, row in zip(shape, rows, strict=True)]
        )


class AssignLocally:
    """Write into this rank's part of a region of a scattered array.

    The value is a number, or a register with all of it, or with just what is needed (``cut``).
    """

    __slots__ = ("cut", "number", "part", "register", "source")

    def __init__(
        self,
        register: int,
        part: AssignedPart,
        source: int | None,
        number: int | None,
        *,
        cut: bool,
    ) -> None:
        self.register = register
        self.part = part
        self.source = source
        self.number = number
        self.cut = cut

    def run(self, state: State) -> None:
        """Write; the value is as wide as the region, or broadcasts to it."""
        array, part = _array(state, self.register), self.part
        if part.is_empty:
            return
        value: Any
        if self.source is None:
            value = state.scalars[self.number]  # type: ignore[index]
        else:
            value = _array(state, self.source)
            if not self.cut:
                rows = part.rows[len(part.rows) - value.ndim :]
                picked = [
                    np.zeros(1, np.int64) if n == 1 else r
                    for n, r in zip(value.shape, rows, strict=True)
                ]
                value = value[np.ix_(*picked)] if picked else value
            value = np.broadcast_to(value, [len(r) for r in part.rows])
            value = value.transpose(part.order).reshape([len(t) for t in part.targets])
        array[np.ix_(*part.targets)] = value


def _array(state: State, register: int) -> np.ndarray[Any, Any]:
    value = state.registers[register]
    assert value is not None
    return value.array
