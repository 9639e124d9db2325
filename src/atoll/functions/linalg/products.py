"""Powers and chains of matrices, and products under the names of the array standard."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...context.interrupts import passed_on
from ...lazy.creation import asarray
from ...lazy.fallback import Unsupported, expect
from ...lazy.registry import registry
from ..blocks import call, into
from ..operands import Operands, accepts
from ..public import array_of, collective


@collective(np.linalg.matrix_power, keeps="arrays")
def matrix_power(a: Any, n: Any) -> Any:
    a = asarray(a)
    try:
        n = index(n)
    except TypeError as problem:
        passed_on(problem)
        raise Unsupported from None
    expect(a.ndim == 2 and a.shape[0] == a.shape[1] and n)
    if n < 0:
        inverse: Any = registry.find(np.linalg.inv)
        a, n = inverse(a), -n
    product = None
    while n:
        if n & 1:
            product = a if product is None else call("matmul", product, a)
        n >>= 1
        if n:
            a = call("matmul", a, a)
    return product.copy() if product is a else product


@collective(np.linalg.multi_dot, keeps="arrays")
@accepts(arrays=Operands())
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    factors = arrays
    expect(len(factors) > 1 and all(a.ndim <= 2 for a in factors))
    while len(factors) > 1:  # the pair with the least work first
        work = [prod(a.shape) * (b.shape[1] if b.ndim > 1 else 1) for a, b in pairwise(factors)]
        k = int(np.argmin(work))
        factors[k : k + 2] = [call("dot", factors[k], factors[k + 1])]
    return into(out, factors[0])


@collective(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return call("vecdot", x1, x2, axis=axis)


collective(np.linalg.matmul)(lambda x1, x2, /: call("matmul", x1, x2))
collective(np.linalg.tensordot)(lambda x1, x2, /, *, axes=2: call("tensordot", x1, x2, axes))


@collective(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = asarray(x1), asarray(x2)
    expect(x1.shape[axis] == x2.shape[axis] == 3)
    return call("cross", x1, x2, axis=axis)


@collective(np.linalg.outer, alone=True)
def matrix_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = array_of(x1), array_of(x2)
    expect(x1.ndim == x2.ndim == 1)
    return call("outer", x1, x2)


@collective(np.linalg.trace, alone=True, keeps="asked")
def matrix_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    expect(np.ndim(x) >= 2)
    return call("trace", x, offset, -2, -1, dtype)


@collective(np.linalg.diagonal, alone=True)
def matrix_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return array_of(x).diagonal(offset, -2, -1)


@collective(np.linalg.matrix_transpose, alone=True)
def matrix_transpose(x: Any, /) -> Any:
    return call("matrix_transpose", x)
