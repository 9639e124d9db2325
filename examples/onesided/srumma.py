"""Multiplies matrices as SRUMMA does: each rank computes its own block, and gets the next operands meanwhile.

Run:  mpiexec -n 4 python srumma.py [rows]
"""

import sys

import numpy

import atoll as np


def product(a: np.ndarray, b: np.ndarray, width: int = 64) -> np.ndarray:
    """``a @ b``: the transfer of one pair of panels overlaps with the product of the pair before."""
    (rows, inner), columns = a.shape, b.shape[1]
    c = np.zeros((rows, columns), layout=np.Layout((rows, columns)))
    with np.onesided(a) as left, np.onesided(b) as right, c.access() as block:
        key = np.distribution(c)[np.world.rank]
        if key is not None:
            panels = [slice(k, min(k + width, inner)) for k in range(0, inner, width)]
            first = np.world.rank % len(panels)  # ranks start at different panels
            panels = panels[first:] + panels[:first]
            coming = left.iget((key[0], panels[0])), right.iget((panels[0], key[1]))
            for following in [*panels[1:], None]:
                here = coming
                if following is not None:
                    coming = left.iget((key[0], following)), right.iget((following, key[1]))
                block += numpy.matmul(here[0].wait(), here[1].wait())
    return c


def main(n: int) -> float:
    """The largest error of the product of two random matrices."""
    random = numpy.random.default_rng(2)
    x, y = random.random((n, n + 2)), random.random((n + 2, n - 1))
    a, b = (np.asarray(m).redistribute(np.Layout(m.shape)) for m in (x, y))
    return float(abs(product(a, b) - x @ y).max())


if __name__ == "__main__":
    error = main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    if np.world.rank == 0:
        print(f"on {np.world.size} ranks: largest error {error:.1e}")
