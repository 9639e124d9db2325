"""A rank of a dry run that goes on: it counts what it would send, and other ranks answer as this one does.

A dry run stops where ranks communicate. Here every message is noted in ``events`` and nothing moves: what arrives is what
this rank sends there, or zeros, and what all ranks give to a collective is what this rank gives. So a program that does the same on all ranks runs to its
end, and what its messages cost can be worked out. Its values mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import CommunicationError
from .communicator import Array, Request
from .dry_run import DryRunCommunicator
from .nodes import Nodes
from .single import SingleCommunicator

ROUNDS = 10_000
"""After so many operations of all ranks in a row, their values must decide when there are enough, and a dry run has no values."""


SMALL = 1 << 16
"""Messages of up to so many bytes have contents: how much others will send, and marks of steps."""


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


class Direct(Nodes):
    """Nodes whose ranks send what they have by themselves. How pieces go by nodes depends on what other ranks have told."""

    two_levels = False


class CountingCommunicator(DryRunCommunicator):
    """The place of one rank among others that do as this one does."""

    def __init__(
        self, rank: int, size: int, ranks_per_node: int, events: list[Any] | None = None
    ) -> None:
        super().__init__(rank, size, ranks_per_node)
        self.nodes = Direct(size, self.nodes.per_node)
        self.log.computes = size > 1
        self.events: list[Any] = [] if events is None else events
        """What happened, in order; upper layers add what is computed in between."""
        self._leaving: dict[int, list[Array]] = {}
        self._arriving: dict[int, list[Array]] = {}
        """Small messages of this exchange, by the other rank."""
        self.rounds = 0
        """How many operations of all ranks there were since an upper layer has set it to 0."""

    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        self.events.append(Sent(True, dest, array.nbytes))
        arriving = self._partner(self._arriving.get(dest), array)
        if arriving is not None:
            arriving[...] = array.reshape(arriving.shape)
        elif array.nbytes <= SMALL:
            self._leaving.setdefault(dest, []).append(array)
        return Request(self, "send", dest, tag, what, done=True)

    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        self.events.append(Sent(False, source, array.nbytes))
        given = self._partner(self._leaving.get(source), array)
        array[...] = np.zeros((), array.dtype) if given is None else given.reshape(array.shape)
        if given is None and array.nbytes <= SMALL:
            self._arriving.setdefault(source, []).append(array)
        return Request(self, "receive", source, tag, what, array, done=True)

    def _partner(self, others: list[Array] | None, array: Array) -> Array | None:
        """The small message of the other way that has the form of this one: other ranks do as this one does."""
        for k, other in enumerate(others or ()):
            if (other.size, other.dtype) == (array.size, array.dtype):
                return others.pop(k) if others else None
        return None

    def turn(self, array: Array, into: Array, distance: int, tag: int = 0, what: str = "") -> None:
        super().turn(array, into, distance, tag, what)
        into[...] = array  # the rank behind does as this one does

    def _all_done(self) -> None:
        self.events.append(Waited())
        self._leaving, self._arriving = {}, {}

    def wait_some(self, requests: Sequence[Request]) -> list[int]:
        self._all_done()
        return list(range(len(requests)))

    def wait_all(self, requests: Sequence[Request]) -> None:
        self._all_done()

    def _collective(
        self, operation: str, given: Array, result: Array, what: str, how: Any = None
    ) -> None:
        nbytes = given.nbytes // self.size if operation == "alltoall" else given.nbytes
        self.events.append(Together(operation, nbytes, self.size))
        self.rounds += 1
        if self.rounds > ROUNDS:
            raise CommunicationError(
                f"model: after {ROUNDS} operations of all ranks for {what or operation} there is no end: the values of arrays "
                "decide how many there are, and a model has no values; leave this out of the program, or run it"
            )
        result[...] = given * np.asarray(self.size).astype(given.dtype) if how == "sum" else given

    bcast_object = SingleCommunicator.bcast_object
    alltoall_object = SingleCommunicator.alltoall_object

    def group(self, ranks: Sequence[int]) -> CountingCommunicator:
        chosen = self.checked_ranks(ranks)
        return CountingCommunicator(
            chosen.index(self.rank), len(chosen), self.nodes.per_node, self.events
        )
