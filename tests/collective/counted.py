"""What one rank of a large world sends and receives: the algorithm runs, and the other ranks do not exist.

A :class:`CountedCommunicator` takes every message and counts it. What it receives is ones (zeros in integers and bytes),
so it suits algorithms whose messages do not depend on values, or depend on integers that may be zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from atoll.comm.dry_run import DryRunCommunicator
from atoll.comm.single import SingleRequest


class CountedCommunicator(DryRunCommunicator):
    """The place of one rank among others that do not exist, with counts of its messages."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self.peers: set[int] = set()

    @property
    def words(self) -> int:
        """How many bytes this rank has sent or received, whichever is more."""
        return max(self.traffic.bytes_sent, self.traffic.bytes_received)

    @property
    def messages(self) -> int:
        return self.traffic.messages_sent + self.traffic.messages_received

    def isend(self, array: Any, dest: int, tag: int = 0, what: str = "") -> SingleRequest:
        assert 0 <= dest < self.size != self.rank != dest
        self.traffic.messages_sent += 1
        self.traffic.bytes_sent += array.nbytes
        self.peers.add(dest)
        return SingleRequest(self, "send", dest, tag, what)

    def irecv(self, array: Any, source: int, tag: int = 0, what: str = "") -> SingleRequest:
        assert 0 <= source < self.size != self.rank != source
        self.traffic.messages_received += 1
        self.traffic.bytes_received += array.nbytes
        self.peers.add(source)
        array[...] = np.zeros((), array.dtype) if array.dtype.kind in "iu" else 1
        return SingleRequest(self, "receive", source, tag, what)
