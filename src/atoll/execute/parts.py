"""Parts: executes the plan of a dataflow graph.

A *part* is a list of steps without communication. Messages arrive before it and leave after it.
Parts form a partial order: a part waits for some messages and for some other parts, and whichever
waits for nothing any more may run. One loop runs them all:

1. run a part that is ready, the first in the order of the schedule; then send what it sends;
   each part that waited for it waits for one thing less;
2. see what has arrived, put it in place; its readers wait for one thing less;
3. where no part is ready, post receives, some at a time, and wait.

(The parts of an array program follow each other, so its steps do the same by themselves: see ``exchange``.)

The parts of a schedule that is ``guarded`` may fail on one rank, and all messages come and go nevertheless: a
rank where a step raises does no further steps, and sends nothing in place of each message that
is left, and so does each rank that receives nothing. So no rank waits in vain, and no message is left over.

A wait names the messages that it waits for, each by what it is for. A register that is read by
several parts is let go when the last of them has run, whichever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from .. import policy
from ..backend.base import Told
from ..comm.communicator import Communicator, Request
from ..comm.pending import Pending
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
    """Only where a profile is recorded: for each line that the program was made for, the one that recorded this trace."""
    step: Step
    """What is being done."""

    def __init__(
        self, registers: list[Value | None], scalars: Sequence[Any], reused: int = 0
    ) -> None:
        self.registers = registers
        self.scalars = scalars
        self.site: Site | None = None
        """Where the native evaluation runs a step of NumPy's: the line that recorded it."""
        self.allocator: Allocator | None = None
        """Who gives memory for what arrives and stays; ``None``: the pool."""
        self.done: Any = None
        """The latest step whose kernels have run: what an interrupt after that finds done."""
        self.flags: list[tuple[int, Any]] = []
        """Floating-point flags that kernels raised, and the launches that raised them."""
        self.kernels = 0
        """How many kernels have run."""
        self.messages = self.moved = 0
        self.reused = reused
        """True if the plan was known."""
        self.log: StepLog | None = None
        """Of ranks that run it together: what keeps their warnings."""
        self.extremes: dict[int, Any] = {}
        """The value at a position that was found."""


def told(step: Any) -> tuple[Any, ...]:
    """A step for the native evaluation: what kind it is, itself, its registers, and what else it needs."""
    tell = getattr(step, "told", None)
    known = None if tell is None else tell()
    return (Told.PYTHON, step, ()) if known is None else known


class Step(Protocol):
    """One thing that a program does."""

    def run(self, state: State) -> None:
        """Do it."""


def joined(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps, with those that one call can do together as one.

    A step that can be joined to others of its class has a ``joined``, which makes one of several.
    """
    result: list[Step] = []
    for kind, group in groupby(steps, type):
        same = list(group)
        join = getattr(kind, "joined", None)
        merged = join(same) if join is not None and len(same) > 1 else None
        if merged is None:
            result += same
        else:
            result.append(merged)
    return tuple(result)


class Failure(NamedTuple):
    """Why a rank could not run all of its parts."""

    fault: Exception | None
    """What was raised here."""
    message: Message | None
    """What another rank could not send."""


@dataclass(slots=True, eq=False)
class Part:
    """Steps, and what comes before and after them."""

    steps: Sequence[Step]
    sends: Sequence[Message] = ()
    reads: Sequence[int] = ()
    """The registers that are let go when all parts which read them have run."""
    followers: tuple[int, ...] = ()
    """The parts that wait for this one."""
    waits: int = 0
    """How many messages and parts must be there first."""


class Schedule:
    """Parts, those that other ranks wait for first, and the messages between them and other ranks.

    ``uses`` counts the parts that read a register, as far as parts say so. ``arriving`` are the
    messages from others. The tags of all messages count from ``tag``.
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
        """Run all parts; on return all messages have come and gone. Their tags count from ``tag``.

        ``fault`` is why nothing can be computed here. Only what is guarded answers with a failure.
        """
        run = _Run(self, state, tag)
        if fault is not None:
            run.failure = Failure(fault, None)
        run.run()
        return run.failure


class _Run:
    """One run: what is ready, what is on its way."""

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
        """What is on its way: each message, and the array to put in place, if that remains to be done."""

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
        """Send what a part sends."""
        communicator, registers = self.schedule.communicator, self.state.registers
        for message in part.sends:
            array = message.outgoing(registers) if self.failure is None else message.nothing()
            self.moved += array.nbytes
            tag = self.tag + message.tag
            request = communicator.isend(array, message.peer, tag, message.what)
            if not request.done:
                self.pending.add(request, (message, None))

    def _post(self, unposted: Any) -> bool:
        """Post some receives; whether there may be others."""
        for _ in range(policy.limits.numbers):
            message = next(unposted, None)
            if message is None:
                return False
            self._open(message)
        return True

    def _take(self, done: list[tuple[Request, tuple[Message, Array | None]]]) -> None:
        """Put what has arrived in place, and note what has left."""
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
