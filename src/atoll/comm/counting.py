"""A rank of a dry run that goes on: it counts what it would send, and other ranks answer as this one does.

A dry run stops where ranks communicate. Here every message is noted in ``events`` and nothing moves: what arrives is zeros,
and what all ranks give to a collective is what this rank gives. So a program that does the same on all ranks runs to its
end, and what its messages cost can be worked out. Its values mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import CommunicationError
from .communicator import Array, Request, check_rows
from .dry_run import DryRunCommunicator
from .single import SingleRequest

ROUNDS = 10_000
"""After so many operations of all ranks in a row, their values must decide when there are enough, and a dry run has no values."""


class Sent(NamedTuple):
    """A message that leaves this rank, or arrives."""

    leaves: bool
    peer: int
    nbytes: int


class Waited(NamedTuple):
    """All messages so far have come and gone."""


class Together(NamedTuple):
    """What so many ranks do together, each with so many bytes: for an all-to-all, those for one other rank."""

    operation: str
    nbytes: int
    ranks: int


class CountingCommunicator(DryRunCommunicator):
    """The place of one rank among others that do as this one does."""

    def __init__(
        self, rank: int, size: int, ranks_per_node: int, events: list[Any] | None = None
    ) -> None:
        super().__init__(rank, size, ranks_per_node)
        self._ranks_per_node = ranks_per_node
        self.log.windows = size > 1
        self.events: list[Any] = [] if events is None else events
        """What happened, in order; upper layers add what is computed in between."""
        self.rounds = 0
        """How many operations of all ranks there were since an upper layer has set it to 0."""

    def isend(self, array: Array, dest: int, tag: int = 0, what: str = "") -> Request:
        self.check_peer(dest)
        self.events.append(Sent(True, dest, array.nbytes))
        return SingleRequest(self, "send", dest, tag, what)

    def irecv(self, array: Array, source: int, tag: int = 0, what: str = "") -> Request:
        self.check_peer(source)
        self.events.append(Sent(False, source, array.nbytes))
        array[...] = np.zeros((), array.dtype)
        return SingleRequest(self, "receive", source, tag, what, array)

    def wait_some(self, requests: Sequence[Request], timeout: float | None = None) -> list[int]:
        self.events.append(Waited())
        return list(range(len(requests)))

    def wait_all(self, requests: Sequence[Request], timeout: float | None = None) -> None:
        self.events.append(Waited())

    def _together(self, operation: str, what: str, nbytes: int, result: Any) -> Request:
        self.events.append(Together(operation, nbytes, self.size))
        self.rounds += 1
        if self.rounds > ROUNDS:
            raise CommunicationError(
                f"model: after {ROUNDS} operations of all ranks for {what or operation} there is no end: the values of arrays "
                "decide how many there are, and a model has no values; leave this out of the program, or run it"
            )
        return SingleRequest(self, operation, what=what, result=result)

    def iallreduce(self, array: Array, op: str = "sum", what: str = "") -> Request:
        given = np.asarray(array)
        result = given * np.asarray(self.size).astype(given.dtype) if op == "sum" else given.copy()
        return self._together("allreduce", what, given.nbytes, result)

    def iallgather(self, array: Array, what: str = "") -> Request:
        given = np.array(array, order="C")
        result = np.broadcast_to(given, (self.size, *given.shape))
        return self._together("allgather", what, given.nbytes, result)

    def ialltoall(self, array: Array, what: str = "") -> Request:
        check_rows(array, self.size)
        given = np.array(array, order="C")
        return self._together("alltoall", what, given.nbytes // self.size, given)

    def ibcast(self, array: Array, root: int, what: str = "") -> Request:
        self.check_peer(root)
        return self._together("bcast", what, array.nbytes, array)

    def ibarrier(self, what: str = "") -> Request:
        return self._together("barrier", what, 0, None)

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self.check_peer(root)
        return value

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        check_rows(values, self.size)
        return list(values)

    def group(self, ranks: Sequence[int]) -> CountingCommunicator:
        chosen = self.checked_ranks(ranks)
        return CountingCommunicator(
            chosen.index(self.rank), len(chosen), self._ranks_per_node, self.events
        )
