"""Profiles of whole programs, requested by ``ATOLL_RUN_PROFILE``, which ``atoll run --profile`` sets.

Each rank records its part from ``import atoll`` to its end. ``atoll run`` joins the parts when all ranks have ended, whatever
ended them; with other launchers ``atoll profile`` does. A single process saves its profile when it ends.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from contextlib import suppress

from ..comm import launcher
from ..context import profiler
from ..context.profiler import Recording
from . import read, remove
from .record import folder_of, part_of, path_of_timeline


def begin(path: str) -> None:
    """Record this process from now on."""
    launch = launcher.detect()
    rank, size = (0, 1) if launch is None else (launch.rank, launch.size or 1)
    part = part_of(path, rank)
    profiler.now.of_job = size > 1
    try:
        recording = Recording(part, rank, size)
    except FileExistsError:  # this process was started by the program
        return
    except OSError as error:
        sys.stderr.write(
            f"atoll: rank {rank} records no profile: {part!r} cannot be written ({error.strerror})\n"
        )
        return
    profiler.start(recording)
    process = os.getpid()

    def end() -> None:
        if os.getpid() != process or profiler.now.recording is not recording:
            return
        profiler.stop()
        if size == 1:
            joined(path)

    atexit.register(end)


def prepared(path: str) -> str:
    """The absolute path of a profile, after removal of earlier ones."""
    path = os.path.abspath(path)
    shutil.rmtree(folder_of(path), ignore_errors=True)
    with suppress(FileNotFoundError):
        os.remove(path_of_timeline(path))
    return path


def joined(path: str) -> None:
    """Save the profile from the parts of the ranks, as a timeline and as a page, and print its table."""
    profile = read(path)
    timeline = path_of_timeline(path)
    saved = [timeline, f"{timeline.removesuffix('.json')}.html"]
    for name in saved:
        profile.save(name)
    sys.stderr.write(f"{profile.table()}\n\nThe profile is in {' and '.join(saved)}.\n")
    for rank in profile.ranks:
        remove(part_of(path, rank.record.rank))
