"""A Dask cluster of two workers on loopback, in a process tree of its own.

    python -m tests.clusters.serve_dask [WORKERS]

Prints the scheduler's address and serves until standard input ends, so it never outlives the
process that started it, however that one ended.
"""

from __future__ import annotations

import logging
import os
import sys


def main(workers: int) -> None:
    import distributed

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit="512MiB",
        silence_logs=logging.CRITICAL,
        scheduler_kwargs={"dashboard": False, "allowed_failures": 0},
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.buffer.read()
    # What a worker still writes while it ends is of no interest.
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
