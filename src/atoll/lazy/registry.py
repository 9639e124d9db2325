"""The registry: every public name, and the replacement of each of NumPy's functions and methods.

The modules of ``functions/`` fill it when they are imported (by ``functions/public.py``); arrays ask it for
their methods, and for what NumPy's dispatch hands to them. A function of NumPy's is entered once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from typing import Any

from ..context.tracebacks import guarded


class Registry:
    """Public names, what computes each of them, and the functions by those of NumPy's that they stand for."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        """Everything that is public, by name."""
        self.kinds: dict[str, str] = {}
        """By name: ``native``, ``data``, ``numpy`` (with a warning), or ``same`` (NumPy's own object)."""
        self.late: dict[str, Callable[[], Any]] = {}
        """What enters the functions of a module of NumPy's that is imported at its first use, by its name."""
        self.created: set[str] = set()
        """The names of functions that make arrays, and so have an argument ``layout``."""
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
        """Let ``function`` stand for a function or method of NumPy's."""
        entered = self._functions.setdefault(original, function)
        if entered is not function:
            raise ValueError(f"{original!r} has an implementation already: {entered!r}")

    def find(self, original: Any) -> Callable[..., Any] | None:
        """The function that stands for one of NumPy's; ``None`` where NumPy's is all there is."""
        function = self._functions.get(original)
        if function is None and self.names.get(getattr(original, "__name__", "")) is original:
            return original
        if function is None and (load := self.late.get(getattr(original, "__module__", ""))):
            load()  # which does nothing from the second time on
            function = self._functions.get(original)
        return function


registry = Registry()
loading = RLock()
"""Held while functions are entered at their first use: another thread that asks for one meanwhile waits."""

os.register_at_fork(
    before=loading.acquire, after_in_parent=loading.release, after_in_child=loading.release
)
