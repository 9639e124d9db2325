"""Computes pi by the midpoint rule: each rank adds its part of the integral to one shared number.

Run:  mpiexec -n 4 python pi.py [intervals]
"""

import sys

import numpy

import atoll as np


def pi(intervals: int) -> float:
    """The integral of 4 / (1 + x**2) from 0 to 1."""
    total = np.zeros(1)
    rank, size = np.world.rank, np.world.size
    x = (numpy.arange(rank, intervals, size) + 0.5) / intervals
    with np.onesided(total) as g:
        g.accumulate(0, (4 / (1 + x * x)).sum() / intervals)
    return float(total[0])


if __name__ == "__main__":
    found = pi(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    if np.world.rank == 0:
        print(f"pi is about {found:.12f}, the error {abs(found - numpy.pi):.1e}")
