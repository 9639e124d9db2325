"""MPI processes as ranks. No other module imports mpi4py.

atoll communicates on a duplicate of the program's communicator, so its messages are separate from those of the program.
All operations are non-blocking, and every wait is a loop of tests (see ``waiting``), because a blocking MPI call can be
neither interrupted nor limited in time.

``mpi_data`` chooses datatypes, and ``mpi_requests`` has the pending operations. MPI reduces unsigned integers of 64
bits, by sum and minimum; other contributions are gathered and reduced by NumPy. Objects are pickled and sent
as bytes: short ones in a slot of fixed length, together with their length; longer ones follow in a second operation.

No collective runs when an object is collected, because ranks collect garbage at different times. The memory of a pending
operation stays alive until MPI is done with it, even if its request was dropped or its wait was interrupted.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NoReturn, TypeVar

import numpy as np
from mpi4py import MPI

from .. import system
from ..config import config
from ..context import profiler, remote_stacks
from ..context.caches import Living
from ..context.divergence import StepLog
from ..context.profiler import now as profiled
from ..errors import CommunicationError, WorldError, a_type
from . import launcher
from .clocks import align
from .communicator import (
    Array,
    Communicator,
    Item,
    Pending,
    Request,
    Rows,
    Traffic,
    check_rows,
    describe_all,
    described,
    reduced,
)
from .deadlock import DeadlockMonitor
from .mpi_data import Datatypes, post_error, words_of
from .mpi_requests import (
    MpiPersistentBuffers,
    MpiRequest,
    SmallRows,
    has_persistent_collectives,
)
from .nodes import Nodes, agreed
from .waiting import SPINS, Patience
from .windows import Window

Answer = TypeVar("Answer")
_BYTE = MPI.BYTE

SLOT = 128
"""The size of a slot in bytes: a small pickled object and its length fit."""

_SMALL_KINDS = 64
"""The most sizes of few bytes for which each communicator keeps a gather set up."""

_persistent = has_persistent_collectives(MPI)
datatypes = Datatypes(MPI)
_REDUCTIONS = {"sum": MPI.SUM, "min": MPI.MIN}
"""MPI's operations on unsigned integers of 64 bits."""


