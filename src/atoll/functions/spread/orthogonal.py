"""QR, singular values, and what follows from them: least squares, pseudo-inverses, ranks.

QR is one algorithm for matrices of every shape, by panels of columns. The others begin with it where a matrix is
tall (or its transpose is), so that R is no larger than a share: every rank has R, and does with it what
NumPy does with small matrices. Singular values of other matrices, and eigenvalues, are left to NumPy on the data. Of
stacks of matrices each rank has some whole; where there are fewer than ranks, one comes after the other.
As NumPy does, all is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...collective import Section, even_rows, redistributed, reshaped
from ...collective.factors import everywhere
from ...collective.reflections import (
    factored,
    in_rows,
    is_one_panel,
    is_tall,
    orthogonal,
    tall_factors,
    tall_r,
    upper_rows,
)
from ...comm.in_step import allgather
from ...comm.world import World
from ...layout import Layout
from ...lazy import shaping
from ...lazy.creation import asarray
from ...lazy.sections import of_section, result_layout, section_of
from ...lazy.spread import world_of
from ..blocks import arrays_of, call, every_rank, small_or_there, world_among
from ..public import names
from .table import on_ranks

Array = np.ndarray[Any, Any]
_ANY = "fdFDbhilqBHILQ?"
"""The dtypes that NumPy's linear algebra takes."""


def floats(x: Any) -> Any:
    """The array, where it has integers as one of floating-point numbers."""
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _double(x: Any) -> Any:
    kind = np.complex128 if x.dtype.kind == "c" else np.float64
    return x if x.dtype == kind else x.astype(kind)


def stack_of(a: Any) -> tuple[Any, World] | None:
    """A stack of matrices on ranks."""
    a = asarray(a)
    world = world_of([a])
    usable = world is not None and a.ndim > 2 and a.size and a.dtype.char in _ANY
    return (a, world) if usable and world is not None else None


def of_each(original: Callable[..., Any], a: Any, world: World, *args: Any) -> Any:
    """NumPy's function of each matrix of a stack."""
    shape = a.shape
    count = prod(shape[:-2])
    if count < world.size:
        flat = shaping.reshape(a, (count, *shape[-2:]))
        ours = getattr(names["linalg"], original.__name__)
        made = [ours(flat[k], *args) for k in range(count)]
        if not isinstance(made[0], tuple):
            return shaping.reshape(call("stack", made), (*shape[:-2], *np.shape(made[0])))
        parts = [call("stack", list(part)) for part in zip(*made)]
        parts = [shaping.reshape(part, (*shape[:-2], *part.shape[1:])) for part in parts]
        return _as(type(made[0]), parts)
    section = reshaped(section_of(a, world), even_rows((count, *shape[-2:]), world.size))
    found = every_rank(world, lambda: original(section.block, *args), "whether a function raised")
    parts = [np.asarray(part) for part in (found if isinstance(found, tuple) else (found,))]
    kinds = np.array([ord(part.dtype.char) for part in parts])
    agreed = allgather(world.communicator, kinds, "dtypes of results").reshape(world.size, -1)
    spread = []
    for part, numbers in zip(parts, agreed.T):  # eigenvalues may be complex on some ranks only
        kind = np.result_type(*[np.dtype(chr(n)) for n in sorted(set(numbers.tolist()))])
        layout = even_rows((count, *part.shape[1:]), world.size)
        local = Section(part.astype(kind, copy=False), layout, world.communicator)
        lined = small_or_there(local, world)
        spread.append(shaping.reshape(lined, (*shape[:-2], *part.shape[1:])))
    return _as(type(found), spread) if isinstance(found, tuple) else spread[0]


def _as(kind: Any, parts: list[Any]) -> Any:
    """Several results, as the tuple or the named tuple that NumPy gives."""
    return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)


def _only_stacks(original: Callable[..., Any]) -> Callable[..., Any]:
    def entry(a: Any, *args: Any) -> Any:
        stack = stack_of(a)
        return NotImplemented if stack is None else of_each(original, *stack, *args)

    return entry


for _original in (np.linalg.eig, np.linalg.eigh, np.linalg.eigvals, np.linalg.eigvalsh):
    on_ranks(_original)(_only_stacks(_original))


def _matrix(a: Any) -> tuple[Any, World] | None:
    """A matrix on ranks."""
    a = asarray(a)
    world = world_of([a])
    if world is None or a.ndim != 2 or not a.size or a.dtype.char not in _ANY:
        return None
    return a, world


def _turned(a: Any) -> Any:
    """The adjoint."""
    return a.T.conj() if a.dtype.kind == "c" else a.T


