"""QR and singular value decompositions, and their applications: least squares, pseudo-inverses, ranks of matrices.

QR is one algorithm for matrices of every shape, by panels of columns. The others begin with it where a matrix is
tall (or its transpose is), so that R is no larger than a share: every rank has R, and calls NumPy for
this small matrix. Singular values of other matrices, and eigenvalues of Hermitian ones, are left to NumPy on the
data, or computed by spectral division if they are large. Other eigenvalues are left to NumPy.
As NumPy does, all is computed in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...collective import Section, even_blocks, redistributed
from ...collective.elements import everywhere
from ...collective.reflections import (
    factors_of,
    is_tall,
    on_grid,
    tall_r,
)
from ...comm.world import World
from ...layout import Layout
from ...lazy import shapes
from ...lazy.creation import asarray
from ...lazy.fallback import Unsupported, expect
from ...lazy.sections import record, section_of
from ..blocks import call
from ..operands import Operand, accepts
from ..public import collective
from .matrices import TAKEN, Array, adjoint, double, floats, of_matrices, placed, replicated
from .spectral import eigen, is_large, lin, singular


@of_matrices(keeps="arrays")
def qr(a: Any, world: World, mode: str = "reduced") -> Any:
    expect(mode in ("reduced", "complete", "r", "raw"))
    line = record("qr", (double(a),), mode, floats(a[:0]).dtype)
    count = 1 if mode == "r" else 2
    factors = [record("factor of qr", (line,), a.shape, mode, k) for k in range(count)]
    if mode in ("r", "raw"):
        return factors[0] if mode == "r" else tuple(factors)
    return type(np.linalg.qr(np.eye(1)))(*factors)


@of_matrices()
def eig(a: Any, world: World) -> Any:
    raise Unsupported


@of_matrices()
def eigvals(a: Any, world: World) -> Any:
    raise Unsupported


def _eigen(a: Any, world: World, uplo: str) -> tuple[Array, Any]:
    """Eigenvalues and eigenvectors of a Hermitian matrix of which a triangle is given."""
    expect(is_large(a) and uplo.upper() in ("L", "U"))
    lower = call("tril", double(a if uplo.upper() == "L" else adjoint(a)))
    return eigen((lower + adjoint(lower)) - call("diag", lower.diagonal().real), world)


@of_matrices(square=True)
def eigh(a: Any, world: World, UPLO: str = "L") -> Any:
    values, vectors = _eigen(a, world, UPLO)
    kind = floats(a[:0]).dtype
    values = replicated(values, kind.type(0).real.dtype)
    return type(np.linalg.eigh(np.eye(1)))(values, vectors.astype(kind))


@of_matrices(square=True)
def eigvalsh(a: Any, world: World, UPLO: str = "L") -> Any:
    values, _ = _eigen(a, world, UPLO)
    return replicated(values, floats(a[:0]).dtype.type(0).real.dtype)


def _singular(a: Any, world: World) -> tuple[Any, Array, Any]:
    """Singular vectors and values of a large matrix that is neither tall nor wide."""
    a = double(a)
    if a.shape[0] >= a.shape[1]:
        return singular(a, world)
    v, values, u = singular(adjoint(a), world)
    return u, values, v


@of_matrices()
def svd(
    a: Any, world: World, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:  # fmt: skip
    expect(not hermitian)
    if not compute_uv:
        return svdvals(a)
    tall = _lies_tall(a, world)
    kind = floats(a[:0]).dtype
    if tall is None:
        return _large_svd(a, world, kind, bool(full_matrices))
    left, values, right = _thin(a if tall else adjoint(a), world, full=bool(full_matrices))
    values = replicated(values, kind.type(0).real.dtype)
    named = type(np.linalg.svd(np.eye(1)))
    if tall:
        return named(placed(left, kind, world), values, replicated(right, kind))
    far = left.with_block(left.block.conj()).transposed((1, 0))
    return named(replicated(right.conj().T, kind), values, placed(far, kind, world))


def _large_svd(a: Any, world: World, kind: Any, full: bool) -> Any:
    """The decomposition of a large matrix that is neither tall nor wide, with whole bases if wanted."""
    rows, columns = a.shape
    u, values, v = _singular(a, world)
    if full and rows != columns:
        shorter = min(rows, columns)
        whole = lin("qr", u if rows > columns else v, "complete")[0]
        joined = call("concatenate", [u if rows > columns else v, whole[:, shorter:]], 1)
        u, v = (joined, v) if rows > columns else (u, joined)
    real = kind.type(0).real.dtype
    named = type(np.linalg.svd(np.eye(1)))
    return named(u.astype(kind), replicated(values, real), adjoint(v).astype(kind))


@of_matrices()
def svdvals(x: Any, world: World) -> Any:
    return asarray(singular_values(x))


def _lies_tall(a: Any, world: World) -> bool | None:
    """True if a matrix is tall; ``None`` if neither it nor its transpose is, and it is too large for NumPy."""
    if is_tall(a.shape, world.size):
        return True
    wide = is_tall(a.shape[::-1], world.size)
    expect(wide or is_large(a))
    return False if wide else None


def _thin(tall: Any, world: World, *, full: bool = False) -> tuple[Section, Array, Array]:
    """Singular vectors and values of a tall matrix: the left ones, or a whole basis, with the owners of rows."""
    matrix = on_grid(section_of(double(tall), world))
    columns = matrix.layout.shape[1]
    q, r = factors_of(matrix, "complete" if full else "reduced")
    u, values, right = np.linalg.svd(everywhere(r.sliced((slice(columns), slice(None)))).block)
    q.block[:, :columns] = q.block[:, :columns] @ u
    return q, values, right


def _r_of(a: Any, world: World) -> Array:
    section = section_of(double(a), world)
    return tall_r(redistributed(section, even_blocks(section.shape, world.size)))


@accepts(a=Operand(types=TAKEN, ndim=2, empty=False))
def singular_values(a: Any, *, world: World) -> Any:
    """Replicated singular values of a tall, wide or large distributed matrix."""
    tall = _lies_tall(a, world)
    if tall is None:
        return _singular(a, world)[1].astype(floats(a[:0]).real.dtype)
    values = np.linalg.svdvals(_r_of(a if tall else a.T, world))
    return values.astype(floats(a[:0]).real.dtype, copy=False)


@of_matrices()
def matrix_rank(
    a: Any, world: World, tol: Any = None, hermitian: bool = False, *, rtol: Any = None
) -> Any:
    expect(not hermitian and (tol is None or rtol is None))
    values = singular_values(a)
    if tol is None:
        share = max(a.shape) * np.finfo(values.dtype).eps if rtol is None else rtol
        tol = values.max(initial=0) * share
    return np.count_nonzero(values > tol)


def _inverses(values: Array, share: Any) -> Array:
    """The inverses of singular values; 0 for values of at most ``share`` times the largest."""
    large = values > share * values.max(initial=0)
    inverses: Array = np.divide(1, values, out=np.zeros_like(values), where=large)
    return inverses


@of_matrices()
def pinv(a: Any, world: World, rcond: Any = None, hermitian: bool = False, **options: Any) -> Any:
    tall = _lies_tall(a, world)
    given = [rcond, *options.values()]
    expect(not hermitian and not any(np.ndim(value) for value in given))
    inexact = a.dtype.kind in "fc" or options.get("rtol", 0) is not None
    expect(inexact and not (rcond is not None and options))  # else NumPy raises the error
    kind = floats(a[:0]).dtype
    if rcond is None:
        rcond = options.get("rtol", 1e-15)
        rcond = max(a.shape) * np.finfo(kind).eps if rcond is None else rcond
    if tall is None:
        u, values, v = _singular(a, world)
        return ((v * _inverses(values, rcond)) @ adjoint(u)).astype(kind)
    left, values, right = _thin(a if tall else adjoint(a), world)
    scaled = (left.block * _inverses(values, rcond)) @ right
    joined = left.with_block(scaled)  # the adjoint of the result
    if tall:
        joined = joined.with_block(joined.block.conj()).transposed((1, 0))
    return placed(joined, kind, world)


@collective(np.linalg.lstsq)
@accepts(a=Operand(types=TAKEN, ndim=2, empty=False), b=Operand(types=TAKEN, least=1, empty=False))
def lstsq(a: Any, b: Any, rcond: Any = None, *, world: World) -> Any:
    matrix, right = a, b
    expect(right.ndim <= 2 and right.shape[0] == matrix.shape[0])
    kind = np.result_type(floats(matrix[:0]).dtype, floats(right[:0]).dtype)
    inner = np.complex128 if kind.kind == "c" else np.float64
    wide = (right if right.ndim == 2 else shapes.reshape(right, (-1, 1))).astype(inner)
    matrix = matrix.astype(inner)
    share = np.finfo(inner).eps * max(matrix.shape) if rcond is None else rcond
    solve = _tall_squares if matrix.shape[0] > matrix.shape[1] else _wide_squares
    solution = solve(matrix, wide, share, world)
    if solution is None:
        expect(is_large(matrix))
        solution = _large_squares(matrix, wide, share, world)
    x, left, rank, values = solution
    real = kind.type(0).real.dtype
    x = x[:, 0] if right.ndim == 1 else x
    return x.astype(kind), replicated(left, real), rank, replicated(values, real)


def _tall_squares(matrix: Any, right: Any, share: float, world: World) -> Any:
    """From R of the matrix with the right sides beside it; ``None`` if that is not tall."""
    columns = matrix.layout.shape[1]
    both = call("concatenate", (matrix, right), 1)
    if not is_tall(both.shape, world.size):
        return None
    r = _r_of(both, world)
    x, _, rank, values = np.linalg.lstsq(r[:columns, :columns], r[:columns, columns:], share)
    left = (np.abs(r[columns:, columns:]) ** 2).sum(0) if rank == columns else np.empty(0)
    return asarray(x), left, rank, values


def _wide_squares(matrix: Any, right: Any, share: float, world: World) -> Any:
    """The shortest solution: ``Q y``, where ``A = R^H Q^H``, with the shortest ``y``; ``None`` if ``A`` is not wide."""
    rows, columns = matrix.shape
    if not is_tall((columns, rows), world.size) or right.size > matrix.size // world.size:
        return None
    q, r = factors_of(on_grid(section_of(adjoint(matrix), world)), "reduced")
    lower, sides = everywhere(r).block.conj().T, everywhere(section_of(right, world)).block
    y, _, rank, values = np.linalg.lstsq(lower, sides, share)
    width = even_blocks((columns, right.shape[1]), world.size).axes[1]
    layout = Layout.in_order([q.layout.axes[0], width], world.size)
    shortest = placed(Section(q.block @ y, layout, world.communicator), q.dtype, world)
    return shortest, np.empty(0), rank, values


def _large_squares(matrix: Any, right: Any, share: float, world: World) -> Any:
    """The shortest solution by the singular values of a matrix that is neither tall nor wide."""
    u, values, v = _singular(matrix, world)
    inverse = _inverses(values, share)
    rank = int(np.count_nonzero(inverse))
    x = v @ (inverse[:, None] * (adjoint(u) @ right))
    left = np.empty(0)
    if rank == matrix.shape[1] < matrix.shape[0]:
        left = np.asarray((abs(right - matrix @ x) ** 2).sum(0))
    return x, left, rank, values
