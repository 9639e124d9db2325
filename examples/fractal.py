"""Mandelbrot's set: the number of steps until each point of the plane escapes, under a mask.

A plain NumPy program but for its import:

    python examples/fractal.py                  one process, all cores
    atoll run -n 2 examples/fractal.py          two ranks
    python examples/fractal.py --numpy          NumPy itself, to compare

The remaining points are a boolean mask, and ``z[left]`` reads and writes them alone. Each rank computes its
own rows.
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]


def plane(n: int, centre: complex = -0.65 + 0.0j, width: float = 2.7) -> np.ndarray:
    """``n`` times ``n`` numbers around a centre."""
    along = np.linspace(-width / 2, width / 2, n)
    return centre + along + 1j * along[:, None]


def escape(c: np.ndarray, most: int) -> np.ndarray:
    """The number of steps until ``z**2 + c`` leaves a circle of radius 2, at most ``most``."""
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(most):
        left = np.abs(z) <= 2
        z[left] = z[left] ** 2 + c[left]
        count[left] += 1
    return count


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 500)
    began = time.perf_counter()
    count = escape(plane(n), 80)
    inside = int((count == 80).sum())
    seconds = time.perf_counter() - began
    area = inside / n**2 * 2.7**2
    print(f"{np.__name__}: {n} x {n} points, 80 steps in {seconds:.2f} s")
    print(f"  {inside} points stay, an area of {area:.4f}; {count.mean():.4f} steps on average")
    for row in np.asarray(count[:: max(1, n // 20), :: max(1, n // 40)]):
        print("  " + "".join(" .:-=+*#@"[min(int(k) // 10, 8)] for k in row))


if __name__ == "__main__":
    main()
