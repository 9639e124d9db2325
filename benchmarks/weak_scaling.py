"""Weak scaling: programs on 1, 2 and 4 ranks against bare mpi4py with NumPy's kernels, in the same run.

    python benchmarks/weak_scaling.py [names...] [--ranks 1,2,4] [--size full] [--seconds S] [--smoke] [--json FILE]

The programs are ``laplace``, ``cg``, ``sort``, ``fft``, ``matmul``, ``kmeans``, ``pagerank``, ``lbm`` (lattice Boltzmann) and ``nbody``;
their versions with mpi4py are in ``bare_programs.py``.

Ranks have one thread each. The work of a rank stays the same: a program on ``r`` ranks has ``r`` times the rows, points, nodes or elements
(``matmul``: ``r`` times the elements; ``nbody``: ``r`` times the pairs). In each round all ranks run both programs, then rank 0 runs
both alone, on one rank's share, while the others sleep; the order alternates. Reported are

``bare``, ``atoll``  the milliseconds of a step on all ranks, until the slowest is done
``e_bare``, ``e_atoll``  the efficiency: the time of one rank alone over that of all ranks (of a matrix product: for equal work)
``time``, ``eff``  how much faster than the bare program atoll is, and how much better it scales; the aim is 0.9 for both
``work``  the same as ``time`` in processor time of the busiest rank outside of waits, which says more than the clock where there are
    more ranks than cores, since those that wait take the others' cores
``messages``, ``kB``  what a rank sends in a step: the bare program, then atoll (operations of all ranks count as one)

All are medians over the rounds. Results are compared; a wrong one makes the command fail, and times never do.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy
from bare_programs import BARE, CLUSTERS, DAMPING, DIRECTIONS, WEIGHTS, Bare, collided
from programs import PROGRAMS as SUITE
from ranks import Turns
from threadpoolctl import threadpool_limits
from users_on_ranks import Waits

HEAD = (
    f"{'program':8}{'ranks':>6}{'bare':>9}{'atoll':>9}{'e_bare':>8}{'e_atoll':>8}{'time':>7}{'eff':>7}{'work':>7}"
    f"{'messages':>11}{'kB':>15}"
)
SIZES = {
    "smoke": {
        "laplace": 40, "cg": 40, "sort": 3000, "fft": 24, "matmul": 24,
        "kmeans": 600, "pagerank": 300, "lbm": 24, "nbody": 24,
    },
    "small": {
        "laplace": 300, "cg": 300, "sort": 100_000, "fft": 256, "matmul": 256,
        "kmeans": 20_000, "pagerank": 20_000, "lbm": 150, "nbody": 200,
    },
    "full": {
        "laplace": 1500, "cg": 1000, "sort": 2_000_000, "fft": 1024, "matmul": 1000,
        "kmeans": 400_000, "pagerank": 200_000, "lbm": 500, "nbody": 1500,
    },
}  # fmt: skip
"""Rows of the square of one rank; elements of ``sort``, points of ``kmeans``, nodes of ``pagerank``, bodies of ``nbody``."""
STEPS = {
    "laplace": 10, "cg": 10, "sort": 3, "fft": 3, "matmul": 3,
    "kmeans": 3, "pagerank": 5, "lbm": 3, "nbody": 3,
}  # fmt: skip
"""How many steps are timed together, as a loop would run them."""
COLUMNS = ("fft", "lbm")
"""Programs whose results lie in blocks of the second axis in their bare versions."""


def data(name: str, n: int, size: int) -> Any:
    """What a program starts from, the same on all ranks."""
    random = numpy.random.default_rng(29)
    if name == "laplace":
        x = numpy.linspace(0, 1, n)
        y = numpy.linspace(0, 1, n * size)
        u = numpy.zeros((n * size, n))
        u[0], u[-1], u[:, 0], u[:, -1] = 0 - x**2, 1 - x**2, y**2, y**2 - 1
        return u
    if name == "cg":
        return random.random((n * size, n))
    if name == "sort":
        return random.random(n * size)
    if name == "fft":
        return random.random((n * size, n)) + 1j * random.random((n * size, n))
    if name == "kmeans":
        return random.random((n * size, 8))
    if name == "pagerank":
        edges = random.integers(0, n * size, (2, 10 * n * size))
        edges[0, : n * size] = numpy.arange(n * size)  # no node is without an edge that leaves it
        return edges
    if name == "lbm":
        weights = numpy.array(WEIGHTS)[:, None, None]
        return weights * (1 + 0.1 * random.random((9, n * size, n)))
    if name == "nbody":
        bodies = round(n * size**0.5 / size) * size
        return random.random((bodies, 4)) / [1, 1, 1, bodies]
    side = round(n * size**0.5)
    return random.random((2, side, side))


def program(name: str, np: Any, given: Any) -> Callable[[], Any]:
    """A step of a program as it is written for NumPy, or for atoll; each call goes on with the last one's."""
    if name == "laplace":
        step, u = _laplace, np.array(given)
        return lambda: step(np, u)
    if name == "cg":
        steps = SUITE["cg"].run(_Random(np, given), len(given))
        next(steps)
        return lambda: next(steps)
    if name in LOOPS:
        steps = LOOPS[name](np, given)
        return lambda: next(steps)
    if name == "matmul":
        a, b = np.array(given[0]), np.array(given[1])
        return lambda: (a @ b,)
    array = np.array(given)
    return lambda: (np.sort(array) if name == "sort" else np.fft.fft2(array),)


