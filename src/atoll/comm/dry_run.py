"""Dry runs: one rank of a world that does not exist, which can plan but not communicate.

A rank's actions follow from the program and from layouts, so a single process can compute the plan of any rank among
any number, and show what a large run would send before it starts.

    with dry_run_world(17, 2048):
        u = np.zeros((100_000, 100_000))
        ...
        print(np.explain(u))

Memory is allocated for this rank's share only, and only on evaluation.

A dry run stops where ranks communicate. On a :class:`CountingCommunicator` it continues: other ranks are assumed to act as this one
does, ``events`` records every message, and no data moves. A message from another rank has the data that this rank sends to it, or
zeros; every rank's contribution to a collective equals that of this rank. So a program that acts alike on all ranks runs to its end,
and the cost of its messages can be computed. Its values are meaningless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..config import config
from ..errors import CommunicationError, WorldError
from .communicator import Array, Request
from .nodes import Nodes, consecutive
from .single import SingleCommunicator
from .windows import Window
from .world import World


class DryRunCommunicator(SingleCommunicator):
    """The place of one rank among others that do not exist."""

    kind = "dry run"

    def __init__(self, rank: int, size: int, ranks_per_node: int) -> None:
        if not 0 <= rank < size:
            raise WorldError(f"there is no rank {rank} among {size}")
        super().__init__()
        self.rank = rank
        self.size = size
        self.nodes = consecutive(size, ranks_per_node)
        self.universe = self
        self.log.computes = False

    @property
    def members(self) -> Sequence[int]:
        return range(self.size)

    def _refuse(self, operation: str, what: str) -> NoReturn:
        of = f" ({what})" if what else ""
        raise CommunicationError(
            f"{operation}{of}: rank {self.rank} of {self.size} is a dry run: it plans, but "
            "cannot communicate"
        )

    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        self._refuse(f"send to rank {dest}", what)

    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        self._refuse(f"receive from rank {source}", what)

    def _collective(
        self, operation: str, given: Array, result: Array, what: str, how: Any = None
    ) -> None:
        self._refuse(operation, what)

    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        """All ranks of a dry run agree on this rank's value."""
        return [value] * self.size

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self._refuse("bcast_object", what)

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        self._refuse("alltoall_object", what)

    def window(self, nbytes: int, what: str) -> Window:
        self._refuse("a window", what)

    def split(self, color: int | None, key: int = 0) -> SingleCommunicator | None:
        self._refuse("split", "")

    def group(self, ranks: Sequence[int]) -> SingleCommunicator:
        self._refuse("group", "")


def dry_run_world(rank: int, size: int, ranks_per_node: int | None = None) -> World:
    """The world as rank ``rank`` of ``size`` would see it; a context manager, as all worlds.

    Each node has ``ranks_per_node`` ranks; the default is ``config.ranks_per_node``, or one.
    """
    return World(DryRunCommunicator(rank, size, ranks_per_node or config.ranks_per_node or 1))


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
        self,
        rank: int,
        size: int,
        ranks_per_node: int,
        events: list[Any] | None = None,
        members: Sequence[int] | None = None,
    ) -> None:
        super().__init__(rank, size, ranks_per_node)
        self._members = range(size) if members is None else members
        self.nodes = Direct(size, self.nodes.per_node)
        self.log.computes = size > 1
        self.events: list[Any] = [] if events is None else events
        """The events in order; upper layers add the computations between them."""
        self._leaving: dict[int, list[Array]] = {}
        self._arriving: dict[int, list[Array]] = {}
        """Small messages of this exchange, by the other rank."""
        self.rounds = 0
        """The number of collectives since an upper layer reset it to 0."""

    @property
    def members(self) -> Sequence[int]:
        return self._members

    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        self._leaves(array, dest)
        return Request(self, "send", dest, tag, what, done=True)

    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        self._arrives(array, source)
        return Request(self, "receive", source, tag, what, array, done=True)

    def exchange(
        self,
        sends: Mapping[int, Array],
        receives: Mapping[int, Array],
        tag: int = 0,
        what: str = "",
    ) -> None:
        for peer, array in receives.items():
            self._arrives(array, peer)
        for peer, array in sends.items():
            self._leaves(array, peer)
        self._all_done()

    def turn(
        self, array: Array, ahead: int, into: Array, behind: int, tag: int = 0, what: str = ""
    ) -> None:
        if into.size:
            self.events.append(Sent(False, self._members[behind], into.nbytes))
        if array.size:
            self.events.append(Sent(True, self._members[ahead], array.nbytes))
        self._all_done()
        into[...] = array  # the rank behind acts as this one does

    def _leaves(self, array: Array, dest: int) -> None:
        self.events.append(Sent(True, self._members[dest], array.nbytes))
        arriving = self._partner(self._arriving.get(dest), array)
        if arriving is not None:
            arriving[...] = array.reshape(arriving.shape)
        elif array.nbytes <= SMALL:
            self._leaving.setdefault(dest, []).append(array)

    def _arrives(self, array: Array, source: int) -> None:
        self.events.append(Sent(False, self._members[source], array.nbytes))
        given = self._partner(self._leaving.get(source), array)
        array[...] = np.zeros((), array.dtype) if given is None else given.reshape(array.shape)
        if given is None and array.nbytes <= SMALL:
            self._arriving.setdefault(source, []).append(array)

    def _partner(self, others: list[Array] | None, array: Array) -> Array | None:
        """The small message in the other direction with the size and dtype of this one: other ranks act as this one does."""
        for k, other in enumerate(others or ()):
            if (other.size, other.dtype) == (array.size, array.dtype):
                return others.pop(k) if others else None
        return None

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
        result[...] = given
        if operation == "exscan" or how == "sum":
            times = self.size if how else self.rank
            result *= np.asarray(times).astype(given.dtype)

    bcast_object = SingleCommunicator.bcast_object
    alltoall_object = SingleCommunicator.alltoall_object

    def group(self, ranks: Sequence[int]) -> CountingCommunicator:
        chosen = self.checked_ranks(ranks)
        of = self._members
        members = (
            of[slice(chosen.start, chosen.stop)]
            if isinstance(chosen, range)
            else tuple(map(of.__getitem__, chosen))
        )
        part = CountingCommunicator(
            chosen.index(self.rank), len(chosen), self.nodes.per_node, self.events, members
        )
        part.universe = self.universe
        return part
