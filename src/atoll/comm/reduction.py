"""What a reduction over ranks means: the NumPy ufunc behind each operation's name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def contribution(given: Any, op: str) -> NDArray[Any]:
    """What one rank gives to the reduction: contiguous, and boolean for the logical ones."""
    if op not in UFUNCS:
        raise ValueError(f"a reduction is one of {', '.join(UFUNCS)}, not {op!r}")
    array: NDArray[Any] = np.asarray(given)
    if op in ("land", "lor") and array.dtype != np.bool_:
        array = array.astype(np.bool_)
    return np.asarray(array, order="C")


def combine(contributions: Sequence[NDArray[Any]], op: str) -> NDArray[Any]:
    """The reduction of all contributions in rank order, in the dtype they have."""
    ufunc = UFUNCS[op]
    first = contributions[0]
    total = reduce(ufunc, contributions[1:], first)
    return first.copy() if total is first else np.asarray(total, dtype=first.dtype)
