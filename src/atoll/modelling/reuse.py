"""Reuse distances: the number of other bytes that a program touches between two accesses to the same memory.

A cache holds the memory touched last. So the operands of a loop are in a cache if fewer other bytes than its size were touched
since their last access. The distances depend on the program, not on the machine; :mod:`.timing` converts them to time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

from ..backend.memory import rounded
from ..front import at_end, finish_ends

LINE = 64
"""The bytes of a cache line."""
GROUPS = 256
"""The number of loops that are remembered: memory touched before counts as new."""

Touched = tuple[tuple[int, float], ...]
"""Pairs of a number of bytes and their reuse distance."""


class Span(NamedTuple):
    """Memory from address ``low`` up to ``high``, of which ``nbytes`` are touched."""

    low: int
    high: int
    nbytes: int


def span(
    address: int, extents: Sequence[int], strides: Sequence[int], itemsize: int
) -> Span | None:
    """The span that a loop touches, by its extents and strides in bytes: whole cache lines if elements lie apart."""
    steps = [(n, along) for n, along in zip(extents, strides, strict=True) if along]
    count = prod([n for n, _ in steps])
    if not count or 0 in extents:
        return None
    ends = [(n - 1) * along for n, along in steps]
    low = address + sum([end for end in ends if end < 0])
    high = address + sum([end for end in ends if end > 0]) + itemsize
    least = min([abs(along) for n, along in steps if n > 1], default=itemsize)
    return Span(low, high, min(high - low, count * max(itemsize, min(least, LINE))))


def united(spans: Sequence[Span]) -> Span:
    """The union of a loop's spans of one array: shifted views share most of their elements."""
    low, high = min([each.low for each in spans]), max([each.high for each in spans])
    return Span(low, high, min(high - low, sum([each.nbytes for each in spans])))


class Reuse:
    """The memory that was touched, in order of its last access."""

    def __init__(self) -> None:
        self._groups: list[list[Span]] = []
        """The spans that each loop touched last, the latest loop first."""

    def touched(self, spans: Sequence[Span]) -> list[Touched]:
        """The reuse distances of a loop's spans; the loop is the latest from now on."""
        own = sum([each.nbytes for each in spans])
        told = [tuple(self._distances(each, own)) for each in spans]
        # sparse spans leave most of an array untouched
        dense = [each for each in spans if 2 * each.nbytes >= each.high - each.low]
        kept = [_without(group, dense) for group in self._groups]
        self._groups = [dense, *[group for group in kept if group][: GROUPS - 1]]
        return told

    def _distances(self, wanted: Span, own: int) -> list[tuple[int, float]]:
        """The bytes of a span by reuse distance.

        A loop advances in all its arrays at once: when it reaches an element, on average half of its own bytes have been
        touched, and half of the bytes of the loop that touched the element before.
        """
        told: list[tuple[int, float]] = []
        left, since = wanted.nbytes, 0
        for group in self._groups:
            total = sum([each.nbytes for each in group])
            shared = sum([_shared(wanted, each) for each in group])
            nbytes = min(left, round(wanted.nbytes * shared / (wanted.high - wanted.low)))
            if nbytes:
                told.append((nbytes, since + (total + own) / 2))
                left -= nbytes
            since += total
        if left:
            told.append((left, inf))
        return told


def _shared(first: Span, second: Span) -> int:
    return max(0, min(first.high, second.high) - max(first.low, second.low))


def _without(group: list[Span], latest: Sequence[Span]) -> list[Span]:
    """Spans without the parts that later spans cover."""
    for taken in latest:
        remaining = []
        for each in group:
            if not _shared(each, taken):
                remaining.append(each)
                continue
            for low, high in ((each.low, taken.low), (taken.high, each.high)):
                if low < high:
                    part = (high - low) / (each.high - each.low)
                    remaining.append(Span(low, high, round(each.nbytes * part)))
        group = remaining
    return group


class Addresses:
    """Simulated addresses of arrays without memory: a freed address serves the next array of its size, as in the buffer pool."""

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {}
        self._of: dict[int, int] = {}
        self._next = 1 << 60

    def lend(self, memory: Any, address: int, nbytes: int) -> None:
        """Assign a simulated address to ``memory`` for its lifetime."""
        finish_ends()  # earlier memory may have had this address
        capacity = rounded(nbytes)
        free = self._free.setdefault(capacity, [])
        if not free:
            free.append(self._next)
            self._next += capacity
        self._of[address] = free.pop()
        at_end(memory, partial(self._ended, address, capacity))

    def _ended(self, address: int, capacity: int) -> None:
        self._free[capacity].append(self._of.pop(address))

    def of(self, address: int) -> int:
        """The simulated address for a real one; the address itself if it has none."""
        return self._of.get(address, address)
