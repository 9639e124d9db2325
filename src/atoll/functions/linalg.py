"""``atoll.linalg``: NumPy's linear algebra on the data, and norms as reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import reductions
from ..lazy.elementwise import general
from ..lazy.fallback import by_numpy
from ..lazy.registry import registry
from ..lazy.small import GENERAL, at_once
from .namespaces import Namespace
from .public import array_of, is_large, names, publish


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of a vector or matrix."""
    result = at_once(np.linalg.norm, (x, ord, axis, keepdims), {})
    if result is not GENERAL:
        return result
    x = array_of(x)
    result = (
        _norm(x, ord, axis, keepdims) if is_large(x) and x.dtype.char in "fdFD" else NotImplemented
    )
    return (
        by_numpy(np.linalg.norm, (x, ord, axis, keepdims), {})
        if result is NotImplemented
        else result
    )


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    vector = isinstance(axis, int) or (axis is None and x.ndim == 1)
    frobenius = (ord is None) or (ord == "fro" and x.ndim == 2 and axis is None)
    if frobenius or (vector and ord == 2):
        if x.dtype.kind == "c":
            squares = general(np.add, general(np.square, x.real), general(np.square, x.imag))
        else:
            squares = general(np.square, x)
        total = reductions.reduce(np.add, squares, axis, None, None, keepdims)
        return total if total is NotImplemented else general(np.sqrt, total)
    if not vector:
        return NotImplemented
    if ord in (np.inf, -np.inf):
        ufunc = np.maximum if ord > 0 else np.minimum
        return reductions.reduce(ufunc, general(np.absolute, x), axis, None, None, keepdims)
    if ord == 1:
        return reductions.reduce(np.add, general(np.absolute, x), axis, None, None, keepdims)
    return NotImplemented


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along axes, or of all elements."""
    x = array_of(x)
    if is_large(x) and axis is None and not keepdims:
        return norm(x.ravel(), ord)
    if is_large(x) and isinstance(axis, int):
        return norm(x, ord, axis, keepdims)
    return by_numpy(np.linalg.vector_norm, (x,), {"axis": axis, "keepdims": keepdims, "ord": ord})


def outer(x1: Any, x2: Any, /) -> Any:
    """The product of all pairs of two vectors."""
    x1, x2 = array_of(x1), array_of(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        np.linalg.outer(np.empty((1,) * x1.ndim), np.empty((1,) * x2.ndim))  # NumPy's words
    return names["outer"](x1, x2)


def diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """The diagonals of matrices, which lie along the last two axes."""
    return array_of(x).diagonal(offset, -2, -1)


def _own() -> dict[str, Any]:
    own = {"norm": norm, "vector_norm": vector_norm, "outer": outer, "diagonal": diagonal}
    for name in ("matmul", "matrix_transpose"):
        own[name] = names[name]
    return own


for _function in (norm, vector_norm, outer, diagonal):
    _original = getattr(np.linalg, _function.__name__)
    _function.__doc__ = _original.__doc__
    registry.enter(_original, _function)

linalg = Namespace("linalg", _own)
publish("linalg", linalg, "native")
