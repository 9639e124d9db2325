"""Matrix products of distributed arrays: ``@``, ``dot``, ``inner``, ``tensordot``, ``einsum``.

Everything comes down to the product of two stacks of matrices (see :mod:`..collective.products`).
A function here answers ``NotImplemented`` where no operand lies on several ranks: then BLAS has
the whole data.

``einsum`` contracts operands from left to right. Each letter of a pair is in both operands and the
result (a stack), in both and gone (contracted), or in one of them. Letters that
only one operand has are summed first; a letter twice in one operand is its diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from operator import index
from typing import Any

import numpy as np

from ..context.interrupts import passed_on
from ..ops.elementwise import is_native
from . import reductions, shaping
from .creation import asarray
from .elementwise import general
from .sections import record
from .spread import world_of
from .views import Handle

_read_subscripts: Any = import_module("numpy._core.einsumfunc")._parse_einsum_input
"""The terms of operands and of the result, with a letter for each axis."""


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


def einsum(operands: Sequence[Any]) -> Any:
    """``np.einsum``; ``NotImplemented`` where NumPy has to compute it."""
    if not operands or world_of(operands) is None:
        return NotImplemented
    spelt = isinstance(operands[0], str)
    places = range(1, len(operands)) if spelt else range(0, len(operands) - 1, 2)
    arrays = [operands[k] for k in places]
    if not all(map(_is_native, arrays)):
        return NotImplemented
    samples = list(operands)
    for k, array in zip(places, arrays):
        samples[k] = np.zeros((1,) * array.ndim)
    np.einsum(*samples)  # NumPy's words
    left, result, _ = _read_subscripts(samples)
    terms = left.split(",")
    extents: dict[str, int] = {}
    for term, a in zip(terms, arrays):
        for letter, n in zip(term, a.shape):
            if extents.setdefault(letter, n) != n:
                return NotImplemented
    dtype = np.result_type(*[a.dtype for a in arrays])
    if dtype.kind == "b":
        return NotImplemented
    if len(arrays) > 1:  # truth values and small integers are multiplied as numbers of the result
        arrays = [asarray(a) if a.dtype == dtype else asarray(a).astype(dtype) for a in arrays]
    parts = [
        _single(asarray(a), term, "".join(terms[:k] + terms[k + 1 :]) + result, dtype)
        for k, (term, a) in enumerate(zip(terms, arrays))
    ]
    total, have = parts[0]
    for k, (part, letters) in enumerate(parts[1:], 1):
        later = "".join(term for _, term in parts[k + 1 :]) + result
        total, have = _pair(total, have, part, letters, later)
    kept = "".join(c for c in have if c in result)
    if len(kept) < len(have):
        total = _summed(total, [k for k, c in enumerate(have) if c not in result], dtype)
    if kept == result:
        return total if result else total[()]  # a number, as NumPy's is
    return shaping.transpose(total, tuple(kept.index(c) for c in result))


def _is_native(value: Any) -> bool:
    return isinstance(value, (Handle, np.ndarray)) and is_native(
        value.dtype  # type: ignore[union-attr]
    )


def _summed(array: Any, axes: list[int], dtype: Any) -> Any:
    if not axes:
        return array
    summed = reductions.reduce(np.add, array, tuple(axes), dtype)
    return array.sum(tuple(axes), dtype) if summed is NotImplemented else summed


def _single(array: Any, term: str, others: str, dtype: Any) -> tuple[Any, str]:
    """An operand with each letter once, and only letters that another operand or the result has."""
    for letter in sorted(set(term)):
        while term.count(letter) > 1:
            first = term.index(letter)
            two = term.index(letter, first + 1)
            array = _diagonal(array, first, two)
            term = term[:first] + term[first + 1 : two] + term[two + 1 :] + letter
    alone = [k for k, c in enumerate(term) if c not in others]
    return _summed(array, alone, dtype), "".join(c for c in term if c in others)


def _diagonal(array: Any, first: int, second: int) -> Any:
    return shaping.view(
        array, ("diagonal", 0, first, second), lambda s: s.diagonal(0, first, second)
    )


def _pair(a: Any, first: str, b: Any, second: str, later: str) -> tuple[Any, str]:
    """The contraction of two operands, and its letters."""
    stack = [c for c in first if c in second and c in later]
    inner = [c for c in first if c in second and c not in later]
    rows = [c for c in first if c not in second]
    columns = [c for c in second if c not in first]
    if not inner:
        every = [*stack, *rows, *columns]
        return general(np.multiply, _spread(a, first, every), _spread(b, second, every)), "".join(
            every
        )
    left = _ordered(a, first, stack, rows, inner)
    right = _ordered(b, second, stack, inner, columns)
    product = matmul(left, right)
    if product is NotImplemented:
        product = general(np.matmul, left, right)
    extent = dict(zip(first + second, a.shape + b.shape))
    letters = [*stack, *rows, *columns]
    shape = tuple(extent[c] for c in letters)
    return shaping.reshape(product, shape), "".join(letters)


def _spread(array: Any, term: str, letters: list[str]) -> Any:
    if not term:
        return array
    turned = shaping.transpose(array, tuple(term.index(c) for c in letters if c in term))
    extent = dict(zip(term, array.shape))
    return shaping.reshape(turned, tuple(extent.get(c, 1) for c in letters))


def _ordered(array: Any, term: str, *groups: list[str]) -> Any:
    """The axes in the order of the groups: the first group's as they are, each other's as one."""
    turned = shaping.transpose(array, tuple(term.index(c) for group in groups for c in group))
    extent = dict(zip(term, array.shape))
    stack = tuple(extent[c] for c in groups[0])
    return shaping.reshape(
        turned, (*stack, *[prod(extent[c] for c in group) for group in groups[1:]])
    )
