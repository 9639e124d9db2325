"""Windows in memory that the processes of one host share: loads, stores and locks need no help of another rank, nor of MPI.

Each rank makes a *segment*, a file without a name in memory (``memfd``; elsewhere a temporary file that is unlinked), and
maps those of the other ranks of its host through ``/proc``. Two mutexes of the C library, which work between processes,
are in front of the memory. They are taken by attempts, so a wait for them can end, and they are robust: a rank that
takes a mutex after its holder has died learns that.

The memory lives as long as anything refers to it, so no rank needs another one to free it.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import secrets
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CommunicationError, RankFailedError
from .communicator import Array
from .in_step import agree
from .waiting import Patience
from .windows import Window

if TYPE_CHECKING:
    from .mpi import MpiCommunicator

HEADER = 4096
"""Bytes in front of the memory of a segment."""

_TOKEN, _LOCKS, _APART = 64, 128, 128
"""Where the token and the locks lie in the header, and how far apart the locks are."""


class Mutexes:
    """The mutexes of the C library in a header; ``works`` tells whether there are any."""

    def __init__(self) -> None:
        self.works = False
        try:
            library = ctypes.PyDLL(None)
            self.initialise = library.pthread_mutex_init
            self.attempt = library.pthread_mutex_trylock
            self.unlock = library.pthread_mutex_unlock
            attributes = ctypes.create_string_buffer(128)
            self.works = not (
                library.pthread_mutexattr_init(attributes)
                or library.pthread_mutexattr_setpshared(attributes, 1)
            )
            with suppress(AttributeError):  # not on every system
                library.pthread_mutexattr_setrobust(attributes, 1)
            self.attributes = attributes
        except (OSError, AttributeError):  # no C library with threads
            return
        for function in (self.attempt, self.unlock):
            function.argtypes = [ctypes.c_void_p]

    def place(self, address: int) -> None:
        """Make the mutexes of a segment at ``address``."""
        for lock in (0, 1):
            where = ctypes.c_void_p(address + _LOCKS + lock * _APART)
            if self.initialise(where, self.attributes):
                raise CommunicationError("the C library makes no mutex between processes")


mutexes = Mutexes()


class Segment:
    """A piece of memory that other processes of this host can map."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = HEADER + nbytes
        self.path, self._file = _named_memory(self.nbytes)
        self._unlink = not self.path.startswith("/proc/")
        self.bytes = _mapped(self._file, self.nbytes)
        self.token = secrets.token_bytes(16)
        self.bytes[_TOKEN : _TOKEN + 16] = np.frombuffer(self.token, np.uint8)
        if mutexes.works:
            mutexes.place(self.bytes.ctypes.data)

    def finish(self) -> None:
        """All have mapped it: its file needs no name any more."""
        os.close(self._file)
        if self._unlink:
            os.unlink(self.path)


def _named_memory(nbytes: int) -> tuple[str, int]:
    """The path and the file descriptor of new memory, all zeros."""
    if sys.platform == "linux":
        file = os.memfd_create("atoll-window")
        path = f"/proc/{os.getpid()}/fd/{file}"
    else:
        file, path = tempfile.mkstemp(prefix="atoll-window-")
    os.ftruncate(file, nbytes)
    return path, file


def _mapped(file: int, nbytes: int) -> Array:
    return np.frombuffer(mmap.mmap(file, nbytes), np.uint8)


def _opened(path: str, nbytes: int, token: bytes) -> Array | None:
    """The segment of another rank, or ``None`` if this process cannot map it."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        memory = _mapped(file, nbytes)
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)
    return memory if memory[_TOKEN : _TOKEN + 16].tobytes() == token else None


def host() -> str:
    """A name that only processes of one host have in common."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return os.uname().nodename + file.read().strip()
    except OSError:
        return os.uname().nodename


def open_window(communicator: MpiCommunicator, nbytes: int, what: str) -> Window:
    """A window of real ranks. Collective."""
    segment = Segment(nbytes)
    facts = (host(), segment.path, segment.nbytes, segment.token)
    every = agree(communicator, facts, what)
    headers: list[Array | None] = [
        segment.bytes
        if rank == communicator.rank
        else _opened(path, total, token)
        if where == facts[0]
        else None
        for rank, (where, path, total, token) in enumerate(every)
    ]
    reached = all(header is not None for header in headers) and mutexes.works
    everywhere = all(agree(communicator, reached, what))
    segment.finish()
    if everywhere:
        return SharedWindow(communicator, headers, what)
    from .mpi_windows import MpiWindow

    return MpiWindow(communicator, headers, what)


class SharedWindow(Window):
    """A window of ranks that all are on this host."""

    kind = "shared memory"

    def __init__(
        self, communicator: MpiCommunicator, headers: list[Array | None], what: str
    ) -> None:
        mine: Any = headers[communicator.rank]
        super().__init__(communicator, mine[HEADER:], what)
        self.blocks = [None if header is None else header[HEADER:] for header in headers]
        self._locks = [
            [header.ctypes.data + _LOCKS + lock * _APART for lock in (0, 1)]
            for header in headers
            if header is not None
        ]

    def _acquire(self, rank: int, lock: int) -> None:
        address = self._locks[rank][lock]
        outcome = mutexes.attempt(address)
        if outcome == errno.EBUSY:
            outcome = self._wait_for(rank, address)
        if outcome:  # the holder has died, or had when another rank took it
            if outcome == errno.EOWNERDEAD:
                mutexes.unlock(
                    address
                )  # the C library lists what a thread holds, and the memory may go
            raise RankFailedError(
                f"{self.what}: a rank has died while it had a lock of rank {rank}, so the elements there may be "
                f"half written ({os.strerror(outcome)})"
            )

    def _wait_for(self, rank: int, address: int) -> int:
        communicator = self.communicator
        patience = Patience(
            f"rank {communicator.rank} of {communicator.size}",
            lambda: f"a lock of the memory of rank {rank} ({self.what})",
            None,
        )
        while (outcome := mutexes.attempt(address)) == errno.EBUSY:
            patience.pause()
        return int(outcome)

    def _release(self, rank: int, lock: int) -> None:
        mutexes.unlock(self._locks[rank][lock])
