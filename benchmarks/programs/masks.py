"""Boolean indexing, read and written in one statement."""

from __future__ import annotations

from typing import Any

from .program import Program, Steps, square

ROUNDS = 200


def mandelbrot(np: Any, n: int) -> Steps:
    """The set of Mandelbrot, where only the points that have not escaped go on."""
    x = np.linspace(-2.0, 0.7, n)
    y = np.linspace(-1.35, 1.35, n)
    c = x + 1j * y[:, None]
    yield None
    while True:
        z = np.zeros((n, n), dtype=complex)
        for _ in range(ROUNDS):
            i = np.abs(z) < 2
            z[i] = z[i] ** 2 + c[i]
        yield z


PROGRAMS = (
    Program(
        "mandelbrot",
        mandelbrot,
        {"tiny": 180, "small": 417, "full": 833},
        square,
        goal=3.0,
    ),
)
