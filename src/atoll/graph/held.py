"""The bytes of the values that pending work refers to, counted as it is recorded.

A value counts when it first becomes an operand in a *window*, which lasts until pending work was evaluated for its bytes. Above
``policy.limits.held`` bytes :func:`relieve` finds out how many of them the program itself refers to no longer (``lazy.pending``).
The native recorder counts alike, by the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..front import native


def owner_of(value: Any) -> np.ndarray[Any, Any]:
    """The array that has the memory of a value, which is a view of it or that itself."""
    array: np.ndarray[Any, Any] = value.array
    return array.base if type(array.base) is np.ndarray else array


class _Count:
    """The bytes of this window."""

    def __init__(self) -> None:
        self.window: object = self
        self.nbytes = 0.0

    def count(self, value: Any) -> None:
        if value.window is not self.window:
            value.window = self.window
            self.nbytes += owner_of(value).nbytes

    def is_due(self) -> bool:
        return self.nbytes > policy.limits.held

    def begin(self, nbytes: float, window: object) -> None:
        self.nbytes = nbytes
        self.window = window or self.window


_count = _Count()
count: Callable[[Any], None] = _count.count if native is None else native.hold
is_due: Callable[[], bool] = _count.is_due if native is None else native.holds_too_much
begin: Callable[[float, object], None] = _count.begin if native is None else native.hold_from
"""``begin(nbytes, window)`` counts so many bytes from here on, in a new window unless that is ``None``."""

_reliefs: list[Callable[[], object]] = []
register_relief = _reliefs.append


def relieve() -> None:
    """Evaluate pending work that keeps too many bytes alive."""
    for relief in _reliefs:
        relief()
