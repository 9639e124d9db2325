"""Programs as users write them, in many fields. Each takes the module that it calls ``np`` and returns what it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAMS: list[Callable[[Any], Any]] = []


def user(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One of the programs."""
    PROGRAMS.append(function)
    return function
