"""A cached ring exchange by atoll.dataflow, against the same messages by mpi4py's own calls.

    atoll run -n 2 benchmarks/dataflow.py [--smoke]

Started by itself, it starts two ranks. Each rank sends 2 x + 1 to the next and adds what arrives;
with mpi4py, NumPy computes that. Both are measured in turns within one run, in short bursts, and
the best burst counts. The limit: at two ranks the graph costs at most 100 us more. Then how long it takes
to partition graphs of several forms.
"""

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import atoll
from atoll import dataflow as df


def seconds(call: Callable[[], object], comm: MPI.Intracomm, repeats: int) -> float:
    comm.Barrier()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def ring(rounds: int, repeats: int, n: int) -> None:
    comm, ours = MPI.COMM_WORLD, atoll.world
    right, left = (ours.rank + 1) % ours.size, (ours.rank - 1) % ours.size
    given, answer = np.arange(float(n)), np.empty(n)
    x = df.make_placeholder("x", (n,))
    got = df.make_distributed_recv(left, "ring", (n,), float)
    y = df.staple_distributed_send(2 * x + 1, right, "ring", got + x)
    partition = df.find_distributed_partition(ours, {"y": y})
    programs = df.generate_code_for_partition(partition)

    def graph() -> object:
        return df.execute_distributed_partition(
            partition, programs, None, ours, input_args={"x": given}
        )["y"]

    def bare() -> object:
        requests = [comm.Irecv(answer, left), comm.Isend(2 * given + 1, right)]
        MPI.Request.Waitall(requests)
        return answer + given

    assert np.array_equal(graph(), bare())
    times = [(seconds(graph, comm, repeats), seconds(bare, comm, repeats)) for _ in range(rounds)]
    best, best_bare = min(t[0] for t in times), min(t[1] for t in times)
    if ours.rank == 0:
        print(
            f"ring of {n} doubles on {ours.size} ranks: atoll {best * 1e6:.1f} us, mpi4py "
            f"{best_bare * 1e6:.1f} us, {(best - best_bare) * 1e6:.1f} us more"
        )


def graphs(n: int, messages: int) -> None:
    """How long partitioning takes."""
    if atoll.world.rank:
        return
    x = df.make_placeholder("x", (10,))
    chain = x
    for _ in range(n):
        chain = chain + 1.0
    ladder = x
    for _ in range(40):
        ladder = ladder + ladder
    value, sends = x, []
    for k in range(messages):
        sends.append(df.make_distributed_send(value + 1, 0, k))
        value = df.make_distributed_recv(0, k, (10,), float) * 2
    for words, output, some in (
        (f"a chain of {n}", chain, []),
        ("a ladder of depth 40", ladder, []),
        (f"a chain of {messages} messages", value, sends),
    ):
        start = time.perf_counter()
        partition = df.find_distributed_partition(None, {"y": output}, sends=some)
        took = time.perf_counter() - start
        print(f"partitioning {words}: {took * 1e3:.1f} ms, {len(partition.parts)} parts")


if __name__ == "__main__":
    if atoll.world.size == 1 and "--here" not in sys.argv:
        command = [sys.executable, "-m", "atoll", "run", "-n", "2", *sys.argv, "--here"]
        sys.exit(subprocess.run(command).returncode)
    if "--smoke" in sys.argv:
        ring(2, 3, 10)
        graphs(100, 10)
    else:
        ring(1000, 10, 10)
        ring(500, 10, 10_000)
        graphs(100_000, 10_000)
