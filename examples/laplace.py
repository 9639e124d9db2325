"""Laplace's equation on a square, by Jacobi steps: the benchmark program of GAiN's paper.

A plain NumPy program but for its import:

    python examples/laplace.py                   one process, all cores
    atoll run -n 2 examples/laplace.py           two ranks
    python examples/laplace.py --numpy           NumPy itself, to compare
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]


def start(n: int) -> tuple[np.ndarray, float, float]:
    """The unit square with x**2 - y**2 on its edges."""
    step = 1 / (n - 1)
    x = np.arange(0, 1 + step / 2, step)
    u = np.zeros((n, n))
    u[0, :] = -(x**2)
    u[-1, :] = 1 - x**2
    u[:, 0] = x**2
    u[:, -1] = x**2 - 1
    return u, step, step


def advance(u: np.ndarray, dx: float, dy: float) -> float:
    """One step in place; the norm of the change."""
    old = u.copy()
    u[1:-1, 1:-1] = (
        (u[0:-2, 1:-1] + u[2:, 1:-1]) * dy**2 + (u[1:-1, 0:-2] + u[1:-1, 2:]) * dx**2
    ) * (0.5 / (dx**2 + dy**2))
    v = (u - old).flat
    return float(np.sqrt(np.dot(v, v)))


def runs_on(u: np.ndarray) -> str:
    """What the steps have run on, in words."""
    if "--numpy" in sys.argv:
        return "one core"
    import atoll

    ranks, threads, layout = atoll.world.size, atoll.config.threads, atoll.asarray(u).layout
    words = f"{ranks} rank{'s' * (ranks > 1)} of {threads} thread{'s' * (threads > 1)}"
    if ranks > 1:
        words += ", each with all of u" if layout.is_replicated else f", u in {layout}"
    return words


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 1000)
    u, dx, dy = start(n)
    steps = 200
    error = advance(u, dx, dy)
    began = time.perf_counter()
    for _ in range(steps):
        error = advance(u, dx, dy)
        if error <= 1e-16:
            break
    seconds = time.perf_counter() - began
    print(f"{np.__name__}: {n} x {n}, error {error:.6e} after {steps + 1} steps")
    print(f"{seconds / steps * 1e3:.2f} ms per step, u[2, {n // 3}] = {u[2, n // 3]:.6f}")
    print(f"on {runs_on(u)}")


if __name__ == "__main__":
    main()
