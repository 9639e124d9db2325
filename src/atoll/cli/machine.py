"""``atoll machine``: measures this machine for ``atoll.model``.

Measures what a core computes, what memory carries, what evaluations take, and what messages take between two ranks of this machine,
and prints the result as JSON. With PATH it writes a file that `atoll.model(program, ranks, network=PATH)` reads. Other work on
the machine spoils it. For a cluster, change `network` in the file to its latency in seconds and the bandwidth of a node in bytes
a second, `cores` to those of a node, and `nodes` to 0.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy

import atoll

from .. import system
from ..comm.world import current_world
from ..config import config
from ..errors import LaunchError
from ..lazy.pending import sync
from ..modelling.machines import FORMS, Link, Machine
from . import given
from .doctor import ProbeError, ask
from .mpiexec import find

SECONDS = 300
"""Timeout of a measurement, long enough for a busy machine."""
THREADS = ("ATOLL_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that set the number of threads of atoll and of linear algebra libraries."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll machine`` to a parser."""
    parser.add_argument("path", metavar="PATH", nargs="?", type=given, help="the file to write")


def main(asked: argparse.Namespace) -> int:
    """Measure; return the exit code."""
    # the operations are recorded at lines outside of atoll, as those of programs are
    probe = [sys.executable, "-c", "from atoll.cli.machine import measure\nmeasure()"]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    try:
        facts = ask(probe, environment, SECONDS)
    except ProbeError as problem:
        print(f"atoll machine: nothing is measured: {problem}", file=sys.stderr)
        return 1
    try:
        launcher = find()
        costs = ask(launcher.command(2, probe), environment | launcher.environment(), SECONDS)
        link = {name: costs.pop(name) for name in ("latency", "bandwidth")}
        facts |= {**costs, "inside": link, "network": link}
    except (LaunchError, ProbeError) as problem:
        print(f"atoll machine: messages are not measured: {problem}", file=sys.stderr)
    text = json.dumps(facts, indent=1)
    if asked.path:
        with open(asked.path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)
    return 0


# ``measure`` prints one line of JSON: the rates of a core in one process, the costs of ranks on two ranks.
# Each measurement is repeated in several turns, some time apart, and the best one counts, so other work on the machine matters little.

SIZES = (1 << 19, 1 << 20, 1 << 22, 1 << 24, 1 << 25, 1 << 26, 1 << 27)
"""The bytes that the measured loops go through."""
TERMS = 32
"""Products in a formula that sums them, which is bound by arithmetic ..."""
LONG = 48
"""... and operations in a formula of dependent operations, which is bound by their latency."""
TINY, FORMULA = 1 << 10, 1 << 18
"""Elements of arrays with negligible work, and of the arrays of a formula."""
MORE = 7
"""The operations that the longer one of two small formulas records in addition to the first."""
REPEATED = 8
"""Evaluations of a small array in a measurement."""
TURNS = 4
ROUNDS = 300
"""Repetitions of a measurement on ranks, in each turn."""

Action = Callable[[], object]
Loop = Callable[[int], Action]
Array = Any


