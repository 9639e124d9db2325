"""What ranks send where the values of arrays decide it: as for values at random, whose order says nothing of where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log2
from typing import Any

import numpy as np

from .. import policy
from ..collective.operation import Call
from ..comm.counting import Sent, Together, Waited
from ..comm.world import World

_MARK = 8
"""The bytes of the hash of a log, which go with the data of all ranks."""


def _ordered(call: Call, world: World) -> Iterator[Any]:
    """A line that is sorted: rounds that find where it is cut, then an even part of each rank's share for each other rank."""
    form, ranks = call.operands[0].form(world), world.size
    length = form.layout.size
    words = -(-form.dtype.itemsize // 8) + 1
    gap, brackets = length, 1
    while gap > 0:
        samples = max(policy.limits.samples // brackets, policy.limits.fewest_samples, 2)
        samples = min(samples, gap)
        count = brackets * samples
        yield Together("allreduce", 8 * words * count + _MARK, ranks)
        yield from _summed_up(8 * count, world)
        gap = gap // (samples + 1) if gap > samples else 0
        brackets = min(ranks - 1, brackets * (samples + 1))
    share = form.layout.local_size(world.rank)
    items = [
        form.dtype.itemsize,
        *[np.dtype(np.int64).itemsize] * (call.function.name == "argsort"),
    ]
    yield Together("alltoall", 8 + _MARK, ranks)
    for item in items:
        for peer in range(ranks):
            if peer != world.rank and share >= ranks:
                yield Sent(False, peer, share // ranks * item)
                yield Sent(True, peer, share // ranks * item)
    yield Waited()


def _summed_up(nbytes: int, world: World) -> Iterator[Any]:
    """The sums of all ranks and of those before this one."""
    ranks, rank = world.size, world.rank
    if ranks <= policy.limits.few_ranks:
        yield Together("allgather", nbytes + _MARK, ranks)
        return
    yield Together("allreduce", nbytes + _MARK, ranks)
    for distance in [1 << k for k in range(ceil(log2(ranks)))]:
        if rank + distance < ranks:
            yield Sent(True, rank + distance, nbytes)
        if rank >= distance:
            yield Sent(False, rank - distance, nbytes)
        yield Waited()


EXPECTED = {"sort": _ordered, "argsort": _ordered}
"""By the name of a collective operation."""
