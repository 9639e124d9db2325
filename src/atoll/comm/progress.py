"""Progress: on rank 0, a line on the terminal shows the task that takes long, and its progress.

Code that may take long names its task, and counts finished units if it can::

    with progress.task("compiling kernels", "kernels"):
        ...
        progress.advance(1)

A thread draws the line if a task takes more than a second, and takes it away at the end. Where standard error is no terminal,
a task costs two calls. Under ``atoll run`` the terminal is that of ``atoll run``.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from ..context.threads import turn
from . import launcher

PATIENCE, PAUSE = 1.0, 0.2
"""Seconds before a task is shown, and between two drawings."""

LONGEST = 79
"""The longest line, in columns: a longer one may break, and would not be erased."""


@dataclass(slots=True, eq=False)
class _Task:
    """A task that may take long."""

    label: str
    unit: str
    total: int
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def text(self) -> str:
        """The line: ``saving a.npy: 1.2 of 4.0 GB, 3 s, 7 s left``."""
        seconds = time.monotonic() - self.began
        parts = []
        if self.unit == "bytes" and self.done:
            size, unit = next(
                (pair for pair in _UNITS if max(self.done, self.total) >= pair[0]), _UNITS[-1]
            )
            of = f" of {self.total / size:.1f}" if self.total else ""
            parts.append(f"{self.done / size:.1f}{of} {unit}")
        elif self.done:
            parts.append(f"{self.done} {self.unit}")
        parts.append(f"{seconds:.0f} s")
        if 0 < self.done < self.total:
            parts.append(f"{seconds * (self.total - self.done) / self.done:.0f} s left")
        return f"{self.label}: {', '.join(parts)}"


_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))


class Screen:
    """The tasks of this process, and the line on the terminal."""

    def __init__(self) -> None:
        self._tasks: list[_Task] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._width = 0
        self._shown: bool | None = None

    @property
    def shows(self) -> bool:
        """True if this is rank 0, and its standard error reaches a terminal."""
        if self._shown is None:
            launch = launcher.detect()
            stream = sys.stderr
            terminal = stream is not None and (stream.isatty() or launcher.TERMINAL in os.environ)
            self._shown = terminal and (launch is None or launch.rank == 0)
        return self._shown

    def begin(self, task: _Task) -> None:
        """Show a task if it takes long."""
        with self._changed:
            self._tasks.append(task)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="atoll-progress", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def end(self, task: _Task) -> None:
        """Stop showing a task."""
        with self._changed:
            if task in self._tasks:
                self._tasks.remove(task)
            if self._width:
                self._draw("")

    def advance(self, amount: int, total: int) -> None:
        """Count for the innermost task."""
        with suppress(IndexError):  # another thread has ended it
            self._tasks[-1].done += amount
            self._tasks[-1].total += total

    def _watch(self) -> None:
        while True:
            with self._changed:
                while not self._tasks:
                    self._changed.wait()
            time.sleep(PAUSE)
            with self._changed:
                if self._tasks and time.monotonic() - self._tasks[0].began >= PATIENCE:
                    self._draw(self._tasks[-1].text())

    def _draw(self, text: str) -> None:
        text = text[:LONGEST]
        with suppress(OSError, ValueError):  # the terminal is closed
            sys.stderr.write(f"\r{text.ljust(self._width)}" + ("" if text else "\r"))
            sys.stderr.flush()
        self._width = len(text)


screen = Screen()


@contextmanager
def task(label: str, unit: str = "bytes", total: int = 0) -> Iterator[None]:
    """A task that may take long; ``total`` is its number of units, if known."""
    if not screen.shows or turn.simulated:
        yield
        return
    this = _Task(label, unit, total)
    screen.begin(this)
    try:
        yield
    finally:
        screen.end(this)


def advance(amount: int, total: int = 0) -> None:
    """Add ``amount`` finished units to the innermost task, and ``total`` to its number of units."""
    screen.advance(amount, total)


def _begin_anew() -> None:
    """A forked child shows nothing, and has none of its parent's threads."""
    global screen
    screen = Screen()
    screen._shown = False


os.register_at_fork(after_in_child=_begin_anew)
