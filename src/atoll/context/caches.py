"""The two kinds of caches: :class:`Memo` forgets everything when it is full, :class:`Recent` its oldest entry; and :class:`Living` sets.

A cache may forget anything at any time, on each rank at another time: what it holds must follow from its key alone. Looking up
is :meth:`dict.get`. ``policy.limits.entries`` bounds each cache, and ``atoll.stats()`` counts forgotten entries.
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
    """Let a cache that is full forget everything."""
    if len(cache) >= policy.limits.entries:
        cache.clear()
        statistics.add("caches_full")


class Memo(dict[Key, Entry]):
    """Facts that cost microseconds to work out again."""

    __slots__ = ()

    def __setitem__(self, key: Key, entry: Entry) -> None:
        _make_room(self)
        super().__setitem__(key, entry)

    def only(self, key: Key, entry: Entry) -> Entry:
        """The entry of a key: this one, or the one that another thread has stored meanwhile."""
        if key not in self:
            _make_room(self)
        return super().setdefault(key, entry)


class Recent(OrderedDict[Key, Entry]):
    """What costs milliseconds to make: plans, kernels, types of messages. ``counted`` names the counter of what goes."""

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
    """Objects by identity, as long as they live: a weak set without callbacks of Python's, which would lose interrupts."""

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
    """Let the native recorder know a form, or what else it finds by geometries; ``convert`` brings a number to the dtype of the loop."""
    _make_room(forms)
    forms.keep(key, form, convert)


def remembered(function: Callable[Arguments, Entry]) -> Callable[Arguments, Entry]:
    """A function of hashable arguments whose results are remembered."""
    known: Memo[Any, Any] = Memo()

    @wraps(function)
    def look_up(*args: Any) -> Any:
        value = known.get(args, known)
        if value is known:
            value = known[args] = function(*args)  # type: ignore[call-arg]
        return value

    return cast("Callable[Arguments, Entry]", look_up)
