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

from atoll import policy
from atoll.context.caches import Memo, Recent
from atoll.lazy import evaluation, views

LIMITS = {"pending": 24, "entries": 5}
CHANCE = 0.15


def forgetful(dice: random.Random, kind: type[dict[Any, Any]]) -> Any:
    """A ``get`` of caches that may have lost what it is asked for."""

    def get(self: dict[Any, Any], key: Any, default: Any = None) -> Any:
        if dice.random() < CHANCE:
            self.pop(key, None)
        return kind.get(self, key, default)

    return get


@contextmanager
def forgetting(seed: int) -> Iterator[None]:
    """Within this block memos forget, limits are tiny, and garbage goes, or stays, at random."""
    dice = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch, policy.limited(**LIMITS):
        patch.setattr(Memo, "get", forgetful(dice, dict))
        patch.setattr(Recent, "get", forgetful(dice, OrderedDict))
        patch.setattr(evaluation, "_programs", evaluation._Programs())
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

        ours = [one for name, one in list(sys.modules.items()) if name.startswith("atoll")]
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
