"""``atoll.model``: the time of a step of a program on a number of ranks of a machine, and its bound, without running it there.

Dry runs count the work of each rank (:mod:`.counting`), and :mod:`.timing` converts the counts to time on a machine of
:mod:`.machines`. ``atoll machine`` measures the current machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import isgeneratorfunction
from math import isqrt
from typing import Any, overload

from ..comm.dry_run import Sent, Together
from ..context import statistics
from ..errors import a_type
from ..graph.words import size
from .counting import Counter, Evaluated
from .machines import MACHINES as MACHINES
from .machines import Link as Link
from .machines import Machine as Machine
from .machines import machine_of
from .timing import DOUBTS, PARTS, Clock
from .work import Work

STEPS = 5
"""The steps that a generator runs, of which the last counts: earlier ones plan, lay out arrays, and leave memory for reuse."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected time of a step on a number of ranks; ``print`` it, or read its fields."""

    ranks: int
    machine: str
    rank: int
    """The slowest of the counted ranks; the counts below are its own."""
    seconds: float
    parts: dict[str, float]
    """The seconds by part: ``memory``, ``arithmetic``, ``python``, ``latency`` and ``network``."""
    lines: dict[str, float]
    """The seconds of memory and arithmetic, by line of the program."""
    hidden: float
    """The seconds of messages that overlap with work."""
    doubts: dict[str, float]
    """The seconds by which the estimate may be off, by reason: ``caches``, ``numpy`` and ``turns``."""
    nbytes: int
    """Bytes that this rank reads and writes in memory."""
    operations: float
    """Its arithmetic, in additions of doubles."""
    messages: int
    """Messages that this rank sends ..."""
    sent: int
    """... and their bytes."""
    partners: int
    """The number of ranks to which it sends."""
    collectives: int
    evaluations: int
    share: int
    """The bytes of its arrays in the largest evaluation."""

    @property
    def bound(self) -> str:
        """The part that takes most of the step."""
        return max(self.parts, key=lambda part: self.parts[part])

    @property
    def error(self) -> float:
        """The seconds by which the estimate may be off, if the numbers of the machine are right: the sum of its ``doubts``."""
        return sum(self.doubts.values())

    def __str__(self) -> str:
        doubts = [
            f"{DOUBTS[name]} ({_time(spent)})" for name, spent in self.doubts.items() if spent > 0
        ]
        longest = max(self.lines, key=lambda line: self.lines[line], default="")
        parts = [f"{name} {_time(spent)}" for name, spent in self.parts.items() if spent > 0]
        return "\n".join([
            f"{_time(self.seconds)} a step on {self.ranks} ranks of {self.machine}, bound by {PARTS[self.bound]}",
            f"  {', '.join(parts)}; {_time(self.hidden)} of messages behind work",
            f"  rank {self.rank} reads and writes {size(self.nbytes)}, sends {self.messages} messages ({size(self.sent)}) to "
            f"{self.partners} ranks, and takes part in {self.collectives} collectives",
            *([f"  longest at {longest}: {_time(self.lines[longest])}"] if longest else []),
            *([f"  may be off by {_off(self)}: {', '.join(doubts)}"] if doubts else []),
        ])  # fmt: skip

    __repr__ = __str__


