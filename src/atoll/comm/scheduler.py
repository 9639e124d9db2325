"""Simulated ranks take turns: one runs at a time, and time is simulated.

Every rank is a thread, but only the thread that has the turn runs. It passes the turn on when it must wait, or when it
finds no message. A simulation therefore gives the same result each time, a seed picks among the orders that MPI allows,
and a deadlock shows at once: no rank can take the turn.

Each rank has a clock. It stands still while the rank computes, unless the rank declares how long that would take
(``advance``), and moves on while the rank waits: a message sent at ``t`` arrives at ``t + latency``, and the receiver
continues at the later of the arrival and its own time. The turn goes to the rank that can continue earliest. So nothing
happens to a rank before the time that it has reached. A rank that finds no message twice without other actions in
between is polling, and its clock moves to the next time at which anything can happen.
"""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Callable, Sequence
from math import inf

from ..config import config
from ..context.divergence import StepLog, parted
from ..errors import (
    DeadlockError,
    DivergenceError,
    RankFailedError,
    WaitTimeoutError,
    WorldError,
)
from .communicator import Request, Traffic, describe_all
from .launcher import HOW

MOMENT = 1e-6
"""The duration of a one-sided operation in seconds."""


def nothing() -> None:
    """The end of an operation without data to put in place."""


class RankDropped(BaseException):
    """Unwinds the thread of a rank that the simulation ends."""


class SimulatedRequest(Request):
    """An operation of a simulated rank: done once its rank has seen that it is complete."""

    __slots__ = ("complete_at", "finish", "missing", "owner")

    complete_at: float
    """The time at which the operation is complete: ``inf`` while that depends on another rank's action."""
    finish: Callable[[], object]
    """Puts the data where it belongs and gives the result."""
    missing: Callable[[], Sequence[int]]
    """The ranks whose action the operation still needs."""
    owner: Rank

    def test(self) -> bool:
        return bool(self.owner.scheduler.test_some(self.owner, (self,)))


class Rank:
    """The scheduler's state of one rank."""

    def __init__(self, scheduler: Scheduler, number: int, last_operation: int | None) -> None:
        self.scheduler = scheduler
        self.number = number
        self.last_operation = last_operation
        self.operations = 0
        self.clock = 0.0
        self.gate = threading.Lock()
        self.gate.acquire()
        self.thread = 0
        self.state = "ready"
        self.ticket = 0
        self.wake = 0.0
        self.waiting: Sequence[SimulatedRequest] = ()
        self.looked_in_vain = False
        self.error: BaseException | None = None
        self.failure: BaseException | None = None
        self.traffic = Traffic()
        self.logs: dict[int, StepLog] = {}
        """The logs of the rank's steps, by communicator."""