class _Random:
    """An array module whose first array is given: the program of the suite draws a square."""

    def __init__(self, np: Any, given: Any) -> None:
        self._np, self._given = np, given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._np, name)

    def array(self, _: Any) -> Any:
        return self._np.array(self._given)

    def zeros(self, _: Any) -> Any:
        return self._np.zeros(self._given.shape)


def _laplace(np: Any, u: Any) -> Any:
    old = u.copy()
    u[1:-1, 1:-1] = (
        (u[0:-2, 1:-1] + u[2:, 1:-1]) * 0.7 + (u[1:-1, 0:-2] + u[1:-1, 2:]) * 0.3
    ) * 0.5
    v = (u - old).flat
    return u, np.sqrt(np.dot(v, v))


def _kmeans(np: Any, given: Any) -> Iterator[Any]:
    points = np.array(given)
    centres = points[:CLUSTERS].copy()
    while True:
        distances = np.sum(centres**2, axis=1) - 2 * (points @ centres.T)
        labels = np.argmin(distances, axis=1)
        counts = np.bincount(labels, minlength=CLUSTERS)
        sums = [np.bincount(labels, weights=axis, minlength=CLUSTERS) for axis in points.T]
        old, centres = centres, np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
        yield centres, np.abs(centres - old).max()


def _pagerank(np: Any, given: Any) -> Iterator[Any]:
    source, target = np.array(given[0]), np.array(given[1])
    degree = np.bincount(source)
    nodes = len(degree)
    rank = np.full(nodes, 1 / nodes)
    while True:
        arriving = np.bincount(target, weights=rank[source] / degree[source], minlength=nodes)
        old, rank = rank, (1 - DAMPING) / nodes + DAMPING * arriving
        yield rank, np.abs(rank - old).sum()


def _lbm(np: Any, given: Any) -> Iterator[Any]:
    f = np.array(given)
    while True:
        out = collided(np, f)
        for i, shift in enumerate(DIRECTIONS):
            f[i] = np.roll(out[i], shift, axis=(0, 1))
        yield (f,)


def _nbody(np: Any, given: Any) -> Iterator[Any]:
    x, mass = np.array(given[:, :3]), np.array(given[:, 3])
    v = np.zeros_like(x)
    while True:
        apart = x[None, :, :] - x[:, None, :]
        square = (apart**2).sum(axis=2) + 0.01
        a = (apart * (mass / square**1.5)[:, :, None]).sum(axis=1)
        v += 0.01 * a
        x += 0.01 * v
        yield (x,)


LOOPS = {"kmeans": _kmeans, "pagerank": _pagerank, "lbm": _lbm, "nbody": _nbody}


def wrong_of(turns: Turns, name: str, ours: Any, theirs: Any) -> str:
    """What differs between atoll's result and that of the bare program, on rank 0."""
    blocks = turns.comm.gather(numpy.ascontiguousarray(theirs[0]))
    found = numpy.asarray(ours[0])
    if turns.rank:
        return ""
    expected = numpy.concatenate(blocks, axis=1 if name in COLUMNS else 0)
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    apart = float(numpy.abs(found - expected).max() / numpy.abs(expected).max())
    return "" if apart < 1e-10 else f"apart by {apart:.1e} of the largest"


