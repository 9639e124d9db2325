"""The programs of users on ranks: what a rank works, and waits, against one process of one thread.

    python benchmarks/users_on_ranks.py [names...] [--ranks 2] [--rounds 5] [--everywhere N] [--smoke]

Started by itself, it starts its ranks. A name is a program of ``user_programs/`` or of the suite, with another size behind a
colon (``elimination:1000``). Rank 0 is also the one process: in each round it runs the program in a world
of its own while the others sleep. ``work`` is the processor time of the busiest rank outside of waits for others, in that of
the one process; ``time`` the same for the clock on the wall; both the best of all rounds. Counts are those of rank 0 in one
run: messages, messages to all (``joint``), plans that were looked up or made, and waits. Results
are compared, and a wrong one makes the command fail.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from measuring import differences
from programs import PROGRAMS
from ranks import Turns
from user_programs import PROGRAMS as USER_PROGRAMS
from users import copied, plain

import atoll
from atoll import World
from atoll.comm.single import SingleCommunicator
from atoll.config import config

TYPICAL = (
    "gaussian_process", "orthogonal", "life", "neurons", "ising", "elimination", "sieve", "automaton", "kmers", "logistic",
    "maxwell", "epidemic", "grayscott", "wave2d", "redblack", "conjugate", "advection", "align", "lbm", "pi",
)  # fmt: skip
STEPS = 3
"""How many steps of a program of the suite are one run."""


class Waits:
    """The time of this thread that goes into waiting for other ranks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.count = 0
        self._inside = False

    def watch(self, kind: type, name: str) -> None:
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


@contextmanager
def alone(world: World) -> Iterator[None]:
    """One process of one thread."""
    with world, config(threads=1):
        yield


def run_of(spec: str, smoke: bool) -> tuple[Callable[[], Any], int, float]:
    """A run of a program, its size, and how far results may be apart."""
    name, _, size = spec.partition(":")
    if name in USER_PROGRAMS:
        written = USER_PROGRAMS[name]
        n = int(size) if size else written.sizes["smoke" if smoke else "medium"]
        return (
            (lambda: plain(written.run(atoll, *copied(written.arguments(atoll, n))))),
            n,
            max(written.tolerance, 1e-9),
        )
    program = PROGRAMS[name]
    n = int(size) if size else program.sizes["tiny"] if smoke else 400

    def steps() -> Any:
        running = program.run(atoll, n)
        for _ in range(STEPS):
            next(running)
        return plain(next(running))

    return steps, n, max(program.tolerance, 1e-9)


def measure(turns: Turns, spec: str, rounds: int, smoke: bool, waits: Waits) -> dict[str, Any]:
    """What one program takes, on rank 0."""
    run, n, tolerance = run_of(spec, smoke)
    mine = World(SingleCommunicator())
    last: list[Any] = [None, None]
    times: list[tuple[float, float, float, float]] = []
    traffic = atoll.world.communicator.traffic

    def timed(lane: int) -> tuple[float, float]:
        start, busy, waited = time.perf_counter(), time.thread_time(), waits.seconds
        last[lane] = run()
        work = time.thread_time() - busy - (waits.seconds - waited)
        return time.perf_counter() - start, work

    def other() -> None:
        with alone(mine):
            found.extend(timed(1))

    counted: dict[str, int] = {}
    for _ in range(rounds + 2):  # in the first two, plans are made
        gc.collect()
        before, joint, count = atoll.stats(), traffic.collectives, waits.count
        turns.comm.Barrier()
        found = [turns.comm.allreduce(one, turns._max) for one in timed(0)]
        after = atoll.stats()
        counted = {
            "messages": after.messages - before.messages,
            "joint": traffic.collectives - joint,
            "plans": after.plans_made
            + after.plans_reused
            - before.plans_made
            - before.plans_reused,
            "waits": waits.count - count,
        }
        turns.alone(other)
        times.append(tuple(found + [0.0] * (4 - len(found))))  # type: ignore[arg-type]
    wrong = ""
    if turns.rank == 0:
        wrong = differences(last[0], last[1], tolerance)
    best = [max(min(column), 1e-9) for column in zip(*times[2:], strict=True)]
    ratios = {"time": best[0] / best[2], "work": best[1] / best[3]}
    return {"program": spec, "n": n, "one": best[3] * 1e3, **ratios, **counted, "wrong": wrong}


def main() -> int:
    """Print the table; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs, with sizes or without")
    parser.add_argument("--ranks", type=int, default=2, help="how many ranks")
    parser.add_argument("--rounds", type=int, default=5, help="how many rounds are measured")
    parser.add_argument("--everywhere", type=int, help="config.everywhere on the ranks")
    parser.add_argument("--smoke", action="store_true", help="tiny, to see it work")
    given = parser.parse_args()
    for spec in given.names:
        if spec.partition(":")[0] not in {*USER_PROGRAMS, *PROGRAMS}:
            parser.error(f"there is no program {spec!r}")
    if atoll.world.size == 1:
        again = [
            sys.executable,
            "-m",
            "atoll",
            "run",
            "-n",
            str(given.ranks),
            __file__,
            *sys.argv[1:],
        ]
        return subprocess.call(again)
    from atoll.comm.mpi import MpiCommunicator
    from atoll.comm.mpi_requests import MpiRequest

    waits = Waits()
    for kind, names in (
        (MpiCommunicator, ("wait_some", "wait_all", "allreduce", "_wait_small")),
        (MpiRequest, ("wait",)),
    ):
        for name in names:
            waits.watch(kind, name)
    turns = Turns()
    if given.everywhere is not None:
        config.everywhere = given.everywhere
    if turns.rank == 0:
        print(f"{'program':22}{'n':>9}{'one_ms':>9}{'work':>7}{'time':>7}{'messages':>10}{'joint':>7}"
              f"{'plans':>7}{'waits':>7}", flush=True)  # fmt: skip
    wrong = 0
    for spec in given.names or TYPICAL:
        found = measure(turns, spec, 1 if given.smoke else given.rounds, given.smoke, waits)
        if turns.rank == 0:
            wrong += bool(found["wrong"])
            print(
                f"{spec:22}{found['n']:>9}{found['one']:>9.1f}{found['work']:>7.2f}{found['time']:>7.2f}"
                f"{found['messages']:>10}{found['joint']:>7}{found['plans']:>7}{found['waits']:>7}  {found['wrong']}",
                flush=True,
            )
    return 1 if turns.comm.bcast(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
