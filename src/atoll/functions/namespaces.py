"""Modules with NumPy's names: atoll's own functions if they exist, else NumPy's on the data.

They are in ``sys.modules`` from the start, so that ``from atoll.random import default_rng``
works, but the first attribute access imports NumPy's module and makes the functions.
Every other NumPy submodule can be imported under atoll's name, and is NumPy's own (:class:`Submodules`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ..context.tracebacks import guarded
from ..context.warn import come_first
from ..lazy.registry import loading, registry
from .public import numpy_function


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not isinstance(value, ModuleType)


ALIASES = {"emath": "lib.scimath"}
"""Modules that are only attributes of NumPy, with the names of the modules that they are."""


_SPECIAL = ("__all__", "__doc__", "__name__", "__package__", "__spec__")


def attribute(original: ModuleType, name: str, public: str) -> Any:
    """Attribute of a NumPy module; the error for a missing one, hints included, names atoll's module."""
    come_first()
    try:
        return getattr(original, name)
    except AttributeError as error:
        text = str(error).replace(f"module {original.__name__!r}", f"module {public!r}")
        raise AttributeError(text) from None


class Namespace(ModuleType):
    """The module ``atoll.<name>``, with everything that ``numpy.<name>`` has."""

    def __init__(self, name: str, own: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__(f"atoll.{name}", f"NumPy's ``{name}`` for arrays of atoll.")
        self._label = name
        self._own = own
        self._numpy: ModuleType | None = None
        self._is_loaded = False
        self.__dict__["__getattr__"] = (
            self._late
        )  # on the class it would slow down existing attributes
        sys.modules[self.__name__] = self
        registry.late[f"numpy.{name}"] = self._load

    def _load(self) -> ModuleType:
        if not self._is_loaded:
            with loading:
                if self._numpy is None:  # else this thread is at it
                    label = ALIASES.get(self._label, self._label)
                    original = self._numpy = import_module(f"numpy.{label}")
                    own = self._own()
                    self.__dict__.update({name: guarded(value) for name, value in own.items()})
                    self.__dict__["__all__"] = list(getattr(original, "__all__", ()))
                    self._is_loaded = True
        assert self._numpy is not None
        return self._numpy

    def _late(self, name: str) -> Any:
        if name == "__path__" and hasattr(self._load(), name):
            return []  # modules below this one are found by Submodules alone
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        original = self._load()
        if name in self.__dict__:
            return self.__dict__[name]
        value: Any = sys.modules.get(f"{self.__name__}.{name}")
        if value is None:
            value = attribute(original, name, self.__name__)
        if _is_function(value) and not name.startswith("_"):
            with loading:
                given, value = value, registry.find(value)
                if value is None:
                    value = numpy_function(given, f"{self._label}.{name}")
                    registry.enter(given, value)
        if name in original.__dict__:  # an attribute that NumPy computes at each access may warn
            self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        names = {*dir(self._load()), *self.__dict__}
        return sorted(name for name in names if not name.startswith("_") or name in _SPECIAL)


def nothing_of_its_own() -> Mapping[str, Any]:
    """Empty mapping, for a module that is entirely NumPy's."""
    return {}


class Submodules:
    """Importer that lets ``import atoll.ma`` and similar imports find NumPy's own modules, if atoll has none of that name."""

    @staticmethod
    def find_spec(name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """A specification of NumPy's module, for the import system."""
        package, _, rest = name.partition(".")
        if package != __name__.partition(".")[0] or not rest:
            return None
        top = sys.modules.get(f"{package}.{rest.partition('.')[0]}")
        own = top.__spec__.name.startswith(package) if top and top.__spec__ else top is None
        ours = PathFinder.find_spec(name, path) if own and not isinstance(top, Namespace) else None
        if ours and ours.origin:  # a file, not a folder of stubs only
            return None
        try:
            spec = find_spec(f"numpy.{rest}")
        except ModuleNotFoundError:
            return None
        return spec and ModuleSpec(name, Submodules, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Leave the creation to the import system, whose module is not kept."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Replace the new module by NumPy's."""
        sys.modules[module.__name__] = import_module(f"numpy.{module.__name__.partition('.')[2]}")


sys.meta_path.insert(
    0, Submodules
)  # before the folders of NumPy's packages are searched for copies
