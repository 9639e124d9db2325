"""Hosts for tests: each has namespaces of its own for its network, name, processes, shared memory and mounts.

    with Network(["ash", "elm"], delay=0.002, loss=0.01) as network:
        network.run("ash", [sys.executable, "-m", "atoll", "run", "-n", "4", "--hosts", "ash,elm", "program.py"])
        network.cut("elm")

A thread of the test is the switch: it reads the frames of each host from its end of the cable (a TAP device), and passes
them on later, or not at all. That needs no module of the kernel, unlike ``tc netem``, and no name outside of the
namespaces. Hosts share the file system, except for the folder of shared memory. A host ends with the test, whatever ends that.
"""

from __future__ import annotations

import functools
import heapq
import os
import random
import selectors
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from . import host

HERE = Path(host.__file__)
ROOT = HERE.parents[2]

UNSHARE = [
    "unshare",
    "--user",
    "--map-root-user",
    "--net",
    "--uts",
    "--ipc",
    "--pid",
    "--mount",
    "--fork",
    "--kill-child",
    "--mount-proc",
]
"""In a user namespace of its own, which many systems permit to everybody."""


class Refused(Exception):
    """This machine permits no hosts; the text says what it refused."""


class Host:
    """One host, from outside."""

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name, self.address = name, address
        self.console = folder / name
        self.cut = False
        control, inside = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(HERE), "serve", name, address, str(self.console), str(folder / "hosts")]  # fmt: skip
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (until the host ends)
        self.process = subprocess.Popen(
            [*UNSHARE, *command],
            stdin=inside,
            stdout=self.errors,
            stderr=self.errors,
            cwd=folder,
        )
        inside.close()
        self.control = control
        control.settimeout(20)
        try:
            _, files, _, _ = socket.recv_fds(control, 1, 1)
            self.wire = files[0]
            os.set_blocking(self.wire, False)
            if not control.recv(1):
                raise OSError
        except (OSError, IndexError):
            self.end()
            self.errors.seek(0)
            text = self.errors.read().decode().strip()
            raise Refused(text.rpartition("\n")[2] or "it ended without a word") from None

    def end(self) -> None:
        """End all processes of the host at once."""
        self.process.kill()
        self.process.wait()
        self.control.close()


