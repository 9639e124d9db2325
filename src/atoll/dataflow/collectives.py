"""Collectives as graphs of point-to-point messages.

All ranks must call an MPI collective in one order, which a partial order of parts cannot guarantee. So the collectives here
are graphs of sends and receives: they obey the rule of parts, overlap with independent work, and are verified like every
other message. An allreduce doubles the distance of its partners in each of log2(P) rounds (ranks beyond a power of two send
their value to a partner first); both partners compute the same sum, so all ranks get the same bits. An allgather
doubles the values that a rank holds in each of log2(P) rounds. An all-to-all sends each rank its row directly.
``comm_tag`` distinguishes collectives; all ranks pass the same tag.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ..array import ndarray
from ..comm.communicator import UFUNCS
from ..comm.world import world_of
from ..functions import names
from .nodes import make_distributed_recv, snapshot, staple_distributed_send


def make_distributed_allreduce(
    data: Any, comm_tag: Hashable, op: str = "sum", *, mpi_communicator: Any = None
) -> Any:
    """The elementwise reduction of every rank's ``data``: an array on each rank.

    ``op`` is one of sum, prod, max, min, land, lor, band, bor; shapes and dtypes agree.
    """
    if op not in UFUNCS:
        raise ValueError(
            f"make_distributed_allreduce: op must be one of {', '.join(UFUNCS)}, not {op!r}"
        )
    combine = names[UFUNCS[op].__name__]
    world = world_of(mpi_communicator)
    rank, size = world.rank, world.size
    value = snapshot(data)
    if op in ("land", "lor"):
        value = value.astype(bool)
    shape, dtype = value.shape, value.dtype
    power = 1 << (size.bit_length() - 1)
    last = size.bit_length()

    def receive(source: int, step: int) -> Any:
        return make_distributed_recv(source, (comm_tag, op, step), shape, dtype)

    if rank >= power:
        return staple_distributed_send(
            value, rank - power, (comm_tag, op, 0), receive(rank - power, last)
        )
    if rank + power < size:
        value = combine(value, receive(rank + power, 0))
    distance, step = 1, 1
    while distance < power:
        partner = rank ^ distance
        other = receive(partner, step)
        pair = (value, other) if rank < partner else (other, value)
        value = staple_distributed_send(value, partner, (comm_tag, op, step), combine(*pair))
        distance, step = 2 * distance, step + 1
    if rank + power < size:
        value = staple_distributed_send(value, rank + power, (comm_tag, op, last), value)
    return value


def make_distributed_allgather(
    data: Any, comm_tag: Hashable, *, mpi_communicator: Any = None
) -> Any:
    """Every rank's ``data``, stacked along a new first axis in the order of the ranks."""
    world = world_of(mpi_communicator)
    rank, size = world.rank, world.size
    values = snapshot(data)[None, ...]
    count = 1
    while (
        count < size
    ):  # the values of this rank and its successors; another rank has the same number
        sent = values[: min(count, size - count)]
        tag = (comm_tag, "allgather", count)
        got = make_distributed_recv((rank + count) % size, tag, sent.shape, sent.dtype)
        both = names["concatenate"]([values, got])
        values = staple_distributed_send(sent, (rank - count) % size, tag, both)
        count += len(sent)
    return names["roll"](values, rank, axis=0)


def make_distributed_alltoall(
    data: Any, comm_tag: Hashable, *, mpi_communicator: Any = None
) -> Any:
    """Send row ``p`` of ``data`` to rank ``p``; row ``p`` of the result comes from rank ``p``."""
    world = world_of(mpi_communicator)
    value = snapshot(data)
    if not value.shape or value.shape[0] != world.size:
        raise ValueError(
            f"make_distributed_alltoall: data has shape {value.shape}; there must be a row for each of the "
            f"{world.size} ranks"
        )
    tag = (comm_tag, "alltoall")
    arrived: list[ndarray] = []
    for other in range(world.size):
        row = value[other, ...]
        if other != world.rank:
            got = make_distributed_recv(other, tag, row.shape, row.dtype)
            row = staple_distributed_send(row, other, tag, got)
        arrived.append(row)
    return names["stack"](arrived)
