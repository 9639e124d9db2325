"""Money, dice and walks."""

from __future__ import annotations

from typing import Any

from .program import program


@program(smoke=50, small=200, medium=1000, large=10000)
def options(np: Any, n: int) -> Any:
    """An American put by the binomial tree, backwards from its end."""
    s0, strike, rate, sigma, years = 100.0, 105.0, 0.05, 0.25, 1.0
    dt = years / n
    up = np.exp(sigma * np.sqrt(dt))
    down = 1 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    prices = s0 * up ** np.arange(n, -n - 1, -2)
    values = np.maximum(strike - prices, 0)
    for _ in range(n):
        values = discount * (p * values[:-1] + (1 - p) * values[1:])
        prices = prices[:-1] * down
        values = np.maximum(values, strike - prices)
    return values[0]


@program(smoke=500, small=10000, medium=200000, large=4000000)
def blackscholes(np: Any, n: int) -> Any:
    """The prices and slopes of many options by the formula."""
    generator = np.random.default_rng(1)
    s = generator.uniform(50, 150, n)
    k = generator.uniform(50, 150, n)
    t = generator.uniform(0.1, 2, n)
    r, sigma = 0.03, 0.3

    def normal(x: Any) -> Any:
        w = 1 / (1 + 0.2316419 * np.abs(x))
        tail = (
            np.exp(-x * x / 2)
            / np.sqrt(2 * np.pi)
            * w
            * (
                0.319381530
                + w * (-0.356563782 + w * (1.781477937 + w * (-1.821255978 + w * 1.330274429)))
            )
        )
        return np.where(x >= 0, 1 - tail, tail)

    d1 = (np.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * np.sqrt(t))
    d2 = d1 - sigma * np.sqrt(t)
    call = s * normal(d1) - k * np.exp(-r * t) * normal(d2)
    put = call - s + k * np.exp(-r * t)
    return call, put, normal(d1)


@program(smoke=200, small=1000, medium=20000, large=200000)
def finance(np: Any, n: int) -> Any:
    """What a portfolio of five shares may lose in a quarter: correlated walks of prices."""
    generator = np.random.default_rng(2)
    mean = np.array([0.05, 0.08, 0.02, 0.06, 0.04]) / 252
    sigma = np.array([0.2, 0.3, 0.1, 0.25, 0.15]) / np.sqrt(252)
    correlation = 0.3 * np.ones((5, 5)) + 0.7 * np.eye(5)
    root = np.linalg.cholesky(correlation * np.outer(sigma, sigma))
    weights = np.array([0.3, 0.2, 0.2, 0.2, 0.1])
    growth = np.ones((n, 5))
    worst = np.ones(n)
    for _ in range(63):
        shocks = generator.random((n, 5)) + generator.random((n, 5)) + generator.random((n, 5))
        returns = mean + (2 * shocks - 3) @ root.T
        growth *= 1 + returns
        worst = np.minimum(worst, growth @ weights)
    final = growth @ weights
    losses = np.sort(1 - final)
    tail = losses[int(0.95 * n) :]
    return losses.mean(), np.percentile(losses, 95), tail.mean(), worst.mean()


@program(smoke=100, small=200, medium=1000, large=4000)
def walks(np: Any, n: int) -> Any:
    """A thousand drunkards: how far they come, and when they first cross a line."""
    generator = np.random.default_rng(3)
    steps = generator.choice([-1, 1], size=(n, n))
    positions = np.cumsum(steps, axis=1)
    spread = np.sqrt((positions**2).mean(axis=0))
    crossed = np.abs(positions) >= 20
    ever = crossed.any(axis=1)
    first = crossed[ever].argmax(axis=1)
    return spread, ever.sum(), first.mean(), positions.max(axis=1).mean()


@program(smoke=50, small=200, medium=5000, large=50000, expressions=False)
def bootstrap(np: Any, n: int) -> Any:
    """How sure a mean and a median are, by drawing the sample again."""
    generator = np.random.default_rng(4)
    sample = generator.exponential(2.0, n)
    means, medians = np.empty(400), np.empty(400)
    for k in range(400):
        again = sample[generator.integers(0, n, n)]
        means[k] = again.mean()
        medians[k] = np.median(again)
    return means.std(), np.percentile(means, [2.5, 97.5]), medians.std()


@program(smoke=1000, small=10000, medium=1000000, large=10000000)
def pi(np: Any, n: int) -> Any:
    """Darts at a circle."""
    generator = np.random.default_rng(5)
    x, y = generator.random(n), generator.random(n)
    inside = x**2 + y**2 <= 1
    running = np.cumsum(inside) / np.arange(1, n + 1) * 4
    return 4 * inside.mean(), running[:: n // 10]


@program(smoke=20, small=32, medium=128, large=600, tolerance=0.0)
def ising(np: Any, n: int) -> Any:
    """Spins on a chessboard, one colour after the other."""
    generator = np.random.default_rng(6)
    spins = np.where(generator.random((n, n)) < 0.5, 1, -1)
    i, j = np.indices((n, n))
    black = (i + j) % 2 == 0
    history = []
    for _ in range(60):
        for colour in (black, ~black):
            around = sum(np.roll(spins, s, axis) for s in (1, -1) for axis in (0, 1))
            cost = 2 * spins * around
            flips = colour & ((cost <= 0) | (generator.random((n, n)) < np.exp(-0.5 * cost)))
            spins[flips] *= -1
        history.append(spins.mean())
    return spins


@program(smoke=500, small=1000, medium=10000, large=50000, expressions=False)
def metropolis(np: Any, n: int) -> Any:
    """A chain that walks over a mountain, one step of two numbers at a time."""
    generator = np.random.default_rng(7)
    position = np.zeros(2)
    steps = generator.uniform(-1, 1, (n, 2))
    chances = generator.random(n)

    def height(p: Any) -> Any:
        return -0.5 * (p[0] ** 2 + (p[1] - p[0] ** 2) ** 2)

    here = height(position)
    track = np.empty((n, 2))
    for k in range(n):
        there = position + steps[k]
        new = height(there)
        if np.log(chances[k]) < new - here:
            position, here = there, new
        track[k] = position
    return track.mean(axis=0), track.std(axis=0)
