"""The only package that recognises foreign objects and exports atoll's arrays to other libraries."""

from importlib import import_module
from types import ModuleType

ROOMS = ("distarray", "partitioned")


def __getattr__(name: str) -> ModuleType:
    if name in ROOMS:  # entered by the attribute that is accessed
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
