"""Caches: a full :class:`Memo` evicts all entries, a full :class:`Recent` the oldest one; and :class:`Living`, a weak set.

A cache may evict any entry at any time, and at different times on each rank: an entry must follow from its key alone. Look
entries up with :meth:`dict.get`. ``policy.limits.entries`` bounds each cache, and ``atoll.stats()`` counts evictions.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar, cast

from .. import policy
from . import statistics

Key = TypeVar("Key")
Entry = TypeVar("Entry")
Arguments = ParamSpec("Arguments")


def _make_room(cache: Any) -> None:
    """Clear a cache that is full."""
    if len(cache) >= policy.limits.entries:
        cache.clear()
        statistics.add("caches_full")


class Memo(dict[Key, Entry]):
    """Values that cost microseconds to recompute."""

    __slots__ = ()

    def __setitem__(self, key: Key, entry: Entry) -> None:
        _make_room(self)
        super().__setitem__(key, entry)

    def only(self, key: Key, entry: Entry) -> Entry:
        """The entry of a key: ``entry``, unless another thread has stored one meanwhile."""
        if key not in self:
            _make_room(self)
        return super().setdefault(key, entry)


class Recent(OrderedDict[Key, Entry]):
    """Values that cost milliseconds to make: plans, kernels, message types. ``counted`` names the counter of evictions."""

    def __init__(self, counted: str, ended: Callable[[Entry], object] | None = None) -> None:
        super().__init__()
        self._counted, self._ended = counted, ended

    def __setitem__(self, key: Key, entry: Entry) -> None:
        if key not in self and len(self) >= policy.limits.entries:
            _, old = self.popitem(last=False)
            statistics.add(self._counted)
            if self._ended is not None:
                self._ended(old)
        super().__setitem__(key, entry)


class Living(Generic[Key]):
    """A weak set of objects by identity, without Python callbacks, which would lose interrupts."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Key]] = {}
        self._living = 0

    def add(self, thing: Key) -> None:
        self._known[id(thing)] = weakref.ref(thing)
        if len(self._known) > 2 * self._living + 64:
            self._known = {id(living): weakref.ref(living) for living in self}
            self._living = len(self._known)

    def __contains__(self, thing: object) -> bool:
        known = self._known.get(id(thing))
        return known is not None and known() is thing

    def __iter__(self) -> Iterator[Key]:
        living = [known() for known in list(self._known.values())]
        return iter([thing for thing in living if thing is not None])


def keep(forms: Any, key: tuple[Any, ...], form: object, convert: object = None) -> None:
    """Store a form, or another entry found by geometries, in the native recorder; ``convert`` casts a number to the dtype of the loop."""
    _make_room(forms)
    forms.keep(key, form, convert)


def remembered(function: Callable[Arguments, Entry]) -> Callable[Arguments, Entry]:
    """Memoise a function of hashable arguments."""
    known: Memo[Any, Any] = Memo()

    @wraps(function)
    def look_up(*args: Any) -> Any:
        value = known.get(args, known)
        if value is known:
            value = known[args] = function(*args)  # type: ignore[call-arg]
        return value

    return cast("Callable[Arguments, Entry]", look_up)


def derived(function: Callable[[Any], Entry]) -> Callable[[Any], Entry]:
    """A function of an object that never changes; the results stay with the object, in its ``_derived``."""

    @wraps(function)
    def look_up(given: Any) -> Entry:
        results: dict[Any, Entry] = given._derived
        if function not in results:
            results[function] = function(given)
        return results[function]

    return look_up
