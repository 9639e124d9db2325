"""k-means: points are gathered around the nearest of a few centers, and the centers move.

A plain NumPy program but for its import:

    python examples/kmeans.py                   one process, all cores
    atoll run -n 2 examples/kmeans.py           two ranks
    python examples/kmeans.py --numpy           NumPy itself, to compare
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]


def clouds(n: int, k: int, seed: int = 1) -> np.ndarray:
    """``n`` points in the plane, in ``k`` clouds on a circle."""
    generator = np.random.default_rng(seed)
    angle = 2 * np.pi * np.floor(generator.random(n) * k) / k
    noise = generator.random((n, 2)) + generator.random((n, 2)) - 1
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.4 * noise


def nearest(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The index of the nearest center of each point, and the square of its distance."""
    distances = ((points[:, None, :] - centers) ** 2).sum(axis=2)
    return distances.argmin(axis=1), distances.min(axis=1)


def moved(points: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """The centers of those points that are nearest to them; without any, a center stays."""
    k = len(centers)
    belongs = labels[:, None] == np.arange(k)
    counts = belongs.sum(axis=0)
    sums = np.stack([(points * belongs[:, j : j + 1]).sum(axis=0) for j in range(k)])
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)


def cluster(
    points: np.ndarray, k: int, most: int = 100
) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Centers, labels, the mean square of the distances, and the number of rounds."""
    centers = points[:: max(1, len(points) // k)][:k].copy()
    step = 0
    while True:
        step += 1
        labels, squares = nearest(points, centers)
        before, centers = centers, moved(points, labels, centers)
        if step == most or np.abs(centers - before).max() < 1e-9:
            return centers, labels, float(squares.mean()), step


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 200_000)
    points = clouds(n, 7)
    began = time.perf_counter()
    centers, labels, spread, steps = cluster(points, 7)
    seconds = time.perf_counter() - began
    print(f"{np.__name__}: {n} points, {steps} rounds in {seconds:.2f} s, spread {spread:.6f}")
    for j in range(len(centers)):
        x, y = centers[j]
        print(f"  {int((labels == j).sum()):8} around ({x:+.4f}, {y:+.4f})")


if __name__ == "__main__":
    main()
