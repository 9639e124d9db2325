"""Waves in a shallow basin whose opposite edges meet: heights and momenta by Lax and Friedrichs.

A plain NumPy program but for its import:

    python examples/shallow_water.py                   one process, all cores
    atoll run -n 2 examples/shallow_water.py           two ranks
    python examples/shallow_water.py --numpy           NumPy itself, to compare
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]

GRAVITY = 9.81


def drop(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Water at rest, with a hump in it: height, momentum along both axes."""
    x = np.arange(n) / n
    h = 1 + 0.5 * np.exp(-((x[:, None] - 0.4) ** 2 + (x - 0.6) ** 2) * 80)
    return h, np.zeros((n, n)), np.zeros((n, n))


def mean_of_neighbours(q: np.ndarray) -> np.ndarray:
    """The mean of the four neighbours of each cell."""
    total: np.ndarray = np.roll(q, 1, 0) + np.roll(q, -1, 0) + np.roll(q, 1, 1) + np.roll(q, -1, 1)
    return total / 4


def outflow(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The net flux out of each cell along both axes, without the factor of the step."""
    total: np.ndarray = np.roll(f, -1, 0) - np.roll(f, 1, 0) + np.roll(g, -1, 1) - np.roll(g, 1, 1)
    return total / 2


def advance(
    h: np.ndarray, p: np.ndarray, q: np.ndarray, ratio: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One step; ``ratio`` is the length of the step over the width of a cell."""
    pressure = GRAVITY * h**2 / 2
    crossed = p * q / h
    return (
        mean_of_neighbours(h) - ratio * outflow(p, q),
        mean_of_neighbours(p) - ratio * outflow(p * p / h + pressure, crossed),
        mean_of_neighbours(q) - ratio * outflow(crossed, q * q / h + pressure),
    )


def fastest(h: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """The speed of the fastest wave."""
    return float((np.maximum(np.abs(p), np.abs(q)) / h + np.sqrt(GRAVITY * h)).max())


def simulate(n: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Heights and momenta after some steps, and the time that has passed."""
    h, p, q = drop(n)
    passed = 0.0
    for _ in range(steps):
        ratio = 0.4 / fastest(h, p, q)
        h, p, q = advance(h, p, q, ratio)
        passed += ratio / n
    return h, p, q, passed


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 500)
    steps = 40
    began = time.perf_counter()
    h, p, q, passed = simulate(n, steps)
    water, highest = h.sum() / n**2, h.max()
    moving = np.sqrt((p**2 + q**2).sum()) / n
    seconds = time.perf_counter() - began
    print(f"{np.__name__}: {n} x {n}, {steps} steps of {seconds / steps * 1e3:.2f} ms")
    print(f"after {passed:.4f}: {water:.12f} of water, at most {highest:.6f}, moving {moving:.6f}")


if __name__ == "__main__":
    main()
