"""A Dask cluster of two workers on loopback, in a process tree of its own.

    python -m tests.clusters.serve_dask FOLDER WORKERS

Prints the scheduler's address and serves until standard input ends, so it never outlives the
process that started it, however that one ended; what it writes is below the folder.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys


def main(folder: str, workers: int) -> None:
    import distributed

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=folder,
        memory_limit="512MiB",
        silence_logs=logging.CRITICAL,
        scheduler_kwargs={"dashboard": False, "allowed_failures": 0},
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    # What a worker still writes while it ends is of no interest.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
