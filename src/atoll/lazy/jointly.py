"""Methods that all ranks compute together where an array lies on several of them.

Each takes what NumPy's method takes, and answers ``NotImplemented`` where NumPy has to do it on
the data.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from .creation import asarray
from .late import scans, taking
from .spread import place_of
from .views import Handle


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """``a.take``."""
    if out is not None or (axis is not None and not isinstance(axis, int)):
        return NotImplemented
    return taking.take(a, indices, axis, mode)


def compress(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """``a.compress``: what is at the positions where a condition is true."""
    if out is not None or (place_of(a) is None and place_of(condition) is None):
        return NotImplemented
    condition = asarray(condition)
    if condition.ndim != 1:
        return NotImplemented
    where = taking.flatnonzero(condition)
    if where is NotImplemented:
        where = asarray(condition._array().nonzero()[0])
    return take(a, where, axis)


def nonzero(a: Any) -> Any:
    """``a.nonzero``."""
    return taking.nonzero(a)


def put(a: Any, indices: Any, values: Any, mode: Any = "raise") -> Any:
    """``a.put``."""
    if not (a._cell.writeable and a._geometry.writeable):
        return NotImplemented
    return None if taking.put_flat(a, indices, values, mode) else NotImplemented


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """``a.cumsum``."""
    return scans.accumulate(np.add, a, axis, _wide(a, dtype), out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """``a.cumprod``."""
    return scans.accumulate(np.multiply, a, axis, _wide(a, dtype), out)


def _wide(a: Any, dtype: Any) -> Any:
    """The dtype in which NumPy scans: narrow integers become ``int``."""
    return np.cumsum(np.empty(1, a.dtype)).dtype if dtype is None else dtype


def item(a: Any, args: tuple[Any, ...]) -> Any:
    """``a.item`` where one element is asked for: its owner tells the others."""
    if place_of(a) is None or a._geometry.ndim == 0:
        return NotImplemented
    where = args[0] if len(args) == 1 else args
    if not isinstance(where, tuple):
        place = index(where)
        if not -a.size <= place < a.size:
            raise IndexError(f"index {place} is out of bounds for size {a.size}")
        where = np.unravel_index(place % a.size, a.shape)
    elif not where and a.size == 1:
        where = (0,) * a.ndim
    if len(where) != a.ndim:
        return NotImplemented
    return a[tuple([index(k) for k in where])].item()


METHODS: dict[str, Callable[..., Any]] = {
    "take": take,
    "compress": compress,
    "nonzero": nonzero,
    "put": put,
    "cumsum": cumsum,
    "cumprod": cumprod,
}


def method(name: str, handle: Handle, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The method on all ranks, or ``NotImplemented``."""
    function = METHODS.get(name)
    if function is None or handle._np is not None:
        return NotImplemented
    return function(handle, *args, **options)
