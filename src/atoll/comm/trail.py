"""The trail of a rank: what it has done together with the others, as one rolling hash.

Each event that ranks must reach alike (a window, an element that is read, a collective of array
code) is a *step*. A step mixes the fingerprint of what happens, which is the same on all ranks that
do the same, into a rolling hash, and notes the number of the step and the line of the program.
That costs about a microsecond and no message.

The hash travels with what is sent anyway. Messages between two ranks carry some of its bits in
their tag, so that messages of different plans never meet; small collectives carry all of it in
front of their data, and who finds another one than his own does not use the data. What
never meets waits: a rank that waits for longer than ``config.wait_check`` seconds sends a
:class:`Record` of its last steps to those that it waits for and reads theirs. The first number
at which two records differ names the lines of both, and is a :class:`DivergenceError` on all.
"""

from __future__ import annotations

import os
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from types import CodeType, FrameType
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..errors import (
    CommunicationError,
    DeadlockError,
    DivergenceError,
    RankFailedError,
    ThreadError,
    WaitTimeoutError,
)
from . import whereabouts
from .communicator import Array, Communicator
from .threads import communicating
from .whereabouts import ROOT as ROOT

Site = tuple[CodeType, int]

KEPT = 1000
"""How many steps a rank remembers."""

SHOWN = 100
"""How many of them it tells the others."""

PATCHES = 7
"""The bits of a tag that tell the messages of one window apart."""

IN_FRONT = 1 << 16
"""Up to how many bytes of data the hash travels in front of them; else it goes ahead."""

_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15


_ours: dict[str, bool] = {}


def is_ours(file: str) -> bool:
    """Whether a file is one of atoll's own, which are no lines of the user's program."""
    found = _ours.get(file)
    if found is None:
        if len(_ours) >= 4096:
            _ours.clear()
        found = _ours[file] = file.startswith(ROOT)
    return found


def user_site() -> Site | None:
    """Where the user's program called atoll."""
    return site_from(sys._getframe(2))


def site_from(frame: FrameType | None) -> Site | None:
    """The first line outside atoll, from a frame outwards."""
    known = _ours.get
    if frame is not None:
        code = frame.f_code
        if known(code.co_filename) is False:
            return code, frame.f_lasti
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        ours = known(file)
        if ours is None:
            ours = is_ours(file)
        if not ours:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


_numbered: dict[int, tuple[CodeType, int]] = {}


def site_number(site: Site | None) -> int:
    """A number for a place in the program: the same for what is compiled from the same line once more.

    It is made of words alone, so that ranks find the same places alike whatever code each has dropped meanwhile.
    """
    if site is None:
        return 0
    code, instruction = site
    found = _numbered.get(id(code))
    if found is None or found[0] is not code:
        if len(_numbered) >= 1024:
            _numbered.clear()
        number = hash((code.co_filename, code.co_qualname, code.co_firstlineno))
        found = _numbered[id(code)] = code, number
    return found[1] + instruction


def line_of(code: Any, instruction: int) -> int:
    """The line of an instruction in a code object."""
    for start, stop, line in code.co_lines():
        if start <= instruction < stop and line is not None:
            return int(line)
    return int(code.co_firstlineno)


def site_text(site: Site | None) -> str:
    """A place in the user's program: file and line."""
    if site is None:
        return ""
    code, instruction = site
    return f"{os.path.basename(code.co_filename)}:{line_of(code, instruction)}"


@dataclass(frozen=True, slots=True)
class Record:
    """What one rank tells the others of its trail."""

    rank: int
    number: int
    """How many steps it has made."""
    steps: dict[int, tuple[int, str, str]] = field(repr=False)
    """The last ones: hash, what happened where, and what was computed there."""
    gone: str = ""
    """How it has come to its end, in words, if it has."""
    answer: bool = False
    """Whether this answers another record."""
    verdict: str = ""
    """The divergence that it knows of."""

    @property
    def last(self) -> str:
        """What happened last, in words."""
        return self.steps[self.number][1] if self.number in self.steps else "nothing yet"


