"""Measure programs in this process: NumPy and others take turns, step for step.

``suite.py`` starts this file once per program, so that each starts with cold caches and memory
of its own, and reads the line of JSON that it prints.

Times drift on every machine, so nothing is compared across runs. In each *round* every
contestant does the same few steps, one contestant after the other, and so does a copy of the
bytes that a step must move. The ratios are formed within a round; their median is reported.
All contestants have done the same steps in the end, and their results are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from peers import Contestant, contestant
from programs import PROGRAMS
from programs.program import Program

Clock = time.perf_counter
FEWEST, MOST = 3, 40
COPIED_AT_ONCE = 1 << 27


@dataclass
class Lane:
    """One contestant at work on the program."""

    who: Contestant
    steps: Any
    cold: float = 0.0
    times: list[float] = field(default_factory=list)
    result: Any = None
    first: Any = None

    def do(self, count: int) -> float:
        """The seconds that ``count`` steps take, everything evaluated."""
        start = Clock()
        for _ in range(count):
            self.result = next(self.steps)
        self.who.finish(self.result)
        return Clock() - start


class Copies:
    """How long a copy of so many bytes takes, on all cores where it is worth it."""

    def __init__(self, moved: int, threads: int) -> None:
        each = max(64, min(moved // 2, COPIED_AT_ONCE))
        self.factor = moved / 2 / each
        self.source = np.ones(each // 8)
        self.target = np.zeros(each // 8)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 and each > 1 << 21 else None
        cuts = np.linspace(0, each // 8, threads + 1).astype(int)
        self.parts = [slice(a, b) for a, b in pairwise(cuts)]

    def seconds(self) -> float:
        """One measurement."""
        start = Clock()
        if self.pool is None:
            np.copyto(self.target, self.source)
        else:
            list(self.pool.map(self._part, self.parts))
        return (Clock() - start) * self.factor

    def _part(self, part: slice) -> None:
        np.copyto(self.target[part], self.source[part])


def differences(found: Any, expected: Any, tolerance: float) -> str:
    """What is wrong with a result, in words; nothing where it is right."""
    if isinstance(expected, tuple):
        return "; ".join(
            filter(
                None, [differences(f, e, tolerance) for f, e in zip(found, expected, strict=True)]
            )
        )
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if found.dtype != expected.dtype:
        return f"dtype {found.dtype} instead of {expected.dtype}"
    same = (found == expected) | ((found != found) & (expected != expected))
    if tolerance == 0 or expected.dtype == bool:
        count = int(np.count_nonzero(~same))
        return f"{count} of {same.size} elements differ" if count else ""
    finite = np.isfinite(expected)
    scale = float(np.max(np.abs(expected), initial=0.0, where=finite)) or 1.0
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0, np.abs(found - expected)).max(initial=0.0) / scale
    return (
        ""
        if apart <= tolerance
        else f"apart by {apart:.2e} of the largest, {tolerance:.0e} allowed"
    )


def snapshot(result: Any, who: Contestant) -> Any:
    """The result as NumPy arrays of their own."""
    if isinstance(result, tuple):
        return tuple([snapshot(r, who) for r in result])
    return np.array(who.plain(result))


def resident(name: str) -> int:
    """Bytes that this process holds (``VmRSS``) or has held at most (``VmHWM``)."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) << 10
    except OSError:
        return 0
    return 0


def cold_lane(program: Program, n: int, who: Contestant) -> Lane:
    """A contestant after its first step."""
    steps = program.run(who.module, n) if who.run is None else who.run(n)
    lane = Lane(who, steps)
    who.finish(next(steps))
    lane.cold = lane.do(1)
    lane.first = snapshot(lane.result, who)
    return lane


