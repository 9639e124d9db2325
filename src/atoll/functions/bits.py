"""Functions of the bits and bytes of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..collective import Section, bounded_line, redistributed
from ..comm.world import World
from ..layout import Layout
from ..layout.bounds import Bounds
from ..lazy.fallback import expect
from ..lazy.sections import line_of, small_or_there
from .blocks import by_blocks
from .operands import Operand, accepts
from .public import collective

Array = np.ndarray[Any, Any]


def _bits(original: Any, before: int, after: int) -> Callable[..., Any]:
    @accepts(a=Operand("bu", empty=False))
    def function(a: Any, /, axis: Any = None, *options: Any, world: World, **named: Any) -> Any:
        expect((axis is None or a.ndim == 1) and not options and "count" not in named)
        line = line_of(a, world)
        length = line.layout.size
        units = -(-length // before)
        width, longer = divmod(units, world.size)

        def dealt(times: int, length: int) -> Layout:
            """A line of units in even blocks, where a unit has a number of elements."""
            return bounded_line(Bounds(times * width, longer, length, world.size, more=times))

        line = redistributed(line, dealt(before, length))
        packed = original(line.block, **named)
        section = Section(packed, dealt(after, units * after), world.communicator)
        return small_or_there(section, world)

    return function


collective(np.packbits)(_bits(np.packbits, 8, 1))
collective(np.unpackbits)(_bits(np.unpackbits, 1, 8))


@collective(np.ndarray.byteswap)
@accepts(a=Operand())
def _byteswap(a: Any, inplace: bool = False, *, world: World) -> Any:
    swapped = by_blocks(np.ndarray.byteswap, [a], world)
    if not inplace:
        return swapped
    a[...] = swapped
    return a


def _part(a: Any, dtype: Any, offset: int) -> Any:
    """The real or the imaginary parts, if the bytes that are named are these."""
    part = {"F": np.float32, "D": np.float64}.get(a.dtype.char)
    expect(part and np.dtype(dtype) == part and offset in (0, np.dtype(part).itemsize))
    return a.imag if offset else a.real


@collective(np.ndarray.getfield)
def _getfield(a: Any, dtype: Any, offset: int = 0) -> Any:
    return _part(a, dtype, offset)


@collective(np.ndarray.setfield, writes=(0,))
def _setfield(a: Any, val: Any, dtype: Any, offset: int = 0) -> Any:
    _part(a, dtype, offset)[...] = val
    return None
