"""The log of a rank: its collective steps, as one rolling hash.

Each event that all ranks must reach (an evaluation, an element that is read, a collective of array code) is a *step*. A step
mixes the fingerprint of the event, which is equal on all ranks that agree, into a rolling hash, and records
the number of the step and the call site. That costs about a microsecond and no message.

The fingerprint covers the operations, the arrays, and the numbers that enter them. An array is known by its *birth*: a
hash of the log at its creation, and its number among the arrays made at that step.

The hash accompanies other messages. Messages between two ranks carry some of its bits in their tag, so that messages of
different plans never match. Small collectives carry all of it in front of their data, and a rank that receives another
hash than its own does not use the data. A message that never matches makes a rank wait: after ``config.wait_check``
seconds it sends a :class:`Record` of its last steps to the ranks that it waits for and reads theirs. The first number
at which two records differ names the lines of both, and raises a :class:`DivergenceError` on all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..errors import CommunicationError, DivergenceError, ThreadError
from . import remote_stacks
from .caches import Recent
from .call_sites import Site, site_text, user_site
from .threads import communicating

KEPT = 1000
"""The number of steps that a rank remembers."""

SHOWN = 100
"""The number of its last steps that a rank sends to others."""

MESSAGE_BITS = 7
"""The bits of a tag that distinguish the messages of one step."""

HASH_MASK = (1 << 64) - 1

_ODD = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Record:
    """The part of a rank's log that it sends to other ranks."""

    rank: int
    number: int
    """The number of steps of the rank so far."""
    steps: dict[int, tuple[int, str, str]] = field(repr=False)
    """The last steps by number: hash, event with its line, and the computation there."""
    gone: str = ""
    """The end of the rank as text; empty while it runs."""
    answer: bool = False
    """True if this answers another record."""
    verdict: str = ""
    """The divergence known to the rank."""
    backend: str = ""
    """The backend that computes its shares, once it was chosen."""
    lacks: str = ""
    """The missing plan of its last step, as a sentence; the rank waits for others that have no plan either."""

    @property
    def last(self) -> str:
        """The last step, as text."""
        return self.steps[self.number][1] if self.number in self.steps else "nothing yet"


class StepLog:
    """The steps of one rank on one communicator."""

    def __init__(self, rank: int, tag_limit: int, *, alone: bool = False) -> None:
        self._alone = alone
        """True if any thread may communicate: the world has no other ranks, or the rank is itself a thread."""
        self.rank = rank
        self.number = 0
        self.pulse = remote_stacks.pulse()
        """The memory in which other processes read the number of this rank's steps."""
        self.hash = 0
        self._births = 0
        """The number of arrays made since the last step."""
        self.exact = True
        """True if equal inputs give equal results on all ranks, so that ranks compare inexact numbers, too."""
        self.gone = ""
        """The end of this rank as text; empty while it runs."""
        self.forked = False
        """True if this process is a fork of the rank and may not communicate; ``parted`` has the reason."""
        self.parted = ""
        """The divergence of the ranks, once it is known: all later collective steps fail."""
        self.divides = False
        """True once the ranks have divided an array."""
        self.losses: dict[tuple[int, ...], float] = {}
        """By shape: nanoseconds that the ranks have lost by dividing such arrays; ``-inf`` if the program laid one out."""
        self.undivided: set[tuple[int, ...]] = set()
        """The shapes of arrays that the ranks no longer divide."""
        self.undivided_lines: dict[int, int] = {}
        """By the number of a line: up to this number of elements, ranks do not divide its results, though broadcasting makes them large."""
        self.plans: dict[Hashable, bool] = {}
        """By structure, without extents: True if all ranks had a plan for it when they compared."""
        self.stored_lines: Recent[int, set[int]] = Recent("caches_full")
        """The numbers of lines whose values on these ranks are stored, since several results have needed them, and their distances
        from the end of the program."""
        self.extents: set[int] = set()
        """The fingerprints of the first programs of all ranks, with their extents; none is ever forgotten, so ranks agree on them."""
        self.words: dict[int, Any] = {}
        """The prepared gathers of a few words of every rank, by their number."""
        self.stored = 0.0
        """Mean bytes of new arrays per rank since the ranks last compared the memory that pending work keeps alive."""
        self.as_laid_out = False
        """True if uneven arrays keep their layout: the program has chosen one, or has their memory."""
        self.backend = ""
        """The name of the backend, which must be equal on all ranks, since messages may depend on it. Set by an upper layer."""
        self.lacks = ""
        """See :attr:`Record.lacks`."""
        self.noted: dict[Any, None] = {}
        """The warnings of this rank that the others may not know. Set by an upper layer."""
        self.unasked = False
        """True if ranks have computed since the last message that says whether a rank has warnings."""
        self.raised = False
        """True if a rank has warnings, which all ranks know."""
        self.computes = True
        """True if values are computed: a dry run evaluates nothing."""
        self._bits = (1 << (tag_limit.bit_length() - 1 - MESSAGE_BITS)) - 1
        self._steps: deque[tuple[int, int, Site | None, str, Callable[[], str]]] = deque(
            maxlen=KEPT
        )

    def step(self, fingerprint: int, what: str, more: Callable[[], str] = str) -> None:
        """Begin a step that all ranks must take alike; ``more()`` distinguishes such steps of one line."""
        if self.parted:
            raise self._still_parted(what)
        if not (self._alone or communicating.here):
            self._by_one_thread(what)
        self.number = self.pulse[0] = number = self.number + 1
        self.hash = rolled = ((self.hash ^ fingerprint) + number) * _ODD & HASH_MASK
        self._births = 0
        self._steps.append((number, rolled, user_site(), what, more))

    def birth(self) -> int:
        """The birth of a new array on these ranks: equal on all, and unique to the array."""
        self._births += 1
        return hash((self.hash, self._births))

    def _by_one_thread(self, what: str) -> None:
        """Refuse to communicate in a second thread: the order of two threads might differ by rank."""
        other = communicating.other()
        if other is not None:
            raise ThreadError(
                f"{_words(user_site(), what.rstrip(','))} needs all ranks, in thread {threading.current_thread().name!r} of rank "
                f"{self.rank}, while thread {other.name!r} has communicated before and is alive; the ranks would not "
                "know in which order. Do what involves divided arrays in one thread; another may go on once that one has ended"
            )

    def part(self, verdict: str) -> DivergenceError:
        """The error to raise when ranks have diverged. All later collective steps raise it too."""
        self.parted = self.parted or verdict
        return DivergenceError(verdict)

    def check(self, what: str) -> None:
        """Raise an error for a collective operation after a divergence."""
        if self.parted:
            raise self._still_parted(what)

    def fork(self) -> None:
        """Refuse every step from now on: this process is a forked child of the rank."""
        self.forked = True
        self.parted = (
            f"this process is a fork of rank {self.rank}; only the rank itself may communicate"
        )

    def _still_parted(self, what: str) -> CommunicationError:
        if self.forked:
            return CommunicationError(self.parted)
        return DivergenceError(
            f"{_words(user_site(), what.rstrip(','))} needs all ranks of this world, which have diverged; "
            "start the program again, or continue in a new world (atoll.world.split) with new arrays. "
            f"The first difference: {self.parted}"
        )

    @property
    def tag(self) -> int:
        """The offset to add to the tags of this step's messages, which are below ``2**MESSAGE_BITS``."""
        return ((self.hash >> 40) & self._bits) << MESSAGE_BITS

    def where(self) -> str:
        """The last step in words: ``an evaluation at program.py:7``."""
        return _words(*self._steps[-1][2:4]) if self._steps else ""

    def record(self, *, answer: bool = False, verdict: str = "") -> Record:
        """The record to send to other ranks."""
        latest = list(self._steps)[-SHOWN:]
        steps = {
            number: (rolled, _words(site, what), more())
            for number, rolled, site, what, more in latest
        }
        return Record(
            self.rank, self.number, steps, self.gone, answer, verdict, self.backend, self.lacks
        )


