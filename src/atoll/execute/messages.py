"""Messages of plans: what one other rank sends or receives at one time.

A message carries *pieces*: whole arrays of registers, or regions of them. One piece travels as it
is; several are packed into one stretch of bytes, each at a place that both sides work out alike
from shapes and dtypes. What arrives is received in place where the region lies in one stretch of
memory; it becomes the array of its register where that is a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import backend, policy
from ..comm.communicator import Communicator
from ..comm.persistent import HEAD, PersistentBuffer, PersistentBuffers
from ..graph.geometry import dense
from ..graph.node import Value

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]
Registers = Sequence["Value | None"]
Allocator = Callable[[int], Any]
"""From a number of bytes to writable memory: anything with the buffer protocol."""


_ALIGNED = 64


class Piece(NamedTuple):
    """An array in a message."""

    register: int
    """Where it is, or will be; ``-1`` where no step reads what arrives."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    key: Key | None = None
    """The region of the register's array; ``None``: all of it, whichever array that is."""
    cut: Key | None = None
    """What cuts communication padding off the register's array before ``key`` counts."""
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """How long it is."""
        size: int = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        return size

    @property
    def is_small(self) -> bool:
        """Whether it is packed together with others."""
        return self.nbytes <= policy.limits.packed and self.dtype.kind in "biufc"


class Message:
    """One message on the wire. ``tag`` counts from the base of its run."""

    __slots__ = ("nbytes", "peer", "pieces", "readers", "tag", "what")

    def __init__(self, peer: int, tag: int, pieces: Iterable[Piece], what: str) -> None:
        self.peer = peer
        self.tag = tag
        self.what = what
        """What it is for, which a wait that takes long will say."""
        placed, offset = [], 0
        for piece in pieces:
            placed.append(piece._replace(offset=offset))
            offset += -(-piece.nbytes // _ALIGNED) * _ALIGNED
        self.pieces = tuple(placed)
        self.nbytes = placed[0].nbytes if len(placed) == 1 else offset
        self.readers: tuple[int, ...] = ()
        """The parts that wait until it has arrived."""

    def views(self, memory: Array) -> Iterator[tuple[Piece, Array]]:
        """Each piece, with its place in the memory of the message."""
        for piece in self.pieces:
            yield piece, np.ndarray(piece.shape, piece.dtype, memory, piece.offset)

    def outgoing(self, registers: Registers) -> Array:
        """The array that is sent."""
        if len(self.pieces) == 1:
            first = self.pieces[0]
            array = _region(first, registers)
            return array if first.key is None else np.ascontiguousarray(array)
        memory = np.empty(self.nbytes, np.uint8)
        for piece, view in self.views(memory):
            view[...] = _region(piece, registers)
        return memory

    def nothing(self) -> Array:
        """What is sent where there is nothing to give: no bytes, unless the message has none anyway."""
        return np.empty(0, np.uint8 if self.nbytes else self.pieces[0].dtype)

    def memory(self, registers: Registers, allocator: Allocator | None) -> tuple[Array, bool]:
        """Where it is to arrive, and whether it is in its place then."""
        first = self.pieces[0]
        if len(self.pieces) > 1:
            if all(piece.key is not None for piece in self.pieces):
                return np.empty(self.nbytes, np.uint8), False
            return self._new((self.nbytes,), np.dtype(np.uint8), allocator), False
        if first.key is None:
            return self._new(first.shape, first.dtype, allocator), False
        if all(type(part) is slice for part in first.key):
            view = _region(first, registers)
            if view.flags.c_contiguous:
                return view, True
        return np.empty(first.shape, first.dtype), False

    def _new(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], allocator: Allocator | None
    ) -> Array:
        """Memory that stays: the arrays of registers are views of it."""
        if allocator is not None:
            return _given(allocator(self.nbytes), self.nbytes).view(dtype).reshape(shape)
        if dtype.kind in "biufc":
            return backend.current().allocate(dense(shape, dtype), self.what).array
        return np.empty(shape, dtype)

    def arrived(self, memory: Array, registers: list[Value | None]) -> None:
        """Put what arrived in its place."""
        if len(self.pieces) == 1:
            _put(self.pieces[0], memory, registers)
            return
        for piece, view in self.views(memory):
            _put(piece, view, registers)

    def __repr__(self) -> str:
        return f"<message with rank {self.peer}, tag {self.tag}: {self.what}>"


