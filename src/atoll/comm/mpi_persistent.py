"""MPI's persistent collectives, set up once and started repeatedly.

Setting up an operation takes longer than a small message. Each operation works on its own memory, and the caller copies
in and out. mpi4py's module is an argument, because only ``mpi`` imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .communicator import Array, Communicator, Rows


class SmallReduction:
    """A reduction of a few elements; an operation of MPI 4, which Open MPI had earlier as an extension."""

    __slots__ = ("active", "given", "handle", "result")

    def __init__(self, comm: Any, array: Array, native: tuple[Any, Any]) -> None:
        datatype, operation = native
        count = array.size
        self.given, self.result = np.empty(count, array.dtype), np.empty(count, array.dtype)
        self.handle = comm.Allreduce_init(
            (self.given, count, datatype), (self.result, count, datatype), operation
        )
        self.active = False


class SmallRows(Rows):
    """Every rank's few bytes. ``wait`` is how the communicator waits for such an operation."""

    __slots__ = ("active", "handle", "wait")

    def __init__(
        self,
        communicator: Communicator,
        nbytes: int,
        comm: Any,
        byte: Any,
        wait: Callable[..., None],
    ) -> None:
        super().__init__(communicator, nbytes)
        self.handle = comm.Allgather_init((self.row, nbytes, byte), (self.rows, nbytes, byte))
        self.active = False
        self.wait = wait

    def gather(self, what: str) -> None:
        if self.active:
            # An earlier wait for it was interrupted; the other ranks complete it before this one.
            row = self.row.copy()
            self.wait(self, "allgather", what)
            self.row[...] = row
        self.handle.Start()
        self.active = True
        traffic = self.communicator.traffic
        traffic.collectives += 1
        traffic.collective_bytes += self.row.nbytes
        self.wait(self, "allgather", what)


def has_persistent_collectives(MPI: Any) -> bool:
    """Whether this MPI has what MPI 4 calls persistent collectives."""
    one = np.zeros(1)
    try:
        MPI.COMM_SELF.Allreduce_init(one, np.zeros(1), MPI.SUM).Free()
    except (NotImplementedError, MPI.Exception):
        return False
    return True
