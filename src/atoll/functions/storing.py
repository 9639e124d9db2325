"""Checkpoints are restored with generators of atoll's classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..files.checkpoints import checkpoint as checkpoint
from ..files.checkpoints import restored
from ..layout import Layout
from .random import random


def restore(path: Any, /, *, layouts: Mapping[str, Layout | Any] | None = None) -> dict[str, Any]:
    """Return the arrays and values of the last checkpoint in the folder ``path``, by name. Collective.

    ``path`` may be the file of a checkpoint, too. All ranks call it: each reads its own part of an array,
    in the layout of a new array, or in ``layouts[name]`` (a layout, or its maps alone, such as ``"nb"``).
    Generators come back in their state, and so does ``np.random``. All bytes are compared with their checksums: a damaged
    or truncated file, or another one, is a :class:`~atoll.errors.FileFormatError` on every rank.
    """

    def generator(stream: Any, old: bool) -> Any:
        return (random.RandomState if old else random.Generator)(stream)

    generator_class = (
        random.Generator
    )  # on ranks, the module seeds NumPy's own generator when it is loaded
    assert generator_class is not None
    return restored(path, layouts, generator)
