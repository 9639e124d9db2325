"""Prices, portfolios and indicators."""

from __future__ import annotations

from typing import Any

from .program import form, program


def quotes(np: Any, n: int) -> tuple[Any, ...]:
    """The prices of a share at the end of each day."""
    moves = np.random.default_rng(81).standard_normal(n)
    return (100 * np.exp(np.cumsum(0.01 * moves)),)


def shocks(np: Any, n: int) -> tuple[Any, ...]:
    """Random numbers for n paths of 50 steps."""
    return (np.random.default_rng(82).standard_normal((n, 50)),)


def shares(np: Any, n: int) -> tuple[Any, ...]:
    """Daily returns of n shares."""
    return (0.01 * np.random.default_rng(83).standard_normal((500, n)),)


@program(smoke=100, small=1000, medium=20_000, large=200_000, data=shocks)
def asian_option(np: Any, z: Any) -> Any:
    """An option on the mean of a price, and a barrier: whole paths at once."""
    dt = 1 / 50
    steps = np.exp((0.03 - 0.5 * 0.2**2) * dt + 0.2 * np.sqrt(dt) * z)
    paths = 100 * np.cumprod(steps, axis=1)
    mean = np.mean(paths, axis=1)
    payoff = np.maximum(mean - 100, 0)
    alive = np.all(paths < 140, axis=1)
    barrier = np.where(alive, np.maximum(paths[:, -1] - 100, 0), 0)
    discount = np.exp(-0.03)
    return discount * payoff.mean(), payoff.std() / np.sqrt(len(z)), discount * barrier.mean()


