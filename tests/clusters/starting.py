"""Clusters for tests: started when first asked for, ended with the process, whatever happens."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
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
        log = tempfile.TemporaryFile()  # noqa: SIM115 (the child keeps writing)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, self._folder, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
            env=clean_environment(),
            text=True,
        )
        atexit.register(self.close)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            log.seek(0)
            said = log.read()[-2000:].decode(errors="replace")
            raise RuntimeError(f"the cluster of the tests did not start; it said:\n{said}")

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
        """End its head as a crash would; the workers notice and end, too.

        Returns once nothing answers at the address any more: Ray's head is a process of its own,
        which outlives the one that started it by a moment, and a call in that moment is lost
        in Ray for a minute.
        """
        self._process.kill()
        self._process.wait()
        give_up = time.monotonic() + 20
        while self._answers() and time.monotonic() < give_up:
            time.sleep(0.05)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        host, _, port = self.address.removeprefix("tcp://").rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except OSError:
            return False
        return True


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
