"""A parallel loop for compiled kernels: hand ``f(argument, low, high)`` to all cores in about a microsecond.

The loop ``range(count)`` is cut into one *segment* per participant: the caller is participant
0, worker threads are the others. Everybody takes small bites from the segment that is its own
(so a thread meets the same memory at every call), and then helps with the segments of the
others. Nobody waits for a thread that the operating system has put aside: what it has not
begun is done by those who run.

A worker is a Python thread that has gone into compiled code and given up the interpreter lock.
There it watches its *state* word:

===========  =====================================================================
idle (0)     spinning for a while, then asleep in a futex on this very word
posted (1)   the caller wants it; the worker takes the job by changing 1 to 2
running (2)  biting; when nothing is left the worker puts the word back to idle
stop (3)     leave the loop for good
===========  =====================================================================

The caller posts, works, and at the end *retracts* (changes 1 to 0) from every worker that has
not woken up yet, so a short loop never waits for a slow awakening. One compiled call does all
of this. A call that finds the team busy, from another thread or from inside a kernel, does its
whole loop itself.

Where there is no futex (anything but Linux on x86-64 and aarch64), an executor of the standard
library does the same work with a larger overhead: :class:`PortableTeam`.

No result may depend on who did which piece: kernels write one partial result per chunk.
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
from collections import deque
from collections.abc import Callable
from time import perf_counter, sleep
from typing import Any, Protocol

from ..config import available_cores
from . import cache

_FUTEX = {"x86_64": 202, "aarch64": 98}
_PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}
_DECLARE_PAUSE = {
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
}

_MOST_PARTICIPANTS = 1024
_LINE = 128  # bytes per participant: two cache lines, one for its segment and one for its state
_HEADER = 256  # bytes before the first participant
_BITES = 8  # how many bites a segment is worth
SPIN_MICROSECONDS = 50.0
"""How long an idle worker watches before it sleeps, where there is a core for it."""

_LONGEST_SPIN = 10_000.0

# The block that all threads share, at byte offsets:
#     0 busy (i32)         4 the caller sleeps (i32)    8 pauses before a worker sleeps (i64)
#    16 participants (i64): how many there are
#   128 function (ptr)  136 argument (ptr)  144 participants of this job (i64)  152 bite (i64)
#   256 + 128*p: next (i64), end (i64); + 64: state (i32), + 68: asleep (i32)
_IR = r"""
declare i64 @syscall(i64, ...)
@DECLARE_PAUSE@

define void @pauses(i64 %number) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  @PAUSE@
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %number
  br i1 %more, label %loop, label %done
done:
  ret void
}

define internal ptr @line(ptr %block, i64 %p) alwaysinline {
  %offset = mul i64 %p, @LINE@
  %offset1 = add i64 %offset, @HEADER@
  %at = getelementptr i8, ptr %block, i64 %offset1
  ret ptr %at
}

define internal ptr @state(ptr %block, i64 %p) alwaysinline {
  %line = call ptr @line(ptr %block, i64 %p)
  %at = getelementptr i8, ptr %line, i64 64
  ret ptr %at
}

define internal void @wake_if_asleep(ptr %state) {
entry:
  %asleep.at = getelementptr i8, ptr %state, i64 4
  %asleep = load atomic i32, ptr %asleep.at seq_cst, align 4
  %is = icmp ne i32 %asleep, 0
  br i1 %is, label %wake, label %done
wake:
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 129, i32 1)
  br label %done
done:
  ret void
}

; Participant p wakes 2p+1 and 2p+2: a large team is awake after a logarithmic number of calls.
define internal void @wake_children(ptr %block, i64 %p, i64 %participants) {
entry:
  %twice = shl i64 %p, 1
  br label %child
child:
  %n = phi i64 [ 1, %entry ], [ %n1, %next ]
  %c = add i64 %twice, %n
  %exists = icmp ult i64 %c, %participants
  br i1 %exists, label %wake, label %done
wake:
  %state = call ptr @state(ptr %block, i64 %c)
  %now = load atomic i32, ptr %state seq_cst, align 4
  %posted = icmp eq i32 %now, 1
  br i1 %posted, label %call, label %next
call:
  call void @wake_if_asleep(ptr %state)
  br label %next
next:
  %n1 = add i64 %n, 1
  %more = icmp ule i64 %n1, 2
  br i1 %more, label %child, label %done
done:
  ret void
}

