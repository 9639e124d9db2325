"""Processes that run tests beside this one, one for each core: while some tests wait, others compute.

They start after the tests on real ranks, which take all cores themselves. All have collected the same
tests. This process begins with those that it alone can run, and then with the first of those that need
no MPI; its helpers begin with the last, and they meet somewhere. Each claims
a test before it runs it, a byte in a file that all have mapped. A helper appends its reports to a file
of its own, which is read when it is the turn of what the helper has done. So nobody has to listen to
anybody while tests run, and tests see neither a thread nor a socket more than before.

Should a helper die, the test it was in has failed, and the others do what it has not begun.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from .places import place_of
from .processes import environment, pytest_options
from .verdict import failure

LEAST = 200
"""Of fewer tests, a helper would do little before it has started."""

MOST = 4
"""Helpers; each has to collect the tests, too."""

_FREE, _HERE, _THERE = 0, 1, 2  # _THERE for the first helper, _THERE + 1 for the second
_LENGTH = 8


def may_move(item: pytest.Item) -> bool:
    """True if a test may run in another process: without MPI, and without fixtures shared by many."""
    place = place_of(item)
    if not isinstance(item, pytest.Function) or (place is not None and place.kind == "ranks"):
        return False
    made = item._fixtureinfo.name2fixturedefs.values()  # what xdist and others read, too
    wide = [last for *_, last in made if last.scope != "function"]
    return all(one.func.__module__.startswith("_pytest.") for one in wide)


class Claims:
    """Who runs which test: a byte for each, in a file that all processes have mapped."""

    def __init__(self, file: Path, count: int) -> None:
        if not file.exists():
            file.write_bytes(bytes(count))
        self._file = open(file, "r+b")  # noqa: SIM115 (open as long as it is mapped)
        self._bytes = mmap.mmap(self._file.fileno(), count)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def take(self, number: int) -> int | None:
        """Claim a test for the process that began the run; the number of the helper that has it already."""
        with self._alone():
            if self._bytes[number] == _FREE:
                self._bytes[number] = _HERE
            owner = self._bytes[number]
            return None if owner == _HERE else owner - _THERE

    def take_last(self, helper: int) -> int | None:
        """Claim the last test that is free for a helper."""
        with self._alone():
            number = self._bytes.rfind(_FREE.to_bytes(1, "little"))
            if number < 0:
                return None
            self._bytes[number] = _THERE + helper
            return number

    def close(self) -> None:
        self._bytes.close()
        self._file.close()


class Helpers:
    """The processes beside this one, as this one sees them."""

    def __init__(self, items: Sequence[pytest.Item], config: pytest.Config, count: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bench-beside-"))
        self._numbers = {item.nodeid: number for number, item in enumerate(items)}
        self._claims = Claims(self.folder / "claims", len(items))
        specification = {
            "tests": list(self._numbers),
            "files": list(dict.fromkeys(str(item.path) for item in items)),
            "options": pytest_options(config),
        }
        (self.folder / "specification.json").write_text(json.dumps(specification))
        self._helpers = [Helper(self.folder, number) for number in range(count)]

    def reports_of(self, item: pytest.Item) -> list[pytest.TestReport] | None:
        """The reports of a test that a helper has run, or None if it is to be run here."""
        number = self._numbers.get(item.nodeid)
        helper = None if number is None else self._claims.take(number)
        if number is None or helper is None:
            return None
        found = self._helpers[helper].found(number)
        if isinstance(found, str):
            return [failure(item, found)]
        reports = []
        for data in found:
            report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
            assert isinstance(report, pytest.TestReport)
            reports.append(report)
        return reports

    def close(self) -> None:
        for helper in self._helpers:
            helper.close()
        self._claims.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Helper:
    """One of these processes."""

    def __init__(self, folder: Path, number: int) -> None:
        self._output, reports = folder / f"output.{number}", folder / f"reports.{number}"
        reports.touch()
        self._reports = open(reports, "rb")  # noqa: SIM115 (read to the end of the run)
        self._found: dict[int, list[dict[str, Any]]] = {}
        with open(self._output, "wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.beside", str(folder), str(number)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,
            )

    def found(self, number: int) -> list[dict[str, Any]] | str:
        """The reports of a test that this helper has claimed, or how it died in that test."""
        while number not in self._found:
            ended = self._process.poll() is not None
            self._read()
            if number in self._found:
                break
            if ended:
                output = self._output.read_text(errors="replace")[-4000:]
                code = self._process.returncode
                return f"the process of this test ended with code {code}\n{output}"
            time.sleep(0.01)
        return self._found.pop(number)

    def _read(self) -> None:
        """Take what the helper has reported since."""
        while True:
            start = self._reports.tell()
            length = self._reports.read(_LENGTH)
            data = self._reports.read(int.from_bytes(length, "little"))
            if len(length) < _LENGTH or len(data) < int.from_bytes(length, "little"):
                self._reports.seek(start)
                return
            number, reports = pickle.loads(data)
            self._found[number] = reports

    def close(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(5)
        self._reports.close()


class Helping:
    """The plugin of a helper: what it runs in place of its list of tests."""

    def __init__(self, folder: Path, number: int, tests: list[str]) -> None:
        self._number = number
        self._tests = tests
        self._claims = Claims(folder / "claims", len(tests))
        self._file: IO[bytes] = open(folder / f"reports.{number}", "ab")  # noqa: SIM115 (written to the end)
        self._reports: list[dict[str, Any]] = []
        self._config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        parent = os.getppid()
        while os.getppid() == parent:
            number = self._claims.take_last(self._number)
            if number is None:
                break
            self._reports = []
            item = items[self._tests[number]]
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            data = pickle.dumps((number, self._reports))
            self._file.write(len(data).to_bytes(_LENGTH, "little") + data)
            self._file.flush()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        assert self._config is not None
        self._reports.append(
            self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        )


def main(folder: Path, number: int) -> int:
    specification = json.loads((folder / "specification.json").read_text())
    options = [*specification["options"], f"--basetemp={folder / f'basetemp.{number}'}"]
    plugin = Helping(folder, number, specification["tests"])
    pytest.main([*options, *specification["files"]], plugins=[plugin])
    return 0


if __name__ == "__main__":
    # The module that pytest sees is tests.bench.beside, not __main__.
    from tests.bench.beside import main as start

    sys.exit(start(Path(sys.argv[1]), int(sys.argv[2])))
