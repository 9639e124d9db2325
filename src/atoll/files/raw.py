"""`tofile` and `fromfile`: files without a header, in which each rank writes and reads its own elements."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..comm.world import World, current_world
from ..lazy.agreement import in_step
from ..lazy.conversion import default_place
from ..lazy.fallback import by_numpy
from ..lazy.layouts import laid_out
from ..lazy.sections import section_of
from ..lazy.views import Handle
from .collective import display
from .npy import Header, path_of, read, same_header
from .replacement import NewFile
from .transport import write_elements
from .writers import collective_writer


def _parts(world: World, path: str, a: Any, sep: str = "", format: str = "%s") -> Any:
    """``a.tofile`` on all ranks, in binary. Collective."""
    if sep or not isinstance(a, Handle):
        return NotImplemented
    section = section_of(a, world)
    with NewFile(world, path, "tofile") as file:
        write_elements(file, section, 0)
    return None


tofile = collective_writer(np.ndarray.tofile, 1, "fid", parts=_parts)


@display("reading")
def fromfile(
    file: Any,
    dtype: Any = float,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    *,
    like: Any = None,
    layout: Any = None,
) -> Any:
    """Construct an array from data in a text or binary file, as ``numpy.fromfile``.

    On several ranks, each reads its own part of a large array in a binary file that is named by its path. ``layout`` is the
    layout of the result: an :class:`atoll.Layout`, or its maps alone, such as ``"b"``. With ``layout``, the call is collective.
    """
    world, path, kind = current_world(), path_of(file), np.dtype(dtype)
    plain = {"dtype": dtype, "count": count, "sep": sep, "offset": offset}
    if like is not None:
        plain["like"] = like
    alone = world.size == 1 and layout is None
    if alone or path is None or sep or like is not None or kind.hasobject or not kind.itemsize:
        return laid_out(by_numpy(np.fromfile, (file,), plain), layout)
    header, error = None, None
    try:
        rest = max(os.stat(path).st_size - offset, 0) // kind.itemsize
        length = rest if count < 0 else min(count, rest)
        header = Header((length,), False, kind, offset)
    except OSError as raised:
        error = raised
    if layout is None and (header is None or default_place(header.shape) is None):
        return by_numpy(np.fromfile, (file,), plain)
    in_step(world, "fromfile", path, str(kind), count, offset, repr(layout))
    header = same_header(world, path, header, error, "np.fromfile")
    return read(world, path, header, layout, "np.fromfile")
