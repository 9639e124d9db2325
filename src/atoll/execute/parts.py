"""Parts: executes the plan of a dataflow graph.

A *part* is a list of steps without communication. Messages arrive before it and leave after it.
Parts form a partial order: a part waits for some messages and for some other parts. A part is
*ready* once all of these are complete. One loop runs all parts:

1. run a part that is ready, the first in the order of the schedule; then post its sends, and
   count it as complete for each part that waits for it;
2. test for arrived messages, put them in place, and count them as complete for their readers;
3. if no part is ready, post receives, some at a time, and wait.

(An array program is a single sequence, so its steps communicate by themselves: see ``exchange``.)

The parts of a ``guarded`` schedule may fail on one rank, and all messages are still sent and received. A rank where a
step raises runs no further steps, and sends an empty message in place of each remaining one, and so does each
rank that receives an empty message. So no rank waits in vain, and no message is left over.

A wait reports its messages, each by its purpose. A register that several parts read is released
after the last of them has run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from .. import policy
from ..backend.base import Told
from ..comm.communicator import Communicator, Pending, Request
from ..context import statistics
from ..context.divergence import StepLog
from ..errors import PartitionInducedCycleError
from ..exchange.messages import Allocator, Array, Message
from ..exchange.schedule import Run
from ..graph.node import Site, Value


class State(Run):
    """The state of one run."""

    __slots__ = (
        "allocator",
        "done",
        "extremes",
        "flags",
        "kernels",
        "log",
        "reused",
        "scalars",
        "site",
        "sites",
        "step",
    )
    sites: Any
    """For each line that the program was made for, the line that recorded this trace; set only under a profile."""
    step: Step
    """The current step."""

    def __init__(
        self, registers: list[Value | None], scalars: Sequence[Any], reused: int = 0
    ) -> None:
        self.registers = registers
        self.scalars = scalars
        self.site: Site | None = None
        """The line that recorded the NumPy step which the native evaluation runs."""
        self.allocator: Allocator | None = None
        """The allocator of memory for arriving arrays that stay; ``None`` for the pool."""
        self.done: Any = None
        """The latest step whose kernels have run, which must not run again after an interrupt."""
        self.flags: list[tuple[int, Any]] = []
        """Floating-point flags that kernels raised, and the launches that raised them."""
        self.kernels = 0
        """The number of kernels that have run."""
        self.reused = reused
        """True if the plan was reused."""
        self.log: StepLog | None = None
        """The log that keeps the warnings, where ranks run the program together."""
        self.extremes: dict[int, Any] = {}
        """By the register of a position, the extreme element there."""


def told(step: Any) -> tuple[Any, ...]:
    """A step for the native evaluation: its kind, the step itself, its registers, and further data."""
    tell = getattr(step, "told", None)
    known = None if tell is None else tell()
    return (Told.PYTHON, step, ()) if known is None else known


class Step(Protocol):
    """One step of a program."""

    def run(self, state: State) -> None:
        """Execute the step."""


def joined(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, with neighbours that one call can execute joined into one step, and others in parts.

    A class whose steps can be joined has a ``joined``, which makes one step of several; one whose steps have parts has ``parts``.
    """
    result: list[Step] = []
    apart: list[Any] = []
    for step in steps:
        parts = getattr(step, "parts", None)
        apart += [step] if parts is None else parts()
    for kind, group in groupby(apart, type):
        same = list(group)
        join = getattr(kind, "joined", None)
        merged = join(same) if join is not None and len(same) > 1 else None
        if merged is None:
            result += same
        else:
            result.append(merged)
    return tuple(result)


class Failure(NamedTuple):
    """The reason why a rank could not run all of its parts."""

    fault: Exception | None
    """The exception of this rank."""
    message: Message | None
    """The message that another rank could not send."""


@dataclass(slots=True, eq=False)
class Part:
    """Steps, and the messages and parts before and after them."""

    steps: Sequence[Step]
    sends: Sequence[Message] = ()
    reads: Sequence[int] = ()
    """The registers to release once all parts that read them have run."""
    followers: tuple[int, ...] = ()
    """The parts that wait for this one."""
    waits: int = 0
    """The number of messages and parts that must be complete first."""


