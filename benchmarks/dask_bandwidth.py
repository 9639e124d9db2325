"""How fast a Dask array arrives: atoll's from_dask against the array's own compute().

    python benchmarks/dask_bandwidth.py [--megabytes 1000] [--rounds 5] [--smoke]
    atoll run -n 2 benchmarks/dask_bandwidth.py --address tcp://...

An array of random numbers in 64 chunks lies in the memory of a cluster: two workers that are
started here on loopback, or the cluster at the address. Both ways of getting it are measured in
turns; medians count. The last line is held to a limit: atoll has at least half the bandwidth of
compute(). With --smoke the array is small, so start-up counts, and there is no limit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from contextlib import ExitStack
from typing import Any

import atoll

CHUNKS = 64
LIMIT = 0.5


def client_for(address: str | None, stack: ExitStack) -> Any:
    import distributed

    if address is None:
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=0,
        )
        stack.enter_context(cluster)
        address = cluster.scheduler_address
    return stack.enter_context(distributed.Client(address))


def measure(megabytes: float, rounds: int, address: str | None) -> float:
    """Print both bandwidths; the median of from_dask's as a fraction of compute()'s."""
    root = atoll.world.rank == 0
    columns = 1000
    rows = max(1, round(megabytes * 1e6 / (8 * columns * CHUNKS)))
    size = rows * CHUNKS * columns * 8 / 1e6
    gathered, arrived = [], []
    with ExitStack() as stack:
        x = None
        if root:
            import dask.array
            import distributed

            client = client_for(address, stack)
            x = client.persist(
                dask.array.random.random((rows * CHUNKS, columns), chunks=(rows, columns))
            )
            distributed.wait(x)
        for round_ in range(rounds + 1):
            if root:
                start = time.perf_counter()
                whole = x.compute()
                gathered.append(size / (time.perf_counter() - start))
                total = whole.sum()
                del whole
            atoll.world.barrier()
            start = time.perf_counter()
            a = atoll.from_dask(x)
            atoll.world.barrier()
            arrived.append(size / (time.perf_counter() - start))
            if round_ == 0:  # the first round warms up, and checks
                found = float(a.sum())
                assert not root or abs(found - total) <= 1e-9 * total
                gathered.clear(), arrived.clear()
            del a
    if not root:
        return 1.0
    for name, values in (("compute()", gathered), ("from_dask", arrived)):
        shown = ", ".join(f"{value:.0f}" for value in values)
        print(f"{name:10} {statistics.median(values):6.0f} MB/s  ({shown})")
    ratio = statistics.median(arrived) / statistics.median(gathered)
    print(
        f"{size:.0f} MB in {CHUNKS} chunks on {atoll.world.size} ranks: ratio {ratio:.2f}",
        flush=True,
    )
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--address")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    try:
        import dask.array  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}; pip install 'atoll[dask]'")
        return 0
    if atoll.world.size > 1 and options.address is None:
        print("on several ranks this needs --address, the scheduler of a running cluster")
        return 2
    if options.smoke:
        measure(8, 1, options.address)
        return 0
    return int(measure(options.megabytes, options.rounds, options.address) < LIMIT)


if __name__ == "__main__":
    sys.exit(main())
