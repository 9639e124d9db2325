"""Verification that the parts of all ranks fit together: every message has two ends, and there is no cycle.

One reduction of a constant size decides. Each rank adds up a digest of every message that it sends, and subtracts the digest
of every message that it receives; a digest covers source, destination, tag, shape and dtype. If all ends match, the sums
vanish. One flag reports a fault that a rank has detected by itself. Another reports that some part both waits for a message
and precedes a send, without which no cycle is possible. The other summands are candidates for a proof that there is no cycle
(see ``cycles``). Only if the digests do not cancel, the ranks gather their messages, and every rank raises the same
error. Only if parts could form a cycle across ranks and no candidate excludes it, the ranks rehearse the graph with their
partners. Only if there is a cycle, they gather the dependencies of messages to name it.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Iterable
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from ..comm.communicator import Communicator
from ..comm.in_step import total
from ..comm.world import world_of
from ..context.interrupts import passed_on
from ..errors import (
    CommunicationCycleError,
    DistributedPartitionVerificationError,
    DuplicateRecvError,
    DuplicateSendError,
    MessageMismatchError,
    MissingRecvError,
    MissingSendError,
    PartitionInducedCycleError,
    RankFailedError,
)
from ..graph.node import Node, in_order
from ..ops.fingerprint import of_text
from . import cycles
from .cycles import Unit, rehearse
from .messages import Key, Message, ends_of, received, sent, tag_bytes
from .nodes import Input, Receive
from .partition import origin_of
from .records import DistributedGraphPartition, topological

_MOST_NAMED = 4
VERIFYING = "verifying a dataflow graph"


class Verified(NamedTuple):
    """The result of the verification of a partition on a communicator."""

    communicator: Communicator
    sends: bool
    """True if some rank sends a message."""
    mark: int
    """A number that identifies the partition, the same on all ranks."""


def verify_distributed_partition(
    mpi_communicator: Any, partition: DistributedGraphPartition
) -> None:
    """Raise the same error on every rank if the parts of all ranks do not fit together. Collective."""
    verify(world_of(mpi_communicator).communicator, partition)


def verify(
    communicator: Communicator,
    partition: DistributedGraphPartition,
    fault: Exception | None = None,
) -> Verified:
    """See :func:`verify_distributed_partition`; a valid partition is not verified again.

    ``fault`` is an earlier error of this rank.
    """
    good: list[Verified] = partition.cache.setdefault("verified", [])
    for known in good:
        if known.communicator is communicator and fault is None:
            return known
    communicator.log.step(of_text(VERIFYING), VERIFYING)
    sends = _verify(communicator, partition, fault)
    good.append(Verified(communicator, sends, communicator.log.hash))
    return good[-1]


def _verify(
    communicator: Communicator, partition: DistributedGraphPartition, fault: Exception | None
) -> bool:
    """True if some rank sends a message."""
    rank, size = communicator.rank, communicator.size
    messages: list[Message] = []
    try:
        if fault is not None:
            raise fault
        ends = ends_of(partition, rank)
        messages = [message for part_ends in ends.values() for message in part_ends]
        _check_here(messages, size)
        parts = partition.parts
        needed = {pid for part in parts.values() for pid in part.needed_pids}
        if topological(parts) is None or not needed <= parts.keys():
            raise PartitionInducedCycleError(
                f"on rank {rank} the parts {sorted(map(repr, partition.parts))} wait for each other, or for parts "
                "that are not there"
            )
    except Exception as error:  # every error must reach the other ranks
        fault = error
    facts = np.zeros(11, np.uint64)
    if fault is None and messages:
        digests = np.stack([message.digest() for message in messages])
        leaves = np.array([message.sends for message in messages])
        facts[:2] = digests[leaves].sum(axis=0) - digests[~leaves].sum(axis=0)  # modulo 2**64
        facts[2:3] = np.array([leaves.sum() - (~leaves).sum()]).astype(np.uint64)
    facts[3] = fault is not None
    if fault is None:
        facts[4] = _may_wait_for_itself(partition)
        facts[5] = len(messages)
        facts[6:] = cycles.facts(partition, ends)
    facts = total(communicator, facts, VERIFYING)
    if facts[3]:
        raise_first(communicator, fault)
    if facts[:3].any():
        _raise_mismatch(communicator.allgather_object(messages, "the messages of a dataflow graph"))
    if facts[4] and not cycles.prove(facts[6:]):
        _check_cycles(communicator, partition)
    return bool(facts[5])


def _check_here(messages: list[Message], size: int) -> None:
    """Check for the faults that a rank detects by itself: absent ranks and duplicate messages."""
    known: dict[tuple[bool, Key], Message] = {}
    for message in messages:
        other = message.dest if message.sends else message.source
        if other >= size:
            raise (MissingRecvError if message.sends else MissingSendError)(
                f"{message}: there is no rank {other}, ranks are 0 to {size - 1}"
            )
        twin = known.setdefault((message.sends, message.key), message)
        if twin is not message:
            kind = DuplicateSendError if message.sends else DuplicateRecvError
            raise kind(f"two messages cannot be told apart: {twin}, and {message}")


def raise_first(communicator: Communicator, fault: Exception | None) -> None:
    """Raise the error of the first rank that has one on every rank. Collective."""
    try:
        given = pickle.dumps((type(fault), str(fault))) if fault is not None else None
        pickle.loads(given or pickle.dumps(None))
    except Exception as problem:  # an exception class of the program that cannot be pickled
        passed_on(problem)
        given = pickle.dumps((RankFailedError, f"{type(fault).__name__}: {fault}"))
    faults = communicator.allgather_object(given, "a fault in a dataflow graph")
    for rank, pickled in enumerate(faults):
        if pickled is not None:
            kind, text = pickle.loads(pickled)
            raise _made(kind, rank, text) from (fault if rank == communicator.rank else None)


def _made(kind: type[Exception], rank: int, text: str) -> Exception:
    """An error of a class with a message; a ``RankFailedError`` if the class does not accept one argument."""
    try:
        return kind(f"rank {rank}: {text}")
    except Exception as problem:
        passed_on(problem)
        return RankFailedError(f"rank {rank}: {kind.__name__}: {text}")


def _listed(messages: Iterable[Message]) -> str:
    lines = sorted(map(str, messages))
    rest = len(lines) - _MOST_NAMED
    return "; ".join(lines[:_MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def _raise_mismatch(by_rank: list[list[Message]]) -> None:
    sends = {m.key: m for messages in by_rank for m in messages if m.sends}
    receives = {m.key: m for messages in by_rank for m in messages if not m.sends}
    unsent = [m for key, m in receives.items() if key not in sends]
    unreceived = [m for key, m in sends.items() if key not in receives]
    if unsent:
        others = f"; also, no rank receives: {_listed(unreceived)}" if unreceived else ""
        raise MissingSendError(f"no rank sends what is waited for: {_listed(unsent)}{others}")
    if unreceived:
        raise MissingRecvError(f"no rank receives what is sent: {_listed(unreceived)}")
    for key in sorted(sends):
        send, receive = sends[key], receives[key]
        if (send.shape, send.dtype) != (receive.shape, receive.dtype):
            raise MessageMismatchError(f"the two ends of a message disagree: {send}, but {receive}")
    raise DistributedPartitionVerificationError(
        "the messages of the ranks do not fit together; all ranks must send and receive by one graph"
    )


# Cycles -----------------------------------------------------------------------------------


def _may_wait_for_itself(partition: DistributedGraphPartition) -> bool:
    """True if some send depends on some receive, by the order of parts."""
    waits: set[Hashable] = set()
    for part in topological(partition.parts) or ():
        if part.name_to_recv_node or part.needed_pids & waits:
            waits.add(part.pid)
            if part.name_to_send_nodes:
                return True
    return False


def _check_cycles(communicator: Communicator, partition: DistributedGraphPartition) -> None:
    mine = _units(partition, communicator.rank)
    if not rehearse(communicator, mine, VERIFYING):
        return
    parts = communicator.allgather_object(mine, "the parts of a dataflow graph")
    truly = communicator.allgather_object(
        _true_units(partition, communicator.rank), "the dependencies of a dataflow graph"
    )
    circle = _circle(truly)
    if not circle:
        raise PartitionInducedCycleError(f"parts wait for each other in a circle: {_circle(parts)}")
    ends = ends_of(partition, communicator.rank)
    texts = {m.key: str(m) for messages in ends.values() for m in messages if m.sends}
    everybody: dict[Key, str] = {}
    for some in communicator.allgather_object(texts, "the messages of a dataflow graph"):
        everybody.update(some)
    words = "; then ".join(everybody.get(key, repr(key)) for key in circle)
    raise CommunicationCycleError(f"messages wait for each other in a circle: {words}")


def _units(partition: DistributedGraphPartition, rank: int) -> list[Unit]:
    number = {pid: k for k, pid in enumerate(partition.parts)}
    return [
        (
            [m.key for _, m in received(part, rank)],
            [m.key for _, m in sent(part, rank)],
            [number[pid] for pid in part.needed_pids],
        )
        for part in partition.parts.values()
    ]


def _true_units(partition: DistributedGraphPartition, rank: int) -> list[Unit]:
    """A unit for each output, with the true dependencies of its expression through the parts, and its sends."""
    arrives: dict[str, Key] = {}
    for part in partition.parts.values():
        arrives.update((name, message.key) for name, message in received(part, rank))
    by_message = {(k[0], k[2]): k for k in arrives.values()}
    units: list[Unit] = []
    place: dict[str, int] = {}

    def unit(name: str) -> int:
        place[name] = len(units)
        units.append(([], [], []))
        return place[name]

    waiting = list(partition.name_to_output)
    for name in waiting:
        unit(name)
    for name in waiting:
        keys, _, needs = units[place[name]]
        for origin in _leaves(partition.name_to_output[name]._node()):
            if isinstance(origin, Receive):
                keys.append(by_message[origin.src_rank, tag_bytes(origin.comm_tag)])
            elif origin.key in arrives:
                keys.append(arrives[origin.key])
            elif origin.key in place and origin.key != name:
                needs.append(place[origin.key])
    for part in partition.parts.values():
        for name, message in sent(part, rank):
            units[place[name]][1].append(message.key)
    return units


def _leaves(root: Node) -> list[Any]:
    origins = map(origin_of, in_order([root], lambda node: True))
    return [origin for origin in origins if isinstance(origin, (Input, Receive))]


def _circle(by_rank: list[list[Unit]]) -> list[Key]:
    """A cycle of messages in which each waits for the next, from the smallest on; empty if there is no cycle."""
    waits: dict[Any, list[Any]] = {}
    for rank, units in enumerate(by_rank):
        for k, (receives, sends, needs) in enumerate(units):
            waits[rank, k] = [*sorted(set(receives)), *[(rank, other) for other in needs]]
            waits.update((key, [(rank, k)]) for key in sends)
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:  # each node of its cycle is waited for by the next
        circle = [node for node in reversed(error.args[1][1:]) if len(node) == 3]
        start = circle.index(min(circle))
        return circle[start:] + circle[:start]
    return []
