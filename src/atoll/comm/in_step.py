"""Verified collectives: with the data, ranks check that they are at the same step of the program."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import policy
from ..context.divergence import HASH_MASK, StepLog
from ..errors import (
    CommunicationError,
    DeadlockError,
    DivergenceError,
    RankFailedError,
    WaitTimeoutError,
)
from .communicator import Array, Communicator, Traffic
from .waiting import SPINS

IN_FRONT = 1 << 16
"""Up to this many bytes of data, the hash is sent in front of them; otherwise it is compared before."""

WORDS = 15
"""Up to this many integers of each of few ranks are gathered by an operation that is set up once."""

_MEETING = zlib.crc32(b"meeting")
_names: dict[str, int] = {}


def step(communicator: Communicator, operation: str, what: str, detail: int = 0) -> StepLog:
    """Begin a step whose messages the caller sends, each with a mark in front of it."""
    name = _names.get(what)
    if name is None:
        name = _names[what] = zlib.crc32(f"{operation} {what}".encode())
    log = communicator.log
    log.step(name ^ hash((len(operation), detail)) & HASH_MASK, what)
    return log


def mark_of(communicator: Communicator) -> Array:
    """The mark of the last step, as an array of one integer."""
    return np.array([communicator.log.hash], np.uint64).view(np.int64)


def check_mark(communicator: Communicator, mark: Array, rank: int) -> None:
    """Refuse data that another rank has sent with the mark of another step."""
    if communicator.kind == "dry run":  # nothing has arrived
        return
    if int(mark.view(np.uint64)[0]) != communicator.log.hash:
        tell(communicator, f"rank {rank} sent data of another step")


def allgather(communicator: Communicator, array: Array, what: str) -> Array:
    """Every rank's ``array``, of one shape everywhere, stacked in rank order; ranks in step."""
    log = step(communicator, "allgather", what, array.nbytes)
    mine = np.ascontiguousarray(array).reshape(array.shape)
    if 0 < mine.nbytes <= 8 * WORDS and are_few(communicator):
        gathered: Array = _of_few(communicator, _bytes(mine.reshape(1, -1)), what)[0]
        return gathered.view(mine.dtype).reshape(-1, *mine.shape)
    if mine.nbytes > IN_FRONT:
        _ahead(communicator, what)
        every: Array = carried(communicator, lambda: communicator.allgather(mine, what))
        return every
    row = _marked(log, _bytes(mine.reshape(1, -1)), bool(log.noted))[0]
    rows = carried(communicator, lambda: communicator.allgather(row, what))
    _hear(communicator, log, rows)
    gathered = np.empty((communicator.size, *mine.shape), mine.dtype)
    _bytes(gathered.reshape(communicator.size, -1))[...] = rows[:, 8 : 8 + mine.nbytes]
    return gathered


def meet(communicator: Communicator, what: str) -> None:
    """Wait for all ranks, in step; ``what`` describes this rank's way here, and may differ by rank."""
    log = communicator.log
    log.step(_MEETING, what)
    _ahead(communicator, what)


