"""Partners: the ranks that send to this rank, and the amounts, where only the senders know them.

A few ranks tell each other all numbers at once. Among more ranks, the numbers travel in a ring. In round ``k``, a rank
passes the numbers whose full distance has bit ``k`` set on to the rank ``2**k`` ahead. A number for the rank five ahead
moves by one, then by four. So a rank has as many neighbours as the number of ranks has binary digits, and its messages hold a
number for each message to come, not for each rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import allgather, alltoall, before, carried, check_mark, mark_of, step, summed
from ..context import statistics
from .trees import as_bytes, branches, folded_before, in_pairs, parts_of

Array = np.ndarray[Any, Any]
IN_FRONT = 20
"""The most rows that travel in one message with the number of all rows."""


def arriving(
    communicator: Communicator,
    leaving: Mapping[int, int],
    what: str,
    ranks: range | None = None,
) -> dict[int, int]:
    """The amount that arrives from each sender, given the amounts that each rank sends; without zeros. Collective.

    ``ranks`` has this rank and all those that it may send to, and is the same for each of them; ``None``: all ranks.
    """
    rank, size = communicator.rank, communicator.size
    if size <= policy.limits.few_ranks:
        counts = np.zeros((size, 1), np.int64)
        for peer, count in leaving.items():
            counts[peer] = count
        told = alltoall(communicator, counts, what)[:, 0].tolist()
        return {peer: count for peer, count in enumerate(told) if count and peer != rank}
    step(communicator, "partners", what)
    ring = range(size) if ranks is None else ranks
    rows = [
        ((peer - rank) // ring.step % len(ring), 0, count)
        for peer, count in leaving.items()
        if count and peer != rank
    ]
    table = np.array(rows, np.int64).reshape(-1, 3)
    table = carried(communicator, lambda: _passed_on(communicator, ring, table, what))
    places = (ring.index(rank) - table[:, 1]) % len(ring)
    senders = ring.start + places * ring.step
    return dict(zip(senders.tolist(), table[:, 2].tolist(), strict=True))


def _passed_on(communicator: Communicator, ring: range, table: Array, what: str) -> Array:
    """Send this rank's rows around a ring; the rows that arrive. A row has the distance to the receiver, the distance so far and
    the amount.

    A message begins with a row of its mark and the number of the other rows. Rows without room in it follow in a second message.
    """
    size, place, tag = len(ring), ring.index(communicator.rank), communicator.log.tag
    front, into = np.zeros((2, 1 + IN_FRONT, 3), np.int64)
    front[:1, 0] = mark_of(communicator)
    rounds, more = (size - 1).bit_length(), 0
    for k in range(rounds):
        going = table[:, 0] >> k & 1 == 1
        rows, table = table[going] + (0, 1 << k, 0), table[~going]
        front[0, 1] = len(rows)
        front[1 : 1 + len(rows)] = rows[:IN_FRONT]
        ahead, behind = ring[(place + (1 << k)) % size], ring[(place - (1 << k)) % size]
        communicator.turn(front, ahead, into, behind, tag, what)
        check_mark(communicator, into[0, :1], behind)
        arrived = into[1 : 1 + into[0, 1]]
        if max(len(rows), into[0, 1]) > IN_FRONT:
            rest = np.empty((into[0, 1] - len(arrived), 3), np.int64)
            communicator.turn(rows[IN_FRONT:], ahead, rest, behind, tag, what)
            arrived, more = np.concatenate([arrived, rest]), more + rows[IN_FRONT:].nbytes
        table = np.concatenate([table, arrived])
    statistics.sent(rounds, rounds * front.nbytes + more)
    return table


def sums(communicator: Communicator, numbers: Array, what: str) -> tuple[Array, Array]:
    """The sums of the integers of the ranks before this one, and of all ranks. Collective."""
    if communicator.size <= policy.limits.few_ranks:
        every = allgather(communicator, numbers, what)
        return np.add.reduce(every[: communicator.rank]), np.add.reduce(every)
    mine = numbers.astype(np.uint64)
    everywhere = summed(communicator, mine, what)
    return before(communicator, mine, what).astype(np.int64), everywhere.astype(np.int64)


def prefix(
    communicator: Communicator,
    value: Array,
    order: Sequence[int],
    fold: Callable[[Array, Array], Array],
    what: str,
) -> Array | None:
    """The fold of the values of the ranks before this one in ``order``; ``None`` for the first.

    It takes as many successive messages each way as the number of ranks has binary digits; a few ranks of one node tell each other few
    bytes.
    """
    size, is_small = communicator.size, value.nbytes <= policy.limits.packed
    if (
        is_small
        and size == len(order) <= policy.limits.few_ranks
        and not communicator.nodes.several
    ):
        every, place = allgather(communicator, value, what), order.index(communicator.rank)
        parts = [[every[order[k]] for k in range(*cut)] for cut in parts_of(0, place, size)]
        return reduce(fold, [in_pairs(part, fold) for part in parts]) if place else None
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
