"""Optional facilities of the operating system beyond POSIX.

Every use checks :func:`has` and has a fallback for systems without the facility, such as macOS.
``ATOLL_WITHOUT=all``, or a comma-separated list of names, selects the fallback on Linux too, for tests.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import suppress
from glob import glob
from typing import Any

VARIABLE = "ATOLL_WITHOUT"

FACILITIES = {
    "abstract": "sockets under names that are no files; else files in a folder of this user",
    "acl": "access control lists of files; else their mode alone is kept",
    "affinity": "which cores a process may use; else all of the machine",
    "credentials": "who is at the other end of a local connection; else the file of the socket, which only this user can open",
    "fallocate": "room for a file in advance; else writing finds out",
    "futex": "workers that wait in compiled code; else Python's threads",
    "hugepages": "large pages on request; else as the system decides",
    "libmvec": "the C library's vector functions; else loops of numbers",
    "memfd": "files without names in memory; else temporary files, unlinked once all have opened them",
    "noreserve": "mappings that get memory only where they are written; else as Python makes them",
    "prctl": "an end with the parent process; else a thread that waits for it",
    "proc": "/proc, with the stacks, steps, states and maps of other processes; else nothing is said of them",
    "robust": "mutexes between processes that survive their holder; else messages",
    "shm": "MPI's files in /dev/shm, which an aborted job leaves behind; else they are left alone",
    "sysfs": "the sizes of caches; else those that most cores have",
}
"""Each facility, and the fallback without it."""


def _without() -> frozenset[str]:
    words = {word for word in os.environ.get(VARIABLE, "").replace(" ", "").split(",") if word}
    unknown = words - {"all", *FACILITIES}
    if unknown:
        known = ", ".join(["all", *FACILITIES])
        raise ValueError(f"{VARIABLE} has {', '.join(sorted(unknown))}; it may have {known}")
    return frozenset(FACILITIES if "all" in words else words)


without = _without()


def has(facility: str) -> bool:
    """True if this system has a facility of :data:`FACILITIES`, and no test forbids it."""
    if facility in without:
        return False
    if facility == "affinity":
        return hasattr(os, "sched_getaffinity")
    if facility == "fallocate":
        return hasattr(os, "posix_fallocate")
    return sys.platform == "linux"


UNBACKED = 0x4000 if has("noreserve") and os.uname().machine in ("x86_64", "aarch64") else 0
"""The flag of ``mmap`` for addresses that get memory only where they are written (``MAP_NORESERVE``, which Python does not name everywhere)."""


def cores() -> int:
    """The number of cores that this process may use."""
    if has("affinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def caches() -> tuple[int, int]:
    """The bytes of the largest private cache of a core, and the number of cores that share the next level."""
    private, sharing = 0, 1
    for folder in glob("/sys/devices/system/cpu/cpu0/cache/index*") if has("sysfs") else ():
        try:
            with open(f"{folder}/size") as file, open(f"{folder}/shared_cpu_map") as shared:
                size, mask = file.read().strip(), shared.read().replace(",", "")
            nbytes = int(size.rstrip("KM")) << {"K": 10, "M": 20}.get(size[-1:], 0)
            count = int(mask, 16).bit_count()
        except (OSError, ValueError):
            continue
        private = max(private, nbytes) if count == 1 else private
        sharing = max(sharing, count)
    return (private, sharing) if private else (1 << 20, cores())


def reserve(descriptor: int, start: int, nbytes: int) -> None:
    """Allocate ``nbytes`` bytes of a file from ``start``; where the system cannot reserve them, only extend the file."""
    if has("fallocate"):
        os.posix_fallocate(descriptor, start, nbytes)
    else:
        os.ftruncate(descriptor, max(os.fstat(descriptor).st_size, start + nbytes))


def host() -> str:
    """A name that only processes of one host, since its start, have in common."""
    return os.uname().nodename + proc_file("sys/kernel/random/boot_id").strip()


def proc_file(path: str) -> str:
    """The text of a file in ``/proc``, such as ``7/stat``; empty if the process has ended, or there are no such files."""
    if has("proc"):
        with suppress(OSError), open(f"/proc/{path}", errors="replace") as file:
            return file.read()
    return ""


def process_state(process: int) -> list[str]:
    """The fields of ``/proc/N/stat`` after the name (state, parent, ...); empty if the process has ended."""
    return proc_file(f"{process}/stat").rpartition(")")[2].split()


def arithmetic() -> str:
    """Description of everything that the last bits of results depend on: processes with equal descriptions compute equal numbers."""
    import numpy

    core: Any = vars(numpy).get("_core")
    features = core and core._multiarray_umath.__cpu_features__
    threads = [os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "OPENBLAS", "MKL")]
    name = "CS_GNU_LIBC_VERSION"
    library = os.confstr(name) if name in os.confstr_names else os.uname().release
    return repr((os.uname().machine, features, numpy.__version__, library, cores(), threads))


def socket_name(name: str) -> str:
    """Socket address of ``name`` for processes of this user on this host: an abstract name, or a file in a folder of this user."""
    if has("abstract"):
        return f"\0atoll-{name}"
    import tempfile

    folder = os.path.join(tempfile.gettempdir(), f"atoll-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    facts = os.lstat(folder)
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise OSError(f"{folder} is not a folder that only this user can open")
    return os.path.join(folder, name[:40])


def listen(name: str) -> Any:
    """Listening socket of ``name`` for processes of this user on this host; ``None`` if another process has it, or on failure."""
    import socket

    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(socket_name(name))
        listener.listen(1024)
    except OSError:
        listener.close()
        return None
    return listener


def connect(name: str, seconds: float) -> Any:
    """Connect to the process that listens at a socket, if this user owns it; each wait ends after ``seconds``."""
    import socket

    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(socket_name(name))
        if not is_own_user(connection):
            raise PermissionError
    except BaseException:
        connection.close()
        raise
    return connection


def remove_socket(name: str) -> None:
    """Remove the file of a socket, if it has one."""
    if not has("abstract"):
        try:
            os.unlink(socket_name(name))
        except OSError:
            return


def is_own_user(connection: Any) -> bool:
    """True if a process of this user is at the other end of a local connection."""
    if not has("credentials"):
        return not has("abstract")
    return _credentials(connection)[1] == os.geteuid()


def peer(connection: Any) -> int | None:
    """The process at the other end of a local connection; None where it is another user's, or unknown."""
    if not has("credentials"):
        return None
    process, user = _credentials(connection)
    return process if user == os.geteuid() else None


def _credentials(connection: Any) -> tuple[int, int]:
    import socket
    import struct

    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    process, user, _ = struct.unpack("3i", credentials)
    return process, user


def end_with_parent(number: int) -> bool:
    """Let a signal end this process when its parent dies; False where the system cannot."""
    if not has("prctl"):
        return False
    import ctypes

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, number)
    return True


def wait_for_reader(seconds: float) -> None:
    """Wait at most ``seconds`` until the launcher has read standard error, if that is a pipe."""
    end = time.monotonic() + seconds
    with suppress(ImportError, OSError):
        from fcntl import ioctl
        from termios import FIONREAD

        while stat.S_ISFIFO(os.fstat(2).st_mode) and any(ioctl(2, FIONREAD, bytes(4))):
            if time.monotonic() > end:
                return
            time.sleep(0.001)
