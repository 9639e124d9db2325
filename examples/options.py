"""Prices of options: the formula of Black and Scholes for many, and a simulation for a path-dependent one.

A plain NumPy program but for its import:

    python examples/options.py                  one process, all cores
    atoll run -n 2 examples/options.py          two ranks, the same prices
    python examples/options.py --numpy          NumPy itself, to compare

The formula is one pass over memory, though it reads like thirty. The walks of the prices are drawn with the
same numbers on any number of ranks.
"""

import sys
import time

if "--numpy" not in sys.argv:
    import atoll as np
else:
    import numpy as np  # type: ignore[no-redef]

RATE, SIGMA = 0.03, 0.25


def normal(x: np.ndarray) -> np.ndarray:
    """The distribution function of the normal distribution, to seven digits."""
    w = 1 / (1 + 0.2316419 * np.abs(x))
    terms = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    series = 0.0
    for term in reversed(terms):
        series = w * (series + term)
    tail = series * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    result: np.ndarray = np.where(x >= 0, 1 - tail, tail)
    return result


def prices(
    spot: np.ndarray, strike: np.ndarray, years: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Calls and puts."""
    spread = SIGMA * np.sqrt(years)
    d1 = (np.log(spot / strike) + (RATE + SIGMA**2 / 2) * years) / spread
    later = strike * np.exp(-RATE * years)
    call = spot * normal(d1) - later * normal(d1 - spread)
    return call, call - spot + later


def market(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Spots, strikes and times of ``n`` options."""
    generator = np.random.default_rng(seed)
    spot = 50 + 100 * generator.random(n)
    strike = 50 + 100 * generator.random(n)
    return spot, strike, 0.1 + 2 * generator.random(n)


def asian(n: int, steps: int = 64, seed: int = 2) -> tuple[float, float]:
    """A call on the mean of a price at the end of ``steps`` steps, and how uncertain that is, by ``n`` walks."""
    generator = np.random.default_rng(seed)
    dt = 1.0 / steps
    price = np.full(n, 100.0)
    total = np.zeros(n)
    for _ in range(steps):
        # the sum of three has a variance of 1/4: twice its distance from the mean has one of 1
        shock = 2 * (generator.random(n) + generator.random(n) + generator.random(n)) - 3
        price = price * np.exp((RATE - SIGMA**2 / 2) * dt + SIGMA * np.sqrt(dt) * shock)
        total += price
    worth = np.exp(-RATE) * np.maximum(total / steps - 100.0, 0.0)
    return worth.mean(), worth.std() / np.sqrt(n)


def main() -> None:
    n = next((int(word) for word in sys.argv[1:] if word.isdigit()), 400_000)
    began = time.perf_counter()
    call, put = prices(*market(n))
    means = float(call.mean()), float(put.mean()), float(np.maximum(call, put).max())
    middle = time.perf_counter()
    value, error = asian(n // 4)
    value, error = float(value), float(error)
    ended = time.perf_counter()
    print(
        f"{np.__name__}: {n} options in {middle - began:.3f} s, {n // 4} walks in {ended - middle:.2f} s"
    )
    print(
        f"  on average a call costs {means[0]:.4f}, a put {means[1]:.4f}; the dearest {means[2]:.4f}"
    )
    print(f"  a call on the mean of a year costs {value:.3f}, give or take {error:.3f}")


if __name__ == "__main__":
    main()