def measured(name: str, n: int, seconds: float) -> dict[str, Any]:
    """What the ranks that call this together measure."""
    from mpi4py import MPI

    import atoll
    from atoll import World
    from atoll.comm.single import SingleCommunicator

    turns, waits, mine = Turns(), Waits(), World(SingleCommunicator())
    size, steps = turns.size, STEPS[name]
    alone = size == 1
    traffic, bare = atoll.world.communicator.traffic, Bare(turns.comm)
    given, share = data(name, n, size), data(name, n, 1)
    last: dict[str, Any] = {}

    def repeated(key: str, step: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            last.pop(key, None)
            for _ in range(steps):
                last[key] = step()
                if len(last[key]) > 1:
                    float(
                        last[key][1]
                    )  # as a program looks at it; the array's memory stays atoll's own
                elif key.startswith("atoll"):
                    atoll.sync()

        return run

    runs = {
        "bare": repeated("bare", BARE[name](bare, given)),
        "atoll": repeated("atoll", program(name, atoll, given)),
        "bare 1": repeated("bare 1", BARE[name](Bare(MPI.COMM_SELF), share)),
    }
    with mine:
        single = repeated("atoll 1", program(name, atoll, share))

    def alone_in_mine() -> None:
        with mine:
            single()

    runs["atoll 1"] = alone_in_mine
    del given, share

    def timed(key: str) -> dict[str, float]:
        if key.endswith("1"):
            return {"clock": 0.0 if alone else turns.alone(runs[key]), "work": 0.0}
        bare.waited = waits.seconds = 0.0
        start = time.thread_time()
        clock = turns.together(runs[key])
        work = time.thread_time() - start - bare.waited - waits.seconds
        return {"clock": clock, "work": float(turns.comm.allreduce(work, MPI.MAX))}

    for _ in range(2):
        once = sum([timed(key)["clock"] for key in runs])
    wrong = wrong_of(turns, name, last["atoll"], last["bare"])
    before, bare.messages, bare.nbytes = traffic.copy(), 0, 0
    count = int(
        turns.comm.bcast(min(60, max(1 if seconds == 0 else 5, int(seconds / max(once, 1e-9)))))
    )
    rounds: list[dict[str, dict[str, float]]] = []
    for turn in range(count):
        order = list(runs) if turn % 2 else list(runs)[::-1]
        rounds.append({key: timed(key) for key in order})
    sent = traffic - before
    messages = [bare.messages, sent.messages_sent + sent.collectives]
    kilobytes = [bare.nbytes / 1e3, (sent.bytes_sent + sent.collective_bytes) / 1e3]
    more = (
        size**0.5 if name == "matmul" else 1.0
    )  # a product of r times the elements has r**1.5 times the work

    def over(top: str, bottom: str, kind: str = "clock") -> float:
        pairs = [(r[top][kind], r[bottom][kind]) for r in rounds]
        return median([a / b if b else 1.0 for a, b in pairs])

    efficiency = [
        1.0 if alone or turns.rank else over(f"{k} 1", k) * more for k in ("bare", "atoll")
    ]
    return {
        "program": name, "ranks": size, "n": n, "wrong": wrong, "rounds": count,
        "bare": median([r["bare"]["clock"] for r in rounds]) / steps * 1e3,
        "atoll": median([r["atoll"]["clock"] for r in rounds]) / steps * 1e3,
        "e_bare": efficiency[0], "e_atoll": efficiency[1],
        "time": over("bare", "atoll"), "eff": efficiency[1] / efficiency[0],
        "work": over("bare", "atoll", "work"),
        "messages": [m / steps / count for m in messages], "kB": [k / steps / count for k in kilobytes],
    }  # fmt: skip


def line(found: dict[str, Any]) -> str:
    """What was found, for a person."""
    text = f"{found['program']:8}{found['ranks']:6}{found['bare']:9.2f}{found['atoll']:9.2f}"
    text += "".join([f"{found[key]:8.2f}" for key in ("e_bare", "e_atoll")])
    text += "".join([f"{found[key]:7.2f}" for key in ("time", "eff", "work")])
    text += f"{'{:.0f} {:.0f}'.format(*found['messages']):>11}{'{:.0f} {:.0f}'.format(*found['kB']):>15}"
    return text + (f"   WRONG: {found['wrong']}" if found["wrong"] else "")


def on_ranks(options: argparse.Namespace) -> int:
    """As one of the ranks: measure the programs."""
    import atoll

    atoll.config.threads = 1
    if options.smoke:
        atoll.config.small = atoll.config.everywhere = 0  # arrays of any size stay distributed
    for name in options.names or list(BARE):
        with threadpool_limits(1):
            found = measured(name, SIZES[options.size][name], options.seconds)
        if atoll.world.rank == 0:
            print("measured " + json.dumps(found), flush=True)
        gc.collect()
    return 0


def main() -> int:
    """Start each number of ranks; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="what to measure; everything by default")
    parser.add_argument("--ranks", default="1,2,4", help="numbers of ranks, separated by commas")
    parser.add_argument("--size", default="full", choices=tuple(SIZES))
    parser.add_argument("--seconds", type=float, default=8.0, help="measuring time for each")
    parser.add_argument("--smoke", action="store_true", help="measure hardly anything")
    parser.add_argument("--json", type=Path, help="write everything into a file")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BARE]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(BARE)}")
    if options.smoke:
        options.seconds, options.size = 0.0, "smoke"
    if options.inside:
        return on_ranks(options)
    print(HEAD, flush=True)
    everything, failed = [], 0
    for ranks in ["2"] if options.smoke else options.ranks.split(","):
        command = [sys.executable, "-m", "atoll", "run", "-n", ranks, __file__, "--inside"]
        with subprocess.Popen([*command, *sys.argv[1:]], stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            for text in run.stdout:
                if not text.startswith("measured "):
                    print(text, end="", flush=True)
                    continue
                everything.append(json.loads(text.removeprefix("measured ")))
                failed += bool(everything[-1]["wrong"])
                print(line(everything[-1]), flush=True)
        failed += run.returncode != 0
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
