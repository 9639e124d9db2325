"""Latency of small messages and collectives: atoll's communicator against mpi4py's own calls.

    atoll run -n 2 benchmarks/comm_latency.py [--smoke]

Started by itself, it starts two ranks. With ``--smoke`` it measures hardly anything.

Both are measured in turns within one run, in bursts that are short enough to fall between
other programs' turns; the best burst counts. The first line is the one that is held to a limit: at two ranks, a small gather
takes at most 1.5 times mpi4py's own.
"""

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import atoll


def seconds(call: Callable[[], object], comm: MPI.Intracomm, repeats: int) -> float:
    comm.Barrier()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def main(rounds: int = 400, repeats: int = 50) -> None:
    comm, ours = MPI.COMM_WORLD, atoll.world.communicator
    right, left = (ours.rank + 1) % ours.size, (ours.rank - 1) % ours.size
    one, answer, both = np.ones(1), np.empty(1), np.empty(ours.size)
    integer, integers, rows = np.ones(1, np.uint64), np.ones(1, np.uint64), ours.rows(8)
    column, answer_column = np.ones((64, 64))[:, 3], np.empty((64, 64))[:, 5]
    column_type = MPI.DOUBLE.Create_vector(64, 1, 64).Commit()

    def exchange() -> None:
        ours.exchange({right: one}, {left: answer})

    def exchange_mpi() -> None:
        MPI.Request.Waitall([comm.Irecv(answer, left), comm.Isend(one, right)])

    def exchange_column() -> None:
        ours.exchange({right: column}, {left: answer_column})

    def exchange_column_mpi() -> None:
        grid, target = column.base, answer_column.base
        receive = comm.Irecv((target, 1, column_type), left)
        MPI.Request.Waitall([receive, comm.Isend((grid, 1, column_type), right)])

    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "gather of eight bytes": (
            lambda: rows.gather("rows"),
            lambda: comm.Allgather(one, both),
        ),
        "allreduce of one integer": (
            lambda: ours.allreduce(integer),
            lambda: comm.Iallreduce(integer, integers, MPI.SUM).Wait(),
        ),
        "barrier": (ours.barrier, comm.Barrier),
        "exchange of one double": (exchange, exchange_mpi),
        "exchange of a column of 64": (exchange_column, exchange_column_mpi),
        "allgather of an object": (
            lambda: ours.allgather_object((1, "a")),
            lambda: comm.allgather((1, "a")),
        ),
    }
    for name, (mine, theirs) in pairs.items():
        times = [
            (seconds(mine, comm, repeats), seconds(theirs, comm, repeats)) for _ in range(rounds)
        ]
        best, best_theirs = min(t[0] for t in times), min(t[1] for t in times)
        if ours.rank == 0:
            print(
                f"{name:32} atoll {best * 1e6:7.2f} us, mpi4py {best_theirs * 1e6:7.2f} us, "
                f"ratio {best / best_theirs:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    if atoll.world.size < 2:
        again = [sys.executable, "-m", "atoll", "run", "-n", "2", __file__, *sys.argv[1:]]
        raise SystemExit(subprocess.call(again))
    if "--smoke" in sys.argv[1:]:
        main(rounds=1, repeats=20)
    else:
        main()
