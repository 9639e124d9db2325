"""Matrix products of distributed arrays: ``@``, ``dot``, ``inner``, ``tensordot``, ``einsum``.

Everything comes down to the product of two stacks of matrices (see :mod:`..run.collective.products`).
A function here answers ``NotImplemented`` where no operand lies on several ranks: then BLAS has
the whole data.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..collective import Section, everywhere, few_products, multiplied, product_layout
from ..comm.in_step import bcast
from ..comm.world import World
from ..config import config
from ..graph.geometry import choice_of
from ..ops.elementwise import is_native
from . import shaping
from .creation import asarray
from .making import is_small, of_small
from .sections import of_section, section_of
from .spread import in_step, world_of
from .views import Handle


def _dtype(a: Any, b: Any) -> Any:
    if not all(isinstance(v, (Handle, np.ndarray)) for v in (a, b)):
        return None
    dtype = np.result_type(a.dtype, b.dtype)
    return dtype if is_native(a.dtype) and is_native(b.dtype) and is_native(dtype) else None


def matmul(a: Any, b: Any) -> Any:
    """``a @ b``, on any layouts."""
    world = world_of((a, b))
    dtype = None if world is None else _dtype(a, b)
    if world is None or dtype is None:
        return NotImplemented
    if not _agree(a.shape, b.shape):
        np.matmul(*[np.broadcast_to(np.zeros((), bool), v.shape) for v in (a, b)])  # its error
    in_step(world, "matmul", a, b)
    left, right = _section_of(a, world), _section_of(b, world)
    if is_small((*a.shape[:-1], *b.shape[1:])):
        few = few_products(left, right, dtype)
        if few is not None:
            return of_small(few) if few.ndim else few[()]
    if len(a.shape) == 1:
        left = left.expanded((0,))
    if len(b.shape) == 1:
        right = right.expanded((1,))
    plan = product_layout(left.layout, right.layout, config.small)
    result = multiplied(left, right, dtype, plan)
    gone = [len(result.shape) - 2] * (len(a.shape) == 1)
    gone += [len(result.shape) - 1] * (len(b.shape) == 1)
    if len(gone) == 2 and len(result.shape) == 2:
        return _number(result, world)
    result = result.squeezed(tuple(gone))
    return of_section(everywhere(result) if is_small(result.shape) else result, world)


def _section_of(value: Any, world: World) -> Section:
    """This rank's section of an operand: of a slice, too, without a copy where its value is there."""
    if not isinstance(value, Handle) or value._np is not None:
        return section_of(value, world)
    cell, view = value._cell, value._geometry
    place, choice = cell.node.place, choice_of(view)
    if view.is_base or choice is None or place is None or not place.is_boxes:
        return section_of(value, world)
    key, taken = choice
    if any(type(part) is slice and part.step < 1 for part in key):
        return section_of(value, world)
    if sorted(taken) != list(range(view.ndim)) or not view.size or view.dtype != view.base.dtype:
        return section_of(value, world)
    block = cell.settle().array
    part = Section(block, place.layout, world.communicator).sliced(key)
    if taken == sorted(taken):
        return part
    return part.transposed(tuple(sorted(range(view.ndim), key=taken.__getitem__)))


def _agree(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return False
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return False
    return True


def _number(result: Any, world: Any) -> Any:
    """The one element of a product of two vectors, on all ranks."""
    if result.layout.is_replicated:
        return result.block[0, 0]
    owner, _ = result.layout.locate((0, 0))
    value = np.empty((), result.dtype)
    if result.rank == owner:
        value[...] = result.block[0, 0]
    bcast(world.communicator, value, owner, "a product")
    return value[()]


def dot(a: Any, b: Any) -> Any:
    """``np.dot``: over the last axis of ``a`` and the last but one of ``b``."""
    if world_of((a, b)) is None or _dtype(a, b) is None or not a.ndim or not b.ndim:
        return NotImplemented
    if b.ndim <= 2:
        return matmul(a, b) if _agree(a.shape, b.shape) else NotImplemented
    if a.shape[-1] != b.shape[-2]:
        return NotImplemented
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,)))


def inner(a: Any, b: Any) -> Any:
    """``np.inner``: over the last axes."""
    if world_of((a, b)) is None or _dtype(a, b) is None or not a.ndim or not b.ndim:
        return NotImplemented
    if a.shape[-1] != b.shape[-1]:
        return NotImplemented
    if a.ndim == b.ndim == 1:
        return matmul(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def _axes(axes: Any, a: Any, b: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    try:
        first, second = axes
    except TypeError:
        count = index(axes)
        first, second = range(a.ndim - count, a.ndim), range(count)
    normal = np.lib.array_utils.normalize_axis_tuple
    try:
        one = tuple(normal(first, a.ndim, allow_duplicate=True))
        two = tuple(normal(second, b.ndim, allow_duplicate=True))
    except (ValueError, TypeError):
        return None
    fits = len(one) == len(two) and all(a.shape[j] == b.shape[k] for j, k in zip(one, two))
    return (one, two) if fits and len(set(one)) == len(one) and len(set(two)) == len(two) else None


def tensordot(a: Any, b: Any, axes: Any) -> Any:
    """``np.tensordot``: transposed and flattened to matrices, which are multiplied."""
    if world_of((a, b)) is None or _dtype(a, b) is None:
        return NotImplemented
    found = _axes(axes, a, b)
    if found is None:
        return NotImplemented
    one, two = found
    a, b = _as_ours(a), _as_ours(b)
    left = [k for k in range(a.ndim) if k not in one]
    right = [k for k in range(b.ndim) if k not in two]
    shape = tuple([a.shape[k] for k in left] + [b.shape[k] for k in right])
    length = int(np.prod([a.shape[k] for k in one], dtype=np.int64))
    rows, columns = (
        int(np.prod([v.shape[k] for k in kept], dtype=np.int64))
        for v, kept in ((a, left), (b, right))
    )
    if not left:
        rows_shape: tuple[int, ...] = (length,)
    else:
        rows_shape = (rows, length)
    columns_shape = (length, columns) if right else (length,)
    a = shaping.reshape(shaping.transpose(a, (*left, *one)), rows_shape)
    b = shaping.reshape(shaping.transpose(b, (*two, *right)), columns_shape)
    result = matmul(a, b)
    return result if result is NotImplemented else shaping.reshape(_as_ours(result), shape)


def _as_ours(value: Any) -> Any:
    return value if isinstance(value, Handle) else asarray(value)
