"""A pool of MPI ranks that runs one test after another: the controller's side.

``mpiexec`` starts the ranks once. Each is a ``tests.bench.worker`` that connects to a local
socket, collects the same test files, and waits for commands. For every test the controller
sends one command to all ranks, then listens until all have answered, until the time is up,
or until a rank has died. A rank that fails is given a moment for the others to fail too;
ranks that are still busy then are waiting for the failed one and are stopped.

A pool is trusted only while all ranks end each test well: messages of a failed test may
still be under way. Whoever owns the pool starts a new one after any failure.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import Any

import pytest

from atoll.cli.leftovers import remove, shared_files
from atoll.config import available_cores

from . import limits
from .processes import environment, pytest_options

START_LIMIT = 120.0
"""Seconds for all ranks to start and to collect their tests."""

AFTER_FAILURE = 3.0
"""Seconds that the other ranks have to end a test after one rank has failed it."""


class PoolError(Exception):
    """The ranks could not be started; the text says why and what to do."""


def mpiexec_command(size: int) -> list[str]:
    """How to start ``size`` ranks with the MPI that belongs to this Python."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise PoolError(
            'there is no mpiexec beside this Python nor on the path; install one (pip install ".[test]" '
            "brings it) or leave the tests on ranks out (pytest -m 'not ranks')"
        )
    version = subprocess.run(
        [found, "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    oversubscribe = ["--oversubscribe"] if "Open MPI" in version.stdout + version.stderr else []
    return [found, "-n", str(size), *oversubscribe]


def process_behind(connection: Connection) -> int:
    """The number of the process at the other end, as this one knows it; 0 on another host."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        return int(
            struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        )


@dataclass(slots=True)
class RankResult:
    """What one rank said about one test."""

    rank: int
    reports: list[dict[str, Any]] = field(default_factory=list)
    done: bool = False
    died: bool = False
    distributed: int = 0
    stacks: str = ""

    @property
    def failed(self) -> bool:
        return self.died or any(report["outcome"] == "failed" for report in self.reports)


@dataclass(slots=True)
class Result:
    """What all ranks said about one test, and what went wrong beyond the test's own failures."""

    ranks: list[RankResult]
    trouble: str = ""
    output: str = ""

    @property
    def clean(self) -> bool:
        """True if the pool may run another test."""
        return not self.trouble and all(rank.done and not rank.failed for rank in self.ranks)


class Pool:
    """``size`` ranks that have collected ``files`` and run their tests by node id."""

    def __init__(self, size: int, files: Sequence[str], config: pytest.Config) -> None:
        self.size = size
        self.folder = Path(tempfile.mkdtemp(prefix="bench-"))
        self._connections: list[Connection] = []
        self._pids: list[int] = []
        self._shared: set[str] = set()  # what MPICH leaves of ranks that were killed
        self._process: subprocess.Popen[bytes] | None = None
        self.problems: list[str] = []
        try:
            self._start(files, config)
        except BaseException:
            self.kill()
            raise

    def _start(self, files: Sequence[str], config: pytest.Config) -> None:
        specification = {
            "files": list(files),
            "options": pytest_options(config),
        }
        (self.folder / "specification.json").write_text(json.dumps(specification))
        variables = environment()
        threads = str(max(1, available_cores() // self.size))
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ATOLL_NUM_THREADS"):
            variables.setdefault(variable, threads)
        variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        variables |= {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = [
            *mpiexec_command(self.size),
            sys.executable,
            "-m",
            "tests.bench.worker",
            str(self.folder),
        ]
        with Listener(str(self.folder / "socket"), "AF_UNIX", backlog=self.size) as listener:
            with open(self.folder / "output", "wb") as output:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=variables,
                    start_new_session=True,
                )
            self._greet(listener, time.monotonic() + START_LIMIT)

    def _greet(self, listener: Listener, deadline: float) -> None:
        """Take the ranks' connections, in whichever order they come, and their lists of tests."""
        # There is no public time limit on accept; the socket below it has one.
        door: Any = listener._listener._socket  # type: ignore[attr-defined]
        waiting: dict[int, Connection] = {}
        pids: dict[int, int] = {}
        try:
            while len(waiting) < self.size:
                if not wait([door], 0.2):
                    self._check_start(deadline)
                    continue
                connection = listener.accept()
                kind, *content = self._first(connection, deadline)
                if kind != "hello":
                    raise PoolError(f"a rank could not start:\n{content[0]}")
                rank, size = content
                if size != self.size or rank in waiting:
                    raise PoolError(
                        f"mpiexec started {self.size} ranks, but a process sees rank {rank} of {size}: "
                        "mpi4py and mpiexec belong to different MPI libraries"
                    )
                waiting[rank], pids[rank] = connection, process_behind(connection)
        finally:
            self._connections = [waiting[rank] for rank in sorted(waiting)]
            self._pids = [pids[rank] for rank in sorted(pids)]
        self._shared = shared_files(self._pids[0])
        for rank, connection in enumerate(self._connections):
            _, problems = self._first(connection, deadline)
            self.problems += [f"rank {rank}: {problem}" for problem in problems]

    def _first(self, connection: Connection, deadline: float) -> Any:
        while not connection.poll(0.2):
            self._check_start(deadline)
        try:
            return connection.recv()
        except (EOFError, OSError):
            time.sleep(0.5)
            raise PoolError(f"a rank ended while it started:\n{self._tail()}") from None

    def _check_start(self, deadline: float) -> None:
        assert self._process is not None
        if self._process.poll() is not None:
            raise PoolError(f"mpiexec ended with code {self._process.returncode}:\n{self._tail()}")
        if time.monotonic() > deadline:
            raise PoolError(
                f"the ranks did not start within {START_LIMIT:g} s:\n{self._stacks_of_all()}{self._tail()}"
            )

    def run(self, nodeid: str, seconds: float) -> Result:
        """Run one test on all ranks; always returns, within ``seconds`` and a little more."""
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix="test-"))
        results = [RankResult(rank) for rank in range(self.size)]
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.send(("run", nodeid, str(folder)))
        end = time.monotonic() + seconds
        patience: float | None = None
        while busy := [result.rank for result in results if not result.done and not result.died]:
            failed = [result.rank for result in results if result.failed]
            if failed and patience is None:
                patience = time.monotonic() + AFTER_FAILURE
            deadline = end if patience is None else min(end, patience)
            ready = wait(
                [self._connections[rank] for rank in busy], max(deadline - time.monotonic(), 0)
            )
            if not ready:
                reason = f"the test ran past its limit of {seconds:g} s"
                if failed:
                    reason = f"rank {_list(failed)} failed; the others were given {AFTER_FAILURE:g} s to end"
                return self._stop(results, f"{reason}; rank {_list(busy)} was still busy", busy)
            for rank in busy:
                if self._connections[rank] in ready:
                    self._receive(results[rank], self._connections[rank])
        died = [result.rank for result in results if result.died]
        if died:
            return self._stop(results, f"rank {_list(died)} died in the test", [])
        return Result(results)

    def _receive(self, result: RankResult, connection: Connection) -> None:
        try:
            kind, content = connection.recv()
        except (EOFError, OSError):
            result.died = True
            return
        if kind == "report":
            result.reports.append(content)
        else:
            result.done = True
            result.distributed = content

    def _stop(self, results: list[RankResult], trouble: str, hung: list[int]) -> Result:
        """Collect the stacks of the ranks that hang, and end the pool."""
        for rank, stacks in zip(hung, self._stacks(hung), strict=True):
            results[rank].stacks = stacks
        time.sleep(0.2 if any(result.died for result in results) else 0)
        output = self._tail()
        self.kill()
        return Result(results, trouble, output)

    def _stacks(self, ranks: Sequence[int]) -> list[str]:
        self._signal(ranks, signal.SIGUSR2)
        time.sleep(0.5)
        files = [self.folder / f"stacks.{rank}" for rank in ranks]
        return [limits.of_interest(file.read_text()) if file.exists() else "" for file in files]

    def _signal(self, ranks: Iterable[int], number: int) -> None:
        for rank in ranks:
            if self._pids[rank]:
                with contextlib.suppress(OSError):
                    os.kill(self._pids[rank], number)

    def _stacks_of_all(self) -> str:
        stacks = self._stacks(range(len(self._pids)))
        return "".join(f"stacks of rank {rank}:\n{text}\n" for rank, text in enumerate(stacks))

    def _tail(self, characters: int = 4000) -> str:
        """The end of what the ranks wrote outside any test's captured output."""
        return (self.folder / "output").read_text(errors="replace")[-characters:]

    def close(self) -> None:
        """End the ranks in order, so that MPI is finalized; then whatever is left by force."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.send(("stop", None, None))
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        self.kill()

    def kill(self) -> None:
        """End everything that this pool has started."""
        if self._process is not None and self._process.poll() is None:
            self._signal(range(len(self._pids)), signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait(5)
        remove(self._shared)
        for connection in self._connections:
            connection.close()
        self._connections = []
        shutil.rmtree(self.folder, ignore_errors=True)


def _list(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks))
