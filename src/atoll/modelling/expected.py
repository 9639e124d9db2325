"""Expected messages of collectives that depend on the values of arrays: those for random values in random order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from math import ceil, log2
from typing import Any

import numpy as np

from .. import policy
from ..collective.operation import Call
from ..collective.sort import groups_of
from ..comm.dry_run import Sent, Together, Waited
from ..comm.world import World
from ..exchange.partners import IN_FRONT
from ..layout.bounds import balanced_bounds
from .work import Work, near

_MARK = 8
"""The bytes of the hash of a log, which small collectives carry."""


def _ordered(call: Call, world: World) -> Iterator[Any]:
    """The events of a distributed sort, in several levels on many ranks."""
    form, first, size = call.operands[0].form(world), 0, world.size
    length, share = form.layout.size, form.layout.local_size(world.rank)
    items = [
        form.dtype.itemsize,
        *[np.dtype(np.int64).itemsize] * (call.function.name == "argsort"),
    ]
    while True:
        count = groups_of(size)
        groups = balanced_bounds(size, count)
        yield from _cut(length, form.dtype.itemsize, count, world.rank - first, first, size)
        if count < size:
            yield from _summed_up(8 * count, world.rank - first, first, size)
        peers = [low + world.rank % (high - low) + first for low, high in pairwise(groups)]
        peers = [peer for peer in peers if peer != world.rank and share >= count]
        yield from _told(len(peers), world.rank - first, first, size)
        for item in items:
            for peer in peers:
                yield Sent(False, peer, share // count * item)
                yield Sent(True, peer, share // count * item)
        yield Waited()
        # the sorted parts from all ranks are sorted once more
        yield Work("sort", near(2 * share * sum(items)), share * log2(max(share, 2)), "")
        if count == size:
            return
        here = bisect_right(groups, world.rank - first) - 1
        length = length * (groups[here + 1] - groups[here]) // size
        first, size = first + groups[here], groups[here + 1] - groups[here]


def _cut(
    length: int, itemsize: int, count: int, rank: int, first: int, ranks: int
) -> Iterator[Any]:
    """The events of the rounds that find the boundaries of ``count`` parts."""
    words = -(-itemsize // 8) + 1
    gap, brackets = length, 1
    while gap > 0:
        samples = max(policy.limits.short // (4 * brackets), policy.limits.pieces, 2)
        samples = min(samples, gap)
        total = brackets * samples
        yield Together("allreduce", 8 * words * total + _MARK, ranks)
        yield from _summed_up(8 * total, rank, first, ranks)
        # the samples of a rank are evenly spaced, those of several ranks are not: a value at random lies in a longer gap
        gap = 2 * ranks * gap // ((ranks + 1) * (samples + 1)) if gap > samples else 0
        brackets = min(count - 1, brackets * (samples + 1))


def _told(peers: int, rank: int, first: int, ranks: int) -> Iterator[Any]:
    """The events of an exchange of counts with partners (:mod:`..exchange.partners`)."""
    if ranks <= policy.limits.few_ranks:
        yield Together("alltoall", 8 + _MARK, ranks)
        return
    for distance in [1 << k for k in range((ranks - 1).bit_length())]:
        for leaves, way in ((False, -distance), (True, distance)):
            peer = first + (rank + way) % ranks
            yield Sent(leaves, peer, 8 * (2 + 3 * IN_FRONT))
            if peers // 2 > IN_FRONT:
                yield Sent(leaves, peer, 24 * (peers // 2 - IN_FRONT))
        yield Waited()


def _summed_up(nbytes: int, rank: int, first: int, ranks: int) -> Iterator[Any]:
    """The events of a sum over all ranks, and of one over the preceding ranks."""
    if ranks <= policy.limits.few_ranks:
        yield Together("allgather", nbytes + _MARK, ranks)
        return
    yield Together("allreduce", nbytes + _MARK, ranks)
    for distance in [1 << k for k in range(ceil(log2(ranks)))]:
        if rank + distance < ranks:
            yield Sent(True, first + rank + distance, nbytes)
        if rank >= distance:
            yield Sent(False, first + rank - distance, nbytes)
        yield Waited()


EXPECTED = {"sort": _ordered, "argsort": _ordered}
"""The rules by name of a collective operation."""
