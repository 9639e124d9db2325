"""Windows of real ranks: loads and stores within a host, and one-sided operations of MPI between hosts.

Ranks that share a host need no help of another rank, nor of MPI. Where some do not, MPI's window lies over the segments
of ``segments``. A request of MPI moves the bytes, so that the wait for it has a limit and can be interrupted. A lock is a
word in front of the memory, which an atomic operation of MPI takes. Whether these operations progress while the target
rank is outside of MPI depends on the network and on MPI: see ``docs/reference/onesided.md``.
"""

from __future__ import annotations

import errno
import faulthandler
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import config
from ..context import remote_stacks
from ..errors import RankFailedError
from .communicator import Array, Request
from .mpi_requests import MpiRequest
from .segments import HEADER, blocks_behind, holders, lock_address, mapped_by_rank, mutexes
from .windows import Target, Window

if TYPE_CHECKING:
    from .mpi import MpiCommunicator

_WORDS = 1024
"""The offset in the header of the words of the locks, 8 bytes each."""


_open: set[MpiWindow] = set()
"""The windows that MPI still has: their memory stays, for ranks that were not told of an error here."""


class SharedWindow(Window):
    """A window of ranks that are all on this host."""

    kind = "shared memory"

    def __init__(
        self, communicator: MpiCommunicator, headers: list[Array | None], what: str
    ) -> None:
        mine: Any = headers[communicator.rank]
        super().__init__(communicator, mine[HEADER:], what, blocks_behind(headers))
        self._holders = [holders(header) for header in headers if header is not None]
        self._locks = [
            [lock_address(header, lock) for lock in (0, 1)]
            for header in headers
            if header is not None
        ]

    def _taken(self, rank: int, lock: int) -> bool:
        address = self._locks[rank][lock]
        outcome = mutexes.attempt(address)
        if outcome == errno.EBUSY:
            return False
        self._holders[rank][lock] = self.rank
        if outcome:  # the holder has died, or had when another rank took it
            # The C library lists the mutexes of a thread, and their memory may go.
            if outcome == errno.EOWNERDEAD:
                mutexes.unlock(address)
            raise RankFailedError(
                f"{self.what}: a rank has died while it had a lock of rank {rank}, so the elements there may be "
                f"half written ({os.strerror(outcome)})"
            )
        return True

    def _holder(self, rank: int, lock: int) -> str:
        holder = int(self._holders[rank][lock])
        where = remote_stacks.told([self.communicator.members[holder]])
        return f", which rank {holder} has{where}"

    def _release(self, rank: int, lock: int) -> None:
        mutexes.unlock(self._locks[rank][lock])


class MpiWindow(Window):
    """A window that needs MPI, at least for some ranks."""

    kind = "MPI"
    communicator: MpiCommunicator

    def __init__(
        self, communicator: MpiCommunicator, headers: list[Array | None], what: str
    ) -> None:
        mine: Any = headers[communicator.rank]
        super().__init__(communicator, mine[HEADER:], what, blocks_behind(headers))
        library = communicator.library
        self._word = library.INT64_T
        # Win.Create blocks, but all ranks have met in mapped_by_rank before.
        self._window = library.Win.Create(mine, 1, comm=communicator.own)
        self._window.Set_errhandler(library.ERRORS_RETURN)
        self._window.Lock_all(library.MODE_NOCHECK)
        _open.add(self)
        self._free = np.zeros(1, np.int64)
        self._one = np.ones(1, np.int64)
        self._before = np.zeros(1, np.int64)

    def _taken(self, rank: int, lock: int) -> bool:
        words = [[word, self._word] for word in (self._one, self._free, self._before)]
        self._window.Compare_and_swap(*words, rank, _WORDS + 8 * lock)
        self._flushed(rank)
        if self._before[0]:
            return False
        self._window.Sync()
        return True

    def _release(self, rank: int, lock: int) -> None:
        self._window.Sync()
        self._flushed(rank)
        word = [self._free, 1, self._word]
        place = _WORDS + 8 * lock
        self._window.Accumulate(
            word, rank, [place, 1, self._word], self.communicator.library.REPLACE
        )
        self._flushed(rank)

    def _request(self, operation: str, target: Target, memory: Array) -> Request:
        byte = self.communicator.library.BYTE
        datatype = self._datatype(target)
        origin = self.communicator.datatypes.message(memory)
        place = [HEADER + target.displacement, 1, datatype]
        start = self._window.Rget if operation == "get from" else self._window.Rput
        handle = start(origin, target.rank, place)
        if datatype != byte:
            datatype.Free()  # MPI keeps it until the operation is done
        return MpiRequest(
            self.communicator, handle, operation, target.rank, None, self.what, None, memory
        )

    def _datatype(self, target: Target) -> Any:
        element = self.communicator.library.BYTE.Create_contiguous(target.itemsize)
        if target.offsets is not None:
            datatype = element.Create_hindexed_block(1, target.offsets.ravel().tolist())
            element.Free()
            return datatype.Commit()
        datatype = element
        for extent, stride in zip(reversed(target.shape), reversed(target.strides), strict=True):
            inner, datatype = datatype, datatype.Create_hvector(extent, 1, stride)
            inner.Free()
        return datatype.Commit()

    def read(self, target: Target, out: Array) -> Request:
        return self._request("get from", target, out)

    def write(self, target: Target, values: Array) -> Request:
        return self._request("put to", target, values)

    def flush(self, rank: int | None = None) -> None:
        self._window.Sync()
        self._flushed(rank)

    def _flushed(self, rank: int | None) -> None:
        """MPI's own flush, which waits in C: the timer of faulthandler limits it."""
        faulthandler.dump_traceback_later(
            config.wait_abort, exit=True, file=2
        )  # sys.stderr may have no descriptor
        try:
            if rank is None:
                self._window.Flush_all()
            else:
                self._window.Flush(rank)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def close(self) -> None:
        self.communicator.barrier(f"the end of {self.what}")
        self._window.Unlock_all()
        self._window.Free()
        _open.discard(self)


def open_window(communicator: MpiCommunicator, nbytes: int, what: str) -> Window:
    """A window of real ranks. Collective."""
    everyone = range(communicator.size)
    headers, everywhere = mapped_by_rank(communicator, nbytes, everyone, what, mutexes.works)
    return (SharedWindow if everywhere else MpiWindow)(communicator, headers, what)