def _placed(section: Section, kind: Any, world: World) -> Any:
    """An array over a section, where results lie."""
    section = section.with_block(section.block.astype(kind, copy=False))
    return of_section(redistributed(section, result_layout(section.shape, world)), world)


def _whole(array: Array, kind: Any) -> Any:
    return asarray(array.astype(kind, copy=False))


@on_ranks(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r", "raw"):
        return NotImplemented
    stack = stack_of(a)
    if stack is not None:
        return of_each(np.linalg.qr, *stack, mode)
    found = _matrix(a)
    if found is None:
        return NotImplemented
    a, world = found
    kind = floats(a[:0]).dtype
    matrix = in_rows(section_of(_double(a), world))
    rows, columns = matrix.shape
    named = type(np.linalg.qr(np.eye(1)))
    with np.errstate(all="ignore"):
        if mode in ("reduced", "r") and is_one_panel((rows, columns), world.size):
            q, r = tall_factors(matrix)
            r = _whole(r, kind)
            return r if mode == "r" else named(_placed(q, kind, world), r)
        panels = factored(matrix)
        if mode == "raw":
            tau = np.concatenate([panel.joined.diagonal() for panel in panels])
            return _placed(matrix.transposed((1, 0)), kind, world), _whole(tau, kind)
        shorter = rows if mode == "complete" else min(rows, columns)
        upper = _placed(upper_rows(matrix, shorter), kind, world)
        if mode == "r":
            return upper
        return named(_placed(orthogonal(matrix, panels, shorter), kind, world), upper)


def _lies_tall(a: Any, world: World) -> bool | None:
    """Whether a matrix is tall; ``None`` if neither it nor its transpose is."""
    if is_tall(a.shape, world.size):
        return True
    return False if is_tall(a.shape[::-1], world.size) else None


@on_ranks(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        return NotImplemented
    stack = stack_of(a)
    if stack is not None:
        return of_each(np.linalg.svd, *stack, full_matrices, compute_uv)
    if not compute_uv:
        return svdvals(a)
    found = _matrix(a)
    tall = None if found is None else _lies_tall(*found)
    if found is None or tall is None:
        return NotImplemented
    a, world = found
    kind = floats(a[:0]).dtype
    left, values, right = _thin(a if tall else _turned(a), world, full=bool(full_matrices))
    values = _whole(values, kind.type(0).real.dtype)
    named = type(np.linalg.svd(np.eye(1)))
    if tall:
        return named(_placed(left, kind, world), values, _whole(right, kind))
    far = left.with_block(left.block.conj()).transposed((1, 0))
    return named(_whole(right.conj().T, kind), values, _placed(far, kind, world))


def _thin(tall: Any, world: World, *, full: bool = False) -> tuple[Section, Array, Array]:
    """Singular vectors and values of a tall matrix: the left ones, or a whole basis, with the owners of rows."""
    matrix = in_rows(section_of(_double(tall), world))
    rows, columns = matrix.shape
    if not full:
        q, r = tall_factors(matrix)
        u, values, right = np.linalg.svd(r)
        return q.with_block(q.block @ u), values, right
    panels = factored(matrix)
    r = everywhere(upper_rows(matrix, columns), slice(None), slice(None))
    basis = orthogonal(matrix, panels, rows)
    u, values, right = np.linalg.svd(r)
    basis.block[:, :columns] = basis.block[:, :columns] @ u
    return basis, values, right


def _r_of(a: Any, world: World) -> Array:
    section = section_of(_double(a), world)
    return tall_r(redistributed(section, even_rows(section.shape, world.size)))


def singular_values(a: Any) -> Any:
    """Of a tall or wide matrix, on every rank."""
    found = _matrix(a)
    tall = None if found is None else _lies_tall(*found)
    if found is None or tall is None:
        return NotImplemented
    a, world = found
    values = np.linalg.svdvals(_r_of(a if tall else a.T, world))
    return values.astype(floats(a[:0]).real.dtype, copy=False)


@on_ranks(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    stack = stack_of(x)
    if stack is not None:
        return of_each(np.linalg.svdvals, *stack)
    found = singular_values(x)
    return found if found is NotImplemented else asarray(found)


@on_ranks(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    a = asarray(A)
    if a.ndim != 2 or hermitian or (tol is not None and rtol is not None):
        return NotImplemented
    values = singular_values(a)
    if values is NotImplemented:
        return values
    if tol is None:
        share = max(a.shape) * np.finfo(values.dtype).eps if rtol is None else rtol
        tol = values.max(initial=0) * share
    return np.count_nonzero(values > tol)


@on_ranks(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, **options: Any) -> Any:
    found = _matrix(a)
    tall = None if found is None else _lies_tall(*found)
    given = [rcond, *options.values()]
    if found is None or tall is None or hermitian or any(np.ndim(one) for one in given):
        return NotImplemented
    a, world = found
    inexact = a.dtype.kind in "fc" or options.get("rtol", 0) is not None
    if (rcond is not None and options) or not inexact:
        return NotImplemented  # NumPy has the words
    kind = floats(a[:0]).dtype
    if rcond is None:
        rcond = options.get("rtol", 1e-15)
        rcond = max(a.shape) * np.finfo(kind).eps if rcond is None else rcond
    left, values, right = _thin(a if tall else _turned(a), world)
    large = values > rcond * values.max(initial=0)
    inverse = np.divide(1, values, out=np.zeros_like(values), where=large)
    joined = left.with_block((left.block * inverse) @ right)  # the adjoint of what is sought
    if tall:
        joined = joined.with_block(joined.block.conj()).transposed((1, 0))
    return _placed(joined, kind, world)


@on_ranks(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    world, arrays = world_among(a, b), arrays_of(a, b)
    if world is None or arrays is None:
        return NotImplemented
    matrix, right = arrays
    if any(one.dtype.char not in _ANY or not one.size for one in arrays):
        return NotImplemented
    if matrix.ndim != 2 or right.ndim not in (1, 2) or right.shape[0] != matrix.shape[0]:
        return NotImplemented
    kind = np.result_type(floats(matrix[:0]).dtype, floats(right[:0]).dtype)
    inner = np.complex128 if kind.kind == "c" else np.float64
    wide = (right if right.ndim == 2 else shaping.reshape(right, (-1, 1))).astype(inner)
    matrix = matrix.astype(inner)
    share = np.finfo(inner).eps * max(matrix.shape) if rcond is None else rcond
    solve = _tall_squares if matrix.shape[0] > matrix.shape[1] else _wide_squares
    found = solve(matrix, wide, share, world)
    if found is NotImplemented:
        return found
    x, left, rank, values = found
    real = kind.type(0).real.dtype
    x = x[:, 0] if right.ndim == 1 else x
    return x.astype(kind), _whole(left, real), rank, _whole(values, real)


def _tall_squares(matrix: Any, right: Any, share: float, world: World) -> Any:
    """From R of the matrix with the right sides beside it."""
    columns = matrix.shape[1]
    both = call("concatenate", (matrix, right), 1)
    if not is_tall(both.shape, world.size):
        return NotImplemented
    r = _r_of(both, world)
    x, _, rank, values = np.linalg.lstsq(r[:columns, :columns], r[:columns, columns:], share)
    left = (np.abs(r[columns:, columns:]) ** 2).sum(0) if rank == columns else np.empty(0)
    return asarray(x), left, rank, values


def _wide_squares(matrix: Any, right: Any, share: float, world: World) -> Any:
    """The shortest solution: ``Q y``, where ``A = R^H Q^H``, with the shortest ``y``."""
    rows, columns = matrix.shape
    if not is_tall((columns, rows), world.size) or right.size > matrix.size // world.size:
        return NotImplemented
    turned = in_rows(section_of(_turned(matrix), world))
    q, r = tall_factors(turned)
    every = Layout.replicated(right.shape, world.size)
    there = redistributed(section_of(right, world), every).block
    y, _, rank, values = np.linalg.lstsq(r.conj().T, there, share)
    layout = even_rows((columns, right.shape[1]), world.size)
    made = _placed(Section(q.block @ y, layout, world.communicator), q.dtype, world)
    return made, np.empty(0), rank, values


@on_ranks(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    x, y = asarray(x), asarray(y)
    if full or cov or not isinstance(deg, (int, np.integer)) or deg < 0 or x.ndim != 1:
        return NotImplemented
    if y.ndim not in (1, 2) or len(x) != len(y) or not x.size or x.dtype.kind == "c":
        return NotImplemented
    x, y = x + 0.0, y + 0.0
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left = call("vander", x, int(deg) + 1)
    if w is not None:
        w = asarray(w) + 0.0
        left = left * shaping.reshape(w, (-1, 1))
        y = y * (w if y.ndim == 1 else shaping.reshape(w, (-1, 1)))
    scale = np.asarray(call("sqrt", (left * left).sum(0)))
    found = lstsq(left / scale, y, rcond)
    if found is NotImplemented:
        return found
    fit = np.asarray(found[0])
    return asarray((fit.T / scale).T)
