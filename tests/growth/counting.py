"""What one rank does to plan a step, counted: lines of Python, bytes of memory, and other ranks that it deals with.

A rank of a dry run records, plans and communicates as it would, and nothing moves (:mod:`atoll.modelling.counting`). Lines
and bytes are counts, so that they are the same on a busy machine; a loop over all ranks shows in the lines, a table of all
ranks in the bytes. Lines are those of the planning alone: no garbage is collected meanwhile, and two tables are left out, whose
work depends on what ran before: the kernel cache, and the dropping of dead interned objects.
"""

from __future__ import annotations

import collections
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import atoll
from atoll.backend.llvm import cache
from atoll.comm.dry_run import Sent, Together, Waited
from atoll.graph.identities import Interned
from atoll.modelling.counting import Counter

FIRST = 90
"""The number of ranks of the worlds that find out what does not depend on it: dtypes, kernels, names."""


class Cost(NamedTuple):
    """What a step costs a rank, but for its arithmetic."""

    lines: int
    """Lines of Python that ran."""
    files: collections.Counter[str]
    """The same for each file."""
    nbytes: int
    """The most memory that there was at a time beside what there was before, without what arrays hold."""
    partners: int
    """How many other ranks it sends to or receives from."""
    rounds: int
    """How often it waits for others: for messages, or for all ranks."""
    milliseconds: float

    def __str__(self) -> str:
        most = [f"{count} in {name}" for name, count in self.files.most_common(8)]
        return f"{self.lines} lines, most of them {', '.join(most)}"


class Lines:
    """A trace function that counts the lines of each file, without those of the kernel cache and of dead interned objects."""

    def __init__(self) -> None:
        self.files: collections.Counter[str] = collections.Counter()
        self.omitted: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Lines:
        if self.omitted is None:
            name = frame.f_code.co_filename
            if name == cache.__file__ or frame.f_code is Interned._drop_dead.__code__:
                self.omitted = frame
            elif event == "line":
                self.files[name] += 1
        elif event == "return" and frame is self.omitted:
            self.omitted = None
        return self


Setup = Callable[[int], Callable[[], Any]]
"""From the number of ranks to the step: what is done before is not counted."""


def cost(setup: Setup, size: int, rank: int | None = None, timed: int = 0) -> Cost:
    """The cost of the first step of a program on one rank of ``size``."""
    with atoll.config(small=0, everywhere=0):
        with _world(setup, FIRST, FIRST // 3) as step:
            step()
        where = size // 3 if rank is None else rank
        files, peers, rounds = _lines(setup, size, where)
        nbytes = min(
            _bytes(setup, size, where) for _ in range(2)
        )  # other threads may ask for memory during a turn
        times = [_seconds(setup, size, where) for _ in range(timed)]
    return Cost(files.total(), files, nbytes, peers, rounds, 1e3 * min(times, default=0.0))


@contextmanager
def _world(setup: Setup, size: int, rank: int) -> Iterator[Callable[[], list[Any]]]:
    """A rank of a dry run that is about to step; yields the step."""
    counter = Counter(rank, size)
    with counter.counting():
        advance = setup(size)
        atoll.sync()
        gc.collect()
        yield lambda: counter.step(advance)


def _lines(setup: Setup, size: int, rank: int) -> tuple[collections.Counter[str], int, int]:
    lines, before = Lines(), sys.gettrace()
    with _world(setup, size, rank) as step:
        gc.disable()
        try:
            sys.settrace(lines)
            events = step()
        finally:
            sys.settrace(before)
            gc.enable()
    peers = {event.peer for event in events if isinstance(event, Sent)} - {rank}
    return lines.files, len(peers), sum(isinstance(event, Together | Waited) for event in events)


def _bytes(setup: Setup, size: int, rank: int) -> int:
    with _world(setup, size, rank) as step:
        tracemalloc.start()
        try:
            step()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def _seconds(setup: Setup, size: int, rank: int) -> float:
    with _world(setup, size, rank) as step:
        gc.disable()
        try:
            start = time.process_time()
            step()
            return time.process_time() - start
        finally:
            gc.enable()
