"""Pending MPI operations: requests, persistent messages, and persistent collectives.

Setting up an operation takes longer than a small message, so those that are repeated are set up once. Only ``mpi``
imports mpi4py; here it is the ``library`` of the communicator.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..context import profiler
from ..context.profiler import now as profiled
from ..errors import CommunicationError
from .communicator import Request, Rows, Traffic
from .in_step import refused
from .mpi_data import words_of
from .persistent import PersistentBuffer, PersistentBuffers
from .waiting import SPINS

if TYPE_CHECKING:
    from .mpi import MpiCommunicator


class MpiRequest(Request):
    """An MPI request, and the memory it works on: ``kept``; a receive into strided memory ends with a copy from there."""

    __slots__ = ("_kept", "_nbytes", "_status", "handle")
    communicator: MpiCommunicator

    def __init__(
        self,
        communicator: MpiCommunicator,
        handle: Any,
        operation: str,
        peer: int | None,
        tag: int | None,
        what: str,
        result: Any,
        kept: Any,
        nbytes: int | None = None,
    ) -> None:
        self.communicator = communicator
        self.operation = operation
        self.peer = peer
        self.tag = tag
        self.what = what
        self.done = False
        self.refused = None
        self._result = result
        self.handle = handle
        self._kept = kept
        self._nbytes = nbytes
        # Only a receive has something to check at its end: the size of the message.
        self._status = None if nbytes is None else communicator.library.Status()

    def test(self, times: int = 1) -> bool:
        if self.done:
            return True
        try:
            if not any(map(self.handle.Test, repeat(self._status, times))):  # without Python
                return False
        except self.communicator.library.Exception as error:
            self.done = True
            raise CommunicationError(f"{self.describe()}: {words_of(error)}") from None
        self.complete(self._status)
        return True

    def wait(self) -> Any:
        if not self.done and (profiled.recording is not None or not self.test(SPINS)):
            self.communicator.until(self.test, lambda: (self,))
        return self._result

    def complete(self, status: Any) -> None:
        """Check and finish the operation, which MPI has completed."""
        self.done = True
        kept, self._kept = self._kept, None
        nbytes = self._nbytes
        if nbytes is None:
            return
        count = status.Get_elements(self.communicator.library.BYTE)
        if count == 0 and nbytes and self.refused is False:
            self.refused = True
        elif count != nbytes:
            raise CommunicationError(
                f"{self.describe()}: the message has {count} bytes, and the array to receive it {nbytes}; both must agree"
            )
        self.communicator.traffic.received(count)
        if kept is not None:
            self._result[...] = kept

    def __del__(self) -> None:
        if not self.done:
            self.communicator.abandon((self.handle, self._kept, self._result))


class MpiPersistentBuffers(PersistentBuffers):
    """Persistent buffers whose messages MPI keeps set up: begun by one call, and mostly ended by one."""

    __slots__ = ("_handles", "_received", "_sent", "_start_all", "_test_all")
    communicator: MpiCommunicator

    def __init__(
        self,
        communicator: MpiCommunicator,
        arriving: Sequence[PersistentBuffer],
        leaving: Sequence[PersistentBuffer],
    ) -> None:
        super().__init__(communicator, arriving, leaving)
        library, tag, nodes = communicator.library, communicator.persistent_tag, communicator.nodes
        self._start_all, self._test_all = library.Prequest.Startall, library.Request.Testall
        self._handles: list[Any] = []
        self._sent, self._received = Traffic(), Traffic()
        comm = communicator.own
        for set_up, buffers in ((comm.Recv_init, arriving), (comm.Send_init, leaving)):
            for each in buffers:
                memory = (each.buffer, each.nbytes, library.BYTE)
                self._handles.append(set_up(memory, each.peer, tag))
        for each in arriving:
            self._received.received(each.nbytes)
        for each in leaving:
            self._sent.sent(each.nbytes, not nodes.same(communicator.rank, each.peer))

    def told(self, *, starts: bool) -> tuple[Any, ...]:
        """The call that starts or tests all, its argument, the traffic to count in, and the numbers to add."""
        call = self._start_all if starts else self._test_all
        traffic = self._sent if starts else self._received
        return call, self._handles, self.communicator.traffic, traffic.numbers()

    def _start(self) -> None:
        self._start_all(self._handles)
        self.communicator.traffic.add(self._sent)
        if profiled.recording is not None:
            for each in self.leaving:
                profiler.sent(each.what, self.communicator.members[each.peer], each.nbytes)

    def _wait(self) -> None:
        if profiled.recording is not None:
            profiler.waited((*self.arriving, *self.leaving)[0].what, self._test)
        else:
            self._test()

    def _test(self) -> None:
        handles, test_all = self._handles, self._test_all
        try:
            if not any(map(test_all, repeat(handles, SPINS))):  # without Python
                self._drain()
        except self.communicator.library.Exception as error:
            self.failed(error)
        self.communicator.traffic.add(self._received)

    def _drain(self) -> None:
        requests = self._as_requests()
        try:
            self.communicator.wait_all(requests)
        finally:
            for request in requests:
                request.done = True  # the handles stay

    def _as_requests(self) -> list[MpiRequest]:
        ends = [("receive", each) for each in self.arriving]
        ends += [("send", each) for each in self.leaving]
        here, tag = self.communicator, self.communicator.persistent_tag
        return [
            MpiRequest(here, handle, operation, each.peer, tag, each.what, None, each.buffer)
            for handle, (operation, each) in zip(self._handles, ends, strict=True)
        ]

    def failed(self, error: BaseException) -> NoReturn:
        """Raise an error of MPI as that of these messages."""
        requests = self._as_requests()
        those = "; ".join([request.describe() for request in requests])
        for request in requests:
            request.done = True
        refused(self.communicator, CommunicationError(f"{words_of(error)}, in one of: {those}"))

    def __del__(self) -> None:
        is_finalized = self.communicator.library.Is_finalized
        if is_finalized is None or is_finalized():  # modules are emptied at the very end
            return
        for handle in self._handles:
            if handle.Test():
                handle.Free()
            else:  # a failed run has left it
                self.communicator.abandon((handle, self.arriving, self.leaving))


class SmallRows(Rows):
    """Every rank's few bytes, by a persistent gather: an operation of MPI 4, which Open MPI had earlier as an extension."""

    __slots__ = ("active", "handle")
    communicator: MpiCommunicator

    def __init__(self, communicator: MpiCommunicator, nbytes: int) -> None:
        super().__init__(communicator, nbytes)
        byte = communicator.library.BYTE
        self.handle = communicator.own.Allgather_init(
            (self.row, nbytes, byte), (self.rows, nbytes, byte)
        )
        self.active = False

    def gather(self, what: str) -> None:
        if self.active:
            # An earlier wait for it was interrupted; the other ranks complete it before this one.
            row = self.row.copy()
            self.wait(what)
            self.row[...] = row
        self.handle.Start()
        self.active = True
        self.communicator.traffic.together(self.row.nbytes)
        if profiled.recording is not None:
            profiler.sent(what, -1, self.row.nbytes)
        elif any(map(self.handle.Test, repeat(None, SPINS))):  # without Python
            self.active = False
            return
        self.wait(what)

    def wait(self, what: str) -> None:
        """Wait for the operation that has begun."""
        self.active = True
        waited = MpiRequest(
            self.communicator, self.handle, "allgather", None, None, what, None, self
        )
        try:
            waited.wait()
        finally:
            waited.done = True  # the handle stays with the operation
        self.active = False


PERSISTENT = ("MPICH", "Open MPI")
"""The MPI libraries whose persistent collectives atoll uses. Intel MPI 2021.18 has some that return the rank's earlier
data, or crash; other libraries are untried."""


def has_persistent_collectives(MPI: Any) -> bool:
    """True if this MPI has the persistent collectives of MPI 4, and is known to compute them correctly."""
    if MPI.get_vendor()[0] not in PERSISTENT:
        return False
    number = np.zeros(1)
    try:
        MPI.COMM_SELF.Allreduce_init(number, np.zeros(1), MPI.SUM).Free()
    except (NotImplementedError, MPI.Exception):
        return False
    return True
