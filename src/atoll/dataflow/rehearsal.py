"""Rehearsal of a graph without data, which finds the parts that wait in a cycle.

Each rank runs its parts in rounds. In a round it runs all parts that are ready, and sends each partner the number and the
identities of the messages that these would send. The rehearsal ends after a round without progress; the parts that have not
run then wait in a cycle or for one. A rank communicates with its partners only, and does not have the parts of other ranks, so
the cost does not grow with the number of ranks. The number of rounds is the length of the longest chain of messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..comm.communicator import Array, Communicator
from ..comm.in_step import total

Key = tuple[int, int, bytes]
"""The sender, the receiver and the tag of a message."""
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
