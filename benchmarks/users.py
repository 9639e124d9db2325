"""Programs as users write them: NumPy, atoll, JAX and Numba on each of them, checked and timed in one command.

    python benchmarks/users.py [names or classes...] [--sizes small,medium,large] [--threads 1,2] [--peers jax,numba]
                               [--seconds 3] [--limit 60] [--smoke] [--json FILE] [--docs]

Each program of ``user_programs/``, size and number of threads has a process of its own, bound to so many cores, in which no
kernel is known (Python's sources are compiled, as where atoll is installed). NumPy's turns are in a process without atoll, as before
the import is changed. ``first`` is how many seconds longer than NumPy atoll takes in its first
turn. Then all contestants take turns. ``times`` is NumPy's processor time over atoll's, ``wall`` the same by the clock, and so for the peers:
medians of the ratios in a round of the second half, above 1 faster than NumPy. Arguments are copied outside of the times.
Results are compared with NumPy's, and a wrong one makes the command fail; times never do. A process that takes
longer than ``--limit`` is ended, and what it has measured so far is used: then ``>`` stands before the seconds.

``--docs`` writes what was measured into ``docs/contributors/benchmarks.json``, in place of what was there of the same programs. The
site has a table and a picture of it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy
import report
from installed import compiled_sources
from measuring import differences
from peers import Contestant, contestant
from user_programs import CLASSES, PROGRAMS, SIZES, Program

PEERS = ("jax", "numba")
MOST_ROUNDS = 100
LONG = 2.0
"""Seconds of a first turn after which what is known is said before a second one."""


def plain(result: Any) -> Any:
    """What a program returned as NumPy's arrays, everything evaluated."""
    if isinstance(result, tuple | list):
        return tuple([plain(part) for part in result])
    return numpy.array(result)


def copied(data: tuple[Any, ...]) -> list[Any]:
    """The same arguments for one more run."""
    return [value.copy() if hasattr(value, "shape") else value for value in data]


@dataclass
class Lane:
    """One contestant at work on a program."""

    who: Contestant
    run: Callable[..., Any]
    data: tuple[Any, ...]
    first: float = 0.0
    clock: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    result: Any = None
    wrong: str = ""

    def turn(self) -> float:
        """One run; its seconds."""
        given = copied(self.data)
        self.who.finish(tuple([value for value in given if hasattr(value, "shape")]))
        busy, start = time.process_time(), time.perf_counter()
        result = self.run(*given)
        self.who.finish(result)
        self.clock.append(time.perf_counter() - start)
        self.busy.append(time.process_time() - busy)
        self.result = plain(result)
        return self.clock[-1]

    def check(self, expected: Any, tolerance: float) -> None:
        """Compare the last result; peers may use other types, and round in another way."""
        found = self.result
        if self.who.name != "atoll":
            found, expected, tolerance = _floats(found), _floats(expected), max(tolerance, 1e-6)
        self.wrong = self.wrong or differences(found, expected, tolerance)

    def facts(self, numpy_s: Lane) -> dict[str, Any]:
        """What is known so far, relative to NumPy; in the first half of the turns kernels become final."""
        at = min(len(self.clock), len(numpy_s.clock)) // 2

        def ratio(theirs: list[float], mine: list[float]) -> float:
            return median(a / max(b, 1e-9) for a, b in zip(theirs[at:], mine[at:]))

        return {
            "first": self.first,
            "cpu": median(self.busy[at:]),
            "wall": median(self.clock[at:]),
            "ratio": ratio(numpy_s.busy, self.busy),
            "ratio_wall": ratio(numpy_s.clock, self.clock),
            "wrong": self.wrong,
        }


@dataclass
class Apart(Lane):
    """A contestant whose turns are in a process of their own; the last result is one of this process."""

    process: subprocess.Popen[str] | None = None

    def turn(self) -> float:
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file=self.process.stdin, flush=True)
        clock, busy = json.loads(self.process.stdout.readline())
        self.clock.append(clock)
        self.busy.append(busy)
        return float(clock)


