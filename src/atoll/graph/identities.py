"""Objects compared by identity: of equal ones only one is alive.

The plan of a trace depends on which of its views are the same object. So two equal objects must never be alive at the
same time, however many others were made in between: otherwise a rank that has made more of them than the others would
plan other messages. A table that is cleared from time to time would break this rule. This table has weak references,
and holds the newest objects, so that a loop does not make them anew in each iteration.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Generic, TypeVar
from weakref import ref

from .. import policy


class Identity:
    """Stands for a key: comparing and hashing it costs nothing."""

    __slots__ = ("__weakref__",)


Thing = TypeVar("Thing")


class Interned(Generic[Thing]):
    """A table of objects by keys; it keeps a limited number of otherwise unreferenced objects."""

    __slots__ = ("_living", "_newest", "known")

    def __init__(self) -> None:
        self.known: dict[Any, ref[Thing]] = {}
        """The living object of each key, which is asked for often."""
        self._living = 0
        """Number of entries when dead ones were last dropped: the references have no callbacks, which would run Python."""
        self._newest: list[Thing] = []

    def only(self, key: object, new: Thing) -> Thing:
        """The object to use for a key: ``new``, or the object of another thread."""
        with _changing:
            entry = self.known.get(key)
            known = None if entry is None else entry()
            if known is None:
                known = new
                self.known[key] = ref(new)
                if len(self.known) > 2 * self._living + 64:
                    self._drop_dead()
                if len(self._newest) >= policy.limits.entries:
                    self._newest.clear()
                self._newest.append(new)
            return known

    def _drop_dead(self) -> None:
        """Drop the entries whose objects have ended."""
        self.known = {key: entry for key, entry in self.known.items() if entry() is not None}
        self._living = len(self.known)


_changing = threading.RLock()  # of all tables


def _unlock() -> None:
    """In a forked child, whose parent's other threads may have held the lock."""
    global _changing
    _changing = threading.RLock()


os.register_at_fork(after_in_child=_unlock)
_identities: Interned[Identity] = Interned()


def identity_of(key: object) -> Identity:
    """The identity of a key, the same for as long as anything refers to it.

    A value that is stored with an object, as the code of an operation is with its views, must not come from a cache that evicts
    entries: objects from before and after an eviction would never be equal again.
    """
    known = _identities.known.get(key)
    return (known and known()) or _identities.only(key, Identity())
