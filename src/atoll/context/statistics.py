"""Counts of what atoll has done: arrays, buffers, kernels and messages.

The code that does the work counts it::

    from atoll.context import statistics

A process has one set of counters. ``with statistics.separate():`` gives the code inside (and threads that copy its
context) its own set, as for simulated ranks. Counting never communicates: every rank counts its own share.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from threading import RLock
from typing import ParamSpec, TypeVar

import numpy as np

from ..config import config, table
from ..errors import AtollError
from ..front import vary
from .interrupts import passed_on

T = TypeVar("T")
Arguments = ParamSpec("Arguments")
_PACKAGES = {__name__.partition(".")[0], "numpy", "llvmlite", *sys.stdlib_module_names}
"""Whose exceptions planning may raise by mistake: another thread may raise any other one here."""


@dataclass(frozen=True, slots=True, repr=False)
class Statistics:
    """The counts of this rank's work since the start, or since :func:`reset_stats`."""

    created: int = 0
    """Buffers allocated anew."""
    destroyed: int = 0
    """Buffers given back to the operating system."""
    reused: int = 0
    """Buffers served from reused memory."""
    peak_bytes: int = 0
    """The most memory that buffers held at one time."""
    kernels_compiled: int = 0
    kernels_dropped: int = 0
    """Kernels forgotten since there were too many; their memory goes with the last plan that has them."""
    kernels_run: int = 0
    plans_made: int = 0
    """Plans made by the planner: for an expression of a new structure, or in another way."""
    plans_dropped: int = 0
    """Plans forgotten since there were too many."""
    plans_reused: int = 0
    """Evaluations whose plan was known."""
    relieved: int = 0
    """How often pending work was evaluated because it kept too much memory alive."""
    plans_moved: int = 0
    """Those among them whose slices had moved, so that extents and offsets were calculated anew."""
    bytes_moved: int = 0
    """Bytes sent to other ranks."""
    messages: int = 0
    """Messages sent to other ranks."""
    gathered: int = 0
    """Bytes of whole arrays that were brought to this rank from all that had a share."""
    distributed: int = 0
    """Arrays made whose elements are divided among ranks by a layout."""
    caches_full: int = 0
    """How often a full cache forgot what it held, all of it or the oldest; plans and kernels count by themselves."""
    planning_failures: int = 0
    """How often planning, cutting or choosing failed, which is a mistake in atoll: values were computed in a plainer way."""

    def __repr__(self) -> str:
        return table({name: f"{getattr(self, name):15,}" for name in self.__slots__})


RUNS = ("kernels_run", "reused", "plans_reused", "messages", "bytes_moved", "plans_moved")
"""What the native evaluation counts of each run."""


class Counters:
    """One set of counters, safe to add to from any thread."""

    __slots__ = ("_lock", "_runs", "_values")

    def __init__(self) -> None:
        self.unlock()
        self._values = {field.name: 0 for field in fields(Statistics)}
        self._runs = np.zeros(len(RUNS), np.int64)

    def unlock(self) -> None:
        """Begin with a free lock: in a forked child, whose parent's other threads may have held the old one."""
        # Reentrant, because a buffer destroyed by a garbage collection counts itself, and
        # that collection may start while this thread is counting.
        self._lock = RLock()

    def add(self, name: str, amount: int = 1) -> None:
        with self._lock:
            self._values[name] += amount

    def ran(self, kernels: int, reused: int, messages: int, nbytes: int) -> None:
        with self._lock:
            values = self._values
            values["kernels_run"] += kernels
            values["plans_reused"] += reused
            values["messages"] += messages
            values["bytes_moved"] += nbytes

    def allocated(self, name: str, bytes_in_use: int) -> None:
        with self._lock:
            values = self._values
            values[name] += 1
            if bytes_in_use > values["peak_bytes"]:
                values["peak_bytes"] = bytes_in_use

    def snapshot(self) -> Statistics:
        with self._lock:
            runs = dict(zip(RUNS, self._runs.tolist(), strict=True))
            return Statistics(**{name: n + runs.get(name, 0) for name, n in self._values.items()})

    def reset(self) -> None:
        with self._lock:
            self._values = dict.fromkeys(self._values, 0)
            self._runs[:] = 0


_process = Counters()
os.register_at_fork(after_in_child=_process.unlock)
_separate: ContextVar[Counters] = ContextVar("atoll_statistics", default=_process)


counters = _separate.get
"""The counters in force here: to count what happens at every step without another call."""


def add(name: str, amount: int = 1) -> None:
    """Count ``amount`` more of ``name``, a field of :class:`Statistics`."""
    _separate.get().add(name, amount)


def sent(messages: int, nbytes: int) -> None:
    """Count messages to other ranks, and their bytes."""
    _separate.get().ran(0, 0, messages, nbytes)


def attempted(
    work: Callable[Arguments, T], *args: Arguments.args, **options: Arguments.kwargs
) -> T | None:
    """What planning, cutting or choosing comes to; ``None``, for the plain way, where that fails."""
    try:
        return work(*args, **options)
    except Exception as error:
        failed(error)
        return None


def failed(error: Exception) -> None:
    """Count a failure of planning, after which values are computed in a plainer way; ``config.debug`` raises it.

    Errors of the user's, of messages and of memory are no failures of planning: they are raised. So is what comes from outside.
    """
    passed_on(error)
    package = type(error).__module__.partition(".")[0]
    known = package in _PACKAGES and not isinstance(error, AtollError | MemoryError | TimeoutError)
    if config.debug or not known:
        raise error
    add("planning_failures")
    text = "planning failed, so values are computed in a plainer and slower way"
    logging.getLogger("atoll.plans").warning(text, exc_info=error)


def stats() -> Statistics:
    """Return the counts of this rank's work since the start."""
    return _separate.get().snapshot()


def reset_stats() -> None:
    """Start counting again from zero."""
    _separate.get().reset()


@contextmanager
def separate() -> Iterator[Counters]:
    """A set of counters of its own for the code inside."""
    counters = Counters()
    token = vary(_separate, counters)
    try:
        yield counters
    finally:
        _separate.reset(token)
