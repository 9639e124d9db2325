"""How long ago a program touched the memory that it touches now, in bytes: its reuse distances.

A cache holds what was touched last. So what a loop reads and writes is in a cache if fewer other bytes than the cache has were
touched since, whatever machine it is: the distances belong to the program, and :mod:`.timing` says what they cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

from ..backend.memory import rounded
from ..front import at_end, finish_ends

LINE = 64
"""The bytes that a processor reads at a time."""
GROUPS = 256
"""The loops that are remembered: what was touched longer ago counts as new."""

Touched = tuple[tuple[int, float], ...]
"""Bytes, and how many other bytes were touched since these were."""


class Span(NamedTuple):
    """Memory from one address up to another, of which ``nbytes`` are touched."""

    low: int
    high: int
    nbytes: int


def span(
    address: int, extents: Sequence[int], strides: Sequence[int], itemsize: int
) -> Span | None:
    """What a loop over these extents touches in steps of so many bytes: whole lines where elements lie apart."""
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
    """All of one array that a loop touches: shifted views share most of their elements."""
    low, high = min([each.low for each in spans]), max([each.high for each in spans])
    return Span(low, high, min(high - low, sum([each.nbytes for each in spans])))


class Reuse:
    """The memory that was touched, in the order in which it was."""

    def __init__(self) -> None:
        self._groups: list[list[Span]] = []
        """What each loop touched and no later one, the latest loop first."""

    def touched(self, spans: Sequence[Span]) -> list[Touched]:
        """What a loop touches, and how long ago that was touched; from now on it is the latest."""
        own = sum([each.nbytes for each in spans])
        told = [tuple(self._distances(each, own)) for each in spans]
        # what lies scattered leaves most of an array as it was
        dense = [each for each in spans if 2 * each.nbytes >= each.high - each.low]
        kept = [_without(group, dense) for group in self._groups]
        self._groups = [dense, *[group for group in kept if group][: GROUPS - 1]]
        return told

    def _distances(self, wanted: Span, own: int) -> list[tuple[int, float]]:
        """Which bytes of a span were touched how long ago.

        All of a loop goes on together: when it comes to an element, half of its own bytes have been touched, on average,
        and half of those of the loop that touched the element before.
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
    """What remains of spans when others are taken away."""
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
    """Where arrays would lie that have addresses only: what one leaves serves the next of its size, as in the pool of buffers."""

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {}
        self._of: dict[int, int] = {}
        self._next = 1 << 60

    def lend(self, memory: Any, address: int, nbytes: int) -> None:
        """Note that memory stands for a buffer, until it ends."""
        finish_ends()  # another one may have had this address
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
        """Where an array at this address would lie."""
        return self._of.get(address, address)