class Gathering:
    """A repeated gather of a few values of every rank, as a part of one step.

    ``given`` has an array of each requested form for this rank's values, and ``found`` the same of all ranks along a
    leading axis. The memory may be shared: fill and read all of it at once.
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
        rows: Any = communicator.rows(end)
        self._rows = rows
        self._mark = rows.row.data[:8].cast("Q")
        self._marks = rows.rows[:, :8].view(np.uint64)[:, 0]
        self.given: list[Array] = []
        self.found: list[Array] = []
        for (shape, dtype), (start, stop) in zip(forms, places, strict=True):
            self.given.append(rows.row[start:stop].view(dtype).reshape(shape))
            values = rows.rows[:, start:stop].view(dtype)
            strides = (values.strides[0], *self.given[-1].strides)
            self.found.append(as_strided(values, (len(values), *shape), strides))

    def run(self, what: str, raised: bool = False) -> None:
        """Gather every rank's values, verified by the last step of the log; ``raised`` is true if this rank will have warnings."""
        communicator = self._communicator
        log = communicator.log
        mark = log.hash
        self._mark[0] = mark ^ (raised or bool(log.noted))
        try:
            self._rows.gather(what)
        except CommunicationError as error:
            refused(communicator, error)
        marks = self._marks.tolist()
        log.unasked = False
        if marks.count(mark) != len(marks):
            self.hear()

    def hear(self) -> None:
        """Refuse the marks of another step, or hear that a rank has warnings."""
        _hear(self._communicator, self._communicator.log, self._rows.rows)

    def told(self, join: Callable[..., None], what: str) -> tuple[Any, ...] | None:
        """The operation and its memory, for the native evaluation; ``None`` if none is set up. ``join`` is for rare sums."""
        rows, handle = self._rows, getattr(self._rows, "handle", None)
        if handle is None:
            return None
        memory = rows.row[:8].view(np.uint64), self._marks, tuple(self.given), tuple(self.found)
        counted = Traffic(collectives=1, collective_bytes=rows.row.nbytes).numbers()
        return (
            join, self.hear, self.wait, what, SPINS, rows, handle.Start, handle.Test, *memory, self._communicator.traffic, counted,
        )  # fmt: skip

    def wait(self, what: str) -> None:
        """Wait for the operation that the native evaluation has begun."""
        try:
            self._rows.wait(what)
        except CommunicationError as error:
            refused(self._communicator, error)


def is_same(communicator: Communicator, number: int, what: str) -> bool:
    """True if all ranks pass the same number, below ``2**64``; ranks in step."""
    step(communicator, "allgather", what, 8)
    return is_same_here(communicator, number, what)


def is_same_here(communicator: Communicator, number: int, what: str) -> bool:
    """:func:`is_same` as a part of the last step."""
    if not are_few(communicator):
        same = least_here(communicator, [number, number ^ HASH_MASK], what)
        return same == [number, number ^ HASH_MASK]
    return every_here(communicator, number, what) == [number] * communicator.size


def every(communicator: Communicator, number: int, what: str) -> list[int]:
    """Every rank's number, from 0 up to, but not including, ``2**64``; ranks in step."""
    step(communicator, "allgather", what, 8)
    return every_here(communicator, number, what)


def every_here(communicator: Communicator, number: int, what: str) -> list[int]:
    """:func:`every` as a part of the last step."""
    numbers: list[int] = _together(communicator, [number], what)[:, 0].tolist()
    return numbers


def are_few(communicator: Communicator) -> bool:
    """True if the ranks gather a few words of each by one operation."""
    return communicator.size <= policy.limits.few_ranks


