"""The pool of buffers, which reuses memory.

Fresh memory is dear. The operating system hands it out page by page, at the first touch, and
clears every page: a loop that makes a new array at each step can spend most of its time there.
So the memory of an ended buffer is kept, by size, and serves the next request of that size:

* **Sizes** are rounded up to an eighth of a power of two, so that slices which shrink from step
  to step still find each other's memory; untouched pages cost nothing.
* **Blocks** are aligned to 64 bytes when small, and to pages when large; the largest ask for
  huge pages, which makes the first touch several times cheaper.
* **A buffer comes back** when the last array over it has died. That happens on any thread and
  inside any garbage collection, so its weak reference only goes to a queue (:func:`.front.noticed`); the interpreter,
  or the next request, puts the block away soon after. It never communicates. A few small blocks may wait
  there: in a loop the next request mostly takes the block that has just come back, and nothing is put away. The native
  evaluation (``_native/nodes.c``) keeps the arrays themselves, up to eight small ones, until :func:`end_waiting`.
* **malloc**, which NumPy uses for results of its own, is configured once to keep freed memory as well.
* **Limits**: at most ``config.cache_bytes`` are kept, in any number of blocks of a size: a step of a program may leave
  dozens of arrays of one size. The oldest blocks are released first.
* **Failure**: a request that the system refuses, or that passes the pool's limit, first empties
  the pool and collects cycles, evaluates pending work that keeps memory alive, and is tried once more. Then it raises a MemoryError that
  names the purpose and the size of the request; all other objects stay usable.
"""

from __future__ import annotations

import atexit
import gc
import mmap
import os
import sys
import weakref
from collections import deque
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import system
from ..config import Settings, config
from ..context import statistics
from ..context.caches import Memo
from ..context.interrupts import passed_on, tolerated
from ..context.threads import process_lock, tried
from ..errors import OutOfMemoryError
from ..front import native, noticed
from ..graph import retention
from ..graph.geometry import Geometry
from ..graph.node import Value, new

ALIGNMENT = 64
"""Every buffer begins at a multiple of this many bytes."""

_MAPPED = 1 << 17  # from here on a block is a mapping of its own
_HUGE = 1 << 21  # from here on it asks for huge pages
_BYTE = np.dtype(np.uint8)


