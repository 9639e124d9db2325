"""What ``atoll machine`` measures: rates of loops on one core, and what evaluations and messages take.

``measured()`` is one process. What ranks take is measured by two ranks of this module: ``mpiexec -n 2 python -m
atoll.cli.measuring``, whose first rank prints one line of JSON. All are the best of many, so other work on the machine
disturbs them little.
"""

from __future__ import annotations

import gc
import json
import platform
import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy

import atoll

from .. import system
from ..comm.world import current_world
from ..config import config
from ..lazy.syncing import sync
from ..modelling.machines import Link, Machine

SIZES = (1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)
"""The bytes that the loops go through whose rates are measured."""
LONG = 32
"""A formula of so many operations is bound by arithmetic; an element is loaded and stored besides."""
TINY, FORMULA = 1 << 6, 1 << 16
ROUNDS = 200
"""How often ranks do what is measured."""
"""The elements of arrays whose work is nothing, and of those of a formula."""


class Watch:
    """Times calls: by the clock, the best of many; on a ``busy`` machine by processor time, in the median, which other work
    slows down as much as it does what is compared."""

    def __init__(self, busy: bool = False) -> None:
        self.busy = busy

    def time(self, action: Callable[[], object], seconds: float = 1.0, rounds: int = 0) -> float:
        """The seconds of a call, of as many as fit; or of so many ``rounds``, which ranks agree on."""
        clock = time.thread_time if self.busy else time.perf_counter
        action()
        action()
        gc.collect()
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < (rounds or 3) or (not rounds and time.perf_counter() < end):
            start = clock()
            action()
            times.append(clock() - start)
        return median(times) if self.busy else min(times)


def _copied(count: int) -> Callable[[], None]:
    """A loop that reads an array and writes another one."""
    u, v = atoll.ones(count), atoll.ones(count)
    sync()

    def advance() -> None:
        v[...] = u * 0.5
        sync()

    return advance


def _stencil(count: int) -> Callable[[], None]:
    """The mean of an element's neighbours in a square, which becomes another array."""
    side = int(count**0.5)
    u, v = atoll.ones((side, side)), atoll.ones((side, side))
    sync()

    def advance() -> None:
        v[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
        sync()

    return advance


def _formula(count: int) -> Callable[[], None]:
    """A long formula of each element of one array."""
    u = atoll.full(count, 0.5)
    v = u + 1
    sync()

    def advance() -> None:
        value = u
        for _ in range(LONG // 2):
            value = value * u + 0.25
        v[...] = value
        sync()

    return advance


def measured(ranks: Mapping[str, float] | None = None, busy: bool = False) -> Machine:
    """This machine as a node; ``ranks`` is what two ranks have measured, else a message takes what one usually does."""
    cores, fastest = system.cores(), Watch(busy).time
    with config(small=0, threads=1):
        least = {loop: fastest(loop(TINY)) for loop in (_copied, _stencil)}
        alone = least[_copied]
        memory: list[tuple[int, float]] = []
        stencils: list[tuple[int, float]] = []
        for nbytes in SIZES:
            for table, loop in ((memory, _copied), (stencils, _stencil)):
                seconds = fastest(loop(nbytes // 16)) - least[loop]
                table.append((nbytes, nbytes / max(seconds, 1e-9)))
        recorded = fastest(_formula(TINY))
        formula = fastest(_formula(FORMULA)) - recorded
        operations = (LONG + 2) * FORMULA / max(formula, 1e-9)
    with config(small=0, threads=cores):
        node = SIZES[-1] / fastest(_copied(SIZES[-1] // 16))
    square = numpy.random.default_rng(1).random((1000, 1000))
    line = square.reshape(-1)
    products = 2e9 / fastest(lambda: square @ square)
    comparisons = line.size * numpy.log2(line.size) / fastest(lambda: numpy.sort(line))
    numbers = list(range(10_000))
    element = fastest(lambda: sum(map(float, numbers))) / len(numbers)
    facts: dict[str, float] = {
        "latency": 1e-6, "bandwidth": 4e9, "together": 6 * alone, "message": alone, "collective": alone, **(ranks or {}),
    }  # fmt: skip
    link = Link(facts["latency"], facts["bandwidth"])
    return Machine(
        name=platform.node() or "this machine",
        cores=cores,
        memory=tuple(memory),
        stencils=tuple(stencils),
        node_memory=max(node, memory[-1][1]),
        operations=operations,
        products=products,
        comparisons=float(comparisons),
        inside=link,
        network=link,
        alone=alone,
        operation=max(recorded - alone, 0.0) / LONG,
        together=facts["together"],
        kernel=1.5e-6,
        message=facts["message"],
        collective=facts["collective"],
        element=element,
        nodes=1,
    )


def _of_ranks() -> dict[str, float]:
    """What two ranks measure together: evaluations without messages, with halos, and with sums of all ranks."""
    world = current_world()
    communicator, other = world.communicator, 1 - world.rank
    fastest = Watch().time
    small, large = numpy.zeros(1), numpy.zeros(1 << 19)

    def ping() -> None:
        for _ in range(4):
            communicator.exchange({other: small}, {other: numpy.empty(1)})

    def exchange() -> None:
        communicator.exchange({other: large}, {other: numpy.empty_like(large)})

    facts: dict[str, float] = {}
    with config(small=0, everywhere=0, threads=1):
        u, v = atoll.ones((64, 64)), atoll.ones((64, 64))
        sync()

        def plain() -> None:
            for _ in range(4):
                v[...] = u * 0.5
                sync()

        def halo() -> None:
            for _ in range(4):
                v[1:-1] = u[:-2] + u[2:]
                sync()

        def total() -> None:
            for _ in range(4):
                float((u * v).sum())

        met = fastest(sync, rounds=ROUNDS)
        facts["together"] = fastest(plain, rounds=ROUNDS) / 4 - met
        halos = fastest(halo, rounds=ROUNDS) / 4 - met
        sums = fastest(total, rounds=ROUNDS) / 4
    latency = fastest(ping, rounds=ROUNDS) / 4
    facts["latency"] = latency / 2
    facts["bandwidth"] = large.nbytes / fastest(exchange, rounds=ROUNDS // 4)
    facts["message"] = max(halos - facts["together"] - facts["latency"], 1e-7) / 2
    facts["collective"] = max(sums - facts["together"] - facts["latency"], 1e-7)
    return facts


def main() -> None:
    """Print what two ranks have measured."""
    world = current_world()
    if world.size != 2:
        raise SystemExit(f"two ranks measure together, not {world.size}")
    facts = _of_ranks()
    if world.rank == 0:
        print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
