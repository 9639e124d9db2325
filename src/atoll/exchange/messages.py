"""Messages: packing, posting, waiting and unpacking.

A message carries *pieces*: whole arrays of registers, or regions of them. A single piece travels
unpacked. Several pieces are packed into one buffer, each at an offset that both ends compute from
shapes and dtypes. A single piece is received in place if its region is contiguous in memory. A
whole array becomes the array of its register on arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .. import backend, policy
from ..comm.communicator import Communicator, Pending, Request
from ..context import statistics
from ..graph.geometry import dense
from ..graph.node import Value

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]
Registers = Sequence["Value | None"]
Allocator = Callable[[int], Any]
"""A function from a number of bytes to writable memory: any object with the buffer protocol."""


_ALIGNED = 64
_nbytes = attrgetter("nbytes")


class Piece(NamedTuple):
    """An array in a message."""

    register: int
    """The register of the array; ``-1`` where no step reads the arriving array."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    key: Key | None = None
    """The region of the register's array; ``None`` for the whole array."""
    offset: int = 0
    peer: int = -1
    """The rank at the other end."""
    tag: int = 0
    """Equal at both ends, for pieces of one neighbour that travel alone."""

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def is_small(self) -> bool:
        """True if it is packed together with others."""
        return self.nbytes <= policy.limits.packed and self.dtype.kind in "biufc"


class Message:
    """One message on the wire. ``tag`` counts from the base of its run."""

    __slots__ = ("nbytes", "peer", "pieces", "readers", "tag", "what")

    def __init__(self, peer: int, tag: int, pieces: Iterable[Piece], what: str) -> None:
        self.peer = peer
        self.tag = tag
        self.what = what
        """The purpose of the message, which the report of a long wait includes."""
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
            array = region_of(first, registers)
            return array if first.key is None else np.ascontiguousarray(array)
        memory = np.empty(self.nbytes, np.uint8)
        for piece, view in self.views(memory):
            view[...] = region_of(piece, registers)
        return memory

    def nothing(self) -> Array:
        """The empty array to send where a failure leaves no data: of bytes, or of the message's dtype if that is empty as well."""
        return np.empty(0, np.uint8 if self.nbytes else self.pieces[0].dtype)

    def memory(self, registers: Registers, allocator: Allocator | None) -> tuple[Array, bool]:
        """The memory to receive into, and True if that is the region of the array itself."""
        first = self.pieces[0]
        if len(self.pieces) > 1:
            if all(piece.key is not None for piece in self.pieces):
                return np.empty(self.nbytes, np.uint8), False
            return self._new((self.nbytes,), np.dtype(np.uint8), allocator), False
        if first.key is None:
            return self._new(first.shape, first.dtype, allocator), False
        if all(type(part) is slice for part in first.key):
            view = region_of(first, registers)
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
        """Put the arrived data in place."""
        if len(self.pieces) == 1:
            put(self.pieces[0], memory, registers)
            return
        for piece, view in self.views(memory):
            put(piece, view, registers)

    def __repr__(self) -> str:
        return f"<message with rank {self.peer}, tag {self.tag}: {self.what}>"


def _given(memory: Any, nbytes: int) -> Array:
    """The first bytes of memory from an allocator of the program."""
    memory_bytes: Array = np.frombuffer(memory, np.uint8)
    if memory_bytes.size < nbytes or not memory_bytes.flags.writeable:
        kind = "read-only" if memory_bytes.size >= nbytes else f"of {memory_bytes.size} bytes"
        raise ValueError(f"allocator({nbytes}) gave memory that is {kind}; messages arrive in it")
    return memory_bytes[:nbytes]


def region_of(piece: Piece, registers: Registers) -> Array:
    value = registers[piece.register]
    assert value is not None
    return value.array if piece.key is None else value.array[(*piece.key, ...)]


def put(piece: Piece, array: Array, registers: list[Value | None]) -> None:
    if piece.key is not None:
        value = registers[piece.register]
        assert value is not None
        value.array[piece.key] = array
    elif piece.register >= 0:
        registers[piece.register] = Value(array)


Posting = tuple[Array, int, int, str]
"""The array of a message, its peer, its tag, and its purpose."""


def post(
    communicator: Communicator, receives: Iterable[Posting], sends: Iterable[Posting]
) -> list[Request]:
    """Post messages, the receives first; their tags count from the tag of the step."""
    base = communicator.log.tag
    requests = [
        communicator.irecv(array, peer, base + tag, what) for array, peer, tag, what in receives
    ]
    requests += [
        communicator.isend(array, peer, base + tag, what) for array, peer, tag, what in sends
    ]
    return requests


def completed(communicator: Communicator, requests: Sequence[Request]) -> Iterator[int]:
    """The numbers of the requests, each as soon as it is done."""
    pending = Pending(communicator, [(request, k) for k, request in enumerate(requests)])
    while pending:
        yield from [number for _, number in pending.wait()]


def exchange(
    communicator: Communicator,
    outgoing: Mapping[int, Array],
    incoming: Mapping[int, Array],
    what: str,
) -> None:
    """Send arrays to some ranks while arrays of others arrive; both ends know the sizes."""
    communicator.log.check(what)
    if outgoing:
        statistics.sent(len(outgoing), sum(map(_nbytes, outgoing.values())))
    communicator.exchange(outgoing, incoming, communicator.log.tag, what)
