"""Smooths a grid by blocks with ghost cells: each rank updates its own block, and reads its neighbours' edges.

Run:  mpiexec -n 4 python ghosts.py [rows] [steps]
"""

import sys

import numpy

import atoll as np


def smoothed(start: numpy.ndarray, steps: int) -> np.ndarray:
    """The grid after a number of steps of averaging the four neighbours, on a torus."""
    edges = np.Block(padding=(1, 1), periodic=True)
    grid = (np.world.size, 1)
    layout = np.Layout(start.shape, (edges, edges), grid=grid)
    u = np.asarray(start).redistribute(layout)
    for _ in range(steps):
        u.exchange_halos(0)  # along one axis, then along the other: no corners are needed
        u.exchange_halos(1)
        p = u.local_padded
        u.local[...] = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4
    return u


def by_numpy(u: numpy.ndarray, steps: int) -> numpy.ndarray:
    """The same on the whole grid."""
    for _ in range(steps):
        u = (
            numpy.roll(u, 1, 0) + numpy.roll(u, -1, 0) + numpy.roll(u, 1, 1) + numpy.roll(u, -1, 1)
        ) / 4
    return u


def main(n: int, steps: int) -> float:
    """The largest error against the computation on the whole grid."""
    start = numpy.random.default_rng(3).random((n, n))
    return float(abs(smoothed(start, steps) - by_numpy(start, steps)).max())


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    error = main(*(words + [200, 10][len(words) :]))
    if np.world.rank == 0:
        print(f"on {np.world.size} ranks: largest error {error:.1e}")
