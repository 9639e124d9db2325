"""Steps that communicate: ghost regions, reductions over ranks, and each rank's own share.

An *exchange* fills ghost regions. It begins with one step, which posts all receives and sends, and is over with
another; between the two stand the steps that need none of its ghost regions, and run while the messages are on
their way. Most exchanges use *persistent buffers*, kept with the program: then both steps are a few
calls, and a ghost region that comes in one piece is read in the memory where it arrives.

Full folds end in one small message to all: the partial results of several reductions, whichever loops
they come from, are gathered together (:class:`AcrossRanks`).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .. import backend, policy
from ..comm.communicator import Communicator, Request
from ..comm.in_step import Gathering, refused
from ..context import statistics
from ..context.divergence import MESSAGE_BITS
from ..errors import CommunicationError
from ..graph.geometry import Geometry
from ..graph.node import Value
from ..layout import EMPTY, IndexSet, Range, listed
from .messages import Array, Message, PersistentExchange, Piece
from .parts import State

Key = tuple[Any, ...]

MESSAGES = 1 << MESSAGE_BITS
"""How many ghost regions of one step have tags of their own; others match in the order of posting."""


WHAT = "a halo or a piece of an array"


class Incoming(NamedTuple):
    """A piece of a ghost region that another rank sends."""

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
    """A piece of a ghost region that this rank owns."""

    source: int
    source_key: Key
    register: int
    key: Key


class StartExchange:
    """Post the messages that fill ghost regions. They are under way from here to :class:`FinishExchange`.

    Where the program is run again (``lasting``), a ghost region may lie in a persistent buffer.
    """

    __slots__ = (
        "allocate",
        "arriving",
        "communicator",
        "cuts",
        "fresh",
        "gathered",
        "incoming",
        "inside",
        "late",
        "leaving",
        "outgoing",
        "persistent",
        "requests",
        "sends",
    )

    def __init__(
        self,
        communicator: Communicator,
        allocate: list[tuple[int, Geometry]],
        incoming: list[Incoming],
        outgoing: list[Outgoing],
        inside: list[Inside],
        cuts: Mapping[int, Key],
        dtypes: Mapping[int, np.dtype[Any]],
        *,
        lasting: bool,
    ) -> None:
        self.communicator = communicator
        self.requests: list[Request] = []
        """The requests under way, other than those of persistent buffers."""
        self.allocate = allocate
        self.incoming = incoming
        self.outgoing = outgoing
        self.inside = inside
        self.cuts = cuts
        """For arrays with communication padding, what cuts it off."""
        self.arriving, coming = _messages(
            [
                (one, Piece(one.register, one.shape, dtypes[one.register], one.key))
                for one in incoming
            ]
        )
        """The large messages."""
        self.leaving, going = _messages(
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
        self.persistent = PersistentExchange(coming, going) if coming or going else None
        """The small ones."""
        self.late: list[Array | None] = []
        """For each message under way to here, what is to be put in place when it has arrived."""
        self.gathered = 0
        """The bytes of a whole array, where this brings one together."""
        self.sends = len(self.leaving) + len(going)
        self.fresh = allocate
        """The ghost regions that need memory of their own."""
        if lasting and self.persistent is not None:
            direct = self.persistent.direct = self._direct(coming)
            self.fresh = [one for one in allocate if one[0] not in direct]

    def _direct(self, coming: Sequence[Message]) -> frozenset[int]:
        """The ghost regions that arrive in one piece, in a persistent buffer, and may be read there."""
        within = {one.register for one in self.inside}
        pieces: dict[int, int] = {}
        for one in self.incoming:
            pieces[one.register] = pieces.get(one.register, 0) + 1
        forms = dict(self.allocate)
        return frozenset(
            [
                piece.register
                for message in coming
                for piece in message.pieces
                if pieces[piece.register] == 1
                and piece.register not in within
                and forms[piece.register].shape == piece.shape
                and forms[piece.register].c_contiguous
                and all(type(part) is slice and part.step in (None, 1) for part in piece.key or ())
            ]
        )

    def uses(self) -> set[int]:
        """The registers that must live until the exchange is over."""
        return (
            {register for register, _ in self.allocate}
            | {one.register for one in self.outgoing}
            | {one.source for one in self.inside}
        )

    def run(self, state: State) -> None:
        """Allocate, and post."""
        registers = state.registers
        for register, geometry in self.fresh:
            registers[register] = backend.current().allocate(geometry)
        if self.gathered:
            statistics.add("gathered", self.gathered)
        buffers, moved = self.persistent, 0
        try:
            if buffers is not None:
                buffers.begin(self.communicator, registers)
                moved = buffers.nbytes
            if self.arriving or self.leaving:
                moved += self._post(registers)
        except CommunicationError as error:
            refused(self.communicator, error)
        state.messages += self.sends
        state.moved += moved

    def _post(self, registers: list[Value | None]) -> int:
        """Post the large messages; how many bytes leave."""
        communicator = self.communicator
        self.requests = requests = []
        late: list[Array | None] = []
        self.late = late
        moved = 0
        for message in self.arriving:
            memory, there = message.memory(registers, None)
            tag = communicator.log.tag + message.tag
            requests.append(communicator.irecv(memory, message.peer, tag, message.what))
            late.append(None if there else memory)
        for message in self.leaving:
            array = message.outgoing(registers)
            tag = communicator.log.tag + message.tag
            requests.append(communicator.isend(array, message.peer, tag, message.what))
            moved += array.nbytes
        return moved

    def finish(self, state: State) -> None:
        """Wait until all have come and gone, and put what arrives in place."""
        try:
            if self.persistent is not None:
                self.persistent.end(state.registers)
            if self.requests:
                self._take(state.registers)
        except CommunicationError as error:
            refused(self.communicator, error)

    def _take(self, registers: list[Value | None]) -> None:
        """Put the large messages in place as they arrive."""
        requests, arriving = self.requests, self.arriving
        waiting = list(range(len(requests)))
        while waiting:
            done = self.communicator.wait_some([requests[k] for k in waiting])
            for k in [waiting[place] for place in done]:
                if k < len(arriving):
                    memory = self.late[k]
                    if memory is not None:
                        arriving[k].arrived(memory, registers)
            gone = set(done)
            waiting = [k for place, k in enumerate(waiting) if place not in gone]
        self.requests, self.late = [], []


def _messages(
    moving: Sequence[tuple[Incoming | Outgoing, Piece]],
) -> tuple[list[Message], list[Message]]:
    """One message for all pieces of a neighbour, unless they are large: those, and the small ones.

    Both ends agree on it.
    """
    peers: dict[int, list[tuple[Incoming | Outgoing, Piece]]] = {}
    for one, piece in moving:
        peers.setdefault(one.peer, []).append((one, piece))
    large: list[Message] = []
    small: list[Message] = []
    for peer, some in peers.items():
        nbytes = sum([piece.nbytes for _, piece in some])
        if nbytes <= policy.limits.joined:
            pieces = [piece for _, piece in some]
            message = Message(peer, some[0][0].tag % MESSAGES, pieces, WHAT)
            (small if nbytes <= policy.limits.parcel else large).append(message)
        else:
            large += [Message(peer, one.tag % MESSAGES, (piece,), WHAT) for one, piece in some]
    return large, small


class CopyInside:
    """Copy those pieces of ghost regions that this rank owns, while the others travel."""

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
        """Wait."""
        self.start.finish(state)


class Fold:
    """A value of each rank, folded in the order of the ranks, the same on all."""

    __slots__ = ("name", "register", "ufunc")

    def __init__(self, register: int, ufunc: np.ufunc) -> None:
        self.register = register
        self.ufunc = ufunc
        self.name = ufunc.__name__

    def given(self, state: State) -> Array:
        """What this rank gives."""
        return _array(state, self.register)

    def joined(self, every: Array) -> Array:
        """The result, from what each rank has given."""
        if self.ufunc is np.add and every.ndim == 1 and every.dtype == _DOUBLE:
            total = reduce(operator.add, every.tolist())
            if total - total == 0.0:  # else NumPy says what overflowed, or is no number
                return np.array(total)
        result: Array = np.empty_like(every[0])
        if len(every) == 2:
            self.ufunc(every[0], every[1], out=result)
        else:
            self.ufunc.reduce(every, 0, every.dtype, result)
        return result


_DOUBLE = np.dtype(np.float64)


class Position:
    """The position of the extreme element of all ranks."""

    __slots__ = ("geometry", "name", "register")

    def __init__(self, register: int, name: str, geometry: Geometry) -> None:
        self.register = register
        self.name = name
        self.geometry = geometry

    def given(self, state: State) -> Array:
        """This rank's position, and what is there; a rank without elements has position -1."""
        extreme = np.asarray(state.extremes[self.register])
        found = np.zeros((), [("position", np.int64), ("extreme", extreme.dtype)])
        found["position"] = _array(state, self.register).ravel()[0]
        found["extreme"] = extreme.reshape(())
        return found

    def joined(self, every: Array) -> Array:
        """The first position of the extreme one of all."""
        positions, extremes = every["position"], every["extreme"]
        have = np.flatnonzero(positions >= 0)
        have = have[np.argsort(positions[have], kind="stable")]
        best = positions[have[getattr(np, self.name)(extremes[have])]]
        return np.full(self.geometry.shape, best, self.geometry.dtype)


