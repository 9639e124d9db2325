"""The limits: the numbers that decide when to record, evaluate, store, share and forget.

A limit decides how a value is computed, never which value: a program gives the same answers under any limits. All of
them stand here, in one frozen value, in five units of cost: elements, bytes, nanoseconds, operations and calls. The settings
of users are in ``config``; sizes that a format, a message or a machine dictates stay where they are used.

``benchmarks/limits.py`` measures the costs that the limits follow from, and prints each limit beside its measurement.
The name in brackets behind each limit is that of its measurement, with a few figures from a machine of two cores that others used as well.

What decides the order of additions (``backend/spec.py``) is no limit: sums would have other last digits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

_PIECES = (
    "short", "chunk", "vector", "part_vector", "stretch", "pieces", "numbers", "panel", "entries", "held",
)  # fmt: skip
"""The limits by which work is cut into pieces."""


@dataclass(frozen=True, slots=True)
class Limits:
    """One complete set of limits."""

    # elements: what the fixed cost of a plan, a thread or a message is worth
    small: int = 30_000
    """Arrays of fewer elements stay with NumPy by default (measured: ``plan``, the elements that NumPy adds meanwhile)."""
    planned: float = 5e6
    """NumPy's loops compute a new trace of such arrays until they have taken so many nanoseconds, as long as its first program (``kernel``: 4.7 ms for
    30 operations); and an operation, view or assignment for a fiftieth of that before Python
    learns it (``learning``: that takes 15 to 20 us)."""
    everywhere: int = 32
    """Every rank computes arrays of up to so many times ``small`` elements by itself by default (``message``: a step at the call
    takes 0.2 to 0.5 ms of each rank)."""
    short: int = 4_000
    """NumPy finishes a view of up to so many elements before a launch begins (``plan``). Arrays of fewer than ``small`` elements, though at least
    so many, are recorded where NumPy and kernels make the same bits, and short inner loops over fewer are not unrolled.
    A quarter of so many elements at a time are compared with the elements of all ranks, to cut a sorted line (``message``)."""
    whole: int = 1 << 22
    """A new array of up to so many elements is filled as soon as a few of them are read or written (``plan``), and NumPy looks at so many truth
    values in memory at once: it stops at the first (``truths``). Each rank has no larger matrix whole (by definition: its memory)."""
    chunk: int = 1 << 15
    """The elements that a thread takes at a time (``chunk``): more do not fit into its cache, fewer cost calls. A call of NumPy's is shared by
    threads that get at least so many, and NumPy's loops take blocks of so many (``blocks``: 17 ms in blocks of 2**10, 1.2 from 2**14 on).
    Where kernels go over their rows together, a chunk is half as many doubles of each array (``sweeps``). Ranks compare up to ``pieces`` times
    so many integers that all of them have, and two bring together what they would ask for (``message``)."""
    parallel: int = 1 << 19
    """Elements times instructions from which a second thread gains (``parallel``)."""
    known_order: int = 1 << 20
    """Every rank computes the order of a shuffle of up to so many elements (``message``)."""

    # elements, in generated code: what a processor does at a time
    vector: int = 64
    """A vector has up to so many elements, and so many are computed at a time of rows that share cache lines with their neighbours, or in a
    turn of a loop that is unrolled (``vectors``: alike from 4 to 64, as the processor has two loads at a time; ``across``: 2.5 ms with 8, 1.3 with
    64). Positions in shorter rows are found by NumPy, extremes and sums of integers along longer ones (``searches``: a kernel takes 1.2 times
    as long in rows of 16)."""
    part_vector: int = 8
    """The same of elements that do not lie side by side, are each repeated, or end a row; inner loops of no more are unrolled (``scattered``: 54 us with 1,
    56 with 8, 61 with 32; repeated, 63 with 1, 58 from 4 on; ``tails``: 96 us with 2, 90 from 4 on)."""
    stretch: int = 1 << 13
    """A search along a row, or a scan down columns, takes so many bytes of a row at a time, which stay in the first-level cache
    (``searches``: 72 us, 81 with 2**16; ``scans``)."""

    # bytes: what copying costs beside a message
    packed: int = 1 << 16
    """A piece of a message of up to so many bytes is packed together with others, and messages to one neighbour keep their memory from step to
    step (``copy``: 0.7 us at either end, a message 5). A rank reads and writes its own elements where so many bytes of them follow each
    other in a file."""
    cached: int = 1 << 22
    """Arrays of up to so many bytes stay in the cache (``throughput``): pieces are copied together to be one message (``copy``), whole arrays of
    more are brought together in memory that the ranks of a node share (``message``: that takes four small ones), and kernels over ``pieces``
    times as many go over their rows together (``sweeps``: 4.5 ms a step, 6.0 one by one)."""
    held: int = 1 << 26
    """The bytes that a rank may have beyond its share. Pending work is evaluated where it keeps more alive than these, beyond what the program
    refers to (``held``: twelve new arrays of 16 MB are added up in 26 ms with 2**24, 28 with 2**26, 32 with 2**28), and so many are read from a file, or
    looked up in other ranks' elements, at a time."""

    # nanoseconds: what is expected of calls before they are timed
    numpy_call: int = 500
    """A call of NumPy (``throughput``)."""
    rate: int = 30
    """The bytes from memory (``throughput``), or the operations of LAPACK (``factors``), that one rank is through with in a nanosecond."""
    step: int = 200_000
    """A step of all ranks: a message with its plan, an operation at the call (``message``), or a column of a matrix that they
    factor together, beside its arithmetic (``factors``)."""
    travelled_bytes: int = 4
    """The bytes of a whole array that then come to a rank (``message``)."""

    # operations: what compiling costs, and what computing again would
    kernel_operations: int = 2000
    """A kernel has up to so many operations, and a part of a dataflow graph so many nodes: compiling takes as many times longer (``kernel``)."""
    kernel_streams: int = 24
    """A kernel reads up to so many arrays: the processor follows that many streams (``streams``). It stores results in half as many, since
    a store reads the line first; and expands an operand of more operations once, not at each of its reads (``kernel``)."""
    pending: int = 300
    """A loop is cut where so many operations are pending (``kernel``)."""
    registers: int = 24
    """So many values of a loop stay in vector registers at a time (``kernel``), and elements are written so often in a row as vectors
    (``scattered``). A quarter of them is for numbers, or for each of four rows that are folded in turns (``folds``). Up to so many
    operations under a mask are compiled twice: with the mask, and for all elements (``masks``)."""
    draft_work: int = 1 << 23
    """Elements times operations after which a kernel that was compiled quickly is compiled well, for each of its instructions (``draft``: 1 ms each, twice
    the time that the draft of a formula has worked until then)."""

    # calls: how often something happens before another way is taken
    pieces: int = 8
    """How many short pieces, parts or repetitions go together before the whole is taken (``plan``), and plans of one structure.

    A view of fewer than ``small`` elements that is at most one part in so many of its array is finished by NumPy, and ranks keep
    results of up to one part in so many of ``config.everywhere`` whole, since their elements travel to all. Threads ask so many
    times for more of a loop that is not cut into chunks (``parallel``). Kernels go over their rows together where they come to the same
    bytes again for this part of all (``sweeps``). Extents that differ by half such a part count as alike, and a result is rebalanced if a
    rank has more than two even shares less two such parts."""
    patience: int = 4
    """How often a line stands in pending work before that counts as a loop (``kernel``), and so many times ``pieces`` of what is computed
    next are asked for on ranks before it is computed by itself (``plan``)."""
    numbers: int = 32
    """Lists of up to so many numbers are compared one by one (``lists``), and written out in the log of ranks. So many kernels go over
    their rows together (``sweeps``), and have their code in one piece of memory, which goes with the last of them (``draft``); so many
    messages are awaited at a time (``message``)."""
    panel: int = 64
    """A factorisation on ranks takes up to so many columns at a time (``factors``: 0.52 s with 8, 0.27 from 32 on)."""
    few_ranks: int = 16
    """Elements of fewer ranks are found by asking for each rank, of more by sorting (``ranks``: asking for 4 takes a tenth of it, for 16 about as long)."""

    # entries: what caches hold
    entries: int = 4096
    """Of each cache: facts about dtypes, shapes, layouts and geometries, plans, kernels, and lines that a profile counts apart."""

    def __post_init__(self) -> None:
        """Refuse a piece of nothing: loops would never come to an end."""
        for name in _PIECES:
            if getattr(self, name) < 1:
                raise ValueError(f"the limit {name} must be at least 1, not {getattr(self, name)}")

    @property
    def code(self) -> tuple[int, ...]:
        """The limits that code is generated by: each of these has kernels of its own on disk."""
        return self.vector, self.part_vector, self.stretch, self.registers


