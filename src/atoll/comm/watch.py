"""Ranks that wait in vain tell each other where they are, and find out that they have parted.

A wait that takes longer than :data:`PATIENCE` sends a small record to the other ranks: what is
waited for, at which line, and the marks of what was done last (see :mod:`.trail`). It reads what the
others sent, and ends with a :class:`~atoll.errors.DivergenceError` on two occasions: the ranks that
it needs have come to the end of their program; or another rank waits, too, and neither has ever met
what the other is at. In a program whose ranks keep together neither can happen, however slow one of them
is. Short waits send nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from typing import NamedTuple, NoReturn

from ..errors import DivergenceError
from .trail import apart, trail, user_line

PATIENCE = 1.0
"""Seconds of a wait without a word."""

PERIOD = 0.1
"""Seconds between two looks at what the others say."""

GRACE = 1.0
"""Seconds that a message of a rank that has left may still take."""

_MOST_PEERS = 64


class Record(NamedTuple):
    """What a rank says of itself: ``kind`` is ``waits``, ``goes`` or ``left``."""

    kind: str
    what: str
    line: str
    trail: tuple[int, ...]


class Watch:
    """The records of one world; ``post`` sends one to a rank, ``poll`` gives those that came."""

    def __init__(
        self,
        rank: int,
        size: int,
        post: Callable[[int, bytes], None],
        poll: Callable[[], list[tuple[int, bytes]]],
    ) -> None:
        self.rank, self.size = rank, size
        self._post, self._poll = post, poll
        self._known: dict[int, Record] = {}
        self._left: dict[int, float] = {}
        if size <= _MOST_PEERS:
            self._peers = [peer for peer in range(size) if peer != rank]
        else:  # each rank hears of logarithmically many others
            steps = [1 << k for k in range((size - 1).bit_length())]
            self._peers = sorted(
                {(rank + s) % size for s in steps} | {(rank - s) % size for s in steps}
            )

    def _tell(self, record: Record) -> None:
        data = pickle.dumps(tuple(record))
        for peer in self._peers:
            if peer not in self._left:
                self._post(peer, data)

    def read(self, now: float) -> None:
        """Take in what the others have sent."""
        for peer, data in self._poll():
            record = Record(*pickle.loads(data))
            if record.kind == "left":
                self._left[peer] = now
            self._known[peer] = record

    def begin(self, what: str) -> None:
        """Say that this rank waits."""
        self._tell(Record("waits", what, user_line(), tuple(trail)))

    def look(self, what: str, needed: Collection[int] | None, now: float) -> None:
        """Raise if this wait can have no end; ``needed`` are the ranks that it is for, or all."""
        self.read(now)
        for peer, since in self._left.items():
            if (needed is None or peer in needed) and now - since > GRACE:
                self._raise(what, f"rank {peer} has come to the end of its program")
        for peer, record in self._known.items():
            if record.kind == "waits" and apart(trail, record.trail):
                self._raise(what, f"rank {peer} waits at {record.line} for: {record.what}")

    def end(self) -> None:
        """Say that the wait is over."""
        self._tell(Record("goes", "", "", ()))

    def leave(self) -> None:
        """Say that this rank's program has come to its end."""
        if self.size > 1:
            self._tell(Record("left", "", "", ()))

    def _raise(self, what: str, other: str) -> NoReturn:
        raise DivergenceError(
            f"the ranks have parted: rank {self.rank} waits at {user_line()} for: {what}; {other}. What "
            "arrays on ranks are part of must be done by all ranks, in the same order"
        )