; Bite at the own segment, then at those of the others, until nothing is left anywhere.
define internal void @work(ptr %block, i64 %me) {
entry:
  %function.at = getelementptr i8, ptr %block, i64 128
  %argument.at = getelementptr i8, ptr %block, i64 136
  %participants.at = getelementptr i8, ptr %block, i64 144
  %bite.at = getelementptr i8, ptr %block, i64 152
  %function = load ptr, ptr %function.at
  %argument = load ptr, ptr %argument.at
  %participants = load i64, ptr %participants.at
  %bite = load i64, ptr %bite.at
  br label %segment
segment:
  %k = phi i64 [ 0, %entry ], [ %k1, %exhausted ]
  %turn = add i64 %me, %k
  %over = icmp uge i64 %turn, %participants
  %wrapped = sub i64 %turn, %participants
  %p = select i1 %over, i64 %wrapped, i64 %turn
  %next.at = call ptr @line(ptr %block, i64 %p)
  %end.at = getelementptr i8, ptr %next.at, i64 8
  %end = load i64, ptr %end.at
  br label %look
look:
  %seen = load atomic i64, ptr %next.at monotonic, align 8
  %left = icmp slt i64 %seen, %end
  br i1 %left, label %take, label %exhausted
take:
  %low = atomicrmw add ptr %next.at, i64 %bite monotonic
  %got = icmp slt i64 %low, %end
  br i1 %got, label %run, label %exhausted
run:
  %high0 = add i64 %low, %bite
  %beyond = icmp sgt i64 %high0, %end
  %high = select i1 %beyond, i64 %end, i64 %high0
  call void %function(ptr %argument, i64 %low, i64 %high)
  br label %look
exhausted:
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %participants
  br i1 %more, label %segment, label %done
done:
  ret void
}

define void @worker(ptr %block, i64 %me) {
entry:
  %state = call ptr @state(ptr %block, i64 %me)
  %asleep.at = getelementptr i8, ptr %state, i64 4
  %caller.at = getelementptr i8, ptr %block, i64 4
  %spin.at = getelementptr i8, ptr %block, i64 8
  %participants.at = getelementptr i8, ptr %block, i64 144
  br label %idle
idle:
  %spin = load atomic i64, ptr %spin.at monotonic, align 8
  br label %watch
watch:
  %k = phi i64 [ 0, %idle ], [ %k1, %again ]
  %now = load atomic i32, ptr %state acquire, align 4
  switch i32 %now, label %nothing [ i32 1, label %take
                                    i32 3, label %stop ]
nothing:
  %tired = icmp uge i64 %k, %spin
  br i1 %tired, label %sleep, label %again
again:
  @PAUSE@
  %k1 = add i64 %k, 1
  br label %watch
sleep:
  store atomic i32 1, ptr %asleep.at seq_cst, align 4
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 128, i32 0, ptr null, ptr null, i32 0)
  store atomic i32 0, ptr %asleep.at seq_cst, align 4
  br label %idle
take:
  %pair = cmpxchg ptr %state, i32 1, i32 2 acq_rel acquire
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %run, label %idle
run:
  %participants = load i64, ptr %participants.at
  call void @wake_children(ptr %block, i64 %me, i64 %participants)
  call void @work(ptr %block, i64 %me)
  store atomic i32 0, ptr %state seq_cst, align 4
  %caller = load atomic i32, ptr %caller.at seq_cst, align 4
  %waits = icmp ne i32 %caller, 0
  br i1 %waits, label %tell, label %idle
tell:
  %r1 = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 129, i32 2147483647)
  br label %idle
stop:
  ret void
}

define void @parallel_for(ptr %block, ptr %function, ptr %argument, i64 %count, i64 %threads) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %size, label %return
size:
  %team.at = getelementptr i8, ptr %block, i64 16
  %team = load i64, ptr %team.at
  %p0 = call i64 @llvm.smin.i64(i64 %threads, i64 %count)
  %participants = call i64 @llvm.smin.i64(i64 %p0, i64 %team)
  %alone = icmp slt i64 %participants, 2
  br i1 %alone, label %inline, label %claim
claim:
  %pair = cmpxchg ptr %block, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %share, label %inline
inline:
  call void %function(ptr %argument, i64 0, i64 %count)
  br label %return
