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

import numpy

import atoll

from .. import system
from ..comm.world import current_world
from ..config import config
from ..lazy.syncing import sync
from ..modelling.machines import Link, Machine

SIZES = (1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 27)
"""The bytes that the loops go through whose rates are measured."""
LONG = 30
"""A formula of so many operations is bound by arithmetic."""


def fastest(action: Callable[[], object], seconds: float = 0.4, together: bool = False) -> float:
    """The seconds of a call, the best of as many as fit; of ranks ``together``, which call it as often."""
    action()
    action()
    best, began, rounds = float("inf"), time.perf_counter(), 0
    gc.collect()
    while rounds < 60 if together else (time.perf_counter() - began < seconds or rounds < 3):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
        rounds += 1
    return best


def _step(count: int) -> tuple[Callable[[], None], int]:
    """A loop that reads an array and writes another one, and the bytes of both."""
    state = {"u": atoll.ones(count), "v": atoll.ones(count)}
    sync()

    def advance() -> None:
        state["v"][...] = state["u"] * 0.5
        sync()

    return advance, 16 * count


def _repeated(action: Callable[[], None], times: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            action()

    return repeated


def measured(ranks: Mapping[str, float] | None = None) -> Machine:
    """This machine as a node; ``ranks`` is what two ranks have measured, else a message takes what one usually does."""
    cores = system.cores()
    with config(small=0, threads=1):
        action, _ = _step(64)
        alone = fastest(_repeated(action, 100)) / 100
        memory = []
        for nbytes in SIZES:
            action, moved = _step(nbytes // 16)
            times = max(1, (1 << 23) // nbytes)
            seconds = fastest(_repeated(action, times)) / times
            memory.append((nbytes, moved / max(seconds - alone, 1e-9)))
        u = atoll.full(1 << 13, 0.5)
        sync()

        def formula() -> None:
            value = u
            for _ in range(LONG // 2):
                value = value * u + 0.25
            sync()

        operations = LONG * u.size / max(fastest(formula) - alone, 1e-9)
    with config(small=0, threads=cores):
        action, moved = _step(SIZES[-1] // 16)
        node = moved / fastest(action)
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
        node_memory=max(node, memory[-1][1]),
        operations=operations,
        products=products,
        comparisons=float(comparisons),
        inside=link,
        network=link,
        alone=alone,
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
    small, large = numpy.zeros(1), numpy.zeros(1 << 19)

    def ping() -> None:
        for _ in range(20):
            communicator.exchange({other: small}, {other: numpy.empty(1)})

    def exchange() -> None:
        communicator.exchange({other: large}, {other: numpy.empty_like(large)})

    facts: dict[str, float] = {}
    with config(small=0, everywhere=0, threads=1):
        u, v = atoll.ones((64, 64)), atoll.ones((64, 64))
        sync()

        def plain() -> None:
            for _ in range(20):
                v[...] = u * 0.5
                sync()

        def halo() -> None:
            for _ in range(20):
                v[1:-1] = u[:-2] + u[2:]
                sync()

        def total() -> None:
            for _ in range(20):
                float((u * v).sum())

        both = {"together": True}
        facts["together"] = fastest(plain, **both) / 20
        halos = fastest(halo, **both) / 20
        sums = fastest(total, **both) / 20
    latency = fastest(ping, **both) / 20
    facts["latency"] = latency / 2
    facts["bandwidth"] = large.nbytes / fastest(exchange, **both)
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
