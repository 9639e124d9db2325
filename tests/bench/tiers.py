"""The quick tier: the tests of a plain ``pytest``. ``pytest --all`` runs every test, and so does a run
that names files, or selects tests by ``-k``.

The quick tier leaves out tests with the marker ``slow``, tests on real ranks without the marker ``contract``, and all numbers of
ranks but one and three on simulated ranks, and two on real ones. A test for other numbers alone keeps the smallest.
"""

from __future__ import annotations

from collections import Counter

import pytest

from .places import place_of, places_of

MARKERS = (
    "slow: takes more than a second; only `pytest --all` runs it",
    "contract: on real ranks, runs in the quick tier, too: one test for a communicator or a kind of step",
)
QUICK = {"simulated": {1, 3}, "ranks": {2}}
LEFT_OUT = pytest.StashKey[Counter[str]]()


def is_quick(config: pytest.Config) -> bool:
    """True if this run is one of the quick tier: no test is named, and all were not asked for."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return not (named or config.getoption("every") or config.getoption("keyword"))


def reason(item: pytest.Item) -> str | None:
    """The kind of tests by which the quick tier leaves out ``item``; ``None`` for one of its own."""
    if item.get_closest_marker("slow"):
        return "slow"
    place = place_of(item)
    if place is None:
        return None
    if place.kind == "ranks" and not item.get_closest_marker("contract"):
        return "on MPI ranks"
    nearest = next(item.iter_markers(place.kind))
    sizes = {other.size for other in places_of([nearest], item.nodeid)}
    chosen = sizes & QUICK[place.kind] or {min(sizes)}
    return None if place.size in chosen else "other numbers of ranks"


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take what the quick tier leaves out from ``items``, and count it by its kind."""
    kinds = [reason(item) for item in items]
    config.stash[LEFT_OUT] = Counter(filter(None, kinds))
    config.hook.pytest_deselected(
        items=[item for item, kind in zip(items, kinds, strict=True) if kind]
    )
    items[:] = [item for item, kind in zip(items, kinds, strict=True) if not kind]


def summary(config: pytest.Config) -> str | None:
    """The line that says what a run has left out."""
    counted = config.stash.get(LEFT_OUT, None)
    if not counted:
        return None
    parts = ", ".join(f"{number} {kind}" for kind, number in counted.most_common())
    return f"left out: {parts} (pytest --all runs these, too)"
