"""Products of matrices and vectors: BLAS on the data, fused loops, and collective products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import selecting, shaping
from ..lazy.calling import call as ufunc_call
from ..lazy.creation import asarray
from ..lazy.elementwise import register_together
from ..lazy.making import is_small, plain
from ..lazy.small import GENERAL, at_once
from ..lazy.spread import place_of, world_of
from ..lazy.views import Handle
from .blocks import call, into
from .public import array_of, collective, is_large, native, on_data


@native
def dot(a: Any, b: Any, out: Any = None) -> Any:
    first = _flattened(a)
    return selecting.dot(first, first if b is a else _flattened(b), out)


def _flattened(value: Any) -> Any:
    if type(value) is Handle.array_type:
        return value
    inner = getattr(type(value), "_handle", None)
    return value if inner is None else inner(value)


@collective(np.vdot, alone=True)
def vdot(a: Any, b: Any, /) -> Any:
    a, b = array_of(a), array_of(b)
    if not (is_large(a) and is_large(b)):
        return NotImplemented
    return selecting.dot((a.conj() if a.dtype.kind == "c" else a).ravel(), b.ravel(), None)


@native
def inner(a: Any, b: Any, /) -> Any:
    from ..lazy import products

    if isinstance(a, Handle) and isinstance(b, Handle) and a.ndim == b.ndim == 1:  # type: ignore[attr-defined]
        return selecting.dot(a, b, None)
    return products.inner(a, b)


@collective(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    from ..lazy import products

    return products.tensordot(a, b, plain(axes))


@native
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    from ..lazy import contraction

    if options or not (out is None or any(place_of(value) is not None for value in operands)):
        return NotImplemented
    return into(out, contraction.einsum(operands))


@native
def outer(a: Any, b: Any, out: Any = None) -> Any:
    if is_small((getattr(a, "size", 0), getattr(b, "size", 0))):
        result = at_once(np.outer, (a, b, out), {})
        if result is not GENERAL:
            return result
    a, b = asarray(a).ravel(), asarray(b).ravel()
    column = shaping.reshape(a, (-1, 1))
    return ufunc_call(np.multiply, (column, b), {} if out is None else {"out": out})


def _trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    a = asarray(a)
    if not is_large(a) or a.ndim < 2:
        return NotImplemented
    return into(out, a.diagonal(offset, axis1, axis2).sum(-1, dtype=dtype), "unsafe")


collective(np.trace, alone=True)(_trace)
collective(np.ndarray.trace)(_trace)


def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1, **options: Any) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    if options or world_of((x1, x2)) is None:
        return NotImplemented
    if not x1.ndim or not x2.ndim or x1.shape[axis] != x2.shape[axis] or x1.dtype.kind == "b":
        return NotImplemented
    product = (x1.conj() if x1.dtype.kind == "c" else x1) * x2
    return product.sum(axis, product.dtype)


def _matvec(x1: Any, x2: Any, /, **options: Any) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    if (
        options
        or world_of((x1, x2)) is None
        or x1.ndim < 2
        or not x2.ndim
        or x1.shape[-1] != x2.shape[-1]
    ):
        return NotImplemented
    product = call("matmul", x1, x2[..., None])
    return product[..., 0]


def _vecmat(x1: Any, x2: Any, /, **options: Any) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    if (
        options
        or world_of((x1, x2)) is None
        or x2.ndim < 2
        or not x1.ndim
        or x1.shape[-1] != x2.shape[-2]
    ):
        return NotImplemented
    left = x1.conj() if x1.dtype.kind == "c" else x1
    return call("matmul", left[..., None, :], x2)[..., 0, :]


register_together(np.vecdot, _vecdot)
register_together(np.matvec, _matvec)
register_together(np.vecmat, _vecmat)
on_data("einsum_path")
