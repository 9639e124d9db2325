"""Two ranks of one thread each against one process of two threads, and against bare MPI.

    python benchmarks/ranks.py [names...] [--smoke] [--json] [--seconds S]

Started by itself, it starts its ranks (``atoll run -n 2``). Rank 0 is also the one process: it
does the same program in a world of its own on all cores, while the other rank sleeps. So both
take turns within one run, on the same machine in the same minute; ratios are formed within a
round, and their median is reported. Results are compared, and a wrong one makes the command fail.

Names choose what is measured: programs of the suite, ``step`` (a step of laplace on a small
grid: what a step costs beyond its work), ``redistribute`` (rows to columns, against mpi4py's
Alltoallw of the same data), ``matmul`` (against NumPy with all threads).

**The machine's own speed.** A core that shares its parts with somebody else's work runs the same
piece of Python in twice the time, for milliseconds on end, and a step of ranks is as slow as the slowest of
their cores. So ten steps are measured in turns with a *calibration*: a fixed piece of pure Python, about as long
as they are, which all ranks do at the same time, and which ends when the last one is done, as steps do.
What a step takes *where the machine is as quick as it ever was in this run* is the median of steps in
calibrations, ten steps in the mean of the two around them, times the best calibration of all. The best and
the plain median are reported beside it, and so is the median of the calibration in its own best: by so much
the machine alone makes a median larger. (``one process`` is measured alike: the same calibration, on rank 0.)
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from measuring import differences, snapshot
from peers import contestant
from programs import PROGRAMS
from threadpoolctl import threadpool_limits

import atoll
from atoll import Layout, World
from atoll.comm.single import SingleCommunicator
from atoll.config import config

PROMISED = {
    "laplace": 1.15, "stencil5": 1.15, "star2": 1.15, "sincos": 1.15, "black-scholes": 1.15,
    "redistribute": 1 / 0.6, "matmul": 1.3,
}  # fmt: skip
STEP_MICROSECONDS = 250.0
STEPS = 10
"""How many are timed at once."""
RANKS = 2
Clock = time.perf_counter


class Turns:
    """The ranks do something together, then rank 0 alone while the others sleep."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD.Dup()
        self.rank = self.comm.rank
        self.size = self.comm.size
        self._max = MPI.MAX

    def together(self, action: Callable[[], object]) -> float:
        """The seconds until the last rank is done."""
        self.comm.Barrier()
        start = Clock()
        action()
        return float(self.comm.allreduce(Clock() - start, self._max))

    def alone(self, action: Callable[[], object]) -> float:
        """The seconds that rank 0 takes while nobody else wants a core; 0 elsewhere."""
        if self.rank:
            while not self.comm.Iprobe(0, 5):
                time.sleep(5e-4)
            self.comm.recv(source=0, tag=5)
            return 0.0
        start = Clock()
        action()
        seconds = Clock() - start
        for other in range(1, self.size):
            self.comm.send(None, other, 5)
        return seconds

    def rounds(
        self, ranks: Callable[[], object], other: Callable[[], object], seconds: float, alone: bool
    ) -> tuple[list[float], list[float]]:
        """The times of both, round by round, in alternating order."""
        against = self.alone if alone else self.together
        for _ in range(2):
            once = self.together(ranks) + against(other)
        count = self.comm.bcast(int(min(60, max(3, seconds / max(once, 1e-9)))))
        ours, theirs = [], []
        for turn in range(count):
            if turn % 2:
                theirs.append(against(other))
            ours.append(self.together(ranks))
            if not turn % 2:
                theirs.append(against(other))
        return ours, theirs


def said(ours: list[float], theirs: list[float], steps: int = 1, **facts: Any) -> dict[str, Any]:
    """What is reported of the times of rounds; on rank 0."""
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True)) if min(theirs) else 0.0
    return {
        "ranks_ms": median(ours) / steps * 1e3,
        "other_ms": median(theirs) / steps * 1e3,
        "ratio": ratio,
        **facts,
    }


def program_on_ranks(turns: Turns, name: str, n: int, seconds: float) -> dict[str, Any]:
    """A program of the suite on the ranks, and on one process with as many threads."""
    program = PROGRAMS[name]
    mine = World(SingleCommunicator())
    lanes = [program.run(atoll, n), program.run(atoll, n)]
    last: list[Any] = [None, None]

    def steps(lane: int, count: int) -> None:
        for _ in range(count):
            last[lane] = next(lanes[lane])
        atoll.sync()

    def alone(count: int = program.steps) -> None:
        with mine, config(threads=RANKS):
            steps(1, count)

    turns.together(lambda: steps(0, 2))
    turns.alone(lambda: alone(2))
    before = atoll.stats()
    ours, theirs = turns.rounds(
        lambda: steps(0, program.steps), lambda: alone(program.steps), seconds, alone=True
    )
    messages = atoll.stats().messages - before.messages
    whole = snapshot(last[0], contestant("atoll", name))
    wrong = ""
    if turns.rank == 0:
        with mine:
            expected = snapshot(last[1], contestant("atoll", name))
        wrong = differences(whole, expected, max(program.tolerance, 1e-12))
    return said(ours, theirs, program.steps, size=program.shape(n), wrong=wrong, messages=messages)


