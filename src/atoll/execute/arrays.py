"""Arrays over buffers of the pool."""

from __future__ import annotations

import numpy as np

from ..graph.geometry import Geometry
from ..graph.node import Value, new
from .memory import pool

_TINY = 1024  # below this many bytes NumPy's own allocator is quicker


def allocate_array(geometry: Geometry, what: object = "") -> Value:
    """Uninitialised memory, laid out as the geometry of a base says; ``what`` asked for it."""
    dtype = geometry.dtype
    nbytes = geometry.size * dtype.itemsize
    if nbytes <= _TINY:
        if geometry.c_contiguous:
            return Value(np.empty(geometry.shape, dtype))
        memory = np.empty(geometry.size, dtype)
        return Value(np.ndarray(geometry.shape, dtype, memory, 0, geometry.strides))
    value: Value = new(Value)
    value.array, value._address = pool.lend(nbytes, what, geometry.shape, dtype, geometry.strides)
    value.pinned = False
    value.program = None
    value.count = -1
    value.tiles = None
    return value
