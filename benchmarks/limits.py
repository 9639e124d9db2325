"""The costs that the limits of ``atoll.policy`` follow from, and the limits beside them.

    python benchmarks/limits.py [--smoke]        one process
    atoll run -n 2 benchmarks/limits.py          with the cost of messages

Each function measures one cost. The docstrings of ``policy.Limits`` name the function that a limit follows from.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy

import atoll as np
from atoll import policy
from atoll.comm.in_step import is_same

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


def template() -> dict[str, float]:
    """Planning what was not met before, against finding a plan."""
    numbers = itertools.count(65)
    with np.config(small=0):
        new = microseconds(lambda: numpy.asarray(np.ones((next(numbers), 3))[1:] * 2.0))
        x = np.ones((64, 3))
        known = microseconds(lambda: numpy.asarray(x[1:] * 2.0))
    return {"microseconds": new, "known": known, "ratio": new / known}


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


MEASUREMENTS = (plan, template, kernel, streams, parallel, chunk, copy, truths, lists, message)


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
