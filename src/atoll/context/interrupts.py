"""Exceptions from outside: raised by a signal handler, at whatever line Python is at when the signal arrives.

A guard that goes on another way after a mistake of atoll's, or says in other words what a foreign object raises, must let them pass:
Ctrl-C, and the exception of an alarm, whatever its class. The interpreter calls a signal handler with the frame that it has
interrupted, and so do trace functions have a frame: an exception that leaves a function which was called with
a frame that it passes through comes from outside.
"""

from __future__ import annotations

import sys
from types import FrameType, TracebackType

_PACKAGE = __name__.partition(".")[0]


def outside(error: BaseException) -> BaseException | None:
    """The exception from outside in the chain of an error, itself included; ``None`` without one."""
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
            ):  # the caller handles it: it was there before
                return None
    return None


def _is_of_python(error: BaseException) -> bool:
    """True if code raises such errors for ends of its own: generators that are closed, and waits of asyncio that time out."""
    return (
        isinstance(error, Exception | GeneratorExit)
        or type(error).__module__ == "asyncio.exceptions"
    )


def passed_on(error: BaseException) -> None:
    """Called in a guard that has caught an error: raise the exception from outside that it is, or came of."""
    came = outside(error)
    if came is not None:
        raise came


class tolerated:
    """As :class:`contextlib.suppress`, but for what comes from outside: an alarm's TimeoutError is an OSError as well."""

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
    """True if an exception has passed a function that was given a frame which it has passed as well."""
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
