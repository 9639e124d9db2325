"""Eager operations: NumPy computes at call sites where recording has gained nothing (see ``profiles``).

All that is left to find out here is whether the operands are there, as memory of this process alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from ..context.caches import Memo
from ..context.call_sites import Site, site_from
from ..context.threads import turn
from ..graph.geometry import Geometry
from ..graph.node import Node, settled, view_of
from .float_errors import free
from .making import of_node
from .profiles import eager_at, eager_marks
from .views import Handle


def at_call(ufunc: np.ufunc, geometry: Geometry, site: Site | None, *operands: Any) -> Any:
    """The result by NumPy, where recording such an operation at this line has gained nothing; else ``None``."""
    memories = _memories(site, operands)
    return None if memories is None else _result(ufunc(*memories), geometry)


def at_call_in_place(ufunc: np.ufunc, target: Handle, other: Any, site: Site | None) -> bool:
    """Let NumPy do ``target += other`` where recording it at this line has gained nothing; whether it did."""
    cell = target._cell
    memories = _memories(site, (target, other))
    if memories is None:
        return False
    with turn.lock:
        if cell.node.value is None or not cell.is_unshared():
            return False
        value = cell.own()
        value.program = None
        ufunc(value.array, memories[1], out=value.array)
    return True


_conversions: Memo[Any, tuple[int, Geometry]] = Memo()
"""By the array's geometry and what was asked for: the mark and the geometry of the conversion."""


def remember_conversion(handle: Handle, dtype: Any, node: Node) -> None:
    """Note what ``astype`` of such an array was recorded as."""
    if type(dtype) is str or isinstance(dtype, (type, np.dtype)):
        mark = node.mark or node.marked()
        _conversions[handle._geometry.number, dtype] = mark, node.geometry


def converted_at_call(handle: Handle, dtype: Any, frame: FrameType) -> Any:
    """``astype`` by NumPy, where recording it at this line has gained nothing; else ``None``."""
    try:
        conversion = _conversions.get((handle._geometry.number, dtype))
    except TypeError:  # what says a dtype may be a list
        return None
    if conversion is None or conversion[0] not in eager_marks or not free():
        return None
    memories = _memories(site_from(frame), (handle,))
    geometry = conversion[1]
    return None if memories is None else _result(memories[0].astype(geometry.dtype), geometry)


def _result(array: Any, geometry: Geometry) -> Any:
    """What NumPy has made, if it lies in memory as the operation's results do."""
    if array.dtype is not geometry.dtype or array.strides != geometry.strides:
        return None
    return of_node(settled(array, geometry))


def _memories(site: Site | None, operands: Sequence[Any]) -> list[Any] | None:
    """The operands as NumPy takes them, where it shall compute at this line and they are all there."""
    profile = eager_at(site)
    if profile is None:
        return None
    memories = [_memory_of(operand) for operand in operands]
    if any(memory is None for memory in memories):
        profile.recorded()
        return None
    return memories


def _memory_of(value: Any) -> Any:
    """An operand as NumPy takes it; ``None`` for an array that is not computed yet, or not for this process alone."""
    if type(value) is not Handle.array_type and not isinstance(value, Handle):
        return value
    if value._np is not None:
        return value._np
    node = value._cell.node
    if node.value is None or node.place is not None:
        return None
    return view_of(node.value.array, value._geometry)
