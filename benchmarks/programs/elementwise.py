"""Operations element by element: what a call costs, what fusing and vector functions bring."""

from __future__ import annotations

from typing import Any

import numpy

from .program import Program, Steps, line


def overhead(np: Any, n: int) -> Steps:
    """One short update, again and again: the cost of a call."""
    x, y = np.ones(n), np.full(n, 1e-9)
    yield None
    while True:
        x += 2 * y
        yield x


def _sum_of_squares(np: Any, n: int) -> Any:
    a = np.arange(n) / 1000
    b = np.sin(a)
    c = np.cos(a)
    return b * b + c**2


def sincos(np: Any, n: int) -> Steps:
    """Two trigonometric functions of a ramp; the sum of their squares is one."""
    yield None
    while True:
        yield _sum_of_squares(np, n)


def _normal_distribution(np: Any, d: Any) -> Any:
    """The cumulative normal distribution, by the five-term polynomial."""
    k = 1 / (1 + 0.2316419 * np.abs(d))
    terms = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    series = terms[4]
    for term in terms[3::-1]:
        series = term + k * series
    tail = numpy.sqrt(0.5 / numpy.pi) * np.exp(-0.5 * d * d) * (k * series)
    return np.where(d > 0, 1 - tail, tail)


def _prices(np: Any, s: Any, x: Any, t: Any, r: float = 0.02, v: float = 0.3) -> Any:
    spread = v * np.sqrt(t)
    d1 = (np.log(s / x) + (r + v * v / 2) * t) / spread
    d2 = d1 - spread
    discounted = x * np.exp(-r * t)
    below1, below2 = _normal_distribution(np, d1), _normal_distribution(np, d2)
    calls = s * below1 - discounted * below2
    puts = discounted * (1 - below2) - s * (1 - below1)
    return calls, puts


def black_scholes(np: Any, n: int) -> Steps:
    """Prices of European options: some sixty operations on three inputs, for two results."""
    random = numpy.random.default_rng(7)
    s = np.array(random.uniform(5, 30, n))
    x = np.array(random.uniform(1, 100, n))
    t = np.array(random.uniform(0.25, 10, n))
    yield None
    while True:
        yield _prices(np, s, x, t)


PROGRAMS = (
    Program(
        "overhead",
        overhead,
        {"tiny": 1024, "small": 1024, "full": 1024},
        line,
        steps=2000,
        goal=1 / 3,
    ),
    Program(
        "overhead-100k",
        overhead,
        {"tiny": 40_000, "small": 10**5, "full": 10**5},
        line,
        moved=lambda n: 24 * n,
        steps=400,
        goal=1.0,
    ),
    Program(
        "sincos",
        sincos,
        {"tiny": 40_000, "small": 10**6, "full": 10**7},
        line,
        moved=lambda n: 8 * n,
        tolerance=1e-15,
        goal=12.0,
    ),
    Program(
        "black-scholes",
        black_scholes,
        {"tiny": 40_000, "small": 2**20, "full": 2**23},
        line,
        moved=lambda n: 40 * n,
        tolerance=1e-14,
        goal=8.0,
    ),
)
