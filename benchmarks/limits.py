"""The costs that the limits of ``atoll.policy`` follow from, and the limits beside them.

    python benchmarks/limits.py [--smoke]        one process
    atoll run -n 2 benchmarks/limits.py          with the cost of messages

Each function measures one cost. The docstrings of ``policy.Limits`` name the function that a limit follows from.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import numpy

import atoll as np
from atoll import backend, policy
from atoll.backend.llvm import compile
from atoll.collective.movement import by_rank
from atoll.comm.in_step import is_same
from atoll.lazy.evaluation import _programs

SMOKE = False


def microseconds(work: Callable[[], Any]) -> float:
    """The best time of a few rounds."""
    best = float("inf")
    for _ in range(2 if SMOKE else 30):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def plan() -> dict[str, float]:
    """A recorded operation whose plan is known, without its loop; the elements that NumPy adds meanwhile."""
    with np.config(small=0):
        x = np.ones(64)
        whole = microseconds(lambda: numpy.asarray(x + 1.0))
    y = numpy.ones(1 << 16)
    each = microseconds(lambda: y + 1.0) / len(y)
    return {"microseconds": whole, "elements of NumPy": whole / each}


def learning() -> dict[str, float]:
    """An operation on arrays of a size that comes for the first time, recorded without its loop, and one whose size is known."""
    with np.config(small=0):
        arrays = [np.ones(64 + k) for k in range(50)]
        np.sync()
        found = {}
        for name in ("first", "known"):
            start = time.perf_counter()
            for x in arrays:
                x + 1.0
            found[f"{name} in us"] = (time.perf_counter() - start) / len(arrays) * 1e6
    return found


def throughput() -> dict[str, float]:
    """The bytes that NumPy's sum of two arrays goes through in a nanosecond, in the cache and beyond, and a call without work."""
    few = numpy.ones(2)
    rates = {"call in ns": 1000 * microseconds(lambda: few + few)}
    for name, count in (("cached", 40_000), ("memory", 2_000_000)):
        x, y = numpy.ones(count), numpy.ones(count)
        rates[name] = 24 * count / 1000 / microseconds(lambda: x + y)  # noqa: B023
    return rates


def kernel() -> dict[str, float]:
    """Milliseconds until a chain of so many operations has its first value, compiling included."""
    found = {}
    with (
        np.config(small=0, kernel_cache="off"),
        policy.limited(pending=1000, kernel_operations=1000),
    ):
        for count in (10, 40) if SMOKE else (10, 30, 100, 200, 400):
            start = time.perf_counter()
            x = np.ones(1000 + count)
            for k in range(count):
                x = x * 0.5 + x if k % 2 else x + 1.0
            float(x[0])
            found[f"{count} operations"] = (time.perf_counter() - start) * 1e3
    return found


def streams() -> dict[str, float]:
    """Nanoseconds for each element read, by how many arrays one kernel adds."""
    found = {}
    with policy.limited(kernel_streams=100):
        for count in (2, 4) if SMOKE else (2, 8, 24, 48):
            arrays = [np.ones(1 << 18) for _ in range(count)]
            np.sync()
            each = microseconds(lambda: numpy.asarray(sum(arrays[1:], arrays[0]))) / (count << 18)  # noqa: B023
            found[f"{count} arrays"] = each * 1e3
    return found


def parallel() -> dict[str, float]:
    """How many times faster all threads are than one, by elements times instructions."""
    found = {}
    for bits in (15, 20) if SMOKE else range(15, 23):
        with np.config(small=0):
            x = np.ones(1 << bits)
            np.sync()
            with np.config(threads=1):
                alone = microseconds(lambda: numpy.asarray(x * 2.0))  # noqa: B023
            with policy.limited(parallel=0):
                shared = microseconds(lambda: numpy.asarray(x * 2.0))  # noqa: B023
        found[f"2**{bits}"] = alone / shared
    return found


def chunk() -> dict[str, float]:
    """Microseconds of a loop over 2**21 elements, by the elements of a chunk."""
    found = {}
    for bits in (12, 15) if SMOKE else (10, 12, 14, 15, 16, 18, 20):
        with policy.limited(chunk=1 << bits):
            x = np.ones((1 << 21) + bits)
            np.sync()
            found[f"2**{bits}"] = microseconds(lambda: numpy.asarray(x * 2.0 + x))  # noqa: B023
    return found


def sweeps() -> dict[str, float]:
    """Milliseconds of a step of two fields that drive each other, by the elements of a chunk, and one kernel after the other."""
    found = {}
    n = 200 if SMOKE else 2500
    for name, limits in (
        ("one by one", {"cached": 1 << 60}),
        *[(f"2**{bits}", {"cached": 0, "chunk": 1 << bits}) for bits in (11, 13, 15, 17)],
    ):
        with policy.limited(**limits), np.config(small=0, threads=1):
            # an array's own length, so that no limit meets another one's plans
            p, v = np.ones((n + len(found), n)), np.ones((n + len(found), n))

            def step() -> None:
                v[1:] -= 0.5 * (p[1:] - p[:-1])  # noqa: B023
                p[:-1] -= 0.5 * (v[1:] - v[:-1])  # noqa: B023
                np.sync()

            found[name] = microseconds(step) / 1e3
    return found


