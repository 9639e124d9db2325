"""Reduction nodes: a ufunc folded over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.geometry import Geometry, dense, kept_order
from ..graph.node import Node, Site


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape without the folded axes, or with ones in their place."""
    if keepdims:
        return tuple([1 if k in axes else n for k, n in enumerate(shape)])
    return tuple([n for k, n in enumerate(shape) if k not in axes])


def reduced_geometry(
    operand: Geometry, axes: tuple[int, ...], keepdims: bool, dtype: np.dtype[Any]
) -> Geometry:
    """The base that NumPy would allocate: its axes lie in memory in the order of the operand's."""
    shape = reduced_shape(operand.shape, axes, keepdims)
    if len(shape) < 2 or operand.c_contiguous:
        return dense(shape, dtype)
    kept = tuple([0 if k in axes else slice(None) for k in range(operand.ndim)])
    order = kept_order(reduced_shape(operand.shape, axes, False), (operand.index(kept),))
    if order is None:
        return dense(shape, dtype)
    if keepdims:
        places = [k for k in range(operand.ndim) if k not in axes]
        order = (*axes, *[places[k] for k in order])
    return dense(shape, dtype, order)


def fold(
    ufunc: np.ufunc,
    operand: Node,
    axes: tuple[int, ...],
    keepdims: bool,
    dtype: np.dtype[Any],
    site: Site | None,
    geometry: Geometry | None = None,
) -> Node:
    """``ufunc.reduce`` over ``axes`` (in increasing order), in and to ``dtype``."""
    if geometry is None:
        geometry = dense(reduced_shape(operand.geometry.shape, axes, keepdims), dtype)
    return Node("reduce", (operand,), geometry, (axes, keepdims), ufunc.__name__, site)


def position(
    name: str, operand: Node, axes: tuple[int, ...], keepdims: bool, site: Site | None
) -> Node:
    """``argmin`` or ``argmax`` over one axis or over all."""
    shape = reduced_shape(operand.geometry.shape, axes, keepdims)
    return Node("arg", (operand,), dense(shape, np.dtype(np.intp)), (axes, keepdims), name, site)
