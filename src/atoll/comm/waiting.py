"""Waits of a rank that neither waste the processor nor last for ever.

A wait is a loop that tests, and pauses if the test fails. The first pauses are empty, because most messages arrive
within microseconds. The next give the processor to other processes, so that more ranks than cores make progress. Later
ones sleep, for a tenth of the time waited so far and at most a millisecond. No pause is long or blocks a signal, so
Ctrl-C works, and so do the limits: after ``config.wait_report`` seconds a line on standard error reports the wait,
again each time it has doubled, and after ``config.wait_abort`` seconds it raises an error. Each ``config.wait_check``
seconds the waiting rank may compare its log with the others.

A finished rank waits for the others too (:class:`LateRanks`). An endless loop cannot be told from a long computation,
but a rank that computes with others makes steps, which the other ranks of its host can read
(``context.remote_stacks``). The wait ends with an error once no rank has made a step for ``config.wait_abort`` seconds.
Steps of ranks on other hosts cannot be read, so a wait for them has no limit.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable

from ..config import config
from ..context import log, remote_stacks
from ..errors import WaitTimeoutError
from .launcher import detect


def _spins() -> int:
    """Many tests in a row if each rank has a core; few if ranks take turns on one."""
    launch = detect()
    crowded = launch is not None and (launch.local_size or 1) > (os.cpu_count() or 1)
    return 5 if crowded else 100


SPINS = _spins()
"""The number of tests before the first real pause."""

YIELDS = 400
"""The number of yields before the first sleep."""

LONGEST_SLEEP = 1e-3


class Patience:
    """The pauses of one wait. ``describe`` returns the subject of the wait as text."""

    def __init__(
        self,
        who: str,
        describe: Callable[[], str],
        check: Callable[[], None] | None = None,
    ) -> None:
        self._check = check
        self._who = who
        self._describe = describe
        self._pauses = 0
        self._start = 0.0
        self._deadline = 0.0
        self._next_report = 0.0
        self._next_check = 0.0

    def pause(self) -> None:
        """Pause after a failed test."""
        self._pauses += 1
        if self._pauses < SPINS:
            return
        now = time.monotonic()
        if self._pauses == SPINS:
            self._begin(now)
        if now >= self._deadline:
            self._give_up(now)
        if self._check is not None and now >= self._next_check:
            self._next_check = now + config.wait_check
            self._check()
        if now >= self._next_report:
            self._report(now)
        if self._pauses < SPINS + YIELDS:
            give_way()
        else:
            sleep = min(LONGEST_SLEEP, (now - self._start) / 10, max(0.0, self._deadline - now))
            time.sleep(sleep)

    def _begin(self, now: float) -> None:
        self._start = now
        self._deadline = now + config.wait_abort
        self._next_report = now + config.wait_report
        self._next_check = now + config.wait_check

    def _report(self, now: float) -> None:
        waited = now - self._start
        self._next_report = now + waited
        text = f"{self._who} has waited {waited:.0f} s for: {self._describe()}"
        log.ranks.warning(text)
        print(f"atoll: {text}", file=sys.stderr, flush=True)

    def _give_up(self, now: float) -> None:
        raise WaitTimeoutError(
            f"{self._who} has waited {self._deadline - self._start:.3g} s (ATOLL_WAIT_ABORT) for: {self._describe()}"
        )


def give_way() -> None:
    """Yield this core to another process."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


LOOKS = 8
"""The number of reads of the steps within the shorter of the two limits."""


class LateRanks:
    """One wait for the ends of other ranks."""

    __slots__ = ("_began", "_next_look", "_next_word", "_since", "_steps")

    def __init__(self) -> None:
        self._began = self._since = time.monotonic()
        self._next_look, self._next_word = self._began, self._began + config.wait_report
        self._steps: list[int | None] = []

    def look(self, ranks: Iterable[int], ends: bool = True) -> tuple[str, bool] | None:
        """The report that is due now on the wait for these ranks, if any, and True if the wait is over.

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
