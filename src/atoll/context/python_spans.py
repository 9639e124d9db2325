"""The spans of the profiler where the native front was not built: the same as ``_native/spans.c``, in Python.

Calls are noticed by Python's own profiling hook: a frame of atoll whose caller is none.
"""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Any

from .call_sites import site_from
from .sources import is_ours

_COUNT, _THRESHOLD, _CAPACITY, _LATEST = 2, 3, 6, 7
_CALL, _SEND = 0, 5


class _Session:
    """The memory of a profile, and what its numbers stand for."""

    def __init__(self, memory: Any, line_at: Any, called: Any, thin: Any) -> None:
        self.recording = line_at.__self__
        self.memory, self.line_at, self.called, self.thin = memory, line_at, called, thin


class _Here(threading.local):
    """The open spans of a thread: when each began, and what spans inside it took."""

    def __init__(self) -> None:
        self.session: _Session | None = None
        self.open: list[list[int]] = []
        self.calls: list[FrameType] = []
        self.line = 0


_here = _Here()
_now: list[_Session] = []


def profile(memory: Any = None, *rest: Any) -> None:
    """Record spans into some memory, or record none."""
    _now.clear()
    hook = None
    if memory is not None:
        _now.append(_Session(memory, *rest[3:]))
        hook = _notice
    sys.setprofile(hook)
    threading.setprofile(hook)


def _session() -> _Session | None:
    session = _now[0] if _now else None
    if session is not None and _here.session is not session:
        _here.session, _here.open, _here.calls, _here.line = session, [], [], 0
    return session


def _notice(frame: FrameType, event: str, _: Any) -> None:
    """Begin and end calls of the program."""
    session = _session()
    if session is None:
        return
    if event == "call":
        outer = frame.f_back
        if (
            not _here.calls
            and is_ours(frame.f_code.co_filename)
            and outer is not None
            and not is_ours(outer.f_code.co_filename)
            and "profil" not in frame.f_code.co_filename
        ):
            _here.calls.append(frame)
            _here.line = _line(session, outer)
            begin()
    elif event == "return" and _here.calls and _here.calls[-1] is frame:
        _here.calls.clear()
        line, _here.line = _here.line, 0
        _end(session, _CALL, session.called(_called(frame)), line, 0, -1, 1)


def _called(frame: FrameType) -> str:
    """The name of the function that a frame runs, which may stand for one of NumPy's."""
    original = frame.f_locals.get("original")
    return getattr(original, "__name__", "") or frame.f_code.co_name


def _line(session: _Session, frame: FrameType | None) -> int:
    """The line of the user's program that is at work."""
    line: int = session.line_at(site_from(frame))
    return max(line, 0)


def begin_call() -> int:
    """Calls of Python's functions are noticed by themselves."""
    return -1


def end_call(begun: int, name: int) -> None:
    """The same for their ends."""


def _at_work() -> int:
    """The line that is at work."""
    session = _session()
    if session is None or _here.calls:
        return _here.line
    return _line(session, sys._getframe(1))


line = _at_work


def begin() -> None:
    """Begin a span."""
    if _session() is not None:
        _here.open.append([time.monotonic_ns(), 0])


def _closed() -> tuple[int, int, int] | None:
    if not _here.open:
        return None
    start, inner = _here.open.pop()
    length = time.monotonic_ns() - start
    if _here.open:
        _here.open[-1][1] += length
    return start, length, length - inner


def _end(
    session: _Session, kind: int, name: int, line: int, nbytes: int, peer: int, count: int
) -> None:
    times = _closed()
    if times is None:
        return
    start, length, own = times
    recording = session.recording
    line = line if 0 <= line < recording.parts.lines else 0
    recording.totals[line, kind] += (count, own, nbytes)
    if kind == _SEND and 0 <= peer < len(recording.peers):
        recording.peers[peer] += (count, nbytes)
    _note(session, (start, length, nbytes, kind, line, name, 0, peer, count))


def _note(session: _Session, event: tuple[int, ...]) -> None:
    header, length = session.recording.header, event[1]
    header[_LATEST] = event[0] + length
    if length >= header[_THRESHOLD] and header[_COUNT] >= header[_CAPACITY]:
        session.thin()
    if length >= header[_THRESHOLD]:
        session.recording.events[header[_COUNT]] = event
        header[_COUNT] += 1


def end(kind: int, name: int, line: int, nbytes: int, peer: int, count: int) -> None:
    """End a span."""
    session = _session()
    if session is not None:
        _end(session, kind, name, _at_work() if line < 0 else line, nbytes, peer, count)


def end_work(work: tuple[Any, ...]) -> None:
    """End a span that worked for several lines, each for a part of it."""
    session, times = _session(), _closed()
    if session is None or times is None:
        return
    kind, name, nbytes, count, lines, parts = work
    start, length, own = times
    totals = session.recording.totals
    for line, part in zip(lines or (_here.line,), parts or (1.0,), strict=True):
        totals[line, kind] += (count, int(own * part), int(nbytes * part))
    first = lines[0] if lines else _here.line
    _note(session, (start, length, nbytes, kind, first, name, 0, -1, count))
