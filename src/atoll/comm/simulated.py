"""Simulated ranks: threads of one process that exchange messages as MPI ranks do.

``run(4, function)`` calls ``function()`` on four ranks, each in a world of four, and returns the four results. Waiting,
the order of messages, and the semantics of buffers are those of MPI. ``scheduler`` describes turns and time; this
module transfers the data. It matches a message with its receive by (communicator, source, destination, tag) in order. A
collective is a table of contributions that is complete when the last rank has contributed.

A send copies its data when it is posted, as MPI does with small messages. With ``rendezvous=True`` it completes only
when the receive is posted, as MPI may do at any size: a program that relies on buffered sends then deadlocks, which is
reported at once.
"""

from __future__ import annotations

import contextvars
import itertools
import pickle
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..config import config
from ..context.divergence import StepLog
from ..context.threads import begin_simulated_rank
from ..errors import RankFailedError
from .communicator import (
    Array,
    Communicator,
    Request,
    Traffic,
    check_rows,
    deliver,
    reduced,
)
from .nodes import Nodes, consecutive
from .scheduler import Rank, RankDropped, Scheduler, SimulatedRequest, nothing
from .windows import Window
from .world import World

Latency = float | Callable[[int, int, int], float]


class _Message(NamedTuple):
    """A message that has not met its receive yet."""

    array: Array
    sent: float
    arrival: float
    request: SimulatedRequest


class _Collective:
    """One collective of one communicator, while its ranks arrive."""

    __slots__ = ("given", "name", "requests", "times")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.given: list[Any] = [None] * size
        self.times: list[float] = [inf] * size
        self.requests: list[SimulatedRequest | None] = [None] * size


