"""`np.load` on ranks: from the first bytes of a file to its reader."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..comm.world import current_world
from ..errors import FileFormatError
from ..lazy.agreement import in_step
from ..lazy.conversion import default_place
from ..lazy.fallback import by_numpy
from ..lazy.layouts import laid_out
from .npy import LONGEST_HEADER, mapped, path_of, read, read_header, same_header
from .npz import Archive
from .shown import shown


@shown("reading")
def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    *,
    max_header_size: int = LONGEST_HEADER,
    layout: Any = None,
) -> Any:
    """Load an array from a ``.npy`` file, arrays from a ``.npz`` file, or a pickled object.

    As ``numpy.load``. On several ranks, each reads its own part of a large array. ``layout`` is the layout of the result: an
    :class:`atoll.Layout`, or its maps alone, such as ``"bn"``. With ``layout`` or ``mmap_mode``, the call is collective.
    """
    options = {
        "mmap_mode": mmap_mode, "allow_pickle": allow_pickle, "fix_imports": fix_imports, "encoding": encoding,
        "max_header_size": max_header_size,
    }  # fmt: skip
    world, path = current_world(), path_of(file)
    if path is None or allow_pickle or (world.size == 1 and layout is None):
        return laid_out(by_numpy(np.load, (file,), options), layout)
    header, error = None, None
    try:
        with open(path, "rb") as stream:
            begin = stream.read(4)
            if begin == b"PK\x03\x04" and layout is None:
                return Archive(path, max_header_size=max_header_size)
            if begin[:2] == b"\x93N" or layout is not None:
                stream.seek(0)
                header = read_header(stream, path, max_header_size)
    except (OSError, FileFormatError) as raised:
        error = raised
    if layout is None and (header is None or world.size == 1 or (
        mmap_mode is None and default_place(header.shape) is None
    )):  # fmt: skip
        return by_numpy(np.load, (file,), options)
    in_step(world, "load", path, mmap_mode, repr(layout))
    header = same_header(world, path, header, error, "np.load")
    if mmap_mode is not None:
        return mapped(world, path, header, mmap_mode, layout)
    return read(world, path, header, layout)
