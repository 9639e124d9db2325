"""Users' tags as integers: the same on every rank, from a base on, within MPI's limit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..comm.in_step import agree
from ..comm.world import world_of
from ..errors import CommunicationTagError
from .nodes import DistributedRecv
from .records import DistributedGraphPartition
from .tags import tag_bytes


def number_distributed_tags(
    mpi_communicator: Any, partition: DistributedGraphPartition, base_tag: int
) -> tuple[DistributedGraphPartition, int]:
    """The partition with integers for tags, from ``base_tag`` on, and the next one that is free.

    Tags are numbered as they appear first, rank by rank and in the order of parts. Collective.
    """
    communicator = world_of(mpi_communicator).communicator
    mine: dict[bytes, None] = {}
    problem = ""
    try:
        for part in partition.parts.values():
            for receive in part.name_to_recv_node.values():
                mine[tag_bytes(receive.comm_tag)] = None
            for sends in part.name_to_send_nodes.values():
                for send in sends:
                    mine[tag_bytes(send.comm_tag)] = None
    except CommunicationTagError as error:
        problem = f"rank {communicator.rank}: {error}"
    given = agree(communicator, (list(mine), problem), "numbering the tags of a dataflow graph")
    for _, trouble in given:
        if trouble:
            raise CommunicationTagError(trouble)
    number: dict[bytes, int] = {}
    for tags, _ in given:
        for tag in tags:
            number.setdefault(tag, base_tag + len(number))
    next_tag = base_tag + len(number)
    if base_tag < 0 or next_tag > communicator.tag_limit:
        raise CommunicationTagError(
            f"{len(number)} tags from {base_tag} on do not fit: tags are 0 to {communicator.tag_limit - 1}"
        )
    parts = {}
    for pid, part in partition.parts.items():
        receives = {}
        for name, receive in part.name_to_recv_node.items():
            made = DistributedRecv(
                receive.shape, receive.dtype, receive.src_rank, number[tag_bytes(receive.comm_tag)],
                axes=receive.axes, tags=receive.tags, non_equality_tags=receive.non_equality_tags,
            )  # fmt: skip
            made._cell.node.site = receive._cell.node.site
            receives[name] = made
        sent = {
            name: tuple(
                [replace(send, comm_tag=number[tag_bytes(send.comm_tag)]) for send in sends]
            )
            for name, sends in part.name_to_send_nodes.items()
        }
        parts[pid] = replace(part, name_to_recv_node=receives, name_to_send_nodes=sent)
    return replace(partition, parts=parts, cache={}), next_tag
