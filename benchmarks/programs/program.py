"""What a benchmark program is: a generator that takes the array module, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Steps = Iterator[Any]
"""The first ``next`` prepares and yields None. Each other one runs a step, and yields what two
array modules must agree on."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program of the suite.

    ``run(np, n)`` is the program, where ``np`` is any module that speaks NumPy. Everything else
    says how to measure it and what is expected.
    """

    name: str
    run: Callable[[Any, int], Steps]
    sizes: Mapping[str, int]
    """The ``n`` of each of the sizes ``tiny``, ``small`` and ``full``."""
    shape: Callable[[int], str]
    """How a person writes the size ``n``."""
    moved: Callable[[int], int] | None = None
    """The bytes that a step must read and write at least, where that is known."""
    steps: int = 1
    """How many steps are timed together, as a loop would run them."""
    tolerance: float = 0.0
    """How far two results may be apart, relative to the largest element; 0 is bit by bit."""
    goal: float | None = None
    """How many times faster than NumPy it is meant to be at full size."""
    copy_goal: float | None = None
    """How many times a copy of the same bytes it may take."""


def square(n: int) -> str:
    """The size of a program on ``n`` by ``n`` elements."""
    return f"{n}**2"


def line(n: int) -> str:
    """The size of a program on ``n`` elements."""
    power = len(str(n)) - 1
    return f"10**{power}" if n == 10**power else str(n)
