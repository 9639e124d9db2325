"""What ``atoll.model`` expects of a step, against what the step takes, on ranks of this machine.

    python benchmarks/model.py [names...] [--ranks 1,2] [--machine FILE] [--smoke] [--json FILE]

Measures this machine before each program (or reads FILE, which ``atoll machine FILE`` has written), models the program on it, and runs the program on
as many ranks with one thread each.

``measured``  the best time of many steps: of one rank by its processor, of several by the clock, until the slowest is done
``ratio``     what the model expects over that
``work``      the same without what ranks wait for each other: expected and measured time of the busiest processor. Where other
    programs use the machine it says more than the clock
``error``     what the model says of its own error
The largest part of the expected time is named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from users_on_ranks import Waits

import atoll as np
from atoll.cli.mpiexec import find
from atoll.config import config
from atoll.modelling import Estimate, Machine
from atoll.modelling.machines import machine_of

ROOT = Path(__file__).resolve().parents[1]


def laplace(n: int) -> Iterator[Any]:
    """Jacobi steps with the norm of the change: GAiN's paper's program."""
    u, step = np.zeros((n, n)), 1 / (n - 1)
    u[0] = np.linspace(0, 1, n) ** 2
    while True:
        yield _advance(u, step)


def _advance(u: Any, step: float) -> float:
    old = u.copy()
    u[1:-1, 1:-1] = (
        (u[:-2, 1:-1] + u[2:, 1:-1]) * step**2 + (u[1:-1, :-2] + u[1:-1, 2:]) * step**2
    ) * (0.25 / step**2)
    v = (u - old).flat
    return float(np.sqrt(np.dot(v, v)))


def cg(n: int) -> Iterator[Any]:
    """A conjugate gradient of the discrete Laplacian."""
    x, r = np.zeros((n, n)), np.ones((n, n))
    p, rho = r.copy(), float(n * n)
    while True:
        q = 4 * p
        q[1:] -= p[:-1]
        q[:-1] -= p[1:]
        q[:, 1:] -= p[:, :-1]
        q[:, :-1] -= p[:, 1:]
        alpha = rho / (p * q).sum()
        x += alpha * p
        r -= alpha * q
        before, rho = rho, (r * r).sum()
        p = r + (rho / before) * p
        yield float(rho)


def heat3d(n: int) -> Iterator[Any]:
    """Diffusion in three dimensions."""
    u = np.zeros((n, n, n))
    u[n // 3] = 1.0
    while True:
        yield _diffuse(u)


def _diffuse(u: Any) -> float:
    core = u[1:-1, 1:-1, 1:-1]
    around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
    around = around + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
    u[1:-1, 1:-1, 1:-1] = core + 0.1 * (around - 6 * core)
    return float(u[len(u) // 2, len(u) // 2].sum())


def kmeans(n: int) -> Iterator[Any]:
    """Lloyd's algorithm for points in the plane."""
    generator = np.random.default_rng(1)
    points, centers = generator.random((n, 2)), generator.random((10, 2))
    lengths = (points * points).sum(1)
    while True:
        distances = lengths[:, None] - 2 * np.dot(points, centers.T) + (centers**2).sum(1)
        labels = np.argmin(distances, axis=1)
        counts = np.bincount(labels, minlength=10)
        sums = [np.bincount(labels, weights=points[:, k], minlength=10) for k in (0, 1)]
        centers = np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
        yield float(centers[0, 0])


def formula(n: int) -> Iterator[Any]:
    """Long formulas of each element, and their largest value."""
    x, y = np.linspace(0, 1, n * n), np.linspace(1, 2, n * n)
    while True:
        z = x
        for _ in range(12):
            z = z * y + x
        yield float(z.max())


def matmul(n: int) -> Iterator[Any]:
    """A product of matrices."""
    a, b = np.ones((n, n)), np.ones((n, n))
    while True:
        c = a @ b
        yield float(c[0, 0])


