"""``ufunc.at`` and ``ufunc.reduceat`` of arrays on several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.elementwise import is_native
from . import shaping
from .creation import asarray
from .fancy_indexing import operands, put
from .sections import record
from .spread import in_step, place_of, world_of
from .views import Handle


def at(ufunc: np.ufunc, a: Any, indices: Any, *values: Any) -> Any:
    """Join values with the elements at indices, each as often as its index is there."""
    if place_of(a) is None or ufunc.nin != 2 or len(values) != 1:
        return NotImplemented
    if not (a._cell.writeable and a._geometry.writeable):
        return NotImplemented
    given = asarray(values[0])
    if not is_native(given.dtype):
        return NotImplemented
    try:
        made = ufunc(np.empty(1, a.dtype), np.empty(1, given.dtype)).dtype
    except TypeError:
        return NotImplemented
    fits = np.can_cast(given.dtype, a.dtype, "same_kind") and made.kind == a.dtype.kind
    if not fits:  # NumPy knows about mixed dtypes
        return NotImplemented
    return None if put(a, indices, given, ufunc) else NotImplemented


def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Fold the stretches between indices."""
    world = world_of([array])
    if world is None or not isinstance(array, Handle) or out not in (None, (None,)):
        return NotImplemented
    handle: Any = array
    if not is_native(handle.dtype) or not isinstance(axis, int) or not handle.size:
        return NotImplemented
    places = np.asarray(indices)
    axis = np.lib.array_utils.normalize_axis_index(axis, handle.ndim)
    length = handle.shape[axis]
    if places.dtype.kind not in "iu" or places.ndim != 1 or not places.size:
        return NotImplemented
    if (places < 0).any() or (places >= length).any():
        return NotImplemented
    kind = ufunc.reduceat(np.empty(1, handle.dtype), [0], dtype=dtype).dtype
    if not is_native(kind):
        return NotImplemented
    in_step(world, f"{ufunc.__name__}.reduceat", handle, indices, axis)
    first = (axis, *[k for k in range(handle.ndim) if k != axis])
    order = (*range(1, axis + 1), 0, *range(axis + 1, handle.ndim))
    starts = operands([places], places.shape)
    moved = shaping.transpose(handle, first)
    made = record("reduceat", (moved, *starts), ufunc, kind, order=order)
    return shaping.transpose(made, order)
