"""Dry runs that continue past communication: a rank counts its messages, and other ranks are assumed to act as it does.

A dry run stops where ranks communicate. Here ``events`` records every message, and no data moves. A message from another
rank has the data that this rank sends to it, or zeros; every rank's contribution to a collective equals that of this rank.
So a program that acts alike on all ranks runs to its end, and the cost of its messages can be computed. Its values are
meaningless.
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
"""The most collectives in a row: beyond it, the program takes their number from values, which a dry run does not have."""


SMALL = 1 << 16
"""The size in bytes up to which messages have contents: counts of data to come, and marks of steps."""


class Sent(NamedTuple):
    """A message that leaves this rank, or arrives."""

    leaves: bool
    peer: int
    nbytes: int


class Waited(NamedTuple):
    """The end of all messages so far."""


class Together(NamedTuple):
    """A collective of ``ranks`` ranks, each with ``nbytes`` bytes; for an all-to-all, the bytes for one other rank."""

    operation: str
    nbytes: int
    ranks: int


class Direct(Nodes):
    """Nodes whose ranks send their data directly: the way of data through nodes depends on messages of other ranks."""

    two_levels = False


class CountingCommunicator(DryRunCommunicator):
    """The communicator of one rank among others that act as it does."""

    def __init__(
        self, rank: int, size: int, ranks_per_node: int, events: list[Any] | None = None
    ) -> None:
        super().__init__(rank, size, ranks_per_node)
        self.nodes = Direct(size, self.nodes.per_node)
        self.log.computes = size > 1
        self.events: list[Any] = [] if events is None else events
        """The events in order; upper layers add the computations between them."""
        self._leaving: dict[int, list[Array]] = {}
        self._arriving: dict[int, list[Array]] = {}
        """Small messages of this exchange, by the other rank."""
        self.rounds = 0
        """The number of collectives since an upper layer reset it to 0."""

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
        """The small message in the other direction with the size and dtype of this one: other ranks act as this one does."""
        for k, other in enumerate(others or ()):
            if (other.size, other.dtype) == (array.size, array.dtype):
                return others.pop(k) if others else None
        return None

    def turn(self, array: Array, into: Array, distance: int, tag: int = 0, what: str = "") -> None:
        super().turn(array, into, distance, tag, what)
        into[...] = array  # the rank behind acts as this one does

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
