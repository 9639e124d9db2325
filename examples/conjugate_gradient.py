"""Poisson's equation on a square by conjugate gradients, without a matrix.

A plain NumPy program but for its import:

    python examples/conjugate_gradient.py               one process, all cores
    atoll run -n 2 examples/conjugate_gradient.py       two ranks
    python examples/conjugate_gradient.py --numpy       NumPy itself, to compare
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]


def applied(p: np.ndarray) -> np.ndarray:
    """The discrete Laplacian, with the sign turned, of a grid that is zero outside."""
    q = 4 * p
    q[1:] -= p[:-1]
    q[:-1] -= p[1:]
    q[:, 1:] -= p[:, :-1]
    q[:, :-1] -= p[:, 1:]
    return q


def heat_source(n: int) -> np.ndarray:
    """Two spots, one that heats and one that cools."""
    x = np.linspace(0, 1, n)
    y = x[:, None]
    warm = np.exp(-((x - 0.3) ** 2 + (y - 0.3) ** 2) * 100)
    cold = np.exp(-((x - 0.7) ** 2 + (y - 0.6) ** 2) * 100)
    return (warm - cold) / (n + 1) ** 2


def solve(b: np.ndarray, tolerance: float = 1e-8, most: int = 1000) -> tuple[np.ndarray, int]:
    """The solution, and the number of steps."""
    x = np.zeros_like(b)
    r = b.copy()
    p = r.copy()
    rho = (r * r).sum()
    enough = tolerance**2 * float(rho)
    for step in range(most):
        if rho <= enough:
            return x, step
        q = applied(p)
        alpha = rho / (p * q).sum()
        x += alpha * p
        r -= alpha * q
        before, rho = rho, (r * r).sum()
        p = r + (rho / before) * p
    return x, most


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 200)
    b = heat_source(n)
    began = time.perf_counter()
    x, steps = solve(b)
    seconds = time.perf_counter() - began
    left = np.sqrt(((b - applied(x)) ** 2).sum() / (b**2).sum())
    print(f"{np.__name__}: {n} x {n}, {steps} steps in {seconds:.2f} s, residual {left:.2e}")
    print(f"warmest {x.max():.6e}, coldest {x.min():.6e}, in the middle {x[n // 2, n // 2]:.6e}")


if __name__ == "__main__":
    main()
