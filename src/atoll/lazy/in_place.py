"""In-place operators: ``a += b`` makes a value and assigns it, or NumPy writes into the memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..context.call_sites import user_site
from ..graph.geometry import Geometry
from ..graph.node import Node
from . import pieces
from .calling import call, refuse
from .deferred import recorded
from .elementwise import apply, assign, defers, operate
from .fallback import by_numpy
from .float_errors import free
from .making import answered, has_methods, of_node, plain
from .views import Handle, any_deferred


def in_place_operator(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """The method of an operator that writes into its left side."""
    forward = partial(operate, ufunc)
    return lambda self, other: in_place(ufunc, self, other, forward)


def in_place(ufunc: np.ufunc, target: Any, other: Any, forward: Any = None) -> Any:
    """``ufunc(target, other, out=target)``; ``forward`` is the operator, if it is one's work."""
    on_ranks = target._np is None and target._cell.node.place is not None
    short = on_ranks and forward is not None and target._geometry.short
    if short and pieces.joined(ufunc, target, other):
        return target
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

    def write(out: Any) -> None:
        if ufunc is np.power and forward is not None:  # the operator has other bits
            out **= other
        else:
            ufunc(out, other, out=out)

    target._mutate(write)
    return target


def _assign_node(target: Any, value: Node) -> None:
    handle = of_node(value)
    del value
    if not assign(target._cell, target._geometry, handle):
        array = plain(handle)
        target._mutate(lambda out: np.copyto(out, array, casting="same_kind"))


def _may_write(target: Handle) -> bool:
    return target._cell.writeable and target._geometry.writeable
