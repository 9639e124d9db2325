"""Timing: converts the events of a rank in a step to time on a machine, by part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil, log2
from typing import Any

from ..comm.dry_run import Sent, Together, Waited
from .counting import Evaluated, InPython
from .machines import Link, Machine
from .work import Work

PARTS = {
    "memory": "bandwidth of memory",
    "arithmetic": "arithmetic",
    "python": "Python of evaluations, loops and messages",
    "latency": "latency of the network",
    "network": "bandwidth of the network",
}
"""The parts of the time of a step."""

DOUBTS = {
    "caches": "what caches hold",
    "numpy": "functions of NumPy at a guessed rate",
    "turns": "ranks that take turns on a core",
}
"""The reasons for which the time of a step may differ from an estimate."""

MISSED = 2
"""A doubt about caches compares the times of a loop whose reuse distances are this many times as long, and as short: the distances are
means, and addresses compete for the lines of a cache."""

OVERLAP = 4
"""The exponent p of the combined time ``(memory**p + arithmetic**p) ** (1 / p)``: the two overlap, but not fully."""


class Clock:
    """The clock of one rank: it advances with work, and waits for messages in flight."""

    def __init__(self, machine: Machine, ranks: int, rank: int, threads: int) -> None:
        self.machine, self.ranks, self.rank, self.threads = machine, ranks, rank, threads
        self.neighbours = machine.ranks_of_node(ranks, threads)
        """The number of ranks on this rank's node."""
        self.turns = max(1.0, self.neighbours * threads / machine.cores)
        """The number of ranks that take turns on a core."""
        self.now = 0.0
        self.parts: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self.lines: defaultdict[str, float] = defaultdict(float)
        self.hidden = 0.0
        """The seconds of messages that overlap with computation."""
        self.doubts: dict[str, float] = dict.fromkeys(DOUBTS, 0.0)
        alone = ranks == 1
        self._python = machine.alone if alone else machine.together
        self._operation = machine.operation if alone else machine.operation_together
        self._posted: list[tuple[float, float]] = []
        """Latency and transfer time of each message in flight."""
        self._began = 0.0

    def run(self, events: Sequence[Any]) -> Clock:
        """Advance the clock by all events."""
        for event in events:
            if isinstance(event, Work):
                self._work(event)
            elif isinstance(event, Evaluated):
                self._compute("python", self._python + self._operation * event.operations)
            elif isinstance(event, InPython):
                self._compute("python", self.machine.element * event.elements)
            elif isinstance(event, Sent):
                self._post(event)
            elif isinstance(event, Together):
                self._wait()
                self._together(event)
            elif isinstance(event, Waited):
                self._wait()
        self._wait()
        return self

    def _spend(self, part: str, seconds: float) -> None:
        self.now += seconds
        self.parts[part] += seconds

    def _compute(self, part: str, seconds: float) -> None:
        """Spend time of a core, for which other ranks may have to wait."""
        self._spend(part, seconds * self.turns)
        self.doubts["turns"] += seconds * (self.turns - 1)

    def _moved(self, work: Work, cores: int, times: float = 1.0) -> float:
        """The seconds in which the memory of a loop passes, with reuse distances ``times`` as long."""
        rate = self.machine.memory_rate
        return sum([
            nbytes / rate(distance * times, self.ranks, cores, form)
            for touched, form in ((work.touched, work.form), (work.again, "plain"))
            for nbytes, distance in touched
        ])  # fmt: skip

    def _work(self, work: Work) -> None:
        machine = self.machine
        # threads share kernels; NumPy and the libraries it calls run on one core
        cores = self.threads if work.kind == "kernel" else 1
        rates = {
            "product": machine.products,
            "sort": machine.comparisons,
            "transform": machine.transforms,
        }
        like = {**dict(machine.functions), "numpy": machine.numpy}
        computed = (
            work.operations / rates.get(work.kind, machine.operations)
            + work.chain / machine.chained
        )
        functions = {name: count / like[name] / cores for name, count in work.functions}
        computed = computed / cores + sum(functions.values())
        if work.kind == "kernel":
            self._compute("python", machine.kernel)
        overlap = 1 if work.long else OVERLAP

        def together(moved: float) -> float:
            return float((moved**overlap + computed**overlap) ** (1 / overlap))

        moved = self._moved(work, cores)
        seconds = together(moved)
        self._compute("memory" if moved >= computed else "arithmetic", seconds)
        self.lines[work.site] += seconds * self.turns
        most, least = (self._moved(work, cores, times) for times in (MISSED, 1 / MISSED))
        self.doubts["caches"] += abs(together(most) - together(least)) / 2 * self.turns
        self.doubts["numpy"] += functions.get("numpy", 0.0) * self.turns

    def _link(self, peer: int) -> tuple[Link, float]:
        """The link to another rank, and this rank's share of its bandwidth."""
        if peer // self.neighbours == self.rank // self.neighbours:
            return self.machine.inside, self.machine.inside.bandwidth
        network = self.machine.network
        return network, network.bandwidth / self.neighbours

    def _post(self, message: Sent) -> None:
        self._compute("python", self.machine.message)
        if not self._posted:
            self._began = self.now
        link, rate = self._link(message.peer)
        self._posted.append((link.latency, message.nbytes / rate if not message.leaves else 0.0))

    def _wait(self) -> None:
        """Wait for the messages in flight: the largest latency, and all transfers one after the other."""
        if not self._posted:
            return
        latency = max([latency for latency, _ in self._posted])
        wire = sum([seconds for _, seconds in self._posted])
        self._posted = []
        over = self.now - self._began
        left = max(0.0, latency + wire - over)
        self.hidden += latency + wire - left
        self._spend("latency", min(left, latency))
        self._spend("network", max(0.0, left - latency))

    def _together(self, event: Together) -> None:
        machine, ranks, nbytes = self.machine, event.ranks, event.nbytes
        self._compute("python", machine.collective)
        within = min(ranks, self.neighbours)
        nodes = -(-ranks // within)
        inner, outer = ceil(log2(within)), ceil(log2(nodes))
        latency = inner * machine.inside.latency + outer * machine.network.latency
        rate = machine.inside.bandwidth if nodes == 1 else machine.network.bandwidth / within
        if event.operation == "allgather":
            moved: float = (ranks - 1) * nbytes
        elif event.operation == "alltoall":
            rounds = inner + outer
            link = machine.inside if nodes == 1 else machine.network
            by_doubling = latency + rounds * ranks / 2 * nbytes / rate
            by_pairs = (ranks - 1) * (link.latency + nbytes / rate)
            if by_pairs < by_doubling:
                latency = (ranks - 1) * link.latency
                moved = (ranks - 1) * nbytes
            else:
                moved = rounds * ranks / 2 * nbytes
        else:
            moved = min(inner + outer, 2) * nbytes
        self._spend("latency", latency)
        self._spend("network", moved / rate)
