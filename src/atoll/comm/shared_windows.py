"""Windows of ranks that share a host: loads, stores and locks need no help of another rank, nor of MPI."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from ..context import remote_stacks
from ..errors import RankFailedError
from .communicator import Array
from .segments import HEADER, blocks_behind, holders, lock_address, mutexes
from .windows import Window

if TYPE_CHECKING:
    from .mpi import MpiCommunicator


class SharedWindow(Window):
    """A window of ranks that all are on this host."""

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
            if outcome == errno.EOWNERDEAD:
                mutexes.unlock(
                    address
                )  # the C library lists what a thread holds, and the memory may go
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
