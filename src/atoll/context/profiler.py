"""The profiler: records the time of a process by activity and by line of the user's program.

The code that does the work marks it as a span::

    from ..context import profiler
    from ..context.profiler import Kind

    with profiler.span(Kind.PLAN, "plan"):
        work()

Spans nest. The time of a span, less that of the spans inside it, is added to the totals of its line; the span itself becomes
an event of the timeline. While no profile is recorded, each of these places costs one read of ``now.recording``.

``_native/spans.c`` does the same for calls and kernels that never enter Python. Both write into one piece of memory. If the
profile has a file, the memory is mapped from it, so the file is complete up to the end of the process, whatever ends it.
"""

from __future__ import annotations

import linecache
import mmap
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np

from .. import policy, system
from ..front import native
from .call_sites import Site, line_in_program, line_of, site_from
from .sources import is_ours, place_text

T = TypeVar("T")


class Kind(IntEnum):
    """The kind of a span; ``_native/spans.h`` has the same numbers."""

    CALL = 0
    """A call of the program: recording, and eager NumPy work."""
    PLAN = 1
    COMPILE = 2
    KERNELS = 3
    NUMPY = 4
    """A NumPy function within an evaluation."""
    SEND = 5
    WAIT = 6
    """Waiting for messages from other ranks, and for collectives."""
    FILE = 7


class Header(IntEnum):
    """Indices of the numbers at the beginning of a record; ``_native/spans.c`` knows those up to ``LATEST``."""

    MAGIC = 0
    VERSION = 1
    COUNT = 2
    """The number of events in the timeline."""
    THRESHOLD = 3
    """Length in nanoseconds below which spans are counted, but are no events."""
    LINES = 4
    PEERS = 5
    CAPACITY = 6
    LATEST = 7
    """The end of the latest span."""
    RANK = 8
    SIZE = 9
    BEGAN = 10
    ENDED = 11
    """0 during the recording, and for good if the process was killed."""
    WALL = 12
    """Offset from the clock of the record to nanoseconds since 1970."""
    OFFSET = 13
    """Offset from the clock of the record to the clock of rank 0 ..."""
    ALIGNED = 14
    """... valid if this is 1."""
    WAITING = 15
    """The beginning of the current wait; 0 outside of waits."""
    WAITING_LINE = 16
    WAITING_NAME = 17


MAGIC = int.from_bytes(b"atollrec", "little")
VERSION = 1
COLUMNS = ("times", "nanoseconds", "bytes")
EVENT = np.dtype(
    [("start", "i8"), ("length", "i8"), ("bytes", "i8"), ("kind", "i4"), ("line", "i4"), ("name", "i4"), ("thread", "i4"), ("peer", "i4"), ("count", "i4")]
)  # fmt: skip
PEERS = 1024
"""The number of ranks to which bytes are counted separately."""

_PAGE = 4096
_TEXTS = 1 << 16
"""The most names: later ones get the empty name."""