class Schedule:
    """Parts, with those that other ranks wait for first, and their messages from and to other ranks.

    ``uses`` has the number of parts that name a register in their ``reads``. ``arriving`` are the
    messages from other ranks.
    """

    __slots__ = (
        "_first",
        "_waits",
        "arriving",
        "communicator",
        "guarded",
        "parts",
        "sends",
        "uses",
    )

    def __init__(
        self,
        communicator: Communicator,
        parts: Sequence[Part],
        needs: Sequence[Sequence[int]],
        *,
        arriving: Sequence[Message] = (),
        uses: dict[int, int] | None = None,
        guarded: bool = False,
    ) -> None:
        self.communicator = communicator
        self.guarded = guarded
        self.parts = tuple(parts)
        self.arriving = tuple(arriving)
        self.uses = uses or {}
        self.sends = sum(len(part.sends) for part in parts)
        followers: list[list[int]] = [[] for _ in parts]
        for k, (part, needed) in enumerate(zip(parts, needs, strict=True)):
            for other in needed:
                followers[other].append(k)
            part.waits = len(needed)
        for part, after in zip(parts, followers, strict=True):
            part.followers = tuple(after)
        for message in arriving:
            for reader in message.readers:
                parts[reader].waits += 1
        self._waits = [part.waits for part in parts]
        self._first = [k for k, part in enumerate(parts) if not part.waits]

    def run(self, state: State, tag: int, fault: Exception | None = None) -> Failure | None:
        """Run all parts; on return all messages have arrived and left. Their tags count from ``tag``.

        ``fault`` is an earlier error, after which this rank computes nothing. Only a guarded schedule returns a failure.
        """
        run = _Run(self, state, tag)
        if fault is not None:
            run.failure = Failure(fault, None)
        run.run()
        return run.failure


class _Run:
    """One run: the ready parts, and the pending messages."""

    __slots__ = (
        "failure",
        "left",
        "missing",
        "moved",
        "pending",
        "ready",
        "schedule",
        "state",
        "tag",
        "uses",
    )

    def __init__(self, schedule: Schedule, state: State, tag: int) -> None:
        self.schedule = schedule
        self.state = state
        self.tag = tag
        self.missing = schedule._waits.copy()
        self.ready = schedule._first.copy()
        heapify(self.ready)
        self.uses = schedule.uses.copy()
        self.failure: Failure | None = None
        self.left = len(schedule.parts)
        self.moved = 0
        self.pending: Pending[tuple[Message, Array | None]] = Pending(schedule.communicator)
        """The pending messages, each with the array to put in place on arrival, if any."""

    def run(self) -> None:
        schedule = self.schedule
        parts, ready, pending = schedule.parts, self.ready, self.pending
        unposted = iter(schedule.arriving)
        more = bool(schedule.arriving) and self._post(unposted)
        while self.left:
            if ready:
                self._run_part(parts[heappop(ready)])
                if ready:
                    self._take(pending.test())
            elif more:
                more = self._post(unposted)
                self._take(pending.test())
            elif pending:
                self._take(pending.wait())
            else:
                raise PartitionInducedCycleError(
                    "parts wait for each other, so none of them can run; find_distributed_partition makes parts that can"
                )
        while pending:
            pending.wait()
        if schedule.sends:
            statistics.sent(schedule.sends, self.moved)

    def _run_part(self, part: Part) -> None:
        state = self.state
        if self.failure is None:
            try:
                for step in part.steps:
                    state.step = step
                    step.run(state)
            except Exception as error:
                if not self.schedule.guarded:
                    raise
                self.failure = Failure(error, None)
        if part.sends:
            self._send(part)
        self.left -= 1
        missing = self.missing
        for follower in part.followers:
            missing[follower] -= 1
            if not missing[follower]:
                heappush(self.ready, follower)
        uses = self.uses
        for register in part.reads:
            uses[register] -= 1
            if not uses[register]:
                state.registers[register] = None

    def _open(self, message: Message) -> None:
        state = self.state
        try:
            buffer, target = message.memory(state.registers, state.allocator)
        except Exception as error:
            if not self.schedule.guarded:
                raise
            self.failure = self.failure or Failure(error, None)
            buffer, target = message.memory(state.registers, None)
        request = self.schedule.communicator.irecv(
            buffer, message.peer, self.tag + message.tag, message.what
        )
        if self.schedule.guarded:
            request.refused = False
        self.pending.add(request, (message, None if target else buffer))

    def _send(self, part: Part) -> None:
        """Post the sends of a part."""
        communicator, registers = self.schedule.communicator, self.state.registers
        for message in part.sends:
            array = message.outgoing(registers) if self.failure is None else message.nothing()
            self.moved += array.nbytes
            tag = self.tag + message.tag
            request = communicator.isend(array, message.peer, tag, message.what)
            if not request.done:
                self.pending.add(request, (message, None))

    def _post(self, unposted: Any) -> bool:
        """Post some receives; True if more may remain."""
        for _ in range(policy.limits.numbers):
            message = next(unposted, None)
            if message is None:
                return False
            self._open(message)
        return True

    def _take(self, done: list[tuple[Request, tuple[Message, Array | None]]]) -> None:
        """Put arrived messages in place, and count them as complete for their readers."""
        for request, (message, late) in done:
            if request.refused:
                self.failure = self.failure or Failure(None, message)
            elif late is not None:
                message.arrived(late, self.state.registers)
            self._less(message)

    def _less(self, message: Message) -> None:
        missing = self.missing
        for reader in message.readers:
            missing[reader] -= 1
            if not missing[reader]:
                heappush(self.ready, reader)