def _of_few(communicator: Communicator, rows: Array, what: str) -> Array:
    """A few rows of bytes of every rank as a part of the last step: by row, then by rank."""
    count, length = rows.shape
    words = np.zeros(-(-rows.size // 8), np.uint64)
    words.view(np.uint8)[: rows.size] = rows.reshape(-1)
    every = _together(communicator, words, what).view(np.uint8)[:, : rows.size]
    return every.reshape(-1, count, length).swapaxes(0, 1).copy()


def _together(communicator: Communicator, words: Sequence[int] | Array, what: str) -> Array:
    """A few words of every rank as a part of the last step: a row of each rank, in memory that the next gather fills."""
    kinds = communicator.log.words
    gathering = kinds.get(len(words))
    if gathering is None:
        gathering = Gathering(communicator, [((len(words),), np.dtype(np.uint64))])
        kinds[len(words)] = gathering
    gathering.given[0][...] = words
    gathering.run(what)
    rows: Array = gathering.found[0]
    return rows


def all_have_plans(
    communicator: Communicator, structure: Hashable, what: str, planned: bool
) -> bool:
    """True if all ranks have a plan for the step that they have just announced, so that each may run its own.

    The first time for a structure, ranks tell each other; later they know, whatever the extents are then. So a loop whose
    slices move pays for one such message. Equal structures on one rank are equal on all. Where they all fail for later
    extents, they tell each other again; where some fail, these raise an error.
    """
    answers = communicator.log.plans
    answer: bool | None = answers.get(structure)
    if not communicator.log.computes:
        return planned
    if answer is None:
        number = 1 if planned else 2 + communicator.rank  # no two ranks without a plan agree
        answer = is_same_here(communicator, number, what)
        if len(answers) >= policy.limits.entries:  # at the same step on all ranks
            answers.clear()
        answers[structure] = answer
    if answer and not planned:
        _come_without_plans(communicator, what)
        return False
    return answer


def _come_without_plans(communicator: Communicator, what: str) -> None:
    """Meet all other ranks, if they lack the plan as well. A rank with a plan runs it and does not come, which is an error."""
    refusal = (
        f"rank {communicator.rank} cannot make {what}, though other ranks can, and all could for other extents; that is "
        "a mistake in atoll: please report it, with what config.debug = True raises"
    )
    log = communicator.log
    log.lacks = refusal
    try:
        agreed = is_same_here(communicator, 0, refusal)
    except CommunicationError as error:
        raise log.part(refusal) from error
    finally:
        log.lacks = ""
    if not agreed:
        raise log.part(refusal)


def alltoall(communicator: Communicator, array: Array, what: str) -> Array:
    """Row ``p`` of ``array`` goes to rank ``p``; row ``p`` of the result is from it; ranks in step."""
    log = step(communicator, "alltoall", what, array.nbytes)
    given = np.ascontiguousarray(array)
    if 0 < given.nbytes <= 8 * WORDS and are_few(communicator):
        data = _bytes(given.reshape(communicator.size, -1))
        rows: Array = _of_few(communicator, data, what)[communicator.rank]
        return rows.view(given.dtype).reshape(given.shape)
    if given.nbytes > IN_FRONT:
        _ahead(communicator, what)
        every: Array = carried(communicator, lambda: communicator.alltoall(given, what))
        return every
    data = _bytes(given.reshape(communicator.size, -1))
    rows = _marked(log, data)
    rows = carried(communicator, lambda: communicator.alltoall(rows, what))
    _compare(communicator, log, rows)
    received = np.empty_like(given)
    _bytes(received.reshape(communicator.size, -1))[...] = rows[:, 8:]
    return received


def bcast(communicator: Communicator, array: Array, root: int, what: str, which: int = 0) -> Array:
    """Fill ``array`` by that of ``root``, and return it; ranks in step, ``which`` being the same.

    Few ranks gather a few words of all: that tells of warnings, too.
    """
    log = step(communicator, "bcast", what, hash((array.nbytes, root, which)))
    is_short = 0 < array.nbytes <= 8 * WORDS and array.flags.c_contiguous
    if is_short and are_few(communicator):
        data = _bytes(array.reshape(1, -1))
        data[...] = _of_few(communicator, data, what)[0, root]
        return array
    if array.nbytes > IN_FRONT or not array.flags.c_contiguous:
        _ahead(communicator, what)
        carried(communicator, lambda: communicator.bcast(array, root, what))
        return array
    row = _marked(log, _bytes(array.reshape(1, -1)))[0]
    carried(communicator, lambda: communicator.bcast(row, root, what))
    _compare(communicator, log, row[None], root)
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
    log = step(communicator, operation, what, detail)
    if log.computes:  # all ranks of a dry run have the same value
        _ahead(communicator, what)


def summed(communicator: Communicator, numbers: Array, what: str) -> Array:
    """The elementwise sum of every rank's unsigned integers, modulo ``2**64``; ranks in step."""
    step(communicator, "sum", what, numbers.nbytes)
    return total(communicator, numbers, what)


def total(communicator: Communicator, facts: Array, what: str) -> Array:
    """The sum of every rank's few unsigned integers, modulo ``2**64``, as a part of the last step."""
    if len(facts) <= WORDS and are_few(communicator):
        added: Array = np.add.reduce(_together(communicator, facts, what), axis=0)
        return added
    mine = communicator.log.hash
    given = np.empty(len(facts) + 1, np.uint64)
    given[0], given[1:] = mine, facts
    sums: Array = carried(communicator, lambda: communicator.allreduce(given, "sum", what))
    if int(sums[0]) != mine * communicator.size & HASH_MASK:
        tell(communicator, "some rank is at another step")
    return sums[1:]


def before(communicator: Communicator, facts: Array, what: str) -> Array:
    """The sum of the few unsigned integers of the ranks before this one, modulo ``2**64``, as a part of the last step."""
    mine = communicator.log.hash
    given = np.empty(len(facts) + 1, np.uint64)
    given[0], given[1:] = mine, facts
    sums: Array = carried(communicator, lambda: communicator.exscan(given, what))
    if int(sums[0]) != mine * communicator.rank & HASH_MASK:
        tell(communicator, "some rank is at another step")
    return sums[1:]


def least(communicator: Communicator, numbers: Sequence[int], what: str) -> list[int]:
    """The least of every rank's integers from 0 up to, but not including, ``2**64``, one by one; ranks in step."""
    step(communicator, "least", what, len(numbers))
    return least_here(communicator, numbers, what)


def least_here(communicator: Communicator, numbers: Sequence[int], what: str) -> list[int]:
    """:func:`least` as a part of the last step."""
    if len(numbers) <= WORDS and are_few(communicator):
        return [min(of_each) for of_each in _together(communicator, numbers, what).T.tolist()]
    mine = communicator.log.hash
    given = np.array([mine, mine ^ HASH_MASK, *numbers], np.uint64)
    reduced: Array = carried(communicator, lambda: communicator.allreduce(given, "min", what))
    first, last, *rest = map(int, reduced)
    if first != mine or last != mine ^ HASH_MASK:
        tell(communicator, "some rank is at another step")
    return rest


def _bytes(rows: Array) -> Array:
    """The elements of contiguous rows as bytes, for any dtype."""
    count, length = rows.shape
    nbytes = length * rows.itemsize
    return rows.view(np.uint8) if nbytes else np.empty((count, 0), np.uint8)


def _marked(log: StepLog, data: Array, raised: bool = False) -> Array:
    """Rows of bytes, each with the hash of the log in front."""
    rows = np.empty((len(data), 8 + data.shape[1]), np.uint8)
    _marks(rows)[...] = log.hash ^ raised
    rows[:, 8:] = data
    return rows


def _marks(rows: Array) -> Array:
    """The hashes in front of rows."""
    marks: Array = rows[:, :8].view(np.uint64)[:, 0]
    return marks


def _ahead(communicator: Communicator, what: str) -> None:
    """Compare the hashes alone, before the data travels."""
    least_here(communicator, (), what)


def _compare(communicator: Communicator, log: StepLog, rows: Array, first: int = 0) -> None:
    same = _marks(rows) == np.uint64(log.hash)
    if not same.all():
        rank = first + int(np.argmin(same))
        tell(communicator, f"rank {rank} sent data of another step")


def carried(communicator: Communicator, carry: Callable[[], Any]) -> Any:
    """The result of a transfer. If it fails, ranks may have diverged into different transfers: see :func:`refused`."""
    try:
        return carry()
    except CommunicationError as error:
        refused(communicator, error)


def _hear(communicator: Communicator, log: StepLog, rows: Array) -> None:
    """Compare the hashes; a lowest bit that differs says that a rank has warnings, which all ranks hear."""
    marks = _marks(rows)
    if marks.tolist().count(log.hash) != len(rows):
        if ((marks ^ np.uint64(log.hash)) > 1).any():
            _compare(communicator, log, rows)
        log.raised = True
    log.unasked = False


def refused(communicator: Communicator, error: CommunicationError) -> NoReturn:
    """Handle a failed transfer: raise the divergence of the ranks if they have diverged, else the error itself."""
    if isinstance(error, DivergenceError | RankFailedError | WaitTimeoutError | DeadlockError):
        raise error
    difference = communicator.find_difference()
    if not difference:
        raise error
    raise communicator.log.part(difference) from error


def tell(communicator: Communicator, why: str) -> NoReturn:
    """Raise the error of ranks that have diverged, with both lines if they can be determined."""
    log = communicator.log
    raise log.part(
        communicator.find_difference()
        or f"ranks have diverged: rank {log.rank} is at {log.where()}, and {why}"
    )
