"""Retention: the bytes that pending work keeps alive, counted as operations are recorded.

A value counts from its first use as an operand until it ends. When the count has grown by more than ``policy.limits.held``,
:func:`relieve` determines the bytes that pending work alone keeps alive (``lazy.pending``). Without the native recorder the end of a
value is unknown: each value then counts once in a *window*, which lasts until pending work is evaluated for its bytes.

All ranks must evaluate at the same operation, whatever each of them refers to. So ranks count the bytes that they store, in steps that
all make, and then compare the bytes that pending work keeps alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import policy
from ..front import native


def owner_of(value: Any) -> np.ndarray[Any, Any]:
    """The array that owns the memory of a value."""
    array: np.ndarray[Any, Any] = value.array
    return array.base if type(array.base) is np.ndarray else array


class _Window:
    """The bytes of a window."""

    def __init__(self) -> None:
        self.mark: object = object()
        self.nbytes = self.slack = 0.0

    def count(self, value: Any) -> None:
        if value.array is not None and value.counted is not self.mark:  # a plan has no memory
            value.counted = self.mark
            self.nbytes += owner_of(value).nbytes

    def is_due(self) -> bool:
        return self.nbytes > policy.limits.held * (1 + self.slack)

    def begin(self, nbytes: float, slack: float) -> None:
        self.nbytes, self.slack = nbytes, slack
        if not nbytes:
            self.mark = object()


_window = _Window()
count: Callable[[Any], None] = _window.count if native is None else native.hold
is_due: Callable[[], bool] = _window.is_due if native is None else native.holds_too_much
begin: Callable[[float, float], None] = _window.begin if native is None else native.holding
"""``begin(nbytes, slack)``: start the count at ``nbytes``; the next examination comes at the bound and this share of it."""

_reliefs: list[Callable[[float | None], bool]] = []
_joint_reliefs: list[Callable[[Any], object]] = []


register_relief = _reliefs.append
register_joint_relief = _joint_reliefs.append


def relieve(most: float | None = None) -> bool:
    """Evaluate pending work that keeps more than ``most`` bytes alive; true if there was any."""
    return any(relief(most) for relief in _reliefs)


def stored(world: Any, nbytes: int) -> None:
    """Count bytes that all ranks have stored in this step; evaluate pending work that keeps too many alive. Collective."""
    log = world.communicator.log
    log.stored += nbytes
    if log.stored > policy.limits.held:
        for relief in _joint_reliefs:
            relief(world)
