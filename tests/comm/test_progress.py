"""The line of progress: what it says, where it is shown, and that it goes."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from atoll.comm import progress

from ..cli.commands import environment


class Terminal(io.StringIO):
    """A terminal that keeps what it shows."""

    def isatty(self):
        return True


def shown_at_once(monkeypatch):
    """A terminal; the test itself asks for it, since pytest gives it another standard error than its fixtures."""
    monkeypatch.setattr(progress, "screen", progress.Screen())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.001)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def waited_for(terminal, text):
    end = time.monotonic() + 20
    while text not in terminal.getvalue():
        assert time.monotonic() < end, terminal.getvalue()
        time.sleep(0.001)


def test_tasks_say_how_far_they_are(monkeypatch):
    terminal = shown_at_once(monkeypatch)
    with progress.task("saving a.npy"):
        progress.advance(0, 4_000_000_000)
        progress.advance(1_000_000_000)
        waited_for(terminal, "saving a.npy: 1.0 of 4.0 GB, 0 s, 0 s left")
        with progress.task("compiling", "kernels"):
            progress.advance(3)
            waited_for(terminal, "compiling: 3 kernels, 0 s")
    shown = terminal.getvalue()
    assert shown.endswith("\r")
    assert not shown.rpartition("\r")[0].rpartition("\r")[2].strip()


def test_short_tasks_and_files_are_not_shown(monkeypatch):
    terminal = shown_at_once(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 1000.0)
    with progress.task("saving"):
        time.sleep(0.01)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress, "screen", progress.Screen())
    with progress.task("saving"):
        progress.advance(1)
    assert terminal.getvalue() == ""
    assert progress.screen._thread is None


PROGRAM = """\
import sys, time
import atoll as np
from atoll.comm import progress
progress.PATIENCE, progress.PAUSE = 0, 0.02
np.checkpoint(sys.argv[1], a=np.ones(3_000_000), durable=False)
with progress.task(f"rank {np.world.rank}"):
    time.sleep(0.3)
"""


@pytest.mark.slow
def test_atoll_run_shows_that_of_rank_0(tmp_path):
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "atoll", "run", "-n", "2", "-c", PROGRAM, "--", str(tmp_path)]
    process = subprocess.Popen(command, stderr=end, stdin=subprocess.DEVNULL, env=environment())
    os.close(end)
    shown = ""
    with suppress(OSError):  # the other end is closed
        while data := os.read(terminal, 10_000):
            shown += data.decode()
    os.close(terminal)
    assert process.wait(50) == 0, shown
    assert "rank 0: 0 s" in shown
    assert "rank 1" not in shown
