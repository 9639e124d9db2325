"""Stages: filters between the output of ranks and the user.

A stage takes bytes as they arrive and returns the bytes to pass on. ``flush`` returns the bytes held back.
"""

from __future__ import annotations

from collections.abc import Callable


class Stage:
    """Passes all bytes on as they arrive."""

    def feed(self, data: bytes) -> bytes:
        """Take bytes that have arrived; return the bytes to pass on."""
        return data

    def flush(self, ended: bool = False) -> bytes:
        """Return the bytes held back as a possible beginning; with ``ended``, all of them."""
        return b""


class Extract(Stage):
    """Removes each range from ``begin`` to ``end``; ``handle`` returns its replacement.

    It holds back only a possible beginning of a range, so that lines appear when they are written and binary output is
    unchanged.
    """

    def __init__(self, begin: bytes, end: bytes, handle: Callable[[bytes], bytes]) -> None:
        self._begin, self._end, self._handle = begin, end, handle
        self._buffer = b""

    def feed(self, data: bytes) -> bytes:
        """Pass on the bytes outside of the ranges."""
        held, out = self._buffer + data, []
        while (start := held.find(self._begin)) >= 0:
            stop = held.find(self._end, start + len(self._begin))
            if stop < 0:
                break
            stop += len(self._end)
            out += [held[:start], self._handle(held[start:stop])]
            held = held[stop:]
        else:
            start = len(held) - _overlap(held, self._begin)
        self._buffer = held[start:]
        return b"".join([*out, held[:start]])

    def flush(self, ended: bool = False) -> bytes:
        """Return a possible beginning that is held back; at the end of the stream, close an open range."""
        held, inside = self._buffer, self._buffer.startswith(self._begin)
        if not held or (inside and not ended):
            return b""
        self._buffer = b""
        return self._handle(held) if inside else held


def _overlap(data: bytes, word: bytes) -> int:
    """The length of the longest suffix of ``data`` that is a prefix of ``word``."""
    for length in range(min(len(data), len(word) - 1), 0, -1):
        if word.startswith(data[-length:]):
            return length
    return 0


class Lines(Stage):
    """Passes on whole lines, each after the number of the rank that has written it: ``[rank] line``."""

    def __init__(self, rank: int) -> None:
        self._prefix = b"[%d] " % rank
        self._buffer = b""

    def feed(self, data: bytes) -> bytes:
        """Return the lines that are now complete."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return b"".join(self._prefix + line + b"\n" for line in lines)

    def flush(self, ended: bool = False) -> bytes:
        """At the end of the stream, return an unterminated line."""
        return self.feed(b"\n") if ended and self._buffer else b""
