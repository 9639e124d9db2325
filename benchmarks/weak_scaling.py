"""Weak scaling: programs on 1, 2 and 4 ranks against bare mpi4py with NumPy's kernels, in the same run.

    python benchmarks/weak_scaling.py [names...] [--ranks 1,2,4] [--size full] [--seconds S] [--smoke] [--json FILE]

Ranks have one thread each. The work of a rank stays the same: a program on
``r`` ranks has ``r`` times the rows or elements (a matrix product: ``r`` times the elements). In each round all ranks run
both programs, then rank 0 runs both alone, on one rank's share, while the others sleep; the order alternates. Reported are

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
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy
from programs import PROGRAMS as SUITE
from ranks import Turns
from threadpoolctl import threadpool_limits
from users_on_ranks import Waits

HEAD = (
    f"{'program':8}{'ranks':>6}{'bare':>9}{'atoll':>9}{'e_bare':>8}{'e_atoll':>8}{'time':>7}{'eff':>7}{'work':>7}"
    f"{'messages':>11}{'kB':>15}"
)
SIZES = {
    "smoke": {"laplace": 40, "cg": 40, "sort": 3000, "fft": 24, "matmul": 24},
    "small": {"laplace": 300, "cg": 300, "sort": 100_000, "fft": 256, "matmul": 256},
    "full": {"laplace": 1500, "cg": 1000, "sort": 2_000_000, "fft": 1024, "matmul": 1000},
}
"""Rows of one rank's square; for ``sort`` its elements."""
STEPS = {"laplace": 10, "cg": 10, "sort": 3, "fft": 3, "matmul": 3}
"""How many steps are timed together, as a loop would run them."""


class Bare:
    """The calls of mpi4py that the bare programs make, with their processor time, messages and bytes."""

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, comm.rank, comm.size
        self.waited, self.messages, self.nbytes = 0.0, 0, 0

    def _called(self, call: Callable[..., Any], messages: int, nbytes: int, *args: Any) -> Any:
        if self.size == 1:
            return call(*args)
        start = time.thread_time()
        result = call(*args)
        self.waited += time.thread_time() - start
        self.messages += messages
        self.nbytes += nbytes
        return result

    def halo(self, padded: Any) -> None:
        """Fill the first and last row by the neighbours' own."""
        if self.size > 1:
            self._called(self._halo, (self.rank > 0) + (self.rank < self.size - 1), 0, padded)

    def _halo(self, padded: Any) -> None:
        peers = [(self.rank - 1, 1, 0), (self.rank + 1, -2, -1)]
        peers = [peer for peer in peers if 0 <= peer[0] < self.size]
        requests = [self.comm.Irecv(padded[ghost], peer) for peer, _, ghost in peers]
        requests += [self.comm.Isend(padded[own], peer) for peer, own, _ in peers]
        self.nbytes += len(peers) * padded[0].nbytes
        for request in requests:
            request.Wait()

    def summed(self, value: float) -> float:
        """A number's sum over all ranks."""
        total = numpy.empty(1)
        self._called(self.comm.Allreduce, 1, 8, numpy.array([value]), total)
        return float(total[0])

    def alltoall(self, rows: Any) -> Any:
        """One row for each rank."""
        result = numpy.empty_like(rows)
        self._called(self.comm.Alltoall, 1, rows.nbytes, rows, result)
        return result

    def uneven(self, values: Any, counts: Any) -> Any:
        """Counted elements for each rank, one after the other."""
        arriving = self.alltoall(counts)
        result = numpy.empty(int(arriving.sum()), values.dtype)
        sent = (values, counts), (result, arriving)
        self._called(self.comm.Alltoallv, 1, values.nbytes, *sent)
        return result

    def allgather(self, values: Any) -> Any:
        """Every rank's values, stacked."""
        every = numpy.empty((self.size, *values.shape), values.dtype)
        self._called(self.comm.Allgather, 1, values.nbytes, values, every)
        return every

    def shift(self, values: Any, into: Any) -> list[Any]:
        """Begin to send to the rank before, and to receive from the one after."""
        before, after = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        self.messages += 1
        self.nbytes += values.nbytes
        return [self.comm.Irecv(into, after), self.comm.Isend(values, before)]

    def finish(self, requests: list[Any]) -> None:
        """Wait for what was begun."""
        for request in requests:
            self._called(request.Wait, 0, 0)


