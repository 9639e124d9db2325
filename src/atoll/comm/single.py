"""A single process: collectives are copies, and a message to itself waits in a dictionary."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..context.divergence import StepLog
from ..errors import DeadlockError
from .communicator import (
    Array,
    Communicator,
    Request,
    Traffic,
    check_rows,
    deliver,
    describe_all,
)
from .nodes import consecutive
from .windows import Window


class SingleCommunicator(Communicator):
    """The communicator of a single process."""

    kind = "one process"
    universe: object = "process"

    def __init__(self) -> None:
        self.rank = 0
        self.size = 1
        self.tag_limit = 1 << 30
        self.traffic = Traffic()
        self.nodes = consecutive(1, 1)
        self.log = StepLog(0, self.tag_limit, alone=True)
        self._sent: dict[int, deque[Array]] = {}
        self._wanted: dict[int, deque[tuple[Request, Array]]] = {}

    @property
    def members(self) -> Sequence[int]:
        return (0,)

    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        if waiting := self._wanted.get(tag):
            self._deliver(array, *waiting.popleft())
        else:
            self._sent.setdefault(tag, deque()).append(array.copy())
        return Request(self, "send", dest, tag, what, done=True)

    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        request = Request(self, "receive", source, tag, what, array)
        if waiting := self._sent.get(tag):
            self._deliver(waiting.popleft(), request, array)
        else:
            self._wanted.setdefault(tag, deque()).append((request, array))
        return request

    def _deliver(self, message: Array, request: Request, target: Array) -> None:
        deliver(message, target, request)
        self.traffic.received(message.nbytes)
        request.done = True

    def wait_some(self, requests: Sequence[Request]) -> list[int]:
        if finished := self.test_some(requests):
            return finished
        if not requests:
            raise ValueError("waiting for some of no requests would never end")
        raise DeadlockError(
            f"one process alone waits for a message that it has not sent: {describe_all(requests)}"
        )

    def test_some(self, requests: Sequence[Request]) -> list[int]:
        return [position for position, request in enumerate(requests) if request.done]

    def _collective(
        self, operation: str, given: Array, result: Array, what: str, how: Any = None
    ) -> None:
        self.traffic.together(given.nbytes)
        if result is not given:
            result[...] = given

    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        return [value]

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self.check_peer(root)
        return value

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        check_rows(values, self.size)
        return list(values)

    def window(self, nbytes: int, what: str) -> Window:
        return Window(self, np.zeros(nbytes, np.uint8), what)

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
