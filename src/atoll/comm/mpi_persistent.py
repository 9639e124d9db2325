"""MPI's persistent collectives: set up once, and started again and again.

Setting up an operation takes longer than a small message does. What is here works on the memory that it was
set up for; whoever uses it copies in and out. mpi4py's module is handed in, since ``mpi`` alone imports it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .communicator import Array


class SmallCollective:
    """A collective operation on a few elements, and the memory it was set up for."""

    __slots__ = ("active", "given", "handle", "result")

    def __init__(self, given: Array, result: Array, handle: Any) -> None:
        self.given = given
        self.result = result
        self.handle = handle
        self.active = False


def small_reduction(comm: Any, array: Array, native: tuple[Any, Any]) -> SmallCollective:
    """A reduction; an operation of MPI 4, which Open MPI has had before."""
    datatype, operation = native
    count = array.size
    given, result = np.empty(count, array.dtype), np.empty(count, array.dtype)
    handle = comm.Allreduce_init((given, count, datatype), (result, count, datatype), operation)
    return SmallCollective(given, result, handle)


def small_gathering(comm: Any, nbytes: int, size: int, byte: Any) -> SmallCollective:
    """Every rank's few bytes."""
    given, result = np.zeros(nbytes, np.uint8), np.zeros((size, nbytes), np.uint8)
    handle = comm.Allgather_init((given, nbytes, byte), (result, nbytes, byte))
    return SmallCollective(given, result, handle)


def has_persistent_collectives(MPI: Any) -> bool:
    """Whether this MPI has what MPI 4 calls persistent collectives."""
    one = np.zeros(1)
    try:
        MPI.COMM_SELF.Allreduce_init(one, np.zeros(1), MPI.SUM).Free()
    except (NotImplementedError, MPI.Exception):
        return False
    return True