class Trail:
    """The steps of one rank on one communicator."""

    __slots__ = (
        "_alone",
        "_bits",
        "_steps",
        "as_laid_out",
        "cuts",
        "forked",
        "gone",
        "hash",
        "number",
        "parted",
        "pulse",
        "rank",
        "same",
        "window",
        "windows",
    )
    close: ClassVar[Callable[[Trail], None]]
    """Compute what is in the window; see ``ops.windows``, which is above this room."""

    def __init__(self, rank: int, tag_limit: int, *, alone: bool = False) -> None:
        self._alone = alone
        """Whether any thread may communicate: there is nobody else, or the rank is a thread itself."""
        self.rank = rank
        self.number = 0
        self.pulse = whereabouts.pulse()
        """Where those who ask see that this rank makes steps."""
        self.hash = 0
        self.gone = ""
        """How this rank has come to its end, if it has."""
        self.forked = False
        """Whether this process is a fork of the rank, which takes part in nothing; ``parted`` says so."""
        self.parted = ""
        """Where the ranks have parted, once that is known: from then on nothing is done together."""
        self.window: Any = None
        """What every rank will have and has yet to compute; see ``ops.windows``."""
        self.cuts: dict[int, Any] = {}
        """The lines where pending work is computed once it has grown heavy, and how: the same on all ranks."""
        self.same: Gathering | None = None
        """By which ranks compare a number."""
        self.as_laid_out = False
        """Whether arrays stay as they lie, however unevenly: the program has laid some out so, or has their memory."""
        self.windows = True
        """Whether there are windows at all: a rank that is imagined can compute nothing."""
        self._bits = (1 << (tag_limit.bit_length() - 1 - PATCHES)) - 1
        self._steps: deque[tuple[int, int, Site | None, str, object]] = deque(maxlen=KEPT)

    def step(self, fingerprint: int, what: str, more: object = "") -> None:
        """Something that all ranks must do alike begins here; ``str(more)`` tells such steps of one line apart."""
        if self.parted:
            raise self._still_parted(what)
        if not self._alone:
            self._by_one_thread(what)
        if self.window is not None:
            Trail.close(self)
        self.number = self.pulse[0] = number = self.number + 1
        self.hash = rolled = ((self.hash ^ fingerprint) + number) * _ODD & _MASK
        self._steps.append((number, rolled, user_site(), what, more))

    def _by_one_thread(self, what: str) -> None:
        """Refuse to communicate in a second thread: which of two came first might differ by rank."""
        other = communicating()
        if other is not None:
            raise ThreadError(
                f"{_words(user_site(), what.rstrip(','))} needs all ranks, in thread {threading.current_thread().name!r} of rank "
                f"{self.rank}, while thread {other.name!r} has communicated before and is alive; the ranks would not "
                "know in which order. Do what involves divided arrays in one thread; another may go on once that one has ended"
            )

    def part(self, verdict: str) -> DivergenceError:
        """The error to raise where it is found that the ranks have parted. They stay parted."""
        self.parted = self.parted or verdict
        return DivergenceError(verdict)

    def check(self, what: str) -> None:
        """Refuse what needs all ranks once they have parted."""
        if self.parted:
            raise self._still_parted(what)

    def fork(self) -> None:
        """This process is a forked child of the rank: refuse every step."""
        self.forked = True
        self.parted = (
            f"this process is a fork of rank {self.rank}; only the rank itself may communicate"
        )

    def _still_parted(self, what: str) -> CommunicationError:
        if self.forked:
            return CommunicationError(self.parted)
        return DivergenceError(
            f"{_words(user_site(), what.rstrip(','))} needs all ranks of this world, and they have parted; "
            "start the program again, or go on in a world that they make anew (atoll.world.split) with "
            f"new arrays. What was found first: {self.parted}"
        )

    def settle(self) -> None:
        """All ranks come here: compute what only some of them may have looked at."""
        if self.window is not None and not self.parted:
            Trail.close(self)

    @property
    def tag(self) -> int:
        """What to add to the tags, below ``2**PATCHES``, of the messages of this step."""
        return ((self.hash >> 40) & self._bits) << PATCHES

    def where(self) -> str:
        """The last step in words: ``a window at program.py:7``."""
        return _words(*self._steps[-1][2:4]) if self._steps else ""

    def record(self, *, answer: bool = False, verdict: str = "") -> Record:
        """What to tell others."""
        latest = list(self._steps)[-SHOWN:]
        steps = {
            number: (rolled, _words(site, what), str(more))
            for number, rolled, site, what, more in latest
        }
        return Record(self.rank, self.number, steps, self.gone, answer, verdict)


