"""What a user's program is: a function of the array module and a size, run as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Run = Callable[[Any, int], Any]


@dataclass(frozen=True, slots=True)
class Science:
    """A program of some science, and what is known of it."""

    name: str
    run: Run
    usual: int
    """The size that somebody would run it with."""
    tiny: int
    """A size to see it work."""
    tolerance: float
    """How far two results may be apart, relative to the largest element; 0 is bit by bit."""


SCIENCES: dict[str, Science] = {}


def science(usual: int, tiny: int, tolerance: float = 1e-9) -> Callable[[Run], Run]:
    """Put a program on the list, under its own name."""

    def listed(run: Run) -> Run:
        name = run.__name__
        SCIENCES[name] = Science(name, run, usual, tiny, tolerance)
        return run

    return listed