class AcrossRanks:
    """Join small values of all ranks, by one message to all."""

    __slots__ = ("_rows", "communicator", "gathering", "joins")

    def __init__(self, communicator: Communicator, joins: Sequence[Fold | Position]) -> None:
        self.communicator = communicator
        self.joins = tuple(joins)
        self.gathering: Gathering | None = None
        self._rows: list[tuple[Fold | Position, Array, Array, memoryview | None]] = []
        """For each join the places of what this rank gives and what all have given, and the first as one number."""

    def _begun(self, state: State) -> Gathering:
        given = [join.given(state) for join in self.joins]
        forms = [(mine.shape, mine.dtype) for mine in given]
        gathering = self.gathering = Gathering(self.communicator, forms)
        self._rows = [
            (
                join,
                place,
                found,
                place.data if place.shape == () and place.dtype == _DOUBLE else None,
            )
            for join, place, found in zip(self.joins, gathering.given, gathering.found, strict=True)
        ]
        return gathering

    def run(self, state: State) -> None:
        """Gather, and join."""
        gathering = self.gathering or self._begun(state)
        for join, place, _, number in self._rows:
            if number is None:
                place[...] = join.given(state)
            else:
                number[()] = join.given(state).item()
        gathering.run("a reduction")
        for join, _, found, _ in self._rows:
            state.registers[join.register] = Value(join.joined(found))


class Localise:
    """Keep this rank's share of a value that every rank has computed."""

    __slots__ = ("geometry", "inside", "key", "register")

    def __init__(self, register: int, place: Any, geometry: Geometry) -> None:
        self.register = register
        self.geometry = geometry
        rank = place.world.rank
        self.key = np.ix_(*[part.array() for part in place.layout.region(rank)])
        self.inside = place.layout.inside(rank)

    def run(self, state: State) -> None:
        """Keep the share."""
        value = backend.current().allocate(self.geometry)
        value.array[self.inside] = _array(state, self.register)[self.key]
        state.registers[self.register] = value


class AssignedPart:
    """One rank's part of a region of a scattered array: where it is in the block, and in the region."""

    __slots__ = ("inside", "order", "rows", "targets")

    def __init__(self, place: Any, region: Geometry, rank: int) -> None:
        axes = region.axes
        assert axes is not None
        self.inside = place.layout.inside(rank)
        """What cuts the padding off the block."""
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
        part = self.part
        if part.is_empty:
            return
        array = _array(state, self.register)[part.inside]
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