def fixed_work() -> int:
    """The calibration: Python that neither allocates much nor leaves the interpreter."""
    kept: dict[int, tuple[int, int]] = {}
    total = 0
    for k in range(STEPS * 1500):
        kept[k & 255] = (k, total)
        total += len(kept)
    return total


def calibrated(
    time_of: Callable[[Callable[[], object]], float],
    action: Callable[[], object],
    go_on: Callable[[], bool],
) -> dict[str, float]:
    """The times of an action, by step, in microseconds, in turns with those of the calibration."""
    fixed, found = [time_of(fixed_work)], []
    while go_on():
        found.append(time_of(action))
        fixed.append(time_of(fixed_work))
    around = [(before + after) / 2 for before, after in pairwise(fixed)]
    each = 1e6 / STEPS
    return {
        "best": min(found) * each,
        "median": median(found) * each,
        "in_calibrations": median(one / near for one, near in zip(found, around, strict=True)),
        "calibration_best": min(fixed) * each,
        "calibration_median": median(fixed) * each,
    }


def step(turns: Turns, n: int, seconds: float) -> dict[str, Any]:
    """A step of laplace on a grid so small that its work does not count."""
    program = PROGRAMS["laplace"]
    mine = World(SingleCommunicator())
    lanes = [program.run(atoll, n), program.run(atoll, n)]
    last: list[Any] = [None, None]

    def steps(lane: int) -> None:
        for _ in range(STEPS):
            last[lane] = next(lanes[lane])

    def turns_of(count: int) -> Callable[[], bool]:
        left = iter(range(count))
        return lambda: next(left, None) is not None

    def alone(count: int) -> dict[str, float]:
        def time_of(action: Callable[[], object]) -> float:
            start = Clock()
            action()
            return Clock() - start

        with mine, config(threads=RANKS):
            return calibrated(time_of, lambda: steps(1), turns_of(count))

    count = max(3, int(seconds / 2 / STEPS / 6e-4))
    calibrated(turns.together, lambda: steps(0), turns_of(2))
    before = atoll.stats()
    ranks = calibrated(turns.together, lambda: steps(0), turns_of(count))
    messages = atoll.stats().messages - before.messages
    one: dict[str, float] = {}
    turns.alone(lambda: one.update(alone(2)))
    turns.alone(lambda: one.update(alone(count)))
    whole = snapshot(last[0], contestant("atoll", "laplace"))
    wrong = ""
    if turns.rank == 0:
        with mine:
            expected = snapshot(last[1], contestant("atoll", "laplace"))
        wrong = differences(whole, expected, max(program.tolerance, 1e-12))
    measured = [ranks, one] if one else [ranks]
    best = min(times["calibration_best"] for times in measured)
    for times in measured:
        times["at_best_speed"] = times["in_calibrations"] * best
    return {
        "ranks_ms": ranks["at_best_speed"] / 1e3,
        "other_ms": one.get("at_best_speed", 0.0) / 1e3,
        "ratio": ranks["at_best_speed"] / one["at_best_speed"] if one else 0.0,
        "microseconds": ranks["median"],
        "ranks": ranks,
        "one_process": one,
        "size": program.shape(n),
        "messages": messages,
        "wrong": wrong,
    }


def redistribute(turns: Turns, n: int, seconds: float) -> dict[str, Any]:
    """Block rows to block columns, and the same by one bare Alltoallw into memory that is there."""
    from mpi4py import MPI

    size, rank = turns.size, turns.rank
    rows, columns = Layout((n, n), "bn", size=size), Layout((n, n), "nb", size=size)
    whole = np.arange(float(n * n)).reshape(n, n)
    array = atoll.asarray(whole).redistribute(rows)
    source = np.ascontiguousarray(whole[region(rows, rank)])
    target = np.zeros(columns.local_shape(rank))
    kept: list[Any] = [None]
    sending, receiving = [], []
    for peer in range(size):
        mine, theirs = region(rows, rank), region(columns, peer)
        shape = (source.shape[0], theirs[1].stop - theirs[1].start)
        sending.append(
            MPI.DOUBLE.Create_subarray(source.shape, shape, (0, theirs[1].start)).Commit()
        )
        mine = region(rows, peer)
        shape = (mine[0].stop - mine[0].start, target.shape[1])
        receiving.append(
            MPI.DOUBLE.Create_subarray(target.shape, shape, (mine[0].start, 0)).Commit()
        )
    ones, zeros = [1] * size, [0] * size

    def ours() -> None:
        kept[0] = None
        kept[0] = array.redistribute(columns)
        kept[0].local  # noqa: B018 (it evaluates)

    def bare() -> None:
        turns.comm.Alltoallw([source, ones, zeros, sending], [target, ones, zeros, receiving])

    times = turns.rounds(ours, bare, seconds, alone=False)
    local = kept[0].local
    right = np.array_equal(local, target) and np.array_equal(local, whole[region(columns, rank)])
    right = turns.comm.allreduce(int(right)) == size
    return said(*times, size=f"{n}**2", wrong="" if right else "blocks differ")


