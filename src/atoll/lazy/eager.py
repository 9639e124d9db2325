"""Eager operations: NumPy computes at call sites where recording has gained nothing (see ``profiles``).

All that is left to find out here is whether the operands are there, as memory of this process alone.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Protocol

import numpy as np

from ..context.caches import Memo
from ..context.call_sites import Site, site_from
from ..context.threads import turn
from ..graph.geometry import Geometry
from ..graph.node import Form, Node, settled, view_of
from .float_errors import free
from .making import of_node
from .profiles import eager_at, eager_marks
from .views import Handle


class Met(Protocol):
    """What is known of operands that were met before; see ``lazy.elementwise``."""

    @property
    def form(self) -> Form:
        """What the operation's nodes have in common."""

    @property
    def geometry(self) -> Geometry:
        """That of the result."""


def at_call(ufunc: np.ufunc, found: Met, one: Any, two: Any, frame: FrameType) -> Any:
    """The result by NumPy, where recording such an operation at this line has gained nothing; else ``None``."""
    profile = eager_at(site_from(frame))
    if profile is None:
        return None
    first = _memory_of(one)
    if first is None:
        profile.recorded()
        return None
    if two is None:
        result = ufunc(first)
    else:
        second = _memory_of(two)
        if second is None:
            profile.recorded()
            return None
        result = ufunc(first, second)
    geometry = found.geometry
    if result.dtype is not geometry.dtype or result.strides != geometry.strides:
        return None
    return of_node(settled(result, geometry))


def at_call_in_place(
    ufunc: np.ufunc, found: Met, target: Handle, other: Any, site: Site | None
) -> bool:
    """Let NumPy do ``target += other`` where recording it at this line has gained nothing; whether it did."""
    profile = eager_at(site)
    if profile is None:
        return False
    cell = target._cell
    second = _memory_of(other)
    if second is None or _memory_of(target) is None:
        profile.recorded()
        return False
    with turn.lock:
        if cell.node.value is None or not cell.is_unshared():
            return False
        value = cell.own()
        value.program = None
        ufunc(value.array, second, out=value.array)
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
        found = _conversions.get((handle._geometry.number, dtype))
    except TypeError:  # what says a dtype may be a list
        return None
    if found is None:
        return None
    mark, geometry = found
    profile = eager_at(site_from(frame)) if mark in eager_marks and free() else None
    if profile is None:
        return None
    memory = _memory_of(handle)
    if memory is None:
        profile.recorded()
        return None
    result = memory.astype(geometry.dtype)
    return of_node(settled(result, geometry)) if result.strides == geometry.strides else None


def _memory_of(value: Any) -> Any:
    """An operand as NumPy takes it; ``None`` for an array that is not computed yet, or not for this process alone."""
    if type(value) is not Handle.array_type and not isinstance(value, Handle):
        return value
    if value._np is not None:
        return value._np
    node = value._cell.node
    there = node.value
    if there is None or node.place is not None:
        return None
    geometry = value._geometry
    return there.array if geometry.is_base else view_of(there.array, geometry)
