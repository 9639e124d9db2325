"""Removes the files of an aborted job through which its ranks shared memory.

MPI removes its files only at an orderly end. The memory maps of living processes name the files. So the files of a job
are recorded while it runs, and removed when it has ended; files that no rank of this job has mapped are never touched.
A file must also be a plain file of this user, in the folder of shared memory itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable

from .. import system

FOLDER = "/dev/shm"

_NAME = re.compile(r"(?:mpich_shm_|sm_segment\.|vader_segment\.)[A-Za-z0-9_.-]+")
"""The names of MPI's files: MPICH has one for all ranks of a host, Open MPI one for each rank."""

LATER = 1.5
"""Growth of the time from the first rank's start to the next inspection: half as long again each time."""


def shared_files(process: int) -> set[str]:
    """The names of MPI's files that a living process has mapped from the folder of shared memory."""
    if not system.has("shm"):
        return set()
    lines = system.proc_file(f"{process}/maps").split("\n")
    mapped = {("/" + line.partition("/")[2]).removeprefix(FOLDER + "/") for line in lines}
    return {name for name in mapped if _NAME.fullmatch(name)}


def remove(names: Iterable[str]) -> None:
    """Remove those of the files that still exist and are plain files of this user in the folder itself."""
    with contextlib.suppress(OSError):
        folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            for name in filter(_NAME.fullmatch, names):
                with contextlib.suppress(OSError):
                    facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid():
                        os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)


class Leftovers:
    """The files that the ranks of one job have shared, as far as observed."""

    def __init__(self) -> None:
        self._processes: list[int] = []
        self._names: set[str] = set()
        self._began = self._next = 0.0

    def follow(self, process: int, now: float) -> None:
        """Inspect a rank of this host from now on."""
        if not self._processes:
            self._began = now
        self._processes.append(process)

    def look(self, now: float, *, surely: bool = False) -> None:
        """Note the files that ranks share now, if an inspection is due."""
        if not self._processes or not (surely or now >= self._next):
            return
        self._next = self._began + (now - self._began) * LATER
        for process in self._processes:
            if any(name.startswith("mpich") for name in self.note(process)):
                return

    def note(self, process: int) -> set[str]:
        """Note the files that a rank shares now."""
        names = shared_files(process)
        self._names |= names
        return names

    def clear(self) -> None:
        """Remove the files: the job has ended."""
        remove(self._names)
        self._names = set()
