"""A single process: collectives are copies, and a message to itself waits in a dictionary."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..context.divergence import StepLog
from ..errors import CommunicationError, DeadlockError
from .communicator import (
    Array,
    Communicator,
    Request,
    Traffic,
    check_array,
    check_rows,
    contribution,
    deliver,
    describe_all,
)
from .nodes import consecutive
from .windows import Window, bytes_of


class SingleRequest(Request):
    """A message to oneself, or a collective, which is done as soon as it is posted."""

    __slots__ = ("_done", "_result")

    def __init__(
        self,
        communicator: Communicator,
        operation: str,
        peer: int | None = None,
        tag: int | None = None,
        what: str = "",
        result: Any = None,
        done: bool = True,
    ) -> None:
        super().__init__(communicator, operation, peer, tag, what)
        self._done = done
        self._result = result

    @property
    def done(self) -> bool:
        return self._done

    @property
    def result(self) -> Any:
        if not self._done:
            raise CommunicationError(f"not done yet: {self.describe()}")
        return self._result

    def test(self) -> bool:
        return self._done


class SingleCommunicator(Communicator):
    """The communicator of a single process."""

    kind = "one process"
    universe = "process"

    def __init__(self) -> None:
        self.rank = 0
        self.size = 1
        self.tag_limit = 1 << 30
        self.traffic = Traffic()
        self.nodes = consecutive(1, 1)
        self.log = StepLog(0, self.tag_limit, alone=True)
        self._sent: dict[int, deque[Array]] = {}
        self._wanted: dict[int, deque[tuple[SingleRequest, Array]]] = {}

    @property
    def members(self) -> Sequence[int]:
        return (0,)

    def isend(self, array: Array, dest: int, tag: int = 0, what: str = "") -> Request:
        check_array(array, receiving=False)
        self.check_peer(dest)
        self.check_tag(tag)
        self.traffic.sent(array.nbytes, between_nodes=False)
        if waiting := self._wanted.get(tag):
            request, target = waiting.popleft()
            self._deliver(array, target, request)
            request._done = True
        else:
            self._sent.setdefault(tag, deque()).append(array.copy())
        return SingleRequest(self, "send", dest, tag, what)

    def irecv(self, array: Array, source: int, tag: int = 0, what: str = "") -> Request:
        check_array(array, receiving=True)
        self.check_peer(source)
        self.check_tag(tag)
        request = SingleRequest(self, "receive", source, tag, what, array, done=False)
        if waiting := self._sent.get(tag):
            self._deliver(waiting.popleft(), array, request)
            request._done = True
        else:
            self._wanted.setdefault(tag, deque()).append((request, array))
        return request

    def _deliver(self, message: Array, target: Array, request: Request) -> None:
        deliver(message, target, request)
        self.traffic.messages_received += 1
        self.traffic.bytes_received += message.nbytes

    def wait_some(self, requests: Sequence[Request], timeout: float | None = None) -> list[int]:
        if finished := self.test_some(requests):
            return finished
        if not requests:
            raise ValueError("waiting for some of no requests would never end")
        raise DeadlockError(
            f"one process alone waits for a message that it has not sent: {describe_all(requests)}"
        )

    def test_some(self, requests: Sequence[Request]) -> list[int]:
        return [position for position, request in enumerate(requests) if request.done]

    def _collective(self, operation: str, what: str, result: Any) -> Request:
        self.traffic.collectives += 1
        return SingleRequest(self, operation, what=what, result=result)

    def iallreduce(self, array: Array, op: str = "sum", what: str = "") -> Request:
        given = contribution(array, op)
        return self._collective("allreduce", what, given.copy())

    def iallgather(self, array: Array, what: str = "") -> Request:
        return self._collective("allgather", what, np.array(array, order="C")[np.newaxis])

    def ialltoall(self, array: Array, what: str = "") -> Request:
        check_rows(array, self.size)
        return self._collective("alltoall", what, np.array(array, order="C"))

    def ibcast(self, array: Array, root: int, what: str = "") -> Request:
        self.check_peer(root)
        return self._collective("bcast", what, array)

    def ibarrier(self, what: str = "") -> Request:
        return self._collective("barrier", what, None)

    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        return [value]

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self.check_peer(root)
        return value

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        check_rows(values, self.size)
        return list(values)

    def window(self, nbytes: int, what: str) -> Window:
        return Window(self, bytes_of(nbytes), what)

    def split(self, color: int | None, key: int = 0) -> SingleCommunicator | None:
        return None if color is None else SingleCommunicator()

    def group(self, ranks: Sequence[int]) -> SingleCommunicator:
        self.checked_ranks(ranks)
        return self

    def abort(self, code: int = 1, message: str = "") -> NoReturn:
        if message:
            print(f"atoll: {message}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