class Simulation:
    """A number of ranks, and the network between them.

    ``latency``: seconds from a send to its arrival, or a function of (source, destination, bytes). Only waiting and
    ``communicator.advance(seconds)`` move a rank's clock. ``seed`` picks an order in which ranks run and messages become
    visible, among those that MPI allows. ``rendezvous``: sends wait for their receives. ``drop={rank: k}``: that rank dies
    at its k-th operation. Each node has ``config.ranks_per_node`` ranks, or one.

    After :meth:`run`, ``traffic`` and ``clocks`` have the messages and the time of each rank.
    """

    def __init__(
        self,
        size: int,
        *,
        latency: Latency = 0.0,
        seed: int | None = None,
        rendezvous: bool = False,
        drop: Mapping[int, int] | None = None,
    ) -> None:
        if size < 1:
            raise ValueError(f"a simulation needs at least one rank, not {size}")
        for rank, operation in (drop or {}).items():
            if not 0 <= rank < size or operation < 1:
                raise ValueError(
                    f"drop: no rank {rank} of {size} has an operation number {operation}"
                )
        self.size = size
        self.latency = latency
        self.rendezvous = rendezvous
        self.nodes = consecutive(size, config.ranks_per_node or 1)
        self.scheduler = Scheduler(size, seed, dict(drop or {}))
        self._sent: dict[tuple[int, int, int, int], deque[_Message]] = {}
        self._wanted: dict[tuple[int, int, int, int], deque[tuple[SimulatedRequest, Array]]] = {}
        self._last_arrival: dict[tuple[int, int], float] = {}
        self.collectives: dict[tuple[int, int], _Collective] = {}
        """By communicator and number: the collectives that some ranks have yet to join."""
        self.windows: dict[tuple[int, int], tuple[list[Array | None], dict[Any, Any]]] = {}
        """Blocks and locks of the windows that some ranks have yet to open."""
        self.contexts = itertools.count(1)
        """Numbers for communicators."""
        self.groups: dict[tuple[int, Sequence[int]], int] = {}
        """By communicator and ranks, the number of a group."""

    @property
    def traffic(self) -> list[Traffic]:
        """The traffic of each rank so far."""
        return [rank.traffic for rank in self.scheduler.ranks]

    @property
    def clocks(self) -> list[float]:
        """The time on each rank's clock."""
        return [rank.clock for rank in self.scheduler.ranks]

    def run(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call ``function(*args)`` on every rank; the results by rank.

        The first exception on any rank ends all of them and is raised here, with a note
        that names the rank. The result of a rank that was dropped is ``None``.
        """
        if self.scheduler.finished.is_set() or self.scheduler.ranks[0].thread:
            raise RuntimeError("a simulation runs once")
        results: list[Any] = [None] * self.size
        failures: list[tuple[int, BaseException]] = []
        everybody = tuple(range(self.size))

        def main(rank: Rank) -> None:
            rank.thread = threading.get_ident()
            begin_simulated_rank()
            rank.gate.acquire()
            rank.state = "running"
            failure: BaseException | None = None
            try:
                communicator = SimulatedCommunicator(self, rank, 0, everybody, self.nodes)
                with World(communicator), config():
                    results[rank.number] = function(*args)
            except BaseException as error:
                failure = error
                if not isinstance(error, RankDropped):
                    failures.append((rank.number, error))
            self.scheduler.end(rank, failure)

        threads = []
        for rank in self.scheduler.ranks:
            context = contextvars.copy_context()
            thread = threading.Thread(
                target=context.run, args=(main, rank), name=f"rank {rank.number}", daemon=True
            )
            threads.append(thread)
            thread.start()
        self.scheduler.start()
        try:
            self.scheduler.finished.wait()
        except BaseException as error:
            self.scheduler.fail("the simulation was interrupted", error)
            self.scheduler.finished.wait(5.0)
            raise
        for thread in threads:
            thread.join()
        if failures:
            number, failure = failures[0]
            failure.add_note(f"raised on simulated rank {number} of {self.size}")
            raise failure
        return results

    # Messages -----------------------------------------------------------------------------

    def travel_time(self, source: int, dest: int, nbytes: int) -> float:
        """The time that a message takes, in seconds."""
        latency = self.latency
        return latency(source, dest, nbytes) if callable(latency) else latency

    def post_send(
        self, request: SimulatedRequest, array: Array, context: int, dest: int, tag: int
    ) -> None:
        """Match a send with the receive that waits for it, or let it wait."""
        rank = request.owner
        key = (context, rank.number, dest, tag)
        now = rank.clock
        if not self.rendezvous:
            array = array.copy()
            request.complete_at = now
        message = _Message(array, now, self._arrival(rank.number, dest, now, array), request)
        if waiting := self._wanted.get(key):
            self._match(message, *waiting.popleft(), now)
        else:
            self._sent.setdefault(key, deque()).append(message)

    def post_receive(
        self, request: SimulatedRequest, array: Array, context: int, source: int, tag: int
    ) -> None:
        """Match a receive with the message that waits for it, or let it wait."""
        rank = request.owner
        key = (context, source, rank.number, tag)
        if waiting := self._sent.get(key):
            self._match(waiting.popleft(), request, array, rank.clock)
        else:
            self._wanted.setdefault(key, deque()).append((request, array))

    def _arrival(self, source: int, dest: int, now: float, array: Array) -> float:
        """The arrival time of a message sent now: never before an earlier one of the pair."""
        arrival = now + self.travel_time(source, dest, array.nbytes)
        arrival = max(arrival, self._last_arrival.get((source, dest), 0.0))
        self._last_arrival[source, dest] = arrival
        return arrival

    def _match(
        self, message: _Message, request: SimulatedRequest, target: Array, now: float
    ) -> None:
        """Complete a message that has met its receive at ``now``: its data is available at the arrival."""
        arrival = message.arrival
        array = message.array
        if self.rendezvous:
            arrival += max(0.0, now - message.sent)
            if array.nbytes == target.nbytes:
                array = array.copy()
            self.scheduler.completed(message.request, arrival)

        def finish() -> Array:
            deliver(array, target, request)
            request.owner.traffic.received(array.nbytes)
            return target

        request.finish = finish
        self.scheduler.completed(request, arrival)


def run(size: int, function: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
    """Call ``function(*args)`` on ``size`` simulated ranks; the results by rank.

    The options are those of :class:`Simulation`.
    """
    return Simulation(size, **options).run(function, *args)


class SimulatedCommunicator(Communicator):
    """One simulated rank's view of a group of simulated ranks."""

    kind = "simulated"

    def __init__(
        self,
        simulation: Simulation,
        rank: Rank,
        context: int,
        members: tuple[int, ...],
        nodes: Nodes,
    ) -> None:
        self.simulation = simulation
        self.universe = simulation
        self.rank = members.index(rank.number)
        self.size = len(members)
        self.tag_limit = 1 << 22
        self.traffic = rank.traffic
        self.nodes = nodes
        fresh = StepLog(self.rank, self.tag_limit, alone=True)
        self.log = rank.logs.setdefault(context, fresh)
        self._rank = rank
        self._scheduler = simulation.scheduler
        self._context = context
        self._members = members
        self._collectives = 0
        self._windows = 0
        self._groups: dict[Sequence[int], SimulatedCommunicator] = {}

    @property
    def members(self) -> tuple[int, ...]:
        return self._members

    @property
    def clock(self) -> float:
        """The time on this rank's clock, in seconds."""
        return self._rank.clock

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass on this rank's clock, as if it had computed that long."""
        self._scheduler.advance(self._rank, seconds)

    def _request(
        self, operation: str, peer: int | None, tag: int | None, what: str
    ) -> SimulatedRequest:
        self._scheduler.count_operation(self._rank)
        request = SimulatedRequest(self, operation, peer, tag, what)
        request.owner = self._rank
        request.complete_at = inf
        request.finish = nothing
        others = () if peer is None else (self._members[peer],)
        request.missing = lambda: others
        return request

    # Point to point -----------------------------------------------------------------------

    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        request = self._request("send", dest, tag, what)
        self.simulation.post_send(request, array, self._context, self._members[dest], tag)
        return request

    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        request = self._request("receive", source, tag, what)
        self.simulation.post_receive(request, array, self._context, self._members[source], tag)
        return request

    def wait_some(self, requests: Sequence[Request]) -> list[int]:
        return self._scheduler.wait_some(self._rank, requests)

    def test_some(self, requests: Sequence[Request]) -> list[int]:
        return self._scheduler.test_some(self._rank, requests)

    # Collectives --------------------------------------------------------------------------

    def _gathered(
        self,
        operation: str,
        given: Any,
        nbytes: int,
        what: str = "",
        detail: str = "",
        root: int | None = None,
    ) -> list[Any]:
        """The contributions of all ranks; with a ``root``, only that of the root is certain to be there."""
        request = self._request(operation, None, None, what)
        number = self._collectives
        self._collectives += 1
        self.traffic.together(nbytes)
        name = f"{operation}({detail})" if detail else operation
        key = self._context, number
        collectives = self.simulation.collectives
        collective = collectives.setdefault(key, _Collective(name, self.size))
        if collective.name != name:
            others = [r for r, posted in enumerate(collective.requests) if posted is not None]
            raise self.log.part(
                f"rank {self.rank} calls {name} as collective number {number + 1} of this "
                f"communicator, where rank {others[0]} called {collective.name}; "
                f"{self.find_difference()}".rstrip("; ")
            )
        collective.given[self.rank] = given
        collective.times[self.rank] = self.clock
        collective.requests[self.rank] = request
        if self.simulation.rendezvous:
            root = None
        needed: Sequence[int] = range(self.size) if root is None else (root,)
        request.missing = lambda: [
            self._members[rank] for rank in needed if collective.requests[rank] is None
        ]
        self._complete(collective, root, nbytes)
        if None not in collective.requests:
            del collectives[key]
        request.wait()
        return collective.given

    def _complete(self, collective: _Collective, root: int | None, nbytes: int) -> None:
        """Complete the ranks that have all contributions, now that this rank has arrived."""
        times, requests = collective.times, collective.requests
        if root is None:
            if None not in requests:
                at = max(times) + self._collective_time(nbytes)
                for request in requests:
                    if request is not None:
                        self._scheduler.completed(request, at)
        elif requests[root] is not None:
            duration = self._collective_time(nbytes)
            late = range(self.size) if self.rank == root else (self.rank,)
            for rank in late:
                request = requests[rank]
                if request is not None:
                    arrival = times[root] if rank == root else times[root] + duration
                    self._scheduler.completed(request, max(times[rank], arrival))

    def _collective_time(self, nbytes: int) -> float:
        """A collective over P ranks takes as long as log2(P) of its messages, one by one."""
        if self.simulation.latency == 0.0 or self.size == 1:
            return 0.0
        first, *others = self._members
        longest = max(self.simulation.travel_time(first, other, nbytes) for other in others)
        return (self.size - 1).bit_length() * longest

    def _collective(
        self, operation: str, given: Array, result: Array, what: str, how: Any = None
    ) -> None:
        form, root = f"{given.dtype} {given.shape}", None
        if operation == "bcast":
            form, root = f"{given.dtype}, {given.size} elements, from rank {how}", how
        elif operation == "allreduce":
            form = f"{how} of {form}"
        elif operation == "barrier":
            form = ""
        every = self._gathered(operation, given.copy(), given.nbytes, what, form, root)
        if operation == "allreduce":
            result[...] = reduced(every, how)
        elif operation == "exscan" and self.rank:
            result[...] = reduced(every[: self.rank], "sum")
        elif operation == "allgather":
            np.stack(every, out=result)
        elif operation == "alltoall":
            np.stack([rows[self.rank] for rows in every], out=result)
        elif operation == "bcast" and self.rank != how:
            result[...] = every[how].reshape(result.shape)

    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        given = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        every = self._gathered("allgather_object", given, len(given), what)
        return [pickle.loads(pickled) for pickled in every]

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self.check_peer(root)
        mine = self.rank == root
        given = pickle.dumps(value, pickle.HIGHEST_PROTOCOL) if mine else b""
        detail = f"from rank {root}"
        every = self._gathered("bcast_object", given, len(given), what, detail, root)
        return value if mine else pickle.loads(every[root])

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        check_rows(values, self.size)
        given = [pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in values]
        every = self._gathered("alltoall_object", given, sum(map(len, given)), what)
        return [pickle.loads(row[self.rank]) for row in every]

    def find_difference(self) -> str:
        return self._scheduler.difference(self._context)

    # Windows ------------------------------------------------------------------------------

    def window(self, nbytes: int, what: str) -> Window:
        key = self._context, self._windows
        self._windows += 1
        shared = self.simulation.windows.setdefault(key, ([None] * self.size, {}))
        window = SimulatedWindow(self, np.zeros(nbytes, np.uint8), what, *shared)
        self.barrier(what)
        self.simulation.windows.pop(key, None)  # every rank refers to it by now
        return window

    # Groups -------------------------------------------------------------------------------

    def _sub(self, context: int, ranks: Sequence[int]) -> SimulatedCommunicator:
        members = tuple(self._members[rank] for rank in ranks)
        nodes = self.nodes.among(ranks)
        return SimulatedCommunicator(self.simulation, self._rank, context, members, nodes)

    def split(self, color: int | None, key: int = 0) -> SimulatedCommunicator | None:
        given = (color, key, next(self.simulation.contexts))
        everybody = self._gathered("split", given, 0)
        if color is None:
            return None
        ranks = [r for r in range(self.size) if everybody[r][0] == color]
        ranks.sort(key=lambda rank: (everybody[rank][1], rank))
        return self._sub(everybody[ranks[0]][2], ranks)

    def group(self, ranks: Sequence[int]) -> SimulatedCommunicator | None:
        chosen = self.checked_ranks(ranks)
        if self.rank not in chosen:
            return None
        if chosen not in self._groups:
            groups, key = self.simulation.groups, (self._context, chosen)
            if key not in groups:
                groups[key] = next(self.simulation.contexts)
            part = self._groups[chosen] = self._sub(groups[key], chosen)
            part.barrier(f"making the group of ranks {list(chosen)}")
        return self._groups[chosen]

    def abort(self, code: int = 1, message: str = "") -> NoReturn:
        why = f"rank {self.rank} called abort({code})" + (f": {message}" if message else "")
        self._scheduler.fail(why, None)
        raise RankFailedError(why)


class SimulatedWindow(Window):
    """The window of a simulated rank. A rank that waits for a lock passes its turn on."""

    kind = "memory of simulated ranks"
    takes_turns = True
    communicator: SimulatedCommunicator

    def __init__(
        self,
        communicator: SimulatedCommunicator,
        memory: Array,
        what: str,
        blocks: list[Array | None],
        queues: dict[tuple[int, int], deque[SimulatedRequest]],
    ) -> None:
        super().__init__(communicator, memory, what, blocks)
        self._queues = queues

    def begin(self) -> None:
        communicator = self.communicator
        communicator._scheduler.act_alone(communicator._rank)

    def _acquire(self, rank: int, lock: int) -> None:
        queue = self._queues.setdefault((rank, lock), deque())
        operation = f"lock {lock} of the memory of rank {rank}"
        request = self.communicator._request(operation, None, None, self.what)
        request.missing = lambda: [queue[0].owner.number]
        queue.append(request)
        self._grant(queue[0])
        request.wait()

    def _release(self, rank: int, lock: int) -> None:
        queue = self._queues[rank, lock]
        queue.popleft()
        if queue:
            self._grant(queue[0])

    def _grant(self, request: SimulatedRequest) -> None:
        """Complete the request of the rank whose turn it is, which may have it already."""
        if request.complete_at == inf:
            self.communicator._scheduler.completed(request, self.communicator.clock)
