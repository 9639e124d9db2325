"""Reverses a long array: each rank gets a block, reverses it, and puts it at its place.

Run:  mpiexec -n 4 python transpose.py [elements]
"""

import sys

import numpy

import atoll as np


def reversed_by_blocks(a: np.ndarray) -> np.ndarray:
    """The array in reverse order. Each rank writes into the blocks of other ranks."""
    b = np.zeros_like(a)
    with np.onesided(a) as source, np.onesided(b) as target:
        key = np.distribution(a)[np.world.rank]
        if key is not None:
            start, stop = key[0].start, key[0].stop
            block = source.get(slice(start, stop))
            target.put(slice(len(a) - stop, len(a) - start), block[::-1])
    return b


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    layout = np.Layout((n,), "b")
    a = np.asarray(numpy.random.default_rng(1).random(n)).redistribute(layout)
    b = reversed_by_blocks(a)
    same = bool((b == a[::-1]).all())
    if np.world.rank == 0:
        print(f"{n} elements on {np.world.size} ranks:", "reversed" if same else "WRONG")