def _given(memory: Any, nbytes: int) -> Array:
    """The first bytes of memory that an allocator of the program gave."""
    found: Array = np.frombuffer(memory, np.uint8)
    if found.size < nbytes or not found.flags.writeable:
        kind = "read-only" if found.size >= nbytes else f"of {found.size} bytes"
        raise ValueError(f"allocator({nbytes}) gave memory that is {kind}; messages arrive in it")
    return found[:nbytes]


class PersistentExchange:
    """Messages in persistent buffers, whose memory is kept for the next run.

    ``direct`` are the registers of ghost regions that are read where they arrive.
    """

    __slots__ = ("_arriving", "_buffers", "_direct", "_leaving", "_packed", "_unpacked", "direct", "nbytes")  # fmt: skip

    def __init__(self, arriving: Sequence[Message], leaving: Sequence[Message]) -> None:
        self._arriving = tuple(arriving)
        self._leaving = tuple(leaving)
        self.direct: frozenset[int] = frozenset()
        self.nbytes = sum([message.nbytes for message in leaving])
        """How many bytes leave."""
        self._buffers: PersistentBuffers | None = None
        self._direct: list[tuple[int, Value]] = []
        """For each ghost region that is read where it arrives, the value over that memory."""
        self._packed: list[tuple[Array, int, tuple[Any, ...]]] = []
        """For each piece that leaves: its position in a persistent buffer, its register, and what to index with."""
        self._unpacked: list[tuple[Piece, Array]] = []

    def _made(self, communicator: Communicator) -> PersistentBuffers:
        coming, going = (
            [(one, PersistentBuffer(one.peer, one.nbytes, one.what)) for one in messages]
            for messages in (self._arriving, self._leaving)
        )
        for message, persistent in coming:
            for piece, view in message.views(persistent.buffer[HEAD:]):
                if piece.register in self.direct:
                    self._direct.append((piece.register, Value(view)))
                else:
                    self._unpacked.append((piece, view))
        for message, persistent in going:
            for piece, view in message.views(persistent.buffer[HEAD:]):
                keys = [() if piece.key is None else piece.key]
                if piece.cut is not None:
                    keys.insert(0, piece.cut)
                self._packed.append((view, piece.register, tuple([(*key, ...) for key in keys])))
        made = [[persistent for _, persistent in pairs] for pairs in (coming, going)]
        self._buffers = PersistentBuffers(communicator, *made)
        return self._buffers

    def begin(self, communicator: Communicator, registers: list[Value | None]) -> None:
        """Send, and begin to receive."""
        buffers = self._buffers or self._made(communicator)
        if buffers.under_way:
            buffers.ready()
        for register, value in self._direct:
            registers[register] = value
        for view, register, keys in self._packed:
            array = registers[register].array  # type: ignore[union-attr]
            for key in keys:
                array = array[key]
            view[...] = array
        buffers.begin()

    def end(self, registers: list[Value | None]) -> None:
        """All have come and gone: put in place what is not read where it is."""
        assert self._buffers is not None
        self._buffers.end()
        for piece, view in self._unpacked:
            _put(piece, view, registers)


def _region(piece: Piece, registers: Registers) -> Array:
    value = registers[piece.register]
    assert value is not None
    array = value.array
    if piece.cut is not None:
        array = array[piece.cut]
    return array if piece.key is None else array[(*piece.key, ...)]


def _put(piece: Piece, array: Array, registers: list[Value | None]) -> None:
    if piece.key is not None:
        value = registers[piece.register]
        assert value is not None
        value.array[piece.key] = array
    elif piece.register >= 0:
        registers[piece.register] = Value(array)
