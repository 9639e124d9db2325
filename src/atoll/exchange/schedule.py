"""Exchanges: the messages of one rank that fill regions of arrays, sent and received together.

An exchange *begins* by posting all receives and sends, and by copying the pieces that the rank owns itself. It *finishes* by
waiting for the messages and unpacking them; work that needs none of the regions runs in between. A program repeats its
exchanges, so their small messages have persistent buffers: beginning and finishing take a few calls, and a ghost region that
arrives in one piece is read in the buffer itself.

A region that many ranks read passes through some of them (:mod:`.broadcasts`). In a *stage* of the exchange, a rank receives it from
another one and passes it on: two exchanges, of which the first begins with the whole exchange. Then the whole one ends, and stage by
stage the first one ends and the second one begins. The ranks take their stages in one order, so no two wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .. import backend, policy
from ..comm.communicator import Communicator, Request
from ..comm.in_step import refused
from ..comm.persistent import PersistentBuffer, PersistentBuffers, length_of
from ..comm.waiting import SPINS
from ..context import statistics
from ..context.divergence import MESSAGE_BITS
from ..errors import CommunicationError
from ..graph.geometry import Geometry
from ..graph.node import Value
from ..layout import Transfer
from .messages import Array, Key, Message, Piece, completed, post, put, region_of

MESSAGES = 1 << MESSAGE_BITS
"""The number of tags for ghost regions of one step; regions that share a tag match in the order of posting."""
WHAT = "a halo or a piece of an array"
Memory = list["Value | None"]
"""The values of registers."""


class Copy(NamedTuple):
    """A piece of a region that this rank owns."""

    source: int
    source_key: Key
    register: int
    key: Key


Pieces = tuple[list[Piece], list[Piece], list[Copy]]
"""The pieces that a rank receives, sends, and copies from its own share."""


Stage = list[list[Piece]]
"""The pieces that a rank receives from ranks that pass regions on, and the pieces that it passes on then."""


def pieces_of(transfer: Transfer[Any], dtype: np.dtype[Any], source: int, target: int) -> Pieces:
    """The pieces of a transfer from the array of one register to that of another."""
    return (
        [Piece(target, r.shape, dtype, r.target_key, peer=r.peer) for r in transfer.receives],
        [Piece(source, r.shape, dtype, r.source_key, peer=r.peer) for r in transfer.sends],
        [Copy(source, r.source_key, target, r.target_key) for r in transfer.local],
    )


def registers_of(
    allocate: Iterable[tuple[int, Any]], sends: Iterable[Piece], copies: Iterable[Copy]
) -> set[int]:
    """The registers that must live until an exchange is finished."""
    sources = {piece.register for piece in sends} | {copy.source for copy in copies}
    return sources | {register for register, _ in allocate}


@dataclass(slots=True, eq=False)
class Run:
    """One run of an exchange."""

    registers: Memory


class Exchange:
    """One rank's messages and copies. ``lasting`` is true if they will be repeated.

    ``allocate`` has the registers of the regions in new memory, with their geometries.
    """

    __slots__ = (
        "_buffers", "_coming", "_direct", "_fresh", "_going", "_in_place", "_large", "_late", "_packed", "_requests", "_unpacked",
        "allocate", "communicator", "copies", "gathered", "nbytes", "receives", "sends", "sent", "stages",
    )  # fmt: skip

    def __init__(
        self,
        communicator: Communicator,
        allocate: Sequence[tuple[int, Geometry]],
        receives: Sequence[Piece],
        sends: Sequence[Piece],
        copies: Sequence[Copy] = (),
        stages: Sequence[Stage] = (),
        *,
        lasting: bool = True,
        what: str = WHAT,
    ) -> None:
        self.communicator = communicator
        self.allocate, self.receives, self.sends, self.copies = allocate, receives, sends, copies
        self._coming: list[Message]
        self._going: list[Message]
        large_in, self._coming = _messages(receives, what, lasting)
        large_out, self._going = _messages(sends, what, lasting)
        self._large = large_in, large_out
        """The messages that are posted one by one; the others have persistent buffers."""
        self._requests: list[Request] = []
        self._late: list[Array | None] = []
        """For each large message that arrives, the memory to be put in place then, if any."""
        self.gathered = 0
        """The bytes of the whole array that this exchange gathers, or 0."""
        self.sent = len(large_out) + len(self._going)
        """The number of messages that leave."""
        self.nbytes = sum([message.nbytes for message in (*large_out, *self._going)])
        """The number of bytes that leave."""
        self.stages = [self._stage(stage, what, lasting) for stage in stages]
        """For each stage, the exchange in which regions arrive, and the one in which they are passed on."""
        self._in_place = self._read_in_place()
        elsewhere = {form[0] for arrival, _ in self.stages for form in arrival.allocate}
        self._fresh = [form for form in allocate if form[0] not in self._in_place | elsewhere]
        self._buffers: PersistentBuffers | None = None
        self._direct: list[tuple[int, Value]] = []
        """For each region that is read in the buffer where it arrives, its register, and the value over that memory."""
        self._unpacked: list[tuple[Piece, Array]] = []
        """For each piece that is unpacked, its array in the buffer where it arrives."""
        self._packed: list[tuple[Piece, Array]] = []
        """For each piece that leaves in a buffer, its array there."""

    def _stage(self, stage: Stage, what: str, lasting: bool) -> tuple[Exchange, Exchange]:
        late, onward = stage
        registers, here = {piece.register for piece in late}, self.communicator
        allocate = [form for form in self.allocate if form[0] in registers]
        return (
            Exchange(here, allocate, late, (), lasting=lasting, what=what),
            Exchange(here, (), (), onward, lasting=lasting, what=what),
        )

    def _read_in_place(self) -> frozenset[int]:
        """The regions that arrive in one piece, in a persistent buffer, and may be read there."""
        copied = {copy.register for copy in self.copies}
        pieces: dict[int, int] = {}
        for piece in self.receives:
            pieces[piece.register] = pieces.get(piece.register, 0) + 1
        forms = dict(self.allocate)
        return frozenset(
            [
                piece.register
                for message in self._coming
                for piece in message.pieces
                if pieces[piece.register] == 1
                and piece.register not in copied
                and forms[piece.register].shape == piece.shape
                and forms[piece.register].c_contiguous
                and all(type(part) is slice and part.step in (None, 1) for part in piece.key or ())
            ]
        )

    @property
    def is_empty(self) -> bool:
        """True if it moves nothing, but for its stages."""
        return not (self.receives or self.sends or self.copies or self._fresh or self.gathered)

    def uses(self) -> set[int]:
        """The registers that must live until the exchange is finished."""
        return registers_of(self.allocate, self.sends, self.copies)

    def begun(self) -> list[Exchange]:
        """The exchanges with which it begins: itself, and those in which the regions of its stages arrive."""
        return [self, *[late for late, _ in self.stages]]

    def ended(self) -> list[tuple[Exchange, bool]]:
        """The exchanges that end, and with True those that begin, in the order that ends all of it."""
        order = [(self, False)]
        for late, onward in self.stages:
            order += [(late, False), (onward, True)]
        return order + [(onward, False) for _, onward in self.stages]

    def with_stages(self) -> list[Exchange]:
        """The exchange, and those of its stages."""
        return [self, *[each for stage in self.stages for each in stage]]

    def all_pieces(self) -> tuple[list[Piece], list[Piece]]:
        """The arriving and the leaving pieces, those of its stages included."""
        exchanges = self.with_stages()
        return (
            [piece for each in exchanges for piece in each.receives],
            [piece for each in exchanges for piece in each.sends],
        )

    def messages(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The arriving and the leaving messages: the peer of each, and its bytes, header included."""
        ends = zip(self._large, (self._coming, self._going), strict=True)
        arriving, leaving = [
            [(m.peer, m.nbytes) for m in large] + [(m.peer, length_of(m.nbytes)) for m in small]
            for large, small in ends
        ]
        for arrival, onward in self.stages:
            arriving += arrival.messages()[0]
            leaving += onward.messages()[1]
        return arriving, leaving

    def begin(self, state: Run) -> None:
        """Allocate, post the messages, and copy the pieces that this rank owns."""
        registers = state.registers
        for register, geometry in self._fresh:
            registers[register] = backend.current().allocate(geometry)
        if self.gathered:
            statistics.add("gathered", self.gathered)
        try:
            if self._coming or self._going:
                buffers = self._buffers or self._set_up()
                buffers.open()
                for register, value in self._direct:
                    registers[register] = value
                for piece, view in self._packed:
                    view[...] = region_of(piece, registers)
                buffers.begin()
            if self._large != ([], []):
                self._post(registers)
        except CommunicationError as error:
            refused(self.communicator, error)
        for source, source_key, register, key in self.copies:
            share, region = registers[source], registers[register]
            assert share is not None
            assert region is not None
            region.array[key] = share.array[source_key]
        statistics.sent(self.sent, self.nbytes)

    def _set_up(self) -> PersistentBuffers:
        """Make the persistent buffers."""
        arriving, leaving = [
            [PersistentBuffer(m.peer, m.nbytes, m.what) for m in messages]
            for messages in (self._coming, self._going)
        ]
        kind = self.communicator.buffers or PersistentBuffers
        return self._use(kind(self.communicator, arriving, leaving))

    def _use(self, buffers: PersistentBuffers) -> PersistentBuffers:
        """Locate each piece in persistent buffers."""
        for message, persistent in zip(self._coming, buffers.arriving, strict=True):
            for piece, view in message.views(persistent.data):
                if piece.register in self._in_place:
                    self._direct.append((piece.register, Value(view)))
                else:
                    self._unpacked.append((piece, view))
        for message, persistent in zip(self._going, buffers.leaving, strict=True):
            self._packed += message.views(persistent.data)
        self._buffers = buffers
        return buffers

    def follow(self, other: Exchange) -> bool:
        """Take the place of another exchange, and use its persistent buffers where messages have the same lengths; ``False`` if one of the
        two moves nothing, or has no such stages."""
        if self.is_empty is not other.is_empty or len(self.stages) != len(other.stages):
            return False
        buffers = other._buffers
        if buffers and _fit(self._coming, buffers.arriving) and _fit(self._going, buffers.leaving):
            self._use(buffers)
        later = zip(chain(*self.stages), chain(*other.stages), strict=True)
        return all(new.follow(old) for new, old in later)

    def told(self, *, starts: bool) -> tuple[tuple[int, ...], tuple[Any, ...]] | None:
        """The begin or the finish for the native evaluation: registers, and further data; ``None`` leaves it to Python."""
        if self._large != ([], []) or self.copies or self._fresh or self.gathered:
            return None
        buffers = self._buffers or self._set_up()
        operations = buffers.told(starts=starts) if self._coming or self._going else None
        pieces = self._packed if starts else self._unpacked
        if operations is None or not all(piece.key for piece, _ in pieces):
            return None
        moved = tuple([((*(piece.key or ()), ...), view) for piece, view in pieces])
        direct = self._direct if starts else []
        marked = tuple([each.buffer for each in (buffers.leaving if starts else buffers.arriving)])
        registers = tuple([piece.register for piece, _ in pieces] + [k for k, _ in direct])
        values = tuple([value for _, value in direct])
        ways = buffers.failed, buffers.verify, buffers, marked, moved, values  # type: ignore[attr-defined]
        return registers, (*ways, self.sent, self.nbytes, SPINS, *operations)

    def _post(self, registers: Memory) -> None:
        arriving, leaving = self._large
        memory = [message.memory(registers, None) for message in arriving]
        self._late = [None if in_place else array for array, in_place in memory]
        self._requests = post(
            self.communicator,
            [(a, m.peer, m.tag, m.what) for (a, _), m in zip(memory, arriving, strict=True)],
            [(m.outgoing(registers), m.peer, m.tag, m.what) for m in leaving],
        )

    def finish(self, state: Run) -> None:
        """Wait until all messages have arrived and left, and unpack them."""
        try:
            if self._buffers is not None:
                self._buffers.end()
                for piece, view in self._unpacked:
                    put(piece, view, state.registers)
            if self._requests:
                self._take(state.registers)
        except CommunicationError as error:
            refused(self.communicator, error)

    def _take(self, registers: Memory) -> None:
        arriving, _ = self._large
        for k in completed(self.communicator, self._requests):
            memory = self._late[k] if k < len(arriving) else None
            if memory is not None:
                arriving[k].arrived(memory, registers)
        self._requests, self._late = [], []

    def run(self, registers: Memory) -> None:
        """Begin and finish, outside of a program. Collective."""
        run = Run(registers)
        for each in self.begun():
            each.begin(run)
        for each, begins in self.ended():
            (each.begin if begins else each.finish)(run)


def _fit(messages: Sequence[Message], buffers: Sequence[PersistentBuffer]) -> bool:
    """True if messages go through these buffers."""
    known = [(buffer.peer, buffer.nbytes) for buffer in buffers]
    return [(each.peer, length_of(each.nbytes)) for each in messages] == known


def _messages(
    pieces: Sequence[Piece], what: str, lasting: bool
) -> tuple[list[Message], list[Message]]:
    """The large and the small messages: one for all pieces of a neighbour, or one for each piece if these are large.

    Both ends decide alike. Only a ``lasting`` exchange has small messages.
    """
    peers: dict[int, list[Piece]] = {}
    for piece in pieces:
        peers.setdefault(piece.peer, []).append(piece)
    large: list[Message] = []
    small: list[Message] = []
    limits = policy.limits
    for peer, some in peers.items():
        nbytes = sum([piece.nbytes for piece in some])
        if nbytes <= limits.cached:
            message = Message(peer, some[0].tag % MESSAGES, some, what)
            (small if lasting and nbytes <= limits.packed else large).append(message)
        else:
            large += [Message(peer, piece.tag % MESSAGES, (piece,), what) for piece in some]
    return large, small
