"""Arithmetic on lists of runs ``[start, stop)``, as arrays: the basis of patterns.

Every list is in ascending order and its runs do not overlap.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


def ceiling(values: Indices, divisor: int) -> Indices:
    """``values / divisor``, rounded up."""
    return -(-values // divisor)


def merge(starts: Indices, stops: Indices, period: int | None) -> tuple[Indices, Indices]:
    """Drop empty runs and join those that touch, also across the end of a period."""
    kept = starts < stops
    if not kept.all():
        starts, stops = starts[kept], stops[kept]
    if len(starts) > 1:
        apart = starts[1:] != stops[:-1]
        if not apart.all():
            starts = starts[np.concatenate([[True], apart])]
            stops = stops[np.concatenate([apart, [True]])]
    if period is not None and len(starts) > 1 and int(stops[-1]) == int(starts[0]) + period:
        joined = int(stops[0]) + period
        starts, stops = starts[1:], stops[1:].copy()
        stops[-1] = joined
    return starts, stops


def smallest_period(starts: Indices, stops: Indices, period: int) -> tuple[Indices, Indices, int]:
    """The same repeating runs with the shortest period that describes them."""
    count = len(starts)
    for part in range(1, count // 2 + 1):
        if count % part or period * part % count:
            continue
        shorter = period * part // count
        moved = starts[part:] - starts[:-part] == shorter
        if moved.all() and (stops[part:] - stops[:-part] == shorter).all():
            return starts[:part], stops[:part], shorter
    return starts, stops, period


def expand(
    starts: Indices, stops: Indices, period: int, low: int, high: int
) -> tuple[Indices, Indices]:
    """The repeating runs inside ``[low, high)``, one by one."""
    first, last = (low - int(stops[-1])) // period, (high - int(starts[0])) // period
    bases = (np.arange(first, last + 1, dtype=np.int64) * period)[:, None]
    begins = np.maximum((bases + starts).ravel(), low)
    ends = np.minimum((bases + stops).ravel(), high)
    kept = begins < ends
    return begins[kept], ends[kept]


def overlap(
    starts: Indices, stops: Indices, other_starts: Indices, other_stops: Indices
) -> tuple[Indices, Indices]:
    """The runs that two lists have in common."""
    first = np.searchsorted(other_stops, starts, side="right")
    last = np.searchsorted(other_starts, stops, side="left")
    counts = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = first[mine] + within
    return np.maximum(starts[mine], other_starts[other]), np.minimum(
        stops[mine], other_stops[other]
    )
