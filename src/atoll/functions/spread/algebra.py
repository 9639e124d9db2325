"""Linear algebra: norms and products as compositions, equations by factors that ranks find together."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...collective import even_rows, redistributed
from ...collective.factors import cholesky as factor_cholesky
from ...collective.factors import dealt_rows, diagonal, lu, solved
from ...comm.world import World
from ...lazy import shaping
from ...lazy.creation import asarray
from ...lazy.sections import of_section, section_of
from ...lazy.spread import world_of
from ..blocks import arrays_of, call, into, world_among
from .orthogonal import floats, of_each, singular_values, stack_of
from .table import on_ranks

Array = np.ndarray[Any, Any]


@on_ranks(np.ndarray.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    if a.ndim < 2:
        return NotImplemented
    return into(out, a.diagonal(offset, axis1, axis2).sum(-1, dtype=dtype), "unsafe")


@on_ranks(np.linalg.trace)
def matrix_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    x = asarray(x)
    return x.diagonal(offset, -2, -1).sum(-1, dtype=dtype) if x.ndim >= 2 else NotImplemented


@on_ranks(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    if not x1.ndim or not x2.ndim or x1.shape[axis] != x2.shape[axis] or x1.dtype.kind == "b":
        return NotImplemented
    product = (x1.conj() if x1.dtype.kind == "c" else x1) * x2
    return product.sum(axis, product.dtype)


@on_ranks(np.matvec)
def matvec(x1: Any, x2: Any, /) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim < 2 or not x2.ndim or x1.shape[-1] != x2.shape[-1]:
        return NotImplemented
    return call("matmul", x1, x2[..., None])[..., 0]


@on_ranks(np.vecmat)
def vecmat(x1: Any, x2: Any, /) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    if x2.ndim < 2 or not x1.ndim or x1.shape[-1] != x2.shape[-2]:
        return NotImplemented
    left = x1.conj() if x1.dtype.kind == "c" else x1
    return call("matmul", left[..., None, :], x2)[..., 0, :]


@on_ranks(np.linalg.tensordot)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return call("tensordot", x1, x2, axes)


@on_ranks(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        return NotImplemented
    return call("cross", x1, x2, axis=axis)


def _lengths(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    """Norms of vectors."""
    if ord is None or ord == 2:
        parts = x * x if x.dtype.kind != "c" else x.real * x.real + x.imag * x.imag
        return call("sqrt", parts.sum(axes, keepdims=keepdims))
    if ord == np.inf:
        return abs(x).max(axes, keepdims=keepdims)
    if ord == -np.inf:
        return abs(x).min(axes, keepdims=keepdims)
    if ord == 0:
        return (x != 0).astype(x.real.dtype).sum(axes, keepdims=keepdims)
    if ord == 1:
        return abs(x).sum(axes, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    powers = call("power", abs(x), ord).sum(axes, keepdims=keepdims)
    return call("power", powers, np.reciprocal(ord, dtype=np.float64)).astype(x.real.dtype)


@on_ranks(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = asarray(x)
    if arrays_of(x) is None or not x.size:
        return NotImplemented
    x = floats(x)
    if axis is None and (ord is None or (x.ndim == 2 and ord == "fro")):
        return _lengths(x, 2, None, keepdims)
    if axis is None and x.ndim > 2:
        return NotImplemented
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = np.lib.array_utils.normalize_axis_tuple(axes, x.ndim)
    if len(axes) == 1:
        return _lengths(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        return NotImplemented
    if ord in (None, "fro"):
        return _lengths(x, 2, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = axes if abs(ord) == 1 else axes[::-1]
        sums = abs(x).sum(inner, keepdims=True)
        made = sums.max(outer, keepdims=True) if ord > 0 else sums.min(outer, keepdims=True)
        left = [1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes]
        return shaping.reshape(made, tuple(left)) if left else made[(0,) * x.ndim]
    if ord in (2, -2, "nuc") and x.ndim == 2 and axes == (0, 1):
        values = singular_values(x)
        if values is NotImplemented:
            return values
        found = values.max() if ord == 2 else values.min() if ord == -2 else values.sum()
        return asarray(found.reshape(1, 1)) if keepdims else found
    return NotImplemented


@on_ranks(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@on_ranks(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = asarray(x)
    if arrays_of(x) is None or not x.size:
        return NotImplemented
    return _lengths(floats(x), ord, axis, keepdims)


@on_ranks(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    a = asarray(a)
    try:
        n = index(n)
    except TypeError:
        return NotImplemented
    if a.ndim != 2 or a.shape[0] != a.shape[1] or n < 1:
        return NotImplemented
    made = None
    while n:
        if n & 1:
            made = a if made is None else call("matmul", made, a)
        n >>= 1
        if n:
            a = call("matmul", a, a)
    return made.copy() if made is a else made


@on_ranks(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    listed = [asarray(a) for a in arrays]
    if len(listed) < 2 or arrays_of(*listed) is None or any(a.ndim > 2 for a in listed):
        return NotImplemented
    while len(listed) > 1:  # the pair with the least work first
        work = [
            prod(one.shape) * (two.shape[1] if two.ndim > 1 else 1) for one, two in pairwise(listed)
        ]
        k = int(np.argmin(work))
        listed[k : k + 2] = [call("dot", listed[k], listed[k + 1])]
    return into(out, listed[0])


def _square(a: Any) -> tuple[Any, World] | None:
    """A square matrix of floating-point numbers on ranks."""
    a = asarray(a)
    world = world_of([a])
    if world is None or a.dtype.char not in "fdFDbhilqBHILQ?" or a.ndim != 2 or not a.size:
        return None
    if a.shape[0] != a.shape[1]:
        return None
    return floats(a), world


@on_ranks(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    world = world_among(a, b)
    arrays = arrays_of(a, b)
    if world is None or arrays is None:
        return NotImplemented
    matrix, right = map(floats, arrays)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        return NotImplemented
    if right.ndim not in (1, 2) or right.shape[0] != matrix.shape[0] or not right.size:
        return NotImplemented
    kind = np.result_type(matrix.dtype, right.dtype)
    if kind.char not in "fdFD" or "e" in (matrix.dtype.char, right.dtype.char):
        return NotImplemented
    wide = right if right.ndim == 2 else shaping.reshape(right, (-1, 1))
    found = _solution(matrix.astype(kind), wide.astype(kind), world)
    return found if right.ndim == 2 else shaping.reshape(found, (-1,))


def _solution(matrix: Any, right: Any, world: World) -> Any:
    factors = dealt_rows(section_of(matrix, world))
    order, _, singular = lu(factors)
    if singular:
        raise np.linalg.LinAlgError("Singular matrix")
    found = solved(factors, order, dealt_rows(section_of(right, world)))
    return of_section(redistributed(found, even_rows(found.shape, world.size)), world)


@on_ranks(np.linalg.inv)
def inv(a: Any) -> Any:
    found, stack = _square(a), stack_of(a)
    if stack is not None:
        return of_each(np.linalg.inv, *stack)
    if found is None:
        return NotImplemented
    matrix, world = found
    return _solution(matrix, call("eye", matrix.shape[0], dtype=matrix.dtype), world)


def _determinant(a: Any) -> tuple[Array, int, bool] | None:
    found = _square(a)
    if found is None:
        return None
    matrix, world = found
    factors = dealt_rows(section_of(matrix, world))
    _, sign, singular = lu(factors)
    return diagonal(factors), sign, singular


@on_ranks(np.linalg.det)
def det(a: Any) -> Any:
    stack = stack_of(a)
    if stack is not None:
        return of_each(np.linalg.det, *stack)
    found = _determinant(a)
    if found is None:
        return NotImplemented
    values, sign, singular = found
    return values.dtype.type(0) if singular else sign * np.multiply.reduce(values)


@on_ranks(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    stack = stack_of(a)
    if stack is not None:
        return of_each(np.linalg.slogdet, *stack)
    found = _determinant(a)
    if found is None:
        return NotImplemented
    values, sign, singular = found
    kind = type(np.linalg.slogdet(np.eye(1)))
    if singular:
        return kind(values.dtype.type(0), values.real.dtype.type(-np.inf))
    sizes = np.abs(values)
    return kind(sign * np.multiply.reduce(values / sizes), np.log(sizes).sum())


@on_ranks(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    stack = stack_of(a)
    if stack is not None and not upper:
        return of_each(np.linalg.cholesky, *stack)
    found = _square(a)
    if found is None:
        return NotImplemented
    matrix, world = found
    if upper:
        matrix = matrix.T.conj() if matrix.dtype.kind == "c" else matrix.T
    factors = dealt_rows(section_of(matrix, world))
    factor_cholesky(factors)
    made = of_section(redistributed(factors, even_rows(factors.shape, world.size)), world)
    if not upper:
        return made
    return (made.T.conj() if made.dtype.kind == "c" else made.T).copy()


@on_ranks(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    x = asarray(x)
    if x.ndim != 2 or not x.size:
        return NotImplemented
    if p is None or p in (2, -2):
        values = singular_values(x)
        if values is NotImplemented:
            return values
        with np.errstate(all="ignore"):
            found = values[-1] / values[0] if p == -2 else values[0] / values[-1]
    else:
        square = _square(x)
        if square is None:
            return NotImplemented
        matrix = square[0]
        try:
            turned = inv(matrix)
        except np.linalg.LinAlgError:
            return NotImplemented
        found = np.asarray(norm(matrix, p, (0, 1)) * norm(turned, p, (0, 1)))[()]
    return NotImplemented if np.isnan(found) else found