class _Opened(threading.local):
    """The trails of this thread that have an open window, in the order of opening."""

    def __init__(self) -> None:
        self.trails: dict[Trail, None] = {}
        self.still = False
        """Whether what is made belongs to a plan, and no operation of the program."""
        self.look = ""
        """What is being asked for, where the trail shall name it."""


opened = _Opened()


@contextmanager
def asking_for(what: str) -> Iterator[None]:
    """Let the trail say ``what`` of the looks inside."""
    before, opened.look = opened.look, what
    try:
        yield
    finally:
        opened.look = before


def settle_all() -> None:
    """The end of a program: close all windows of this thread."""
    for trail in list(opened.trails):
        trail.settle()


def _words(site: Site | None, what: str) -> str:
    return f"{what} at {site_text(site)}" if site else what


CURE = (
    "What one rank alone shall do with a whole array, such as writing a file, takes two steps: all ranks compute "
    "`whole = numpy.asarray(a)`, outside of the condition; inside of it the one rank uses `whole`"
)


def difference(one: Record, other: Record) -> str:
    """Where two ranks have parted, in words; nothing where both are on one way."""
    if one.rank > other.rank:
        one, other = other, one
    for number in sorted(one.steps.keys() & other.steps.keys()):
        (mine, words, more), (theirs, other_words, other_more) = (
            one.steps[number],
            other.steps[number],
        )
        if mine != theirs:
            told = ""
            if words == other_words and more != other_more:
                told = f" Rank {one.rank} computes {more}; rank {other.rank} computes {other_more}."
            elif words == other_words:
                told = " What they compute there has the same names and shapes, and other arguments or layouts."
            return (
                f"ranks have parted: as step {number}, rank {one.rank} came to "
                f"{words}, rank {other.rank} to {other_words}.{told} What "
                "involves distributed arrays must be reached by all ranks alike, with the same "
                f"shapes and layouts; is it under a condition that differs by rank? {CURE}"
            )
    for gone, here in ((one, other), (other, one)):
        if gone.gone and not here.gone and gone.number < here.number:
            missed = here.steps.get(gone.number + 1)
            return (
                f"ranks have parted: rank {gone.rank} {gone.gone}, its last step was "
                f"{gone.last}; rank {here.rank} went on to {missed[1] if missed else here.last}, "
                f"which all ranks must reach. {CURE}"
            )
    return ""


def parted(records: Iterable[Record]) -> str:
    """The first difference between the first record and any other."""
    first, *others = records
    return next(filter(None, (difference(first, other) for other in others)), "")


# Collectives of array code ------------------------------------------------------------------

_names: dict[str, int] = {}


def _step(communicator: Communicator, operation: str, what: str, detail: int) -> Trail:
    name = _names.get(what)
    if name is None:
        name = _names[what] = zlib.crc32(f"{operation} {what}".encode())
    trail = communicator.trail
    trail.step(name ^ hash((len(operation), detail)) & _MASK, what)
    return trail


def allgather(communicator: Communicator, array: Array, what: str) -> Array:
    """Every rank's ``array``, of one shape everywhere, stacked in rank order; ranks in step."""
    trail = _step(communicator, "allgather", what, array.nbytes)
    mine = np.ascontiguousarray(array).reshape(array.shape)
    if mine.nbytes > IN_FRONT:
        _ahead(communicator, trail, what)
        every: Array = carried(communicator, lambda: communicator.allgather(mine, what))
        return every
    row = _row(trail, mine)
    rows = carried(communicator, lambda: communicator.allgather(row, what))
    _compare(communicator, trail, rows)
    found = np.empty((communicator.size, *mine.shape), mine.dtype)
    _bytes(found.reshape(communicator.size, -1))[...] = rows[:, 8 : 8 + mine.nbytes]
    return found


