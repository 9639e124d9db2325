"""The programs of ``weak_scaling.py`` with mpi4py: each rank has some rows, and results lie in rows (those of ``fft`` in columns)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy

CLUSTERS = 8
DAMPING = 0.85
DIRECTIONS = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
"""Rows and columns that the densities of the lattice Boltzmann method move by."""
WEIGHTS = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)


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

    def ring(self, first: Any, last: Any) -> list[Any]:
        """The last values of the rank before and the first ones of the rank after, around a ring."""
        if self.size == 1:
            return [last, first]
        return self._called(self._ring, 2, first.nbytes + last.nbytes, first, last)

    def _ring(self, first: Any, last: Any) -> list[Any]:
        before, after = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        ghosts = [numpy.empty_like(last), numpy.empty_like(first)]
        requests = [self.comm.Irecv(ghosts[0], before, 1), self.comm.Irecv(ghosts[1], after, 0)]
        requests += [self.comm.Isend(first, before, 0), self.comm.Isend(last, after, 1)]
        for request in requests:
            request.Wait()
        return ghosts

    def total(self, values: Any) -> Any:
        """The sum of arrays over all ranks."""
        result = numpy.empty_like(values)
        self._called(self.comm.Allreduce, 1, values.nbytes, values, result)
        return result

    def summed(self, value: float) -> float:
        """A number's sum over all ranks."""
        return float(self.total(numpy.array([value]))[0])

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


def bare_kmeans(bare: Bare, given: Any) -> Callable[[], Any]:
    """Rows of points; every rank has all centres, and its share of them is the result."""
    points = given[bounds(len(given), bare.size, bare.rank)].copy()
    share = bounds(CLUSTERS, bare.size, bare.rank)
    centres = given[:CLUSTERS].copy()

    def step() -> Any:
        distances = numpy.sum(centres**2, axis=1) - 2 * (points @ centres.T)
        labels = numpy.argmin(distances, axis=1)
        table = [numpy.bincount(labels, axis, CLUSTERS) for axis in points.T]
        table.append(numpy.bincount(labels, minlength=CLUSTERS))
        *sums, counts = bare.total(numpy.array(table))
        new = numpy.stack(sums, axis=1) / numpy.maximum(counts, 1)[:, None]
        moved = numpy.abs(new - centres).max()
        centres[...] = new
        return centres[share], moved

    return step


def bare_pagerank(bare: Bare, given: Any) -> Callable[[], Any]:
    """Blocks of nodes with the edges that end there; the ranks of all nodes are gathered."""
    source, target = given
    degree = numpy.bincount(source)
    nodes = len(degree)
    block = bounds(nodes, bare.size, bare.rank)
    ends_here = (target >= block.start) & (target < block.stop)
    source, target = source[ends_here], target[ends_here] - block.start
    many = block.stop - block.start
    rank = numpy.full(many, 1 / nodes)

    def step() -> Any:
        every = bare.allgather(rank).reshape(-1)
        arriving = numpy.bincount(target, every[source] / degree[source], many)
        new = (1 - DAMPING) / nodes + DAMPING * arriving
        change = bare.summed(float(numpy.abs(new - rank).sum()))
        rank[...] = new
        return rank, change

    return step


def collided(np: Any, f: Any) -> Any:
    """The densities of the lattice Boltzmann method after their collisions, which need no neighbours."""
    rho = f.sum(axis=0)
    ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / rho
    uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / rho
    square = 1.5 * (ux**2 + uy**2)
    equilibrium = np.zeros(f.shape)
    for i, (cx, cy) in enumerate(DIRECTIONS):
        along = 3 * (cx * ux + cy * uy)
        equilibrium[i] = WEIGHTS[i] * rho * (1 + along + along**2 / 2 - square)
    return f - 1.2 * (f - equilibrium)


def bare_lbm(bare: Bare, given: Any) -> Callable[[], Any]:
    """Rows of all nine densities; the three that leave a rank fill the ghost rows of its neighbour."""
    f = given[:, bounds(given.shape[1], bare.size, bare.rank)].copy()
    rows = f.shape[1]
    padded = numpy.zeros((len(f), rows + 2, f.shape[2]))
    down, up = ([k for k in range(9) if DIRECTIONS[k][0] == way] for way in (1, -1))

    def step() -> Any:
        padded[:, 1:-1] = collided(numpy, f)
        padded[down, 0], padded[up, -1] = bare.ring(padded[up, 1], padded[down, -2])
        for i, (cx, cy) in enumerate(DIRECTIONS):
            f[i] = numpy.roll(padded[i, 1 - cx : 1 - cx + rows], cy, axis=1)
        return (f,)

    return step


def bare_nbody(bare: Bare, given: Any) -> Callable[[], Any]:
    """The pairs of a rank's own bodies with all bodies, whose positions are gathered."""
    x = given[bounds(len(given), bare.size, bare.rank), :3].copy()
    v, mass = numpy.zeros_like(x), given[:, 3].copy()

    def step() -> Any:
        every = bare.allgather(x).reshape(-1, 3)
        apart = every[None, :, :] - x[:, None, :]
        square = (apart**2).sum(axis=2) + 0.01
        a = (apart * (mass / square**1.5)[:, :, None]).sum(axis=1)
        v[...] += 0.01 * a
        x[...] += 0.01 * v
        return (x,)

    return step


BARE = {
    "laplace": bare_laplace, "cg": bare_cg, "sort": bare_sort, "fft": bare_fft, "matmul": bare_matmul,
    "kmeans": bare_kmeans, "pagerank": bare_pagerank, "lbm": bare_lbm, "nbody": bare_nbody,
}  # fmt: skip