def rounded(nbytes: int) -> int:
    """The size of the block that serves a request: at most an eighth more, and 64 bytes at least."""
    if nbytes <= 512:
        return max(64, -(-nbytes // 64) * 64)
    step = 1 << (nbytes - 1).bit_length() - 4
    return -(-nbytes // step) * step


_capacities: Memo[int, int] = Memo()


def end_waiting() -> None:
    """Free the arrays that the native evaluation has kept for its next results."""
    if native is not None:
        native.let_go()


class _Block:
    """Memory from the operating system: the bytes of ``memory`` from ``offset`` on."""

    __slots__ = ("address", "capacity", "left", "memory", "offset")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.left = 0
        self.memory: Any
        if capacity < _MAPPED:
            # Not an ndarray, nor a memoryview of one: NumPy would take that for the base of a
            # view of a view, and the array that the lease watches would die too early.
            self.memory = bytearray(capacity + ALIGNMENT)
        else:
            # Private, for a forked child must not share its results with its parent.
            self.memory = mmap.mmap(-1, capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            if capacity >= _HUGE and system.has("hugepages"):
                with tolerated(OSError):  # a kernel without them
                    self.memory.madvise(mmap.MADV_HUGEPAGE)
        start: int = np.frombuffer(self.memory, np.uint8, 1).ctypes.data
        self.offset = -start % ALIGNMENT
        self.address = start + self.offset


class _Lease(weakref.ref["npt.NDArray[Any]"]):
    """Weak reference to the base of all arrays over a buffer, with the block of the buffer."""

    __slots__ = ("block", "nbytes")
    block: _Block
    nbytes: int


_LARGE = 1 << 20
_WAITING = 8
"""Number of small ended buffers that may wait in the queue, until the next request or until others end."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Statistics of the memory of a pool."""

    used: int
    """Bytes of buffers in use."""
    cached: int
    """Bytes kept for reuse."""
    buffers: int
    """Number of buffers in use."""
    blocks: int
    """Number of blocks kept for reuse."""


class Pool:
    """Pool of buffers; ``limit`` is the maximum number of bytes in use, None for no limit."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = available_memory() if limit is None else limit
        self._open = True
        self._lock = RLock()
        self._busy = False
        """True if the thread that has the lock is at work: a finaliser, or a signal handler, that interrupts it and
        needs memory gets fresh memory."""
        self._ended: deque[_Lease] = deque()
        self._note_end = noticed(self._ended, self._end, _WAITING)
        self._note_large_end = noticed(self._ended, self._end)
        self._is_settled = True
        """True if the accounts are in order, which an interrupt may have left otherwise."""
        self._leases: dict[int, _Lease] = {}  # of the buffers in use, by address
        self._free: dict[int, list[_Block]] = {}  # by capacity; the last one was left last
        self._used = 0
        self._cached = 0
        self._clock = 0

    def lend(
        self,
        nbytes: int,
        what: object = "",
        shape: tuple[int, ...] | None = None,
        dtype: np.dtype[Any] = _BYTE,
        strides: tuple[int, ...] | None = None,
    ) -> tuple[npt.NDArray[Any], int]:
        """Memory of ``nbytes`` bytes and arbitrary contents, as the base of all arrays over it, and its address.

        The array has bytes as elements unless a shape is given. In an error message, ``str(what)`` names the purpose of the memory
        and the user's line that wanted it; it is called only then.
        """
        try:
            capacity = _capacities.get(nbytes) or _capacities.only(nbytes, rounded(nbytes))
            ended = self._ended
            block = None
            with self._lock:
                interrupted, self._busy = self._busy, True
                try:
                    if not (self._is_settled or interrupted):
                        self._settle()
                    if ended and not interrupted:
                        latest, settings = ended.pop(), config.settings()
                        keeps = capacity <= settings.cache_bytes
                        if latest.nbytes == nbytes and self._used <= self.limit and keeps:
                            block = latest.block  # one goes, one comes
                        else:
                            ended.append(latest)
                        if ended:
                            self._put_away()
                    if block is None:
                        blocks = self._free.get(capacity)
                        if blocks and self._used + nbytes <= self.limit and not interrupted:
                            block = blocks.pop()
                            self._cached -= capacity
                            self._used += nbytes
                finally:
                    self._busy = interrupted
            if block is None:
                block = self._fresh(nbytes, capacity, what)
                statistics.counters().allocated("created", self._used)
            else:
                statistics.counters().allocated("reused", self._used)
            owner: npt.NDArray[Any] = np.ndarray(
                nbytes if shape is None else shape, dtype, block.memory, block.offset, strides
            )
            lease = _Lease(owner, self._note_end if nbytes < _LARGE else self._note_large_end)
            lease.block = block
            lease.nbytes = nbytes
            address: int = block.address
            self._leases[address] = lease
            return owner, address
        except BaseException:
            self._is_settled = False
            raise

    def usage(self) -> Usage:
        """Current numbers of bytes and buffers in use, and of bytes and blocks kept."""
        end_waiting()
        with self._lock:
            self._put_away()
            blocks = sum(map(len, self._free.values()))
            return Usage(self._used, self._cached, len(self._leases), blocks)

    def trim(self, nbytes: int = 0) -> None:
        """Give memory back to the system until at most ``nbytes`` are kept for reuse."""
        end_waiting()
        with self._lock:
            self._put_away()
            self._shrink(nbytes)

    def _fresh(self, nbytes: int, capacity: int, what: object) -> _Block:
        if nbytes < 0:
            raise ValueError(f"allocate: {nbytes} bytes were asked for; a size cannot be negative")
        block = self._try(nbytes, capacity)
        if block is None:
            gc.collect()
            retention.relieve(0)
            self.trim()
            block = self._try(nbytes, capacity)
        if block is None:
            now = self.usage()
            raise OutOfMemoryError(
                f"out of memory: {in_words(nbytes)} for {str(what) or 'a buffer'}, while {now.buffers} buffers "
                f"hold {in_words(now.used)}, {in_words(now.cached)} are kept for reuse, "
                f"and the limit is {in_words(self.limit)}; free arrays, use a smaller dtype, or run on more ranks",
                what,
            )
        return block

    def _try(self, nbytes: int, capacity: int) -> _Block | None:
        with self._lock:
            if self._used + nbytes > self.limit:
                return None
            self._shrink(max(0, self.limit - self._used - capacity))
            self._used += nbytes
        try:
            return _Block(capacity)
        except (MemoryError, OSError, OverflowError, ValueError) as refused:
            with self._lock:
                self._used -= nbytes
            passed_on(refused)
            return None

    def _end(self) -> None:
        """Put away the blocks of ended buffers, unless the lock is taken. This may run anywhere, inside the pool's own work as well."""
        for is_taken in tried(self._lock):
            if is_taken:
                try:
                    if self._open and not self._busy:
                        self._put_away()
                finally:
                    self._lock.release()

    def _settle(self) -> None:
        """Recount the accounts after an interrupt: blocks that it lost go back to the system. The lock is held."""
        waiting = set(map(id, self._ended))
        for address, lease in list(self._leases.items()):
            if lease() is None and id(lease) not in waiting:
                self._leases.pop(address, None)
        self._used = sum([lease.nbytes for lease in list(self._leases.values())])
        self._cached = sum([len(kept) * capacity for capacity, kept in self._free.items()])
        self._is_settled = True

    def _put_away(self) -> None:
        """Keep the blocks of buffers that have ended, within the limits. The lock is held."""
        settings = config.settings()
        busy, self._busy = self._busy, True
        try:
            if not (self._is_settled or busy):
                self._settle()
            self._keep(settings)
        except BaseException:
            self._is_settled = False
            raise
        finally:
            self._busy = busy

    def _keep(self, settings: Settings) -> None:
        while self._ended:
            lease = self._ended.popleft()
            block = lease.block
            self._leases.pop(block.address, None)
            self._used -= lease.nbytes
            self._cached += block.capacity
            self._clock += 1
            block.left = self._clock
            blocks = self._free.get(block.capacity)
            if blocks is None:
                blocks = self._free[block.capacity] = []
            blocks.append(block)
            if self._cached > settings.cache_bytes:
                self._shrink(settings.cache_bytes)

    def _shrink(self, nbytes: int) -> None:
        """Destroy the oldest blocks until at most ``nbytes`` are kept. The caller holds the lock."""
        try:
            while self._cached > nbytes:
                kept = [blocks for blocks in self._free.values() if blocks]
                if not kept:  # the interrupted caller has yet to put the block there
                    return
                self._destroy_oldest(min(kept, key=lambda blocks: blocks[0].left))
        except BaseException:
            self._is_settled = False
            raise

    def _destroy_oldest(self, blocks: list[_Block]) -> None:
        block = blocks.pop(0)
        self._cached -= block.capacity
        if not blocks:  # a size that is gone leaves no entry
            del self._free[block.capacity]
        statistics.add("destroyed")

    def _close(self) -> None:
        """The interpreter ends: arrays that die from now on leave their memory to the system."""
        self._open = False


def in_words(nbytes: int) -> str:
    """A number of bytes for users: ``1.5 GiB``."""
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if nbytes >= 1 << power:
            return f"{nbytes / (1 << power):.3g} {name}"
    return f"{nbytes} bytes"


def available_memory() -> int:
    """The bytes that this process can expect: memory and swap, or the limit of its container."""
    try:
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError) as problem:
        passed_on(problem)
        return sys.maxsize
    if not system.has("proc"):
        return most
    with tolerated(OSError), open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("SwapTotal:"):
                most += int(line.split()[1]) * 1024
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with tolerated(OSError), open(name) as file:
            text = file.read().strip()
            if text.isdigit():
                most = min(most, int(text))
    return most


pool = Pool()
"""The pool of this process."""


def release() -> bool:
    """Release memory: evaluate pending work, and empty the pool. Returns whether either held any."""
    relieved = retention.relieve(0)
    cached = pool.usage().cached
    pool.trim()
    return relieved or cached > 0


def new_array(
    shape: int | tuple[int, ...], dtype: np.dtype[Any], order: Any = "C"
) -> npt.NDArray[Any]:
    """``np.empty``, tried once more after memory was given back."""
    try:
        return np.empty(shape, dtype, order)
    except MemoryError:
        if not release():
            raise
    return np.empty(shape, dtype, order)


atexit.register(pool._close)
for _lock in (
    pool._lock,
    process_lock,
):  # the last one is taken first, as by evaluations; no signal interrupts methods of C
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def _keep_what_ends() -> None:
    """Let malloc keep memory for NumPy's own results.

    glibc returns free memory of 128 KiB or more at the end of its heap to the system, which clears it again for the next array: a step
    with a few larger temporaries then takes several times as long. Once an array of almost 32 MiB has been freed, glibc keeps up to 64.
    """
    np.empty((1 << 25) - (1 << 13), np.uint8)


_keep_what_ends()

_TINY = 1024  # below this many bytes NumPy's own allocator is quicker


def allocate_array(geometry: Geometry, what: object = "") -> Value:
    """Uninitialised memory for the geometry of a base; ``what`` describes its purpose."""
    dtype = geometry.dtype
    nbytes = geometry.size * dtype.itemsize
    if nbytes <= _TINY:
        if geometry.c_contiguous:
            return Value(np.empty(geometry.shape, dtype))
        memory = np.empty(geometry.size, dtype)
        return Value(np.ndarray(geometry.shape, dtype, memory, 0, geometry.strides))
    value: Value = new(Value)
    value.array, value._address = pool.lend(nbytes, what, geometry.shape, dtype, geometry.strides)
    value.pinned = False
    value.program = None
    value.known = None
    value.pooled = True
    value.counted = False
    return value
