"""Objects that are told apart by identity: of equal ones there is but one, as long as it lives.

What is planned for a trace follows from which of its views are the same view. So two equal objects must
never be alive beside each other, however many others were made in between: else one rank, which
has made more of them than the others, would plan other messages than those. A table that is just emptied
now and then would do that. This one refers to its objects weakly, and holds the newest, so that
what a loop drops and makes again is not made anew in each turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from .. import policy

Thing = TypeVar("Thing")


class Interned(Generic[Thing]):
    """A table of objects by keys; holds up to a limit of those that nobody else does."""

    __slots__ = ("_known", "_limit", "_lock", "_newest", "get")
    get: Callable[[Any], Thing | None]
    """The living object of a key."""

    def __init__(self, limit: str) -> None:
        self._limit = limit
        self._known: WeakValueDictionary[Any, Thing] = WeakValueDictionary()
        self._newest: list[Thing] = []
        self._lock = threading.RLock()
        self.get = self._known.get

    def only(self, key: object, made: Thing) -> Thing:
        """The object to use for a key: ``made``, or what another thread has put there meanwhile."""
        with self._lock:
            found = self.get(key)
            if found is None:
                found = self._known[key] = made
                if len(self._newest) >= getattr(policy.limits, self._limit):
                    self._newest.clear()
                self._newest.append(made)
            return found
