"""Profiles: the time of a program by line and by rank.

``with atoll.profile() as profile:`` records a block of a program, ``atoll run --profile out.json`` a whole one.
:mod:`..context.profiler` measures; here records become tables, timelines and pages.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from types import TracebackType

from ..comm.clocks import align
from ..comm.communicator import Communicator
from ..comm.in_step import agree, alltoall_object
from ..comm.world import current_world
from ..context import profiler
from ..context.interrupts import tolerated
from ..context.profiler import Recording
from ..lazy.pending import sync
from .profiles import Line, Profile, Rank, checked
from .record import Record, folder_of, part_of, record_of, records_in

__all__ = ["Line", "Profile", "Rank", "profile", "read"]


class profile:
    """Record the time that a block of the program spends on each line. Collective: all ranks of the current world enter and leave it.

    Work pending at the beginning is evaluated before the recording starts; work pending at the end counts.

    With a path that ends in ``.json`` (a timeline in Chrome's trace format) or ``.html`` (a page), the profile is saved there
    at the end. If the block ends by an error, or the process is killed, each rank leaves its part beside it, in a folder that
    ends in ``.ranks``, and ``atoll profile PATH`` reads the parts.

    >>> with atoll.profile() as profile:
    ...     step()
    >>> print(profile)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else checked(path)
        self._profile = Profile()

    def __enter__(self) -> Profile:
        sync()
        self._communicator: Communicator = current_world().communicator
        communicator = self._communicator
        recording = profiler.now.recording
        self._owns = recording is None
        if recording is None:
            path = None if self._path is None else part_of(self._path, communicator.rank)
            if path is not None:
                remove(path)
            recording = Recording(path, communicator.rank, communicator.size)
        self._recording = recording
        align(communicator, recording)
        if self._owns:
            profiler.start(recording)
        self._since = time.monotonic_ns(), recording.totals.copy(), recording.peers.copy()
        return self._profile

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                sync()
        finally:
            now = time.monotonic_ns()
            if self._owns:
                profiler.stop()
        record = record_of(self._recording, self._since)
        communicator = self._communicator
        if not record.complete:  # the recording continues for an outer profile
            record = replace(record, ended=now, complete=True)
        if error is not None and communicator.size > 1:  # the others may not arrive here
            self._profile.take([record], writes=False)
            return
        records = _gathered(communicator, record)
        self._profile.take(records, writes=communicator.rank == 0)
        if self._path is not None:
            self._profile.save(self._path)
            if self._owns and self._recording.path is not None:
                remove(self._recording.path)


def _gathered(communicator: Communicator, record: Record) -> list[Record]:
    """The records of all ranks; only rank 0 gets the timelines of the others."""
    if communicator.size == 1:
        return [record]
    what = "a profile"
    if communicator.kind == "simulated" and communicator.rank:
        record = record.without_events()  # ranks of one process record together
    light = agree(communicator, record.without_events(), what)
    given = [record if rank == 0 else None for rank in range(communicator.size)]
    whole = alltoall_object(communicator, given, what)
    return whole if communicator.rank == 0 else light


def remove(part: str) -> None:
    """Remove the record of a rank, and the folder if it was the last."""
    for name in (part, f"{part}.texts"):
        with tolerated(FileNotFoundError):
            os.remove(name)
    with tolerated(OSError):  # the folder has parts of other ranks, or does not exist
        os.rmdir(os.path.dirname(part))


def read(path: str) -> Profile:
    """The profile from the parts that ranks have left for ``path``, or in the folder ``path`` itself."""
    folder = path if os.path.isdir(path) else folder_of(path)
    return Profile().take(records_in(folder))
