"""Memory that the ranks of a node fill together, and that each rank then reads without a copy.

The first rank of a node makes the memory, and the others map it. Once all have written their parts, each rank has the
whole, for reading only. So a node holds one copy of the data that its ranks read. Fresh memory is expensive, so some pieces
are kept. With the message by which ranks wait for each other they tell which pieces they have released, so the next array takes a piece that
all have released, or a new one.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from .. import policy, system
from ..config import config
from ..context.caches import Living
from .communicator import Array, Communicator
from .in_step import are_few, carried, every_here
from .segments import mapped_by_rank, named_memory, without_name

_PATH = 256
"""The length of a message with a path, in bytes."""

_KEPT = 2
"""The number of pieces of memory that are kept."""


class _Piece:
    """Memory of the node as this rank has it: mapped to be filled, and to be read."""

    __slots__ = ("_reader", "filled", "nbytes", "read")

    def __init__(self, file: int, nbytes: int) -> None:
        self.nbytes = nbytes
        self.filled = np.frombuffer(mmap.mmap(file, nbytes), np.uint8)
        self.read = mmap.mmap(file, nbytes, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
        self._reader: Callable[[], Any] | None = None

    @property
    def is_free(self) -> bool:
        """True if no array of this rank shows it any more."""
        return self._reader is None or self._reader() is None

    def keep(self) -> None:
        """Let the piece never be free again if an array shows it: a forked child has that array as well."""
        if not self.is_free:
            self._reader = lambda: self

    def lent(self, nbytes: int) -> Array:
        """The bytes, for reading; views of the result keep it alive, and so the piece in use."""
        reader: Array = np.ndarray(nbytes, np.uint8, self.read)
        self._reader = weakref.ref(reader)
        return reader


_memories: Living[NodeMemory] = Living()


def _keep_for_the_child() -> None:
    for memory in list(_memories):
        for piece in memory._kept.values():
            piece.keep()


os.register_at_fork(before=_keep_for_the_child)


class NodeMemory:
    """The memory that the ranks of this node share, as one rank has it. ``works`` is true if they can share memory."""

    def __init__(self, communicator: Communicator) -> None:
        self.communicator = communicator
        self._mates = communicator.nodes.ranks(communicator.nodes.of(communicator.rank))
        self._first = self._mates[0]
        self._leads = communicator.rank == self._first
        self._others = self._mates[1:] if self._leads else ()
        """On the first rank of the node, its other ranks."""
        self._kept: dict[int, _Piece] = {}
        self._free = 0
        """The kept pieces, as bits, that all ranks of the node have released, as far as they have told each other."""
        _memories.add(self)
        what = "whether the ranks of a node share memory"
        _, self.works = mapped_by_rank(communicator, 0, [self._first], what)

    def filled(self, nbytes: int, fill: Callable[[Array], None], what: str) -> Array | None:
        """``nbytes`` bytes that all ranks of the node fill together by ``fill``, for reading, as a part of the last step; ``None`` where
        so little is not worth new memory that is not kept. Collective."""
        piece = self._piece(nbytes, what)
        if piece is None:
            return None
        fill(piece.filled[:nbytes])
        reader = piece.lent(nbytes)
        if are_few(self.communicator):  # one message, and it is verified
            every = every_here(self.communicator, self._released(), what)
            self._free = reduce(and_, [every[mate] for mate in self._mates])
        else:
            self._agree(what)
        return reader

    def _piece(self, nbytes: int, what: str) -> _Piece | None:
        """Memory to fill. Before ranks make much more memory, they tell each other which pieces they have released."""
        number = self._fitting(nbytes)
        if number < 0 and (nbytes > policy.limits.cached or len(self._kept) == _KEPT):
            self._agree(what)
            number = self._fitting(nbytes)
        return self._made(nbytes, what) if number < 0 else self._kept[number]

    def _fitting(self, nbytes: int) -> int:
        """The number of a free piece of about this length; -1 if there is none."""
        most = max(2 * nbytes, policy.limits.cached)
        for number, piece in self._kept.items():
            if self._free >> number & 1 and nbytes <= piece.nbytes <= most:
                return number
        return -1

    def _released(self) -> int:
        """The pieces, as bits, that this rank has released."""
        return sum([1 << number for number, piece in self._kept.items() if piece.is_free])

    def _agree(self, what: str) -> None:
        """Find the pieces that all ranks of the node have released."""
        mine = np.array([self._released()], np.int64)
        np.bitwise_and.reduce([mine, *self._to_first(mine, what)], out=mine)
        self._from_first(mine, what)
        self._free = int(mine[0])

    def _made(self, nbytes: int, what: str) -> _Piece | None:
        """New memory, which is kept if there is room for it."""
        header = np.zeros(16 + _PATH, np.uint8)
        file, path, least = -1, "", policy.limits.cached
        if self._leads:
            number = self._place(max(nbytes, least))
            if number >= 0 or nbytes >= least:
                nbytes = max(nbytes, least)
                path, file = named_memory(nbytes)
                system.reserve(file, 0, nbytes)
            header[:16].view(np.int64)[:] = number, nbytes
            header[16 : 16 + len(path)] = np.frombuffer(path.encode(), np.uint8)
        self._from_first(header, what)
        number, nbytes = header[:16].view(np.int64).tolist()
        if number < 0 and nbytes < least:
            return None
        if file < 0:
            file = os.open(bytes(header[16:]).rstrip(b"\0").decode(), os.O_RDWR)
        piece = _Piece(file, nbytes)
        self._to_first(np.zeros(1, np.uint8), what)  # all have opened it
        os.close(file)
        if path:
            without_name(path)
        if number >= 0:
            self._kept[number] = piece
        return piece

    def _place(self, nbytes: int) -> int:
        """The number under which to keep new memory; -1 if there is no room for it."""
        if nbytes * _KEPT > config.cache_bytes:
            return -1
        places = [k for k in range(_KEPT) if k not in self._kept or self._free >> k & 1]
        return places[0] if places else -1

    def _to_first(self, message: Array, what: str) -> list[Array]:
        """Send ``message`` to the first rank of the node; there, the result has the messages of the other ranks."""
        messages = {mate: np.empty_like(message) for mate in self._others}
        self._exchange({} if self._leads else {self._first: message}, messages, what)
        return list(messages.values())

    def _from_first(self, message: Array, what: str) -> None:
        """Fill ``message`` by that of the first rank of the node."""
        arriving = {} if self._leads else {self._first: message}
        self._exchange(dict.fromkeys(self._others, message), arriving, what)

    def _exchange(self, sends: dict[int, Array], receives: dict[int, Array], what: str) -> None:
        here = self.communicator
        carried(here, lambda: here.exchange(sends, receives, here.log.tag, what))


def node_memory(communicator: Communicator) -> NodeMemory | None:
    """The memory of this node, if ranks share nodes and can map it. Collective the first time."""
    if not communicator.nodes.are_shared or communicator.kind == "dry run":
        return None
    if communicator.memory is None:
        communicator.memory = NodeMemory(communicator)
    return communicator.memory if communicator.memory.works else None
