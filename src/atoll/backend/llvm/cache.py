"""Compiled kernels on disk, so that the next program starts with them.

One file per kernel, named by a digest of everything that the machine code depends on
(:func:`key_of`). An object file is loaded into the process as code, and the loader trusts it: a
truncated one crashes, a flipped bit computes something else. So

* the folder must belong to this user and be writable by no other user, or no cache is used;
* so must a file, which has to be a regular one: no pipe is waited for, no link followed, no device read;
* a file carries a checksum over its key and its contents, which is verified before the
  bytes are handed out; a file that fails is removed;
* a file appears by renaming, complete or not at all, so processes need no locks.

The ranks of a node share the kernels that one of them has loaded or compiled (``context.node_store``).

No function raises for the state of a disk: an unusable cache is treated as no cache, and
:func:`describe` gives the reason. The folder is kept under :data:`LARGEST` bytes by removing the least
recently used kernels.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Callable
from functools import cache, partial
from typing import TypeVar

from ..._version import __version__
from ...config import config
from ...context import node_store
from ...context.interrupts import passed_on, tolerated

FORMAT = 1
"""The number of the file format; part of every key."""

LARGEST = 64 << 20
"""The most bytes that the folder may hold."""

_MAGIC = b"atoll kernel\n"
_DIGEST = 32
_BLOCK = 4096  # a file occupies whole blocks of the disk
_DAY = 86_400.0

_NAME = re.compile(r"[0-9a-f]{40}|\.[0-9a-f]{40}\.\d+\.[0-9a-f]+")

_TURN = 128
"""One in this number of stored kernels, from any process, triggers a measurement of the folder."""

_written = 0  # bytes that this process has stored since it last measured the folder


_Result = TypeVar("_Result")


class _UnusableError(Exception):
    """The reason for no cache."""


def key_of(*parts: object) -> str:
    """The name of a kernel that depends on ``parts``, by their ``str``, and on this version of atoll.

    The caller passes the versions of LLVM and libm, the processor and its features, and
    the text of the kernel's specification.
    """
    digest = hashlib.blake2b(digest_size=20)
    for part in (FORMAT, __version__, _sources(), *parts):
        text = str(part).encode()
        # Lengths keep ('ab', 'c') and ('a', 'bc') apart.
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text)
    return digest.hexdigest()


@cache
def _sources() -> str:
    """A digest of this package's own code: a changed code generator never meets its old kernels."""
    folder = os.path.dirname(os.path.abspath(__file__))
    return node_store.once(f"sources\n{folder}".encode(), lambda: _digest_of(folder)).decode()


def _digest_of(folder: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    with tolerated(OSError):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest().encode()


def load_or_make(key: str, make: Callable[[], bytes], effort: bytes = b"") -> bytes:
    """The data stored under ``key``, if they begin with at least this ``effort``; else the data of ``make()``, which are stored. One rank
    of a node does it for all."""

    def loaded_or_made() -> bytes:
        data = load(key)
        if data is None or data[: len(effort)] < effort:
            data = make()
            store(key, data)
        return data

    return node_store.once(b"\n".join((b"kernel", key.encode(), effort)), loaded_or_made)


def load(key: str) -> bytes | None:
    """The data stored under ``key``, or None if there are none, or damaged ones."""
    try:
        return _in_folder(partial(_read, key))
    except (OSError, _UnusableError) as problem:
        passed_on(problem)
        return None


def store(key: str, data: bytes) -> bool:
    """Keep ``data`` under ``key``; False if that was not possible."""
    try:
        _in_folder(partial(_write, key, data), create=True)
        return True
    except (OSError, _UnusableError) as problem:
        passed_on(problem)
        return False


def describe() -> str:
    """One line for users with the location and size of the kernel cache, or the reason for no cache."""
    where = os.path.abspath(path() or "")
    try:
        sizes = [_occupied(size) for _, size, _ in _in_folder(_files, create=True)]
        held = f"{sum(sizes) / 2**20:.1f} MiB of at most {LARGEST >> 20}"
        return f"{where}: {len(sizes)} kernels, {held}"
    except _UnusableError as error:
        return f"no kernel cache: {error}"
    except OSError as error:
        return f"no kernel cache: {where}: {error.strerror}"


def clear() -> None:
    """Remove all kernels."""
    with tolerated(OSError, _UnusableError):
        _in_folder(_remove_all)


def _remove_all(folder: int) -> None:
    for _, _, name in _files(folder):
        with tolerated(OSError):
            os.unlink(name, dir_fd=folder)


def path() -> str | None:
    """The folder that the settings name, whether or not it can be used."""
    setting = config.settings().kernel_cache
    if setting == "off":
        return None
    if setting != "auto":
        return os.path.expanduser(setting)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        base = os.path.expanduser("~/.cache")
    return f"{base}/atoll/kernels" if base.startswith("/") else None


def _in_folder(work: Callable[[int], _Result], create: bool = False) -> _Result:
    """Work in the folder, open and verified. All files are reached through its descriptor, so that
    no process can put another folder in its place after the check."""
    name = path()
    if name is None:
        raise _UnusableError("it is switched off, or there is no home folder")
    if create:
        os.makedirs(name, mode=0o700, exist_ok=True)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _check_owner(name, os.fstat(folder))
        return work(folder)
    finally:
        os.close(folder)


def _check_owner(name: str, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise _UnusableError(f"{name} belongs to user {status.st_uid}, not to {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        raise _UnusableError(f"{name} has mode {mode:o}; only its owner may write to it")


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + b"\n" + data, digest_size=_DIGEST).digest()


def _read(key: str, folder: int) -> bytes | None:
    # Not blocking: to open a pipe would wait for a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(key, flags, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise _UnusableError(f"{key} is not a compiled kernel")
        _check_owner(key, status)
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(status.st_size)
        start = len(_MAGIC) + _DIGEST
        data = content[start:]
        if content[:start] != _MAGIC + _checksum(key, data):
            os.unlink(key, dir_fd=folder)
            return None
        if time.time() - status.st_mtime > _DAY:  # in use: the last to be evicted
            with tolerated(OSError):
                os.utime(descriptor)
        return data
    finally:
        os.close(descriptor)


def _write(key: str, data: bytes, folder: int) -> None:
    global _written
    temporary = f".{key}.{os.getpid()}.{os.urandom(4).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
        with open(descriptor, "wb") as file:
            file.write(_MAGIC + _checksum(key, data) + data)
        os.rename(temporary, key, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with tolerated(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    _written += _occupied(len(data))
    if _written >= LARGEST // 16 or int(key, 16) % _TURN == 0:
        _written = 0
        _evict(folder)


def _occupied(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _files(folder: int) -> list[tuple[float, int, str]]:
    """(last use, size, name) of every kernel file; other processes may be removing some, and
    files with other names belong to a user who chose this folder for more than kernels."""
    files = []
    with os.scandir(folder) as entries:
        for entry in filter(lambda entry: _NAME.fullmatch(entry.name), entries):
            with tolerated(OSError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    files.append((status.st_mtime, status.st_size, entry.name))
    return files


def _evict(folder: int) -> None:
    """Remove half-written files of dead processes, and the oldest kernels beyond the limit."""
    files = sorted(_files(folder))
    total = sum(_occupied(size) for _, size, _ in files)
    limit = LARGEST if total <= LARGEST else LARGEST * 3 // 4
    hour_ago = time.time() - 3600.0
    for used, size, name in files:
        if total > limit or (name.startswith(".") and used < hour_ago):
            with tolerated(OSError):
                os.unlink(name, dir_fd=folder)
            total -= _occupied(size)
