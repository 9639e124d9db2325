"""Two searches for cycles of messages: potentials, which each rank computes alone, and a rehearsal of the graph without data.

Potentials are numbers on messages that prove that there is no cycle. If every message has a number, the same at both ends, and
on each rank every send has a greater number than all receives that it waits for, then the numbers grow along any chain of waits,
so no chain closes. To check such numbers, a rank walks over its own parts and, to compare ends, adds a digest of constant size.
The remaining problem is to find numbers that both ends compute without communication. (Some graphs need more: fewer bits than
messages cannot decide whether the union of the graphs of two ranks has a cycle. For these the ranks rehearse the graph.) The
candidates:

* the numbers in the tag, as in ``("halo", step)``; both ends have the tag;
* the whole tag, in its natural order, as in ``(step, "rows")``;
* the *level* of the message, for programs in which all ranks act alike: a sent message has the level of its part, a received
  one the level of this rank's own send with the same tag, or 0 without such a send; the level of a part is the greatest of
  the levels of the parts that it needs and of one more than the levels of its receives.

The rehearsal finds the parts that wait in a cycle. Each rank runs its parts in rounds. In a round it runs all parts that are
ready, and sends each partner the number and the identities of the messages that these would send. The rehearsal ends after a
round without progress; the parts that have not run then wait in a cycle or for one. A rank communicates with its partners only,
and does not have the parts of other ranks, so the cost does not grow with the number of ranks. The number of rounds is the length
of the longest chain of messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ..comm.communicator import Array, Communicator
from ..comm.in_step import total
from .messages import Key, Message, digest
from .records import DistributedGraphPart, DistributedGraphPartition, ready_order, topological

_DIGITS = re.compile(r"(\d+)")
Order = tuple[tuple[int, Any], ...]


def atoms(tag: Any) -> Order:
    """The atoms of a tag, in order: ``(0, number)`` or ``(1, text)``."""
    order: list[tuple[int, Any]] = []
    stack = [tag]
    while stack:
        value = stack.pop()
        if isinstance(value, Enum):
            order.append((1, f"{type(value).__qualname__}.{value.name}"))
        elif isinstance(value, (int, float, np.integer)) and value == value:
            order.append((0, value))
        elif isinstance(value, str):
            order += [
                (0, int(part)) if part.isdigit() and part.isascii() else (1, part)
                for part in _DIGITS.split(value)
                if part
            ]
        elif isinstance(value, (tuple, list)):
            stack.extend(reversed(value))
        elif isinstance(value, (set, frozenset)):
            stack.extend(sorted(value, key=atoms, reverse=True))
        elif isinstance(value, type):
            order.append((1, f"{value.__module__}.{value.__qualname__}"))
        else:
            order.append((1, type(value).__qualname__))
    return tuple(order)


def numbers(tag: Any) -> Order:
    """The numbers in a tag."""
    return tuple([atom for atom in atoms(tag) if atom[0] == 0])


def grows(order: list[DistributedGraphPart], number: Callable[[Any], Order]) -> bool:
    """True if every send has a greater number than all receives that it waits for."""
    most: dict[Hashable, Order | None] = {}
    for part in order:
        waited = [number(node.comm_tag) for node in part.name_to_recv_node.values()]
        waited += [before for pid in part.needed_pids if (before := most[pid]) is not None]
        here = most[part.pid] = max(waited, default=None)
        if here is not None and any(
            number(send.comm_tag) <= here
            for sends in part.name_to_send_nodes.values()
            for send in sends
        ):
            return False
    return True


def levels(
    order: list[DistributedGraphPart], ends: Mapping[Hashable, list[Message]]
) -> list[tuple[Message, int]] | None:
    """The messages with their levels; ``None`` if the levels depend on each other in a cycle."""
    sender = {m.tag: pid for pid, messages in ends.items() for m in messages if m.sends}
    origins: dict[Hashable, list[tuple[Hashable, int]]] = {}
    level: dict[Hashable, int] = {}
    for part in order:
        origins[part.pid] = [(pid, 0) for pid in part.needed_pids]
        level[part.pid] = 0
        for tag in {m.tag for m in ends[part.pid] if not m.sends}:
            if tag in sender:
                origins[part.pid].append((sender[tag], 1))
            else:
                level[part.pid] = 1
    ready = ready_order({pid: [other for other, _ in pairs] for pid, pairs in origins.items()})
    for pid in ready:
        level[pid] = max([level[pid], *[level[other] + step for other, step in origins[pid]]])
    if len(ready) < len(order):
        return None
    return [
        (m, level[pid] if m.sends else level[sender[m.tag]] if m.tag in sender else 0)
        for pid, messages in ends.items()
        for m in messages
    ]


def facts(
    partition: DistributedGraphPartition, ends: Mapping[Hashable, list[Message]]
) -> np.ndarray[Any, Any]:
    """This rank's summands for each candidate; their sum over all ranks is zero if the candidate proves that there is no cycle.

    ``ends`` are the messages of each part. The first two candidates have a flag each; the third has a flag and a digest of two
    numbers.
    """
    order = topological(partition.parts)
    assert order is not None
    sums = np.zeros(5, np.uint64)
    sums[0] = not grows(order, numbers)
    sums[1] = not grows(order, atoms)
    known = levels(order, ends)
    if known is None:
        sums[2] = 1
    elif known:
        digests = np.stack([digest((m.source, m.dest, level), m.tag) for m, level in known])
        leaves = np.array([m.sends for m, _ in known])
        sums[3:] = digests[leaves].sum(axis=0) - digests[~leaves].sum(axis=0)  # modulo 2**64
    return sums


def prove(total: np.ndarray[Any, Any]) -> bool:
    """True if the sum of all ranks' facts proves that there is no cycle."""
    return not total[0] or not total[1] or not total[2:].any()


