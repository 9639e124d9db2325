"""Reduction nodes: a ufunc folded over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.geometry import Geometry, dense
from ..graph.node import Node, Site


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape without the folded axes, or with ones in their place."""
    if keepdims:
        return tuple([1 if k in axes else n for k, n in enumerate(shape)])
    return tuple([n for k, n in enumerate(shape) if k not in axes])


def fold(
    ufunc: np.ufunc, operand: Node, axes: tuple[int, ...], keepdims: bool, dtype: np.dtype[Any], site: Site | None
) -> Node:
    """``ufunc.reduce`` over ``axes`` (in increasing order), in and to ``dtype``."""
    shape = reduced_shape(operand.geometry.shape, axes, keepdims)
    return Node("reduce", (operand,), dense(shape, dtype), (axes, keepdims), ufunc.__name__, site)


def position(name: str, operand: Node, axes: tuple[int, ...], keepdims: bool, site: Site | None) -> Node:
    """``argmin`` or ``argmax`` over one axis or over all."""
    shape = reduced_shape(operand.geometry.shape, axes, keepdims)
    return Node("arg", (operand,), dense(shape, np.dtype(np.intp)), (axes, keepdims), name, site)


def all_axes(geometry: Geometry) -> tuple[int, ...]:
    """Every axis of the operand."""
    return tuple(range(geometry.ndim))
