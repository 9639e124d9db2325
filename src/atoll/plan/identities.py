"""What folds begin with: numbers that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_IDENTITIES: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "add": lambda d: d.type(0),
    "multiply": lambda d: d.type(1),
    "logical_and": lambda d: np.True_,
    "logical_or": lambda d: np.False_,
    "bitwise_and": lambda d: d.type(-1) if d.kind == "i" else ~d.type(0),
    "bitwise_or": lambda d: d.type(0),
    "bitwise_xor": lambda d: d.type(0),
    "minimum": lambda d: extreme(d, largest=True),
    "maximum": lambda d: extreme(d, largest=False),
    "fmin": lambda d: d.type(np.nan) if d.kind in "fc" else extreme(d, largest=True),
    "fmax": lambda d: d.type(np.nan) if d.kind in "fc" else extreme(d, largest=False),
    "argmin": lambda d: extreme(d, largest=True),
    "argmax": lambda d: extreme(d, largest=False),
}


def identity(name: str, dtype: np.dtype[Any]) -> Any:
    """What a fold by ``name`` of numbers of ``dtype`` begins with; for positions, the element to beat."""
    return _IDENTITIES[name](dtype)


def extreme(dtype: np.dtype[Any], *, largest: bool) -> Any:
    """The largest or the smallest number of ``dtype``."""
    if dtype.kind == "b":
        return dtype.type(largest)
    if dtype.kind == "f":
        return dtype.type(np.inf if largest else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if largest else limits.min)
