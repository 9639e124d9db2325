"""The time limit of a test in this process: stacks of all threads, then a failure.

An alarm raises in the main thread, wherever it waits. A test that does not come back to the
interpreter even then (a loop in C that holds the lock) is ended together with the whole
process, some seconds later, by faulthandler's watchdog, which needs no interpreter.
"""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import tempfile
import time
from collections.abc import Iterator
from typing import IO, Any, NoReturn

GRACE = 20.0
"""Seconds from the alarm to the end of the whole process."""

TEARDOWN = 10.0
"""Seconds that a teardown has even where the test has used up its time."""


AGAIN = 5.0
"""Seconds to the next alarm, where a test has swallowed the first."""


class TimeLimitExceeded(BaseException):
    """Raised in the main thread by the alarm.

    No ``except Exception`` catches it, nor does Hypothesis, which would begin to shrink.
    """


def stacks_of_threads() -> str:
    """The stacks of all threads of this process, as faulthandler prints them."""
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return of_interest(file.read())


def of_interest(stacks: str) -> str:
    """The stacks without the frames of pytest, Hypothesis and the bench around a test."""
    shown = []
    for thread in stacks.strip().split("\n\n"):
        lines = thread.splitlines()
        end = next((number for number, line in enumerate(lines) if _RUNS in line), len(lines))
        if end < len(lines) or "bench/worker.py" not in thread:
            shown += [line for line in lines[:end] if not any(around in line for around in _AROUND)]
            shown.append("")
    return "\n".join(shown)


_AROUND = ("bench/limits.py", "site-packages/hypothesis/")
"""What marks frames that are around or inside every test, whatever it does."""

_RUNS = "in pytest_pyfunc_call"
"""What marks the frame in which pytest calls a test function."""


@contextlib.contextmanager
def backstop(seconds: float, stderr: IO[str]) -> Iterator[None]:
    """End this process, with its stacks on ``stderr``, if the body hangs beyond any alarm."""
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def alarm(deadline: float, seconds: float, phase: str) -> Iterator[None]:
    """Raise :class:`TimeLimitExceeded` in the body once ``time.monotonic()`` is past ``deadline``."""

    def expired(signum: int, frame: Any) -> NoReturn:
        __tracebackhide__ = True
        raise TimeLimitExceeded(
            f"the test's {phase} ran past the limit of {seconds:g} s; the stacks of all threads were\n{stacks_of_threads()}"
        )

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 0.001), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
