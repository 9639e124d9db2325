"""Arrays over buffers of the pool."""

from __future__ import annotations

import numpy as np

from ..graph.geometry import Geometry
from ..graph.node import Value
from .memory import pool

_TINY = 1024  # below this many bytes NumPy's own allocator is quicker


def allocate_array(geometry: Geometry, what: object = "") -> Value:
    """Uninitialised memory, laid out as the geometry of a base says; ``what`` asked for it."""
    nbytes = geometry.size * geometry.dtype.itemsize
    if nbytes <= _TINY:
        if geometry.c_contiguous:
            return Value(np.empty(geometry.shape, geometry.dtype))
        memory = np.empty(geometry.size, geometry.dtype)
        return Value(np.ndarray(geometry.shape, geometry.dtype, memory, 0, geometry.strides))
    buffer = pool.allocate(nbytes, what)
    strides = None if geometry.c_contiguous else geometry.strides
    return Value(buffer.array(geometry.shape, geometry.dtype, strides), buffer.address)
