"""Requests that are pending, tested a few at a time.

A rank with many neighbours waits for many messages at once. Testing all of them after each arrival would take a time that
grows with the square of their number. Here a test looks at the first few, in the order in which they are wanted, and at as
many of the others in turn. So a test takes the same time however many requests there are, messages that arrive in order are
seen at once, and no message is overlooked for good.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from .communicator import Communicator, Request

FEW = 8
"""The number of requests at the front that one test covers, and of the others in turn."""

Item = TypeVar("Item")


class Pending(Generic[Item]):
    """Pending requests of one communicator, each with an item that describes its purpose."""

    __slots__ = ("_communicator", "_next", "_requests", "_turns")

    def __init__(
        self, communicator: Communicator, requests: Iterable[tuple[Request, Item]] = ()
    ) -> None:
        self._communicator = communicator
        self._requests: OrderedDict[int, tuple[Request, Item]] = OrderedDict(enumerate(requests))
        self._turns = deque(self._requests)
        """The numbers of the requests in the order of their turns; some may be done."""
        self._next = len(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Request]:
        return (request for request, _ in self._requests.values())

    def add(self, request: Request, item: Item) -> None:
        """Add a request, wanted after the others."""
        self._requests[self._next] = request, item
        self._turns.append(self._next)
        self._next += 1

    def numbers(self) -> list[int]:
        """The numbers of all requests, in the order in which they are wanted."""
        return list(self._requests)

    def turn(self) -> list[int]:
        """The numbers of the requests to test next."""
        requests = self._requests
        if len(requests) <= 2 * FEW:
            return self.numbers()
        chosen = dict.fromkeys(islice(requests, FEW))
        for _ in range(min(FEW, len(self._turns))):
            number = self._turns.popleft()
            if number in requests:
                self._turns.append(number)
                chosen[number] = None
        return list(chosen)

    def of(self, numbers: Iterable[int]) -> list[Request]:
        """The requests of these numbers."""
        return [self._requests[number][0] for number in numbers]

    def taken(self, numbers: Iterable[int]) -> list[tuple[Request, Item]]:
        """Remove the requests of these numbers, which are done; the result has them with their items."""
        done = [self._requests.pop(number) for number in numbers]
        if len(self._turns) > 2 * len(self._requests) + FEW:
            self._turns = deque(self._requests)
        return done

    def test(self) -> list[tuple[Request, Item]]:
        """Let messages move, and remove the requests that are known to be done; the result has them with their items."""
        turn = self.turn()
        if not turn:
            return []
        done = self._communicator.test_some(self.of(turn))
        return self.taken([turn[place] for place in done]) if done else []

    def wait(self) -> list[tuple[Request, Item]]:
        """Wait until some requests are done, and remove them; the result has them with their items."""
        return self._communicator.wait_pending(self)