def sort(n: int) -> Iterator[Any]:
    """Random numbers in order."""
    a = np.random.default_rng(1).random(n * n)
    while True:
        b = np.sort(a)
        yield float(b[0])


def fft(n: int) -> Iterator[Any]:
    """A filter in two dimensions: a transform, a factor, and the transform back."""
    u, factor = np.ones((n, n)), np.linspace(0, 1, n)
    while True:
        u = np.fft.ifft2(np.fft.fft2(u) * factor).real
        yield float(u[0, 0])


def reductions(n: int) -> Iterator[Any]:
    """Means, deviations and extremes of rows and of all elements."""
    a = np.ones((n, n))
    a[::2] = 2.0
    while True:
        rows = a.mean(1)
        deviation = ((a - rows[:, None]) ** 2).sum(0)
        yield float(deviation.max()) + float(a.min()) + float(a.std())


def nbody(n: int) -> Iterator[Any]:
    """Masses that attract each other, all pairs."""
    x, y = np.linspace(0, 1, n), np.linspace(1, 3, n) ** 2
    vx, vy = np.zeros(n), np.zeros(n)
    while True:
        dx, dy = x[None, :] - x[:, None], y[None, :] - y[:, None]
        inverse = (dx * dx + dy * dy + 0.01) ** -1.5
        vx += 1e-6 * (dx * inverse).sum(1)
        vy += 1e-6 * (dy * inverse).sum(1)
        x += 1e-3 * vx
        y += 1e-3 * vy
        yield float(x[0])


WEIGHTS = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
VELOCITIES = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))


