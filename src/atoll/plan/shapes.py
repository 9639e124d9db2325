"""Geometries with symbolic integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.geometry import Geometry, dense
from ..layout.symbolic import Number, Unknown


class Shape:
    """A geometry with unknown integers: what the planner asks of one."""

    __slots__ = (
        "_axes", "base", "c_contiguous", "dense", "dtype", "is_base", "ndim", "number", "offset", "position",
        "shape", "strides",
    )  # fmt: skip

    def __init__(
        self,
        like: Geometry | None,
        position: int,
        shape: tuple[Number, ...],
        strides: tuple[Number, ...],
        offset: Number,
        dtype: np.dtype[Any],
        base: Any,
    ) -> None:
        self.position = position
        """Which geometry of the trace it stands for; -1 where the planner made it."""
        self.number = -2 - position
        self.shape, self.strides, self.offset = shape, strides, offset
        self.ndim = len(shape)
        self.dtype = dtype
        self.base = self if base is None else base
        self.is_base = base is None
        self.c_contiguous = like is None or like.c_contiguous
        self.dense = like is None or like.dense
        self._axes: Any = False

    @property
    def size(self) -> Number:
        """The number of elements."""
        size: Number = 1
        for n in self.shape:
            size = size * n
        return size

    axes = Geometry.axes
    is_whole = Geometry.is_whole
    within = Geometry.within


def dense_shape(shape: tuple[Number, ...], dtype: np.dtype[Any]) -> Any:
    """``dense`` for a shape in which there may be unknowns."""
    if all(type(n) is not Unknown for n in shape):
        return dense(shape, dtype)
    strides: list[Number] = []
    step: Number = dtype.itemsize
    for n in reversed(shape):
        strides.append(step)
        if n:
            step = step * n
    return Shape(None, -1, shape, tuple(reversed(strides)), 0, dtype, None)