class Parts:
    """Offsets of the parts of a record in its memory."""

    __slots__ = ("capacity", "events", "lines", "peers", "size", "totals")

    def __init__(self, lines: int, capacity: int) -> None:
        self.lines, self.capacity = lines, capacity
        self.totals = _PAGE
        self.peers = self.totals + lines * len(Kind) * len(COLUMNS) * 8
        self.events = self.peers + PEERS * 2 * 8
        self.size = self.events + capacity * EVENT.itemsize

    def views(self, memory: Any) -> tuple[Any, Any, Any, Any]:
        """Header, totals, peers and events as arrays over the memory."""
        header = np.frombuffer(memory, np.int64, _PAGE // 8)
        shape = self.lines, len(Kind), len(COLUMNS)
        totals = np.frombuffer(memory, np.int64, int(np.prod(shape)), self.totals).reshape(shape)
        peers = np.frombuffer(memory, np.int64, PEERS * 2, self.peers).reshape(PEERS, 2)
        return header, totals, peers, np.frombuffer(memory, EVENT, self.capacity, self.events)


class Recording:
    """The profile of this process, during recording."""

    def __init__(self, path: str | None, rank: int = 0, size: int = 1) -> None:
        limits = policy.limits
        self.path = path
        self.parts = Parts(limits.entries, limits.held // EVENT.itemsize)
        self.texts: list[dict[str, Any]] = []
        """The facts about the process, and the lines and names behind the numbers, in order of arrival."""
        self._names: dict[str, int] = {}
        self._lines: dict[tuple[str, int], int] = {}
        self._said: Any = None
        self.memory = self._mapped()
        self.header, self.totals, self.peers, self.events = self.parts.views(self.memory)
        began = time.monotonic_ns()
        for place, number in (
            (Header.VERSION, VERSION), (Header.LINES, self.parts.lines), (Header.PEERS, PEERS), (Header.CAPACITY, self.parts.capacity),
            (Header.RANK, rank), (Header.SIZE, size), (Header.BEGAN, began), (Header.LATEST, began),
            (Header.WALL, time.time_ns() - began), (Header.MAGIC, MAGIC),
        ):  # fmt: skip
            self.header[place] = number
        self.say(
            program=list(sys.argv), host=os.uname().nodename, boot=system.host(), process=os.getpid(),
            python=platform.python_version(),
        )  # fmt: skip
        self.name("")
        self.say(line=0, file="", number=0, place="elsewhere", function="", text="")

    def _mapped(self) -> Any:
        if self.path is None:
            return mmap.mmap(-1, self.parts.size)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            system.reserve(
                file, 0, self.parts.size
            )  # else a full disk ends the process by a signal
            memory = mmap.mmap(file, self.parts.size)
        finally:
            os.close(file)
        self._said = open(f"{self.path}.texts", "wb", buffering=0)  # noqa: SIM115
        return memory

    def say(self, **facts: Any) -> None:
        """Write facts that are not numbers."""
        self.texts.append(facts)
        if self._said is not None:
            with suppress(OSError):
                import json

                self._said.write(json.dumps(facts).encode() + b"\n")

    def name(self, text: str) -> int:
        """The number of a name."""
        number = self._names.get(text)
        if number is None:
            number = len(self._names)
            if number >= _TEXTS:
                return 0
            self._names[text] = number
            self.say(name=number, text=text)
        return number

    def called(self, name: Any) -> int:
        """The number of the name of a function or an operator."""
        return self.name(str(name).strip("_"))

    def line(self, code: CodeType, number: int) -> int:
        """The number of a line of the program."""
        key = code.co_filename, number
        known = self._lines.get(key)
        if known is None:
            known = len(self._lines) + 1
            if known >= self.parts.lines:
                return 0
            self._lines[key] = known
            self.say(
                line=known, file=key[0], number=number, place=place_text(*key),
                function=code.co_qualname, text=linecache.getline(*key).strip(),
            )  # fmt: skip
        return known

    def line_at(self, site: Site | None) -> int:
        """The number of the user's line of a call site; -1 without a call site."""
        if site is None:
            return -1
        code, instruction = line_in_program(site)
        return self.line(code, line_of(code, instruction))

    def thin(self) -> None:
        """Make room for events: drop the short ones, and raise the threshold for new ones."""
        header = self.header
        events = self.events[: header[Header.COUNT]]
        threshold = max(2 * int(header[Header.THRESHOLD]), int(np.median(events["length"])) + 1)
        long = events[events["length"] >= threshold]
        self.events[: len(long)] = long
        header[Header.THRESHOLD] = threshold
        header[Header.COUNT] = len(long)

    def note(self, event: tuple[int, ...]) -> None:
        """Add an event to the timeline, unless it is shorter than the threshold."""
        header, length = self.header, event[1]
        header[Header.LATEST] = event[0] + length
        if length >= header[Header.THRESHOLD] and header[Header.COUNT] >= header[Header.CAPACITY]:
            self.thin()
        if length >= header[Header.THRESHOLD]:
            self.events[header[Header.COUNT]] = event
            header[Header.COUNT] += 1

    def wait(self, name: str, line: int) -> None:
        """Note that this rank waits from now on, for the record of a rank that is killed during the wait."""
        self.header[Header.WAITING_LINE], self.header[Header.WAITING_NAME] = line, self.name(name)
        self.header[Header.WAITING] = time.monotonic_ns()

    def align(self, offset: int) -> None:
        """Note the offset to the clock of rank 0."""
        self.header[Header.OFFSET], self.header[Header.ALIGNED] = offset, 1

    def end(self) -> None:
        """End the recording."""
        if not self.header[Header.ENDED]:
            self.header[Header.ENDED] = time.monotonic_ns()
        if self._said is not None:
            self._said.close()
            self._said = None


class _Now:
    """The current recording, if any."""

    __slots__ = ("of_job", "recording")

    def __init__(self) -> None:
        self.recording: Recording | None = None
        self.of_job = False
        """True if all ranks of the job record, each its own part."""


now = _Now()


class _Spans(threading.local):
    """The spans of a thread without the native front: ``_native/spans.c`` in Python.

    Python's own profiling hook detects calls: a frame of atoll whose caller is not a frame of atoll.
    """

    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._open: list[list[int]] = []
        """Per open span: its beginning, and the time of the spans inside it."""
        self._call: FrameType | None = None
        self._line = 0

    def profile(self, memory: Any = None, *parts: Any) -> None:
        """Install the profiling hook while spans are recorded; remove it without ``memory``."""
        hook = None if memory is None else self._notice
        sys.setprofile(hook)
        threading.setprofile(hook)

    def _current(self) -> Recording | None:
        recording = now.recording
        if recording is not self._recording:
            self._recording, self._open, self._call, self._line = recording, [], None, 0
        return recording

    def _notice(self, frame: FrameType, event: str, _: Any) -> None:
        """Begin and end calls of the program."""
        recording = self._current()
        if recording is None:
            return
        if event == "return" and self._call is frame:
            original = frame.f_locals.get("original")  # the NumPy function that it stands for
            name = getattr(original, "__name__", "") or frame.f_code.co_name
            self._call = None
            self.end(Kind.CALL, recording.called(name), 0, 1, (self._line,), (1.0,), -1)
            self._line = 0
        elif event == "call" and self._call is None:
            file, outer = frame.f_code.co_filename, frame.f_back
            if outer is None or is_ours(outer.f_code.co_filename) or not is_ours(file):
                return
            if "profil" not in file:
                self._call, self._line = frame, max(recording.line_at(site_from(outer)), 0)
                self.begin()

    def begin_call(self) -> int:
        """Do nothing: the hook detects calls of Python functions."""
        return -1

    def end_call(self, begun: int, name: int) -> None:
        """Do nothing: the hook detects the ends of calls."""

    def line(self) -> int:
        """The number of the current line of the program."""
        recording = self._current()
        if recording is None or self._call is not None:
            return self._line
        return max(recording.line_at(site_from(sys._getframe(1))), 0)

    def begin(self) -> None:
        """Begin a span."""
        if self._current() is not None:
            self._open.append([time.monotonic_ns(), 0])

    def end(self, *event: Any) -> None:
        """End a span by its event."""
        recording = self._current()
        if recording is None or not self._open:
            return
        kind, name, nbytes, count, lines, parts, peer = event
        lines, parts = lines or (self.line(),), parts or (1.0,)
        start, inner = self._open.pop()
        length = time.monotonic_ns() - start
        if self._open:
            self._open[-1][1] += length
        for line, part in zip(lines, parts, strict=True):
            spent = int((length - inner) * part)
            recording.totals[line, kind] += (count, spent, int(nbytes * part))
        if kind == Kind.SEND and 0 <= peer < PEERS:
            recording.peers[peer] += (count, nbytes)
        recording.note((start, length, nbytes, kind, lines[0], name, 0, peer, count))


spans: Any = _Spans() if native is None else native
"""The recorder of spans: ``_native/spans.c`` if it was built."""
begin = spans.begin
"""Begin a span; only while a profile is recorded."""


def end(kind: Kind, name: str, nbytes: int = 0, peer: int = -1) -> None:
    """End the innermost span, for the current line."""
    recording = now.recording
    if recording is not None:
        spans.end(kind, recording.name(name), nbytes, 1, (), (), peer)


class span:
    """Context of a span."""

    __slots__ = ("_event",)

    def __init__(self, kind: Kind, name: str, nbytes: int = 0) -> None:
        self._event = None if now.recording is None else (kind, name, nbytes)

    def __enter__(self) -> None:
        if self._event is not None:
            begin()

    def __exit__(self, *_: object) -> None:
        if self._event is not None:
            end(*self._event)


@contextmanager
def call(name: str) -> Iterator[None]:
    """Record a call of the program to a function that the native front does not enter."""
    recording = now.recording
    if recording is None:
        yield
        return
    begun = spans.begin_call()
    try:
        yield
    finally:
        spans.end_call(begun, recording.name(name))


def sent(name: str, peer: int, nbytes: int) -> None:
    """Note a message to another rank; only while a profile is recorded."""
    begin()
    end(Kind.SEND, name, nbytes, peer)


class _Waiting(threading.local):
    """True if this thread is in a wait, which may contain others."""

    inside = False


_waiting = _Waiting()


def waited(name: str, wait: Callable[..., T], *args: Any) -> T:
    """Wait, as a span; only while a profile is recorded."""
    if _waiting.inside:
        return wait(*args)
    _waiting.inside = True
    recording = now.recording
    if recording is not None:
        recording.wait(name, spans.line())
    begin()
    try:
        return wait(*args)
    finally:
        _waiting.inside = False
        end(Kind.WAIT, name)
        if recording is not None:
            recording.header[Header.WAITING] = 0


def start(recording: Recording) -> None:
    """Record from now on."""
    parts = recording.parts
    now.recording = recording
    spans.profile(
        recording.memory, parts.totals, parts.peers, parts.events,
        recording.line_at, recording.called, recording.thin,
    )  # fmt: skip


def stop() -> Recording | None:
    """End the recording, and return it."""
    recording, now.recording = now.recording, None
    spans.profile()
    if recording is not None:
        recording.end()
    return recording


def _leave_to_parent() -> None:
    """Stop recording in a forked child: the memory of the record is shared with its parent."""
    if now.recording is not None:
        now.recording = None
        spans.profile()


os.register_at_fork(after_in_child=_leave_to_parent)
