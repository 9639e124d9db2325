"""Eigenvalues of Hermitian matrices, and singular values of matrices that are neither tall nor wide, by spectral division.

The polar factor of ``A - s I`` is the sign of a Hermitian matrix: it separates the eigenvectors of eigenvalues above ``s``
from the others. Bases of both spaces divide the problem into two, until a part is no larger than a share of the whole, which
every rank solves by LAPACK. The polar factor comes from a few steps of the iteration of Nakatsukasa and Higham (QDWH), whose
steps are a QR factorisation or the solution of equations. So all of it is products and factorisations that ranks compute together,
about ten times the operations of LAPACK: it serves matrices that are too large to be brought to each rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import policy
from ...collective.elements import everywhere
from ...comm.world import World
from ...lazy.registry import registry
from ...lazy.sections import section_of
from ..blocks import call
from ..public import names
from .matrices import Array, adjoint, replicated

_EPSILON = float(np.finfo(np.float64).eps)
_DEPTH = 40
_EXACT = 1e-6


def lin(name: str, *args: Any) -> Any:
    """Call a function of ``linalg`` by name."""
    function: Any = registry.find(getattr(np.linalg, name))
    return function(*args)


def is_large(a: Any) -> bool:
    """True if a matrix is too large for every rank to have it while a function computes."""
    return bool(a.shape[0] * a.shape[1] > policy.limits.whole)


def polar(a: Any) -> Any:
    """The unitary factor of a matrix in double precision that has no fewer rows than columns."""
    rows, columns = a.shape
    sizes = abs(a)
    norm = float(np.sqrt(float(sizes.sum(0).max()) * float(sizes.sum(1).max())))
    if not np.isfinite(norm):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    x = a / (norm or 1.0)
    least, identity = _EPSILON, call("eye", columns, dtype=a.dtype)
    while abs(least - 1) > 10 * _EPSILON:
        square = least * least
        root = np.cbrt(4 * (1 - square) / square**2)
        far = np.sqrt(1 + root)
        first = far + np.sqrt(8 - 4 * root + 8 * (2 - square) / (square * far)) / 2
        second = (first - 1) ** 2 / 4
        third = first + second - 1
        ratio = second / third
        if third > 100:
            q, _ = lin("qr", call("concatenate", [np.sqrt(third) * x, identity]))
            step = (first - ratio) / np.sqrt(third) * (q[:rows] @ adjoint(q[rows:]))
        else:
            gram = identity + third * (adjoint(x) @ x)
            step = (first - ratio) * adjoint(lin("solve", gram, adjoint(x)))
        x = ratio * x + step
        least = min(1.0, least * (first + second * square) / (1 + third * square))
    return x


def eigen(h: Any, world: World) -> tuple[Array, Any]:
    """The eigenvalues, ascending, and eigenvectors of a Hermitian matrix in double precision."""
    values, vectors = _divided(h, world, h.shape[0] ** 2 // world.size, _DEPTH)
    order = np.argsort(values, kind="stable")
    if (order[1:] < order[:-1]).any():
        values, vectors = values[order], vectors[:, order]
    return values, vectors


def _divided(h: Any, world: World, share: int, depth: int) -> tuple[Array, Any]:
    """The eigenvalues and eigenvectors of a part of the problem."""
    length = h.shape[0]
    if length == 1 or length**2 <= share or not depth:
        values, vectors = np.linalg.eigh(everywhere(section_of(h, world)).block)
        return values, replicated(vectors, vectors.dtype)
    ends = everywhere(section_of(h.diagonal().copy(), world)).block.real
    size, identity = float(call("sqrt", (abs(h) ** 2).sum())), call("eye", length, dtype=h.dtype)
    middle = float(ends.mean())
    spread = h - middle * identity
    deviation = float(call("sqrt", (abs(spread) ** 2).sum()))
    if deviation <= 4 * _EPSILON * size:
        return ends, identity
    deviation /= length**0.5  # the deviation of the eigenvalues from their mean
    for shift in (float(np.median(ends)), *[middle + k * deviation / 8 for k in (0, 1, -1, 3, -3)]):
        sign = polar(h - shift * identity)
        above = round((length + float(sign.trace().real)) / 2)
        exact = (
            abs(float((abs(sign) ** 2).sum()) - length) < _EXACT
        )  # no eigenvalue is the shift itself
        if exact and 0 < above < length:
            break
    else:  # eigenvalues that differ by rounding only
        return _divided(h, world, share, 0)
    chosen = (sign + adjoint(sign)) / 4 + identity / 2
    basis = names["random"].default_rng(0).standard_normal((length, above)).astype(h.dtype)
    for _ in range(2):
        basis, _ = lin("qr", chosen @ basis[:, :above], "complete")
    parts = []
    for some in (basis[:, above:], basis[:, :above]):
        inner = adjoint(some) @ (h @ some)
        values, vectors = _divided((inner + adjoint(inner)) / 2, world, share, depth - 1)
        parts.append((values, some @ vectors))
    values = np.concatenate([part[0] for part in parts])
    return values, call("concatenate", [part[1] for part in parts], 1)


def singular(a: Any, world: World) -> tuple[Any, Array, Any]:
    """A matrix in double precision with no fewer rows than columns: ``u``, the singular values, descending, and ``v``."""
    rows, columns = a.shape
    basis, matrix = lin("qr", a) if rows > columns else (None, a)
    unitary = polar(matrix)
    right = adjoint(unitary) @ matrix
    values, v = eigen((right + adjoint(right)) / 2, world)
    values, v = np.abs(values[::-1]), v[:, ::-1]
    u = unitary @ v
    rank = int(np.count_nonzero(values > columns * _EPSILON * values.max(initial=0)))
    if rank < columns:
        whole, _ = (
            lin("qr", u[:, :rank], "complete") if rank else (call("eye", columns, dtype=a.dtype), 0)
        )
        u = call("concatenate", [u[:, :rank], whole[:, rank:]], 1)
    order = np.argsort(-values, kind="stable")
    if (order[1:] < order[:-1]).any():
        values, u, v = values[order], u[:, order], v[:, order]
    return u if basis is None else basis @ u, values, v
