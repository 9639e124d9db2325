"""Splitters: where sorted parts of a line are cut, so that each rank gets exactly its share of all in order.

Each rank has some elements in order. The element with a wanted number among those of all ranks is found in rounds: the ranks look
at samples, evenly spaced among the candidates, and count the elements before each sample. The wanted element is a sample, or lies
between two of them, among a small part of the candidates. Equal elements have an order: elements of lower ranks come first, and in
a rank those at lower places. So each cut is exact, whatever the values are. The size of a round's messages depends on the number of
wanted elements, and hardly on the number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import summed
from ..exchange.partners import sums

Array = np.ndarray[Any, Any]


class _Edge(NamedTuple):
    """The numbers of elements before a sample: of all ranks, of this rank, of lower ranks."""

    everywhere: int
    here: int
    lower: int


class _Bracket(NamedTuple):
    """Two samples, and the numbers of the wanted elements between them."""

    low: _Edge
    high: _Edge
    wanted: tuple[int, ...]


def cuts_at(
    values: Array, start: int, length: int, wanted: Sequence[int], communicator: Communicator
) -> list[int]:
    """The number of this rank's ``values``, which are in order, before each of the wanted elements. Collective.

    The elements are numbered from 0 in the order of all ranks together. Lower ranks have ``start`` elements, and all
    have ``length``.
    """
    cuts = {k: 0 if k <= 0 else len(values) for k in wanted if k <= 0 or k >= length}
    between = tuple(sorted({*wanted} - {*cuts}))
    everything = _Bracket(_Edge(0, 0, 0), _Edge(length, len(values), start), between)
    brackets = [everything] if between else []
    while brackets:
        brackets = _round(values, start, brackets, cuts, communicator)
    return [cuts[k] for k in wanted]


def _round(
    values: Array,
    start: int,
    brackets: list[_Bracket],
    cuts: dict[int, int],
    communicator: Communicator,
) -> list[_Bracket]:
    """Look at samples of all brackets. Enter the cuts that are exact, and return narrower brackets for the others."""
    most = max(policy.limits.short // (4 * len(brackets)), policy.limits.pieces, 2)
    sizes = [min(b.high.everywhere - b.low.everywhere, most) for b in brackets]
    samples, keys = _samples(values, start, brackets, sizes, communicator)
    edges = _edges(_places(values, start, samples, keys), communicator)
    first, narrower = 0, []
    for bracket, size in zip(brackets, sizes, strict=True):
        inside = edges[:, first : first + size]
        inside = inside[:, np.argsort(inside[0])]
        gaps: dict[int, list[int]] = {}
        for number, gap in zip(bracket.wanted, np.searchsorted(inside[0], bracket.wanted).tolist()):
            if gap < size and inside[0, gap] == number:
                cuts[number] = int(inside[1, gap])
            else:
                gaps.setdefault(gap, []).append(number)
        for gap, wanted in gaps.items():
            low = _Edge(*inside[:, gap - 1].tolist()) if gap else bracket.low
            high = _Edge(*inside[:, gap].tolist()) if gap < size else bracket.high
            narrower.append(_Bracket(low, high, tuple(wanted)))
        first += size
    return narrower


def _samples(
    values: Array,
    start: int,
    brackets: list[_Bracket],
    sizes: list[int],
    communicator: Communicator,
) -> tuple[Array, Array]:
    """Elements evenly spaced in the brackets, rank by rank, with their keys: their places among all ranks' elements, which order
    equal ones."""
    words = -(-values.dtype.itemsize // 8)
    table = np.zeros((sum(sizes), words + 1), np.uint64)
    first = 0
    for (low, high, _), size in zip(brackets, sizes, strict=True):
        numbers = (2 * np.arange(size) + 1) * (high.everywhere - low.everywhere) // (2 * size)
        own = numbers - (high.lower - low.lower)
        rows = np.flatnonzero((own >= 0) & (own < high.here - low.here))
        own = own[rows] + low.here
        chosen = np.zeros((len(own), words * 8), np.uint8)
        chosen[:, : values.dtype.itemsize] = (
            values[own].view(np.uint8).reshape(len(own), values.dtype.itemsize)
        )
        table[first + rows, :words] = chosen.view(np.uint64)
        table[first + rows, words] = start + own
        first += size
    every = summed(communicator, table.reshape(-1), "samples").reshape(table.shape)
    data = np.ascontiguousarray(every[:, :words]).view(np.uint8)[:, : values.dtype.itemsize]
    samples = np.ascontiguousarray(data).view(values.dtype).reshape(-1)
    return samples, every[:, words].astype(np.int64)


def _places(values: Array, start: int, samples: Array, keys: Array) -> Array:
    """The number of this rank's elements before each sample."""
    places = np.empty(len(keys), np.int64)
    behind = keys < start
    places[behind] = np.searchsorted(values, samples[behind])
    places[~behind] = np.searchsorted(values, samples[~behind], "right")
    own = (keys >= start) & (keys < start + len(values))
    places[own] = keys[own] - start
    return places


def _edges(here: Array, communicator: Communicator) -> Array:
    """The numbers of an :class:`_Edge` in rows, from those of this rank."""
    lower, everywhere = sums(communicator, here, "how many elements come before samples")
    return np.stack([everywhere, here, lower])
