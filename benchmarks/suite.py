"""How many times faster than NumPy: the benchmark programs, measured and checked in one command.

    python benchmarks/suite.py [names...] [--sizes small|full] [--smoke] [--json FILE]
                               [--plot FILE.svg] [--peers numexpr,numba,dask,jax,heat] [--ranks N]

Names are programs (``laplace``) or groups of them (``reductions``); without names the whole
suite runs. Each program runs in fresh processes: one in which NumPy, atoll and the peers take
turns (see ``measuring.py``), and one each for the peak memory of NumPy and of atoll. Results
are compared with NumPy's in the same run, and a wrong one makes the command fail. Times never
do: ``--smoke`` runs everything tiny, and in one process, to see that it works.

With ``--ranks N`` the same programs run under ``atoll run -n N``, in turns with one process of N
threads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from installed import compiled_sources
from peers import PEERS, installed
from plot import write_plot
from programs import chosen
from programs.program import Program

HERE = Path(__file__).resolve().parent
LIMIT = 900


class Failed(Exception):
    """A process of the suite did not do what it was started for."""


def child(
    programs: list[Program],
    size: str,
    *options: str,
    command: tuple[str, ...] = (sys.executable,),
    **environment: str,
) -> list[dict[str, Any]]:
    """What a process with ``measuring.py`` found, for each program."""
    names = ",".join([program.name for program in programs])
    # kernels are compiled anew, so that what is called cold is cold on every machine
    variables = {**os.environ, "ATOLL_KERNEL_CACHE": "off", **environment}
    try:
        done = subprocess.run(
            [*command, str(HERE / "measuring.py"), names, "--size", size, *options],
            capture_output=True,
            text=True,
            env=variables,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {LIMIT} s") from None
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != len(programs):
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failed(said[-1] if said else f"exit code {done.returncode}")
    return lines


def measured(
    programs: list[Program], size: str, seconds: float, peers: list[str]
) -> list[dict[str, Any]]:
    """Programs against NumPy: the times, and the memory of each in a process of its own."""
    contestants = ",".join(["numpy", "atoll", *peers])
    table = child(programs, size, "--seconds", str(seconds), "--contestants", contestants)
    for program, found in zip(programs, table, strict=True):
        full = size == "full"
        found["goal"] = program.goal if full else None
        found["copy_goal"] = program.copy_goal if full else None
        if size != "tiny":
            for name in ("numpy", "atoll"):
                (memory,) = child([program], size, "--peak", "--contestants", name)
                found["contestants"][name]["peak"] = memory["peak"]
    return table


def ranked(program: Program, size: str, seconds: float, ranks: int) -> dict[str, Any]:
    """One program on ranks of one thread, and in one process with as many threads."""
    options = ("--ranked", "--seconds", str(seconds))
    launcher = (sys.executable, "-m", "atoll", "run", "-n", str(ranks))
    turns = 1 if size == "tiny" else 3
    ratios = []
    for _ in range(turns):
        (one,) = child([program], size, *options, ATOLL_NUM_THREADS=str(ranks))
        (many,) = child([program], size, *options, command=launcher, ATOLL_NUM_THREADS="1")
        ratios.append(one["warm"] / many["warm"])
    return {
        **many,
        "one": one["warm"],
        "ratio": median(ratios),
        "wrong": many["wrong"] or one["wrong"],
    }


def in_time(seconds: float) -> str:
    """A time for a person."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def in_bytes(nbytes: int | None) -> str:
    """A number of MB; a dash where it is not known."""
    return "-" if nbytes is None else f"{nbytes / 1e6:.0f}"


def verdict(found: dict[str, Any]) -> str:
    """True if the goals of full size are met."""
    ours = found["contestants"]["atoll"]
    if found["goal"] is None:
        return ""
    goal = f"{found['goal']:.2g}x"
    if ours["ratio"] < found["goal"]:
        return f"short of {goal}"
    if found["copy_goal"] is not None and (ours["copies"] or 0) > found["copy_goal"]:
        return f"{goal}, but over {found['copy_goal']:g} copies"
    return f"meets {goal}"


HEAD = (
    "program", "size", "NumPy", "atoll", "times", "cold", "copies", "peak MB", "kernels", "buffers", "goal",
)  # fmt: skip


