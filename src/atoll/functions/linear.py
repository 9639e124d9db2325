"""Products of matrices and vectors: BLAS on the data, except what is a fused loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import selecting, shaping
from ..lazy.elementwise import general
from ..lazy.fallback import by_numpy
from ..lazy.making import is_small, plain
from ..lazy.small import GENERAL, at_once
from ..lazy.views import Handle
from .public import array_of, is_large, native, on_data


@native
def dot(a: Any, b: Any, out: Any = None) -> Any:
    first = _flattened(a)
    return selecting.dot(first, first if b is a else _flattened(b), out)


def _flattened(value: Any) -> Any:
    if type(value) is Handle.array_type:
        return value
    inner = getattr(type(value), "_handle", None)
    return value if inner is None else inner(value)


@native
def vdot(a: Any, b: Any, /) -> Any:
    a, b = array_of(a), array_of(b)
    if is_large(a) and is_large(b):
        if a.dtype.kind == "c":
            a = a.conj()
        return selecting.dot(a.ravel(), b.ravel(), None)
    return by_numpy(np.vdot, (a, b), {})


@native
def inner(a: Any, b: Any, /) -> Any:
    from ..lazy import products

    if isinstance(a, Handle) and isinstance(b, Handle) and a.ndim == b.ndim == 1:  # type: ignore[attr-defined]
        return selecting.dot(a, b, None)
    result = products.inner(a, b)
    return by_numpy(np.inner, (a, b), {}) if result is NotImplemented else result


@native
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    from ..lazy import products

    result = products.tensordot(a, b, plain(axes))
    return by_numpy(np.tensordot, (a, b, axes), {}) if result is NotImplemented else result


@native
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    from ..lazy import contraction

    result = NotImplemented
    if out is None and not options:
        result = contraction.einsum(operands)
    if result is not NotImplemented:
        return result
    if out is not None:
        options["out"] = out
    return by_numpy(np.einsum, operands, {**options, "optimize": optimize})


@native
def outer(a: Any, b: Any, out: Any = None) -> Any:
    if is_small((getattr(a, "size", 0), getattr(b, "size", 0))):
        result = at_once(np.outer, (a, b, out), {})
        if result is not GENERAL:
            return result
    a, b = array_of(a).ravel(), array_of(b).ravel()
    if out is not None:
        return by_numpy(np.outer, (a, b), {"out": out})
    return general(np.multiply, shaping.reshape(a, (-1, 1)), b)


@native
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    a = array_of(a)
    if not is_large(a) or out is not None or a.ndim < 2:
        return by_numpy(np.trace, (a, offset, axis1, axis2, dtype), {"out": out})
    return a.diagonal(offset, axis1, axis2).sum(-1, dtype=dtype)


on_data("einsum_path", "kron", "convolve", "correlate")