class Estimates(tuple[Estimate, ...]):
    """Estimates for several numbers of ranks; they print as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [
            f"{'ranks':>8} {'a step':>10} {'speedup':>9} {'efficiency':>10} {'off by':>7}  bound by"
        ]
        for each in self:
            gained = self[0].seconds / each.seconds if each.seconds else 1.0
            efficiency = gained * self[0].ranks / each.ranks
            rows.append(
                f"{each.ranks:>8} {_time(each.seconds):>10} {gained:>9.1f} {efficiency:>9.0%}  {_off(each):>7}  {PARTS[each.bound]}"
            )
        return "\n".join(rows)

    __repr__ = __str__


@overload
def model(
    program: Callable[[], Any],
    ranks: int,
    network: str | os.PathLike[str] | Machine = ...,
    *,
    threads: int = ...,
) -> Estimate: ...
@overload
def model(
    program: Callable[[], Any],
    ranks: Iterable[int],
    network: str | os.PathLike[str] | Machine = ...,
    *,
    threads: int = ...,
) -> Estimates: ...
def model(
    program: Callable[[], Any],
    ranks: int | Iterable[int],
    network: str | os.PathLike[str] | Machine = "infiniband",
    *,
    threads: int = 1,
) -> Estimate | Estimates:
    """Estimate the time of a step of a program on a number of ranks, and its bound, from counts: nothing is computed or sent.

    ``program`` is a function without arguments, which makes its arrays and works with them. If it is a generator, each
    ``yield`` ends a step, and the fifth step counts; else the whole call is one step. ``ranks`` is a number,
    or several, for a table. ``network`` is the machine: ``workstation``, ``ethernet``, ``infiniband``, ``chinook``, a
    :class:`Machine`, or the path of a file that ``atoll machine PATH`` has written. ``threads`` is the number of threads of a rank.

    Values in the program are meaningless: scalars are ones. So its number of steps must not depend on them.

    >>> def program():
    ...     u, dx, dy = start(10_000)
    ...     while True:
    ...         yield advance(u, dx, dy)
    >>> print(np.model(program, ranks=[1, 64, 2048], network="infiniband"))
    """
    if not callable(program):
        raise TypeError(
            f"model: program must be a function without arguments, not {a_type(program)}"
        )
    machine = machine_of(network)
    if threads < 1:
        raise ValueError(f"model: a rank has at least one thread, not {threads}")
    if isinstance(ranks, Iterable):
        return Estimates([_estimated(program, int(size), machine, threads) for size in ranks])
    return _estimated(program, ranks, machine, threads)


def _estimated(program: Callable[[], Any], size: int, machine: Machine, threads: int) -> Estimate:
    """The estimate of the slowest among a few representative ranks."""
    if size < 1:
        raise ValueError(f"model: a program runs on at least one rank, not {size}")
    estimates = []
    for rank in _some_ranks(size):
        events = counted(program, rank, size, machine.ranks_of_node(size, threads))
        estimates.append(_summed(events, Clock(machine, size, rank, threads).run(events)))
    return max(estimates, key=lambda each: each.seconds)


def _some_ranks(size: int) -> list[int]:
    """The first rank, the last one, and one with neighbours on all sides, wherever the grid has such ranks."""
    return sorted({0, size // 2 + isqrt(size) // 3, size - 1} & {*range(size)})


def counted(
    program: Callable[[], Any], rank: int, size: int, ranks_per_node: int = 1
) -> Sequence[Any]:
    """The events of one rank of ``size`` in a step, from :mod:`.counting` and :mod:`..comm.dry_run`."""
    counter = Counter(rank, size, ranks_per_node)
    with statistics.separate(), counter.counting():
        if not isgeneratorfunction(program):
            return counter.step(program)
        steps = program()
        ended = False

        def go_on() -> None:
            nonlocal ended
            ended = next(steps, steps) is steps

        events: list[Any] = []
        for number in range(1, STEPS + 1):
            counter.preparing = number < STEPS
            latest = counter.step(go_on, goes_on=True)
            if ended:
                raise ValueError(
                    f"model: the program yields {number - 1} time{'s' * (number != 2)}, and step {STEPS} is modelled; it must yield at the end "
                    f"of at least {STEPS} steps"
                )
            events = latest
        steps.close()
    return events


def _summed(events: Sequence[Any], clock: Clock) -> Estimate:
    work = [each for each in events if isinstance(each, Work)]
    sent = [each for each in events if isinstance(each, Sent) and each.leaves]
    evaluations = [each for each in events if isinstance(each, Evaluated)]
    return Estimate(
        ranks=clock.ranks,
        machine=clock.machine.name,
        rank=clock.rank,
        seconds=clock.now,
        parts=dict(clock.parts),
        lines=dict(clock.lines),
        hidden=clock.hidden,
        doubts=dict(clock.doubts),
        nbytes=sum([each.nbytes for each in work]),
        operations=sum([each.operations for each in work]),
        messages=len(sent),
        sent=sum([each.nbytes for each in sent]),
        partners=len({each.peer for each in sent}),
        collectives=sum([isinstance(each, Together) for each in events]),
        evaluations=len(evaluations),
        share=max([each.nbytes for each in evaluations], default=0),
    )


def _off(estimate: Estimate) -> str:
    return f"{estimate.error / estimate.seconds:.0%}" if estimate.seconds else ""


def _time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.2g} us"
