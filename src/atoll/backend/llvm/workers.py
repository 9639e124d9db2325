"""A parallel loop for compiled kernels: calls ``f(argument, low, high)`` on all cores within about a microsecond.

The loop ``range(count)`` is cut into one *segment* per participant. The caller is participant 0, and worker
threads are the others. Each participant takes pieces of its own segment, so that a thread uses the same memory at
every call. The pieces get smaller towards the end. A participant whose segment is done takes pieces of the others'.
So the loop never waits for a thread that the operating system has descheduled before it began a piece: running threads do its
work. If it loses its core within a piece, and the caller waits for it twice as long as its own work took, the caller does the
next loops alone.

A worker is a Python thread that runs compiled code without the interpreter lock. It watches its *state* word:

===========  =====================================================================
idle (0)     spinning for a while, then asleep in a futex on this very word
posted (1)   the caller offers work; the worker accepts by changing 1 to 2
running (2)  at work; the worker sets the word back to idle when no piece is left
stop (3)     leave the loop for good
===========  =====================================================================

The caller posts, works, and at the end withdraws the offer (changes 1 to 0) from every worker that has not woken
up, so a short loop never waits for a thread to wake. One compiled call does all of this. A call from another thread,
or from inside a kernel, that finds the workers busy runs its whole loop in the calling thread.

Where there is no futex (anything but Linux on x86-64 and aarch64), an executor of the standard
library does the same work with a larger overhead: :class:`PortableTeam`.

No result depends on which thread ran which piece: kernels write one partial result per chunk.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import mmap
import os
import platform
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter, sleep
from types import SimpleNamespace
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ... import policy, system
from ...comm import launcher
from ...config import available_cores, config
from ...context.interrupts import passed_on
from ...context.threads import process_lock, tried
from . import cache, worker_loops
from . import machine as host

SPIN_MICROSECONDS = 50.0
"""Time for which an idle worker watches before it sleeps, if it has a core of its own."""

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Team(ABC):
    """Threads that share loops."""

    compiled = False
    """True if the team has :meth:`launches`."""
    size = 1
    """Number of threads, including the caller."""
    _limit = worker_loops.MOST_PARTICIPANTS

    @abstractmethod
    def run(
        self, function: int, argument: int, count: int, threads: int, state: Any, step: Any
    ) -> None:
        """Call ``function(argument, low, high)`` so that the ranges make up ``range(count)``; note that in ``state`` as done."""

    def launches(self, table: int, registers: int, threads: int, state: Any, step: Any) -> int:
        """Run the kernels of a table, and note that in ``state`` as done. Not for a team that is no compiled one."""
        raise NotImplementedError("there is no compiled loop on this system")

    def shared(self, threads: int) -> tuple[int, int, int]:
        """The addresses of :meth:`launches` and of the memory that the threads share, and ``threads``, for callers in C."""
        raise NotImplementedError("there is no compiled loop on this system")

    @abstractmethod
    def spin(self, microseconds: float | None) -> None:
        """Set the time for which an idle thread watches before it sleeps; None: chosen by the number of cores."""

    @abstractmethod
    def stop(self) -> None:
        """Send the threads home; the next :meth:`run` with several threads calls new ones."""

    def close(self) -> None:
        """Send the threads home and start no others: from now on the caller does everything."""
        self._limit = 1
        self.stop()

    @abstractmethod
    def forget(self) -> None:
        """Start afresh in a forked child, which does not have the threads."""


def _immortal(thing: object) -> None:
    """Never free ``thing``: a thread that outlives the interpreter may still be using it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def cores_suffice(threads: int) -> bool:
    """True if ``threads`` threads of each rank on this machine have a core each."""
    launch = launcher.detect()
    ranks = (launch and launch.local_size) or 1
    return threads <= available_cores() and threads * ranks <= (os.cpu_count() or 1)


def _pauses_per_microsecond(pauses: Callable[[int], None]) -> float:
    """Pause instructions per microsecond; a pause takes 1 to 60 nanoseconds, by processor."""
    number, best = 500, math.inf
    for _ in range(5):
        start = perf_counter()
        pauses(number)
        best = min(best, perf_counter() - start)
    return number / (best * 1e6)


