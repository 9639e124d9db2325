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
from dataclasses import asdict

from . import given


def options(parser: argparse.ArgumentParser) -> None:
    """What follows ``atoll machine``."""
    parser.add_argument("path", metavar="PATH", nargs="?", type=given, help="the file to write")


def main(asked: argparse.Namespace) -> int:
    """Measure; the exit code."""
    from ..errors import LaunchError
    from .doctor import ProbeError, ask
    from .measuring import measured
    from .mpiexec import find

    ranks = None
    try:
        launcher = find()
        command = launcher.command(2, [sys.executable, "-m", "atoll.cli.measuring"])
        environment = {**os.environ, **launcher.environment(), "ATOLL_THREADS": "1"}
        ranks = {name: float(str(fact)) for name, fact in ask(command, environment).items()}
    except (LaunchError, ProbeError) as problem:
        print(f"atoll machine: messages are not measured: {problem}", file=sys.stderr)
    machine = measured(ranks)
    if asked.path:
        machine.save(asked.path)
    print(json.dumps(asdict(machine), indent=1))
    return 0
