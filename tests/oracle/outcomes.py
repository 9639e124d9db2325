"""A plugin of pytest for NumPy's own tests: a limit for each test, and the outcomes in a file as they come.

A test that takes longer is interrupted by an exception; one that does not even come back to the
interpreter ends the process, with its stack on standard error. What was found until then is kept,
and the next process leaves those tests out: ``run_numpy_tests.py`` starts one until all have run.
On ranks each has a file of its own, and all share the folders that tests write to.
"""

from __future__ import annotations

import faulthandler
import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

SECONDS = float(os.environ.get("ORACLE_TEST_SECONDS", "20"))
RANK = int(os.environ.get("PMI_RANK", "-1"))
OUTCOMES = Path(os.environ["ORACLE_OUTCOMES"] + (f".{RANK}" if RANK >= 0 else ""))


class OutOfTime(BaseException):
    """Not an ``Exception``, so that no test catches it."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise OutOfTime(f"the test took longer than {SECONDS:g} seconds")


def name_of(nodeid: str) -> str:
    """A test without its file, in one line."""
    return "::".join(nodeid.split("::")[1:]).replace("\n", "\\n")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what has an outcome, or what is not wanted again."""
    left_out = set(Path(os.environ["ORACLE_LEFT_OUT"]).read_text(encoding="utf-8").splitlines())
    items[:] = [
        item
        for item in items
        if name_of(item.nodeid) not in left_out
        and (getattr(item, "originalname", "") or item.name) not in left_out
    ]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run one test with an alarm set."""
    _write("begun", name_of(item.nodeid))
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
    if report.when == "call" or report.outcome != "passed":
        _write(report.outcome, name_of(report.nodeid))


def pytest_sessionfinish(exitstatus: int) -> None:
    """Note that pytest has come to its end: one that is killed has no time to."""
    if exitstatus in (0, 1, 5):
        _write("finished", "")


if RANK >= 0:

    @pytest.fixture
    def tmp_path(request: pytest.FixtureRequest) -> Path:
        """A folder that all ranks have in common."""
        name = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]
        folder = OUTCOMES.parent / "files" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _write(word: str, name: str) -> None:
    with open(OUTCOMES, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{word} {name}\n")
