"""The other hosts of a job: a host without signs of life is lost, and so are its ranks.

The supervisor of the first rank of each other host sends a sign of life at even intervals, through the launcher like its
records. A host whose cable is cut, or that is switched off, closes no connection: only its silence shows the loss. If a
launcher ends and no rank has reported why, each host is asked to start a process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .. import system
from ..config import config

SILENCE, PART = 60.0, 0.2
"""Limits in seconds, and as a part of ``config.wait_abort``, which ends its peers: the lesser is the silence of a lost host."""

SIGNS = 5
"""The number of signs that a host gives within that limit."""

ANSWER = 20.0
"""Seconds for a host to start a process."""

LEAVING = 1.0
"""Seconds for the processes of a killed launcher to end by themselves."""

ASKED = 16
"""The number of hosts that are asked at a time."""


def limit() -> float:
    """The seconds without a sign after which a host is lost."""
    return min(SILENCE, PART * float(config.wait_abort))


@dataclass(slots=True)
class Host:
    """Another host with ranks of this job, by the name that its launcher gives it."""

    name: str
    ranks: list[int] = field(default_factory=list)
    heard: float = float("inf")
    """The time of its last sign; infinite before the first one, and after the end of the rank that gives them."""


class Hosts:
    """The other hosts of one job, as their ranks report them."""

    def __init__(self) -> None:
        self.known: dict[str, Host] = {}
        self._voices: dict[int, Host] = {}
        self._looked = time.monotonic()

    def record(self, fields: Mapping[str, Any], now: float) -> None:
        """Take a record of a rank of another host."""
        kind, rank = fields["kind"], fields["rank"]
        if kind == "start":
            self.known.setdefault(fields["host"], Host(fields["host"])).ranks.append(rank)
        elif kind == "sign":
            self._voices[rank] = host = self.known.setdefault(fields["host"], Host(fields["host"]))
            host.heard = now
        elif kind == "end" and rank in self._voices:
            self._voices[rank].heard = float("inf")

    def look(self, now: float) -> list[Host]:
        """The hosts lost since the last look. Time during which this process itself was stopped does not count."""
        stood, self._looked = now - self._looked, now
        lost = []
        for host in self.known.values():
            if stood > 1.0:
                host.heard += stood
            if now - host.heard > limit():
                host.heard = float("inf")
                lost.append(host)
        return lost


def unreachable(
    names: Iterable[str], command: Callable[[str], Sequence[str]], environment: Mapping[str, str]
) -> list[str]:
    """The hosts among ``names`` on which the launcher cannot start a process within ``ANSWER`` seconds."""
    silent, left = [], list(names)
    while left:
        processes = {name: _start(command(name), environment) for name in left[:ASKED]}
        left, end = left[ASKED:], time.monotonic() + ANSWER
        for name, process in processes.items():
            try:
                code = process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                reaching = agents(process.pid)
                process.kill()
                code = process.wait()
                end_agents(reaching)
            if code:
                silent.append(name)
    return silent


def _start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        command, env=environment, stdin=nothing, stdout=nothing, stderr=nothing, process_group=0
    )


def agents(launcher: int) -> set[tuple[int, str]]:
    """The processes by which a launcher reaches other hosts, each with its time of birth: its children."""
    if not system.has("proc"):
        return set()
    numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    births = {(number, _family(number)) for number in numbers}
    return {(number, birth) for number, (parent, birth) in births if parent == launcher}


def _family(number: int) -> tuple[int, str]:
    """The parent and the time of birth of a process."""
    words = system.process_state(number)
    return (int(words[1]), words[19]) if words else (-1, "")


def end_agents(processes: Iterable[tuple[int, str]]) -> None:
    """End the agents that a killed launcher leaves: an agent with a cut cable waits for its host for ever."""
    end = time.monotonic() + LEAVING
    for number, birth in processes:
        while _family(number)[1] == birth and time.monotonic() < end:
            time.sleep(0.01)
        if _family(number)[1] == birth:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
