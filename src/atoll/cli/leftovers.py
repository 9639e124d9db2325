"""What a job that was aborted leaves behind: the files through which its ranks shared memory.

MPICH removes its file at the orderly end only. Which file it is, the processes themselves
say, as long as they live: it is in their memory maps. So a job's files are noted while it
runs, and removed when it has ended; a file that no rank of this job had is never touched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

_BEGINNING = "/dev/shm/mpich_shm_"

FIRST, LATER = 3.0, 1.5
"""Ranks are looked at often in their first seconds, then after half as long again each time."""


def shared_files(process: int) -> set[str]:
    """The files of MPICH that a living process of this user has mapped."""
    try:
        with open(f"/proc/{process}/maps") as maps:
            paths = {line.rstrip("\n").partition("/")[2] for line in maps if _BEGINNING in line}
    except OSError:
        return set()
    found = {"/" + path for path in paths}
    return {path for path in found if path.startswith(_BEGINNING) and not path.endswith(")")}


def remove(paths: Iterable[str]) -> None:
    """Remove what is still there."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


class Leftovers:
    """The files that the ranks of one job have been seen to share."""

    def __init__(self) -> None:
        self._processes: list[int] = []
        self._paths: set[str] = set()
        self._began = self._next = 0.0

    def follow(self, process: int, now: float) -> None:
        """Look at a rank of this host from now on."""
        if not self._processes:
            self._began = now
        self._processes.append(process)

    def look(self, now: float, *, surely: bool = False) -> None:
        """Note what ranks share at this moment, if it is time to look again."""
        if not self._processes or not (surely or now >= self._next):
            return
        elapsed = now - self._began
        self._next = now if elapsed < FIRST else self._began + elapsed * LATER
        for process in self._processes:
            found = shared_files(process)
            self._paths |= found
            if found:
                return  # all ranks of a host share one file

    def clear(self) -> None:
        """The job has ended."""
        remove(self._paths)
        self._paths = set()