def _fastest(
    actions: Mapping[Any, Action],
    seconds: float = 0.0,
    rounds: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[Any, float]:
    """The seconds of each action: the best of as many repetitions as fit in ``seconds``, at least ``rounds`` in each turn.

    For the work of one thread, processor time excludes the time that other programs take.
    """
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(TURNS):
        for name, action in actions.items():
            action()
            gc.collect()
            done, end = 0, time.perf_counter() + seconds / TURNS
            while done < rounds or (seconds and time.perf_counter() < end):
                start = clock()
                action()
                best[name] = min(best[name], clock() - start)
                done += 1
    return best


def _copied(count: int) -> Action:
    """A loop that copies an array and updates it."""
    u = atoll.ones(count)
    sync()

    def advance() -> None:
        old = u.copy()
        u[...] = u * 0.5
        sync()
        del old  # kept until here, so that the copy is computed

    return advance


def _stencil(count: int, summed: bool = False) -> Action:
    """The same with the mean of an element's four neighbours; with ``summed`` also the sum of the squared changes."""
    side = int(count**0.5)
    u = atoll.ones((side, side))
    sync()

    def advance() -> None:
        old = u.copy()
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
        if summed:
            change = u - old
            float((change * change).sum())
        else:
            sync()

    return advance


def _reduced(value: Callable[[Array], Array], ndim: int = 1) -> Loop:
    """A loop that reduces an array of ``2 * count`` elements: as many bytes as the other loops touch."""

    def loop(count: int) -> Action:
        u = atoll.ones((int((2 * count) ** (1 / ndim)),) * ndim)
        sync()
        return lambda: float(value(u))

    return loop


def _computed(formula: Callable[[Array], Array]) -> Loop:
    """A loop that computes a formula of each element of an array."""

    def loop(count: int) -> Action:
        u, v = atoll.full(count, 0.5), atoll.ones(count)
        sync()

        def advance() -> None:
            v[...] = formula(u)
            sync()

        return advance

    return loop


def _assigned(formula: Callable[[Array], Array]) -> Action:
    """A loop that assigns a formula to a small array: each assignment evaluates the one before, and does nothing else."""
    u, v = atoll.full((TINY // 32, 32), 0.5), atoll.ones((TINY // 32, 32))
    sync()

    def advance() -> None:
        for _ in range(REPEATED):
            v[...] = formula(u)

    return advance


def _short(u: Array) -> Array:
    return u * 0.5


def _longer(u: Array) -> Array:
    """A formula with ``MORE`` operations more."""
    return (((u * 0.5 + 0.25) * 0.5 + 0.25) * 0.5 + 0.25) * 0.5 + 0.25


def _sum(u: Array) -> Array:
    """A sum of independent products, which a processor may compute in parallel."""
    terms = [u * (k + 0.5) for k in range(TERMS)]
    while len(terms) > 1:
        terms = [left + right for left, right in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


def _chain(u: Array) -> Array:
    """A formula in which each operation needs the result of the previous one."""
    value = u
    for _ in range(LONG // 2):
        value = value * u + 0.25
    return value


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "divide": lambda u: (u + 3.0) / (u + 1.0),
    "exp": atoll.exp,
    "power": lambda u: u**u,
}
"""The elementwise functions whose rates are measured."""


def core(seconds: float = 0.35) -> Machine:
    """This machine as a node, with default costs for messages, which only ranks can measure."""
    loops: dict[str, Loop] = {
        "plain": _copied,
        "stencil": _stencil,
        "summed": partial(_stencil, summed=True),
        "folded": _reduced(lambda u: u.sum()),
        "rows": _reduced(lambda u: u.sum(1)[0], 2),
        "extremes": _reduced(lambda u: u.max()),
        "sum": _computed(_sum),
        "chain": _computed(_chain),
    }
    loops |= {name: _computed(formula) for name, formula in FUNCTIONS.items()}
    square = numpy.random.default_rng(1).random((1000, 1000))
    line = square.reshape(-1)
    bins = numpy.arange(line.size) % 16
    numbers = list(range(10_000))
    bare: dict[Any, Action] = {
        "product": lambda: square @ square,
        "sort": lambda: numpy.sort(line),
        "numpy": lambda: numpy.bincount(bins),
        "transform": lambda: numpy.fft.fft2(square),
        "element": lambda: sum(map(float, numbers)),
    }
    cores = system.cores()
    fastest = partial(_fastest, seconds=seconds, clock=time.thread_time)
    with config(small=0, threads=1):
        small = fastest({name: loop(TINY) for name, loop in loops.items()})
        touched: dict[Any, Action] = {
            (form, nbytes): loops[form](nbytes // 16) for nbytes in SIZES for form in FORMS
        }
        moved = fastest(touched)
        large = fastest({name: loops[name](FORMULA) for name in loops})
    with config(small=0, threads=cores):
        node = _fastest({"plain": _copied(SIZES[-1] // 16)}, seconds)["plain"]
    spent = fastest(bare)
    with config(small=0, threads=1):
        steps = fastest({"short": _assigned(_short), "longer": _assigned(_longer)})

    def rates(name: str) -> tuple[tuple[int, float], ...]:
        spent = [moved[name, size] for size in SIZES]
        # an evaluation takes less than its loop; on a busy machine its measurement may have taken more
        return tuple(
            [(n, n / max(s - small[name], s / 2)) for n, s in zip(SIZES, spent, strict=True)]
        )

    def element(name: str) -> float:
        """The seconds of an element of a formula."""
        return max(large[name] - small[name], 1e-9) / FORMULA

    operations = (2 * TERMS + 1) / element("sum")
    chain = max(element("chain") - (LONG + 2) / operations, 1e-12)
    private, sharing = system.caches()
    operation = max(steps["longer"] - steps["short"], 0.0) / REPEATED / MORE
    alone = max(steps["short"] / REPEATED - operation, 0.0)
    memory: dict[str, Any] = {field: rates(form) for form, field in FORMS.items()}
    link = Link(1e-6, 4e9)
    return Machine(
        name=platform.node() or "this machine",
        cores=cores,
        **memory,
        node_memory=max(SIZES[-1] / node, memory["memory"][-1][1]),
        private=private,
        sharing=min(sharing, cores),
        operations=operations,
        chained=(LONG + 2) * LONG / chain,
        functions=tuple(
            [(name, 1 / max(element(name) - 4 / operations, 1e-12)) for name in FUNCTIONS]
        ),
        products=2e9 / spent["product"],
        transforms=5 * line.size * float(numpy.log2(line.size)) / spent["transform"],
        comparisons=line.size * float(numpy.log2(line.size)) / spent["sort"],
        numpy=bins.size / spent["numpy"],
        inside=link,
        network=link,
        alone=alone,
        operation=operation,
        together=2 * alone,
        operation_together=2 * operation,
        kernel=0.3e-6,
        message=alone,
        collective=alone,
        element=spent["element"] / len(numbers),
        nodes=1,
    )


def ranks() -> dict[str, float]:
    """The measurements of two ranks: evaluations without messages, with halos, and with sums over all ranks."""
    world = current_world()
    communicator, other = world.communicator, 1 - world.rank
    leaving, arriving = numpy.zeros(1 << 19), numpy.zeros(1 << 19)

    with config(small=0, everywhere=0, threads=1):
        u, v = atoll.ones((64, 64)), atoll.ones((64, 64))
        sync()

        def halo() -> None:
            for _ in range(REPEATED):
                v[1:-1] = u[:-2] + u[2:]

        def total() -> None:
            for _ in range(REPEATED):
                float((u * v).sum())

        actions = {
            "short": _assigned(_short),
            "longer": _assigned(_longer),
            "halo": halo,
            "total": total,
        }
        best = _fastest(actions, rounds=ROUNDS)
        best = {name: spent / REPEATED for name, spent in best.items()}
    long = partial(communicator.exchange, {other: leaving}, {other: arriving})
    best |= _fastest({"long": long}, rounds=ROUNDS // 4)
    operation = max(best["longer"] - best["short"], 0.0) / MORE
    together = max(best["short"] - operation, 0.0)
    recorded = together + 2 * operation
    # ranks that send to each other work for two messages, one after the other, and wait for one
    latency = max(best["halo"] - recorded, 1e-7) / 3
    return {
        "latency": latency,
        "bandwidth": leaving.nbytes / best["long"],
        "together": together,
        "operation_together": operation,
        "message": latency,
        "collective": max(best["total"] - recorded - latency, 1e-7),
    }


def measure() -> None:
    """Print the measurements of one process or two ranks."""
    world = current_world()
    if world.size > 2:
        raise SystemExit(f"two ranks measure together, not {world.size}")
    facts = asdict(core()) if world.size == 1 else ranks()
    if world.rank == 0:
        print(json.dumps(facts), flush=True)
