"""Collective versions of NumPy's functions that write arrays to files.

A distributed array goes into one file if all ranks name the same file: each rank writes its own part if the format allows
it; otherwise rank 0 writes the whole file. The other ranks return when it is complete, or raise its error.
Ranks that name different files (``BytesIO``, a temporary file) write one file each, and so do ranks whose arrays are not
distributed. A named file is written under a temporary name beside it, so that it appears complete.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np

from ..comm.in_step import is_same
from ..comm.world import World
from ..context.interrupts import passed_on, tolerated
from ..lazy.agreement import in_step, world_of
from ..lazy.fallback import Given, by_numpy
from ..lazy.views import any_deferred, arrays_among
from .collective import display, on_rank_0
from .replacement import create, name_beside, name_in, take_name

WHAT = "the writing of a file"

Write = Callable[[Any], None]
Parts = Callable[..., Any]
"""Function that writes its arguments into the file at a path, on all ranks of a world; else ``NotImplemented``."""


def collective_writer(
    original: Any, position: int, name: str, suffix: str = "", parts: Parts | None = None
) -> Callable[..., None]:
    """Wrap ``original`` for several ranks. The file is its argument at ``position`` or keyword ``name``; ``suffix`` is appended."""

    @display("writing", position)
    def function(*args: Any, **options: Any) -> None:
        named = name in options
        if not (named or len(args) > position) or any_deferred(args, options):
            return by_numpy(original, args, options)  # type: ignore[no-any-return]
        file = options[name] if named else args[position]
        others = [value for k, value in enumerate(args) if named or k != position]
        more = {key: value for key, value in options.items() if key != name}
        world = world_of(arrays_among((others, more)))
        if world is not None:
            in_step(world, original.__name__, *others, *([more] if more else []))
        target = _target(file, suffix)
        collective = world is not None and is_same(world.communicator, _mark(target, world), WHAT)
        if collective and parts is not None and _is_new(target):
            assert world is not None
            path = os.path.realpath(os.fsdecode(target))
            if parts(world, path, *others, **more) is not NotImplemented:
                return None
        operands = Given()
        plain, options = (
            [operands.give(value) for value in others],
            {k: operands.give(v) for k, v in more.items()},
        )

        def write(to: Any) -> None:
            if named:
                original(*plain, **{name: to}, **options)
            else:
                original(*plain[:position], to, *plain[position:], **options)

        if collective:
            assert world is not None
            return _for_all(world, target, write)
        return _appearing(target, write)

    function.__name__ = function.__qualname__ = original.__name__
    function.__doc__ = original.__doc__
    module = getattr(original, "__module__", None) or ""
    function.__module__ = module.replace("numpy", "atoll", 1) or __name__
    function.__wrapped__ = original  # type: ignore[attr-defined]
    return function


def _target(file: Any, suffix: str) -> Any:
    """An open file unchanged, or the path of a file with its suffix."""
    if hasattr(file, "write"):
        return file
    path = os.fspath(file)
    return path if path.endswith(suffix) else path + suffix


def _is_new(target: Any) -> bool:
    """True if the target is the path of no file, or of a plain file that this user can write to."""
    if not isinstance(target, str | bytes):
        return False
    path = os.path.realpath(target)
    return not os.path.exists(path) or (os.path.isfile(path) and os.access(path, os.W_OK))


def _mark(target: Any, world: World) -> int:
    """A hash that is equal on ranks with the same target and differs on ranks with different files."""
    if isinstance(target, str | bytes):
        words = os.fsencode(os.path.realpath(target)) + b" new" * _is_new(target)
    else:
        words = _inode(target) or b"own %d" % world.rank
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "little")


def _inode(file: Any) -> bytes:
    """The identity (device and inode) of an open unpacked file; empty for other streams, such as compressed ones."""
    raw = getattr(file, "buffer", file) if isinstance(file, io.TextIOWrapper) else file
    raw = getattr(raw, "raw", raw)
    if not isinstance(raw, io.FileIO):
        return b""
    status = os.fstat(raw.fileno())
    return b"file %d %d" % (status.st_dev, status.st_ino)


def _for_all(world: World, target: Any, write: Write) -> None:
    """Write on rank 0, and move the open files of the other ranks to its final position."""

    def act() -> int | None:
        _appearing(target, write)
        if hasattr(target, "flush"):
            target.flush()
        if hasattr(target, "tell") and target.seekable():
            return target.tell()  # type: ignore[no-any-return]
        return None

    offset = on_rank_0(world.communicator, act, WHAT)
    if offset is not None and world.rank:
        target.seek(offset)


def _appearing(target: Any, write: Write) -> None:
    """Write to an open file, or write a named file that appears when it is complete."""
    if not _is_new(target):  # an open file, a device, or a target that NumPy refuses
        return write(target)
    path = os.path.realpath(os.fsdecode(target))
    hidden = name_beside(path)
    try:
        if not _created(hidden, path):
            return write(target)
        write(hidden)
        take_name(hidden, path)
    except BaseException as error:
        with tolerated(OSError):
            os.unlink(hidden)
            name_in(error, path)
        raise
    return None


def _created(hidden: str, path: str) -> bool:
    try:
        return create(hidden, path)
    except OSError as problem:
        passed_on(problem)
        return False  # NumPy raises the error of the file or its folder


dump = collective_writer(np.ndarray.dump, 1, "file")
