"""Parcels: small messages between two neighbours that are sent again and again.

A program that is run a thousand times exchanges messages of the same sizes with the same neighbours
a thousand times. A parcel is a buffer for one of them, with room for all pieces that go to
one neighbour, and the hash of the trail in front. The receiver compares the hash with his own before anybody
uses the data. Where the transport can keep operations set up (MPI can), it does from the second
time on; what travels is the same either way, so the ranks need not agree on it.
"""

from __future__ import annotations

import numpy as np

from .communicator import Array, Communicator, Request, Restartable
from .trail import tell

HEAD = 64
"""The bytes in front of the data: the hash of the trail, and room that keeps the data aligned."""


class Parcel:
    """The buffer for the messages to, or from, one neighbour; ``views`` are arrays over it."""

    __slots__ = ("_communicator", "_mark", "_prepared", "_request", "_runs", "buffer", "peer", "views", "what")  # fmt: skip

    def __init__(self, communicator: Communicator, peer: int, nbytes: int, what: str) -> None:
        self._communicator = communicator
        self.peer = peer
        self.what = what
        self._request: Request | None = None
        self._prepared: Restartable | None = None
        self._runs = 0
        self.buffer: Array = np.zeros(HEAD + nbytes, np.uint8)
        self.views: list[Array] = []
        self._mark = self.buffer.data[:8].cast("Q")

    def wait(self) -> None:
        """Before the buffer is used again: end what a run that failed has left under way."""
        request = self._request
        if request is not None and not request.done:
            request.wait()

    def send(self) -> Request:
        """Send what is in the buffer."""
        self._mark[0] = self._communicator.trail.hash
        return self._begin(receiving=False)

    def receive(self) -> Request:
        """Begin to fill the buffer."""
        return self._begin(receiving=True)

    def _begin(self, *, receiving: bool) -> Request:
        prepared = self._prepared
        if prepared is not None:
            return prepared.start()
        communicator = self._communicator
        self._runs += 1
        if self._runs == 2:
            prepared = communicator.prepared(self.buffer, self.peer, self.what, receiving)
            if prepared is not None:
                self._prepared = prepared
                self._request = prepared.start()
                return self._request
        post = communicator.irecv if receiving else communicator.isend
        self._request = post(self.buffer, self.peer, communicator.parcel_tag, self.what)
        return self._request

    def check(self) -> None:
        """See that what has arrived belongs to this step."""
        if self._mark[0] != self._communicator.trail.hash:
            tell(self._communicator, f"rank {self.peer} sent data of another step")