# Rehearsal


Unit = tuple[list[Key], list[Key], list[int]]
"""A part: the messages that it receives, the messages that it sends, and the numbers of the parts that it needs."""


class _Stage:
    """The parts of this rank, and the progress of their rehearsal."""

    def __init__(self, rank: int, units: Sequence[Unit]) -> None:
        self.rank = rank
        self.units = units
        self.users: list[list[int]] = [[] for _ in units]
        self.readers: dict[Key, list[int]] = {}
        self.missing: list[int] = []
        for number, (receives, _, needs) in enumerate(units):
            self.missing.append(len(set(receives)) + len(set(needs)))
            for other in set(needs):
                self.users[other].append(number)
            for key in set(receives):
                self.readers.setdefault(key, []).append(number)
        self.ready = [number for number, count in enumerate(self.missing) if not count]
        self.incoming = _by_peer(self.readers, rank)
        self.outgoing = _by_peer([key for _, sends, _ in units for key in sends], rank)
        self.place = {key: k for keys in self.outgoing.values() for k, key in enumerate(keys)}
        self.left = len(units)

    def less(self, numbers: Iterable[int]) -> None:
        """Decrement the number of dependencies that these parts wait for."""
        for number in numbers:
            self.missing[number] -= 1
            if not self.missing[number]:
                self.ready.append(number)

    def run(self) -> dict[int, list[int]]:
        """Run all ready parts; for each other rank, the messages it would get, as positions in an order that both ends know."""
        sent: dict[int, list[int]] = {}
        while self.ready:
            number = self.ready.pop()
            self.left -= 1
            self.less(self.users[number])
            for key in self.units[number][1]:
                if key[1] == self.rank:
                    self.less(self.readers[key])
                else:
                    sent.setdefault(key[1], []).append(self.place[key])
        return sent


def rehearse(communicator: Communicator, units: Sequence[Unit], what: str) -> int:
    """The number of parts of all ranks that can never run. Every message must have two ends. Collective."""
    stage = _Stage(communicator.rank, units)
    coming = {peer: len(keys) for peer, keys in stage.incoming.items()}
    going = {peer: len(keys) for peer, keys in stage.outgoing.items()}
    while True:
        before = stage.left
        sent = stage.run()
        progress, left = total(
            communicator, np.array([before - stage.left, stage.left], np.uint64), what
        ).tolist()
        if not progress or not left:
            return int(left)
        counts = {peer: np.array([len(sent.get(peer, ()))]) for peer in going}
        counted = {peer: np.empty(1, int) for peer in coming}
        communicator.exchange(counts, counted, communicator.log.tag, what)
        places = {peer: np.array(some, np.int32) for peer, some in sent.items()}
        arriving = {
            peer: np.empty(count, np.int32)
            for peer, count in ((peer, int(some[0])) for peer, some in counted.items())
            if count
        }
        communicator.exchange(places, arriving, communicator.log.tag, what)
        for peer, some in arriving.items():
            for place in some.tolist():
                stage.less(stage.readers[stage.incoming[peer][place]])
        _take_off(coming, arriving)
        _take_off(going, places)


def _take_off(left: dict[int, int], done: Mapping[int, Array]) -> None:
    """Subtract the messages that have passed, and delete the ranks with which none is left."""
    for peer, some in done.items():
        left[peer] -= len(some)
        if not left[peer]:
            del left[peer]


def _by_peer(keys: Iterable[Key], rank: int) -> dict[int, list[Key]]:
    """The messages by peer, in an order that both ends know; without the messages of this rank to itself."""
    by_peer: dict[int, list[Key]] = {}
    for key in sorted(keys):
        source, dest, _ = key
        if source != dest:
            by_peer.setdefault(dest if source == rank else source, []).append(key)
    return by_peer