@form(asian_option, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(z: Any) -> Any:
        dt = 1 / 50
        paths = 100 * np.cumprod(np.exp((0.03 - 0.5 * 0.2**2) * dt + 0.2 * np.sqrt(dt) * z), axis=1)
        payoff = np.maximum(np.mean(paths, axis=1) - 100, 0)
        barrier = np.where(np.all(paths < 140, axis=1), np.maximum(paths[:, -1] - 100, 0), 0)
        discount = np.exp(-0.03)
        return discount * payoff.mean(), payoff.std() / np.sqrt(len(z)), discount * barrier.mean()

    return compiled


@form(asian_option, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(z: Any) -> Any:
        n, steps = z.shape
        dt = 1 / 50
        payoff, barrier = np.zeros(n), np.zeros(n)
        for i in numba.prange(n):
            s, total, alive = 100.0, 0.0, True
            for k in range(steps):
                s *= np.exp((0.03 - 0.5 * 0.2**2) * dt + 0.2 * np.sqrt(dt) * z[i, k])
                total += s
                alive = alive and s < 140
            payoff[i] = max(total / steps - 100, 0)
            barrier[i] = max(s - 100, 0) if alive else 0.0
        discount = np.exp(-0.03)
        return discount * payoff.mean(), payoff.std() / np.sqrt(n), discount * barrier.mean()

    return compiled


@program(smoke=100, small=1000, medium=20_000, large=200_000, data=shocks, tolerance=1e-7)
def american_option(np: Any, z: Any) -> Any:
    """Longstaff and Schwartz: backwards in time, a regression over the paths that are in the money."""
    n, steps = z.shape
    dt = 1 / steps
    s = np.zeros((n, steps + 1))
    s[:, 0] = 36.0
    for k in range(steps):
        s[:, k + 1] = s[:, k] * np.exp((0.06 - 0.02) * dt + 0.2 * np.sqrt(dt) * z[:, k])
    cash = np.maximum(40 - s[:, -1], 0)
    for k in range(steps - 1, 0, -1):
        cash *= np.exp(-0.06 * dt)
        exercise = np.maximum(40 - s[:, k], 0)
        inside = exercise > 0
        if inside.sum() < 10:
            continue
        x = s[inside, k] / 40
        basis = np.stack([np.ones_like(x), x, x**2], axis=1)
        weights = np.linalg.solve(basis.T @ basis, basis.T @ cash[inside])
        now = exercise[inside] > basis @ weights
        cash[inside] = np.where(now, exercise[inside], cash[inside])
    return np.exp(-0.06 * dt) * cash.mean()


@program(smoke=100, small=1000, medium=20_000, large=200_000, data=shocks, jax=True)
def heston(np: Any, z: Any) -> Any:
    """Prices whose variance walks too, all paths a step at a time."""
    n, steps = z.shape
    dt = 1 / steps
    price, variance = 100.0 * np.ones(n), 0.04 * np.ones(n)
    for k in range(0, steps, 2):
        w1 = z[:, k]
        w2 = -0.7 * w1 + np.sqrt(1 - 0.49) * z[:, k + 1]
        root = np.sqrt(np.maximum(variance, 0))
        price = price * np.exp((0.02 - 0.5 * root**2) * dt + root * np.sqrt(dt) * w1)
        variance = (
            variance + 1.5 * (0.04 - np.maximum(variance, 0)) * dt + 0.3 * root * np.sqrt(dt) * w2
        )
    payoff = np.maximum(price - 100, 0)
    return np.exp(-0.02) * payoff.mean(), variance.mean()


@form(heston, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(z: Any) -> Any:
        n, steps = z.shape
        dt = 1 / steps
        payoff, last = np.empty(n), np.empty(n)
        for i in numba.prange(n):
            price, variance = 100.0, 0.04
            for k in range(0, steps, 2):
                w1 = z[i, k]
                w2 = -0.7 * w1 + np.sqrt(1 - 0.49) * z[i, k + 1]
                root = np.sqrt(max(variance, 0.0))
                price *= np.exp((0.02 - 0.5 * root**2) * dt + root * np.sqrt(dt) * w1)
                variance += 1.5 * (0.04 - max(variance, 0.0)) * dt + 0.3 * root * np.sqrt(dt) * w2
            payoff[i] = max(price - 100, 0.0)
            last[i] = variance
        return np.exp(-0.02) * payoff.mean(), last.mean()

    return compiled


@program(smoke=200, small=2000, medium=100_000, large=2_000_000, data=quotes)
def indicators(np: Any, price: Any) -> Any:
    """Moving means, bands, momentum, and when they say buy."""

    def moving(a: Any, width: int) -> Any:
        total = np.cumsum(np.insert(a, 0, 0.0))
        return (total[width:] - total[:-width]) / width

    short, long = moving(price, 10), moving(price, 50)
    short = short[-len(long) :]
    recent = price[-len(long) :]
    spread = np.sqrt(np.maximum(moving(price**2, 50) - long**2, 0))
    upper, lower = long + 2 * spread, long - 2 * spread
    above = short > long
    buy = np.where(above[1:] & ~above[:-1])[0]
    sell = np.where(~above[1:] & above[:-1])[0]
    change = np.diff(price)
    gain, loss = (
        moving(np.where(change > 0, change, 0), 14),
        moving(np.where(change < 0, -change, 0), 14),
    )
    strength = 100 - 100 / (1 + gain / np.maximum(loss, 1e-12))
    peak = np.maximum.accumulate(price)
    return (
        buy,
        sell,
        strength.mean(),
        ((recent > upper) | (recent < lower)).sum(),
        (1 - price / peak).max(),
    )


@program(smoke=10, small=50, medium=200, large=800, data=shares, tolerance=1e-7)
def portfolio(np: Any, returns: Any) -> Any:
    """Weights of least variance, found by projected descent, and what risk each share adds."""
    mean = returns.mean(axis=0)
    centred = returns - mean
    sigma = centred.T @ centred / (len(returns) - 1)
    sigma = 0.9 * sigma + 0.1 * np.diag(np.diag(sigma))
    n = len(mean)
    w = np.ones(n) / n
    rate = 0.5 / np.abs(sigma).sum(axis=1).max()
    for _ in range(200):
        w = w - rate * (sigma @ w - 0.1 * mean)
        w = np.maximum(w, 0)
        w /= w.sum()
    risk = np.sqrt(w @ sigma @ w)
    return w, w * (sigma @ w) / risk, np.cumprod(1 + returns @ w)[-1]
