"""Clusters for tests: started when first asked for, ended with the process, whatever happens."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Ray's local clusters ask for a token: one of this test run's own, which its ranks inherit.
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = os.environ.setdefault("TESTS_RAY_TOKEN", secrets.token_hex(32))
LAUNCHERS = ("PMI", "PMIX", "MPI", "OMPI", "HYDRA", "SLURM", "ATOLL")


def clean_environment() -> dict[str, str]:
    """The environment of a process that is no rank, though a rank starts it."""
    kept = {
        name: value for name, value in os.environ.items() if name.split("_")[0] not in LAUNCHERS
    }
    return {**kept, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


class Cluster:
    """A cluster in processes of its own; ``address`` is where it is reached."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="cluster-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, self._folder, *arguments],
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
            self._process.kill()
        self.kill()

    def kill(self) -> None:
        """End its head as a crash would; the workers notice and end, too."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def dask_cluster(workers: int = 2) -> Cluster:
    """A Dask cluster of its own for one test."""
    return Cluster("tests.clusters.serve_dask", str(workers))


@lru_cache(maxsize=1)
def shared_dask() -> Cluster:
    """The Dask cluster of this process, which lasts as long as the process does."""
    return dask_cluster()


def ray_cluster() -> Cluster:
    """Ray on this machine, for one test."""
    return Cluster("tests.clusters.serve_ray")


@lru_cache(maxsize=1)
def shared_ray() -> Cluster:
    """Ray on this machine, which lasts as long as this process does."""
    return ray_cluster()
