"""Exceptions from outside: raised by a signal handler, at whatever line Python is at when the signal arrives.

A guard that falls back after a defect in atoll, or rewords the error of a foreign object, must let them pass: Ctrl-C, and the
exception of an alarm, whatever its class. The interpreter calls a signal handler with the interrupted frame as an argument;
trace functions get a frame as well. So an exception comes from outside if it leaves a function that was called with a frame
through which the exception then passes.
"""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

_PACKAGE = __name__.partition(".")[0]


def outside(error: BaseException) -> BaseException | None:
    """The exception from outside in the chain of an error, the error included; ``None`` if the chain has none."""
    running: set[FrameType] | None = None
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if not _is_of_python(current) or _left_a_handler(current.__traceback__):
            return current
        current = current.__cause__ or current.__context__
        if current is not None and current.__traceback__ is not None:
            running = running or _running()
            if (
                current.__traceback__.tb_frame in running
            ):  # the caller handles it: it precedes this error
                return None
    return None


def _is_of_python(error: BaseException) -> bool:
    """True if Python code raises such errors itself, as closed generators and asyncio timeouts do."""
    return (
        isinstance(error, Exception | GeneratorExit)
        or type(error).__module__ == "asyncio.exceptions"
    )


def passed_on(error: BaseException) -> None:
    """Raise the exception from outside that a caught error is, or was caused by; for guards."""
    came = outside(error)
    if came is not None:
        raise came


class tolerated:
    """As :class:`contextlib.suppress`, except for exceptions from outside: an alarm's TimeoutError is an OSError as well."""

    __slots__ = ("_kinds",)

    def __init__(self, *kinds: type[Exception]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, self._kinds):
            return False
        passed_on(error)
        return True


def _running() -> set[FrameType]:
    frames: set[FrameType] = set()
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        frames.add(frame)
        frame = frame.f_back
    return frames


def _left_a_handler(traceback: TracebackType | None) -> bool:
    """True if an exception has left a function one of whose arguments is a frame that the exception also passed."""
    passed: set[FrameType] = set()
    while traceback is not None:
        frame = traceback.tb_frame
        passed.add(frame)
        if len(passed) > 1 and not _is_own(frame):
            code, names = frame.f_code, frame.f_locals
            count = code.co_argcount + code.co_kwonlyargcount
            given = [names.get(name) for name in code.co_varnames[: count + 2]]
            rest = [part for part in given if type(part) is tuple]
            for value in [*given, *[value for part in rest for value in part]]:
                if type(value) is FrameType and value in passed and value is not frame:
                    return True
        traceback = traceback.tb_next
    return False


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE
