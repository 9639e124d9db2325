"""The modules of this room that only programs on several ranks need, imported at their first use.

A program in one process should not wait for them when it imports atoll.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Late:
    """Stands for a module until something in it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(f".{self._name}", __package__), name)
        self.__dict__[name] = found
        return found


contraction, drawing, scans, ordering, fancy_indexing, pieces, products, scattering, taking = map(
    Late,
    (
        "contraction",
        "drawing",
        "scans",
        "ordering",
        "fancy_indexing",
        "pieces",
        "products",
        "scattering",
        "taking",
    ),
)
