"""Products of matrices and vectors, Kronecker products, and convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collective import Section, fetch_flat, uneven_line
from ..lazy import selecting, shaping
from ..lazy.calling import call as ufunc_call
from ..lazy.creation import asarray
from ..lazy.elementwise import general, register_together
from ..lazy.fallback import GENERAL, at_hand
from ..lazy.float_errors import free
from ..lazy.making import is_small, plain
from ..lazy.sections import line_of, small_or_there
from ..lazy.spread import place_of, world_of
from ..lazy.views import Handle
from .blocks import arrays_of, call, into, world_among
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
    if not (is_large(a) and is_large(b) and free()):
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
    from ..lazy import products

    if options or not (out is None or any(place_of(value) is not None for value in operands)):
        return NotImplemented
    return into(out, products.einsum(operands))


@native
def outer(a: Any, b: Any, out: Any = None) -> Any:
    if is_small((getattr(a, "size", 0), getattr(b, "size", 0))):
        result = at_hand(np.outer, (a, b, out), {})
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


def _sliding(name: str) -> None:
    original: Any = getattr(np, name)

    def function(a: Any, v: Any, mode: Any = "full" if name == "convolve" else "valid") -> Any:
        arrays, world = arrays_of(a, v), world_among(a, v)
        if arrays is None or world is None or any(array.ndim != 1 for array in arrays):
            return NotImplemented
        first, second = arrays
        if not first.size or not second.size or mode not in ("full", "same", "valid"):
            return NotImplemented
        turned = second.size > first.size
        if turned and name == "correlate":  # what NumPy does: the other way round, and reversed
            return call("correlate", second, first, mode)[::-1].conj().copy()
        if turned:
            first, second = second, first
        kernel = second._array()
        width, length = kernel.size, first.size
        shift = {"full": width - 1, "same": width // 2, "valid": 0}[mode]
        if name == "convolve" and mode == "same":
            shift = (width - 1) // 2 + (width - 1) % 2
        total = {"full": length + width - 1, "same": length, "valid": length - width + 1}[mode]
        ends = np.linspace(0, total, world.size + 1).astype(np.int64)
        low, high = int(ends[world.rank]), int(ends[world.rank + 1])
        begin = low - shift
        wanted = high - low + width - 1 if high > low else 0
        inside = max(begin, 0), max(min(begin + wanted, length), max(begin, 0))
        part = np.zeros(wanted, first.dtype)
        part[inside[0] - begin : inside[1] - begin] = fetch_flat(
            line_of(first, world), inside[1] - inside[0], lambda a, b: np.arange(a, b) + inside[0]
        )
        kind = np.result_type(first.dtype, kernel.dtype)
        part_of_result = original(part, kernel, "valid") if high > low else np.empty(0, kind)
        layout = uneven_line(np.diff(ends))
        return small_or_there(Section(part_of_result, layout, world.communicator), world)

    collective(original)(function)


_sliding("convolve")
_sliding("correlate")


@collective(np.kron)
def kron(a: Any, b: Any) -> Any:
    arrays = arrays_of(a, b)
    if arrays is None or not all(array.ndim for array in arrays):
        return NotImplemented
    left_factor, right_factor = arrays
    ndim = max(left_factor.ndim, right_factor.ndim)
    first = (1,) * (ndim - left_factor.ndim) + left_factor.shape
    second = (1,) * (ndim - right_factor.ndim) + right_factor.shape
    left = shaping.reshape(
        left_factor, tuple([n for pair in zip(first, (1,) * ndim) for n in pair])
    )
    right = shaping.reshape(
        right_factor, tuple([n for pair in zip((1,) * ndim, second) for n in pair])
    )
    product = general(np.multiply, left, right)
    return shaping.reshape(product, tuple([n * m for n, m in zip(first, second)]))
