"""Persistent buffers: small messages between two neighbours that are sent again and again.

A program that runs a thousand times exchanges messages of the same sizes with the same neighbours
a thousand times. A persistent buffer holds all that goes to one neighbour, behind the hash of the sender's log. The
receiver compares the hash with its own before it uses the data. All buffers of one exchange start together and
end together. From the second run on, a transport that supports persistent requests (MPI does) uses them. The bytes
sent are the same either way, so the ranks need not agree on it.

Between ranks of a node that share memory (:mod:`.channels`) the data lies in a slot instead, which is another one from run
to run. So :meth:`PersistentBuffers.open` says for each run where the data lies: in the ``spot`` of each buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..context import profiler
from ..context.profiler import now as profiled
from .channels import FREE, FULL, HEAD, LOOKS, Channel, Slot, SlotRequest, class_of, fence
from .communicator import Communicator, Prepared, Request
from .in_step import tell


class PersistentBuffer:
    """The buffer for the messages to, or from, one neighbour, and where the message of this run lies."""

    __slots__ = ("buffer", "data", "mark", "nbytes", "peer", "spot", "what")

    def __init__(self, peer: int, nbytes: int, what: str) -> None:
        self.peer = peer
        self.what = what
        self.nbytes = HEAD + nbytes
        self.buffer: Any = None
        """Its memory, while messages go by it."""
        self.data: Any = None
        self.mark: Any = None
        """The hash of the sender's log, as the first element."""
        self.spot: PersistentBuffer | Slot = self
        """What has the ``data`` and the ``mark`` of this run."""

    def use(self) -> None:
        """Let the message of this run lie in its own memory."""
        self.spot = self
        if self.buffer is None:
            self.buffer = np.zeros(self.nbytes, np.uint8)
            self.data = self.buffer[HEAD:]
            self.mark = self.buffer.data[:8].cast("Q")

    def let_go(self) -> None:
        """Give up the memory; messages lie in slots now."""
        self.buffer = self.data = self.mark = None


Ends = tuple[list[PersistentBuffer], list[PersistentBuffer]]
"""Those that arrive, and those that leave."""