def boltzmann(n: int) -> Iterator[Any]:
    """A lattice Boltzmann step of nine velocities."""
    f = [np.full((n, n), weight) for weight in WEIGHTS]
    f[1][n // 2] += 0.01
    while True:
        for k, (cx, cy) in enumerate(VELOCITIES):
            f[k] = np.roll(np.roll(f[k], cx, 0), cy, 1)
        rho = sum(f[1:], f[0])
        ux = sum([cx * each for each, (cx, _) in zip(f, VELOCITIES, strict=True) if cx]) / rho
        uy = sum([cy * each for each, (_, cy) in zip(f, VELOCITIES, strict=True) if cy]) / rho
        square = 1.5 * (ux * ux + uy * uy)
        for k, (cx, cy) in enumerate(VELOCITIES):
            along = 3 * (cx * ux + cy * uy)
            f[k] += 0.6 * (WEIGHTS[k] * rho * (1 + along + 0.5 * along * along - square) - f[k])
        yield float(f[0][0, 0])


PROGRAMS: dict[str, tuple[Callable[[int], Iterator[Any]], tuple[int, ...]]] = {
    "laplace": (laplace, (600, 1000, 2000)),
    "cg": (cg, (600, 1000, 2000)),
    "heat3d": (heat3d, (80, 140)),
    "formula": (formula, (1000, 2000)),
    "reductions": (reductions, (1000, 2000)),
    "nbody": (nbody, (1000, 2000)),
    "boltzmann": (boltzmann, (400, 1000)),
    "kmeans": (kmeans, (200_000, 1_000_000)),
    "fft": (fft, (512, 1024)),
    "matmul": (matmul, (1000, 2000)),
    "sort": (sort, (1000, 2000)),
}
WARM = 12
"""Steps before those that are measured: plans are made, and trials have ended."""
SMOKE = {"laplace": 40, "matmul": 30}
WAITS = ("latency", "network")
"""The parts of an estimate in which a processor waits."""


def run(name: str, n: int, seconds: float) -> tuple[float, float]:
    """The seconds of a step on these ranks, and those of the busiest processor outside of waits, the best of many.

    One rank's are those of its processor, which other programs disturb less; ranks wait for each other.
    """
    program = PROGRAMS[name][0](n)
    communicator = np.world.communicator
    alone = communicator.size == 1
    clock = time.thread_time if alone else time.perf_counter
    waits = None if alone else Waits()
    for _ in range(WARM):
        next(program)
    np.sync()
    best = least = float("inf")
    rounds, end = 0, time.perf_counter() + seconds
    while True:
        if not alone:
            communicator.barrier()
        waited = waits.seconds if waits else 0.0
        start, worked = clock(), time.thread_time()
        next(program)
        took, work = clock() - start, time.thread_time() - worked
        work -= waits.seconds - waited if waits else 0.0
        rounds += 1
        late = time.perf_counter() > end and rounds > 3
        if alone:
            best = min(best, took)
            if late:
                return best, best
            continue
        every = communicator.allgather_object((took, work, late))
        best = min(best, max([each for each, _, _ in every]))
        least = min(least, max([each for _, each, _ in every]))
        if every[0][2]:
            return best, least


def started(name: str, n: int, ranks: int, seconds: float, smoke: bool) -> tuple[float, float]:
    """The same, on so many ranks of their own."""
    command = [sys.executable, str(Path(__file__)), "--run", name, str(n), str(seconds)]
    if smoke:
        command.append("--smoke")
    environment = {**os.environ, "ATOLL_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if ranks > 1:
        launcher = find()
        command = launcher.command(ranks, command)
        environment |= launcher.environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{name} on {ranks} ranks failed:\n{done.stderr[-2000:]}")
    best, work = map(float, done.stdout.split()[-2:])
    return best, work


def expected(name: str, n: int, ranks: int, machine: Machine) -> Estimate:
    """What the model says."""
    program = PROGRAMS[name][0]

    def steps() -> Iterator[Any]:
        yield from program(n)

    return np.model(steps, ranks, machine)


def here() -> Machine:
    """This machine as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "here.json"
        command = [sys.executable, "-m", "atoll", "machine", str(path)]
        subprocess.run(command, capture_output=True, timeout=300, check=True)
        return machine_of(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(PROGRAMS)}")
    parser.add_argument("--ranks", default="1,2", help="how many ranks, separated by commas")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each measurement")
    parser.add_argument("--machine", help="a file of `atoll machine`, or the name of a machine")
    parser.add_argument("--json", type=Path, help="the file to write the rows to")
    parser.add_argument("--smoke", action="store_true", help="measure hardly anything")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with config(small=0, everywhere=0) if options.smoke else nullcontext():
        if options.run:
            name, n, seconds = options.run
            best, work = run(name, int(n), float(seconds))
            if np.world.rank == 0:
                print(best, work)
            return
        rows = compared(options)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def compared(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of the table, printed as they come."""
    print(
        f"{'program':11}{'n':>8}{'ranks':>6}{'measured':>11}{'expected':>11}{'ratio':>7}{'work':>7}{'error':>7}  bound by",
        flush=True,
    )
    rows = []
    for name in options.names or (SMOKE if options.smoke else PROGRAMS):
        # measured again for each program: what others do on the machine then slows down both
        given = options.machine or ("workstation" if options.smoke else "")
        machine = machine_of(given) if given else here()
        for n in [SMOKE[name]] if options.smoke else PROGRAMS[name][1]:
            for ranks in map(int, options.ranks.split(",")):
                estimate = expected(name, n, ranks, machine)
                took, work = started(
                    name, n, ranks, 0.0 if options.smoke else options.seconds, options.smoke
                )
                busy = estimate.seconds - sum([estimate.parts[part] for part in WAITS])
                row = {
                    "program": name, "n": n, "ranks": ranks, "measured": took, "expected": estimate.seconds, "ratio": estimate.seconds / took,
                    "work": busy / work, "error": estimate.error, "bound": estimate.bound, "parts": estimate.parts,
                }  # fmt: skip
                rows.append(row)
                print(
                    f"{name:11}{n:>8}{ranks:>6}{took * 1e3:>8.3f} ms{estimate.seconds * 1e3:>8.3f} ms{row['ratio']:>7.2f}{row['work']:>7.2f}"
                    f"{estimate.error / estimate.seconds:>7.0%}  {estimate.bound}",
                    flush=True,
                )
    return rows


if __name__ == "__main__":
    main()
