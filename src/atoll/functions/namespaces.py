"""Modules that look like NumPy's: own functions where there are some, NumPy's on the data else."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ..recording.fallback import implementations
from .public import numpy_function


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not isinstance(value, ModuleType)


class _Namespace(ModuleType):
    """A module whose functions are made when they are first asked for."""

    def __getattr__(self, name: str) -> Any:
        original = getattr(self.__dict__["_numpy"], name)
        value = original
        if _is_function(original) and not name.startswith("_"):
            value = numpy_function(original, f"{self.__dict__['_label']}.{name}")
            implementations.setdefault(original, value)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted({*dir(self.__dict__["_numpy"]), *self.__dict__})


def module_like(original: ModuleType, name: str, own: Mapping[str, Any]) -> ModuleType:
    """The module ``atoll.<name>``, with everything that ``original`` has."""
    module = _Namespace(f"atoll.{name}", original.__doc__)
    module.__dict__.update(own)
    module.__dict__["_numpy"] = original
    module.__dict__["_label"] = name
    module.__dict__["__all__"] = list(getattr(original, "__all__", ()))
    sys.modules[module.__name__] = module
    return module
