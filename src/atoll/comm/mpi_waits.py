"""Waiting for MPI operations: tests and pauses, so that each wait can be interrupted, reported and limited in time.

This module uses mpi4py's handles, but only ``mpi`` imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..context import profiler
from ..context.profiler import now as profiled
from ..errors import CommunicationError
from .communicator import Request, describe_all, described
from .deadlock import DeadlockMonitor
from .mpi_data import words_of
from .mpi_objects import ObjectsByMpi
from .mpi_requests import MpiRequest
from .pending import Item, Pending
from .waiting import SPINS, Patience


class WaitsByMpi(ObjectsByMpi):
    """The part of the communicator that waits for its operations."""

    library: Any
    """The module ``mpi4py.MPI``."""
    watch: DeadlockMonitor
    _who: str
    """This rank, as text."""

    def wait_some(self, requests: Sequence[Request], timeout: float | None = None) -> list[int]:
        if not requests:
            raise ValueError("waiting for some of no requests would never end")
        if profiled.recording is not None:
            return profiler.waited(described(requests), self._wait_some, requests, timeout)
        return self._wait_some(requests, timeout)

    def _wait_some(self, requests: Sequence[Request], timeout: float | None) -> list[int]:
        patience = self._patience(lambda: requests, timeout)
        while not (finished := self.test_some(requests)):
            patience.pause()
        return finished

    def wait_pending(
        self, pending: Pending[Item], timeout: float | None = None
    ) -> list[tuple[Request, Item]]:
        if profiled.recording is not None:
            words = described(pending.of(pending.turn()))
            return profiler.waited(words, self._wait_pending, pending, timeout)
        return self._wait_pending(pending, timeout)

    def _wait_pending(
        self, pending: Pending[Item], timeout: float | None
    ) -> list[tuple[Request, Item]]:
        patience = self._patience(lambda: list(pending), timeout)
        while not (finished := pending.test()):
            patience.pause()
        return finished

    def _patience(
        self, requests: Callable[[], Sequence[Request]], timeout: float | None
    ) -> Patience:
        """The pauses of a wait for these requests."""
        return Patience(
            self._who,
            lambda: describe_all(requests()) + self.watch.at() + self.watch.others(requests()),
            timeout,
            lambda: self.watch.check(requests()),
        )

    def wait_all(self, requests: Sequence[Request], timeout: float | None = None) -> None:
        if profiled.recording is not None and requests:
            profiler.waited(described(requests), self._wait_all, requests, timeout)
        else:
            self._wait_all(requests, timeout)

    def _wait_all(self, requests: Sequence[Request], timeout: float | None) -> None:
        first, count = 0, len(requests)
        for _ in range(SPINS):  # testing one request lets all progress
            while first < count and requests[first].test():
                first += 1
            if first == count:
                return
        super().wait_all(requests[first:], timeout)

    def test_some(self, requests: Sequence[Request]) -> list[int]:
        if len(requests) <= 4:
            return [position for position, request in enumerate(requests) if request.test()]
        finished, pending, positions = [], [], []
        for position, request in enumerate(requests):
            if request.done:
                finished.append(position)
            elif isinstance(request, MpiRequest):
                positions.append(position)
                pending.append(request)
            elif request.test():
                finished.append(position)
        if pending:
            library = self.library
            handles = [request._handle for request in pending]
            statuses = [library.Status() for _ in handles]
            try:
                fresh = library.Request.Testsome(handles, statuses) or ()
            except library.Exception as error:
                raise CommunicationError(
                    f"{words_of(error)}, in one of: {describe_all(pending)}"
                ) from None
            for index, status in zip(fresh, statuses):
                pending[index].complete(status)
                finished.append(positions[index])
        return finished
