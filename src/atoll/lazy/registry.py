"""The registry: every public name, and the replacement of each NumPy function and method.

The modules of ``functions/`` fill it when they are imported (by ``functions/public.py``). Arrays look up their
methods there, and the functions of NumPy's dispatch. Each NumPy function is entered once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from typing import Any

from ..context.tracebacks import guarded


class Registry:
    """Public names, the implementation of each, and the functions by the NumPy function that they replace."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        """Everything that is public, by name."""
        self.kinds: dict[str, str] = {}
        """By name: ``native``, ``data``, ``numpy`` (with a warning), or ``same`` (NumPy's own object)."""
        self.late: dict[str, Callable[[], Any]] = {}
        """Functions that fill the registry for a NumPy module imported at its first use, by the module's name."""
        self.created: set[str] = set()
        """The names of functions that make arrays, and so have an argument ``layout``; those of ``random`` have it as well."""
        self._functions: dict[Any, Callable[..., Any]] = {}

    def publish(
        self, name: str, value: Any, kind: str, original: Any = None, *, creates: bool = False
    ) -> None:
        """Make ``value`` public under a name; ``original`` is NumPy's object of that name."""
        value = guarded(value)
        if original is not None:
            self.enter(original, value)
        self.names[name] = value
        self.kinds[name] = kind
        if creates:
            self.created.add(name)

    def enter(self, original: Any, function: Callable[..., Any]) -> None:
        """Make ``function`` the replacement of a NumPy function or method."""
        entered = self._functions.setdefault(original, function)
        if entered is not function:
            raise ValueError(f"{original!r} has an implementation already: {entered!r}")

    def find(self, original: Any) -> Callable[..., Any] | None:
        """The replacement of a NumPy function; ``None`` if it has none."""
        function = self._functions.get(original)
        if function is None and self.names.get(getattr(original, "__name__", "")) is original:
            return original
        if function is None and (load := self.late.get(getattr(original, "__module__", ""))):
            load()  # a second call has no effect
            function = self._functions.get(original)
        return function


registry = Registry()
loading = RLock()
"""Held while functions are entered at their first use: another thread that asks for one meanwhile waits."""

os.register_at_fork(
    before=loading.acquire, after_in_parent=loading.release, after_in_child=loading.release
)
