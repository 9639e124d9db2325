"""One-sided operations between two ranks of a host, against what the same memory could do without atoll.

    atoll run -n 2 benchmarks/onesided.py [--smoke]

Started by itself, it starts two ranks. With ``--smoke`` it measures hardly anything. Rank 0 works; rank 1 sleeps, so nothing
here needs the target. Transfers of 8 MB are compared with a copy into or out of a bare shared window of MPI, in turns within
one run; the best of all turns counts.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count

import numpy as np
from mpi4py import MPI

import atoll
from atoll.global_access.onesided import OneSided

ELEMENTS = 1_000_000


def best(calls: list[Callable[[], object]], rounds: int, repeats: int) -> list[float]:
    """The seconds of each call at its best, measured in turns."""
    times = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            times[number] = min(times[number], (time.perf_counter() - start) / repeats)
    return times


def bare_memory(comm: MPI.Intracomm) -> np.ndarray:
    """The 8 MB of rank 1 in a shared window of MPI."""
    window = MPI.Win.Allocate_shared(8 * ELEMENTS, 8, comm=comm)
    memory, _ = window.Shared_query(1)
    return np.frombuffer(memory, np.float64)


def main(rounds: int = 200, repeats: int = 1000) -> None:
    comm = MPI.COMM_WORLD
    bare = bare_memory(comm)
    rank, n = comm.rank, ELEMENTS
    a = atoll.zeros(2 * n, layout=atoll.Layout((2 * n,), "b"))
    small = atoll.zeros((2, 1000), int, layout=atoll.Layout((2, 1000), "bn"))
    mine = np.ones(n)
    if rank == 1:
        bare[:] = 0
    with atoll.onesided(a) as g, atoll.onesided(small) as s:
        g.fence()
        if rank == 0:
            theirs = slice(n, 2 * n)
            for name, ours, plain in [
                ("get", lambda: g.get(theirs, mine), lambda: np.copyto(mine, bare)),
                ("put", lambda: g.put(theirs, mine), lambda: np.copyto(bare, mine)),
                (
                    "accumulate",
                    lambda: g.accumulate(theirs, mine),
                    lambda: np.add(bare, mine, bare),
                ),
            ]:
                found, possible = best([ours, plain], rounds, 3)
                print(
                    f"{name + ' of 8 MB':34} {8 * n / found / 1e9:6.2f} GB/s, bare window "
                    f"{8 * n / possible / 1e9:6.2f} GB/s, ratio {possible / found:.2f}",
                    flush=True,
                )
            rows, columns = np.ones(1000, int), np.arange(1000)
            numbers = count()
            for name, call in [
                ("get of 64 bytes", lambda: s.get((1, slice(8, 16)))),
                ("put of 64 bytes", lambda: s.put((1, slice(8, 16)), 3)),
                ("fetch_add", lambda: s.fetch_add((1, 0), 1)),
                ("compare_swap", lambda: s.compare_swap((1, 1), next(numbers), 0)),
                ("accumulate of one element", lambda: s.accumulate((1, 2), 1)),
                ("lock and unlock", locked(s)),
                ("get of 64 bytes at a step of 2", lambda: s.get((1, slice(8, 24, 2)))),
                ("gather of 1000 elements", lambda: s.gather((rows, columns))),
            ]:
                (found,) = best([call], max(1, rounds // 10), repeats)
                print(f"{name:34} {found * 1e6:6.2f} us", flush=True)
        else:
            time.sleep(0.1)


def locked(s: OneSided) -> Callable[[], None]:
    """What takes the mutex of rank 1, and releases it."""

    def both() -> None:
        with s.lock(1):
            pass

    return both


if __name__ == "__main__":
    if atoll.world.size < 2:
        again = [sys.executable, "-m", "atoll", "run", "-n", "2", __file__, *sys.argv[1:]]
        raise SystemExit(subprocess.call(again))
    if "--smoke" in sys.argv[1:]:
        main(rounds=1, repeats=20)
    else:
        main()
