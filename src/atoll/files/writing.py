"""NumPy's functions that write arrays to files, where several ranks call them.

Arrays that lie on ranks go into one file if all ranks name the same: each rank writes its own part where the format lets
it, and otherwise one rank writes for all. The others return when it is complete, with its error where it failed.
Ranks that name files of their own (``BytesIO``, a temporary file) write each its own, and so does every rank that calls
with arrays that all have. A file with a name appears whole under it: it is written under another name beside it first.
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
from .replacement import create, name_beside, name_in, take_name
from .shown import shown
from .together import done

WHAT = "the writing of a file"

Write = Callable[[Any], None]
Parts = Callable[..., Any]
"""Writes the arguments into the file at a path, all ranks of a world together; ``NotImplemented`` where it cannot."""


def writing(
    original: Any, place: int, name: str, suffix: str = "", parts: Parts | None = None
) -> Callable[..., None]:
    """``original`` for several ranks; its file is the argument at ``place``, or called ``name``, and ends by ``suffix``."""

    @shown("writing", place)
    def function(*args: Any, **options: Any) -> None:
        named = name in options
        if not (named or len(args) > place) or any_deferred(args, options):
            return by_numpy(original, args, options)  # type: ignore[no-any-return]
        file = options[name] if named else args[place]
        others = [value for k, value in enumerate(args) if named or k != place]
        more = {key: value for key, value in options.items() if key != name}
        world = world_of(arrays_among((others, more.values())))
        if world is not None:
            in_step(world, original.__name__, *others, *([more] if more else []))
        target = _target(file, suffix)
        together = world is not None and is_same(world.communicator, _mark(target, world), WHAT)
        if together and parts is not None and _is_new(target):
            assert world is not None
            path = os.path.realpath(os.fsdecode(target))
            if parts(world, path, *others, **more) is not NotImplemented:
                return None
        given = Given()
        plain, options = (
            [given.give(value) for value in others],
            {k: given.give(v) for k, v in more.items()},
        )

        def write(to: Any) -> None:
            if named:
                original(*plain, **{name: to}, **options)
            else:
                original(*plain[:place], to, *plain[place:], **options)

        if together:
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
    """The file, or the whole of its name."""
    if hasattr(file, "write"):
        return file
    path = os.fspath(file)
    return path if path.endswith(suffix) else path + suffix


def _is_new(target: Any) -> bool:
    """True if a file is to be written under its name, rather than into something that exists."""
    if not isinstance(target, str | bytes):
        return False
    path = os.path.realpath(target)
    return not os.path.exists(path) or (os.path.isfile(path) and os.access(path, os.W_OK))


def _mark(target: Any, world: World) -> int:
    """A number that is equal on the ranks that name one file, and differs where each has a file of its own."""
    if isinstance(target, str | bytes):
        words = os.fsencode(os.path.realpath(target)) + b" new" * _is_new(target)
    else:
        words = _inode(target) or b"own %d" % world.rank
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "little")


def _inode(file: Any) -> bytes:
    """Which file of the system an open file writes into, if it writes what it is given, and nothing else."""
    raw = getattr(file, "buffer", file) if isinstance(file, io.TextIOWrapper) else file
    raw = getattr(raw, "raw", raw)
    if not isinstance(raw, io.FileIO):
        return b""
    status = os.fstat(raw.fileno())
    return b"file %d %d" % (status.st_dev, status.st_ino)


def _for_all(world: World, target: Any, write: Write) -> None:
    """The first rank writes. The others' open files go on where its ends."""

    def act() -> int | None:
        _appearing(target, write)
        if hasattr(target, "flush"):
            target.flush()
        if hasattr(target, "tell") and target.seekable():
            return target.tell()  # type: ignore[no-any-return]
        return None

    place = done(world.communicator, act, WHAT)
    if place is not None and world.rank:
        target.seek(place)


def _appearing(target: Any, write: Write) -> None:
    """Write to an open file, or write a file that appears under its name when it is whole."""
    if not _is_new(target):  # an open file, a device, or what NumPy refuses
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
        return False  # NumPy says what is wrong with the file or its folder


dump = writing(np.ndarray.dump, 1, "file")
