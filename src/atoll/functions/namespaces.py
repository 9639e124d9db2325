"""Modules that look like NumPy's: own functions where there are some, NumPy's on the data else.

They are in ``sys.modules`` from the start, so that ``from atoll.random import default_rng``
works, but NumPy's module is imported, and functions are made, when something is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from ..recording.fallback import implementations
from .public import numpy_function


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not isinstance(value, ModuleType)


class Namespace(ModuleType):
    """The module ``atoll.<name>``, with everything that ``numpy.<name>`` has."""

    def __init__(self, name: str, own: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__(f"atoll.{name}", f"NumPy's ``{name}`` for arrays of atoll.")
        self._label = name
        self._own = own
        self._numpy: ModuleType | None = None
        sys.modules[self.__name__] = self

    def _load(self) -> ModuleType:
        original = self._numpy
        if original is None:
            original = self._numpy = import_module(f"numpy.{self._label}")
            self.__dict__.update(self._own())
            self.__dict__["__all__"] = list(getattr(original, "__all__", ()))
        return original

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        original = self._load()
        if name in self.__dict__:
            return self.__dict__[name]
        value = getattr(original, name)
        if _is_function(value) and not name.startswith("_"):
            given, value = value, numpy_function(value, f"{self._label}.{name}")
            implementations.setdefault(given, value)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._load()), *self.__dict__})


def nothing_of_its_own() -> Mapping[str, Any]:
    """For a module that is NumPy's throughout."""
    return {}
