"""Programs of many sciences, as their users would write them: how much faster than NumPy?

    python benchmarks/users.py [names...] [--seconds 3.0] [--smoke] [--json FILE]

Each program of ``sciences/`` runs in two processes of its own. In the first no kernel is known, neither in memory nor
on disk (Python's sources are compiled, as where atoll is installed): ``first`` compares that run with NumPy's first. In the second the kernels lie on disk: ``again`` is its first
run, and then NumPy and atoll take turns: ``warm`` is the median of the ratios. Above 1 atoll is faster.
Results are compared with NumPy's, and a wrong one makes the command fail; times never do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy
from installed import compiled_sources
from measuring import differences
from sciences import SCIENCES

import atoll
from atoll.errors import FallbackWarning

LIMIT = 600


def plain(result: Any) -> Any:
    """What a program returned as NumPy's arrays, everything evaluated."""
    if isinstance(result, tuple):
        return tuple([plain(one) for one in result])
    return numpy.array(result)


def timed(name: str, module: Any, n: int) -> tuple[float, Any]:
    """One run of a program, and its result."""
    start = time.perf_counter()
    result = plain(SCIENCES[name].run(module, n))
    return time.perf_counter() - start, result


def measure(name: str, n: int, seconds: float) -> dict[str, Any]:
    """What one process finds out about one program."""
    shown: list[type[Warning]] = []
    warnings.showwarning = lambda message, category, *rest: shown.append(category)
    theirs, expected = timed(name, numpy, n)
    ours, found = timed(name, atoll, n)
    first = atoll.stats()
    wrong = differences(found, expected, SCIENCES[name].tolerance)
    ratios, times = [], []
    end = time.perf_counter() + seconds
    while seconds and (len(ratios) < 3 or time.perf_counter() < end) and len(ratios) < 200:
        if len(ratios) % 2:
            ours_now, found = timed(name, atoll, n)
            theirs_now, expected = timed(name, numpy, n)
        else:
            theirs_now, expected = timed(name, numpy, n)
            ours_now, found = timed(name, atoll, n)
        ratios.append(theirs_now / ours_now)
        times.append(theirs_now)
        wrong = wrong or differences(found, expected, SCIENCES[name].tolerance)
    after = atoll.stats()
    return {
        "program": name,
        "n": n,
        "first": theirs / ours,
        "warm": median(ratios) if ratios else None,
        "numpy": median(times) if times else theirs,
        "wrong": wrong,
        "fallbacks": sum(issubclass(kind, FallbackWarning) for kind in shown),
        "plans": first.plans_made,
        "kernels": first.kernels_compiled,
        "plans_later": (after.plans_made - first.plans_made) / max(1, len(ratios)),
    }


def child(name: str, folder: str, *options: str) -> dict[str, Any]:
    """What a new process found."""
    done = subprocess.run(
        [sys.executable, __file__, name, "--child", *options],
        capture_output=True,
        text=True,
        env={**os.environ, "ATOLL_KERNEL_CACHE": folder},
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, options: list[str], seconds: float) -> dict[str, Any]:
    """The line of one program."""
    with tempfile.TemporaryDirectory() as folder:
        cold = child(name, folder, *options, "--seconds", "0")
        again = child(name, folder, *options, "--seconds", str(seconds))
    kernels = cold["kernels"]
    wrong = cold["wrong"] or again["wrong"]
    return {**again, "again": again["first"], "first": cold["first"], "kernels": kernels} | {
        "wrong": wrong
    }


def tabled(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Measure one program, and print its line."""
    if given.smoke:
        found = measure(name, SCIENCES[name].tiny, 1e-9)
        found["again"] = found["first"]
    else:
        found = row(name, [], given.seconds)
    print(
        f"{name:17}{found['n']:>9}{found['numpy'] * 1e3:>10.2f}{found['first']:>8.2f}"
        f"{found['again']:>8.2f}{found['warm']:>8.2f}{found['fallbacks']:>10}{found['plans']:>7}"
        f"{found['plans_later']:>7.1f}{found['kernels']:>9}  {found['wrong']}",
        flush=True,
    )
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="names", help="programs; all unless some are named"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="measuring time per program")
    parser.add_argument(
        "--smoke", action="store_true", help="tiny, in this process, to see it work"
    )
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = set(given.names) - SCIENCES.keys()
    if unknown:
        raise SystemExit(f"there is no program {min(unknown)!r}; there are {', '.join(SCIENCES)}")
    names = given.names or list(SCIENCES)
    if given.child:
        for name in names:
            print(json.dumps(measure(name, SCIENCES[name].usual, given.seconds)))
        return
    print(f"{'program':17}{'n':>9}{'NumPy ms':>10}{'first':>8}{'again':>8}{'warm':>8}"
          f"{'warnings':>10}{'plans':>7}{'later':>7}{'kernels':>9}")  # fmt: skip
    with nullcontext() if given.smoke else compiled_sources():
        table = [tabled(name, given) for name in names]
    if len(table) > 1:
        means = [geometric_mean([one[key] for one in table]) for key in ("first", "again", "warm")]
        print(f"{'all':36}{means[0]:>8.2f}{means[1]:>8.2f}{means[2]:>8.2f}")
    if given.json:
        given.json.write_text(json.dumps(table, indent=1))
    if any(one["wrong"] for one in table):
        raise SystemExit("results differ from NumPy's")


if __name__ == "__main__":
    main()
