"""Persistent buffers: small messages between two neighbours that are sent again and again.

A program that runs a thousand times exchanges messages of the same sizes with the same neighbours
a thousand times. A persistent buffer holds all data for one neighbour, behind the hash of the sender's log. The
receiver compares the hash with its own before it uses the data. All buffers of one exchange start together and
end together, by persistent requests if the transport has them (MPI does).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .communicator import Communicator, Request
from .in_step import tell

HEAD = 64
"""The number of bytes in front of the data of a message: the hash of the log, and padding that aligns the data."""


def length_of(nbytes: int) -> int:
    """The length of a message of ``nbytes`` bytes: the bytes are rounded up by at most an eighth, or 64.

    So the buffer of a message that shrinks from turn to turn serves many turns.
    """
    digits = max(nbytes.bit_length() - 4, 6)
    return HEAD + (-(-nbytes >> digits) << digits)


class PersistentBuffer:
    """The buffer for the messages to, or from, one neighbour."""

    __slots__ = ("buffer", "data", "mark", "nbytes", "peer", "what")

    def __init__(self, peer: int, nbytes: int, what: str) -> None:
        self.peer = peer
        self.what = what
        self.nbytes = length_of(nbytes)
        self.buffer = np.zeros(self.nbytes, np.uint8)
        self.data = self.buffer[HEAD:]
        self.mark: Any = self.buffer.data[:8].cast("Q")
        """The hash of the sender's log, as the first element."""


class PersistentBuffers:
    """The persistent buffers of one exchange, from and to any neighbours."""

    __slots__ = ("_requests", "arriving", "communicator", "leaving", "under_way")

    def __init__(
        self,
        communicator: Communicator,
        arriving: Sequence[PersistentBuffer],
        leaving: Sequence[PersistentBuffer],
    ) -> None:
        self.communicator = communicator
        self.arriving = tuple(arriving)
        self.leaving = tuple(leaving)
        self._requests: Sequence[Request] = ()
        self.under_way = False
        """True if a run has started them and has not finished."""

    def open(self) -> None:
        """End the requests that a failed run has left pending, before the buffers are used again."""
        if self.under_way:
            self._drain()
            self.under_way = False

    def begin(self) -> None:
        """Start all sends and receives."""
        mark = self.communicator.log.hash
        for persistent in self.leaving:
            persistent.mark[0] = mark
        self.under_way = True
        self._start()

    def end(self) -> None:
        """Wait for all messages, and check that those received belong to this step."""
        self._wait()
        self.under_way = False
        self.verify()

    def verify(self) -> None:
        """Refuse data that was sent at another step."""
        mark = self.communicator.log.hash
        for persistent in self.arriving:
            if persistent.mark[0] != mark:
                tell(self.communicator, f"rank {persistent.peer} sent data of another step")

    def told(self, *, starts: bool) -> tuple[Any, ...] | None:
        """The operations that start or end all messages, for the native evaluation; ``None`` if none are set up."""
        return None

    def _start(self) -> None:
        """Start all messages."""
        communicator, tag = self.communicator, self.communicator.log.tag
        self._requests = [
            communicator.irecv(persistent.buffer, persistent.peer, tag, persistent.what)
            for persistent in self.arriving
        ] + [
            communicator.isend(persistent.buffer, persistent.peer, tag, persistent.what)
            for persistent in self.leaving
        ]

    def _wait(self) -> None:
        """Wait for all messages."""
        self._drain()

    def _drain(self) -> None:
        """Wait for all messages, some of which a failed run may not have begun."""
        self.communicator.wait_all(self._requests)
        self._requests = ()
