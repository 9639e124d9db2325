"""Parcels: small messages between two neighbours that are sent again and again.

A program that is run a thousand times exchanges messages of the same sizes with the same neighbours
a thousand times. A parcel is a buffer for one of them, with room for all pieces that go to
one neighbour, and the hash of the log in front. The receiver compares the hash with his own before anybody
uses the data. The parcels of one exchange are begun together and ended together. Where the transport can keep
operations set up (MPI can), it does from the second time on; what travels is the same either way, so the
ranks need not agree on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .communicator import Array, Communicator, Prepared, Request
from .in_step import tell

HEAD = 64
"""The bytes in front of the data: the hash of the log, and room that keeps the data aligned."""


class Parcel:
    """The buffer for the messages to, or from, one neighbour; the data is in ``buffer[HEAD:]``."""

    __slots__ = ("buffer", "mark", "peer", "what")

    def __init__(self, peer: int, nbytes: int, what: str) -> None:
        self.peer = peer
        self.what = what
        self.buffer: Array = np.zeros(HEAD + nbytes, np.uint8)
        self.mark = self.buffer.data[:8].cast("Q")
        """The hash of the sender's log, as the first element."""


class Parcels:
    """The parcels of one exchange, from and to any neighbours."""

    __slots__ = ("_arriving", "_communicator", "_leaving", "_prepared", "_requests", "_runs", "under_way")  # fmt: skip

    def __init__(
        self, communicator: Communicator, arriving: Sequence[Parcel], leaving: Sequence[Parcel]
    ) -> None:
        self._communicator = communicator
        self._arriving = tuple(arriving)
        self._leaving = tuple(leaving)
        self._runs = 0
        self._prepared: Prepared | None = None
        self._requests: Sequence[Request] = ()
        self.under_way = False
        """Whether a run has begun them that did not come to its end."""

    def ready(self) -> None:
        """Before the buffers are used again: end what a run that failed has left under way."""
        self._communicator.wait_all(self._requests)
        self.under_way = False

    def begin(self) -> None:
        """Send what is in the buffers of those that leave, and begin to fill those of the others."""
        mark = self._communicator.log.hash
        for parcel in self._leaving:
            parcel.mark[0] = mark
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
        tag = communicator.parcel_tag
        for one in self._arriving:
            requests.append(communicator.irecv(one.buffer, one.peer, tag, one.what))
        for one in self._leaving:
            requests.append(communicator.isend(one.buffer, one.peer, tag, one.what))

    def end(self) -> None:
        """Wait until all have come and gone, and see that those which came belong to this step."""
        if self._prepared is not None:
            self._prepared.wait()
        else:
            self._communicator.wait_all(self._requests)
        self.under_way = False
        mark = self._communicator.log.hash
        for parcel in self._arriving:
            if parcel.mark[0] != mark:
                tell(self._communicator, f"rank {parcel.peer} sent data of another step")
