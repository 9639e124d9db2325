"""The only room in which foreign objects are recognised and atoll's arrays are shown to others."""

from importlib import import_module
from types import ModuleType

ROOMS = ("distarray", "partitioned")


def __getattr__(name: str) -> ModuleType:
    if name in ROOMS:  # entered by who asks for one
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
