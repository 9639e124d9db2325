"""Ray on this machine, in a process tree of its own.

    python -m tests.clusters.serve_ray FOLDER

Prints the address and serves until standard input ends. Ray's processes share the fate of this
one, and its folder is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys


def main(folder: str) -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    try:
        with contextlib.redirect_stdout(sys.stderr):
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=100 << 20,
                log_to_driver=False,
                logging_level="error",
                _temp_dir=folder,
            )
        print(ray.get_runtime_context().gcs_address, flush=True)
        sys.stdin.buffer.read()
        ray.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
