"""Late ranks: how long finished ranks have waited for the others.

An endless loop cannot be told from a long computation, but a rank that computes with others makes steps, which the
other ranks of its host can read (``context.remote_stacks``). The wait is reported after ``config.wait_report`` seconds,
with the lines, and again each time it has doubled. It ends with an error once no rank has made a step for
``config.wait_abort`` seconds. Steps of ranks on other hosts cannot be read, so a wait for them has no limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from ..config import config
from ..context import remote_stacks

LOOKS = 8
"""How often the steps are read within the shorter of both limits."""


class LateRanks:
    """One wait for the ends of others."""

    __slots__ = ("_began", "_next_look", "_next_word", "_since", "_steps")

    def __init__(self) -> None:
        self._began = self._since = time.monotonic()
        self._next_look, self._next_word = self._began, self._began + config.wait_report
        self._steps: list[int | None] = []

    def look(self, ranks: Iterable[int], ends: bool = True) -> tuple[str, bool] | None:
        """The report that is due now on the wait for these ranks, if any, and whether the wait is over.

        If ``ends`` is false, the wait is never over, because no rank depends on its end.
        """
        now = time.monotonic()
        if now < self._next_look:
            return None
        self._next_look = now + min(config.wait_report, config.wait_abort) / LOOKS
        waited_for = sorted(ranks)
        steps = [remote_stacks.steps(rank) for rank in waited_for]
        if steps != self._steps or None in steps:
            self._since, self._steps = now, steps
        over = ends and now - self._since >= config.wait_abort
        if not over and now < self._next_word:
            return None
        waited = now - self._began
        self._next_word = now + waited
        where = remote_stacks.told(waited_for, waiting=False)
        if over:
            return (
                f"waited {config.wait_abort:.3g} s (ATOLL_WAIT_ABORT) for the others{where}",
                True,
            )
        return f"waited {waited:.0f} s for the others{where}", False
