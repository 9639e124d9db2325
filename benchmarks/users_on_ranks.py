"""The programs of users on ranks: against one process with as many threads, and against NumPy.

    python benchmarks/users_on_ranks.py [names or classes...] [--sizes medium] [--ranks 2] [--seconds 2] [--limit 60]
                                        [--everywhere N] [--smoke] [--json FILE]

A name is a program of ``user_programs/``, a class of them, or a program of the suite, with another size behind a colon (``elimination:1000``).
Each has processes of its own (``atoll run -n 2``). In each round all ranks run it, then rank 0 runs it alone with as many
threads in a world of its own, then in NumPy, while the other ranks sleep. ``threads`` is the time of one process over that of
the ranks, ``numpy`` NumPy's over that of the ranks, by the clock: above 1 where ranks are faster. ``work`` is the processor time of the busiest
rank outside of waits for others, in that of the one process, which other load on the machine disturbs least. All are medians of the second half of
the rounds, and arguments are made outside of the times. Counts are those of rank 0 in one run: messages, messages to all (``joint``), plans
that were looked up or made, waits, and kB that were sent. Results are compared with NumPy's, and a wrong one, or a program that takes longer
than ``--limit``, makes the command fail; times never do.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy
import programs
from measuring import differences
from ranks import Turns
from user_programs import CLASSES, PROGRAMS, SIZES
from users import chosen, copied, plain

STEPS = 3
"""How many steps of a program of the suite are one run."""
RATIOS = ("threads", "numpy", "work")
COUNTS = ("messages", "joint", "plans", "waits", "kB")
HEAD = (
    f"{'program':22}{'n':>9}{'numpy_ms':>10}{'process_ms':>11}{'ranks_ms':>10}"
    + "".join([f"{name:>8}" for name in RATIOS])
    + "".join([f"{name:>9}" for name in COUNTS])
)
Given = Callable[[Any], list[Any]]
Run = Callable[..., Any]


class Waits:
    """The time of this thread that goes into waiting for other ranks."""

    def __init__(self) -> None:
        from atoll.comm.mpi import MpiCommunicator
        from atoll.comm.mpi_requests import MpiRequest

        self.seconds = 0.0
        self.count = 0
        self._inside = False
        for name in ("wait_some", "wait_all"):
            self._watch(MpiCommunicator, name)
        self._watch(MpiRequest, "wait")

    def _watch(self, kind: type, name: str) -> None:
        """Count the time that a method takes, unless it is part of another one's."""
        waiting = getattr(kind, name)

        def watched(*args: Any, **options: Any) -> Any:
            if self._inside:
                return waiting(*args, **options)
            self._inside = True
            start = time.thread_time()
            try:
                return waiting(*args, **options)
            finally:
                self._inside = False
                self.seconds += time.thread_time() - start
                self.count += 1

        setattr(kind, name, watched)


def run_of(name: str, size: str) -> tuple[Given, Run, int, float]:
    """The arguments of a program, a run of it with a module, its size, and how far results may be apart."""
    if name in PROGRAMS:
        program = PROGRAMS[name]
        n = program.sizes[size] if size in SIZES else int(size)
        data = program.arguments(numpy, n)

        def given(module: Any) -> list[Any]:
            if module is numpy:
                return copied(data)
            return [module.array(v) if hasattr(v, "shape") else v for v in data]

        return given, program.run, n, max(program.tolerance, 1e-12)
    suite = programs.PROGRAMS[name]
    usual = {"smoke": suite.sizes["tiny"]}
    n = usual.get(size, 400) if size in SIZES else int(size)

    def steps(module: Any) -> Any:
        running = suite.run(module, n)
        for _ in range(STEPS):
            next(running)
        return next(running)

    return lambda _: [], steps, n, max(suite.tolerance, 1e-9)


