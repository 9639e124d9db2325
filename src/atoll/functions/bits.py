"""Functions of the bits and bytes of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..collective import Section, redistributed, uneven_line
from ..lazy.creation import asarray
from ..lazy.sections import line_of, small_or_there
from ..lazy.spread import world_of
from .blocks import arrays_of, by_blocks, world_among
from .public import collective

Array = np.ndarray[Any, Any]


def _bits(original: Any, before: int, after: int) -> Callable[..., Any]:
    def function(a: Any, /, axis: Any = None, *options: Any, **named: Any) -> Any:
        a = asarray(a)
        world = world_of([a])
        if world is None or a.dtype.kind not in "bu" or (axis is not None and a.ndim != 1):
            return NotImplemented
        if options or "count" in named or not a.size:
            return NotImplemented
        line = line_of(a, world)
        units = -(-line.layout.size // before)
        ends = np.linspace(0, units, world.size + 1).astype(np.int64) * before
        ends[-1] = line.layout.size
        line = redistributed(line, uneven_line(np.diff(ends)))
        packed = original(line.block, **named)
        counts = -(-np.diff(ends) * after // before)
        section = Section(packed, uneven_line(counts), world.communicator)
        return small_or_there(section, world)

    return function


collective(np.packbits)(_bits(np.packbits, 8, 1))
collective(np.unpackbits)(_bits(np.unpackbits, 1, 8))


@collective(np.ndarray.byteswap)
def _byteswap(a: Any, inplace: bool = False) -> Any:
    arrays, world = arrays_of(a), world_among(a)
    if arrays is None or world is None:
        return NotImplemented
    swapped = by_blocks(np.ndarray.byteswap, arrays, world)
    if not inplace:
        return swapped
    a[...] = swapped
    return a


def _part(a: Any, dtype: Any, offset: int) -> Any:
    """The real or the imaginary parts, if the bytes that are named are these."""
    part = {"F": np.float32, "D": np.float64}.get(a.dtype.char)
    if part is None or np.dtype(dtype) != part or offset not in (0, np.dtype(part).itemsize):
        return NotImplemented
    return a.imag if offset else a.real


@collective(np.ndarray.getfield)
def _getfield(a: Any, dtype: Any, offset: int = 0) -> Any:
    return _part(a, dtype, offset)


@collective(np.ndarray.setfield, writes=(0,))
def _setfield(a: Any, val: Any, dtype: Any, offset: int = 0) -> Any:
    part = _part(a, dtype, offset)
    if part is NotImplemented:
        return part
    part[...] = val
    return None
