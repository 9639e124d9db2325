"""Partners: the ranks that send to this rank, and the amounts, where only the senders know them.

A few ranks tell each other all numbers at once. Among more ranks, the numbers travel in a ring. In round ``k``, a rank
passes the numbers whose full distance has bit ``k`` set on to the rank ``2**k`` ahead. A number for the rank five ahead
moves by one, then by four. So a rank has as many neighbours as the number of ranks has binary digits, and its messages hold a
number for each message to come, not for each rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import allgather, alltoall, carried, check_mark, mark_of, step, summed
from ..context import statistics
from .trees import as_bytes, branches, folded_before

Array = np.ndarray[Any, Any]
IN_FRONT = 20
"""The most rows that travel in one message with the number of all rows."""


def arriving(communicator: Communicator, leaving: Mapping[int, int], what: str) -> dict[int, int]:
    """The amount that arrives from each sender, given the amounts that each rank sends; without zeros. Collective."""
    rank, size = communicator.rank, communicator.size
    if size <= policy.limits.few_ranks:
        counts = np.zeros((size, 1), np.int64)
        for peer, count in leaving.items():
            counts[peer] = count
        told = alltoall(communicator, counts, what)[:, 0].tolist()
        return {peer: count for peer, count in enumerate(told) if count and peer != rank}
    step(communicator, "partners", what)
    rows = [
        ((peer - rank) % size, 0, count)
        for peer, count in leaving.items()
        if count and peer != rank
    ]
    table = np.array(rows, np.int64).reshape(
        -1, 3
    )  # distance to the receiver, distance so far, amount
    for k in range((size - 1).bit_length()):
        going = (table[:, 0] >> k & 1).astype(bool)
        table[going, 1] += 1 << k
        arrived = _passed_on(communicator, table[going], 1 << k, what)
        table = np.concatenate([table[~going], arrived])
    return dict(zip(((rank - table[:, 1]) % size).tolist(), table[:, 2].tolist(), strict=True))


def _passed_on(communicator: Communicator, table: Array, distance: int, what: str) -> Array:
    """Pass rows on to the rank ``distance`` ahead; the result has the rows from the rank ``distance`` behind."""
    front = np.zeros(2 + 3 * IN_FRONT, np.int64)
    front[:1], front[1] = mark_of(communicator), len(table)
    front[2 : 2 + 3 * len(table)] = table[:IN_FRONT].reshape(-1)
    into = np.empty_like(front)
    _turn(communicator, front, into, distance, what)
    check_mark(communicator, into[:1], (communicator.rank - distance) % communicator.size)
    arrived = np.empty((int(into[1]), 3), np.int64)
    arrived[:IN_FRONT] = into[2 : 2 + 3 * len(arrived)].reshape(-1, 3)
    rest = np.ascontiguousarray(table[IN_FRONT:])
    if len(rest) or len(arrived) > IN_FRONT:
        _turn(communicator, rest, arrived[IN_FRONT:], distance, what)
    return arrived


def _turn(communicator: Communicator, array: Array, into: Array, distance: int, what: str) -> None:
    """Send an array ``distance`` ahead in the ring of ranks, while ``into`` is filled from ``distance`` behind."""
    communicator.log.check(what)
    if array.size:
        statistics.sent(1, array.nbytes)
    tag = communicator.log.tag
    carried(communicator, lambda: communicator.turn(array, into, distance, tag, what))


def sums(communicator: Communicator, numbers: Array, what: str) -> tuple[Array, Array]:
    """The sums of the integers of the ranks before this one, and of all ranks. Collective."""
    if communicator.size <= policy.limits.few_ranks:
        every = allgather(communicator, numbers, what)
        return every[: communicator.rank].sum(0), every.sum(0)
    everywhere = summed(communicator, numbers.astype(np.uint64), what).astype(np.int64)
    before = prefix(communicator, numbers, range(communicator.size), np.add, what)
    return np.zeros_like(numbers) if before is None else before, everywhere


def prefix(
    communicator: Communicator,
    value: Array,
    order: Sequence[int],
    fold: Callable[[Array, Array], Array],
    what: str,
) -> Array | None:
    """The fold of the values of the ranks before this one in ``order``; ``None`` for the first.

    It takes as many successive messages each way as the number of ranks has binary digits.
    """
    tree = branches(
        order.index(communicator.rank), len(order), order.__getitem__, communicator.nodes
    )
    given = np.asarray(value, order="C")

    def as_given(data: Array) -> Array:
        return data.view(given.dtype).reshape(given.shape)

    def join(left: Array, right: Array) -> Array:
        return as_bytes(fold(as_given(left), as_given(right)))

    before = folded_before(communicator, tree, as_bytes(given), join, what)
    return None if before is None else as_given(before)


def strung(communicator: Communicator, line: Array, start: int, length: int, what: str) -> Array:
    """The lines of all ranks one after the other, ``length`` elements in all, on every rank. Collective.

    This rank's line begins at ``start``. Ranks sum words in which all bytes of the other ranks are zero.
    """
    itemsize = line.dtype.itemsize
    words = np.zeros(-(-length * itemsize // 8), np.uint64)
    words.view(np.uint8)[start * itemsize :][: line.nbytes] = as_bytes(line)
    whole = summed(communicator, words, what).copy().view(np.uint8)
    return whole[: length * itemsize].view(line.dtype)