def row(found: dict[str, Any]) -> tuple[str, ...]:
    """The line of one program in the table."""
    theirs, ours = found["contestants"]["numpy"], found["contestants"]["atoll"]
    counters, loop = ours["counters"], ours["in_loop"]
    peaks = f"{in_bytes(theirs.get('peak'))} / {in_bytes(ours.get('peak'))}"
    buffers = f"{counters['created']}, +{loop['created']} -{loop['destroyed']}"
    return (
        found["program"],
        found["size"],
        in_time(theirs["warm"]),
        in_time(ours["warm"]),
        f"{ours['ratio']:.2f}",
        in_time(ours["cold"]),
        "-" if ours["copies"] is None else f"{ours['copies']:.2f}",
        peaks,
        str(counters["kernels_compiled"]),
        buffers,
        f"WRONG: {ours['wrong']}" if ours["wrong"] else verdict(found),
    )


WIDTHS = (15, 9, 9, 9, 7, 9, 7, 13, 8, 12, 4)


def line(cells: tuple[str, ...]) -> str:
    """Cells in columns."""
    return " ".join(
        [
            cell.ljust(width) if k in (0, len(cells) - 1) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, WIDTHS, strict=False))
        ]
    ).rstrip()


def peer_lines(found: dict[str, Any], peers: list[str]) -> list[str]:
    """What the peers did in the same run."""
    said = []
    for name in peers:
        if name in found["refused"]:
            said.append(f"    {name}: cannot, {found['refused'][name]}")
            continue
        peer = found["contestants"][name]
        ratio = f"{peer['ratio']:.2f} times NumPy, cold {in_time(peer['cold'])}"
        said.append(f"    {name}: {in_time(peer['warm'])}, {ratio}" + (f", WRONG: {peer['wrong']}" if peer["wrong"] else ""))  # fmt: skip
    return said


def single(given: argparse.Namespace, programs: list[Program], size: str) -> tuple[list[Any], int]:
    """Measure and print each program in one process; what was found, and how many failed."""
    peers = installed(given.peers.split(",")) if given.peers else []
    for name in given.peers.split(",") if given.peers else []:
        if name not in peers:
            print(f"{name} is not installed: left out")
    print(line(HEAD))
    table, failures = [], 0
    for together in [programs] if size == "tiny" else [[program] for program in programs]:
        try:
            part = measured(together, size, given.seconds, peers)
        except Failed as error:
            print(f"{together[0].name:15} FAILED: {error}", flush=True)
            failures += 1
            continue
        for found in part:
            failures += bool(found["contestants"]["atoll"]["wrong"])
            print(line(row(found)), *peer_lines(found, peers), sep="\n", flush=True)
        table += part
    return table, failures


def distributed(
    given: argparse.Namespace, programs: list[Program], size: str
) -> tuple[list[Any], int]:
    """Measure and print each program on ranks; what does not work yet is skipped with its reason."""
    print(f"{'program':15} {'size':>9} {'1 process':>10} {f'{given.ranks} ranks':>10} {'ratio':>7} {'messages':>9}")  # fmt: skip
    table, failures = [], 0
    for program in programs:
        try:
            found = ranked(program, size, given.seconds, given.ranks)
        except Failed as error:
            print(f"{program.name:15} skipped: {error}", flush=True)
            continue
        failures += bool(found["wrong"])
        print(
            f"{found['program']:15} {found['size']:>9} {in_time(found['one']):>10} {in_time(found['warm']):>10} "
            f"{found['ratio']:7.2f} {found['counters']['messages']:9}"
            + (f" WRONG: {found['wrong']}" if found["wrong"] else ""),
            flush=True,
        )
        table.append(found)
    return table, failures


def main() -> int:
    """Run what the command line asks for; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs or groups; all by default")
    parser.add_argument("--sizes", choices=("small", "full"), default="small")
    parser.add_argument("--smoke", action="store_true", help="everything tiny, to see it work")
    parser.add_argument("--seconds", type=float, default=6.0, help="measuring time per program")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    parser.add_argument("--plot", type=Path, help="draw the ratios to this SVG file")
    parser.add_argument("--peers", default="", help=f"any of {','.join(PEERS)}")
    parser.add_argument("--ranks", type=int, default=0, help="run on so many ranks")
    given = parser.parse_args()
    programs = chosen(given.names)
    size = "tiny" if given.smoke else given.sizes
    if given.smoke:
        given.seconds = 0.0
    measure = distributed if given.ranks else single
    with nullcontext() if given.smoke else compiled_sources():
        table, failures = measure(given, programs, size)
    if given.json:
        given.json.write_text(json.dumps({"sizes": size, "programs": table}, indent=1) + "\n")
    if given.plot and not given.ranks:
        write_plot(given.plot, table)
    if failures:
        print(f"{failures} of {len(programs)} programs failed", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
