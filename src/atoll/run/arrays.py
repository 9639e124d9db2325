"""Arrays over buffers of the pool."""

from __future__ import annotations

import numpy as np

from ..graph.geometry import Geometry
from ..graph.node import Value


def allocate_array(geometry: Geometry) -> Value:
    """Uninitialised memory, laid out as the geometry of a base says."""
    if geometry.c_contiguous:
        return Value(np.empty(geometry.shape, geometry.dtype))
    memory = np.empty(geometry.size, geometry.dtype)
    return Value(np.ndarray(geometry.shape, geometry.dtype, memory, 0, geometry.strides))  # type: ignore[arg-type]
