"""The programs of users on ranks: against one process with as many threads, and against NumPy.

    python benchmarks/users_on_ranks.py [names or classes...] [--sizes medium] [--ranks 2] [--seconds 2] [--limit 60] [--smoke]
                                        [--json FILE]

Each program and size has processes of its own (``atoll run -n 2``). All ranks run the program, then rank 0 runs it alone with as many
threads in a world of its own, then in NumPy, while the other ranks sleep; and so in turns. ``threads`` is the time of one process over that of
the ranks, ``numpy`` NumPy's over that of the ranks, by the clock and in processor time of rank 0: medians of the ratios in a round, above 1 where
ranks are faster. ``kB`` and ``messages`` are what rank 0 has sent in a run. Results are compared with NumPy's, and a wrong one, or a program that
takes longer than ``--limit``, makes the command fail; times never do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy
from measuring import differences
from ranks import Turns
from user_programs import PROGRAMS, SIZES
from users import chosen, copied, plain

HEAD = (
    f"{'program':18}{'n':>9}{'NumPy ms':>10}{'process':>9}{'ranks':>9}{'threads':>9}{'numpy':>8}"
    f"{'(cpu)':>8}{'(cpu)':>8}{'kB':>9}{'messages':>9}"
)


def measured(name: str, size: str, seconds: float) -> dict[str, Any]:
    """What the ranks that call this together measure."""
    import atoll
    from atoll import World
    from atoll.comm.single import SingleCommunicator
    from atoll.config import config

    program, turns, mine = PROGRAMS[name], Turns(), World(SingleCommunicator())
    n = program.sizes[size]
    data = program.arguments(numpy, n)
    results: dict[str, Any] = {}
    busy: dict[str, float] = {}

    def lane(key: str, module: Any) -> Callable[[], None]:
        def run() -> None:
            given = copied(data)
            if module is atoll:
                given = [atoll.array(v) if hasattr(v, "shape") else v for v in given]
                atoll.sync()
            start = time.process_time()
            results[key] = program.run(module, *given)
            if module is atoll:
                atoll.sync()
            busy[key] = time.process_time() - start

        return run

    together, by_numpy = lane("ranks", atoll), lane("numpy", numpy)
    process = lane("process", atoll)

    def alone() -> None:
        with mine, config(threads=turns.size):
            process()

    rounds: list[dict[str, float]] = []
    end = time.perf_counter() + seconds
    going = True
    while going:
        before = atoll.stats()
        times = {"ranks": turns.together(together)}
        after = atoll.stats()
        times["process"], times["numpy"] = turns.alone(alone), turns.alone(by_numpy)
        rounds.append({**times, **{f"{key} cpu": value for key, value in busy.items()}})
        going = turns.comm.bcast(time.perf_counter() < end or len(rounds) < min(4, 2 * seconds))
    found = plain(results["ranks"])
    wrong = ""
    if not turns.rank:
        tolerance = max(program.tolerance, 1e-12)
        wrong = differences(found, plain(results["numpy"]), tolerance)
    late = rounds[len(rounds) // 2 :]

    def of(key: str) -> float:
        return median(times.get(key, 0.0) for times in late)

    def ratio(other: str, kind: str = "") -> float:
        return median(
            times.get(other + kind, 0.0) / max(times[f"ranks{kind}"], 1e-9) for times in late
        )

    return {
        "program": name, "size": size, "n": n, "ranks": turns.size, "rounds": len(rounds),
        "numpy_ms": of("numpy") * 1e3, "process_ms": of("process") * 1e3, "ranks_ms": of("ranks") * 1e3,
        "threads": ratio("process"), "numpy": ratio("numpy"),
        "threads_cpu": ratio("process", " cpu"), "numpy_cpu": ratio("numpy", " cpu"),
        "kB": (after.bytes_moved - before.bytes_moved) / 1e3,
        "messages": after.messages - before.messages, "wrong": wrong,
    }  # fmt: skip


def started(name: str, size: str, given: argparse.Namespace) -> dict[str, Any]:
    """What a new group of ranks finds, within the limit."""
    command = [
        sys.executable,
        "-m",
        "atoll",
        "run",
        "-n",
        str(given.ranks),
        __file__,
        name,
        "--child",
    ]
    command += ["--sizes", size, "--seconds", str(given.seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"ATOLL_NUM_THREADS": "1", "ATOLL_WAIT_ABORT": str(given.limit)}
    row = {"program": name, "size": size, "n": PROGRAMS[name].sizes[size], "ranks": given.ranks}
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
        row = json.loads(lines[-1])
    else:
        said = [line for line in err.splitlines() if "Error" in line] or err.splitlines()
        row["wrong"] = f"ended with {process.returncode}: {said[0] if said else ''}"[:300]
    return row


def line(row: dict[str, Any]) -> str:
    """A measurement for people to read."""
    said = f"{row['program']:18}{row['n']:>9}"
    if "rounds" in row:
        said += f"{row['numpy_ms']:10.2f}{row['process_ms']:9.2f}{row['ranks_ms']:9.2f}"
        said += f"{row['threads']:9.2f}{row['numpy']:8.2f}{row['threads_cpu']:8.2f}{row['numpy_cpu']:8.2f}"
        said += f"{row['kB']:9.0f}{row['messages']:9}"
    return said + (f"  WRONG: {row['wrong']}" if row["wrong"] else "")


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="programs or classes of them; all unless some are named"
    )
    parser.add_argument("--sizes", default="medium", help=f"any of {','.join(SIZES)}")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="measuring time per program")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="the most that a program may take"
    )
    parser.add_argument("--smoke", action="store_true", help="tiny, to see it work")
    parser.add_argument("--json", type=Path, help="write what was found")
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
    print(HEAD, flush=True)
    for program in chosen(given.names):
        for size in sizes:
            table.append(started(program.name, size, given))
            print(line(table[-1]), flush=True)
            if given.json:
                given.json.write_text(json.dumps(table, indent=1))
    done = [row for row in table if "rounds" in row]
    for text, key in (("threads", "threads"), ("NumPy", "numpy")):
        ratios = [row[key] for row in done]
        if ratios:
            print(f"against {text:16}{geometric_mean(ratios):.2f} of {len(ratios)}")
    if bad := [row["program"] for row in table if row["wrong"]]:
        raise SystemExit(f"wrong or failed: {', '.join(dict.fromkeys(bad))}")


if __name__ == "__main__":
    main()