def bounds(total: int, parts: int, part: int) -> slice:
    """The rows of a rank, in even blocks."""
    return slice(total * part // parts, total * (part + 1) // parts)


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


def bare_program(name: str, bare: Bare, given: Any) -> Callable[[], Any]:
    """The same with mpi4py: each rank has some rows, and results lie in rows (a transform's in columns)."""
    return BARE[name](bare, given)


def bare_laplace(bare: Bare, given: Any) -> Callable[[], Any]:
    """Rows with a ghost row on either side."""
    rank, size = bare.rank, bare.size
    u = _padded(given[bounds(len(given), size, rank)])
    inner = slice(2 if rank == 0 else 1, -2 if rank == size - 1 else -1)
    start, stop, _ = inner.indices(len(u))
    above, below = slice(start - 1, stop - 1), slice(start + 1, stop + 1)

    def step() -> Any:
        bare.halo(u)
        old = u[1:-1].copy()
        u[inner, 1:-1] = (
            (u[above, 1:-1] + u[below, 1:-1]) * 0.7 + (u[inner, 0:-2] + u[inner, 2:]) * 0.3
        ) * 0.5
        v = (u[1:-1] - old).reshape(-1)
        return u[1:-1], bare.summed(float(numpy.dot(v, v))) ** 0.5

    return step


def _padded(block: Any) -> Any:
    padded = numpy.zeros((len(block) + 2, *block.shape[1:]))
    padded[1:-1] = block
    return padded


def bare_cg(bare: Bare, given: Any) -> Callable[[], Any]:
    """The search direction has the ghost rows."""
    r = given[bounds(len(given), bare.size, bare.rank)].copy()
    p, x = _padded(r), numpy.zeros_like(r)
    old = [bare.summed(float(numpy.sum(r * r)))]

    def step() -> Any:
        bare.halo(p)
        own = p[1:-1]
        q = 4 * own
        q -= p[:-2]
        q -= p[2:]
        q[:, 1:] -= own[:, :-1]
        q[:, :-1] -= own[:, 1:]
        alpha = old[0] / bare.summed(float(numpy.sum(own * q)))
        x[...] += alpha * own
        r[...] -= alpha * q
        new = bare.summed(float(numpy.sum(r * r)))
        own[...] = r + (new / old[0]) * own
        old[0] = new
        return x, new

    return step


def bare_sort(bare: Bare, given: Any) -> Callable[[], Any]:
    """A sample sort; blocks come out about even."""
    own = given[bounds(len(given), bare.size, bare.rank)].copy()
    size = bare.size

    def step() -> Any:
        values = numpy.sort(own)
        if size == 1:
            return (values,)
        many = 64
        samples = values[(numpy.arange(many) * 2 + 1) * len(values) // (2 * many)]
        every = numpy.sort(bare.allgather(samples).reshape(-1))
        cuts = numpy.searchsorted(values, every[numpy.arange(1, size) * len(every) // size])
        ends = numpy.concatenate([[0], cuts, [len(values)]])
        joined = bare.uneven(values, numpy.diff(ends))
        joined.sort()
        return (joined,)

    return step


def bare_fft(bare: Bare, given: Any) -> Callable[[], Any]:
    """Rows, an all-to-all, columns."""
    own = given[bounds(len(given), bare.size, bare.rank)].copy()
    rows, columns = own.shape
    each = columns // bare.size

    def step() -> Any:
        turned = numpy.fft.fft(own, axis=1)
        if bare.size == 1:
            return (numpy.fft.fft(turned, axis=0),)
        parts = numpy.ascontiguousarray(turned.reshape(rows, bare.size, each).swapaxes(0, 1))
        arrived = bare.alltoall(parts).reshape(rows * bare.size, each)
        return (numpy.fft.fft(arrived, axis=0),)

    return step


def bare_matmul(bare: Bare, given: Any) -> Callable[[], Any]:
    """Rows of both; those of the second factor go round."""
    size, rank, side = bare.size, bare.rank, len(given[0])
    rows = bounds(side, size, rank)
    a, b = given[0, rows].copy(), given[1, rows].copy()

    def step() -> Any:
        if size == 1:
            return (a @ b,)
        result, block = numpy.zeros_like(a), b
        for turn in range(size):
            owner = (rank + turn) % size
            following, requests = None, []
            if turn < size - 1:
                part = bounds(side, size, (owner + 1) % size)
                following = numpy.empty((part.stop - part.start, side))
                requests = bare.shift(block, following)
            result += a[:, bounds(side, size, owner)] @ block
            bare.finish(requests)
            block = following
        return (result,)

    return step


BARE = {
    "laplace": bare_laplace, "cg": bare_cg, "sort": bare_sort, "fft": bare_fft, "matmul": bare_matmul,
}  # fmt: skip


def wrong_of(turns: Turns, name: str, ours: Any, theirs: Any) -> str:
    """What differs between atoll's result and that of the bare program, on rank 0."""
    blocks = turns.comm.gather(numpy.ascontiguousarray(theirs[0]))
    found = numpy.asarray(ours[0])
    if turns.rank:
        return ""
    expected = numpy.concatenate(blocks, axis=1 if name == "fft" else 0)
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
                    last[key][0].local  # noqa: B018 (it evaluates)

        return run

    runs = {
        "bare": repeated("bare", bare_program(name, bare, given)),
        "atoll": repeated("atoll", program(name, atoll, given)),
        "bare 1": repeated("bare 1", bare_program(name, Bare(MPI.COMM_SELF), share)),
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
        atoll.config.small = 0
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