share:
  %function.at = getelementptr i8, ptr %block, i64 128
  %argument.at = getelementptr i8, ptr %block, i64 136
  %participants.at = getelementptr i8, ptr %block, i64 144
  %bite.at = getelementptr i8, ptr %block, i64 152
  store ptr %function, ptr %function.at
  store ptr %argument, ptr %argument.at
  store i64 %participants, ptr %participants.at
  %bites = mul i64 %participants, @BITES@
  %bite0 = udiv i64 %count, %bites
  %bite = call i64 @llvm.smax.i64(i64 %bite0, i64 1)
  store i64 %bite, ptr %bite.at
  %quotient = udiv i64 %count, %participants
  %remainder = urem i64 %count, %participants
  br label %cut
cut:
  %c = phi i64 [ 0, %share ], [ %c1, %cut ]
  %low = phi i64 [ 0, %share ], [ %high, %cut ]
  %extra = icmp ult i64 %c, %remainder
  %one = zext i1 %extra to i64
  %length = add i64 %quotient, %one
  %high = add i64 %low, %length
  %next.at = call ptr @line(ptr %block, i64 %c)
  %end.at = getelementptr i8, ptr %next.at, i64 8
  store atomic i64 %low, ptr %next.at monotonic, align 8
  store i64 %high, ptr %end.at
  %c1 = add i64 %c, 1
  %cut.more = icmp ult i64 %c1, %participants
  br i1 %cut.more, label %cut, label %post
post:
  %w = phi i64 [ 1, %cut ], [ %w1, %post ]
  %w.state = call ptr @state(ptr %block, i64 %w)
  store atomic i32 1, ptr %w.state seq_cst, align 4
  %w1 = add i64 %w, 1
  %post.more = icmp ult i64 %w1, %participants
  br i1 %post.more, label %post, label %begin
begin:
  call void @wake_children(ptr %block, i64 0, i64 %participants)
  call void @work(ptr %block, i64 0)
  br label %join
join:
  %j = phi i64 [ 1, %begin ], [ %j1, %joined ]
  %j.state = call ptr @state(ptr %block, i64 %j)
  %retract = cmpxchg ptr %j.state, i32 1, i32 0 acq_rel acquire
  %never = extractvalue { i32, i1 } %retract, 1
  br i1 %never, label %joined, label %running
running:
  %spin.at = getelementptr i8, ptr %block, i64 8
  %spin0 = load atomic i64, ptr %spin.at monotonic, align 8
  %spin = call i64 @llvm.smax.i64(i64 %spin0, i64 32)
  br label %watch
watch:
  %k = phi i64 [ 0, %running ], [ %k1, %again ]
  %now = load atomic i32, ptr %j.state acquire, align 4
  %finished = icmp ne i32 %now, 2
  br i1 %finished, label %joined, label %not.yet
not.yet:
  %tired = icmp uge i64 %k, %spin
  br i1 %tired, label %sleep, label %again
again:
  @PAUSE@
  %k1 = add i64 %k, 1
  br label %watch
sleep:
  %caller.at = getelementptr i8, ptr %block, i64 4
  store atomic i32 1, ptr %caller.at seq_cst, align 4
  br label %doze
doze:
  %now1 = load atomic i32, ptr %j.state seq_cst, align 4
  %still = icmp eq i32 %now1, 2
  br i1 %still, label %wait, label %awake
wait:
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %j.state, i32 128, i32 2, ptr null, ptr null, i32 0)
  br label %doze
awake:
  store atomic i32 0, ptr %caller.at seq_cst, align 4
  br label %joined
joined:
  %j1 = add i64 %j, 1
  %join.more = icmp ult i64 %j1, %participants
  br i1 %join.more, label %join, label %finish
finish:
  store atomic i32 0, ptr %block release, align 4
  br label %return
return:
  ret void
}

; Send the workers home, unless a loop is running; whoever still knows this block finds it busy.
define i32 @retire(ptr %block) {
entry:
  %pair = cmpxchg ptr %block, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %begin, label %refuse
refuse:
  ret i32 0
begin:
  %team.at = getelementptr i8, ptr %block, i64 16
  %team = load i64, ptr %team.at
  br label %test
test:
  %w = phi i64 [ 1, %begin ], [ %w1, %send ]
  %more = icmp ult i64 %w, %team
  br i1 %more, label %send, label %done
send:
  %state = call ptr @state(ptr %block, i64 %w)
  store atomic i32 3, ptr %state seq_cst, align 4
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 129, i32 1)
  %w1 = add i64 %w, 1
  br label %test
