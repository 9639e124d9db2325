"""The Ising model: spins on a square turn over by chance, one colour of a chessboard after the other.

A plain NumPy program but for its import:

    python examples/ising.py                    one process, all cores
    atoll run -n 2 examples/ising.py            two ranks, the same spins
    python examples/ising.py --numpy            NumPy itself, the same spins again

Neighbours are found by rolling, and spins are turned through a mask. ``random`` draws NumPy's numbers
on any number of ranks, each rank its own part of them.
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]


def start(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """``n`` times ``n`` spins, three of five of them up; a chessboard; and a source of chance."""
    generator = np.random.default_rng(seed)
    spins = np.where(generator.random((n, n)) < 0.6, 1, -1).astype(np.int8)
    i, j = np.indices((n, n))
    return spins, (i + j) % 2 == 0, generator


def sweep(
    spins: np.ndarray, black: np.ndarray, beta: float, generator: np.random.Generator
) -> None:
    """Every spin may turn over once, at the inverse temperature ``beta``."""
    for colour in (black, ~black):
        neighbours = sum(np.roll(spins, by, axis) for axis in (0, 1) for by in (1, -1))
        chance = np.exp(-2.0 * beta * (spins * neighbours))
        spins[colour & (generator.random(spins.shape) < chance)] *= -1


def energy(spins: np.ndarray) -> float:
    """The energy of one spin, on average."""
    bonds = spins * np.roll(spins, 1, axis=0) + spins * np.roll(spins, 1, axis=1)
    return -float(bonds.mean())


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 512)
    spins, black, generator = start(n)
    began = time.perf_counter()
    history = []
    for _ in range(20):
        sweep(spins, black, 0.6, generator)
        history.append(float(spins.mean()))
    seconds = time.perf_counter() - began
    print(f"{np.__name__}: {n} x {n} spins, 20 sweeps in {seconds:.2f} s")
    print(
        f"  magnetisation {history[0]:.5f} ... {history[-1]:.5f}, energy {float(energy(spins)):.5f}"
    )


if __name__ == "__main__":
    main()
