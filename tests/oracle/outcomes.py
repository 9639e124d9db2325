"""A plugin of pytest for NumPy's own tests: a limit for each test, and the outcomes in a file as they come.

A test that takes longer is interrupted by an exception; one that does not even come back to the
interpreter ends the process, with its stack on standard error. What was found until then is kept.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

SECONDS = float(os.environ.get("ORACLE_TEST_SECONDS", "20"))


class OutOfTime(BaseException):
    """Not an ``Exception``, so that no test catches it."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTime(f"the test took longer than {SECONDS:g} seconds")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run one test with an alarm set."""
    _write("begun", item.name)
    old = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    faulthandler.dump_traceback_later(SECONDS + 10, exit=True)
    outcome: Any = yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)
    faulthandler.cancel_dump_traceback_later()
    found = outcome.excinfo
    if found is not None and issubclass(found[0], OutOfTime):
        outcome.force_exception(AssertionError(str(found[1])))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how a test ended."""
    name = "::".join(report.nodeid.split("::")[1:])
    if report.when == "call" or report.outcome != "passed":
        _write(report.outcome, name)


def _write(word: str, name: str) -> None:
    with open(os.environ["ORACLE_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(f"{word} {name}\n")
