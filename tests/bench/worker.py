"""One rank of a pool: pytest, with a loop that takes commands in place of its list of tests.

Started by ``mpiexec ... python -m tests.bench.worker FOLDER``. A thread reads the socket, so
that a rank whose controller is gone ends at once even if its test hangs.
"""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import signal
import sys
import traceback
from multiprocessing.connection import Client
from pathlib import Path
from threading import Thread
from typing import Any

import pytest


class Link:
    """The connection to the controller."""

    def __init__(self, address: str) -> None:
        self._connection = Client(address, "AF_UNIX")
        self._commands: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()

    def listen(self) -> None:
        Thread(target=self._read, name="bench-link", daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                self._commands.put(self._connection.recv())
            except (EOFError, OSError):
                # Nobody is left to report to. SIGKILL, because MPI's finalization would wait.
                os.kill(os.getpid(), signal.SIGKILL)

    def send(self, kind: str, *content: object) -> None:
        self._connection.send((kind, *content))

    def command(self) -> tuple[Any, ...]:
        return self._commands.get()


class Worker:
    """The pytest plugin of a rank."""

    def __init__(self, link: Link, rank: int, size: int) -> None:
        self.link = link
        self.rank = rank
        self.size = size
        self.folder = Path()
        self.distributed = 0
        self.problems: list[str] = []
        self._config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(f"{report.nodeid} could not be collected:\n{report.longreprtext}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        self.link.send("ready", self.problems)
        while True:
            kind, nodeid, folder = self.link.command()
            if kind == "stop":
                return True
            self.folder, self.distributed = Path(folder), 0
            item = items.get(nodeid)
            if item is not None:
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                forget_warnings()
            self.link.send("done", self.distributed)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        assert self._config is not None
        self.link.send(
            "report",
            self._config.hook.pytest_report_to_serializable(config=self._config, report=report),
        )


def forget_warnings() -> None:
    """Drop what a test has left without a look; all ranks do."""
    worlds = sys.modules.get("atoll.comm.world")
    world = None if worlds is None else worlds.known_world()
    if world is not None:
        log = world.communicator.log
        log.noted.clear()
        log.unasked = log.raised = False


def main(folder: Path) -> int:
    specification = json.loads((folder / "specification.json").read_text())
    link = Link(str(folder / "socket"))
    try:
        from mpi4py import MPI
    except BaseException:
        link.send("broken", traceback.format_exc())
        return 1
    rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    stacks = open(folder / f"stacks.{rank}", "w")  # noqa: SIM115 (open as long as this process lives)
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True)
    link.send("hello", rank, size)
    link.listen()
    # What a library writes before it aborts goes to the output of the ranks, not to a file that dies with the process.
    options = [
        *specification["options"],
        f"--basetemp={folder / f'basetemp.{rank}'}",
        "--capture=sys",
    ]
    pytest.main([*options, *specification["files"]], plugins=[Worker(link, rank, size)])
    return 0


if __name__ == "__main__":
    # The module that pytest sees is tests.bench.worker, not __main__: one class Worker only.
    from tests.bench.worker import main as start

    sys.exit(start(Path(sys.argv[1])))
