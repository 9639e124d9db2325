"""A second process that runs tests beside this one: two cores, twice the tests.

Both have collected the same tests. This process begins with the first of those that need no
MPI, its helper with the last, and they meet somewhere: each claims a test before it runs it,
a byte in a file that both have mapped. The helper appends its reports to a second file, which
is read when it is the turn of what the helper has done. So nobody has to listen to anybody
while tests run, and tests see neither a thread nor a socket more than before.

Should the helper die, the test it was in has failed, and what it has not begun is done here.
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

_FREE, _HERE, _THERE = 0, 1, 2
_LENGTH = 8


def may_move(item: pytest.Item) -> bool:
    """Whether a test may run in another process: without MPI, and without fixtures shared by many."""
    place = place_of(item)
    if not isinstance(item, pytest.Function) or (place is not None and place.kind == "ranks"):
        return False
    made = item._fixtureinfo.name2fixturedefs.values()  # what xdist and others read, too
    wide = [last for *_, last in made if last.scope != "function"]
    return all(one.func.__module__.startswith("_pytest.") for one in wide)


class Claims:
    """Who runs which test: a byte for each, in a file that two processes have mapped."""

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

    def take(self, number: int) -> bool:
        """Claim a test for the process that began the run; False if the helper has it."""
        with self._alone():
            if self._bytes[number] == _FREE:
                self._bytes[number] = _HERE
            return self._bytes[number] == _HERE

    def take_last(self) -> int | None:
        """Claim the last test that is free for the helper."""
        with self._alone():
            number = self._bytes.rfind(_FREE.to_bytes(1, "little"))
            if number < 0:
                return None
            self._bytes[number] = _THERE
            return number

    def close(self) -> None:
        self._bytes.close()
        self._file.close()


class Helper:
    """The process beside this one, as this one sees it."""

    def __init__(self, items: Sequence[pytest.Item], config: pytest.Config) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bench-beside-"))
        self._numbers = {item.nodeid: number for number, item in enumerate(items)}
        self._claims = Claims(self.folder / "claims", len(items))
        self._found: dict[int, list[dict[str, Any]]] = {}
        specification = {
            "tests": list(self._numbers),
            "files": list(dict.fromkeys(str(item.path) for item in items)),
            "options": pytest_options(config),
        }
        (self.folder / "specification.json").write_text(json.dumps(specification))
        (self.folder / "reports").touch()
        self._reports = open(self.folder / "reports", "rb")  # noqa: SIM115 (read to the end of the run)
        with open(self.folder / "output", "wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.beside", str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment(),
                start_new_session=True,
            )

    def reports_of(self, item: pytest.Item) -> list[pytest.TestReport] | None:
        """The reports of a test that the helper has run, or None if it is to be run here."""
        number = self._numbers.get(item.nodeid)
        if number is None or self._claims.take(number):
            return None
        while number not in self._found:
            ended = self._process.poll() is not None
            self._read()
            if ended and number not in self._found:
                return [self._died(item)]
            if number not in self._found:
                time.sleep(0.01)
        reports = []
        for data in self._found.pop(number):
            report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
            assert isinstance(report, pytest.TestReport)
            reports.append(report)
        return reports

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

    def _died(self, item: pytest.Item) -> pytest.TestReport:
        output = (self.folder / "output").read_text(errors="replace")[-4000:]
        code = self._process.returncode
        return failure(item, f"the process of this test ended with code {code}\n{output}")

    def close(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(5)
        self._reports.close()
        self._claims.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Helping:
    """The plugin of the helper: what it runs in place of its list of tests."""

    def __init__(self, folder: Path, tests: list[str]) -> None:
        self._tests = tests
        self._claims = Claims(folder / "claims", len(tests))
        self._file: IO[bytes] = open(folder / "reports", "ab")  # noqa: SIM115 (written to the end)
        self._reports: list[dict[str, Any]] = []
        self._config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        parent = os.getppid()
        while os.getppid() == parent:
            number = self._claims.take_last()
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


def main(folder: Path) -> int:
    specification = json.loads((folder / "specification.json").read_text())
    options = [*specification["options"], f"--basetemp={folder / 'basetemp'}"]
    plugin = Helping(folder, specification["tests"])
    pytest.main([*options, *specification["files"]], plugins=[plugin])
    return 0


if __name__ == "__main__":
    # The module that pytest sees is tests.bench.beside, not __main__.
    from tests.bench.beside import main as start

    sys.exit(start(Path(sys.argv[1])))
