"""Boolean indexing without moving elements, where possible.

``Z[I]`` has as many elements as ``I`` is true, so the mask is evaluated; the elements are not:
they become a ``compress`` node. Arithmetic on such nodes is recorded as on any array. When the
result is assigned back through the same mask, ``Z[I] = Z[I]**2 + C[I]``, everything is undone:
the same arithmetic on the whole arrays, stored where the mask is true, in one loop. Read
in any other way, a ``compress`` node is computed by NumPy.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from .. import policy
from ..collective import is_line, uneven_line
from ..collective.elements import picked_here, to_all
from ..collective.section import replicated
from ..comm.in_step import every, summed
from ..config import config
from ..context.call_sites import user_site
from ..context.expressions import is_assigned
from ..context.threads import turn
from ..graph.geometry import dense
from ..graph.node import Node
from ..ops.elementwise import is_native
from ..ops.placement import Place
from ..ops.table import COMPRESS
from .agreement import in_step, place_of
from .conversion import of_view
from .elementwise import assign, operand_of
from .operations import record
from .sections import of_section, section_of
from .views import Cell, Handle


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
    own = place_of(handle)
    if own is not mask.place and None not in (own, mask.place):
        return None
    home = own or mask.place
    params: tuple[Any, ...] = ()
    if home is None:
        count = _true_here(key._cell)
    elif not (home.is_boxes and home.held_once):
        return None
    else:
        counts = _true_elements(key._cell, home)
        if key._cell.node.place is not mask.place:  # counting has laid it out evenly
            return None
        count = sum(counts)
        if count < max(config.results, 2) and not is_assigned(user_site()):
            return _for_all(handle, key, counts, own)
        place = _where_true(counts, home)
        params = () if place is None else (place,)
    node = record(
        COMPRESS,
        (handle._node(), key._cell.node),
        dense((count,), handle._geometry.dtype),
        params,
        site=user_site(),
    )
    cell = type(handle._cell)(node)
    return of_view(cell, node.geometry)


def _for_all(handle: Handle, mask: Handle, counts: list[int], home: Place | None) -> Any:
    """The few elements under a mask, on every rank; ``None`` where they are not in order on their ranks. Collective."""
    if home is None or not (len(counts) == home.world.size and is_line(home.layout)):
        return None
    world = home.world
    in_step(world, "the elements under a mask", handle, mask, moves="read")
    values, chosen = section_of(handle, world), section_of(mask, world)
    if values.layout != chosen.layout:
        return None
    mine, bounds = picked_here(values, chosen), (0, *accumulate(counts))
    whole = to_all(mine, bounds, world.communicator, "the elements under a mask")
    return of_section(replicated(whole, world.communicator), world)


def _true_here(cell: Cell) -> int:
    """The number of true elements of a mask that every rank has, counted once."""
    value = cell.settle()
    if value.known is None:
        value.known = int(np.count_nonzero(value.array))
    count: int = value.known
    return count


def _true_elements(cell: Cell, home: Place) -> list[int]:
    """The numbers of true elements of a mask for arrays at ``home``: on each of few ranks, or of all ranks together, counted once.
    Collective, unless they are known."""
    communicator, what = home.world.communicator, "how many elements a mask selects"
    value = cell.settle()
    if cell.node.place is None:
        return [_true_here(cell)]
    if value.known is None:
        own = int(np.count_nonzero(value.array))
        if communicator.size <= policy.limits.few_ranks:
            value.known = every(communicator, own, what)
        else:
            total = summed(communicator, np.array([own], np.uint64), what)
            value.known = [int(total[0])]
    counts: list[int] = value.known
    return counts


def _where_true(counts: list[int], home: Place) -> Place | None:
    """The place of the elements under a mask that stay on their ranks; ``None`` where they are not in order there, or too uneven."""
    if len(counts) != home.world.size or not is_line(home.layout):
        return None
    place = Place.of(uneven_line(counts), home.world)
    return None if place is None or place.lopsided else place


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
