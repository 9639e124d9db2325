"""Gray and Scott's chemistry: two substances react and spread, and spots grow and divide.

A plain NumPy program but for its import:

    python examples/gray_scott.py               one process, all cores
    atoll run -n 2 examples/gray_scott.py       two ranks
    python examples/gray_scott.py --numpy       NumPy itself, to compare

The grid is periodic, so neighbours are found by rolling. A step is one pass over the memory.
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]

FEED, KILL = 0.035, 0.065
SPREAD_U, SPREAD_V = 0.16, 0.08


def start(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first substance everywhere, and a square of the second one in the middle."""
    u = np.ones((n, n))
    v = np.zeros((n, n))
    middle = slice(n // 2 - n // 10, n // 2 + n // 10)
    u[middle, middle] = 0.5
    v[middle, middle] = 0.25
    return u, v


def laplacian(a: np.ndarray) -> np.ndarray:
    """The discrete Laplacian of a substance."""
    around = np.roll(a, 1, axis=0) + np.roll(a, -1, axis=0)
    more: np.ndarray = around + np.roll(a, 1, axis=1) + np.roll(a, -1, axis=1) - 4 * a
    return more


def step(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both substances a moment later."""
    reaction = u * v**2
    next_u = u + SPREAD_U * laplacian(u) - reaction + FEED * (1 - u)
    next_v = v + SPREAD_V * laplacian(v) + reaction - (FEED + KILL) * v
    return next_u, next_v


def simulate(n: int, steps: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """The substances after a number of steps, and the mean of the second one every hundred steps."""
    u, v = start(n)
    history = []
    for count in range(1, steps + 1):
        u, v = step(u, v)
        if count % 100 == 0:
            history.append(float(v.mean()))
    return u, v, history


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 256)
    began = time.perf_counter()
    _, v, history = simulate(n, 200)
    seconds = time.perf_counter() - began
    print(f"{np.__name__}: {n} x {n} points, 200 steps in {seconds:.2f} s")
    print("  mean of v:", ", ".join(f"{mean:.6f}" for mean in history))
    print(
        f"  v is largest at {float(v.max()):.6f}; {int((v > 0.1).sum())} points have more than 0.1"
    )


if __name__ == "__main__":
    main()
