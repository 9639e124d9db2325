"""What a step of a loop costs in Python, where its plan is known: all but the kernels.

    python benchmarks/step.py [--rounds 4000] [--smoke] [--json]

A step of Laplace's equation with its error, a dozen operations, on grids that are large enough to be
recorded and small enough for Python to count. The time inside the kernels is taken where Python calls them, and
subtracted step by step; of kernels that the native evaluation calls, the best time of calling them alone is subtracted. What remains is recording, finding the plan, memory, and looking at the error.

Every few steps a *calibration* takes its turn: a fixed piece of pure Python. On a machine whose cores are shared,
the same instructions take half as long again or twice as long for milliseconds on end; the calibration shows how much,
and so the best steps count, not the mean. "At the machine's best" is the best time, "mostly" the median.
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median
from typing import Any

import numpy

import atoll as np
from atoll.backend.llvm import workers
from atoll.backend.llvm.launch import KernelSteps
from atoll.config import config
from atoll.execute.parts import State

SIZES = (70, 200, 500)
WARM = 1500
"""Steps before the first that counts: until then plans are made, kernels and patterns compiled well."""


def fixed() -> int:
    """The calibration: as many instructions each time."""
    known: dict[int, int] = {}
    total = 0
    for number in range(500):
        known[number & 15] = total
        total += len(known)
    return total


class Kernels:
    """The kernels' own time: stands in for the team that runs them, and knows what the native evaluation runs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.native: list[Any] = []
        team: Any = workers.team()
        self._launches, self._run = team.launches, team.run
        team.launches, team.run = self.launches, self.run
        tell, native = KernelSteps.told, self.native

        def told(step: Any) -> Any:
            known = tell(step)
            if known is not None:
                native[:] = [step]
            return known

        KernelSteps.told = told  # type: ignore[method-assign]

    def launches(self, *args: Any) -> int:
        start = time.perf_counter()
        flags: int = self._launches(*args)
        self.seconds += time.perf_counter() - start
        return flags

    def run(self, *args: Any) -> None:
        start = time.perf_counter()
        self._run(*args)
        self.seconds += time.perf_counter() - start

    def by_native(self, rounds: int) -> float:
        """The best time of the kernels that the native evaluation has run last, once more on the same memory."""
        best = 0.0
        for step in self.native:
            times = []
            for _ in range(rounds):
                start = time.perf_counter()
                self._launches(step._pointer, step._start, 1, State([], ()), step)
                times.append(time.perf_counter() - start)
            best += sorted(times)[len(times) // 50]
        return best


def laplace(u: Any) -> Any:
    """One step in place, and its change, which is recorded."""
    old = u.copy()
    u[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1]) * 0.25 + (
        old[1:-1, :-2] + old[1:-1, 2:]
    ) * 0.25
    return (u - old).ravel()


def error(change: Any) -> float:
    """A number: with it the step is computed."""
    return float(np.sqrt(np.dot(change, change)))


def measured(n: int, rounds: int, kernels: Kernels) -> dict[str, Any]:
    """Microseconds of recording, of looking, of the kernels in it, and of the calibration."""
    u = np.zeros((n, n))
    u[0] = numpy.sin(numpy.arange(n))
    for _ in range(WARM):
        error(laplace(u))
    kernels.seconds = 0.0
    error(laplace(u))
    found: dict[str, list[float]] = {
        name: [] for name in ("python", "record", "look", "kernels", "calibration")
    }
    inside = 0.0 if kernels.seconds else kernels.by_native(rounds)
    before = np.stats()
    for turn in range(rounds):
        kernels.seconds = 0.0
        start = time.perf_counter()
        change = laplace(u)
        middle = time.perf_counter()
        error(change)
        del change
        end = time.perf_counter()
        kernels.seconds += inside
        found["python"].append(end - start - kernels.seconds)
        found["record"].append(middle - start)
        found["look"].append(end - middle - kernels.seconds)
        found["kernels"].append(kernels.seconds)
        if not turn % 4:
            start = time.perf_counter()
            fixed()
            found["calibration"].append(time.perf_counter() - start)
    after = np.stats()
    best = {name: 1e6 * sorted(times)[len(times) // 50] for name, times in found.items()}
    mostly = {name: 1e6 * median(times) for name, times in found.items()}
    plans = after.plans_made - before.plans_made
    return {"n": n, "best": best, "mostly": mostly, "plans": plans}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4000, help="steps of each size")
    parser.add_argument("--smoke", action="store_true", help="a short run, to see it work")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    with config(small=0):
        kernels = Kernels()
        rounds = 50 if options.smoke else options.rounds
        rows = [measured(n, rounds, kernels) for n in SIZES]
    if options.json:
        print(json.dumps(rows))
        return
    print("a step of laplace whose plan is known, microseconds: at the machine's best (mostly)")
    print(
        "    n    Python besides kernels   recording       looking         kernels         calibration"
    )
    for row in rows:
        best, mostly = row["best"], row["mostly"]
        cells = [f"{best[name]:6.1f} ({mostly[name]:6.1f})" for name in best]
        print(f"{row['n']:5}    {cells[0]:23}  {'  '.join(cells[1:])}")
    print("Python besides the kernels: at most 10 at the machine's best")


if __name__ == "__main__":
    main()
