"""Multiplies matrices by blocks: ranks draw blocks of the product, get its operands, and put the result.

Run:  mpiexec -n 4 python matmul.py [rows]
"""

import sys

import numpy

import atoll as np


def product(a: np.ndarray, b: np.ndarray, block: int = 64) -> np.ndarray:
    """``a @ b``, in blocks that the ranks take as they are free."""
    (rows, inner), columns = a.shape, b.shape[1]
    c = np.zeros((rows, columns), layout=np.Layout((rows, columns)))
    starts = [(i, j) for i in range(0, rows, block) for j in range(0, columns, block)]
    with np.onesided(a) as left, np.onesided(b) as right, np.onesided(c) as result:
        for task in np.tasks(len(starts)):
            i, j = starts[task]
            here = slice(i, min(i + block, rows)), slice(j, min(j + block, columns))
            strip = left.get((here[0], slice(0, inner)))
            result.put(here, strip @ right.get((slice(0, inner), here[1])))
    return c


def main(n: int) -> float:
    """The largest error of the product of two random matrices."""
    random = numpy.random.default_rng(1)
    x, y = random.random((n, n - 3)), random.random((n - 3, n + 5))
    a, b = (np.asarray(m).redistribute(np.Layout(m.shape)) for m in (x, y))
    return float(abs(product(a, b) - x @ y).max())


if __name__ == "__main__":
    error = main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    if np.world.rank == 0:
        print(f"on {np.world.size} ranks: largest error {error:.1e}")
