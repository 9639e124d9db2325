"""MPI processes as ranks, by mpi4py. The only module that imports it.

atoll communicates on a duplicate of the communicator that it is given, so its messages and those of the program are
separate. All operations are non-blocking, and every wait is a loop of tests (see ``waiting``), because a blocking MPI
call can be neither interrupted nor limited in time.

``mpi_data`` chooses datatypes, and the MPI operations that do what NumPy's ufuncs do; without one, all contributions
are gathered and reduced here. ``mpi_requests`` has the pending operations.

Nothing collective happens when an object is collected, because ranks collect garbage at different times. What a pending
operation needs stays alive until MPI is done with it, even if its request was dropped or its wait was interrupted.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from mpi4py import MPI

from ..context import profiler
from ..context.caches import Living
from ..context.divergence import StepLog
from ..context.profiler import now as profiled
from ..errors import CommunicationError, WorldError, a_type
from . import launcher
from .clocks import align
from .communicator import (
    PLAIN,
    Array,
    Communicator,
    Request,
    Rows,
    Traffic,
    check_array,
    check_rows,
    combine,
    contribution,
)
from .deadlock import DeadlockMonitor
from .joining import duplicate, nodes_of, numbers_in
from .mpi_data import Datatypes, Native, Operations, post_error
from .mpi_objects import SLOT
from .mpi_requests import (
    MpiRequest,
    PersistentMessage,
    PersistentMessages,
    SmallReduction,
    SmallRows,
    ends_soon,
    has_persistent_collectives,
)
from .mpi_waits import WaitsByMpi
from .nodes import Nodes
from .persistent import PersistentBuffer
from .windows import Window, bytes_of

_BYTE = MPI.BYTE

_SMALL = 64
"""Reductions of up to this many elements, and gatherings of few bytes, are kept set up, ..."""

_SMALL_KINDS = 64
"""... at most so many of them in each communicator."""


class MpiCommunicator(WaitsByMpi):
    """Ranks of an MPI communicator: ``comm`` for the program, a duplicate for atoll."""

    kind = "MPI"
    universe = "MPI"
    library = MPI
    _byte = _BYTE

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
        self._persistent_tag = self._own_tag - 2
        self.tag_limit = self._own_tag - 3
        self.log = StepLog(self.rank, self.tag_limit, alone=self.size == 1)
        self.log.exact = nodes.alike
        self.watch = DeadlockMonitor(self)
        self._mpi = own
        self._members: tuple[int, ...] | None = None
        self._groups: dict[tuple[int, ...], MpiCommunicator] = {}
        self._small: dict[Any, Any] = {}
        self._abandoned: list[Any] = []
        self._who = f"rank {self.rank} of {self.size}"
        _communicators.add(self)

    @property
    def members(self) -> tuple[int, ...]:
        if self._members is None:
            numbers = numbers_in(MPI, self._mpi, MPI.COMM_WORLD)
            if MPI.UNDEFINED in numbers:
                raise WorldError(
                    "use(): this communicator has processes that are not in MPI.COMM_WORLD; atoll needs communicators of the ranks that were started together"
                )
            self._members = tuple(numbers)
        return self._members

    # Point to point -----------------------------------------------------------------------

    def isend(self, array: Array, dest: int, tag: int = 0, what: str = "") -> Request:
        if not (
            0 <= dest < self.size and (0 <= tag < self.tag_limit or tag == self._persistent_tag)
        ):
            self.check_peer(dest)
            self.check_tag(tag)
        if self._abandoned:
            self._sweep()
        if type(array) is not np.ndarray or array.dtype.char not in PLAIN:
            check_array(array, receiving=False)
        message = datatypes.message(array)
        try:
            handle = self._mpi.Isend(message, dest, tag)
        except MPI.Exception as error:
            raise post_error("send", error) from None
        nodes = self.nodes
        self.traffic.sent(array.nbytes, nodes.several and not nodes.same(self.rank, dest))
        if profiled.recording is not None:
            profiler.sent(what, self.members[dest], array.nbytes)
        return MpiRequest(self, handle, "send", dest, tag, what, None, array)

    def irecv(self, array: Array, source: int, tag: int = 0, what: str = "") -> Request:
        if not (
            0 <= source < self.size and (0 <= tag < self.tag_limit or tag == self._persistent_tag)
        ):
            self.check_peer(source)
            self.check_tag(tag)
        if type(array) is np.ndarray and array.dtype.char in PLAIN and array.flags.carray:
            target = array
        else:
            check_array(array, receiving=True)
            target = datatypes.receivable(array)
        message = datatypes.message(target)
        try:
            handle = self._mpi.Irecv(message, source, tag)
        except MPI.Exception as error:
            raise post_error("receive", error) from None
        nbytes = array.nbytes
        request = MpiRequest(self, handle, "receive", source, tag, what, array, None, nbytes)
        if target is not array:
            request._finish = partial(_unpack, target)
        return request

    @property
    def persistent_tag(self) -> int:
        return self._persistent_tag

    def prepared(
        self, arriving: Sequence[PersistentBuffer], leaving: Sequence[PersistentBuffer]
    ) -> PersistentMessages:
        messages = []
        for operation, set_up, buffers in (
            ("receive", self._mpi.Recv_init, arriving),
            ("send", self._mpi.Send_init, leaving),
        ):
            for message in buffers:
                memory = (message.buffer, message.buffer.nbytes, _BYTE)
                handle = set_up(memory, message.peer, self._persistent_tag)
                messages.append(PersistentMessage(self, handle, operation, message))
        return PersistentMessages(self, messages)

    # Being in step ---------------------------------------------------------------------------

    def post_note(self, peer: int, data: bytes) -> Any:
        """Send some bytes beside all messages; the handle of the operation."""
        return self._mpi.Isend((data, len(data), _BYTE), peer, self._log_tag)

    def notes(self) -> Iterator[bytes]:
        """The notes that have come."""
        status = MPI.Status()
        while self._mpi.Iprobe(MPI.ANY_SOURCE, self._log_tag, status):
            data = bytearray(status.Get_elements(_BYTE))
            handle = self._mpi.Irecv((data, len(data), _BYTE), status.source, self._log_tag)
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

    def _wait(self, handle: Any, operation: str, what: str, kept: Any = None) -> None:
        MpiRequest(self, handle, operation, None, None, what, None, kept).wait()

    # Collectives --------------------------------------------------------------------------

    def _collective(
        self,
        handle: Any,
        operation: str,
        what: str,
        nbytes: int,
        result: Any = None,
        kept: Any = None,
    ) -> MpiRequest:
        self.traffic.collectives += 1
        self.traffic.collective_bytes += nbytes
        if profiled.recording is not None:
            profiler.sent(what or operation, -1, nbytes)
        return MpiRequest(self, handle, operation, None, None, what, result, kept)

    def iallreduce(self, array: Array, op: str = "sum", what: str = "") -> Request:
        given = contribution(array, op)
        native = operations.find(op, given.dtype)
        if native is None:
            request = self.iallgather(given, what)
            request.operation = f"allreduce({op})"
            request._finish = lambda rows: combine(list(rows), op)
            return request
        datatype, operation = native
        result = given.copy()
        handle = self._mpi.Iallreduce(MPI.IN_PLACE, (result, result.size, datatype), operation)
        return self._collective(handle, f"allreduce({op})", what, result.nbytes, result)

    def allreduce(self, array: Array, op: str = "sum", what: str = "") -> Array:
        native = operations.known((op, array.dtype)) if type(array) is np.ndarray else None
        if native is None or array.size > _SMALL:
            return super().allreduce(array, op, what)
        small = self._small_reduction(op, array, native)
        if small is None:
            return super().allreduce(array, op, what)
        if small.active:
            # An earlier wait for it was interrupted; the other ranks complete it before this one.
            self._wait_small(small, f"allreduce({op})", what)
        small.given[...] = array if array.ndim == 1 else array.ravel()
        small.handle.Start()
        small.active = True
        self.traffic.collectives += 1
        self.traffic.collective_bytes += array.nbytes
        if profiled.recording is not None:
            profiler.sent(what or op, -1, array.nbytes)
        self._wait_small(small, f"allreduce({op})", what)
        result: Array = small.result.copy()
        return result if array.ndim == 1 else result.reshape(array.shape)

    def _small_reduction(self, op: str, array: Array, native: Native) -> Any:
        """The persistent operation for this many elements; made in the same order everywhere."""
        key = (op, array.dtype, array.size)
        if key not in self._small:
            if len(self._small) >= _SMALL_KINDS or not _persistent:
                return None
            self._small[key] = SmallReduction(self._mpi, array, native)
        return self._small[key]

    def _wait_small(self, small: Any, operation: str, what: str) -> None:
        if profiled.recording is not None:
            profiler.waited(what or operation, self._wait_small_now, small, operation, what)
        else:
            self._wait_small_now(small, operation, what)

    def _wait_small_now(self, small: Any, operation: str, what: str) -> None:
        if ends_soon(small.handle):
            small.active = False
            return
        waited = MpiRequest(self, small.handle, operation, None, None, what, None, small)
        try:
            self.wait_some((waited,))
        finally:
            waited._done = True  # the handle stays with the operation
        small.active = False

    def rows(self, nbytes: int) -> Rows:
        rows: Rows | None = self._small.get(nbytes)
        if rows is None:
            if len(self._small) >= _SMALL_KINDS or not _persistent or nbytes > SLOT:
                return super().rows(nbytes)
            rows = self._small[nbytes] = SmallRows(self, nbytes, self._mpi, _BYTE, self._wait_small)
        return rows

    def iallgather(self, array: Array, what: str = "") -> MpiRequest:
        given = np.asarray(array, order="C")
        check_array(given, receiving=False)
        result = np.empty((self.size, *given.shape), given.dtype)
        contiguous = datatypes.contiguous
        handle = self._mpi.Iallgather(
            contiguous(given, given.nbytes), contiguous(result, given.nbytes)
        )
        return self._collective(handle, "allgather", what, given.nbytes, result, given)

    def ialltoall(self, array: Array, what: str = "") -> Request:
        check_rows(array, self.size)
        given = np.asarray(array, order="C")
        check_array(given, receiving=False)
        result = np.empty_like(given)
        row = given.nbytes // self.size
        handle = self._mpi.Ialltoall(
            datatypes.contiguous(given, row), datatypes.contiguous(result, row)
        )
        return self._collective(handle, "alltoall", what, given.nbytes, result, given)

    def ibcast(self, array: Array, root: int, what: str = "") -> Request:
        self.check_peer(root)
        check_array(array, receiving=self.rank != root)
        target = array if self.rank == root else datatypes.receivable(array)
        handle = self._mpi.Ibcast(datatypes.message(target), root)
        request = self._collective(handle, f"bcast from rank {root}", what, array.nbytes, array)
        if target is not array:
            request._finish = partial(_unpack, target)
        return request

    def ibarrier(self, what: str = "") -> Request:
        return self._collective(self._mpi.Ibarrier(), "barrier", what, 0)

    # Windows ------------------------------------------------------------------------------

    def window(self, nbytes: int, what: str) -> Window:
        if self.size == 1:
            return Window(self, bytes_of(nbytes), what)
        from .mpi_windows import open_window

        return open_window(self, nbytes, what)

    def rma_window(self, memory: Array) -> Any:
        """MPI's window over ``memory``. Collective; MPI's own making of it blocks, so all ranks come here first."""
        window = MPI.Win.Create(memory, 1, comm=self._mpi)
        window.Set_errhandler(MPI.ERRORS_RETURN)
        return window

    def message_of(self, array: Array) -> Any:
        """MPI's description of a contiguous array."""
        return datatypes.message(array)

    # Groups -------------------------------------------------------------------------------

    def split(self, color: int | None, key: int = 0) -> MpiCommunicator | None:
        # MPI's own split blocks. After a barrier, which can be limited in time, all are here.
        self.barrier("split: every rank of the world must call it")
        colors = sorted({c for c in self.allgather_object(color) if c is not None})
        number = MPI.UNDEFINED if color is None else colors.index(color)
        part = self._mpi.Split(number, key)
        return (
            None
            if color is None
            else self._sub(part, self.nodes.among(numbers_in(MPI, part, self._mpi)))
        )

    def group(self, ranks: Sequence[int]) -> MpiCommunicator | None:
        chosen = self.checked_ranks(ranks)
        if self.rank not in chosen:
            return None
        if chosen not in self._groups:
            self._meet(chosen)
            everybody = self._mpi.Get_group()
            group = everybody.Incl(chosen)
            part = self._mpi.Create_group(group, self._own_tag)
            group.Free()
            everybody.Free()
            self._groups[chosen] = self._sub(part, self.nodes.among(chosen))
        return self._groups[chosen]

    def _meet(self, ranks: tuple[int, ...]) -> None:
        """Return once all of ``ranks`` are here: MPI's own making of a group blocks."""
        what = f"group({list(ranks)}): each of these ranks must call it"
        first, *others = ranks
        nothing = np.empty(0, np.uint8)
        tag = self._own_tag
        if self.rank != first:
            self._wait(self._mpi.Isend(nothing, first, tag), "send", what)
            self._wait(self._mpi.Irecv(nothing, first, tag), f"receive from rank {first}", what)
            return
        for rank in others:
            self._wait(self._mpi.Irecv(nothing, rank, tag), f"receive from rank {rank}", what)
        for rank in others:
            self._wait(self._mpi.Isend(nothing, rank, tag), f"send to rank {rank}", what)

    def _sub(self, comm: Any, nodes: Nodes) -> MpiCommunicator:
        return MpiCommunicator(comm, duplicate(MPI, comm), self.traffic, nodes)

    def abort(self, code: int = 1, message: str = "") -> NoReturn:
        if message:
            print(f"atoll: rank {self.rank}: {message}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.Abort(code)
        os._exit(code)


_persistent = has_persistent_collectives(MPI)

# Data ---------------------------------------------------------------------------------------

datatypes = Datatypes(MPI)
operations = Operations(MPI)


def _unpack(packed: Array, array: Array) -> Array:
    array[...] = packed
    return array


# Where MPI communicators come from ------------------------------------------------------------


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
        own = duplicate(MPI, comm)
        communicator = MpiCommunicator(comm, own, Traffic(), nodes_of(MPI, own))
        comm.Set_attr(_adopted, communicator)
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
    own = duplicate(MPI, MPI.COMM_WORLD)
    communicator = MpiCommunicator(MPI.COMM_WORLD, own, Traffic(), nodes_of(MPI, own))
    MPI.COMM_WORLD.Set_attr(_adopted, communicator)
    return communicator


def _end_together(communicator: MpiCommunicator) -> None:
    """Let no rank of the job exit before all have finished, once all can communicate."""
    process = os.getpid()

    def leave(how: str = launcher.HOW) -> None:
        alive = os.getpid() == process and MPI.Is_initialized() and not MPI.Is_finalized()
        failed = launcher.ending or getattr(sys, "last_value", None) is not None
        if alive and not failed:
            try:
                launcher.tell(launcher.LEAVING)
                others = [other.watch for other in _communicators if other is not communicator]
                communicator.watch.leave(others, how)
            except BaseException as error:
                for end in launcher.failing:
                    end(error)
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
    launcher.when_leaving(partial(leave_at_once, for_good=True))
    # A rank that finalizes MPI no longer replies, so others would wait at their end for ever.
    MPI.Finalize = leave_at_once


# Forks ----------------------------------------------------------------------------------------

_communicators: Living[MpiCommunicator] = Living()


def _refuse(self: Communicator, *args: Any, **options: Any) -> NoReturn:
    raise CommunicationError(
        f"this process is a fork of rank {self.rank}; only the rank itself may communicate"
    )


class ForkedCommunicator(MpiCommunicator):
    """What a communicator becomes in a forked child: MPI must not be touched there."""

    kind = "a fork of an MPI rank"
    isend = irecv = wait_some = wait_pending = test_some = iallreduce = allreduce = iallgather = (
        _refuse
    )
    rows = prepared = window = post_note = notes = wait_all = _refuse
    ialltoall = ibcast = ibarrier = allgather_object = _refuse
    bcast_object = alltoall_object = split = group = abort = _refuse


def _disarm_after_fork() -> None:
    for communicator in list(_communicators):
        communicator.__class__ = ForkedCommunicator
        communicator.log.fork()


os.register_at_fork(after_in_child=_disarm_after_fork)
