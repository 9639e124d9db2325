"""Clusters for tests: started when first asked for, ended with the process, whatever happens."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAUNCHERS = ("PMI", "PMIX", "MPI", "OMPI", "HYDRA", "SLURM", "ATOLL")


def clean_environment() -> dict[str, str]:
    """The environment of a process that is no rank, though a rank starts it."""
    kept = {
        name: value for name, value in os.environ.items() if name.split("_")[0] not in LAUNCHERS
    }
    return {**kept, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


class DaskCluster:
    """A cluster in processes of its own; ``address`` is that of its scheduler."""

    def __init__(self, workers: int = 2) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.clusters.serve", str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=clean_environment(),
            text=True,
        )
        atexit.register(self.close)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError("the cluster of the tests did not start")

    def close(self) -> None:
        """End it, and wait for its end."""
        atexit.unregister(self.close)
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the scheduler as a crash would; the workers notice and end, too."""
        self._process.kill()
        self._process.wait()


_shared: list[DaskCluster] = []


def shared_cluster() -> DaskCluster:
    """The cluster of this process, which lasts as long as the process does."""
    if not _shared:
        _shared.append(DaskCluster())
    return _shared[0]