class _Asked(threading.local):
    """The request that this thread serves, as the log names it; empty for a plain evaluation."""

    look = ""


asked = _Asked()


@contextmanager
def asking_for(what: str) -> Iterator[None]:
    """Let the log name the evaluations inside ``what``."""
    before, asked.look = asked.look, what
    try:
        yield
    finally:
        asked.look = before


def _words(site: Site | None, what: str) -> str:
    return f"{what} at {site_text(site)}" if site else what


CURE = (
    "What one rank alone shall do with a whole array, such as writing a file, takes two steps: all ranks compute "
    "`whole = numpy.asarray(a)`, outside of the condition; inside of it the one rank uses `whole`"
)


def difference(first: Record, second: Record) -> str:
    """The first difference between two records, as text; empty if they agree."""
    if first.rank > second.rank:
        first, second = second, first
    for number in sorted(first.steps.keys() & second.steps.keys()):
        (mine, words, more), (theirs, other_words, other_more) = (
            first.steps[number],
            second.steps[number],
        )
        if mine != theirs:
            if first.backend and second.backend and first.backend != second.backend:
                return (
                    f"ranks compute by different backends: rank {first.rank} by {first.backend!r}, rank {second.rank} by "
                    f"{second.backend!r}, so their messages and last digits differ. Install llvmlite on all hosts, or set "
                    "ATOLL_BACKEND=numpy for all ranks"
                )
            detail = ""
            if words == other_words and more != other_more:
                detail = (
                    f" Rank {first.rank} computes {more}; rank {second.rank} computes {other_more}."
                )
            elif words == other_words:
                detail = " The operations there have the same names and shapes, but different arrays, numbers, arguments or layouts."
            return (
                f"ranks have diverged: at step {number}, rank {first.rank} reached "
                f"{words}, rank {second.rank} {other_words}.{detail} All ranks must reach operations on "
                "distributed arrays in the same order, with the same arrays, numbers, shapes and layouts; is this "
                f"operation under a condition that differs by rank? {CURE}"
            )
    for lacking, here in ((first, second), (second, first)):
        if lacking.lacks and not here.lacks and here.number >= lacking.number:
            return lacking.lacks  # the other rank waits, so it runs the plan
    for gone, here in ((first, second), (second, first)):
        if gone.gone and not here.gone and gone.number < here.number:
            missed = here.steps.get(gone.number + 1)
            return (
                f"ranks have diverged: rank {gone.rank} {gone.gone}, its last step was "
                f"{gone.last}; rank {here.rank} continued to {missed[1] if missed else here.last}, "
                f"which all ranks must reach. {CURE}"
            )
    return ""


def parted(records: Iterable[Record]) -> str:
    """The first difference between the first record and any other."""
    first, *others = records
    return next(filter(None, (difference(first, other) for other in others)), "")
