"""Functions that write arrays to files, where several ranks call them.

Of arrays that lie on ranks one rank writes for all that name the same file. The others return when it is
complete, with its error where there is one. Ranks that name files of their own (``BytesIO``, a temporary file) write
each its own, and so does every rank that calls with arrays that all have. A file with a name appears whole under
it: it is written under another name beside it first.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import numpy as np

from ..comm.in_step import bcast_object, is_same
from ..comm.world import World, current_world
from .fallback import Given, arrays_among, by_numpy
from .spread import in_step, world_of
from .views import any_deferred

WHAT = "the writing of a file"

Write = Callable[[Any], None]


def writing(original: Any, place: int, name: str, suffix: str = "") -> Callable[..., None]:
    """``original`` for several ranks; its file is the argument at ``place``, or called ``name``, and ends by ``suffix``."""

    def function(*args: Any, **options: Any) -> None:
        named = name in options
        if current_world().size == 1 or not (named or len(args) > place):
            return by_numpy(original, args, options)  # type: ignore[no-any-return]
        if any_deferred(args, options):
            return by_numpy(original, args, options)  # type: ignore[no-any-return]
        file = options[name] if named else args[place]
        others = [value for k, value in enumerate(args) if named or k != place]
        more = {key: value for key, value in options.items() if key != name}
        world = world_of(arrays_among((others, more.values())))
        if world is not None:
            in_step(world, original.__name__, *others, *([more] if more else []))
        target = _target(file, suffix)
        together = world is not None and is_same(world.communicator, _mark(target, world), WHAT)
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
    function.__wrapped__ = original  # type: ignore[attr-defined]
    return function


def _target(file: Any, suffix: str) -> Any:
    """The file, or the whole of its name."""
    if hasattr(file, "write"):
        return file
    path = os.fspath(file)
    return path if path.endswith(suffix) else path + suffix


def _mark(target: Any, world: World) -> int:
    """A number that is equal on the ranks that name one file, and differs where each has a file of its own."""
    if isinstance(target, str | bytes):
        words = os.fsencode(os.path.realpath(target))
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
    error, place = None, None
    if world.rank == 0:
        try:
            _appearing(target, write)
            if hasattr(target, "flush"):
                target.flush()
            if hasattr(target, "tell") and target.seekable():
                place = target.tell()
        except Exception as raised:
            error = raised
    told, place = bcast_object(world.communicator, (error, place), 0, WHAT)
    if told is not None:
        raise told if error is None else error
    if place is not None and world.rank:
        target.seek(place)


def _appearing(target: Any, write: Write) -> None:
    """Write to an open file, or write a file that appears under its name when it is whole."""
    if not isinstance(target, str | bytes):
        return write(target)
    path = os.path.realpath(os.fsdecode(target))
    known = os.path.exists(path)
    beside = os.path.join(
        os.path.dirname(path), f".{os.urandom(6).hex()}{os.path.splitext(path)[1]}"
    )
    if known and not (os.path.isfile(path) and os.access(path, os.W_OK)):
        return write(target)  # a device, or what NumPy refuses
    try:
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError:
        return write(
            target
        )  # NumPy says what is wrong with the folder, or writes into a file that is there
    try:
        write(beside)
        if known:
            os.chmod(beside, os.stat(path).st_mode & 0o7777)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    return None


save = writing(np.save, 0, "file", ".npy")
savez = writing(np.savez, 0, "file", ".npz")
savez_compressed = writing(np.savez_compressed, 0, "file", ".npz")
savetxt = writing(np.savetxt, 0, "fname")
tofile = writing(np.ndarray.tofile, 1, "fid")
dump = writing(np.ndarray.dump, 1, "file")
write_array = writing(np.lib.format.write_array, 0, "fp")
