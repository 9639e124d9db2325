"""The limits: the numbers that decide when to record, evaluate, store, share and forget.

A limit affects the way a value is computed, never the value: a program gives the same answers under any limits. This module
holds all limits, in one frozen value, in five units of cost: elements, bytes, nanoseconds, operations and calls. User settings
are in ``config``; sizes that a format, a message or a machine dictates stay at their point of use.

``benchmarks/limits.py`` measures the costs that determine the limits, and prints each limit beside its measurement.
The description of a limit names its measurement in brackets, with a few figures from a shared machine of two cores.

The constants of the order of additions (``backend/spec.py``) are no limits: sums would have other last digits.
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

    # elements: the number whose computation costs as much as a plan, a thread or a message
    small: int = 30_000
    """Arrays of fewer elements stay with NumPy by default (measured: ``plan``, the elements that NumPy adds meanwhile)."""
    planned: float = 5e6
    """NumPy's loops compute a new trace of such arrays until they have taken this many nanoseconds, the time to build its first program
    (``kernel``: 4.7 ms for 30 operations). They compute an operation, view or assignment for a fiftieth of that time before Python
    learns it (``learning``: that takes 15 to 20 us)."""
    everywhere: int = 8
    """By default every rank computes arrays of up to this multiple of ``small`` elements by itself (``message``: a repeated step of
    two ranks takes 10 to 50 us, a new one 0.2 to 0.5 ms)."""
    short: int = 4_000
    """NumPy finishes a view of up to this many elements before a launch begins (``plan``). Arrays of at least this many elements, but fewer
    than ``small``, are recorded where NumPy and kernels produce the same bits. Inner loops over fewer elements are not unrolled.
    A quarter of this number of elements at a time is compared with the elements of all ranks, to cut a sorted line (``message``). A rank
    draws up to this many random elements of others on the way to its next one: 16 us, where a new start takes 7."""
    whole: int = 1 << 22
    """A new array of up to this many elements is filled as soon as a few of them are read or written (``plan``). NumPy searches this many
    truth values in memory at once: it stops at the first (``truths``). No rank holds a larger matrix whole (by definition: its
    memory)."""
    chunk: int = 1 << 15
    """The elements that a thread takes at a time (``chunk``): more do not fit into its cache, fewer cost calls. Threads share a NumPy
    call if each gets at least this many, and NumPy's loops take blocks of this size (``blocks``: 17 ms in blocks of 2**10, 1.2 from 2**14
    on). Where kernels sweep over rows together, a chunk is half as many doubles of each array (``sweeps``). Ranks compare up to
    ``pieces`` times this many replicated integers, and two ranks bring together the elements that they would request (``message``)."""
    parallel: int = 1 << 19
    """Elements times instructions from which a second thread gains (``parallel``)."""
    known_order: int = 1 << 20
    """Every rank computes the order of a shuffle of up to this many elements (``message``)."""

    # elements, in generated code: the work of a processor at a time
    vector: int = 64
    """Maximum number of elements of a vector, of rows that share cache lines with their neighbours computed at a time, and of an
    iteration of an unrolled loop (``vectors``: alike from 4 to 64, as the processor has two loads at a time; ``across``: 2.5 ms with 8,
    1.3 with 64). NumPy finds positions in shorter rows that are not unrolled, and extremes and sums of integers along longer ones
    (``searches``: a kernel takes 1.2 times as long in rows of 16 that are not)."""
    part_vector: int = 8
    """The same for elements that are not contiguous, are each repeated, or end a row; inner loops of at most this many that neither fold nor
    write neighbours are unrolled (``scattered``: 54 us with 1, 56 with 8, 61 with 32; repeated, 63 with 1, 58 from 4 on; ``tails``: 96 us
    with 2, 90 from 4 on)."""
    stretch: int = 1 << 13
    """A search along a row, or a scan down columns, takes this many bytes of a row at a time, which stay in the first-level cache
    (``searches``: 72 us, 81 with 2**16; ``scans``)."""

    # bytes: the cost of copying relative to a message
    packed: int = 1 << 16
    """Pieces of a message of up to this many bytes are packed together, and messages to one neighbour keep their memory from step to
    step (``copy``: 0.7 us at either end, a message 5). A rank reads and writes its own elements if runs of this many bytes of them are
    contiguous in a file."""
    cached: int = 1 << 22
    """Arrays of up to this many bytes stay in the cache (``throughput``): pieces are copied together into one message (``copy``). Larger
    whole arrays are gathered in memory that the ranks of a node share, as are arrays that ranks of one node only read and that are not
    ``packed`` (``message``: that takes a small one). Kernels over ``pieces``
    times as many bytes sweep over their rows together (``sweeps``: 4.5 ms a step, 6.0 one by one)."""
    held: int = 1 << 26
    """The bytes that a rank may hold beyond its share. Pending work that keeps more bytes alive is evaluated, not counting memory that
    the program refers to (``held``: twelve new arrays of 16 MB are added up in 26 ms with 2**24, 28 with 2**26, 32 with 2**28). Reads
    from a file, and look-ups in the elements of other ranks, take this many bytes at a time."""

    # nanoseconds: the expected costs of calls before they are timed
    numpy_call: int = 500
    """A NumPy call (``throughput``)."""
    rate: int = 30
    """The bytes from memory (``throughput``), or the operations of LAPACK (``factors``), that one rank is through with in a nanosecond."""
    step: int = 200_000
    """A step of all ranks: a message with its plan, an operation at the call (``message``), or a column of a matrix that they
    factor together, beside its arithmetic (``factors``)."""
    travelled_bytes: int = 4
    """The bytes of a whole array that then come to a rank (``message``)."""

    # operations: the costs of compilation and of recomputation
    kernel_operations: int = 2000
    """Maximum number of operations of a kernel, and of nodes of a part of a dataflow graph: compilation time is proportional
    (``kernel``)."""
    kernel_streams: int = 24
    """Maximum number of arrays that a kernel reads: the processor follows that many streams (``streams``). It stores results in half as
    many, since a store reads the line first; and expands an operand of more operations once, not at each of its reads (``kernel``)."""
    pending: int = 300
    """A loop is cut once this many operations are pending (``kernel``)."""
    registers: int = 24
    """Values of a loop in vector registers at a time (``kernel``), and repeated writes of an element in a row that still use vectors
    (``scattered``). Folds along rows of at most this many elements are unrolled; other rows have a kernel for short
    ones, up to half as many elements one for each extent (``short_rows``: an extreme 0.80 ms, unrolled 0.29; a product 0.53 ms, by a
    kernel for its rows 0.13). Scalars get a quarter of these registers, as does each of four rows folded in turns (``folds``). Up to this
    many operations under a mask are compiled twice: with the mask, and for all elements (``masks``)."""
    draft_work: int = 1 << 23
    """Elements times operations after which a kernel that was compiled quickly is compiled well, for each of its instructions (``draft``: 1 ms each, twice
    the time that the draft of a formula has worked until then)."""

    # calls: the number of repetitions before another method is used
    pieces: int = 8
    """Maximum number of short pieces, parts or repetitions before the whole is taken (``plan``), and of plans of one structure.

    A *part* is one over this number. NumPy finishes a view of fewer than ``small`` elements that is at most a part of its
    array. Threads request work this many times in a loop that is not cut into chunks (``parallel``). Kernels sweep over their rows together
    if they read the same bytes again for a part of all (``sweeps``). Extents that differ by half a part count as alike, and a result is
    rebalanced if a rank has more than two even shares less two parts."""
    patience: int = 4
    """Occurrences of a line in pending work that count as a loop (``kernel``). Ranks compute a value by itself after this multiple of
    ``pieces`` requests for parts of it (``plan``)."""
    numbers: int = 32
    """Lists of up to this many numbers are compared one by one (``lists``), and written out in the log of ranks. It is also the number of
    kernels that sweep over their rows together (``sweeps``), of kernels with code in one piece of memory, which is freed with the last of
    them (``draft``), and of messages awaited at a time (``message``)."""
    panel: int = 64
    """Maximum number of columns that a factorisation on ranks takes at a time (``factors``: 0.52 s with 8, 0.27 from 32 on)."""
    few_ranks: int = 16
    """Elements of fewer ranks are found by asking for each rank, of more by sorting (``ranks``: asking for 4 takes a tenth of it, for 16 about as long)."""

    # entries: the sizes of caches
    entries: int = 4096
    """Of each cache: facts about dtypes, shapes, layouts and geometries, plans, kernels, and lines that a profile counts separately."""

    def __post_init__(self) -> None:
        """Reject an empty piece: loops would never end."""
        for name in _PIECES:
            if getattr(self, name) < 1:
                raise ValueError(f"the limit {name} must be at least 1, not {getattr(self, name)}")

    @property
    def code(self) -> tuple[int, ...]:
        """The limits that generated code depends on: each set of values has its own kernels on disk."""
        return self.vector, self.part_vector, self.stretch, self.registers


limits = _DEFAULTS = Limits()
"""The limits in force. Read them as ``policy.limits.name``, so that tests can replace all of them at once."""


def numpy_time(nbytes: int, heavy: bool = False) -> float:
    """Nanoseconds of a NumPy call that goes through ``nbytes`` bytes. A call is heavy if it is more than plain arithmetic, or a
    collective operation: its elements then take as long as elements that travel."""
    return limits.numpy_call + nbytes / (limits.travelled_bytes if heavy else limits.rate)


def factored_alone(columns: int, operations: float, nbytes: int, size: int) -> bool:
    """True if each of ``size`` ranks is expected to factor a whole matrix by LAPACK sooner than they do together.

    LAPACK takes ``operations`` operations, and each rank receives matrices of ``nbytes`` bytes.
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
    """Apply the limits of all open blocks together."""
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