class Gathering:
    """A gathering of a few values of every rank, done again and again as a part of one step.

    ``given`` are arrays for this rank's values, of the forms that were asked for, and ``found`` those of all
    ranks, along a leading axis. The memory may be shared: fill and read all of it at once.
    """

    __slots__ = ("_communicator", "_mark", "_marks", "_rows", "found", "given")

    def __init__(
        self, communicator: Communicator, forms: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> None:
        self._communicator = communicator
        places, end = [], 8
        for shape, dtype in forms:
            places.append((end, end + prod(shape) * dtype.itemsize))
            end = -(-places[-1][1] // 8) * 8
        rows = self._rows = communicator.rows(end)
        self._mark = rows.row.data[:8].cast("Q")
        self._marks = rows.rows[:, :8].view(np.uint64)[:, 0]
        self.given: list[Array] = []
        self.found: list[Array] = []
        for (shape, dtype), (start, stop) in zip(forms, places, strict=True):
            self.given.append(rows.row[start:stop].view(dtype).reshape(shape))
            found = rows.rows[:, start:stop].view(dtype)
            strides = (found.strides[0], *self.given[-1].strides)
            self.found.append(as_strided(found, (len(found), *shape), strides))

    def run(self, what: str) -> None:
        """Bring every rank's values together; in step, as the last step of the trail says."""
        communicator = self._communicator
        mark = self._mark[0] = communicator.trail.hash
        try:
            self._rows.gather(what)
        except CommunicationError as error:
            refused(communicator, error)
        marks = self._marks.tolist()
        if marks.count(mark) != len(marks):
            _compare(communicator, communicator.trail, self._rows.rows)


def is_same(communicator: Communicator, number: int, what: str) -> bool:
    """Whether all ranks have come with the same number, below ``2**64``; ranks in step."""
    trail = _step(communicator, "allgather", what, 8)
    gathering = trail.same
    if gathering is None:
        gathering = trail.same = Gathering(communicator, [((), np.dtype(np.uint64))])
    gathering.given[0][...] = number
    gathering.run(what)
    return bool((gathering.found[0] == number).all())


def alltoall(communicator: Communicator, array: Array, what: str) -> Array:
    """Row ``p`` of ``array`` goes to rank ``p``; row ``p`` of the result is from it; ranks in step."""
    trail = _step(communicator, "alltoall", what, array.nbytes)
    given = np.ascontiguousarray(array)
    if given.nbytes > IN_FRONT:
        _ahead(communicator, trail, what)
        every: Array = carried(communicator, lambda: communicator.alltoall(given, what))
        return every
    data = _bytes(given.reshape(communicator.size, -1))
    rows = np.empty((communicator.size, 8 + data.shape[1]), np.uint8)
    rows[:, :8] = np.frombuffer(trail.hash.to_bytes(8, sys.byteorder), np.uint8)
    rows[:, 8:] = data
    rows = carried(communicator, lambda: communicator.alltoall(rows, what))
    _compare(communicator, trail, rows)
    found = np.empty_like(given)
    _bytes(found.reshape(communicator.size, -1))[...] = rows[:, 8:]
    return found


def bcast(communicator: Communicator, array: Array, root: int, what: str, which: int = 0) -> Array:
    """Fill ``array`` by that of ``root``, and return it; ranks in step, ``which`` being the same."""
    trail = _step(communicator, "bcast", what, hash((array.nbytes, root, which)))
    if array.nbytes > IN_FRONT or not array.flags.c_contiguous:
        _ahead(communicator, trail, what)
        carried(communicator, lambda: communicator.bcast(array, root, what))
        return array
    row = _row(trail, array)
    carried(communicator, lambda: communicator.bcast(row, root, what))
    _compare(communicator, trail, row[None], root)
    if communicator.rank != root:
        _bytes(array.reshape(1, -1))[0] = row[8:]
    return array


def agree(communicator: Communicator, value: Any, what: str) -> list[Any]:
    """Every rank's object, in rank order; ranks in step."""
    _step_of_objects(communicator, "objects", what, 0)
    every: list[Any] = carried(communicator, lambda: communicator.allgather_object(value, what))
    return every


def bcast_object(communicator: Communicator, value: Any, root: int, what: str) -> Any:
    """The object of ``root``; ranks in step."""
    _step_of_objects(communicator, "object", what, root)
    return carried(communicator, lambda: communicator.bcast_object(value, root, what))


def alltoall_object(communicator: Communicator, values: Sequence[Any], what: str) -> list[Any]:
    """Object ``p`` goes to rank ``p``; object ``p`` of the result is from it; ranks in step."""
    _step_of_objects(communicator, "alltoall of objects", what, 0)
    every: list[Any] = carried(communicator, lambda: communicator.alltoall_object(values, what))
    return every


def _step_of_objects(communicator: Communicator, operation: str, what: str, detail: int) -> None:
    trail = _step(communicator, operation, what, detail)
    if communicator.kind != "imagined":  # ranks that are not there say the same
        _ahead(communicator, trail, what)


def total(communicator: Communicator, facts: Array, what: str) -> Array:
    """The sum of every rank's few unsigned integers, modulo ``2**64``, as a part of the last step."""
    mine = communicator.trail.hash
    given = np.empty(len(facts) + 1, np.uint64)
    given[0], given[1:] = mine, facts
    found: Array = carried(communicator, lambda: communicator.allreduce(given, "sum", what))
    if int(found[0]) != mine * communicator.size & _MASK:
        tell(communicator, "some rank is at another step")
    return found[1:]


def _bytes(rows: Array) -> Array:
    """The elements of contiguous rows as bytes, whatever the dtype."""
    count, length = rows.shape
    nbytes = length * rows.itemsize
    return rows.view(np.uint8) if nbytes else np.empty((count, 0), np.uint8)


def _row(trail: Trail, array: Array) -> Array:
    row = np.empty(8 + array.nbytes, np.uint8)
    row[:8] = np.frombuffer(trail.hash.to_bytes(8, sys.byteorder), np.uint8)
    row[8:] = _bytes(array.reshape(1, -1))[0]
    return row


def _ahead(communicator: Communicator, trail: Trail, what: str) -> None:
    """Compare before much data moves."""
    row = np.frombuffer(trail.hash.to_bytes(8, sys.byteorder), np.uint8)
    _compare(communicator, trail, carried(communicator, lambda: communicator.allgather(row, what)))


def _compare(communicator: Communicator, trail: Trail, rows: Array, first: int = 0) -> None:
    mine = trail.hash.to_bytes(8, sys.byteorder)
    for rank, row in enumerate(rows, first):
        if row[:8].tobytes() != mine:
            tell(communicator, f"rank {rank} sent data of another step")


def carried(communicator: Communicator, carry: Callable[[], Any]) -> Any:
    """What a transfer gives; where MPI refuses it, ranks may have met with different ones."""
    try:
        return carry()
    except CommunicationError as error:
        refused(communicator, error)


def refused(communicator: Communicator, error: CommunicationError) -> NoReturn:
    """A transfer failed: raise where the ranks have parted, if they have; else the error itself."""
    if isinstance(error, DivergenceError | RankFailedError | WaitTimeoutError | DeadlockError):
        raise error
    found = communicator.find_difference()
    if not found:
        raise error
    raise communicator.trail.part(found) from error


def tell(communicator: Communicator, why: str) -> NoReturn:
    """Raise the error of ranks that have parted, with both lines as far as they can be found."""
    trail = communicator.trail
    raise trail.part(
        communicator.find_difference()
        or f"ranks have parted: rank {trail.rank} is at {trail.where()}, and {why}"
    )
