"""Programs in the manner of numexpr: expressions as text, evaluated in one pass on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numexpr
import numpy as np
from programs.stencils import laplace_start

_TERMS = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)


def sincos(n: int) -> Iterator[Any]:
    """See ``programs.elementwise.sincos``."""
    ramp = {"ramp": np.arange(n)}
    yield None
    while True:
        a = numexpr.evaluate("ramp / 1000.0", ramp)
        yield numexpr.evaluate("sin(a) * sin(a) + cos(a) ** 2", {"a": a})


def _tail(d: str) -> str:
    k = f"(1 / (1 + 0.2316419 * abs({d})))"
    series = f"{_TERMS[4]}"
    for term in _TERMS[3::-1]:
        series = f"({term} + {k} * {series})"
    return f"(sqrt(0.5 / 3.141592653589793) * exp(-0.5 * {d} * {d}) * ({k} * {series}))"


def black_scholes(n: int) -> Iterator[Any]:
    """See ``programs.elementwise.black_scholes``."""
    random = np.random.default_rng(7)
    s, x, t = random.uniform(5, 30, n), random.uniform(1, 100, n), random.uniform(0.25, 10, n)
    yield None
    while True:
        d1 = numexpr.evaluate("(log(s / x) + (0.02 + 0.3 * 0.3 / 2) * t) / (0.3 * sqrt(t))")
        d2 = numexpr.evaluate("d1 - 0.3 * sqrt(t)", {"d1": d1, "t": t})
        b1 = numexpr.evaluate(f"where(d > 0, 1 - {_tail('d')}, {_tail('d')})", {"d": d1})
        b2 = numexpr.evaluate(f"where(d > 0, 1 - {_tail('d')}, {_tail('d')})", {"d": d2})
        known = {"s": s, "x": x, "t": t, "b1": b1, "b2": b2}
        calls = numexpr.evaluate("s * b1 - x * exp(-0.02 * t) * b2", known)
        puts = numexpr.evaluate("x * exp(-0.02 * t) * (1 - b2) - s * (1 - b1)", known)
        yield calls, puts


def laplace(n: int) -> Iterator[Any]:
    """See ``programs.stencils.laplace``."""
    u, dx2, dy2 = laplace_start(np, n)
    yield None
    while True:
        old = u.copy()
        known = {"a": u[:-2, 1:-1], "b": u[2:, 1:-1], "c": u[1:-1, :-2], "d": u[1:-1, 2:]}
        known |= {"dx2": dx2, "dy2": dy2}
        u[1:-1, 1:-1] = numexpr.evaluate(
            "((a + b) * dy2 + (c + d) * dx2) * 0.5 / (dx2 + dy2)", known
        )
        change = numexpr.evaluate("sum((u - old) ** 2)", {"u": u, "old": old})
        yield u, np.sqrt(change)


PROGRAMS = {"sincos": sincos, "black-scholes": black_scholes, "laplace": laplace}