class PersistentBuffers:
    """The persistent buffers of one exchange, from and to any neighbours."""

    __slots__ = (
        "_arriving", "_asking", "_communicator", "_far", "_leaving", "_near", "_prepared", "_refused", "_requests", "_runs", "_single",
        "_slots", "under_way",
    )  # fmt: skip

    def __init__(
        self,
        communicator: Communicator,
        arriving: Sequence[PersistentBuffer],
        leaving: Sequence[PersistentBuffer],
    ) -> None:
        self._communicator = communicator
        self._arriving = tuple(arriving)
        self._leaving = tuple(leaving)
        self._near: list[tuple[PersistentBuffer, Channel, int]] = []
        """Those of neighbours whose memory may be shared, with the classes of their slots; those that arrive come first."""
        self._far: Ends = ([], [])
        """The others: those that arrive, and those that leave."""
        self._single: Ends = ([], [])
        """Those of neighbours on this node that go by message in this run."""
        self._slots: tuple[list[Slot], list[Slot]] = ([], [])
        """The slots of the others: of what arrives, and of what leaves."""
        self._asking: list[Channel] = []
        """The channels that come to memory in this run."""
        self._refused = False
        """Whether memory cannot be shared with a neighbour after all."""
        self._runs = 0
        self._prepared: Prepared | None = None
        self._requests: Sequence[Request] = ()
        self.under_way = False
        """Whether a run has started them and has not finished."""
        self._divide()

    def _divide(self) -> None:
        """Find out whose memory may be shared."""
        self._near, self._far, self._refused = [], ([], []), False
        self._runs, self._prepared = 0, None
        for sends, buffers in enumerate((self._arriving, self._leaving)):
            for persistent in buffers:
                channel = self._communicator.channel(persistent.peer, sends=bool(sends))
                if channel is None or channel.is_refused:
                    persistent.use()
                    self._far[sends].append(persistent)
                else:
                    self._near.append((persistent, channel, class_of(persistent.nbytes - HEAD)))

    def ready(self) -> None:
        """End the requests that a failed run has left pending, before the buffers are used again."""
        if self._prepared is not None:
            self._communicator.wait_all(self._prepared.requests)
        self._communicator.wait_all(self._requests)
        self.under_way = False

    def open(self) -> None:
        """Choose where the messages of this run lie, and wait until those that leave may be written there."""
        if self.under_way:
            self.ready()
        if not self._near:
            return
        if self._refused:
            self._divide()
        if self._asking or self._single != ([], []):
            self._single, self._asking = ([], []), []
        arriving, leaving = self._slots
        arriving.clear()
        leaving.clear()
        communicator = self._communicator
        number, traffic = communicator.log.number, communicator.traffic
        for persistent, channel, class_ in self._near:
            slot = channel.next(number, class_)
            if slot is None:
                persistent.use()
                self._single[channel.sends].append(persistent)
                if channel.asks:
                    self._asking.append(channel)
                self._refused |= channel.is_refused
                continue
            persistent.spot, slot.what = slot, persistent.what
            if not channel.sends:
                arriving.append(slot)
                traffic.messages_received += 1
                traffic.bytes_received += persistent.nbytes
                continue
            leaving.append(slot)
            traffic.messages_sent += 1
            traffic.bytes_sent += persistent.nbytes
            if slot.words[FREE] + 2 < slot.number:
                communicator.wait_all([SlotRequest(slot)])

    def begin(self) -> None:
        """Start to send what leaves, and to receive the rest."""
        communicator = self._communicator
        mark = communicator.log.hash
        for persistent in self._leaving:
            persistent.spot.mark[0] = mark
        self.under_way = True
        slots = self._slots[1]
        if slots:
            fence()
            for slot in slots:
                slot.words[FULL] = slot.number
            if profiled.recording is not None:
                self._note_sent()
        arriving, leaving = self._far
        if self._prepared is None and (arriving or leaving):
            self._runs += 1
            if self._runs == 2:
                self._prepared = communicator.prepared(arriving, leaving)
        if self._prepared is not None:
            self._prepared.start()
            arriving, leaving = self._single
        elif self._near:
            arriving, leaving = arriving + self._single[0], leaving + self._single[1]
        if not (arriving or leaving):
            return
        tag = communicator.persistent_tag
        self._requests = [
            communicator.irecv(persistent.buffer, persistent.peer, tag, persistent.what)
            for persistent in arriving
        ] + [
            communicator.isend(persistent.buffer, persistent.peer, tag, persistent.what)
            for persistent in leaving
        ]

    def _note_sent(self) -> None:
        """Tell the profile what leaves in slots."""
        members = self._communicator.members
        sizes = [b.nbytes for b in self._leaving if b.spot is not b]
        for slot, nbytes in zip(self._slots[1], sizes, strict=True):
            profiler.sent(slot.what, members[slot.channel.peer], nbytes)

    def end(self) -> None:
        """Wait for all messages, and check that those received belong to this step."""
        if self._prepared is not None:
            self._prepared.wait()
        if self._requests:
            self._communicator.wait_all(self._requests)
            self._requests = ()
        slots = self._slots[0]
        if slots:
            looks = LOOKS if profiled.recording is None else 0
            for slot in slots:
                words, number = slot.words, slot.number
                while looks and words[FULL] != number:
                    looks -= 1
            if not looks:
                self._communicator.wait_all([SlotRequest(slot) for slot in slots])
            fence()
        for channel in self._asking:
            channel.settle()
        for channel in self._asking:
            channel.settled()
        self.under_way = False
        mark = self._communicator.log.hash
        for persistent in self._arriving:
            if persistent.spot.mark[0] != mark:
                tell(self._communicator, f"rank {persistent.peer} sent data of another step")
