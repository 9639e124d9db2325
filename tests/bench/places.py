"""Where a test runs: on how many ranks, and of which kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

DEFAULT_LIMIT = 60.0
"""Seconds that a test may take unless ``@pytest.mark.timeout`` says otherwise."""

PARAMETER = "bench_place"
"""The hidden parameter by which a test is repeated for every place of its markers."""


@dataclass(frozen=True, slots=True)
class Place:
    """``size`` ranks of one kind, and whether a test there must distribute something."""

    kind: str
    size: int
    distributes: bool

    def __str__(self) -> str:
        word = "simulated" if self.kind == "simulated" else "rank" if self.size == 1 else "ranks"
        return f"{self.size}{word}"


def places_of(markers: list[pytest.Mark], name: str) -> list[Place]:
    """The places that the ``ranks`` or ``simulated`` markers of the test ``name`` ask for."""
    places: dict[Place, None] = {}
    for mark in markers:
        options = dict(mark.kwargs)
        distributes = options.pop("distributes", True)
        wrong = [size for size in mark.args if type(size) is not int or size < 1]
        if options or wrong or not mark.args:
            raise pytest.UsageError(
                f"{name}: @pytest.mark.{mark.name} takes one or more numbers of ranks >= 1, and "
                f"distributes=True or False; not {wrong or options or 'nothing'}"
            )
        for size in mark.args:
            places[Place(mark.name, size, bool(distributes))] = None
    return list(places)


def place_of(item: pytest.Item) -> Place | None:
    """Where ``item`` runs, or None for a plain test."""
    place: Any = getattr(item, "callspec", None) and item.callspec.params.get(PARAMETER)  # type: ignore[attr-defined]
    return place if isinstance(place, Place) else None


def limit_of(item: pytest.Item) -> float:
    """The seconds that ``item`` may take."""
    mark = item.get_closest_marker("timeout")
    if mark is None:
        return DEFAULT_LIMIT
    if len(mark.args) != 1 or mark.kwargs or not mark.args[0] > 0:
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.timeout takes one number of seconds > 0"
        )
    return float(mark.args[0])
