"""What reading memory alone allows: reductions beside a loop that only reads the same bytes.

    python benchmarks/roofline.py [programs...] [--n N] [--seconds S] [--json] [--smoke]

A reduction of a large array does next to nothing with what it reads, so it cannot be quicker than
reading. Here a bare loop, eight sums of vectors and nothing else, reads an array of the same size and
in the same kind of memory, on one core and on all: in four streams, the quarters of a chunk, since a core
that reads one stretch from end to end gets a quarter less. NumPy, atoll and these two take turns, in
alternating order; every ratio is formed within a round, and the median counts. Then there are

===========  =========================================================================
times        how many times faster than NumPy atoll is
possible     how many times faster than NumPy the bare loop is, at its best
of reading   how much of the bare loop's speed atoll reaches; it may pass 1 by chance
===========  =========================================================================

A goal beyond ``possible`` is out of reach on the machine. The program fails if a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from measuring import cold_lane, differences
from peers import contestant
from programs import chosen
from programs.program import Program

import atoll
from atoll.backend.llvm.compile import compile_text
from atoll.backend.llvm.workers import parallel_for

CHUNK = 1 << 15
SUMS = 8
STREAMS = 4
LANES = 4
FEWEST, MOST = 5, 200


def reading_text() -> str:
    """A function that adds up chunks of doubles, eight vectors at a time: two of each quarter."""
    vector, quarter, each = f"<{LANES} x double>", CHUNK // STREAMS, SUMS // STREAMS
    lines = [
        "define void @NAME(ptr %block, i64 %first, i64 %last) {",
        "entry:",
        "  %data = load ptr, ptr %block",
        "  %second = getelementptr i64, ptr %block, i64 1",
        "  %out = load ptr, ptr %second",
        "  br label %chunk",
        "chunk:",
        "  %c = phi i64 [ %first, %entry ], [ %following, %added ]",
        f"  %start = mul i64 %c, {CHUNK}",
        f"  %stop = add i64 %start, {quarter}",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ %start, %chunk ], [ %next, %loop ]",
    ]
    for k in range(SUMS):
        lines.append(f"  %s{k} = phi {vector} [ zeroinitializer, %chunk ], [ %t{k}, %loop ]")
    for k in range(SUMS):
        lines.append(f"  %o{k} = add i64 %i, {k // each * quarter + k % each * LANES}")
        lines.append(f"  %a{k} = getelementptr double, ptr %data, i64 %o{k}")
        lines.append(f"  %v{k} = load {vector}, ptr %a{k}, align 8")
        lines.append(f"  %t{k} = fadd {vector} %s{k}, %v{k}")
    lines.append(f"  %next = add i64 %i, {each * LANES}")
    lines.append("  %more = icmp slt i64 %next, %stop")
    lines.append("  br i1 %more, label %loop, label %added")
    lines.append("added:")
    total = "%t0"
    for k in range(1, SUMS):
        lines.append(f"  %u{k} = fadd {vector} {total}, %t{k}")
        total = f"%u{k}"
    lines.append("  %at = getelementptr [32 x i8], ptr %out, i64 %c")
    lines.append(f"  store {vector} {total}, ptr %at, align 8")
    lines.append("  %following = add i64 %c, 1")
    lines.append("  %others = icmp slt i64 %following, %last")
    lines.append("  br i1 %others, label %chunk, label %done")
    lines.append("done:")
    return "\n".join([*lines, "  ret void", "}"])


class Reading:
    """The bare loop over as many doubles as the array has, in the memory that arrays of atoll get."""

    def __init__(self, elements: int) -> None:
        self.chunks = max(1, elements // CHUNK)
        self.factor = elements / (self.chunks * CHUNK)
        """By how much the loop's time falls short of the array's, which is not cut into whole chunks."""
        with atoll.config(small=0):
            self.data = np.asarray(atoll.ones(self.chunks * CHUNK))
        self.out = np.zeros((self.chunks, LANES))
        self.block = np.array([self.data.ctypes.data, self.out.ctypes.data], np.int64)
        self.function = compile_text("bare_reading_of_four", reading_text())

    def seconds(self, threads: int) -> float:
        """One measurement."""
        start = perf_counter()
        parallel_for(self.function, self.block.ctypes.data, self.chunks, threads)
        return (perf_counter() - start) * self.factor


def measured(program: Program, n: int, seconds: float) -> dict[str, Any]:
    """NumPy, atoll and the bare loops on one program, in turns."""
    lanes = [cold_lane(program, n, contestant(name, program.name)) for name in ("numpy", "atoll")]
    wrong = differences(lanes[1].first, lanes[0].first, program.tolerance or 0.0)
    reading, threads = Reading(n * n), atoll.config.threads
    turns: dict[str, Callable[[], float]] = {
        "numpy": lambda: lanes[0].do(1),
        "atoll": lambda: lanes[1].do(1),
        "alone": lambda: reading.seconds(1),
        "together": lambda: reading.seconds(threads),
    }
    once = min(sum(turn() for turn in turns.values()) for _ in range(2))
    times: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(int(min(MOST, max(FEWEST, seconds / once)))):
        names = list(turns)
        for name in names if number % 2 else reversed(names):
            times[name].append(turns[name]())
    best = list(map(min, times["alone"], times["together"]))

    def ratio(above: list[float], below: list[float]) -> float:
        return median(map(float.__truediv__, above, below))

    return {
        "program": program.name,
        "n": n,
        "threads": threads,
        **{name: median(found) for name, found in times.items()},
        "least": {name: min(found) for name, found in times.items()},
        "bandwidth": 8 * n * n / min(map(min, (times["alone"], times["together"]))) / 1e9,
        "times": ratio(times["numpy"], times["atoll"]),
        "possible": ratio(times["numpy"], best),
        "of_reading": ratio(best, times["atoll"]),
        "wrong": wrong,
    }


def main() -> int:
    """Measure what the command line asks for; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs of the group reductions; all by default")
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=3.0, help="measuring time per program")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    given = parser.parse_args()
    n, seconds = (200, 0.0) if given.smoke else (given.n, given.seconds)
    programs = chosen(given.names or ["reductions"])
    table = [measured(program, n, seconds) for program in programs] if given.json else []
    if given.json:
        print(json.dumps(table))
        return int(any(found["wrong"] for found in table))
    print(f"load {os.getloadavg()[0]:.1f}; milliseconds, medians")
    print(f"{'program':14} {'NumPy':>8} {'atoll':>8} {'read, 1':>8} {'read':>8} {'times':>7} {'possible':>9} {'of reading':>11}")  # fmt: skip
    failures = 0
    for program in programs:
        found = measured(program, n, seconds)
        failures += bool(found["wrong"])
        print(
            f"{found['program']:14} "
            + " ".join(
                f"{found[key] * 1e3:8.2f}" for key in ("numpy", "atoll", "alone", "together")
            )
            + f" {found['times']:7.2f} {found['possible']:9.2f} {found['of_reading']:11.2f}"
            + (f"  WRONG: {found['wrong']}" if found["wrong"] else ""),
            flush=True,
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
