"""Python objects between MPI processes: pickled, and sent as bytes.

Their lengths are not known in advance. Short ones are sent in a slot of fixed length, together with the length; longer
ones follow in a second operation. This module uses mpi4py's handles, but only ``mpi`` imports it.
"""

from __future__ import annotations

import pickle
import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .communicator import Array, Communicator, Request, check_rows

SLOT = 128
"""The size of a slot in bytes: a small pickled object and its length fit."""


def packed(data: bytes) -> bytes:
    """The length of ``data``, and ``data`` itself if it fits."""
    room = SLOT - 8
    return len(data).to_bytes(8, sys.byteorder) + data[:room].ljust(room, b"\0")


def length_in(slots: bytearray, start: int) -> int:
    """The length of what begins at ``start``."""
    return int.from_bytes(slots[start : start + 8], sys.byteorder)


def unpacked(slots: bytearray, start: int) -> Any:
    """The data of the slot at ``start``; ``None`` if it did not fit."""
    length = length_in(slots, start)
    return slots[start + 8 : start + 8 + length] if length <= SLOT - 8 else None


def starts_of(lengths: Array) -> Array:
    """The start of each of several consecutive ranges."""
    return np.cumsum(lengths) - lengths


def loads(data: Any, lengths: Array, starts: Array) -> list[Any]:
    """The objects of consecutive pickles."""
    return [pickle.loads(data[i : i + n]) for i, n in zip(starts.tolist(), lengths.tolist())]


class ObjectsByMpi(Communicator):
    """The part of the communicator that carries objects."""

    _mpi: Any
    """The duplicate of the communicator that atoll talks on."""
    _byte: Any
    """MPI's datatype of bytes."""

    @abstractmethod
    def _collective(
        self,
        handle: Any,
        operation: str,
        what: str,
        nbytes: int,
        result: Any = None,
        kept: Any = None,
    ) -> Request:
        """The request of a collective operation that has begun."""

    @abstractmethod
    def _wait(self, handle: Any, operation: str, what: str, kept: Any = None) -> None:
        """Wait for an operation whose memory is ``kept`` until its end."""

    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        what = what or "allgather_object"
        slot, slots = packed(data), bytearray(SLOT * self.size)
        handle = self._mpi.Iallgather((slot, SLOT, self._byte), (slots, SLOT, self._byte))
        self._collective(handle, "allgather", what, SLOT, None, (slot, slots)).wait()
        pickles = [unpacked(slots, start) for start in range(0, len(slots), SLOT)]
        if None not in pickles:
            return [pickle.loads(inline) for inline in pickles if inline is not None]
        lengths = np.frombuffer(slots, np.int64)[:: SLOT // 8].copy()
        starts = starts_of(lengths)
        gathered = np.empty(int(lengths.sum()), np.uint8)
        given = np.frombuffer(data, np.uint8)
        handle = self._mpi.Iallgatherv(
            (given, given.size, self._byte), (gathered, lengths, starts, self._byte)
        )
        self._wait(handle, "allgather", what, (given, gathered))
        return loads(gathered, lengths, starts)

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self.check_peer(root)
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL) if self.rank == root else b""
        what = what or "bcast_object"
        slot = bytearray(packed(data))
        handle = self._mpi.Ibcast((slot, SLOT, self._byte), root)
        self._collective(handle, f"bcast from rank {root}", what, SLOT, None, slot).wait()
        inline = unpacked(slot, 0)
        if inline is None:
            rest = np.empty(length_in(slot, 0), np.uint8)
            if self.rank == root:
                rest[:] = np.frombuffer(data, np.uint8)
            inline = self.bcast(rest, root, what).data
        return value if self.rank == root else pickle.loads(inline)

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        check_rows(values, self.size)
        rows = [pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in values]
        what = what or "alltoall_object"
        sizes = np.array([len(row) for row in rows], np.int64)
        lengths = self.alltoall(sizes, what)
        given = np.frombuffer(b"".join(rows), np.uint8)
        received = np.empty(int(lengths.sum()), np.uint8)
        starts = starts_of(lengths)
        handle = self._mpi.Ialltoallv(
            (given, sizes, starts_of(sizes), self._byte), (received, lengths, starts, self._byte)
        )
        self._wait(handle, "alltoall", what, (given, received))
        return loads(received, lengths, starts)
