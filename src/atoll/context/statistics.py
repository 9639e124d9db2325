"""Counters of atoll's work: arrays, buffers, kernels and messages.

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
"""Packages whose exceptions count as failures of planning: another thread may raise any other exception here."""


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
    """Kernels evicted from a full cache; their memory is freed with the last plan that has them."""
    kernels_run: int = 0
    plans_made: int = 0
    """Plans made by the planner: for an expression of a new structure, or with other decisions."""
    plans_dropped: int = 0
    """Plans evicted from a full cache."""
    plans_reused: int = 0
    """Evaluations that reused a known plan."""
    relieved: int = 0
    """Evaluations of pending work that kept too much memory alive."""
    plans_moved: int = 0
    """Reused plans (counted in ``plans_reused``) whose slices had moved: extents and offsets were recomputed."""
    bytes_moved: int = 0
    """Bytes sent to other ranks."""
    messages: int = 0
    """Messages sent to other ranks."""
    gathered: int = 0
    """Bytes of whole arrays gathered on this rank."""
    distributed: int = 0
    """Arrays created with elements divided among ranks by a layout."""
    caches_full: int = 0
    """Evictions from full caches, of all entries or of the oldest one; plans and kernels have counters of their own."""
    planning_failures: int = 0
    """Failures of planning, cutting or choosing, which are defects in atoll: values were computed without optimisation."""

    def __repr__(self) -> str:
        return table({name: f"{getattr(self, name):15,}" for name in self.__slots__})


RUNS = ("kernels_run", "reused", "plans_reused", "messages", "bytes_moved", "plans_moved")
"""The fields that the native evaluation counts in each run."""


class Counters:
    """One set of counters, safe to add to from any thread."""

    __slots__ = ("_lock", "_runs", "_values")

    def __init__(self) -> None:
        self.unlock()
        self._values = {field.name: 0 for field in fields(Statistics)}
        self._runs = np.zeros(len(RUNS), np.int64)

    def unlock(self) -> None:
        """Replace the lock by a free one: in a forked child, other threads of the parent may have held the old one."""
        # Reentrant, because a buffer destroyed by a garbage collection counts itself, and
        # that collection may start while this thread is counting.
        self._lock = RLock()

    def add(self, name: str, amount: int = 1) -> None:
        with self._lock:
            self._values[name] += amount

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
"""The counters of the current context, for code that counts at every step without a further call."""


def add(name: str, amount: int = 1) -> None:
    """Count ``amount`` more of ``name``, a field of :class:`Statistics`."""
    _separate.get().add(name, amount)


def sent(messages: int, nbytes: int) -> None:
    """Count messages to other ranks, and their bytes."""
    counters = _separate.get()
    counters.add("messages", messages)
    counters.add("bytes_moved", nbytes)


def attempted(
    work: Callable[Arguments, T], *args: Arguments.args, **options: Arguments.kwargs
) -> T | None:
    """The result of planning, cutting or choosing; ``None`` if it fails, and the caller does without."""
    try:
        return work(*args, **options)
    except Exception as error:
        failed(error)
        return None


def failed(error: Exception) -> None:
    """Count a failure of planning, after which values are computed without optimisation; ``config.debug`` raises it.

    Errors of the user, of messages and of memory are not failures of planning: they are raised. So are exceptions from outside.
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
    """Give the code inside its own set of counters."""
    counters = Counters()
    token = vary(_separate, counters)
    try:
        yield counters
    finally:
        _separate.reset(token)
