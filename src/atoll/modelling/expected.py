"""Expected messages of collectives that depend on the values of arrays: those for random values in random order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import log2
from typing import Any

import numpy as np

from .. import policy
from ..collective.operation import Call
from ..collective.sort import groups_of
from ..comm.dry_run import Sent, Together, Waited
from ..comm.world import World
from ..exchange.partners import IN_FRONT
from ..layout.bounds import balanced_bounds, block_of
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
        yield from _cut(length, form.dtype.itemsize, count, size)
        if count < size:
            yield from _summed_up(8 * count, size)
        peers = []
        if share >= count:
            peers = [low + world.rank % (high - low) + first for low, high in pairwise(groups)]
            peers = [peer for peer in peers if peer != world.rank]
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
        here = block_of(groups, world.rank - first)
        length = length * (groups[here + 1] - groups[here]) // size
        first, size = first + groups[here], groups[here + 1] - groups[here]


def _cut(length: int, itemsize: int, count: int, ranks: int) -> Iterator[Any]:
    """The events of the rounds that find the boundaries of ``count`` parts."""
    words = -(-itemsize // 8) + 1
    gap, brackets = length, 1
    while gap > 0:
        samples = max(policy.limits.short // (4 * brackets), policy.limits.pieces, 2)
        samples = min(samples, gap)
        total = brackets * samples
        yield Together("allreduce", 8 * words * total + _MARK, ranks)
        yield from _summed_up(8 * total, ranks)
        # the samples of a rank are evenly spaced, those of several ranks are not: a value at random lies in a longer gap
        gap = 2 * ranks * gap // ((ranks + 1) * (samples + 1)) if gap > samples else 0
        brackets = min(count - 1, brackets * (samples + 1))


def _told(peers: int, rank: int, first: int, ranks: int) -> Iterator[Any]:
    """The events of an exchange of counts with partners (:mod:`..exchange.partners`)."""
    if ranks <= policy.limits.few_ranks:
        yield Together("alltoall", 8 + _MARK, ranks)
        return
    messages = [1 + IN_FRONT, *[peers // 2 - IN_FRONT] * (peers // 2 > IN_FRONT)]
    for distance in [1 << k for k in range((ranks - 1).bit_length())]:
        for rows in messages:
            yield Sent(False, first + (rank - distance) % ranks, 24 * rows)
            yield Sent(True, first + (rank + distance) % ranks, 24 * rows)
        yield Waited()


def _summed_up(nbytes: int, ranks: int) -> Iterator[Any]:
    """The events of a sum over all ranks, and of one over the preceding ranks."""
    together = ("allgather",) if ranks <= policy.limits.few_ranks else ("allreduce", "exscan")
    for operation in together:
        yield Together(operation, nbytes + _MARK, ranks)


EXPECTED = {"sort": _ordered, "argsort": _ordered}
"""The rules by name of a collective operation."""
