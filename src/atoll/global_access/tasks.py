"""``atoll.tasks``: dynamic scheduling of tasks by a shared counter."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index as as_integer
from typing import Any

import numpy as np

from ..comm.in_step import agree
from ..comm.world import current_world
from ..lazy.creation import asarray
from .onesided import OneSided

_COUNTERS = 1024
"""Number of counters of a world, which are used in turn; the limit of loops in progress at one time."""


def tasks(count: int, chunk: int = 1) -> Iterator[int]:
    """Distribute the numbers below ``count`` among the ranks that are free: ``for k in atoll.tasks(n):``. Collective to begin.

    Ranks whose tasks take long do fewer of them. Each rank draws ``chunk`` numbers at a time. The ranks do different
    tasks, so a task computes with NumPy or in a world of its own. A rank leaves the loop when no number is left, and
    does not wait for the others.
    """
    total, at_once = as_integer(count), as_integer(chunk)
    if total < 0 or at_once < 1:
        raise ValueError(
            f"tasks: there are {total} tasks, {at_once} at a time; there must be 0 or more tasks and 1 or more at a time"
        )
    communicator = current_world().communicator
    if communicator.counters is None:
        communicator.counters = Counters()
    counters: Counters = communicator.counters
    agree(
        communicator, None, f"tasks({total}, {at_once})"
    )  # the collective log detects ranks with other arguments
    return counters.begin(total, at_once)


class Counters:
    """The counters of a world: an array that stays open for one-sided operations."""

    def __init__(self) -> None:
        self._open = OneSided(asarray(np.zeros(_COUNTERS, np.int64)))
        self._next = 0

    def begin(self, count: int, chunk: int) -> Iterator[int]:
        """The numbers that this rank draws from a fresh counter. Collective."""
        place = self._next % _COUNTERS
        self._next += 1
        if self._open.world.rank == 0:
            self._open.put(place, 0)
        self._open.fence()
        return self._drawn(place, count, chunk)

    def _drawn(self, place: int, count: int, chunk: int) -> Iterator[int]:
        draw: Any = self._open.fetch_add
        while (first := int(draw(place, chunk))) < count:
            yield from range(first, min(first + chunk, count))
