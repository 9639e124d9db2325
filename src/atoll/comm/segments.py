"""Memory that the processes of one host share, with locks.

Each rank makes a *segment*, a file without a name in memory (``memfd``; elsewhere a temporary file that is unlinked), and
maps those of the other ranks of its host through ``/proc``. Two mutexes of the C library, which work between processes,
are in front of the memory. They are taken by attempts, so a wait for them can end, and they are robust: a rank that
takes a mutex after its holder has died learns that.

The memory lives as long as anything refers to it, so no rank needs another one to free it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import secrets
import tempfile
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from .. import system
from ..context.interrupts import passed_on
from ..errors import CommunicationError
from ..front import at_end
from .communicator import Array, Communicator
from .in_step import agree

HEADER = 4096
"""Bytes in front of the memory of a segment."""

_TOKEN, _HOLDERS, _LOCKS, _APART = 64, 96, 128, 128
"""Offsets in the header of the token, of the holders of the locks and of the locks, and the distance between two locks."""


def lock_address(header: Array, lock: int) -> int:
    """The address of a lock of a segment."""
    return int(header.ctypes.data) + _LOCKS + lock * _APART


def holders(header: Array) -> Any:
    """By lock of a segment, the rank that has taken it last."""
    words: Any = header[_HOLDERS : _HOLDERS + 16]
    return memoryview(words).cast("q")


class Mutexes:
    """The mutexes of the C library in a header; ``works`` is true if the system has them."""

    def __init__(self) -> None:
        self.works = False
        if not system.has("robust"):
            return
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
            library.pthread_mutexattr_setrobust(attributes, 1)
            self.attributes = attributes
        except (OSError, AttributeError) as problem:  # no C library with threads
            passed_on(problem)
            return
        for function in (self.attempt, self.unlock):
            function.argtypes = [ctypes.c_void_p]

    def place(self, header: Array) -> None:
        """Make the mutexes of a segment."""
        for lock in (0, 1):
            where = ctypes.c_void_p(lock_address(header, lock))
            if self.initialise(where, self.attributes):
                raise CommunicationError(
                    "the C library of this system cannot make a mutex between processes, which one-sided access needs"
                )


mutexes = Mutexes()


class Segment:
    """A piece of memory that other processes of this host can map."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = HEADER + nbytes
        self.path, self._file = named_memory(self.nbytes)
        at_end(self, partial(os.close, self._file))
        self.bytes = _mapped(self._file, self.nbytes)
        self.token = secrets.token_bytes(16)
        self.bytes[_TOKEN : _TOKEN + 16] = np.frombuffer(self.token, np.uint8)
        if mutexes.works:
            mutexes.place(self.bytes)


def named_memory(nbytes: int) -> tuple[str, int]:
    """The path and the file descriptor of new memory, all zeros."""
    if system.has("memfd") and system.has("proc"):
        file = os.memfd_create("atoll-window")
        path = f"/proc/{os.getpid()}/fd/{file}"
    else:
        file, path = tempfile.mkstemp(prefix="atoll-window-")
    os.ftruncate(file, nbytes)
    return path, file


def without_name(path: str) -> None:
    """Unlink the file of new memory that all ranks have opened; memory in ``/proc`` has no name."""
    if not path.startswith("/proc/"):
        os.unlink(path)


def _mapped(file: int, nbytes: int) -> Array:
    return np.frombuffer(mmap.mmap(file, nbytes), np.uint8)


def opened(path: str, nbytes: int, token: bytes) -> Array | None:
    """The segment of another rank, or ``None`` if this process cannot map it."""
    try:
        file = os.open(path, os.O_RDWR)
    except OSError as problem:
        passed_on(problem)
        return None
    try:
        memory = _mapped(file, nbytes)
    except (OSError, ValueError) as problem:
        passed_on(problem)
        return None
    finally:
        os.close(file)
    return memory if memory[_TOKEN : _TOKEN + 16].tobytes() == token else None


def blocks_behind(headers: Iterable[Array | None]) -> list[Array | None]:
    """The memory of segments, without their headers."""
    return [None if header is None else header[HEADER:] for header in headers]


def mapped_by_rank(
    communicator: Communicator, nbytes: int, wanted: Iterable[int], what: str, works: bool = True
) -> tuple[list[Array | None], bool]:
    """A new segment of each rank. Returns those of this rank and of its ``wanted`` ranks, ``None`` in the places of others and of
    those that this process cannot map; and True if all ranks have mapped their ``wanted`` ones and have passed ``works``.
    Collective.
    """
    mine, wanted = Segment(nbytes), set(wanted)
    facts = (system.host(), mine.path, mine.nbytes, mine.token)
    every = agree(communicator, facts, what)
    segments = [
        mine.bytes
        if rank == communicator.rank
        else opened(path, total, token)
        if host == facts[0] and rank in wanted
        else None
        for rank, (host, path, total, token) in enumerate(every)
    ]
    reached = works and all(segments[rank] is not None for rank in wanted)
    everywhere = all(agree(communicator, reached, what))
    without_name(mine.path)
    return segments, everywhere