class NativeTeam(Team):
    """Workers that wait in compiled code, on Linux."""

    compiled = True

    def __init__(self) -> None:
        self._compile()
        self._microseconds: float | None = None
        self.forget()

    @staticmethod
    def supported() -> bool:
        """True if this machine supports the compiled loop."""
        return (
            system.has("futex") and platform.machine() in worker_loops.FUTEX and sys.maxsize > 2**32
        )

    def _compile(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        text = worker_loops.source(host.machine())
        versions = llvmlite.__version__, llvm.llvm_version_info, llvm.get_default_triple()
        key = cache.key_of("workers", *versions, text)
        machine = target.create_target_machine(opt=2)
        code = cache.load_or_make(key, lambda: machine.emit_object(llvm.parse_assembly(text)))
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _immortal(engine)

        def compiled(name: str, result: Any, *arguments: Any) -> Any:
            return ctypes.CFUNCTYPE(result, *arguments)(engine.get_function_address(name))

        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        self._worker = compiled("worker", None, pointer, integer)
        self._retire = compiled("retire", ctypes.c_int32, pointer)
        self._share = compiled(
            "parallel_for", None, pointer, pointer, pointer, integer, integer, integer
        )
        self._launches = compiled("launches", integer, pointer, pointer, pointer, integer)
        self._launches_address: int = engine.get_function_address("launches")
        self._pauses = _pauses_per_microsecond(compiled("pauses", None, integer))

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._limit = worker_loops.MOST_PARTICIPANTS
        self._renew()

    def _renew(self) -> None:
        block = mmap.mmap(
            -1, worker_loops.HEADER + worker_loops.LINE * worker_loops.MOST_PARTICIPANTS
        )
        _immortal(block)
        self._threads: list[threading.Thread] = []
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(block))
        self._resize(1)

    def _resize(self, size: int) -> None:
        self.size = size
        ctypes.c_int64.from_address(self._address + worker_loops.TEAM).value = size
        self.spin(self._microseconds)

    def spin(self, microseconds: float | None) -> None:
        self._microseconds = microseconds
        if microseconds is None:
            microseconds = SPIN_MICROSECONDS if cores_suffice(self.size) else 0.0
        number = math.ceil(microseconds * self._pauses)
        ctypes.c_int64.from_address(self._address + worker_loops.SPIN).value = number

    def run(
        self, function: int, argument: int, count: int, threads: int, state: Any, step: Any
    ) -> None:
        if threads > self.size < self._limit:
            self._grow(threads)
        state.done = step
        self._share(self._address, function, argument, 0, count, threads)

    def launches(self, table: int, registers: int, threads: int, state: Any, step: Any) -> int:
        if threads > self.size < self._limit:
            self._grow(threads)
        state.done = step
        flags: int = self._launches(self._address, table, registers, threads)
        return flags

    def shared(self, threads: int) -> tuple[int, int, int]:
        if threads > self.size < self._limit:
            self._grow(threads)
        return self._launches_address, self._address, threads

    def _grow(self, threads: int) -> None:
        for is_taken in tried(self._lock):
            if not is_taken:  # another thread holds it, or this thread in a finaliser
                return
            try:
                self._start(min(threads, self._limit))
            finally:
                self._lock.release()

    def _start(self, size: int) -> None:
        while self.size < size:
            thread = threading.Thread(
                target=self._worker,
                args=(self._address, self.size),
                name=f"atoll-worker-{self.size}",
                daemon=True,
            )
            try:
                thread.start()
            except RuntimeError as refused:  # by the system: go on with these
                passed_on(refused)
                self._limit = self.size
                return
            self._threads.append(thread)
            self._resize(self.size + 1)

    def stop(self) -> None:
        with self._lock:
            threads, address = self._threads, self._address
            # A thread inside a loop holds the old block and finishes on it.
            self._renew()
        for _ in range(1000):
            if self._retire(address):
                break
            sleep(0.001)
        else:  # a loop that takes longer than this keeps its workers
            return
        for thread in threads:
            thread.join(1.0)


class PortableTeam(Team):
    """The same on an executor, for systems without a futex: some 50 microseconds a loop."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._busy = threading.Lock()
        self._executor: Any = None
        self.size = 1

    def run(
        self, function: int, argument: int, count: int, threads: int, state: Any, step: Any
    ) -> None:
        kernel = _KERNEL(function)
        participants = min(threads, count, self._limit)
        if participants > 1:
            for is_taken in tried(self._busy):
                if is_taken:
                    try:
                        self._run(kernel, argument, count, participants, state, step)
                    finally:
                        self._busy.release()
                    return
        if count > 0:
            state.done = step
            kernel(argument, 0, count)

    def _run(
        self, kernel: Any, argument: int, count: int, participants: int, state: Any, step: Any
    ) -> None:
        pieces = min(count, participants * policy.limits.pieces)
        bites: deque[Any] = deque(
            [(count * k // pieces, count * (k + 1) // pieces) for k in range(pieces)]
        )
        bites.extend([None] * (participants + 1))  # ends the loop of each participant
        take = bites.popleft

        def work() -> None:
            for low, high in iter(take, None):  # an interrupt comes after the kernel, if at all
                kernel(argument, low, high)

        futures = []
        state.done = step  # its value at the end
        try:
            if self._executor is None or self.size < participants:
                self.stop()
                from concurrent.futures import ThreadPoolExecutor

                self._executor = ThreadPoolExecutor(participants - 1, "atoll-worker")
                self.size = participants
            for _ in range(participants - 1):
                futures.append(self._executor.submit(work))
        except RuntimeError as refused:  # the interpreter is shutting down, or threads are used up
            passed_on(refused)
            self._limit = max(1, len(futures))
        finally:  # whatever came: the threads use memory of the caller
            try:
                work()
            finally:
                work()  # the work that an interrupt has left
            for future in futures:
                if not future.cancel():
                    future.result()

    def spin(self, microseconds: float | None) -> None:
        """No effect: idle threads of an executor sleep."""

    def stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()
        self._executor, self.size = None, 1


_team: Team | None = None


def _start() -> Team:
    global _team
    with process_lock:
        if _team is None:
            _team = NativeTeam() if NativeTeam.supported() else PortableTeam()
            atexit.register(_team.close)
        return _team


def team() -> Team:
    """The threads of this process."""
    return _team or _start()


def parallel_for(function_address: int, argument_address: int, count: int, threads: int) -> None:
    """Call the compiled ``void f(ptr argument, i64 low, i64 high)`` on ranges that make up ``range(count)``.

    At most ``threads`` threads take part, the calling one included. The interpreter lock is
    not held meanwhile. Returns when all is done.
    """
    team().run(function_address, argument_address, count, threads, SimpleNamespace(), None)


def run_chunks(function: int, words: Sequence[Any], chunks: int, elements: int) -> int:
    """Call a compiled function on ``range(chunks)`` and a block of these words, on all threads if it works on many ``elements``; the first
    word at the end."""
    block = np.array(words, np.int64)
    threads = config.threads if elements >= policy.limits.parallel else 1
    parallel_for(function, block.__array_interface__["data"][0], chunks, threads)
    return int(block[0])


def _after_fork_in_child() -> None:
    if _team is not None:
        _team.forget()


os.register_at_fork(after_in_child=_after_fork_in_child)