class Network:
    """Hosts, and the switch that joins them: a frame takes ``delay`` seconds, and is lost with the probability ``loss``."""

    def __init__(
        self, names: Sequence[str], *, delay: float = 0.0, loss: float = 0.0, seed: int = 0
    ) -> None:
        self.delay, self.loss = delay, loss
        self.frames = self.lost = 0
        """How many frames hosts have sent, and how many of these were lost on purpose."""
        self._random = random.Random(seed)
        self._over = False
        self.folder = Path(tempfile.mkdtemp(prefix="hosts-"))
        addresses = {name: f"10.99.0.{number}" for number, name in enumerate(names, 1)}
        lines = [f"{address} {name}" for name, address in addresses.items()]
        (self.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
        self.agent = self.folder / "agent"
        self.agent.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(HERE))} reach "$@"\n'
        )
        self.agent.chmod(0o755)
        self.hosts: dict[str, Host] = {}
        try:
            for name, address in addresses.items():
                self.hosts[name] = Host(name, address, self.folder)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._switch = threading.Thread(target=self._pass_frames, daemon=True)
        self._switch.start()

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over = True
        for each in self.hosts.values():
            each.end()
        if hasattr(self, "_switch"):
            self._switch.join()
        for each in self.hosts.values():
            os.close(each.wire)
        shutil.rmtree(self.folder, ignore_errors=True)

    # What a test does to it -----------------------------------------------------------------

    def cut(self, name: str) -> None:
        """Cut the cable of a host: no frame comes from it or to it any more, and no end of a connection either."""
        self.hosts[name].cut = True

    def lose(self, name: str) -> None:
        """Switch a host off: its processes end, and no other host hears of it."""
        self.cut(name)
        self.hosts[name].end()

    def crash(self, name: str) -> None:
        """End all processes of a host, whose system closes their connections."""
        self.hosts[name].process.kill()

    def start(self, name: str, words: Sequence[str], **environment: str) -> Running:
        """Start a command on a host, with the launcher's agent in its environment."""
        variables = {
            "HYDRA_LAUNCHER": "ssh",
            "HYDRA_LAUNCHER_EXEC": str(self.agent),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            **environment,
        }
        return Running(self.hosts[name].console, words, variables, self.folder)

    def run(
        self, name: str, words: Sequence[str], limit: float = 60.0, **environment: str
    ) -> tuple[int, str, str]:
        """Run a command on a host to its end: its exit code, its output and its errors."""
        return self.start(name, words, **environment).ended(limit)

    def processes(self, name: str) -> str:
        """The command lines of all processes of a host."""
        words = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
        return subprocess.run(
            [sys.executable, "-I", "-S", str(HERE), "console", str(self.hosts[name].console), words],
            capture_output=True, text=True, timeout=20, check=True,
        ).stdout  # fmt: skip

    # The switch -----------------------------------------------------------------------------

    def _pass_frames(self) -> None:
        """Read the frames of all hosts, and pass each on when its time has come."""
        places: dict[bytes, Host] = {}
        waiting: list[tuple[float, int, Host, bytes]] = []
        with selectors.DefaultSelector() as selector:
            for each in self.hosts.values():
                selector.register(each.wire, selectors.EVENT_READ, each)
            while not self._over:
                now = time.monotonic()
                pause = min(0.05, max(0.0, waiting[0][0] - now)) if waiting else 0.05
                for key, _ in selector.select(pause):
                    sender: Host = key.data
                    try:
                        frame = os.read(sender.wire, host.MTU + 64)
                    except BlockingIOError:
                        continue
                    except OSError:  # its host has gone
                        selector.unregister(sender.wire)
                        continue
                    self.frames += 1
                    places[frame[6:12]] = sender
                    if self.loss and self._random.random() < self.loss:
                        self.lost += 1
                        continue
                    known = places.get(frame[:6])
                    for target in self.hosts.values() if known is None else [known]:
                        if target is not sender and not (target.cut or sender.cut):
                            due = time.monotonic() + self.delay
                            heapq.heappush(waiting, (due, self.frames, target, frame))
                while waiting and waiting[0][0] <= time.monotonic():
                    _, _, target, frame = heapq.heappop(waiting)
                    try:
                        if not target.cut:
                            os.write(target.wire, frame)
                    except OSError:
                        pass  # the host is full, or has gone: the frame is lost, as on a real cable


class Running:
    """A command on a host; its streams are files, which no network can lose."""

    def __init__(
        self, console: Path, words: Sequence[str], environment: dict[str, str], folder: Path
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=folder, prefix="run-"))
        for stream in ("output", "errors"):
            (self._folder / stream).touch()
        variables = [f"{name}={value}" for name, value in environment.items()]
        place = shlex.quote(str(self._folder))
        command = (
            f"env {shlex.join([*variables, *words])} </dev/null >{place}/output 2>{place}/errors; "
            f"echo $? >{place}/code"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(HERE), "console", str(console), command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )

    @property
    def output(self) -> str:
        return (self._folder / "output").read_text(errors="backslashreplace")

    @property
    def errors(self) -> str:
        return (self._folder / "errors").read_text(errors="backslashreplace")

    def said(self, text: str, limit: float = 30.0) -> None:
        """Wait until the output has a text."""
        deadline = time.monotonic() + limit
        while text not in self.output:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError(f"{text!r} was not said:\n{self.output}\n{self.errors}")
            time.sleep(0.02)

    def ended(self, limit: float = 60.0) -> tuple[int, str, str]:
        """Wait for the end: the exit code, the output and the errors."""
        try:
            self._process.wait(limit)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"not ended in {limit} s:\n{self.output}\n{self.errors}") from None
        code = self._folder / "code"
        return int(code.read_text()) if code.exists() else -1, self.output, self.errors


@functools.cache
def refused() -> str:
    """Why this machine permits no hosts; empty if it does."""
    for program in ("unshare", "mount"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun cannot be opened"
    try:
        Network(["alone"]).__exit__(None, None, None)
    except (Refused, OSError) as problem:
        return str(problem)
    return ""
