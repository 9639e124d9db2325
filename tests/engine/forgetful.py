"""Memos that forget, for tests: what is remembered must never decide what ranks do together.

Memos of a process are cleared when they are full, plans are found or made anew, garbage is collected now or later: on each
rank at another time. Within ``forgetting(seed)`` all of that happens at random and often, so that programs whose
messages depend on it part. Simulated ranks share the memos of their process, and meet them in different states all the same.
"""

from __future__ import annotations

import gc
import random
import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from atoll.context import call_sites
from atoll.functions import joining
from atoll.graph import geometry, node, pattern
from atoll.lazy import evaluate, reductions, views
from atoll.ops import elementwise, placement
from atoll.plan import shares

MEMOS = {
    geometry: ["_bases", "_orders", "_forms"],
    node: ["_codes"],
    elementwise: ["_loops", "_shapes", "_results", "_by_dtypes"],
    placement: ["_views", "_crossing", "_broadcast"],
    shares: ["_intervals"],
    reductions: ["_folds"],
    call_sites: ["_numbered", "_ours"],
    joining: ["_turns"],
}
LIMITS = {
    "WEIGHT_LIMIT": 24,
    "NEAR_LIMIT": 7,
    "LIGHT_LIMIT": 3,
    "HEAVY": 7,
    "_PROGRAMS_KEPT": 4,
    "_MOVED_KEPT": 2,
    "_FAMILIES_KEPT": 3,
    "_FITS_KEPT": 2,
    "_OFTEN": 2,
    "MOST_CUTS": 5,
    "KERNELS_KEPT": 3,
    "_SHELF": 2,
}
CHANCE = 0.15


def forgetful(kind: type[dict[Any, Any]], dice: random.Random) -> type[dict[Any, Any]]:
    """A dictionary that may have lost what it is asked for."""

    class Forgetful(kind):  # type: ignore[misc, valid-type]
        def get(self, key: Any, default: Any = None) -> Any:
            if dice.random() < CHANCE:
                self.pop(key, None)
            return super().get(key, default)

        def setdefault(self, key: Any, value: Any = None) -> Any:
            if dice.random() < CHANCE:
                self.pop(key, None)
            return super().setdefault(key, value)

    return Forgetful


@contextmanager
def forgetting(seed: int) -> Iterator[None]:
    """Within this block memos forget, limits are tiny, and garbage goes, or stays, at random."""
    dice = random.Random(seed)
    plain, ordered = forgetful(dict, dice), forgetful(OrderedDict, dice)
    with pytest.MonkeyPatch.context() as patch:
        ours = [one for name, one in list(sys.modules.items()) if name.startswith("atoll")]
        for room, names in MEMOS.items():
            for name in names:
                old = getattr(room, name)
                new = plain(old)
                for one in ours:
                    if getattr(one, name, None) is old:
                        patch.setattr(one, name, new)
        for one in ours:
            for name, most in LIMITS.items():
                if type(getattr(one, name, None)) is int:
                    patch.setattr(one, name, most)
        patch.setattr(geometry, "_REMEMBERED_VIEWS", 2)
        patch.setattr(geometry.Geometry._table, "most", 1)
        patch.setattr(placement._places, "most", 1)
        patch.setattr(pattern.Patterns, "_MOST", 6)
        begun = evaluate._Programs.__init__

        def begin_programs(self: Any) -> None:
            begun(self)
            self.kept, self.moved, self.families = ordered(), ordered(), ordered()

        patch.setattr(evaluate._Programs, "__init__", begin_programs)
        patch.setattr(evaluate, "_programs", evaluate._Programs())
        kept: list[Any] = []
        boxed = views.boxed

        def noticed(cell: Any, value: Any) -> Any:
            roll = dice.random()
            if roll < 0.1:
                kept.append(cell)
            elif roll < 0.2:
                kept.append(value)
            elif roll > 0.95:
                kept.clear()
            elif roll > 0.94:
                gc.collect(0)
            return boxed(cell, value)

        for one in ours:
            if getattr(one, "boxed", None) is boxed:
                patch.setattr(one, "boxed", noticed)
        was = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was:
                gc.enable()


_begun: list[Any] = []


def begin(seed: int) -> None:
    """Forget from here on, to the end of the process."""
    _begun.append(forgetting(seed))
    _begun[-1].__enter__()