def tried(
    limit: str, values: Iterable[int], prepare: Callable[[], Callable[[], Any]]
) -> dict[str, float]:
    """Microseconds of some work by the value of a limit, with kernels of its own for each; the first and last for a smoke test."""
    found = {}
    some = list(values)
    for value in some[:: len(some) - 1] if SMOKE else some:
        with policy.limited(**{limit: value}), np.config(small=0, kernel_cache="off", threads=1):
            compile.compiler._kernels.clear()
            _programs.forget()
            work = prepare()
            work()
            found[f"{limit} {value}"] = microseconds(work)
    return found


def arrays(*shape: int) -> tuple[Any, Any]:
    """Two arrays in memory."""
    random = numpy.random.default_rng(1)
    x, y = np.array(random.random(shape)), np.array(random.random(shape))
    np.sync()
    return x, y


def held() -> dict[str, float]:
    """Milliseconds of a sum of twelve new arrays, by the bytes that pending work may keep alive."""
    data = numpy.ones(1000 if SMOKE else 2_000_000)

    def prepare() -> Callable[[], Any]:
        def work() -> None:
            total = np.zeros(len(data))
            for _ in range(12):
                total = total + np.asarray(data.copy())
            total.sum()

        return work

    times = tried("held", (1 << 20, 1 << 24, 1 << 26, 1 << 28, 1 << 30), prepare)
    return {name: time / 1000 for name, time in times.items()}


def vectors() -> dict[str, float]:
    """A loop over memory in the second-level cache, by the elements of a vector."""

    def prepare() -> Callable[[], Any]:
        x, y = arrays(1 << 15)
        return lambda: numpy.asarray(x * y + x)

    return tried("vector", (4, 8, 16, 32, 64), prepare)


def scattered() -> dict[str, float]:
    """Loops over every seventh element, and over repeated ones, by the elements of a vector."""

    def strides() -> Callable[[], Any]:
        x, y = arrays(7 << 14)
        return lambda: numpy.asarray(x[::7] * y[::7] + 1.0)

    def repeated() -> Callable[[], Any]:
        x, _ = arrays(1 << 12)
        return lambda: numpy.asarray(np.repeat(x, 4) + 1.0)

    values = 1, 4, 8, 16, 32
    found = {
        f"{what}, strides": time for what, time in tried("part_vector", values, strides).items()
    }
    return found | tried("part_vector", values, repeated)


def tails() -> dict[str, float]:
    """Rows of 29 elements, by the elements of the masked vectors at their ends."""

    def prepare() -> Callable[[], Any]:
        x, y = arrays(2000, 30)
        return lambda: numpy.asarray(x[:, 1:] * y[:, 1:])

    return tried("part_vector", (1, 2, 4, 8), prepare)


def across() -> dict[str, float]:
    """A matrix and a transposed one, by the elements of a tile, which is as wide as a vector."""

    def prepare() -> Callable[[], Any]:
        x, y = arrays(1000, 1000)
        return lambda: numpy.asarray(x + y.T)

    return tried("vector", (8, 32, 64, 128, 1000), prepare)


def folds() -> dict[str, float]:
    """Extremes along middling rows, in several streams and in one."""

    def middling() -> Callable[[], Any]:
        x, _ = arrays(500, 1000)
        return lambda: numpy.asarray(x.max(1))

    return tried("registers", (0, 24), middling)


