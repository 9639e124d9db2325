"""Systems of equations, inverses and determinants by collective factors, where the matrix is too large for LAPACK on every rank."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...collective import even_blocks, redistributed
from ...collective.cholesky import cholesky as factor_cholesky
from ...collective.lu import Factors
from ...collective.process_grid import (
    GridMatrix,
    is_better_whole,
    panel_width,
    process_grid,
)
from ...comm.world import World
from ...lazy import shapes
from ...lazy.creation import asarray
from ...lazy.fallback import Unsupported, expect
from ...lazy.registry import registry
from ...lazy.sections import of_section, section_of
from ..blocks import call
from ..operands import Operand, accepts
from ..public import collective
from .factors import singular_values
from .matrices import TAKEN, adjoint, floats, of_matrices
from .norms import norm

Array = np.ndarray[Any, Any]


@collective(np.linalg.solve, keeps="arrays")
@accepts(a=Operand(types=TAKEN, ndim=2, empty=False), b=Operand(types=TAKEN, least=1, empty=False))
def solve(a: Any, b: Any, *, world: World) -> Any:
    matrix, right = floats(a), floats(b)
    expect(matrix.shape[0] == matrix.shape[1] == right.shape[0] and right.ndim <= 2)
    kind = np.result_type(matrix.dtype, right.dtype)
    _divides(matrix, 2 / 3 + 2 * right.size / matrix.size, world)
    wide = right if right.ndim == 2 else shapes.reshape(right, (-1, 1))
    solution = _solution(matrix.astype(kind), wide.astype(kind), world)
    return solution if right.ndim == 2 else shapes.reshape(solution, (-1,))


def _divides(a: Any, times: float, world: World) -> None:
    """Let NumPy factor a square matrix on every rank if that is faster; the work is ``times`` the cube of its length. See
    :func:`is_better_whole`."""
    expect(not is_better_whole(a.shape, times, floats(a[:0]).dtype, world.size))


def _solution(matrix: Any, right: Any, world: World) -> Any:
    factors = Factors(section_of(matrix, world), section_of(right, world))
    if factors.is_singular:
        raise np.linalg.LinAlgError("Singular matrix")
    section = factors.solution()
    return of_section(redistributed(section, even_blocks(section.shape, world.size)), world)


@of_matrices(square=True, keeps="arrays")
def inv(a: Any, world: World) -> Any:
    _divides(a, 2, world)
    a = floats(a)
    return _solution(a, call("eye", a.shape[0], dtype=a.dtype), world)


@collective(np.linalg.tensorinv)
def tensorinv(a: Any, ind: Any = 2) -> Any:
    a = asarray(a)
    expect(type(ind) is int and 0 < ind <= a.ndim and a.size)
    inverse: Any = registry.find(np.linalg.inv)
    shape = a.shape[ind:] + a.shape[:ind]
    return shapes.reshape(inverse(shapes.reshape(a, (prod(a.shape[:ind]), -1))), shape)


@collective(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = asarray(a), asarray(b)
    expect(axes is None and a.size and prod(a.shape[b.ndim :]) == b.size)
    solution: Any = registry.find(np.linalg.solve)
    matrix = shapes.reshape(a, (b.size, -1))
    return shapes.reshape(solution(matrix, shapes.reshape(b, (-1,))), a.shape[b.ndim :])


def _pivots(a: Any, world: World) -> tuple[Array, int, bool]:
    """The diagonal of U, the sign of the row permutation, and True if the matrix is singular."""
    _divides(a, 2 / 3, world)
    factors = Factors(section_of(floats(a), world))
    return factors.diagonal(), factors.sign, factors.is_singular


@of_matrices(square=True)
def det(a: Any, world: World) -> Any:
    values, sign, singular = _pivots(a, world)
    return values.dtype.type(0) if singular else sign * np.multiply.reduce(values)


@of_matrices(square=True)
def slogdet(a: Any, world: World) -> Any:
    values, sign, singular = _pivots(a, world)
    kind = type(np.linalg.slogdet(np.eye(1)))
    if singular:
        return kind(values.dtype.type(0), values.real.dtype.type(-np.inf))
    sizes = np.abs(values)
    return kind(sign * np.multiply.reduce(values / sizes), np.log(sizes).sum())


@of_matrices(square=True, keeps="arrays")
def cholesky(a: Any, world: World, *, upper: bool = False) -> Any:
    _divides(a, 1 / 3, world)
    a = floats(a)
    grid = process_grid(world.size)
    section = section_of(adjoint(a) if upper else a, world)
    factors = GridMatrix(section, grid, panel_width(a.shape, grid))
    factor_cholesky(factors)
    rows = even_blocks(section.shape, world.size)
    lower = of_section(redistributed(factors.section, rows), world)
    return adjoint(lower).copy() if upper else lower


@collective(np.linalg.cond)
@accepts(x=Operand(ndim=2, empty=False))
def cond(x: Any, p: Any = None) -> Any:
    if p is None or p in (2, -2):
        values = singular_values(x)
        with np.errstate(all="ignore"):
            ratio = values[-1] / values[0] if p == -2 else values[0] / values[-1]
    else:
        expect(x.shape[0] == x.shape[1])
        try:
            inverse = inv(x)
        except np.linalg.LinAlgError:
            raise Unsupported from None
        ratio = np.asarray(norm(x, p, (0, 1)) * norm(inverse, p, (0, 1)))[()]
    expect(not np.isnan(ratio))
    return ratio
