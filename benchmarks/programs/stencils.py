"""Neighbours on a grid: views that overlap, assigned in place, with and without a reduction."""

from __future__ import annotations

from typing import Any

from .program import Program, Steps, square


def stencil5(np: Any, n: int) -> Steps:
    """Heat in a plate by five views that are taken once."""
    grid = np.zeros((n + 2, n + 2))
    grid[:, 0] = -273.15
    grid[:, -1] = -273.15
    grid[-1, :] = -273.15
    grid[0, :] = 40.0
    center, north, south = grid[1:-1, 1:-1], grid[:-2, 1:-1], grid[2:, 1:-1]
    west, east = grid[1:-1, :-2], grid[1:-1, 2:]
    yield None
    while True:
        work = 0.2 * (center + north + east + west + south)
        center[:] = work
        yield grid


def _laplace_step(np: Any, u: Any, dx2: float, dy2: float) -> Any:
    old = u.copy()
    u[1:-1, 1:-1] = (
        ((u[0:-2, 1:-1] + u[2:, 1:-1]) * dy2 + (u[1:-1, 0:-2] + u[1:-1, 2:]) * dx2)
        * 0.5
        / (dx2 + dy2)
    )
    v = (u - old).flat
    return np.sqrt(np.dot(v, v))


def laplace_start(np: Any, n: int) -> tuple[Any, float, float]:
    """The grid at the start, and the squares of the steps."""
    h = 1 / (n - 1)
    x = np.arange(0, 1 + h / 2, h)
    u = np.zeros((n, n))
    u[0, :] = 0 - x**2
    u[-1, :] = 1 - x**2
    u[:, 0] = x**2 - 0
    u[:, -1] = x**2 - 1
    return u, h**2, h**2


def laplace(np: Any, n: int) -> Steps:
    """Laplace's equation on the unit square, with the change of each step, until it is tiny."""
    u, dx2, dy2 = laplace_start(np, n)
    yield None
    while True:
        error = _laplace_step(np, u, dx2, dy2)
        if error <= 1e-16:
            return
        yield u, error


def star2(np: Any, n: int) -> Steps:
    """A star of radius two on a ramp; each step adds its slope, which is 2."""
    i = np.arange(n, dtype=float)
    a = i[:, None] + i
    b = np.zeros((n, n))
    near, far = 1 / 4, 1 / 8
    yield None
    while True:
        b[2:-2, 2:-2] += (
            far * (a[4:, 2:-2] - a[:-4, 2:-2])
            + near * (a[3:-1, 2:-2] - a[1:-3, 2:-2])
            + far * (a[2:-2, 4:] - a[2:-2, :-4])
            + near * (a[2:-2, 3:-1] - a[2:-2, 1:-3])
        )
        a += 1
        yield a, b


PROGRAMS = (
    Program(
        "stencil5",
        stencil5,
        {"tiny": 200, "small": 1000, "full": 4000},
        square,
        moved=lambda n: 16 * n * n,
        steps=10,
        goal=6.0,
    ),
    Program(
        "laplace",
        laplace,
        {"tiny": 200, "small": 1000, "full": 4000},
        square,
        moved=lambda n: 16 * n * n,
        steps=10,
        tolerance=1e-13,
        goal=9.0,
        copy_goal=1.35,
    ),
    Program(
        "star2",
        star2,
        {"tiny": 200, "small": 1000, "full": 4000},
        square,
        moved=lambda n: 32 * n * n,
        steps=10,
        goal=6.0,
    ),
)
