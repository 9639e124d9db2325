"""Draws a part of the Mandelbrot set in tiles of very unequal work: ranks take the next tile when they are free.

Run:  mpiexec -n 4 python mandelbrot.py [rows]

It prints how long the busiest rank computes, with a static division into blocks of rows and with dynamic tasks.
"""

import sys
import time

import numpy

import atoll as np

DEPTH = 300


def counts(rows: slice, n: int) -> numpy.ndarray:
    """The steps after which each point of these rows of an n x n picture leaves the disk of radius 2."""
    y = (numpy.arange(rows.start, rows.stop) * 1.5 / n - 0.2)[:, None] * 1j
    c = (numpy.arange(n) * 3.0 / n - 2.2) + y
    z, steps = numpy.zeros_like(c), numpy.zeros(c.shape, int)
    inside = numpy.ones(c.shape, bool)
    for _ in range(DEPTH):
        z[inside] = z[inside] ** 2 + c[inside]
        inside &= abs(z) <= 2
        if not inside.any():
            break
        steps += inside
    return steps


def picture(n: int, tile: int, dynamic: bool) -> tuple[np.ndarray, np.ndarray]:
    """The picture, and the processor time of each rank."""
    image = np.zeros((n, n), int, layout=np.Layout((n, n), "bn"))
    tiles = [slice(row, min(row + tile, n)) for row in range(0, n, tile)]
    rank, size = np.world.rank, np.world.size
    share = range(len(tiles) * rank // size, len(tiles) * (rank + 1) // size)
    seconds = np.zeros(size)
    with np.onesided(image) as g, np.onesided(seconds) as s:
        begin = time.process_time()
        for task in np.tasks(len(tiles)) if dynamic else share:
            g.put((tiles[task], slice(None)), counts(tiles[task], n))
        s.put(rank, time.process_time() - begin)
    return image, seconds


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    for word, dynamic in (("static", False), ("dynamic", True)):
        image, seconds = picture(n, 8, dynamic)
        total, longest, mean = int(image.sum()), float(seconds.max()), float(seconds.mean())
        if np.world.rank == 0:
            print(f"{word:>8}: busiest rank {longest:.2f} s, mean {mean:.2f} s, sum {total}")