done:
  ret i32 1
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""


_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def source(machine: str) -> str:
    """The LLVM text of the loops for ``machine``, ``'x86_64'`` or ``'aarch64'``."""
    text = _IR.replace("@DECLARE_PAUSE@", _DECLARE_PAUSE[machine]).replace(
        "@PAUSE@", _PAUSE[machine]
    )
    numbers = {"FUTEX": _FUTEX[machine], "LINE": _LINE, "HEADER": _HEADER, "BITES": _BITES}
    for name, number in numbers.items():
        text = text.replace(f"@{name}@", str(number))
    return text


class Team(Protocol):
    """Threads that share loops."""

    def run(self, function: int, argument: int, count: int, threads: int) -> None:
        """Call ``function(argument, low, high)`` so that the ranges make up ``range(count)``."""

    def spin(self, microseconds: float | None) -> None:
        """How long a thread without work watches before it sleeps; None: as the cores allow."""

    def stop(self) -> None:
        """Send the threads home; the next :meth:`run` with several threads calls new ones."""

    def close(self) -> None:
        """Send the threads home and start no others: from now on the caller does everything."""

    def forget(self) -> None:
        """In a forked child: begin anew, for the threads are not here."""

    @property
    def size(self) -> int:
        """How many threads there are, the caller included."""


