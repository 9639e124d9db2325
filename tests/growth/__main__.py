"""The campaign: what a step of each capability costs a rank among any number, as a table.

python -m tests.growth [--sizes 100 10000 1000000] [--timed 3] [NAME ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from .counting import cost
from .programs import PROGRAMS


def row(name: str, sizes: list[int], timed: int) -> str:
    """A line of the table, with the counts at each number of ranks."""
    cells = []
    for size in sizes:
        found = cost(PROGRAMS[name], size, timed=timed)
        time = f", {found.milliseconds:.1f} ms" if timed else ""
        cells.append(f"{found.lines} / {found.nbytes // 1000} kB / {found.partners}{time}")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 10_000, 1_000_000])
    parser.add_argument("--timed", type=int, default=0, help="also time the step so many times")
    parser.add_argument("--limit", type=int, default=120, help="seconds for each capability")
    options = parser.parse_args()
    if len(options.names) == 1:
        print(row(options.names[0], options.sizes, options.timed), flush=True)
        return
    print("| capability |", " | ".join([f"{size:,} ranks" for size in options.sizes]), "|")
    print("|---" * (1 + len(options.sizes)) + "|", flush=True)
    for name in options.names or PROGRAMS:
        command = [sys.executable, "-m", "tests.growth", name, "--timed", str(options.timed)]
        command += ["--sizes", *map(str, options.sizes)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=options.limit, env=os.environ
            )
            lines = done.stderr.strip().splitlines() or [""]
            print(done.stdout.strip() or f"| {name} | {lines[-1][:200]} |", flush=True)
        except subprocess.TimeoutExpired:
            print(f"| {name} | more than {options.limit} s |", flush=True)


if __name__ == "__main__":
    main()
