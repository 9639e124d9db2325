"""Reductions over ranks: the NumPy ufunc of each operation's name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..context.caches import remembered

UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "land": np.logical_and,
    "lor": np.logical_or,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
}


@remembered
def _dtype_reduced(op: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which ``op`` works on elements of ``dtype``; NumPy's error if it cannot."""
    if op not in UFUNCS:
        raise ValueError(f"a reduction is one of {', '.join(UFUNCS)}, not {op!r}")
    if op in ("land", "lor"):
        return np.dtype(np.bool_)
    nothing = np.empty(0, dtype)
    UFUNCS[op](nothing, nothing)
    return dtype


def contribution(given: Any, op: str) -> NDArray[Any]:
    """What one rank gives to the reduction: contiguous, and boolean for the logical ones."""
    array: NDArray[Any] = np.asarray(given, order="C")
    dtype = _dtype_reduced(op, array.dtype)
    return array if dtype is array.dtype else array.astype(dtype)


def combine(contributions: Sequence[NDArray[Any]], op: str) -> NDArray[Any]:
    """The reduction of all contributions in rank order, in the dtype they have."""
    ufunc = UFUNCS[op]
    first = contributions[0]
    with np.errstate(all="ignore"):  # silent, as MPI is
        total = reduce(ufunc, contributions[1:], first)
    return first.copy() if total is first else np.asarray(total, dtype=first.dtype)