def measured(name: str, size: str, seconds: float) -> dict[str, Any]:
    """What the ranks that call this together measure."""
    import atoll
    from atoll import World
    from atoll.comm.single import SingleCommunicator
    from atoll.config import config

    given, run, n, tolerance = run_of(name, size)
    turns, waits, mine = Turns(), Waits(), World(SingleCommunicator())
    traffic = atoll.world.communicator.traffic
    results: dict[str, Any] = {}
    rounds: list[dict[str, float]] = []

    def arguments() -> list[Any]:
        values = given(atoll)
        atoll.sync()
        return values

    def together(*values: Any) -> None:
        results["ranks"] = run(atoll, *values)
        atoll.sync()

    def arguments_alone() -> list[Any]:
        with mine, config(threads=turns.size):
            return arguments()

    def process(*values: Any) -> None:
        with mine, config(threads=turns.size):
            results["process"] = run(atoll, *values)
            atoll.sync()

    def by_numpy(*values: Any) -> None:
        results["numpy"] = run(numpy, *values)

    end, going = time.perf_counter() + seconds, True
    while going:
        gc.collect()
        values = arguments()
        before, joint, waited, count = (
            atoll.stats(),
            traffic.collectives,
            waits.seconds,
            waits.count,
        )
        busy = time.thread_time()
        times = {"ranks": turns.together(partial(together, *values))}
        work = time.thread_time() - busy - (waits.seconds - waited)
        after = atoll.stats()
        del values
        times["busy"] = float(turns.comm.allreduce(work, turns._max))
        values = [] if turns.rank else arguments_alone()  # the others sleep already
        busy = time.process_time()
        times["process"] = turns.alone(partial(process, *values))
        times["alone"] = time.process_time() - busy
        times["numpy"] = turns.alone(partial(by_numpy, *given(numpy)))
        rounds.append(times)
        going = turns.comm.bcast(time.perf_counter() < end or len(rounds) < min(4, 2 * seconds))
        counts = {
            "messages": after.messages - before.messages,
            "joint": traffic.collectives - joint,
            "plans": after.plans_made
            + after.plans_reused
            - before.plans_made
            - before.plans_reused,
            "waits": waits.count - count,
            "kB": (after.bytes_moved - before.bytes_moved) // 1000,
        }
    found, wrong = plain(results["ranks"]), ""
    if not turns.rank:
        wrong = differences(found, plain(results["numpy"]), tolerance)
    late = rounds[len(rounds) // 2 :]

    def ratio(over: str, under: str) -> float:
        return median(each[over] / max(each[under], 1e-9) for each in late)

    return {
        "program": name, "size": size, "n": n, "ranks": turns.size, "rounds": len(rounds),
        **{f"{key}_ms": median(each[key] for each in late) * 1e3 for key in ("numpy", "process", "ranks")},
        "threads": ratio("process", "ranks"), "numpy": ratio("numpy", "ranks"), "work": ratio("busy", "alone"),
        **counts, "wrong": wrong,
    }  # fmt: skip


def started(name: str, size: str, given: argparse.Namespace) -> dict[str, Any]:
    """What a new group of ranks measures, within the limit."""
    command = [sys.executable, "-m", "atoll", "run", "-n", str(given.ranks), __file__, name]
    command += ["--child", "--sizes", size, "--seconds", str(given.seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"ATOLL_NUM_THREADS": "1", "ATOLL_WAIT_ABORT": str(given.limit)}
    if given.everywhere is not None:
        environment["ATOLL_EVERYWHERE"] = str(given.everywhere)
    row: dict[str, Any] = {"program": name, "size": size, "ranks": given.ranks, "wrong": ""}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        out, err = process.communicate(timeout=given.limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate()
        return row | {"wrong": f"took longer than {given.limit:g} s"}
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if lines:
        return row | json.loads(lines[-1])
    said = [line for line in err.splitlines() if "Error" in line] or err.splitlines() or [""]
    return row | {"wrong": f"ended with {process.returncode}: {said[0]}"[:300]}


def line(spec: str, row: dict[str, Any]) -> str:
    """A measurement for people to read."""
    said = f"{spec:22}"
    if "rounds" in row:
        said += (
            f"{row['n']:>9}{row['numpy_ms']:10.2f}{row['process_ms']:11.2f}{row['ranks_ms']:10.2f}"
        )
        said += "".join([f"{row[key]:8.2f}" for key in RATIOS])
        said += "".join([f"{row[key]:9}" for key in COUNTS])
    return said + (f"  WRONG: {row['wrong']}" if row["wrong"] else "")


def specs_of(names: list[str], sizes: list[str]) -> list[tuple[str, str, str]]:
    """What is measured: as it is called, the program, its size."""
    sized = [name for name in names if ":" in name or name in programs.PROGRAMS]
    rest = [name for name in names if name not in sized]
    for name in sized:
        if name.partition(":")[0] not in {*PROGRAMS, *programs.PROGRAMS}:
            raise SystemExit(f"users_on_ranks: there is no program {name!r}")
    found = [(name, name.partition(":")[0], name.partition(":")[2] or sizes[0]) for name in sized]
    usual = chosen(rest) if rest or not names else []
    each = [(program.name, program.name, size) for program in usual for size in sizes]
    if rest and set(rest) <= PROGRAMS.keys() and not set(rest) & set(CLASSES):
        each.sort(key=lambda spec: rest.index(spec[0]))
    return each + found


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs or classes; all unless some are named")
    parser.add_argument("--sizes", default="medium", help=f"any of {','.join(SIZES)}")
    parser.add_argument("--ranks", type=int, default=2, help="how many ranks")
    parser.add_argument("--seconds", type=float, default=2.0, help="measuring time per program")
    parser.add_argument("--limit", type=float, default=60.0, help="the most a program may take")
    parser.add_argument("--everywhere", type=int, help="config.everywhere on the ranks")
    parser.add_argument(
        "--smoke", action="store_true", help="tiny, and some programs only, to see it work"
    )
    parser.add_argument("--json", type=Path, help="write what was measured")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            row = measured(given.names[0], given.sizes, given.seconds)
        import atoll

        if atoll.world.rank == 0:
            print(json.dumps(row), flush=True)
        return
    sizes = ["smoke"] if given.smoke else given.sizes.split(",")
    if unknown := set(sizes) - set(SIZES):
        parser.error(f"there is no size {min(unknown)!r}; there are {', '.join(SIZES)}")
    if given.smoke:
        given.seconds = 0.0
    table = []
    specs = specs_of(given.names, sizes)
    if given.smoke and not given.names:
        specs = specs[::10]
    print(HEAD, flush=True)
    for spec, name, size in specs:
        table.append(started(name, size, given))
        print(line(spec, table[-1]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(table, indent=1))
    done = [row for row in table if "rounds" in row]
    if len(done) > 2:
        for key in RATIOS:
            print(f"{key:9}{geometric_mean([row[key] for row in done]):.2f} of {len(done)}")
    if bad := [row["program"] for row in table if row["wrong"]]:
        raise SystemExit(f"wrong or failed: {', '.join(dict.fromkeys(bad))}")


if __name__ == "__main__":
    main()