class MpiCommunicator(Communicator):
    """Ranks of an MPI communicator: ``comm`` for the program, a duplicate for atoll."""

    kind = "MPI"
    universe = "MPI"
    library = MPI
    buffers: Any = MpiPersistentBuffers
    datatypes = datatypes

    def __init__(self, comm: Any, own: Any, traffic: Traffic, nodes: Nodes) -> None:
        own.Set_errhandler(MPI.ERRORS_RETURN)
        self.comm = comm
        self.rank = own.rank
        self.size = own.size
        self.nodes = nodes
        self.traffic = traffic
        # The highest tag is reserved: it announces the members of a new group.
        self._own_tag = own.Get_attr(MPI.TAG_UB) or 32767
        # The one below is for notes about the log.
        self._log_tag = self._own_tag - 1
        # The next tag is for persistent buffers, which carry the step they belong to.
        self.persistent_tag = self._own_tag - 2
        self.tag_limit = self._own_tag - 3
        self.log = StepLog(self.rank, self.tag_limit, alone=self.size == 1)
        self.log.exact = nodes.alike
        self.watch = DeadlockMonitor(self)
        self.own = own
        """The duplicate that atoll communicates on."""
        self._members: tuple[int, ...] | None = None
        self._groups: dict[Sequence[int], MpiCommunicator] = {}
        self._rows: dict[int, Rows] = {}
        self._abandoned: list[Any] = []
        _communicators.add(self)

    @property
    def members(self) -> tuple[int, ...]:
        if self._members is None:
            numbers = numbers_in(self.own, MPI.COMM_WORLD)
            if MPI.UNDEFINED in numbers:
                raise WorldError(
                    "use(): this communicator has processes that are not in MPI.COMM_WORLD; atoll needs communicators of the ranks that were started together"
                )
            self._members = tuple(numbers)
        return self._members

    # Point to point -----------------------------------------------------------------------

    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        if self._abandoned:
            self._sweep()
        message = datatypes.message(array)
        try:
            handle = self.own.Isend(message, dest, tag)
        except MPI.Exception as error:
            raise post_error("send", error) from None
        if profiled.recording is not None:
            profiler.sent(what, self.members[dest], array.nbytes)
        return MpiRequest(self, handle, "send", dest, tag, what, None, array)

    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        target = array if array.flags.c_contiguous else datatypes.receivable(array)
        message = datatypes.message(target)
        try:
            handle = self.own.Irecv(message, source, tag)
        except MPI.Exception as error:
            raise post_error("receive", error) from None
        packed = None if target is array else target
        return MpiRequest(self, handle, "receive", source, tag, what, array, packed, array.nbytes)

    # Divergence ------------------------------------------------------------------------------

    def post_note(self, peer: int, data: bytes) -> Any:
        """Send some bytes apart from all messages; the result is the handle of the operation."""
        return self.own.Isend((data, len(data), _BYTE), peer, self._log_tag)

    def notes(self) -> Iterator[bytes]:
        """The notes that have arrived."""
        status = MPI.Status()
        while self.own.Iprobe(MPI.ANY_SOURCE, self._log_tag, status):
            data = bytearray(status.Get_elements(_BYTE))
            handle = self.own.Irecv((data, len(data), _BYTE), status.source, self._log_tag)
            while not handle.Test():
                time.sleep(0)
            yield bytes(data)

    def find_difference(self) -> str:
        return self.watch.find()

    def abandon(self, handle_and_memory: Any) -> None:
        """Keep the memory of an operation that no caller waits for any more."""
        self._abandoned.append(handle_and_memory)

    def _sweep(self) -> None:
        self._abandoned = [kept for kept in self._abandoned if not kept[0].Test()]

    # Waiting ------------------------------------------------------------------------------

    def wait_some(self, requests: Sequence[Request]) -> list[int]:
        if not requests:
            raise ValueError("waiting for some of no requests would never end")
        return self.until(lambda: self.test_some(requests), lambda: requests)

    def wait_pending(self, pending: Pending[Item]) -> list[tuple[Request, Item]]:
        return self.until(pending.test, lambda: pending)

    def wait_all(self, requests: Sequence[Request]) -> None:
        if profiled.recording is not None and requests:
            profiler.waited(described(requests), self._wait_all, requests)
        else:
            self._wait_all(requests)

    def _wait_all(self, requests: Sequence[Request]) -> None:
        waiting: Any = requests
        for k, request in enumerate(waiting):  # testing one request lets all progress
            if not request.test(SPINS):
                self._poll(request.test, partial(_untested, requests, k))

    def until(
        self, test: Callable[[], Answer], waited_for: Callable[[], Iterable[Request]]
    ) -> Answer:
        """The answer of ``test`` once it is true; a long wait reports the requests that it is for."""
        if profiled.recording is not None:
            answer: Answer = profiler.waited(described(waited_for()), self._poll, test, waited_for)
            return answer
        return self._poll(test, waited_for)

    def _poll(
        self, test: Callable[[], Answer], waited_for: Callable[[], Iterable[Request]]
    ) -> Answer:
        for _ in range(SPINS):
            if answer := test():
                return answer
        watch = self.watch
        patience = Patience(
            f"rank {self.rank} of {self.size}",
            lambda: describe_all(waited_for()) + watch.at() + watch.others(waited_for()),
            lambda: watch.check(waited_for()),
        )
        while not (answer := test()):
            patience.pause()
        return answer

    def test_some(self, requests: Sequence[Request]) -> list[int]:
        if len(requests) <= 4:
            return [position for position, request in enumerate(requests) if request.test()]
        finished = [position for position, request in enumerate(requests) if request.done]
        positions = [position for position, request in enumerate(requests) if not request.done]
        if positions:
            pending: list[Any] = [requests[position] for position in positions]
            statuses = [MPI.Status() for _ in pending]
            try:
                fresh = MPI.Request.Testsome([each.handle for each in pending], statuses) or ()
            except MPI.Exception as error:
                raise CommunicationError(
                    f"{words_of(error)}, in one of: {describe_all(pending)}"
                ) from None
            for index, status in zip(fresh, statuses):
                pending[index].complete(status)
                finished.append(positions[index])
        return finished

    def _finish(
        self, handle: Any, operation: str, what: str, kept: Any, nbytes: int | None = None
    ) -> None:
        """Wait for an operation whose memory is ``kept`` until its end; one with ``nbytes`` counts as a collective."""
        if nbytes is not None:
            self.traffic.together(nbytes)
            if profiled.recording is not None:
                profiler.sent(what or operation, -1, nbytes)
        MpiRequest(self, handle, operation, None, None, what, None, kept).wait()

    # Collectives --------------------------------------------------------------------------

    def _collective(
        self, operation: str, given: Array, result: Array, what: str, how: Any = None
    ) -> None:
        comm, message, nbytes = self.own, datatypes.contiguous, given.nbytes
        if operation == "allreduce":
            if given.dtype != np.uint64 or how not in _REDUCTIONS:
                result[...] = reduced(self.allgather(given, what), how)
                return
            operation = f"allreduce({how})"
            ends = [(array, array.size, MPI.UINT64_T) for array in (given, result)]
            handle = comm.Iallreduce(*ends, _REDUCTIONS[how])
        elif operation == "exscan":
            ends = [(array, array.size, MPI.UINT64_T) for array in (given, result)]
            handle = comm.Iexscan(*ends, MPI.SUM)
        elif operation == "allgather":
            handle = comm.Iallgather(message(given, nbytes), message(result, nbytes))
        elif operation == "alltoall":
            row = nbytes // self.size
            handle = comm.Ialltoall(message(given, row), message(result, row))
        elif operation == "bcast":
            operation = f"bcast from rank {how}"
            handle = comm.Ibcast(message(result, nbytes), how)
        else:
            handle = comm.Ibarrier()
        self._finish(handle, operation, what, (given, result), nbytes)

    def rows(self, nbytes: int) -> Rows:
        rows = self._rows.get(nbytes)
        if rows is None:
            if len(self._rows) >= _SMALL_KINDS or not _persistent or nbytes > SLOT:
                return super().rows(nbytes)
            rows = self._rows[nbytes] = SmallRows(self, nbytes)
        return rows

    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        what = what or "allgather_object"
        slot, slots = _slot(data), bytearray(SLOT * self.size)
        handle = self.own.Iallgather((slot, SLOT, _BYTE), (slots, SLOT, _BYTE))
        self._finish(handle, "allgather", what, (slot, slots), SLOT)
        lengths = memoryview(slots).cast("q")[:: SLOT // 8].tolist()
        if max(lengths) <= SLOT - 8:
            return _loads(slots, lengths, range(8, len(slots), SLOT))
        starts = [0, *accumulate(lengths)]
        gathered = bytearray(starts.pop())
        handle = self.own.Iallgatherv((data, len(data), _BYTE), (gathered, lengths, starts, _BYTE))
        self._finish(handle, "allgather", what, (data, gathered))
        return _loads(gathered, lengths, starts)

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self.check_peer(root)
        mine = self.rank == root
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL) if mine else b""
        what = what or "bcast_object"
        slot = self.bcast(np.frombuffer(_slot(data), np.uint8).copy(), root, what)
        length = int(slot[:8].view(np.int64)[0])
        rest = slot[8 : 8 + length]
        if length > len(rest):
            rest = np.frombuffer(data, np.uint8) if mine else np.empty(length, np.uint8)
            self.bcast(rest, root, what)
        return value if mine else pickle.loads(rest.data)

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        check_rows(values, self.size)
        rows = [pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in values]
        what = what or "alltoall_object"
        sizes = [len(row) for row in rows]
        lengths = self.alltoall(np.array(sizes, np.int64), what).tolist()
        starts, places = [0, *accumulate(lengths)], [0, *accumulate(sizes)]
        given, received = b"".join(rows), bytearray(starts.pop())
        handle = self.own.Ialltoallv(
            (given, sizes, places[:-1], _BYTE), (received, lengths, starts, _BYTE)
        )
        self._finish(handle, "alltoall", what, (given, received))
        return _loads(received, lengths, starts)

    # Windows ------------------------------------------------------------------------------

    def window(self, nbytes: int, what: str) -> Window:
        if self.size == 1:
            return Window(self, np.zeros(nbytes, np.uint8), what)
        from .mpi_windows import open_window

        return open_window(self, nbytes, what)

    # Groups -------------------------------------------------------------------------------

    def split(self, color: int | None, key: int = 0) -> MpiCommunicator | None:
        # ``Split`` blocks. After a barrier, whose wait has a limit, all ranks are here.
        self.barrier("split: every rank of the world must call it")
        colors = sorted({c for c in self.allgather_object(color) if c is not None})
        number = MPI.UNDEFINED if color is None else colors.index(color)
        part = self.own.Split(number, key)
        return (
            None if color is None else self._sub(part, self.nodes.among(numbers_in(part, self.own)))
        )

    def group(self, ranks: Sequence[int]) -> MpiCommunicator | None:
        chosen = self.checked_ranks(ranks)
        if self.rank not in chosen:
            return None
        if chosen not in self._groups:
            self._meet(chosen)
            everybody = self.own.Get_group()
            group = everybody.Incl(list(chosen))
            part = self.own.Create_group(group, self._own_tag)
            group.Free()
            everybody.Free()
            self._groups[chosen] = self._sub(part, self.nodes.among(chosen))
        return self._groups[chosen]

    def _meet(self, ranks: Sequence[int]) -> None:
        """Return once all of ``ranks`` are here, because ``Create_group`` blocks."""
        what = f"group({list(ranks)}): each of these ranks must call it"
        place, size = ranks.index(self.rank), len(ranks)
        nothing = np.empty(0, np.uint8)
        for distance in [1 << k for k in range((size - 1).bit_length())]:
            ahead, behind = ranks[(place + distance) % size], ranks[(place - distance) % size]
            leaving = self.own.Isend(nothing, ahead, self._own_tag)
            arriving = self.own.Irecv(nothing, behind, self._own_tag)
            self._finish(arriving, f"receive from rank {behind}", what, nothing)
            self._finish(leaving, f"send to rank {ahead}", what, nothing)

    def _sub(self, comm: Any, nodes: Nodes) -> MpiCommunicator:
        return MpiCommunicator(comm, duplicate(comm), self.traffic, nodes)

    def abort(self, code: int = 1, message: str = "") -> NoReturn:
        if message:
            print(f"atoll: rank {self.rank}: {message}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        self.own.Abort(code)
        os._exit(code)


def _untested(requests: Sequence[Request], first: int) -> list[Request]:
    """The requests from the ``first`` on that are not complete yet."""
    return [request for request in requests[first:] if not request.test()]


def _slot(data: bytes) -> bytes:
    """The length of ``data``, and ``data`` itself if it fits."""
    room = SLOT - 8
    return len(data).to_bytes(8, sys.byteorder) + data[:room].ljust(room, b"\0")


def _loads(data: bytearray, lengths: Iterable[int], starts: Iterable[int]) -> list[Any]:
    """The objects of several pickles."""
    return [pickle.loads(data[i : i + n]) for i, n in zip(starts, lengths)]


# Creation of MPI communicators ----------------------------------------------------------------


def numbers_in(comm: Any, other: Any) -> list[int]:
    """The ranks in the communicator ``other`` of the ranks of ``comm``."""
    mine, others = comm.Get_group(), other.Get_group()
    numbers: list[int] = MPI.Group.Translate_ranks(mine, None, others)
    mine.Free()
    others.Free()
    return numbers


def duplicate(comm: Any) -> Any:
    """A duplicate of a communicator. Collective."""
    copy, handle = comm.Idup()
    _all_take_part(comm, handle, "the duplication of a communicator")
    return copy


def nodes_of(comm: Any) -> Nodes:
    """The nodes of the ranks of a communicator. Collective."""
    marks = _mark(system.host()), config.ranks_per_node or 0, _mark(system.arithmetic())
    mine = np.array(marks, np.int64)
    every = np.empty((comm.size, 3), np.int64)
    byte = MPI.BYTE
    handle = comm.Iallgather((mine, mine.nbytes, byte), (every, mine.nbytes, byte))
    _all_take_part(comm, handle, "the exchange of the names of hosts")
    return agreed(*every.T)


def _mark(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _all_take_part(comm: Any, handle: Any, what: str) -> None:
    """Wait for an operation of all ranks of ``comm``."""

    def describe() -> str:
        here = MPI.COMM_WORLD.rank
        others = [n for n in numbers_in(comm, MPI.COMM_WORLD) if n != here]
        return f"{what}, which all of its ranks must take part in" + remote_stacks.told(others)

    patience = Patience(f"rank {comm.rank} of {comm.size}", describe)
    while not handle.Test():
        patience.pause()


_adopted = MPI.Comm.Create_keyval()


def adopt(comm: Any) -> MpiCommunicator:
    """The communicator for an mpi4py communicator: duplicated the first time. Collective."""
    if isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL:
        raise WorldError(
            "use(): this rank is not in the communicator (it is COMM_NULL); only the ranks of a communicator may use it"
        )
    if not isinstance(comm, MPI.Intracomm):
        raise TypeError(f"use() takes an mpi4py intracommunicator, not {a_type(comm)}")
    communicator = comm.Get_attr(_adopted)
    if not isinstance(communicator, MpiCommunicator):
        communicator = _on_duplicate(comm)
        if comm == MPI.COMM_WORLD and communicator.size > 1:
            _end_together(communicator)
            if profiled.of_job:
                align(communicator, profiled.recording)
    return communicator


def world_communicator() -> MpiCommunicator:
    """The communicator of all ranks of the job."""
    return adopt(MPI.COMM_WORLD)


def replaced() -> MpiCommunicator:
    """Another communicator of all ranks of the job, after these have diverged. Collective."""
    return _on_duplicate(MPI.COMM_WORLD)


def _on_duplicate(comm: Any) -> MpiCommunicator:
    own = duplicate(comm)
    communicator = MpiCommunicator(comm, own, Traffic(), nodes_of(own))
    comm.Set_attr(_adopted, communicator)
    return communicator


def _end_together(communicator: MpiCommunicator) -> None:
    """Let no rank of the job exit before all have finished, once all can communicate."""
    process = os.getpid()

    def leave(how: str = launcher.HOW) -> None:
        alive = os.getpid() == process and MPI.Is_initialized() and not MPI.Is_finalized()
        failed = launcher.end.is_failure or getattr(sys, "last_value", None) is not None
        if alive and not failed:
            try:
                launcher.tell(launcher.LEAVING)
                others = [other.watch for other in _communicators if other is not communicator]
                communicator.watch.leave(others, how)
            except BaseException as error:
                for abort in launcher.end.abort:
                    abort(error)
                traceback.print_exc()
                communicator.abort(1)

    finalize = MPI.Finalize

    def leave_at_once(
        how: str = "has ended MPI by MPI.Finalize()", *, for_good: bool = False
    ) -> None:
        leave(how)
        if for_good:
            # Hydra may kill ranks that are still finalizing MPI once another process, which has finalized it, exits.
            launcher.tell(launcher.ORDERLY)
        if not MPI.Is_finalized():
            finalize()

    launcher.tell(launcher.TOGETHER)
    atexit.register(leave)
    launcher.end.leave.append(partial(leave_at_once, for_good=True))
    # A rank that finalizes MPI no longer replies, so others would wait at their end for ever.
    MPI.Finalize = leave_at_once


# Forks ----------------------------------------------------------------------------------------

_communicators: Living[MpiCommunicator] = Living()


def _refuse(self: Communicator, *args: Any, **options: Any) -> NoReturn:
    raise CommunicationError(
        f"this process is a fork of rank {self.rank}; only the rank itself may communicate"
    )


class ForkedCommunicator(MpiCommunicator):
    """The class of a communicator in a forked child, where MPI must not be touched."""

    kind = "a fork of an MPI rank"
    isend = irecv = wait_some = wait_pending = wait_all = test_some = until = _collective = _refuse
    allgather_object = bcast_object = alltoall_object = split = group = abort = _refuse
    rows = buffers = window = post_note = notes = _refuse


def _disarm_after_fork() -> None:
    for communicator in list(_communicators):
        communicator.__class__ = ForkedCommunicator
        communicator.log.fork()


os.register_at_fork(after_in_child=_disarm_after_fork)