def _immortal(thing: object) -> None:
    """Never free ``thing``: a thread that outlives the interpreter may still be using it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _pauses_per_microsecond(pauses: Callable[[int], None]) -> float:
    """What a pause is worth here: 1 to 60 nanoseconds, by processor."""
    number, best = 500, math.inf
    for _ in range(5):
        start = perf_counter()
        pauses(number)
        best = min(best, perf_counter() - start)
    return number / (best * 1e6)


class NativeTeam:
    """Workers that wait in compiled code, on Linux."""

    def __init__(self) -> None:
        self._compile()
        self._microseconds: float | None = None
        self._begin()

    @staticmethod
    def supported() -> bool:
        """Whether this machine has what the compiled loop needs."""
        return sys.platform == "linux" and platform.machine() in _FUTEX and sys.maxsize > 2**32

    def _compile(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        text = source(platform.machine())
        versions = llvmlite.__version__, llvm.llvm_version_info, llvm.get_default_triple()
        key = cache.key_of("workers", *versions, text)
        code = cache.load(key)
        if code is None:
            code = target.create_target_machine(opt=2).emit_object(llvm.parse_assembly(text))
            cache.store(key, code)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _immortal(engine)

        def compiled(name: str, result: Any, *arguments: Any) -> Any:
            return ctypes.CFUNCTYPE(result, *arguments)(engine.get_function_address(name))

        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        self._worker = compiled("worker", None, pointer, integer)
        self._retire = compiled("retire", ctypes.c_int32, pointer)
        self._share = compiled("parallel_for", None, pointer, pointer, pointer, integer, integer)
        self._pauses = _pauses_per_microsecond(compiled("pauses", None, integer))

    def _begin(self) -> None:
        """Start with a block of our own and nobody but the caller."""
        self._lock = threading.Lock()
        self._limit = _MOST_PARTICIPANTS
        self._renew()

    def _renew(self) -> None:
        block = mmap.mmap(-1, _HEADER + _LINE * _MOST_PARTICIPANTS)
        _immortal(block)
        self._threads: list[threading.Thread] = []
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(block))
        self._resize(1)

    def _resize(self, size: int) -> None:
        self._size = size
        ctypes.c_int64.from_address(self._address + 16).value = size
        self.spin(self._microseconds)

    @property
    def size(self) -> int:
        return self._size

    def spin(self, microseconds: float | None) -> None:
        self._microseconds = microseconds
        if microseconds is None:
            microseconds = SPIN_MICROSECONDS if self._size <= available_cores() else 0.0
        number = math.ceil(microseconds * self._pauses)
        ctypes.c_int64.from_address(self._address + 8).value = number

    def run(self, function: int, argument: int, count: int, threads: int) -> None:
        if threads > self._size < self._limit:
            self._grow(threads)
        self._share(self._address, function, argument, count, threads)

    def _grow(self, threads: int) -> None:
        with self._lock:
            while self._size < min(threads, self._limit):
                thread = threading.Thread(
                    target=self._worker,
                    args=(self._address, self._size),
                    name=f"atoll-worker-{self._size}",
                    daemon=True,
                )
                try:
                    thread.start()
                except RuntimeError:  # the system refuses another thread: go on with these
                    self._limit = self._size
                    return
                self._threads.append(thread)
                self._resize(self._size + 1)

    def stop(self) -> None:
        with self._lock:
            threads, address = self._threads, self._address
            # Whoever is inside a loop holds the old block and finishes on it.
            self._renew()
        for _ in range(1000):
            if self._retire(address):
                break
            sleep(0.001)
        else:  # a loop that takes longer than this keeps its workers
            return
        for thread in threads:
            thread.join(1.0)

    def close(self) -> None:
        self._limit = 1
        self.stop()

    def forget(self) -> None:
        self._begin()


class PortableTeam:
    """The same on an executor, for systems without a futex: some 50 microseconds a loop."""

    def __init__(self) -> None:
        self._limit = _MOST_PARTICIPANTS
        self.forget()

    def forget(self) -> None:
        self._busy = threading.Lock()
        self._executor: Any = None
        self._size = 1

    @property
    def size(self) -> int:
        return self._size

    def spin(self, microseconds: float | None) -> None:
        """Nothing spins here."""

    def run(self, function: int, argument: int, count: int, threads: int) -> None:
        kernel = _KERNEL(function)
        participants = min(threads, count, self._limit)
        if participants < 2 or not self._busy.acquire(blocking=False):
            if count > 0:
                kernel(argument, 0, count)
            return
        try:
            self._run(kernel, argument, count, participants)
        finally:
            self._busy.release()

    def _run(self, kernel: Any, argument: int, count: int, participants: int) -> None:
        pieces = min(count, participants * _BITES)
        bites = deque((count * k // pieces, count * (k + 1) // pieces) for k in range(pieces))

        def work() -> None:
            while bites:
                try:
                    low, high = bites.popleft()
                except IndexError:  # another thread was faster
                    return
                kernel(argument, low, high)

        futures = []
        try:
            if self._executor is None or self._size < participants:
                self.stop()
                from concurrent.futures import ThreadPoolExecutor

                self._executor = ThreadPoolExecutor(participants - 1, "atoll-worker")
                self._size = participants
            for _ in range(participants - 1):
                futures.append(self._executor.submit(work))
        except RuntimeError:  # the interpreter is shutting down, or threads are used up
            self._limit = max(1, len(futures))
        work()
        for future in futures:
            if not future.cancel():
                future.result()

    def stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()
        self._executor, self._size = None, 1

    def close(self) -> None:
        self._limit = 1
        self.stop()


_team: Team | None = None
_start_lock = threading.Lock()


def _start() -> Team:
    global _team
    with _start_lock:
        if _team is None:
            _team = NativeTeam() if NativeTeam.supported() else PortableTeam()
            atexit.register(_team.close)
        return _team


def parallel_for(function_address: int, argument_address: int, count: int, threads: int) -> None:
    """Call the compiled ``void f(ptr argument, i64 low, i64 high)`` on ranges that make up ``range(count)``.

    At most ``threads`` threads take part, the calling one included. The interpreter lock is
    not held meanwhile. Returns when all is done.
    """
    (_team or _start()).run(function_address, argument_address, count, threads)


def set_spin(spin: bool | float | None) -> None:
    """Let idle workers watch for work for ``spin`` microseconds before they sleep.

    ``True`` is :data:`SPIN_MICROSECONDS`; ``False`` is none, for machines where others need the
    cores (more ranks times threads than cores). ``None`` spins while there are enough cores.
    """
    if spin is True:
        spin = SPIN_MICROSECONDS
    elif spin is not None and not 0 <= spin <= _LONGEST_SPIN:
        raise ValueError(f"set_spin: {spin!r} is not between 0 and {_LONGEST_SPIN:g} microseconds")
    (_team or _start()).spin(None if spin is None else float(spin))


def thread_count() -> int:
    """How many threads loops have had so far, the caller included."""
    return 1 if _team is None else _team.size


def stop() -> None:
    """Send the workers home; they come back when a loop needs them."""
    if _team is not None:
        _team.stop()


def _after_fork_in_child() -> None:
    global _start_lock
    _start_lock = threading.Lock()
    if _team is not None:
        _team.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
