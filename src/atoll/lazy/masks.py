"""Boolean indexing without moving elements, where possible.

``Z[I]`` has as many elements as ``I`` is true, so the mask is evaluated; the elements are not:
they become a ``compress`` node. Arithmetic on such nodes is recorded as on any array. When the
result is assigned back through the same mask, ``Z[I] = Z[I]**2 + C[I]``, everything is undone:
the same arithmetic on the whole arrays, stored where the mask is true, in one loop. Read
in any other way, a ``compress`` node is computed by NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import config
from ..context.call_sites import user_site
from ..context.threads import turn
from ..graph.geometry import dense
from ..graph.node import Node
from ..ops import folds
from ..ops.elementwise import is_native
from ..ops.folds import FOLDS
from ..ops.table import COMPRESS
from .agreement import place_of
from .conversion import of_view
from .elementwise import assign, operand_of
from .evaluation import evaluate
from .operations import cast, record
from .views import Cell, Handle

_COUNT = np.dtype(np.int64)


def _mask_of(handle: Handle, key: Any) -> Node | None:
    """The node of a mask for all of the array, if kernels can use it."""
    geometry = handle._geometry
    if not (isinstance(key, (Handle, np.ndarray)) and is_native(geometry.dtype) and geometry.ndim):
        return None
    array: Any = key
    if array.dtype != np.bool_ or array.shape != geometry.shape:
        return None
    mask = operand_of(key)
    if mask is None or mask.now or type(mask.node) is not Node:
        return None
    return mask.node


def compressed(handle: Handle, key: Any) -> Any:
    """``handle[mask]`` as a node, or ``None`` to leave the selection to NumPy."""
    if not isinstance(key, Handle) or key._np is not None or not key._geometry.is_base:
        return None
    mask = None if handle._cell.held() or key._cell.held() else _mask_of(handle, key)
    if mask is None:
        return None
    home = place_of(handle)
    if home is not mask.place and None not in (home, mask.place):
        return None
    home = home or mask.place
    if home is not None and not (home.is_boxes and home.held_once):
        return None
    count = _true_elements(key._cell)
    if key._cell.node.place is not mask.place:  # counting has laid it out evenly
        return None
    if home is not None and count < max(config.results, 2):
        return None  # every rank gets all of them
    node = record(
        COMPRESS,
        (handle._node(), key._cell.node),
        dense((count,), handle._geometry.dtype),
        site=user_site(),
    )
    cell = type(handle._cell)(node)
    return of_view(cell, node.geometry)


def _true_elements(cell: Cell) -> int:
    """Number of true elements of a mask, counted once; on ranks by the loops that compute the mask, and added up."""
    mask = cell.node
    value = cell.settle() if mask.place is None else mask.value
    if value is None or (value.count < 0 and mask.place is not None):
        ones = cast(mask, _COUNT)
        axes = tuple(range(mask.geometry.ndim))
        total = folds.fold(FOLDS[np.add], ones, dense((), _COUNT), axes, False, None)
        evaluate((mask, total))
        cell.sites = None
        value = mask.value
        assert value is not None
        assert total.value is not None
        if value.count < 0:  # a value of a model knows its own
            value.count = int(total.value.array)
    if value.count < 0:
        value.count = int(np.count_nonzero(value.array))
    return value.count


def put_masked(handle: Handle, key: Any, value: Any) -> bool:
    """``handle[mask] = value`` for a number, or a value made with the same mask."""
    mask = _mask_of(handle, key)
    if mask is None:
        return False
    geometry = handle._geometry
    if isinstance(value, Handle) and value._np is None and value._geometry.is_base:
        if value._geometry.ndim:
            with turn.lock:
                whole = _whole(value._cell.node, mask, {})
            if whole is None or whole.geometry.shape != geometry.shape:
                return False
            value = of_view(type(handle._cell)(whole), whole.geometry)
    elif not isinstance(value, (int, float, complex, np.generic)):
        return False
    return assign(handle._cell, geometry, value, mask)


def _whole(node: Node, mask: Node, memory: dict[int, Node | None]) -> Node | None:
    """The arithmetic of a node made of elements under ``mask``, on the whole arrays."""
    if id(node) in memory:
        return memory[id(node)]
    result: Node | None = None
    if node.value is None and node.op.selects:
        result = node.args[0] if node.args[1] is mask else None
    elif node.value is None and node.op.elementwise:
        args: list[Any] = []
        for arg in node.args:
            if type(arg) is not Node:
                args.append(arg)
                continue
            inner = _whole(arg, mask, memory)
            if inner is None:
                break
            args.append(inner)
        else:
            shape = next(a.geometry.shape for a in args if type(a) is Node)
            result = record(
                node.op,
                tuple(args),
                dense(shape, node.geometry.dtype),
                node.params,
                node.name,
                node.site,
            )
    memory[id(node)] = result
    return result
