"""Passes: the rules of planning, in tables of a name, a condition and a rewrite.

Two stages of planning are tables: the choice of stored nodes (``statements.RULES``), and the rewriting of a loop nest
(``nests.PASSES``). With ``config.debug`` a specification (:mod:`.legality`) is checked after each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State")


class Pass(NamedTuple, Generic[State]):
    """A rule of planning."""

    name: str
    applies: Callable[[State], object] | None
    """``None``: always."""
    rewrite: Callable[[State], list[State] | None]
    """The states that replace a state; ``None`` if it was changed in place."""


def applied(
    passes: Sequence[Pass[State]], state: State, check: Callable[[State, str], None] | None
) -> list[State]:
    """The states that result from a state by all passes in order. ``check`` takes a state and the name of the pass that made it."""
    states = [state]
    for name, applies, rewrite in passes:
        for each in states[:]:
            results = rewrite(each) if applies is None or applies(each) else None
            if results is not None:
                place = states.index(each)
                states[place : place + 1] = results
        if check is not None:
            for each in states:
                check(each, name)
    return states
