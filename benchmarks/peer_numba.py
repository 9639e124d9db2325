"""Programs in the manner of Numba: loops, written out and compiled for all cores."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, exp, log, sin, sqrt
from typing import Any

import numba
import numpy as np
from programs.stencils import laplace_start


@numba.njit(parallel=True)
def _sincos(n: int) -> np.ndarray:
    result = np.empty(n)
    for k in numba.prange(n):
        a = k / 1000
        result[k] = sin(a) ** 2 + cos(a) ** 2
    return result


def sincos(n: int) -> Iterator[Any]:
    """See ``programs.elementwise.sincos``."""
    yield None
    while True:
        yield _sincos(n)


@numba.njit
def _below(d: float) -> float:
    k = 1 / (1 + 0.2316419 * abs(d))
    series = 1.781477937 + k * (-1.821255978 + k * 1.330274429)
    series = 0.31938153 + k * (-0.356563782 + k * series)
    tail = sqrt(0.5 / np.pi) * exp(-0.5 * d * d) * (k * series)
    return 1 - tail if d > 0 else tail


@numba.njit(parallel=True)
def _prices(s: np.ndarray, x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    calls, puts = np.empty_like(s), np.empty_like(s)
    for k in numba.prange(len(s)):
        spread = 0.3 * sqrt(t[k])
        d1 = (log(s[k] / x[k]) + (0.02 + 0.3 * 0.3 / 2) * t[k]) / spread
        discounted = x[k] * exp(-0.02 * t[k])
        b1, b2 = _below(d1), _below(d1 - spread)
        calls[k] = s[k] * b1 - discounted * b2
        puts[k] = discounted * (1 - b2) - s[k] * (1 - b1)
    return calls, puts


def black_scholes(n: int) -> Iterator[Any]:
    """See ``programs.elementwise.black_scholes``."""
    random = np.random.default_rng(7)
    s, x, t = random.uniform(5, 30, n), random.uniform(1, 100, n), random.uniform(0.25, 10, n)
    yield None
    while True:
        yield _prices(s, x, t)


@numba.njit(parallel=True)
def _step(u: np.ndarray, v: np.ndarray, dx2: float, dy2: float) -> float:
    rows, columns = u.shape
    change = 0.0
    for i in numba.prange(1, rows - 1):
        row = 0.0
        for j in range(1, columns - 1):
            v[i, j] = (
                ((u[i - 1, j] + u[i + 1, j]) * dy2 + (u[i, j - 1] + u[i, j + 1]) * dx2)
                * 0.5
                / (dx2 + dy2)
            )
            row += (v[i, j] - u[i, j]) ** 2
        change += row
    return sqrt(change)


def laplace(n: int) -> Iterator[Any]:
    """See ``programs.stencils.laplace``; the two grids take turns."""
    u, dx2, dy2 = laplace_start(np, n)
    v = u.copy()
    yield None
    while True:
        error = _step(u, v, dx2, dy2)
        u, v = v, u
        yield u, error


PROGRAMS = {"sincos": sincos, "black-scholes": black_scholes, "laplace": laplace}
