"""How many Python functions are called for the first evaluation of an expression, where its kernels are on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import atoll as np
from atoll import front
from atoll.backend.llvm import compile as compiling
from atoll.lazy.evaluation import _programs

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(front.native is None, reason="Python records each operation"),
]


def laplace(u: Any, b: Any) -> None:
    """A step, and its change."""
    old = u.copy()
    u[1:-1, 1:-1] = (
        (u[0:-2, 1:-1] + u[2:, 1:-1]) * 0.3 + (u[1:-1, 0:-2] + u[1:-1, 2:]) * 0.4
    ) * 0.7
    change = (u - old).ravel()
    float(np.sqrt(np.dot(change, change)))


def pressure(p: Any, b: Any) -> None:
    """A turn of the pressure of a cavity flow."""
    pn = p.copy()
    p[1:-1, 1:-1] = (
        (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * 0.04 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * 0.01
    ) / 0.1 - 0.002 * b[1:-1, 1:-1]
    p[:, -1] = p[:, -2]
    p[0, :] = p[1, :]
    p[:, 0] = p[:, 1]
    p[-1, :] = 0
    float(p[3, 3])


def jacobi(a: Any, b: Any) -> None:
    """Two sweeps along lines."""
    a, b = a.ravel(), b.ravel()
    b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
    a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    float(a[3])


def stored(expression: Callable[[Any, Any], Any]) -> Callable[[Any, Any], None]:
    """An expression whose value is computed and kept."""

    def evaluate(a: Any, b: Any) -> None:
        value = expression(a, b)
        np.sync()
        del value

    return evaluate


CALLS: dict[str, tuple[Callable[[Any, Any], None], int]] = {
    "addition": (stored(lambda a, b: a + b), 450),
    "chain": (stored(lambda a, b: ((a + b) * b - a) / (b + 2.0) * 3.0 + a), 700),
    "mean": (lambda a, b: float(np.exp(-(a**2)).mean()), 600),
    "columns": (stored(lambda a, b: np.where(a > b, a - b, 0.0).sum(axis=0)), 700),
    "jacobi": (jacobi, 1_050),
    "pressure": (pressure, 2_450),
    "laplace": (laplace, 1_500),
}
"""Expressions, and at most how many calls."""


@pytest.fixture(autouse=True)
def afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is recorded, and kernels are kept on disk."""
    monkeypatch.setattr(compiling, "compiler", compiling.compiler)  # and put back
    with np.config(small=0, threads=1, kernel_cache=str(tmp_path)):
        yield
    _programs.forget()


def operands(n: int) -> tuple[Any, Any]:
    """Two arrays of ``n`` rows."""
    generator = numpy.random.default_rng(n)
    return np.array(generator.random((n, n + 3))), np.array(generator.random((n, n + 3)))


def calls_of(evaluate: Callable[[Any, Any], None], n: int) -> int:
    """The Python calls of an evaluation for which there is neither a plan nor a kernel in memory."""
    a, b = operands(n)
    compiling.compiler = compiling.Compiler()
    _programs.forget()
    float((a - b).max())  # another expression, so that there is memory for kernels
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_name != "_guarded"  # which only tests have

    sys.setprofile(note)
    try:
        evaluate(a, b)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_a_first_evaluation(name: str) -> None:
    evaluate, most = CALLS[name]
    calls_of(evaluate, 60)  # puts the kernels on disk
    # a table that is cleaned up, or garbage that is collected meanwhile, belongs to other tests
    count = min([calls_of(evaluate, n) for n in (61, 62, 63)])
    assert 0 < count <= most
