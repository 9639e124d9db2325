"""Reductions of one array, contiguous and transposed, over each axis and over all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from .program import Program, Steps, square


def reduction(np: Any, n: int, *, name: str, axis: int | None, transposed: bool) -> Steps:
    """``np.<name>(a, axis=axis)`` of a square array."""
    a = np.array(numpy.random.default_rng(29).random((n, n)))
    if transposed:
        a = a.T
    function = getattr(np, name)
    yield None
    while True:
        yield function(a, axis=axis)


def _program(name: str, axis: int | None, *, transposed: bool) -> Program:
    exact = name in ("min", "argmax")
    return Program(
        f"{name}-{'all' if axis is None else axis}{'-T' if transposed else ''}",
        partial(reduction, name=name, axis=axis, transposed=transposed),
        {"tiny": 200, "small": 1000, "full": 4000},
        square,
        moved=lambda n: 8 * n * n,
        tolerance=0.0 if exact else 1e-12,
        goal=1.5,
    )


PROGRAMS = tuple(
    _program(name, axis, transposed=transposed)
    for name in ("sum", "mean", "var", "min", "argmax")
    for transposed in (False, True)
    for axis in (None, 0, 1)
)
