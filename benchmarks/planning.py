"""What a plan costs on one rank of many, worked out without the others.

    python benchmarks/planning.py [--smoke] [--json]

A process that imagines to be one rank plans a step of Laplace's equation, with its error, from the
recorded operations to the launches and messages, kernels aside. First among 4, 64 and 1024 ranks
with the same share each: the times should be the same. Then 100,000 x 100,000 elements on
2,048 ranks: how long the plan takes, and what it would move and allocate.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from statistics import median
from typing import Any

import atoll
from atoll import Layout, World
from atoll.comm.dry_run import dry_run_world
from atoll.config import config

SHARE = (64, 512)
"""What each rank has, in the comparison over numbers of ranks."""


def laplace(u: Any) -> Any:
    """One step in place, and its change."""
    old = u.copy()
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return atoll.sqrt(((u - old) ** 2).sum())


def grid(shape: tuple[int, int], letters: str, size: int) -> Any:
    """A grid that is there, on the current world: only this rank's share of it."""
    u = atoll.zeros(shape, layout=Layout(shape, letters, size=size))
    u[0] = 1.0
    atoll.sync()
    return u


def planned(shape: tuple[int, int], letters: str, world: World) -> tuple[float, Any]:
    """The seconds that recording and planning a step take, and its explanation."""
    size = world.size
    with world:
        u = grid(shape, letters, size)
        gc.collect()
        start = time.perf_counter()
        explanation = atoll.explain(lambda: laplace(u))
        return time.perf_counter() - start, explanation


def compared(sizes: list[int], rounds: int) -> dict[str, Any]:
    """The seconds of a plan by number of ranks, measured in turns."""
    times: dict[int, list[float]] = {size: [] for size in sizes}
    worlds = {size: dry_run_world(size // 2, size) for size in sizes}
    messages = {}
    for turn in range(rounds + 1):
        for size in sizes:
            seconds, explanation = planned((SHARE[0] * size, SHARE[1]), "bn", worlds[size])
            messages[size] = len(explanation.messages)
            if turn:  # the first one works out the layouts of the views, once for all
                times[size].append(seconds)
    first = sizes[0]
    return {
        "ms": {size: median(found) * 1e3 for size, found in times.items()},
        "ratio": max(
            median(t / f for t, f in zip(times[size], times[first], strict=True)) for size in sizes
        ),
        "messages": messages,
    }


def large(n: int, size: int) -> dict[str, Any]:
    """One rank's plan of a large grid: by rows, and by squares."""
    found = {}
    for letters in ("bn", "bb"):
        seconds, explanation = planned((n, n), letters, dry_run_world(size // 2, size))
        sends = [m for m in explanation.messages if m.sends]
        found[letters] = {
            "ms": seconds * 1e3,
            "share_bytes": explanation.data[0].nbytes,
            "sends": len(sends),
            "bytes_sent": sum(m.nbytes for m in sends),
            "bytes_received": sum(m.nbytes for m in explanation.messages if not m.sends),
            "early": explanation.overlapped,
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="measure hardly anything")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    sizes, rounds = ([4, 16], 1) if options.smoke else ([4, 64, 1024], 25)
    n, ranks = (2_000, 64) if options.smoke else (100_000, 2_048)
    with config(small=0):
        steps, one = compared(sizes, rounds), large(n, ranks)
    if options.json:
        print(json.dumps({"steps": steps, "n": n, "ranks": ranks, "large": one}))
        return
    print(f"one rank's plan of a step of laplace, {SHARE[0]} x {SHARE[1]} elements on each rank")
    for size, milliseconds in steps["ms"].items():
        print(f"  {size:5} ranks  {milliseconds:8.2f} ms   {steps['messages'][size]} messages")
    print(f"  the slowest by the first: {steps['ratio']:.2f}   (at most 1.5)")
    print(f"one rank's plan of laplace, {n} x {n} elements on {ranks} ranks")
    for letters, facts in one.items():
        print(
            f"  {letters}: {facts['ms']:8.2f} ms, a share of {facts['share_bytes'] / 1e6:.1f} MB; "
            f"{facts['sends']} messages out, {facts['bytes_sent']} bytes, and "
            f"{facts['bytes_received']} in; {facts['early']:.1%} of the work while they travel"
        )


if __name__ == "__main__":
    main()
