"""Persistent buffers: small messages between two neighbours that are sent again and again.

A program that runs a thousand times exchanges messages of the same sizes with the same neighbours
a thousand times. A persistent buffer holds all that goes to one neighbour, behind the hash of the sender's log. The
receiver compares the hash with its own before it uses the data. All buffers of one exchange start together and
end together. From the second run on, a transport that supports persistent requests (MPI does) uses them. The bytes
sent are the same either way, so the ranks need not agree on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .communicator import Array, Communicator, Prepared, Request
from .in_step import tell

HEAD = 64
"""The bytes in front of the data: the hash of the log, and padding that aligns the data."""


class PersistentBuffer:
    """The buffer for the messages to, or from, one neighbour; the data is in ``buffer[HEAD:]``."""

    __slots__ = ("buffer", "mark", "peer", "what")

    def __init__(self, peer: int, nbytes: int, what: str) -> None:
        self.peer = peer
        self.what = what
        self.buffer: Array = np.zeros(HEAD + nbytes, np.uint8)
        self.mark = self.buffer.data[:8].cast("Q")
        """The hash of the sender's log, as the first element."""


class PersistentBuffers:
    """The persistent buffers of one exchange, from and to any neighbours."""

    __slots__ = ("_arriving", "_communicator", "_leaving", "_prepared", "_requests", "_runs", "under_way")  # fmt: skip

    def __init__(
        self,
        communicator: Communicator,
        arriving: Sequence[PersistentBuffer],
        leaving: Sequence[PersistentBuffer],
    ) -> None:
        self._communicator = communicator
        self._arriving = tuple(arriving)
        self._leaving = tuple(leaving)
        self._runs = 0
        self._prepared: Prepared | None = None
        self._requests: Sequence[Request] = ()
        self.under_way = False
        """Whether a run has started them and has not finished."""

    def ready(self) -> None:
        """End the requests that a failed run has left pending, before the buffers are used again."""
        self._communicator.wait_all(self._requests)
        self.under_way = False

    def begin(self) -> None:
        """Start to send the outgoing buffers, and to receive into the others."""
        mark = self._communicator.log.hash
        for persistent in self._leaving:
            persistent.mark[0] = mark
        self.under_way = True
        if self._prepared is not None:
            self._prepared.start()
            return
        communicator = self._communicator
        self._runs += 1
        if self._runs == 2:
            self._prepared = communicator.prepared(self._arriving, self._leaving)
            if self._prepared is not None:
                self._requests = self._prepared.requests
                self._prepared.start()
                return
        requests: list[Request] = []
        self._requests = requests
        tag = communicator.persistent_tag
        for persistent in self._arriving:
            requests.append(
                communicator.irecv(persistent.buffer, persistent.peer, tag, persistent.what)
            )
        for persistent in self._leaving:
            requests.append(
                communicator.isend(persistent.buffer, persistent.peer, tag, persistent.what)
            )

    def end(self) -> None:
        """Wait for all messages, and check that those received belong to this step."""
        if self._prepared is not None:
            self._prepared.wait()
        else:
            self._communicator.wait_all(self._requests)
        self.under_way = False
        mark = self._communicator.log.hash
        for persistent in self._arriving:
            if persistent.mark[0] != mark:
                tell(self._communicator, f"rank {persistent.peer} sent data of another step")