class Scheduler:
    """Hands the turn from rank to rank."""

    def __init__(self, size: int, seed: int | None, drop: dict[int, int]) -> None:
        self.ranks = [Rank(self, number, drop.get(number)) for number in range(size)]
        self.random = None if seed is None else random.Random(seed)
        self.finished = threading.Event()
        self._queue: list[tuple[float, float, int, Rank]] = []
        self._tickets = 0
        self._live = size
        self._last_event = time.monotonic()
        self._failed: tuple[str, BaseException | None] | None = None
        for rank in self.ranks:
            self._enqueue(rank, 0.0)

    # The turn -----------------------------------------------------------------------------

    def _enqueue(self, rank: Rank, wake: float) -> None:
        """Let ``rank`` have the turn once all clocks have reached ``wake``."""
        self._tickets += 1
        rank.ticket = self._tickets
        rank.wake = wake
        order = float(self._tickets) if self.random is None else self.random.random()
        heapq.heappush(self._queue, (wake, order, rank.ticket, rank))

    def _next(self) -> Rank | None:
        """The rank that gets the turn, or ``None`` if no rank is left."""
        while self._live:
            while self._queue:
                _, _, ticket, rank = heapq.heappop(self._queue)
                if ticket != rank.ticket:
                    continue
                rank.ticket = 0
                return rank
            self._report_deadlock()
        return None

    def start(self) -> None:
        """Give the first rank its turn."""
        first = self._next()
        if first is not None:
            first.gate.release()

    def _yield(self, rank: Rank) -> None:
        """Pass the turn on, and return when this rank has it again."""
        following = self._next()
        if following is not rank:
            if following is not None:
                following.gate.release()
            rank.gate.acquire()
        rank.state = "running"
        rank.clock = max(rank.clock, rank.wake)
        if rank.error is not None:
            error, rank.error = rank.error, None
            raise error

    def end(self, rank: Rank, failure: BaseException | None) -> None:
        """The thread of ``rank`` is over: notify the ranks that depend on it, and pass on the turn."""
        rank.state = "ended"
        rank.failure = failure
        self._live -= 1
        if isinstance(failure, RankDropped):
            rank.state = "dropped"
            for other in self.ranks:
                if other.state == "blocked":
                    self._check_missing(other)
        elif failure is not None:
            self.fail(
                f"rank {rank.number} has failed: {type(failure).__name__}: {failure}", failure
            )
        following = self._next()
        if following is None:
            self.finished.set()
        else:
            following.gate.release()

    def fail(self, why: str, cause: BaseException | None) -> None:
        """End all ranks: a rank that waits or communicates from now on gets an error."""
        if self._failed is None:
            self._failed = (why, cause)
        for rank in self.ranks:
            if rank.state == "blocked" and rank.error is None:
                self._interrupt(rank, self._failure_of(rank))

    def _failure_of(self, rank: Rank) -> RankFailedError:
        why, cause = self._failed or ("", None)
        doing = (
            f"; rank {rank.number} waits for {describe_all(rank.waiting)}" if rank.waiting else ""
        )
        error = RankFailedError(why + doing)
        error.__cause__ = cause
        return error

    def _interrupt(self, rank: Rank, error: BaseException) -> None:
        rank.error = error
        rank.state = "ready"
        self._enqueue(rank, rank.clock)

    def _report_deadlock(self) -> None:
        """All remaining ranks wait for ever: report to each of them which rank waits for what."""
        waiting = [rank for rank in self.ranks if rank.state == "blocked"]
        lines = [f"rank {rank.number}: {describe_all(rank.waiting)}" for rank in waiting[:64]]
        if len(waiting) > 64:
            lines.append(f"and {len(waiting) - 64} more")
        for state, words in (("ended", "over"), ("dropped", "dead")):
            gone = [str(rank.number) for rank in self.ranks if rank.state == state]
            if gone:
                lines.append(f"already {words}: rank {', '.join(gone[:64])}")
        report = "deadlock: every rank that is left waits\n  " + "\n  ".join(lines)
        contexts = sorted({context for rank in waiting for context in rank.logs})
        differences = {context: self.difference(context) for context in contexts}
        apart = next(filter(None, differences.values()), "")
        for rank in waiting:
            for context, log in rank.logs.items():
                if differences.get(context):
                    log.parted = log.parted or differences[context]
            self._interrupt(
                rank,
                DivergenceError(f"{apart}\n{report}") if apart else DeadlockError(report),
            )

    def difference(self, context: int) -> str:
        """The difference between the logs of the ranks on a communicator, as text; empty if they agree."""
        records = []
        for rank in self.ranks:
            log = rank.logs.get(context)
            if log is not None:
                log.gone = HOW if rank.state == "ended" and rank.failure is None else ""
                records.append(log.record())
        return parted(records) if records else ""

    # Called by the rank that has the turn ---------------------------------------------------

    def enter(self, rank: Rank) -> None:
        """Check before each action of a rank that its own thread calls, and that it is alive and may continue."""
        if rank.thread != threading.get_ident():
            raise WorldError(
                f"the world of simulated rank {rank.number} belongs to that rank's thread; "
                f"thread {threading.current_thread().name} cannot use it"
            )
        if rank.state == "dropped":
            raise RankDropped
        if self._failed is not None:
            raise self._failure_of(rank)

    def count_operation(self, rank: Rank) -> None:
        """Count an operation of ``rank``, which may be the one at which it dies."""
        self.enter(rank)
        rank.operations += 1
        rank.looked_in_vain = False
        if rank.last_operation is not None and rank.operations >= rank.last_operation:
            rank.state = "dropped"
            raise RankDropped
        if self.random is not None and self.random.random() < 0.25:
            self._enqueue(rank, rank.clock)
            self._yield(rank)
        self._last_event = time.monotonic()

    def act_alone(self, rank: Rank) -> None:
        """Account for a one-sided operation of ``rank``: it takes a moment, and other ready ranks have their turn first.

        So a rank that repeats such operations until another one has acted does not keep the turn for ever.
        """
        self.count_operation(rank)
        self.advance(rank, MOMENT)
        self._enqueue(rank, rank.clock)
        self._yield(rank)

    def advance(self, rank: Rank, seconds: float) -> None:
        """Let ``seconds`` pass for ``rank``, as if it had computed that long."""
        self.enter(rank)
        rank.looked_in_vain = False
        rank.clock += seconds

    def completed(self, request: SimulatedRequest, at: float) -> None:
        """Set the time ``at`` which ``request`` is complete, and wake its rank then."""
        request.complete_at = at
        rank = request.owner
        if rank.state == "blocked" and request in rank.waiting:
            wake = max(at, rank.clock)
            if not rank.ticket or wake < rank.wake:
                self._enqueue(rank, wake)

    def _collect(self, rank: Rank, requests: Sequence[Request]) -> list[int]:
        """Finish the requests that are complete by now; the positions of all that are done."""
        now = rank.clock
        finished, fresh = [], []
        for position, request in enumerate(requests):
            if request.done:
                finished.append(position)
            elif isinstance(request, SimulatedRequest) and request.complete_at <= now:
                fresh.append(position)
        if self.random is not None and fresh:
            self.random.shuffle(fresh)
            fresh = fresh[: self.random.randint(0 if finished else 1, len(fresh))]
        for position in fresh:
            request = requests[position]
            assert isinstance(request, SimulatedRequest)
            finish, request.finish = request.finish, nothing
            request.done = True
            request._result = finish()
        if fresh:
            self._last_event = time.monotonic()
        return finished + fresh

    def test_some(self, rank: Rank, requests: Sequence[Request]) -> list[int]:
        """The positions of the requests that are done; other ranks get their turn if none is newly done."""
        self.enter(rank)
        if self._queue and self._queue[0][0] < rank.clock:
            self._enqueue(rank, rank.clock)
            self._yield(rank)
        before = [position for position, request in enumerate(requests) if request.done]
        finished = before if self._withheld(rank) else self._collect(rank, requests)
        if len(finished) > len(before) or len(finished) == len(requests):
            rank.looked_in_vain = False
            return finished
        self._enqueue(rank, self._time_of_next_look(rank, requests))
        rank.looked_in_vain = True
        self._yield(rank)
        if time.monotonic() - self._last_event > config.wait_abort:
            raise WaitTimeoutError(
                f"rank {rank.number} has waited {config.wait_abort:g} s, while no rank made "
                f"progress, for: {describe_all(requests)}"
            )
        return finished

    def _withheld(self, rank: Rank) -> bool:
        """With a seed, a probe may miss even a message that has arrived, but not always."""
        return self.random is not None and not rank.looked_in_vain and self.random.random() < 0.25

    def _time_of_next_look(self, rank: Rank, requests: Sequence[Request]) -> float:
        """The time at which a rank that has found no message gets its turn again."""
        now = rank.clock
        if not rank.looked_in_vain:
            return now
        times = [r.complete_at for r in requests if isinstance(r, SimulatedRequest)]
        times += [self._queue[0][0]] if self._queue else []
        return max(now, min((t for t in times if now < t < inf), default=now))

    def wait_some(self, rank: Rank, requests: Sequence[Request]) -> list[int]:
        """Wait until a request is done; the positions of all that are."""
        self.enter(rank)
        if not requests:
            raise ValueError("waiting for some of no requests would never end")
        if any(request.done for request in requests):
            return self.test_some(rank, requests)
        rank.looked_in_vain = False
        while not (finished := self._collect(rank, requests)):
            rank.waiting = [r for r in requests if isinstance(r, SimulatedRequest)]
            rank.state = "blocked"
            self._check_missing(rank)
            wake = min(request.complete_at for request in rank.waiting)
            if rank.state == "blocked" and wake < inf:
                self._enqueue(rank, wake)
            try:
                self._yield(rank)
            finally:
                rank.waiting = ()
        return finished

    def _check_missing(self, rank: Rank) -> None:
        """Interrupt a wait that needs a dead rank."""
        for request in rank.waiting:
            if request.complete_at == inf:
                for number in request.missing():
                    other = self.ranks[number]
                    if other.state == "dropped" and rank.error is None:
                        error = RankFailedError(
                            f"rank {number} has died (at its operation {other.operations}); rank "
                            f"{rank.number} waits for {describe_all(rank.waiting)}"
                        )
                        self._interrupt(rank, error)
                        return
