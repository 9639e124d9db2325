"""Stages that filter the output of the ranks on its way to the user.

A stage takes bytes as they arrive and returns the bytes to pass on. It holds back only a possible beginning of what it
searches for, so that lines appear when they are written and binary output is unchanged. ``flush`` returns what is held.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol


class Stage(Protocol):
    """What a byte stream passes through."""

    def feed(self, data: bytes) -> bytes:
        """Take bytes in, give bytes out."""

    def flush(self, ended: bool = False) -> bytes:
        """Give out what has been held for a possible beginning; ``ended``: everything."""


class Extract:
    """Removes each range from ``begin`` to ``end``; ``handle`` returns its replacement."""

    def __init__(self, begin: bytes, end: bytes, handle: Callable[[bytes], bytes]) -> None:
        self._begin, self._end, self._handle = begin, end, handle
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Pass on what is outside of the ranges."""
        held, out = self._held + data, []
        while (start := held.find(self._begin)) >= 0:
            stop = held.find(self._end, start + len(self._begin))
            if stop < 0:
                break
            stop += len(self._end)
            out += [held[:start], self._handle(held[start:stop])]
            held = held[stop:]
        else:
            start = len(held) - _overlap(held, self._begin)
        self._held = held[start:]
        return b"".join([*out, held[:start]])

    def flush(self, ended: bool = False) -> bytes:
        """Let go of a mere possible beginning; at the end of the stream, close what is open."""
        held, inside = self._held, self._held.startswith(self._begin)
        if not held or (inside and not ended):
            return b""
        self._held = b""
        return self._handle(held) if inside else held


def _overlap(data: bytes, word: bytes) -> int:
    """The length of the longest suffix of ``data`` that is a prefix of ``word``."""
    for length in range(min(len(data), len(word) - 1), 0, -1):
        if word.startswith(data[-length:]):
            return length
    return 0


class ByRank:
    """Sorts output that the launcher has marked with ranks into whole lines, ``[rank] line``."""

    def __init__(self, pattern: re.Pattern[bytes], stages: Callable[[], list[Stage]]) -> None:
        self._pattern, self._new_stages = pattern, stages
        self._stages: dict[bytes, list[Stage]] = {}
        self._lines: dict[bytes, bytes] = {}
        self._rank = b""
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Give out the lines that are whole now."""
        held, out, place = self._held + data, [], 0
        for mark in self._pattern.finditer(held):
            out.append(self._piece(held[place : mark.start()]))
            self._rank, place = mark[1], mark.end()
        rest = held[place:]
        split = _possible_mark(rest)
        self._held = rest[split:]
        out.append(self._piece(rest[:split]))
        return b"".join(out)

    def flush(self, ended: bool = False) -> bytes:
        """Let go of a possible mark; at the end of the stream, of lines without an end, too."""
        held, self._held = self._held, b""
        out = [self._piece(held)]
        if ended:
            for rank, stages in sorted(self._stages.items()):
                out.append(self._whole_lines(rank, flushed(stages, ended=True)))
            for rank, line in sorted(self._lines.items()):
                if line:
                    out.append(self._whole_lines(rank, b"\n"))
        return b"".join(out)

    def _piece(self, data: bytes) -> bytes:
        if not self._rank or not data:
            return data  # the launcher itself
        stages = self._stages.setdefault(self._rank, self._new_stages())
        return self._whole_lines(self._rank, fed(stages, data))

    def _whole_lines(self, rank: bytes, data: bytes) -> bytes:
        *lines, rest = (self._lines.get(rank, b"") + data).split(b"\n")
        self._lines[rank] = rest
        return b"".join(b"[" + rank + b"] " + line + b"\n" for line in lines)


def _possible_mark(data: bytes) -> int:
    """Where, near the end of ``data``, the beginning of a rank's mark may stand."""
    start = max(data.rfind(b"\x1d", -80), data.rfind(b"[", -80))
    if start < 0 or b"\n" in data[start:]:
        return len(data)
    return start


def fed(stages: list[Stage], data: bytes) -> bytes:
    """``data`` after all ``stages``."""
    for stage in stages:
        data = stage.feed(data)
    return data


def flushed(stages: list[Stage], ended: bool = False) -> bytes:
    """What all ``stages`` still held, each passed on through those after it."""
    data = b""
    for stage in stages:
        data = stage.feed(data) + stage.flush(ended)
    return data