limits = _DEFAULTS = Limits()
"""The limits in force. Read them as ``policy.limits.name``, so that tests can replace all of them at once."""


def numpy_time(nbytes: int, heavy: bool = False) -> float:
    """The nanoseconds that a call of NumPy takes which goes through so many bytes. It is heavy if it is no plain arithmetic, or a
    collective operation: then its elements take as long as if they travelled."""
    return limits.numpy_call + nbytes / (limits.travelled_bytes if heavy else limits.rate)


def factored_alone(columns: int, operations: float, nbytes: int, size: int) -> bool:
    """True if each of ``size`` ranks is expected to factor a whole matrix by LAPACK sooner than they do together.

    LAPACK takes so many ``operations``, and matrices of so many bytes come to each rank.
    """
    arithmetic = operations / limits.rate
    alone = arithmetic + nbytes / limits.travelled_bytes
    return alone < columns * limits.step + arithmetic / size


@contextmanager
def limited(**changes: int | float) -> Iterator[Limits]:
    """Other limits within this block, for the whole process: for tests. Blocks of several threads may end in any order."""
    replace(limits, **changes)  # type: ignore[arg-type]  # raises TypeError for a name that is none
    with _changing:
        _changes.append(changes)
        _changed()
    try:
        yield limits
    finally:
        with _changing:
            _changes[:] = [each for each in _changes if each is not changes]
            _changed()


_changes: list[dict[str, int | float]] = []
_changing = threading.Lock()


def _changed() -> None:
    """Put the limits in force that all blocks together ask for."""
    global limits
    merged = {name: limit for changes in _changes for name, limit in changes.items()}
    limits = replace(_DEFAULTS, **merged) if merged else _DEFAULTS  # type: ignore[arg-type]
    for watcher in _watchers:
        watcher(limits)


_watchers: list[Callable[[Limits], object]] = []


def watch(watcher: Callable[[Limits], object]) -> None:
    """Tell ``watcher`` of the limits in force, now and whenever they change."""
    _watchers.append(watcher)
    watcher(limits)