def measure(program: Program, n: int, names: list[str], seconds: float) -> dict[str, Any]:
    """Everything that the table wants to know of one program."""
    lanes: list[Lane] = []
    refused: dict[str, str] = {}
    for name in names:
        try:
            lanes.append(cold_lane(program, n, contestant(name, program.name)))
        except Exception as error:
            if name in ("numpy", "atoll"):
                raise
            refused[name] = f"{type(error).__name__}: {error}".splitlines()[0][:90]
    expected = lanes[0].first
    wrong = {}
    for lane in lanes[1:]:
        wrong[lane.who.name] = differences(lane.first, expected, lane.who.tolerance(program))
        lane.first = None
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    copies = Copies(program.moved(n), threads) if program.moved else None

    steps = program.steps
    once = float("inf")
    for _ in range(2):  # the second time everything has its memory and its plan
        once = min(once, sum(lane.do(steps) for lane in lanes))
    counters = [lane.who.counters() for lane in lanes]
    rounds = int(min(MOST, max(FEWEST, seconds / max(once, 1e-9))))
    copied: list[float] = []
    for turn in range(rounds):
        for lane in lanes if turn % 2 else reversed(lanes):
            lane.times.append(lane.do(steps) / steps)
        if copies is not None:
            copied.append(copies.seconds())
    found: dict[str, Any] = {"program": program.name, "n": n, "size": program.shape(n)}
    found |= {"rounds": rounds, "steps": steps, "refused": refused, "contestants": {}}
    last = snapshot(lanes[0].result, lanes[0].who)
    for lane, before in zip(lanes, counters, strict=True):
        name = lane.who.name
        after = lane.who.counters()
        if lane is not lanes[0]:
            now = differences(snapshot(lane.result, lane.who), last, lane.who.tolerance(program))
            wrong[name] = wrong[name] or now
        found["contestants"][name] = {
            "cold": lane.cold,
            "warm": median(lane.times),
            "ratio": median(map(float.__truediv__, lanes[0].times, lane.times)),
            "copies": median(map(float.__truediv__, lane.times, copied)) if copied else None,
            "wrong": wrong.get(name, ""),
            "counters": after,
            "in_loop": {key: after[key] - before[key] for key in after},
        }
    if copied:
        found["copy"] = median(copied)
    return found


def peak(program: Program, n: int, name: str) -> dict[str, Any]:
    """The most memory that one contestant takes, beyond what it has after its import."""
    who = contestant(name, program.name)
    before = resident("VmRSS")
    lane = cold_lane(program, n, who)
    lane.do(min(3, program.steps))
    return {"peak": resident("VmHWM") - before, "imported": before}


def ranked(program: Program, n: int, seconds: float) -> dict[str, Any]:
    """What ``atoll`` alone takes, on all ranks of the current world."""
    who = contestant("atoll", program.name)
    lane = cold_lane(program, n, who)
    world = who.module.world
    expected = snapshot(cold_lane(program, n, contestant("numpy", program.name)).result, who)
    wrong = differences(lane.first, expected, program.tolerance or 0.0)

    def timed() -> float:
        world.barrier()
        mine = lane.do(program.steps)
        slowest = world.communicator.allreduce(np.array([mine]), "max", "the time of a round")
        return float(slowest[0])

    once = min(timed(), timed())
    rounds = int(min(MOST, max(FEWEST, seconds / max(once, 1e-9))))
    times = [timed() / program.steps for _ in range(rounds)]
    return {
        "program": program.name,
        "size": program.shape(n),
        "ranks": world.size,
        "cold": lane.cold,
        "warm": median(times),
        "wrong": wrong,
        "counters": who.counters(),
        "root": world.rank == 0,
    }


def main() -> None:
    """Measure what the command line names, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", help="names, separated by commas")
    parser.add_argument("--size", default="tiny", choices=("tiny", "small", "full"))
    parser.add_argument("--contestants", default="numpy,atoll")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--peak", action="store_true", help="the memory of one contestant")
    parser.add_argument("--ranked", action="store_true", help="atoll alone, on all ranks")
    given = parser.parse_args()
    for program in [PROGRAMS[name] for name in given.programs.split(",")]:
        n = program.sizes[given.size]
        if given.ranked:
            found = ranked(program, n, given.seconds)
            if not found.pop("root"):
                continue
        elif given.peak:
            found = peak(program, n, given.contestants)
        else:
            found = measure(program, n, given.contestants.split(","), given.seconds)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
