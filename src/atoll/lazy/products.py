"""Matrix products of distributed arrays: ``@``, ``dot``, ``inner``, ``tensordot``, ``einsum``.

Everything comes down to the product of two stacks of matrices (see :mod:`..run.collective.products`).
A function here answers ``NotImplemented`` where no operand lies on several ranks: then BLAS has
the whole data.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..context.interrupts import passed_on
from ..ops.elementwise import is_native
from . import shaping
from .creation import asarray
from .sections import record
from .spread import world_of
from .views import Handle


def _dtype(a: Any, b: Any) -> Any:
    if not all(isinstance(v, (Handle, np.ndarray)) for v in (a, b)):
        return None
    dtype = np.result_type(a.dtype, b.dtype)
    return dtype if is_native(a.dtype) and is_native(b.dtype) and is_native(dtype) else None


def matmul(a: Any, b: Any) -> Any:
    """``a @ b``, on any layouts."""
    world = world_of((a, b))
    dtype = None if world is None else _dtype(a, b)
    if world is None or dtype is None:
        return NotImplemented
    if not _agree(a.shape, b.shape):
        np.matmul(*[np.broadcast_to(np.zeros((), bool), v.shape) for v in (a, b)])  # its error
    return record("matmul", (a, b), dtype)


def _agree(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return False
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError as problem:
        passed_on(problem)
        return False
    return True


def dot(a: Any, b: Any) -> Any:
    """``np.dot``: over the last axis of ``a`` and the last but one of ``b``."""
    if world_of((a, b)) is None or _dtype(a, b) is None or not a.ndim or not b.ndim:
        return NotImplemented
    if b.ndim <= 2:
        return matmul(a, b) if _agree(a.shape, b.shape) else NotImplemented
    if a.shape[-1] != b.shape[-2]:
        return NotImplemented
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


def inner(a: Any, b: Any) -> Any:
    """``np.inner``: over the last axes."""
    if world_of((a, b)) is None or _dtype(a, b) is None or not a.ndim or not b.ndim:
        return NotImplemented
    if a.shape[-1] != b.shape[-1]:
        return NotImplemented
    if a.ndim == b.ndim == 1:
        return matmul(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def _axes(axes: Any, a: Any, b: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    try:
        first, second = axes
    except TypeError:
        count = index(axes)
        first, second = range(a.ndim - count, a.ndim), range(count)
    normal = np.lib.array_utils.normalize_axis_tuple
    try:
        left = tuple(normal(first, a.ndim, allow_duplicate=True))
        right = tuple(normal(second, b.ndim, allow_duplicate=True))
    except (ValueError, TypeError) as problem:
        passed_on(problem)
        return None
    fits = len(left) == len(right) and all(a.shape[j] == b.shape[k] for j, k in zip(left, right))
    return (
        (left, right)
        if fits and len(set(left)) == len(left) and len(set(right)) == len(right)
        else None
    )


def tensordot(a: Any, b: Any, axes: Any) -> Any:
    """``np.tensordot``: transposed and flattened to matrices, which are multiplied."""
    if world_of((a, b)) is None or _dtype(a, b) is None:
        return NotImplemented
    pair = _axes(axes, a, b)
    if pair is None:
        return NotImplemented
    first, second = pair
    a, b = _as_ours(a), _as_ours(b)
    left = [k for k in range(a.ndim) if k not in first]
    right = [k for k in range(b.ndim) if k not in second]
    shape = tuple([a.shape[k] for k in left] + [b.shape[k] for k in right])
    length = int(np.prod([a.shape[k] for k in first], dtype=np.int64))
    rows, columns = (
        int(np.prod([v.shape[k] for k in kept], dtype=np.int64))
        for v, kept in ((a, left), (b, right))
    )
    if not left:
        rows_shape: tuple[int, ...] = (length,)
    else:
        rows_shape = (rows, length)
    columns_shape = (length, columns) if right else (length,)
    a = shaping.reshape(shaping.transpose(a, (*left, *first)), rows_shape)
    b = shaping.reshape(shaping.transpose(b, (*second, *right)), columns_shape)
    result = matmul(a, b)
    return result if result is NotImplemented else shaping.reshape(_as_ours(result), shape)


def _as_ours(value: Any) -> Any:
    return value if isinstance(value, Handle) else asarray(value)
