"""What the machinery under the engine costs: a shared loop, a buffer, fresh memory, a kernel on disk.

    python benchmarks/machinery.py [--seconds 1.0] [--smoke]

Medians in microseconds, and the 95th percentile in brackets. Other programs on the machine show
first in the rows with two threads.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import mmap
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from statistics import median
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np

import atoll as anp
from atoll.backend.llvm import cache, workers
from atoll.backend.memory import Pool
from atoll.config import config

_NOTHING = "define void @nothing(ptr %argument, i64 %low, i64 %high) { ret void }"
_MEBIBYTE = 1 << 20


def measured(action: Callable[[], object], seconds: float, pause: float = 0.0) -> str:
    """The time of one call."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        if pause:
            time.sleep(pause)
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e6)
    times.sort()
    return f"{median(times):10.2f} ({times[len(times) * 95 // 100]:.2f})"


def loops(seconds: float) -> None:
    """Calls of a kernel that does nothing."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target_machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_NOTHING), target_machine)
    engine.finalize_object()
    address = engine.get_function_address("nothing")
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    print("a loop that does nothing")
    print("  bare ctypes call              ", measured(lambda: kernel(None, 0, 100), seconds))
    teams = [workers.NativeTeam()] if workers.NativeTeam.supported() else []
    for team in (*teams, workers.PortableTeam()):
        name = type(team).__name__
        for threads in (1, 2):
            run = partial(team.run, address, 0, 100, threads, SimpleNamespace(), None)
            print(f"  {name:12} {threads} threads, hot  ", measured(run, seconds))
        print(f"  {name:12} 2 threads, asleep", measured(run, seconds, pause=2e-3))
        team.stop()


def buffers(seconds: float) -> None:
    """Memory from the pool and memory from NumPy."""
    pool = Pool()
    print("a buffer")
    for size in (10_000, _MEBIBYTE, 128 * _MEBIBYTE):
        ours = measured(partial(pool.lend, size), seconds)
        print(f"  {size:>11} bytes, used before", ours)
        theirs = measured(partial(np.empty, size, np.uint8), seconds)
        print(f"  {size:>11} bytes, np.empty   ", theirs)
    size = 128 * _MEBIBYTE
    print("filling 128 MiB")

    def fresh() -> None:
        pool.lend(size, shape=(size // 8,), dtype=np.dtype("f8"))[0].fill(1.0)
        pool.trim()

    def reused() -> None:
        pool.lend(size, shape=(size // 8,), dtype=np.dtype("f8"))[0].fill(1.0)

    print(
        "  fresh from np.empty           ", measured(lambda: np.empty(size // 8).fill(1.0), seconds)
    )
    print("  fresh from the pool           ", measured(fresh, seconds))
    print("  used before                   ", measured(reused, seconds))


def disk(seconds: float) -> None:
    """Kernels of a usual size in the cache."""
    data = os.urandom(8000)
    with tempfile.TemporaryDirectory() as folder, config(kernel_cache=folder):
        key, numbers = cache.key_of("a kernel"), count()
        new = lambda: cache.store(cache.key_of(next(numbers)), data)  # noqa: E731
        cache.store(key, data)
        print("the cache on disk, 8000 bytes")
        print("  store                         ", measured(new, seconds))
        print("  load                          ", measured(lambda: cache.load(key), seconds))


def kernels(count: int) -> None:
    """The first use of a kernel that no cache knows, and what it takes of memory to keep it."""
    a, b = anp.full((300, 300), 1.0), anp.full((300, 300), 2.0)
    anp.sync()
    times, memory = [], []
    with config(kernel_cache="off"):
        for number in range(count):
            new = a[1:-1, :-2] + b[2:, 1:-1] * 0.25 - b[:-2, 1:-1]
            for bit in range(8):  # another body for every number
                new = (new + a[1:-1, 2:]) if number >> bit & 1 else (new * b[1:-1, 2:])
            if number == count // 2:
                memory.append(resident())
            start = time.process_time()
            new.max().item()
            times.append((time.process_time() - start) * 1e3)
    memory.append(resident())
    each = (memory[1] - memory[0]) / (count - count // 2) / 1e3
    print(f"a new kernel of twelve operations, and its plan, {count} of them")
    print(f"  first use, processor time      {median(times):8.1f} ms ({max(times):.1f})")
    print(f"  memory                         {each:8.1f} kB")


def resident() -> int:
    """The bytes of memory that this process has."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="measuring time per line")
    parser.add_argument("--smoke", action="store_true", help="a short run, to see it work")
    options = parser.parse_args()
    seconds: float = 0.02 if options.smoke else options.seconds
    loops(seconds)
    buffers(seconds)
    disk(seconds)
    kernels(8 if options.smoke else 200)


if __name__ == "__main__":
    main()
