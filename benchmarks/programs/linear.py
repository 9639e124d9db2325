"""Linear systems: matrices times vectors, dot products, and an elimination whose slices move."""

from __future__ import annotations

from typing import Any

import numpy

from .program import Program, Steps, square


def jacobi(np: Any, n: int) -> Steps:
    """Jacobi's iteration with a dense matrix whose diagonal dominates."""
    random = numpy.random.default_rng(11)
    matrix = random.random((n, n)) + n * numpy.eye(n)
    diagonal = matrix.diagonal().copy()
    d = np.array(diagonal)
    rest = np.array(matrix - numpy.diag(diagonal))
    b = np.array(random.random(n))
    x = np.zeros(n)
    yield None
    while True:
        x = (b - rest @ x) / d
        yield x


def _five_point(np: Any, p: Any) -> Any:
    """The negative Laplacian with zeros around the grid."""
    q = 4 * p
    q[1:] -= p[:-1]
    q[:-1] -= p[1:]
    q[:, 1:] -= p[:, :-1]
    q[:, :-1] -= p[:, 1:]
    return q


def conjugate_gradient(np: Any, n: int) -> Steps:
    """Conjugate gradients for the five-point operator, which is never made into a matrix."""
    random = numpy.random.default_rng(13)
    r = np.array(random.random((n, n)))
    x = np.zeros((n, n))
    p = r.copy()
    old = np.sum(r * r)
    yield None
    while True:
        q = _five_point(np, p)
        alpha = old / np.sum(p * q)
        x += alpha * p
        r -= alpha * q
        new = np.sum(r * r)
        p = r + (new / old) * p
        old = new
        yield x, new


def elimination(np: Any, n: int) -> Steps:
    """The first fifty columns of Gauss's elimination: slices that move at every step."""
    random = numpy.random.default_rng(17)
    start = np.array(random.random((n, n)) + n * numpy.eye(n))
    yield None
    while True:
        a = start.copy()
        for k in range(min(50, n - 1)):
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        yield a


PROGRAMS = (
    Program(
        "jacobi",
        jacobi,
        {"tiny": 200, "small": 1000, "full": 4000},
        square,
        moved=lambda n: 8 * n * n,
        steps=5,
        tolerance=1e-13,
        goal=0.95,
    ),
    Program(
        "cg",
        conjugate_gradient,
        {"tiny": 200, "small": 1000, "full": 2000},
        square,
        steps=5,
        tolerance=1e-10,
        goal=0.95,
    ),
    Program(
        "elimination",
        elimination,
        {"tiny": 200, "small": 1000, "full": 2000},
        square,
        moved=lambda n: 16 * sum((n - k) ** 2 for k in range(1, min(51, n))),
        tolerance=1e-14,
        goal=0.95,
    ),
)
