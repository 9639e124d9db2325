"""Import of foreign objects and export of atoll's arrays; no other package recognises objects of other libraries."""

from importlib import import_module
from types import ModuleType

ROOMS = ("distarray", "partitioned")


def __getattr__(name: str) -> ModuleType:
    if name in ROOMS:  # imported at the first access to the attribute
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
