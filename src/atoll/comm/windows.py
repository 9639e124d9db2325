"""Windows: memory of every rank that the other ranks of a communicator read and write without its help.

A window is opened by all ranks together (:meth:`Communicator.window`). From then on, each rank acts alone. If this
process can load and store the memory of another rank, :attr:`Window.blocks` has it: always in one process and on
simulated ranks, and on real ranks of one host (``segments``). Otherwise an operation of MPI moves the bytes
(``mpi_windows``); its target is a :class:`Target`, which locates an array in memory that this process does not see.

Each rank's memory has two locks. ``ATOMIC`` makes operations on elements atomic, and ``MUTEX`` is for the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CommunicationError
from .communicator import Array, Request
from .waiting import Patience

if TYPE_CHECKING:
    from .communicator import Communicator

ATOMIC, MUTEX = 0, 1
"""The locks of each rank's memory."""


@dataclass(frozen=True, slots=True)
class Target:
    """Elements in the memory of another rank: at ``displacement`` bytes, with a shape and strides, or at ``offsets``."""

    rank: int
    displacement: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    offsets: Array | None = None
    """The byte offsets of single elements; the shape is theirs."""


class Window:
    """Memory of every rank, as one rank sees it; this base class is the window of a single process, which waits for no lock."""

    kind = "memory of this process"
    takes_turns = False
    """True if other ranks may act at each :meth:`begin`."""

    def __init__(
        self,
        communicator: Communicator,
        memory: Array,
        what: str,
        blocks: list[Array | None] | None = None,
    ) -> None:
        self.communicator = communicator
        self.rank = communicator.rank
        self.what = what
        self.memory = memory
        """This rank's bytes."""
        self.blocks = blocks or [None] * communicator.size
        """By rank, the bytes that this process can load and store; ``None`` where it cannot."""
        self.blocks[self.rank] = memory
        self._held: set[tuple[int, int]] = set()

    def begin(self) -> None:
        """Prepare each operation: simulated ranks may take turns here."""

    def _taken(self, rank: int, lock: int) -> bool:
        """Try to take a lock of the memory of ``rank``; true if this rank has it."""
        return True

    def _holder(self, rank: int, lock: int) -> str:
        """The holder of a lock that this rank waits for, as text, if known."""
        return ""

    def _acquire(self, rank: int, lock: int) -> None:
        """Take a lock, after a wait if another rank holds it."""
        if self._taken(rank, lock):
            return
        patience = Patience(
            f"rank {self.rank} of {self.communicator.size}",
            lambda: f"a lock of the memory of rank {rank} ({self.what}){self._holder(rank, lock)}",
        )
        while not self._taken(rank, lock):
            patience.pause()

    def _release(self, rank: int, lock: int) -> None:
        """Give a lock back."""

    def acquire(self, rank: int, lock: int = ATOMIC) -> None:
        """Take a lock of the memory of ``rank``."""
        if (rank, lock) in self._held:
            raise CommunicationError(
                f"{self.what}: rank {self.rank} already has this lock of rank {rank}, and would wait for itself; "
                "release it first"
            )
        self._acquire(rank, lock)
        self._held.add((rank, lock))

    def release(self, rank: int, lock: int = ATOMIC) -> None:
        """Release a lock that this rank has. What it wrote before is visible to the next holder."""
        if (rank, lock) not in self._held:
            raise CommunicationError(
                f"{self.what}: rank {self.rank} releases a lock of rank {rank} that it does not have"
            )
        self._held.discard((rank, lock))
        self._release(rank, lock)

    def read(self, target: Target, out: Array) -> Request:
        """Begin to fill the contiguous ``out`` from memory that is not in ``blocks``."""
        raise NotImplementedError

    def write(self, target: Target, values: Array) -> Request:
        """Begin to write the contiguous ``values`` into memory that is not in ``blocks``."""
        raise NotImplementedError

    def flush(self, rank: int | None = None) -> None:
        """Return once the writes of this rank are visible to all ranks: those to ``rank``, or to all ranks."""

    def close(self) -> None:
        """End the window. Collective, after the last operation of every rank."""