def searches() -> dict[str, float]:
    """Positions of extremes in one row, and in rows of many lengths; the same by NumPy."""

    def whole() -> Callable[[], Any]:
        x, _ = arrays(1 << 18)
        return lambda: int(x.argmax())

    def rows(length: int) -> Callable[[], Callable[[], Any]]:
        def prepare() -> Callable[[], Any]:
            x, _ = arrays((1 << 18) // length, length)
            return lambda: numpy.asarray(x.argmax(1))

        return prepare

    found = tried("stretch", (1 << 10, 1 << 13, 1 << 16), whole)
    for length in (16, 64, 256):
        times = tried("vector", (1, 1 << 20), rows(length))
        kernel, others = times.values()
        found[f"rows of {length} elements, kernel against NumPy"] = kernel / others
    return found


def short_rows() -> dict[str, float]:
    """The largest elements of rows of 12, and products of rows, by kernels for any rows and for these."""

    def largest() -> Callable[[], Any]:
        x, y = arrays(20_000, 12)
        return lambda: numpy.asarray((x * y).max(1))

    def products() -> Callable[[], Any]:
        x, y = arrays(20_000, 12)
        return lambda: numpy.asarray(x * y[0])

    values = 8, 24
    found = {
        f"extremes, {what}": time for what, time in tried("registers", values, largest).items()
    }
    return found | tried("registers", values, products)


def scans() -> dict[str, float]:
    """A scan down the columns of a matrix, by the bytes of a row in a strip."""

    def prepare() -> Callable[[], Any]:
        x, _ = arrays(500, 4096)
        return lambda: numpy.asarray(np.cumsum(x, 0))

    return tried("stretch", (1 << 9, 1 << 12, 1 << 13, 1 << 15), prepare)


def masks() -> dict[str, float]:
    """A selection by a mask that is mostly true, with and without code for vectors that are wanted wholly."""

    def prepare() -> Callable[[], Any]:
        x, y = arrays(1 << 15)

        def work() -> None:
            y[x > 1e-4] = x[x > 1e-4] * 2.0
            np.sync()

        return work

    return tried("registers", (1, 24), prepare)


def draft() -> dict[str, float]:
    """Milliseconds to compile a kernel of ten operations quickly and well; microseconds of its loop over 2**20 elements."""

    def work(expected: float) -> dict[str, float]:
        with policy.limited(draft_work=expected), np.config(small=0, kernel_cache="off", threads=1):
            compile.compiler._kernels.clear()
            _programs.forget()
            x, y = arrays(1 << 20)
            start = time.perf_counter()
            call = lambda: numpy.asarray((x * y + 1.0) * (x - y) / (x + 2.0))  # noqa: E731
            call()
            first = (time.perf_counter() - start) * 1e3
            return {"first call": first, "loop": microseconds(call)}

    quick, well = work(1 << 60), work(0)
    return {f"draft, {k}": v for k, v in quick.items()} | {f"well, {k}": v for k, v in well.items()}


def blocks() -> dict[str, float]:
    """A loop by NumPy's backend over 2**20 elements, by the elements of a block."""

    def prepare() -> Callable[[], Any]:
        x, y = arrays(1 << 20)
        return lambda: numpy.asarray(x * y + x)

    chosen = backend.current()
    backend._chosen = backend.named("numpy")
    try:
        return tried("chunk", (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18), prepare)
    finally:
        backend._chosen = chosen


def factors() -> dict[str, float]:
    """QR of a matrix on ranks, by the columns of a panel, and by what a column counts for: with much, LAPACK does it on every rank."""
    if np.world.size == 1:
        return {}

    def prepare() -> Callable[[], Any]:
        layout = np.Layout((400, 400), "bn", size=np.world.size)
        a = arrays(400, 400)[0].redistribute(layout)
        return lambda: float(np.linalg.qr(a)[1].sum())

    together = policy.limited(step=0)
    with together:
        by_panels = tried("panel", (8, 32, 64, 128), prepare)
    return by_panels | tried("step", (0, 200_000), prepare)


def ranks() -> dict[str, float]:
    """Sorting out 2**16 elements by their ranks, asking for each of 4, 16 and 64 ranks, and by sorting."""
    found = {}
    for count in (4, 16, 64):
        owners = numpy.random.default_rng(1).integers(0, count, 1 << 16)
        for limit, words in ((1 << 20, "asking"), (0, "sorting")):
            with policy.limited(few_ranks=limit):
                found[f"{words} for {count}"] = microseconds(lambda: list(by_rank(owners)))  # noqa: B023
    return found


def copy() -> dict[str, float]:
    """Microseconds to copy so many bytes."""
    sizes = {f"2**{bits} bytes": numpy.ones(1 << bits, "u1") for bits in (14, 16, 22)}
    return {name: microseconds(data.copy) for name, data in sizes.items()}


def truths() -> dict[str, float]:
    """Microseconds in which NumPy looks at so many truth values, all of them false."""
    sizes = {f"2**{bits} values": numpy.zeros(1 << bits, bool) for bits in (12, 16, 22)}
    return {name: microseconds(data.any) for name, data in sizes.items()}


def lists() -> dict[str, float]:
    """Microseconds to make an array of a list, by its length."""
    return {f"{n} numbers": microseconds(lambda: numpy.array([1.5] * n)) for n in (16, 32, 256)}  # noqa: B023


def message() -> dict[str, float]:
    """A message between all ranks; the doubles that a rank adds meanwhile."""
    if np.world.size == 1:
        return {}
    communicator, y = np.world.communicator, numpy.ones(1 << 16)
    whole = microseconds(lambda: is_same(communicator, 1, "a measurement"))
    each = microseconds(lambda: y + 1.0) / len(y)
    return {"microseconds": whole, "elements of NumPy": whole / each}


MEASUREMENTS = (
    plan, learning, throughput, kernel, streams, parallel, chunk, sweeps, copy, held, truths, lists, message, vectors, scattered, tails, across,
    folds, searches, short_rows, scans, masks, draft, blocks, factors, ranks,
)  # fmt: skip


def main() -> None:
    """Print the costs, then the limits."""
    global SMOKE
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few rounds, to see that it runs")
    SMOKE = parser.parse_args().smoke
    for measure in MEASUREMENTS:
        figures = ", ".join([f"{name} {value:.4g}" for name, value in measure().items()])
        if np.world.rank == 0:
            print(f"{measure.__name__:9} {figures or 'needs ranks'}")
    if np.world.rank == 0:
        print(
            *[f"{f.name} = {getattr(policy.limits, f.name)}" for f in fields(policy.Limits)],
            sep="\n",
        )


if __name__ == "__main__":
    main()