def apart(lane: Lane, program: Program, size: str) -> Apart:
    """The same contestant, after its first turn elsewhere."""
    command = [sys.executable, __file__, program.name, "--turns", lane.who.name, "--sizes", size]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    )
    new = Apart(lane.who, lane.run, lane.data, result=lane.result, process=process)
    new.first = new.turn()
    return new


def take_turns(program: Program, size: str, name: str) -> None:
    """A turn of a contestant for each line of the standard input."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        each = lane(program, program.sizes[size], name)
        for _ in sys.stdin:
            each.turn()
            print(json.dumps([each.clock[-1], each.busy[-1]]), flush=True)


def _floats(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple([_floats(part) for part in result])
    return result.astype(complex if result.dtype.kind == "c" else float)


def lane(program: Program, n: int, name: str) -> Lane:
    """A contestant before its first turn."""
    if name == "numba":
        who = Contestant(name, numpy, lambda result: None)
    else:
        who = contestant(name, program.name)
    if name in ("numpy", "atoll"):
        return Lane(who, partial(program.run, who.module), program.arguments(who.module, n))
    data = program.data(numpy, n)
    if name == "jax":
        data = tuple([who.module.asarray(v) if hasattr(v, "shape") else v for v in data])
    return Lane(who, program.forms[name](importlib.import_module(name)), data)


def measured(
    program: Program, size: str, threads: int, names: list[str], seconds: float, is_apart: bool
) -> Iterator[dict[str, Any]]:
    """What is known of a program after each stage, the last time all of it; NumPy's turns may be apart."""
    n = program.sizes[size]
    row: dict[str, Any] = {"program": program.name, "size": size, "n": n, "threads": threads}
    row |= {"contestants": {}, "refused": {}, "fallbacks": 0}
    shown: list[type[Warning]] = []
    lanes: list[Lane] = []

    def known() -> dict[str, Any]:
        row["contestants"] = {lane.who.name: lane.facts(lanes[0]) for lane in lanes}
        row["fallbacks"] = sum(kind.__name__ == "FallbackWarning" for kind in shown)
        return row

    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.showwarning = lambda message, category, *rest: shown.append(category)
        for name in names:
            try:
                new = lane(program, n, name)
                new.first = new.turn()
                if is_apart and name == "numpy":
                    new = apart(new, program, size)
                lanes.append(new)
                if name != "atoll" or new.first < LONG:
                    new.turn()
                if len(lanes) > 1:
                    new.check(lanes[0].result, program.tolerance)
            except Exception as error:
                row["refused"][name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            yield known()
        end = time.perf_counter() + seconds
        for turn in range(MOST_ROUNDS):
            if time.perf_counter() > end and turn > (0 if seconds else -1):
                break
            for each in lanes if turn % 2 else reversed(lanes):
                each.turn()
                time.sleep(0.001)  # threads that wait for more work must not count for the next
            for each in lanes[1:]:
                each.check(lanes[0].result, program.tolerance)
            yield known()
    yield known()


def child(
    program: Program, size: str, threads: int, given: argparse.Namespace, peers: list[str]
) -> dict[str, Any]:
    """What a new process finds, within the limit."""
    command = [sys.executable, __file__, program.name, "--child", "--sizes", size]
    command += ["--threads", str(threads), "--seconds", str(given.seconds)]
    command += ["--peers", ",".join(peers)]
    variables = (
        "ATOLL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
    environment = {**os.environ, **dict.fromkeys(variables, str(threads))}
    environment |= {"OMP_WAIT_POLICY": "passive", "ATOLL_KERNEL_CACHE": "off"}
    ended = False
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        try:
            process.wait(given.limit)
        except subprocess.TimeoutExpired:
            ended = True
            process.kill()
            process.wait()
        out.seek(0)
        err.seek(0)
        lines = [line for line in out.read().splitlines() if line.endswith("}")]
        said = err.read().splitlines()
    row: dict[str, Any] = {
        "program": program.name,
        "size": size,
        "n": program.sizes[size],
        "threads": threads,
    }
    row |= {"contestants": {}, "refused": {}, "fallbacks": 0}
    if lines:
        row = json.loads(lines[-1])
    if ended and "numpy" in row["contestants"] and "atoll" not in row["contestants"]:
        theirs = row["contestants"]["numpy"]
        row["contestants"]["atoll"] = {
            "first": given.limit, "cpu": given.limit, "wall": given.limit, "wrong": "",
            "ratio": theirs["cpu"] / given.limit, "ratio_wall": theirs["wall"] / given.limit,
        }  # fmt: skip
    elif process.returncode and not ended:
        row["refused"]["atoll"] = f"ended with {process.returncode}: {said[-1] if said else ''}"[
            :200
        ]
    return {**row, "ended": ended}


def rows(program: Program, size: str, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The measurements of one program at one size."""
    peers = [name for name in given.peers if name in program.forms]
    if given.smoke:
        *_, row = measured(program, size, 0, ["numpy", "atoll", *peers], 0.0, False)
        yield row | {"ended": False}
        return
    for threads in given.threads:
        yield child(program, size, threads, given, peers)


def machine() -> str:
    """The machine in general terms."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = [f"Python {platform.python_version()}", f"NumPy {numpy.__version__}"]
    for name in PEERS:
        if importlib.util.find_spec(name) is not None:
            versions.append(f"{name} {importlib.import_module(name).__version__}")
    return f"{platform.system()} on {platform.machine()}, {cores} cores, {', '.join(versions)}"


def chosen(names: list[str]) -> list[Program]:
    """The programs of these names or classes; all where none is named."""
    unknown = set(names) - PROGRAMS.keys() - set(CLASSES)
    if unknown:
        raise SystemExit(
            f"users: there is no program {min(unknown)!r}; there are {', '.join([*CLASSES, *PROGRAMS])}"
        )
    return [p for p in PROGRAMS.values() if not names or p.name in names or p.kind in names]


def bound(threads: int) -> None:
    """This process on so many cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="programs or classes of them; all unless some are named"
    )
    parser.add_argument("--sizes", default="medium", help=f"any of {','.join(SIZES)}")
    parser.add_argument("--threads", default="1", help="numbers of threads, as in 1,2")
    parser.add_argument("--peers", help=f"any of {','.join(PEERS)}; those installed unless --smoke")
    parser.add_argument("--seconds", type=float, default=3.0, help="measuring time per process")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="the most that a process may take"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="tiny, in this process, to see it work"
    )
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument(
        "--docs", action="store_true", help="keep the measurements for the documentation"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--turns", help=argparse.SUPPRESS)
    given = parser.parse_args()
    programs = chosen(given.names)
    sizes = given.sizes.split(",")
    given.threads = [int(count) for count in given.threads.split(",")]
    if unknown := set(sizes) - set(SIZES):
        parser.error(f"there is no size {min(unknown)!r}; there are {', '.join(SIZES)}")
    if given.smoke:
        sizes = ["smoke"]
    if given.peers is None:
        given.peers = "" if given.smoke else ",".join(PEERS)
    wanted = [name for name in given.peers.split(",") if name]
    if unknown := set(wanted) - set(PEERS):
        parser.error(f"there is no peer {min(unknown)!r}; there are {', '.join(PEERS)}")
    given.peers = [name for name in wanted if importlib.util.find_spec(name) is not None]
    if given.turns:
        take_turns(programs[0], sizes[0], given.turns)
        return
    if given.child:
        bound(given.threads[0])
        names = ["numpy", "atoll", *given.peers]
        for row in measured(programs[0], sizes[0], given.threads[0], names, given.seconds, True):
            print(json.dumps(row), flush=True)
        return
    for name in wanted:
        if name not in given.peers:
            print(f"{name} is not installed: left out")
    table: list[dict[str, Any]] = []
    print(report.HEAD, flush=True)
    with nullcontext() if given.smoke else compiled_sources():
        for program in programs:
            for size in sizes:
                for row in rows(program, size, given):
                    table.append(row)
                    print(report.line(row), flush=True)
            if given.json:
                given.json.write_text(json.dumps(table, indent=1))
    print(*report.means(table), sep="\n")
    if given.docs:
        report.write(table, machine())
    bad = [row for row in table if report.trouble(row)]
    if bad:
        raise SystemExit(
            f"wrong or failed: {', '.join(dict.fromkeys(row['program'] for row in bad))}"
        )


if __name__ == "__main__":
    main()
