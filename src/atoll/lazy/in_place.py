"""In-place operators: recorded, or computed at once by NumPy.

``a += b`` makes a value and assigns it. Where the array's memory is there, no other array shows it, and the numbers are few,
NumPy writes into it; where such operands were met before, all that is asked is whether another array shows the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..context.call_sites import user_site
from ..context.threads import turn
from ..graph.geometry import Geometry
from ..graph.node import Node, view_of
from ..ops.elementwise import FAST_SCALARS
from . import pieces
from .calling import call, refuse
from .deferred import recorded
from .elementwise import apply, assign, defers, operate
from .fallback import by_numpy
from .float_errors import free
from .making import answered, has_methods, is_at_hand, of_node, plain, present
from .views import Handle, any_deferred


def in_place_operator(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """The method of an operator that writes into its left side."""
    forward = partial(operate, ufunc)

    def method(self: Any, other: Any) -> Any:
        small = self._np
        kind = type(other)
        if small is not None:
            second = other._np if kind is Handle.array_type else other
            if kind in FAST_SCALARS or (second is not other and second is not None):
                if ufunc is np.power:  # of which NumPy's operator has shorter ways, with other bits
                    small **= second
                else:
                    ufunc(small, second, out=small)
                return self
        elif self._geometry.short and _done_in_place(ufunc, self, other):
            return self
        del small  # only the handle shall refer to the memory: see lazy.deferred
        return in_place(ufunc, self, other, forward)

    return method


def _done_in_place(ufunc: np.ufunc, target: Handle, other: Any) -> bool:
    """Let NumPy do ``target += other`` with a few numbers that are there, and that no other array shows; whether it did."""
    cell, geometry = target._cell, target._geometry
    if cell.node.place is not None:
        return pieces.joined(ufunc, target, other)
    if cell.node.value is None or not is_at_hand(geometry.size):
        return False
    if not (cell.writeable and geometry.writeable):
        return False
    if type(other) is Handle.array_type:
        second = other._np
        if second is None:
            second = present(other)
        if second is None:
            return False
    elif type(other) in FAST_SCALARS:
        second = other
    else:
        return False
    with turn.lock:
        if cell.node.value is None or not cell.is_unshared():
            return False
        memory = view_of(cell.own().array, geometry)
        ufunc(memory, second, out=memory)
    return True


def in_place(ufunc: np.ufunc, target: Any, other: Any, forward: Any = None) -> Any:
    """``ufunc(target, other, out=target)``; ``forward`` is the operator, if it is one's work."""
    if other is None or has_methods(type(other)):
        if defers(other, in_place=True):
            return NotImplemented
        return call(ufunc, (target, other), {"out": target})
    other = answered(other)
    if target._np is None and not free() and not any_deferred(target, other):
        # what breaks a rule is written before it is told
        return by_numpy(ufunc, (target, other), {"out": target})
    if target._np is None and _may_write(target):
        try:
            result = apply(ufunc, (target, other)) if forward is None else forward(target, other)
        except ValueError:  # of two broken rules, NumPy names the cast
            refuse(ufunc, (target, other), (target,))
            raise
        own: Geometry = target._geometry
        if isinstance(result, Handle) and result._np is None:
            form: Geometry = result._geometry
            if form.shape == own.shape and (
                form.dtype == own.dtype or np.can_cast(form.dtype, own.dtype, "same_kind")
            ):
                value = result._cell.node
                del result
                if value.geometry is own and not target._cell.held() and free():
                    target._cell.write(own, value, None, user_site(), shared=False)
                else:
                    _assign_node(target, value)
                return target
        elif target._cell.node.place is not None and isinstance(result, Handle):
            small = result._np  # what every rank had in memory
            fits = small is not None and np.broadcast_shapes(small.shape, own.shape) == own.shape
            if fits and (
                pieces.put(target._cell, own, result) or assign(target._cell, own, result)
            ):
                return target
        del result
    if target._np is not None and any_deferred(other):
        recorded(target)
        return in_place(ufunc, target, other, forward)
    other = plain(other)
    target._mutate(lambda out: ufunc(out, other, out=out))
    return target


def _assign_node(target: Any, value: Node) -> None:
    handle = of_node(value)
    del value
    if not assign(target._cell, target._geometry, handle):
        array = plain(handle)
        target._mutate(lambda out: np.copyto(out, array, casting="same_kind"))


def _may_write(target: Handle) -> bool:
    return target._cell.writeable and target._geometry.writeable
