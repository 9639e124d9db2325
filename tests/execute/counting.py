"""Counters and settings that a test has for itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from atoll.config import config
from atoll.context import statistics


@contextmanager
def counted() -> Iterator[statistics.Counters]:
    """Counters and settings of our own."""
    with statistics.separate() as counters, config(cache_bytes=1 << 30):
        yield counters
