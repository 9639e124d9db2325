"""The record of one rank: from a recording in progress, or from the file that a process has left."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..context.profiler import EVENT, MAGIC, PEERS, VERSION, Header, Parts, Recording
from ..errors import ConfigError


@dataclass(frozen=True, slots=True)
class Source:
    """A line of a program."""

    file: str
    number: int
    place: str
    """``program.py:7``, in a notebook ``Cell In[3], line 2``."""
    function: str
    text: str


ELSEWHERE = Source("", 0, "elsewhere", "", "")


@dataclass(frozen=True, slots=True)
class Record:
    """The totals and the timeline of one rank."""

    rank: int
    size: int
    host: str
    boot: str
    """The identity of the host's boot: ranks with an equal one share a clock."""
    program: tuple[str, ...]
    began: int
    """In nanoseconds of this rank's clock, like all times here."""
    ended: int
    complete: bool
    """True if the recording was ended; otherwise it is in progress, or the process was killed."""
    waiting: str
    """The line and the reason of the wait in which the process was killed; empty outside of waits."""
    wall: int
    offset: int | None
    threshold: int
    """Spans shorter than this may be missing in the timeline."""
    sources: tuple[Source, ...]
    """By number."""
    names: tuple[str, ...]
    totals: Any
    """By line, kind and column (times, nanoseconds, bytes)."""
    peers: Any
    """Messages to, and their bytes for, each rank."""
    events: Any

    def without_events(self) -> Record:
        """The same record without the timeline."""
        return replace(self, events=self.events[:0])


Mark = tuple[int, Any, Any]
"""A moment of a recording at which reading begins: its time, and the totals and messages until then."""


def record_of(recording: Recording, since: Mark) -> Record:
    """The record of a recording since a moment."""
    header, texts = recording.header, recording.texts
    record = _record(header, recording.totals, recording.peers, recording.events, texts)
    began, totals, peers = since
    return replace(
        record,
        began=began,
        totals=record.totals - totals[: len(record.totals)],
        peers=record.peers - peers,
        events=record.events[record.events["start"] >= began],
    )


def record_in(path: str) -> Record:
    """The record in a file; for a killed process, up to its end."""
    texts: list[dict[str, Any]] = []
    try:
        with open(path, "rb") as file:
            memory = file.read()
        with open(f"{path}.texts", "rb") as file:
            for line in file:
                try:
                    texts.append(json.loads(line))
                except ValueError:  # the process was killed while it wrote this line
                    break
    except OSError as error:
        raise ConfigError(f"the record {path!r} cannot be read: {error.strerror}") from None
    header = np.frombuffer(memory, np.int64, len(Header)) if len(memory) > 4096 else None
    if header is None or header[Header.MAGIC] != MAGIC or header[Header.VERSION] != VERSION:
        raise ConfigError(
            f"{path!r} is not a record of a profile by this version of atoll; record it again"
        )
    parts = Parts(int(header[Header.LINES]), int(header[Header.CAPACITY]))
    return _record(*parts.views(memory), texts)


def _record(
    header: Any, totals: Any, peers: Any, events: Any, texts: list[dict[str, Any]]
) -> Record:
    about: dict[str, Any] = {}
    sources: dict[int, Source] = {0: ELSEWHERE}
    names: dict[int, str] = {0: ""}
    for fact in list(texts):
        if "line" in fact:
            sources[fact["line"]] = Source(
                fact["file"], fact["number"], fact["place"], fact["function"], fact["text"]
            )
        elif "name" in fact:
            names[fact["name"]] = fact["text"]
        else:
            about.update(fact)
    most = max(sources)
    ended = int(header[Header.ENDED])
    count = min(int(header[Header.COUNT]), len(events))
    waiting = ""
    if not ended and header[Header.WAITING]:
        since = int(header[Header.WAITING] - header[Header.BEGAN]) * 1e-9
        source = sources.get(int(header[Header.WAITING_LINE]), ELSEWHERE)
        name = names.get(int(header[Header.WAITING_NAME]), "")
        waiting = f"since {since:.3g} s at {source.place} for {name}"
    return Record(
        rank=int(header[Header.RANK]),
        size=int(header[Header.SIZE]),
        host=about.get("host", ""),
        boot=about.get("boot", ""),
        program=tuple(about.get("program", ())),
        began=int(header[Header.BEGAN]),
        ended=ended or int(header[Header.LATEST]),
        complete=bool(ended),
        waiting=waiting,
        wall=int(header[Header.WALL]),
        offset=int(header[Header.OFFSET]) if header[Header.ALIGNED] else None,
        threshold=int(header[Header.THRESHOLD]),
        sources=tuple([sources.get(k, ELSEWHERE) for k in range(most + 1)]),
        names=tuple([names.get(k, "") for k in range(max(names) + 1)]),
        totals=totals[: most + 1].copy(),
        peers=peers[:PEERS].copy(),
        events=np.array(events[:count], EVENT),
    )


def folder_of(path: str) -> str:
    """The folder in which the ranks record a profile for ``path``."""
    return f"{path}.ranks"


def path_of_timeline(path: str) -> str:
    """The path of the timeline of a profile for ``path``; its page has another extension."""
    return f"{os.path.splitext(path)[0]}.json"


def part_of(path: str, rank: int) -> str:
    """The path of a rank's part of a profile for ``path``."""
    return os.path.join(folder_of(path), str(rank))


def records_in(folder: str) -> list[Record]:
    """The records of all ranks in a folder, in the order of the ranks."""
    try:
        names = [name for name in os.listdir(folder) if name.isdecimal()]
    except OSError as error:
        raise ConfigError(
            f"there are no records of a profile in {folder!r}: {error.strerror}"
        ) from None
    return [record_in(os.path.join(folder, name)) for name in sorted(names, key=int)]