def region(layout: Layout, rank: int) -> tuple[slice, ...]:
    """What a rank owns in blocks, as slices."""
    return tuple([slice(part.lowest, part.highest + 1) for part in layout.region(rank)])


def matmul(turns: Turns, n: int, seconds: float) -> dict[str, Any]:
    """A product of square matrices in block rows, and NumPy's with all threads."""
    generator = np.random.default_rng(1)
    first, second = generator.random((n, n)), generator.random((n, n))
    layout = Layout((n, n), "bn", size=turns.size)
    a, b = (atoll.asarray(each).redistribute(layout) for each in (first, second))
    kept: list[Any] = [None, None]

    def ours() -> None:
        kept[0] = a @ b
        atoll.sync()

    def numpys() -> None:
        with threadpool_limits(RANKS):
            kept[1] = first @ second

    with threadpool_limits(1):
        times = turns.rounds(ours, numpys, seconds, alone=True)
    found = np.asarray(kept[0])
    wrong = "" if turns.rank else differences(found, kept[1], 1e-12)
    return said(*times, size=f"{n}**2", wrong=wrong)


def measured(turns: Turns, names: list[str], smoke: bool, seconds: float) -> dict[str, Any]:
    """Everything that was asked for, by name."""
    found = {}
    for name in names:
        gc.collect()
        if name == "step":
            with config(everywhere=0):  # so small a grid would not be divided
                found[name] = step(turns, 50 if smoke else 200, seconds)
        elif name == "redistribute":
            found[name] = redistribute(turns, 60 if smoke else 4000, seconds)
        elif name == "matmul":
            found[name] = matmul(turns, 60 if smoke else 3000, seconds)
        else:
            n = PROGRAMS[name].sizes["tiny" if smoke else "full"]
            found[name] = program_on_ranks(turns, name, n, seconds)
        if turns.rank == 0 and "--json" not in sys.argv:
            print(line(name, found[name]), flush=True)
    return found


def line(name: str, found: dict[str, Any]) -> str:
    """What was found, for a person."""
    text = f"{name:14} {found['size']:>8} {found['ranks_ms']:10.3f} ms {found['other_ms']:10.3f} ms {found['ratio']:6.2f}"
    if name == "step":
        for who in ("ranks", "one_process"):
            times = found[who]
            slower = times["calibration_median"] / times["calibration_best"]
            text += (
                f"\n    {who.replace('_', ' '):12} best {times['best']:.0f} us, median {times['median']:.0f}"
                f" (calibration: best {times['calibration_best']:.0f}, median {slower:.2f} of it);"
                f" median at the best speed {times['at_best_speed']:.0f}"
            )
            text += f" (under {STEP_MICROSECONDS:.0f})" if who == "ranks" else ""
    elif name in PROMISED:
        text += f"   (at most {PROMISED[name]:.2f})"
    return text + (f"   WRONG: {found['wrong']}" if found["wrong"] else "")


def main() -> int:
    """Measure on the ranks; 1 where a result is wrong."""
    everything = ["laplace", "stencil5", "star2", "sincos", "black-scholes", "step", "redistribute"]
    everything.append("matmul")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="what to measure; everything by default")
    parser.add_argument("--smoke", action="store_true", help="measure hardly anything")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=8.0, help="measuring time for each")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in {*everything, *PROGRAMS}]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(everything)}")
    if atoll.world.size < RANKS:
        again = [sys.executable, "-m", "atoll", "run", "-n", str(RANKS), __file__, *sys.argv[1:]]
        return subprocess.call(again)
    turns = Turns()
    if turns.rank == 0 and not options.json:
        print(f"{'':14} {'size':>8} {'ranks':>13} {'other':>13} {'ratio':>6}", flush=True)
    if options.smoke:
        atoll.config.small = 0
    seconds = 0.0 if options.smoke else options.seconds
    found = measured(turns, options.names or everything, options.smoke, seconds)
    if options.json and turns.rank == 0:
        print(json.dumps(found))
    wrong = [name for name, facts in found.items() if facts["wrong"]]
    return 1 if turns.comm.bcast(len(wrong)) else 0


if __name__ == "__main__":
    sys.exit(main())
