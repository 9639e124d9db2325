"""A profile: the records of all ranks, added up by line and put on one clock."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..context.profiler import Kind
from ..errors import ConfigError
from .record import Record, Source

NANO = 1e-9


@dataclass(frozen=True, slots=True)
class Line:
    """The work for one line of the program: counts and bytes of all ranks, and mean seconds per rank."""

    source: Source
    calls: int
    call_seconds: float
    """Seconds in calls of atoll without the activities below: recording operations, and eager NumPy work."""
    plan_seconds: float
    compiled: int
    """Kernels compiled."""
    compile_seconds: float
    kernels: int
    """Kernels run."""
    kernel_seconds: float
    kernel_bytes: int
    """Approximate bytes that kernels read and wrote in memory."""
    numpy_seconds: float
    """Seconds in NumPy functions that evaluations call."""
    messages: int
    sent_bytes: int
    waits: int
    wait_seconds: float
    file_seconds: float
    file_bytes: int

    @property
    def seconds(self) -> float:
        """The sum of all activities."""
        return (
            self.call_seconds + self.plan_seconds + self.compile_seconds + self.kernel_seconds
            + self.numpy_seconds + self.wait_seconds + self.file_seconds
        )  # fmt: skip

    @property
    def place(self) -> str:
        """The line as text: ``program.py:7``."""
        return self.source.place

    @property
    def text(self) -> str:
        """The code in the line."""
        return self.source.text


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank on the common clock."""

    record: Record
    shift: int
    """Nanoseconds to add to its clock for the time since the beginning of the profile."""
    seconds: tuple[float, ...]
    """Seconds by kind of span."""

    @property
    def began(self) -> float:
        """The beginning of its record, in seconds."""
        return (self.record.began + self.shift) * NANO

    @property
    def ended(self) -> float:
        """The end of its record, in seconds."""
        return (self.record.ended + self.shift) * NANO


class Profile:
    """The time of a program by line: ``print`` it, read ``lines``, or ``save`` it.

    On ranks ``save`` writes on rank 0, which has the timelines of all; the lines are equal on all ranks.
    """

    def __init__(self) -> None:
        self.ranks: tuple[Rank, ...] = ()
        self.lines: tuple[Line, ...] = ()
        """The lines of the program, by descending time."""
        self._writes = True

    def take(self, records: Sequence[Record], writes: bool = True) -> Profile:
        """Set the records of the profile."""
        if not records:
            raise ConfigError("a profile needs the record of at least one rank, and there is none")
        shifts = _shifts(records)
        first = min(record.began + shift for record, shift in zip(records, shifts, strict=True))
        self.ranks = tuple(
            Rank(record, shift - first, tuple((record.totals[:, :, 1].sum(0) * NANO).tolist()))
            for record, shift in zip(records, shifts, strict=True)
        )
        self.lines = _lines(records)
        self._writes = writes
        return self

    @property
    def seconds(self) -> float:
        """The duration, from the beginning of the first rank to the end of the last one."""
        return max((rank.ended for rank in self.ranks), default=0.0)

    @property
    def inside(self) -> float:
        """Mean seconds per rank in atoll."""
        return sum(sum(rank.seconds) for rank in self.ranks) / max(len(self.ranks), 1)

    @property
    def program(self) -> str:
        """The name of the program."""
        words = self.ranks[0].record.program if self.ranks else ()
        return os.path.basename(words[0]) if words and words[0] else "python"

    @property
    def missing(self) -> tuple[int, ...]:
        """The ranks without a record."""
        size = max((rank.record.size for rank in self.ranks), default=0)
        return tuple(sorted({*range(size)} - {rank.record.rank for rank in self.ranks}))

    def table(self, width: int | None = None) -> str:
        """The lines as a table ``width`` columns wide, by default as wide as the terminal."""
        from .table import table

        return table(self, width)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile: ``.json`` is a timeline in Chrome's trace format, ``.html`` a page with charts."""
        name = checked(path)
        if not self._writes:
            return
        from .page import page
        from .trace import trace

        text = trace(self) if name.endswith(".json") else page(self)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<profile of {self.program}: {len(self.ranks)} ranks, {self.seconds:.3g} s>"

    def _repr_html_(self) -> str:
        from html import escape

        from .page import page

        return (
            f'<iframe srcdoc="{escape(page(self))}" '
            'style="width:100%;height:760px;border:0"></iframe>'
        )


def checked(path: str | os.PathLike[str]) -> str:
    """The path of a profile, whose extension must be that of a known format."""
    name = os.fspath(path)
    if not name.endswith((".json", ".html")):
        raise ValueError(
            f"a profile is saved as .json (a timeline) or .html (a page), not as {name!r}"
        )
    return name


def _shifts(records: Sequence[Record]) -> list[int]:
    """Offsets in nanoseconds from the clock of each record to that of the first one."""
    first = records[0]
    shifts = []
    for record in records:
        if record.boot == first.boot:
            shifts.append(0)
        elif record.offset is not None and first.offset is not None:
            shifts.append(record.offset - first.offset)
        else:
            shifts.append(record.wall - first.wall)
    return shifts


def _lines(records: Sequence[Record]) -> tuple[Line, ...]:
    added: dict[tuple[str, int], Any] = {}
    sources: dict[tuple[str, int], Source] = {}
    for record in records:
        for number, source in enumerate(record.sources):
            totals = record.totals[number]
            if not totals.any():
                continue
            key = source.file, source.number
            sources.setdefault(key, source)
            added[key] = added[key] + totals if key in added else totals
    lines = [_line(sources[key], totals, len(records)) for key, totals in added.items()]
    return tuple(sorted(lines, key=lambda line: -line.seconds))


def _line(source: Source, totals: Any, ranks: int) -> Line:
    times, nanoseconds, nbytes = np.asarray(totals, np.int64).T.tolist()
    seconds = [NANO * spent / ranks for spent in nanoseconds]
    return Line(
        source,
        calls=times[Kind.CALL],
        call_seconds=seconds[Kind.CALL],
        plan_seconds=seconds[Kind.PLAN],
        compiled=times[Kind.COMPILE],
        compile_seconds=seconds[Kind.COMPILE],
        kernels=times[Kind.KERNELS],
        kernel_seconds=seconds[Kind.KERNELS],
        kernel_bytes=nbytes[Kind.KERNELS],
        numpy_seconds=seconds[Kind.NUMPY],
        messages=times[Kind.SEND],
        sent_bytes=nbytes[Kind.SEND],
        waits=times[Kind.WAIT],
        wait_seconds=seconds[Kind.WAIT] + seconds[Kind.SEND],
        file_seconds=seconds[Kind.FILE],
        file_bytes=nbytes[Kind.FILE],
    )
