"""``atoll machine``: measures this machine for ``atoll.model``.

Measures what a core computes, what memory carries, what evaluations take, and what messages take between two ranks of this machine,
and prints the result as JSON. With PATH it writes a file that `atoll.model(program, ranks, network=PATH)` reads. Other work on
the machine spoils it. For a cluster, change `network` in the file to its latency in seconds and the bandwidth of a node in bytes
a second, `cores` to those of a node, and `nodes` to 0.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from . import given

SECONDS = 300
"""Timeout of a measurement, long enough for a busy machine."""
THREADS = ("ATOLL_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that set the number of threads of atoll and of linear algebra libraries."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll machine`` to a parser."""
    parser.add_argument("path", metavar="PATH", nargs="?", type=given, help="the file to write")


def main(asked: argparse.Namespace) -> int:
    """Measure; return the exit code."""
    from ..errors import LaunchError
    from .doctor import ProbeError, ask
    from .mpiexec import find

    probe = [sys.executable, "-m", "atoll.cli.measuring"]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    try:
        facts = ask(probe, environment, SECONDS)
    except ProbeError as problem:
        print(f"atoll machine: nothing is measured: {problem}", file=sys.stderr)
        return 1
    try:
        launcher = find()
        told = ask(launcher.command(2, probe), environment | launcher.environment(), SECONDS)
        link = {name: told.pop(name) for name in ("latency", "bandwidth")}
        facts |= {**told, "inside": link, "network": link}
    except (LaunchError, ProbeError) as problem:
        print(f"atoll machine: messages are not measured: {problem}", file=sys.stderr)
    text = json.dumps(facts, indent=1)
    if asked.path:
        with open(asked.path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)
    return 0
