"""Between NumPy's arrays and ours: what goes to NumPy, and what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import config
from ..graph.geometry import Geometry, strided
from ..graph.node import Node, source
from ..ops.elementwise import is_native
from .cells import Cell, Handle


def is_small(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape is kept as a NumPy array."""
    size = 1
    for n in shape:
        size *= n
    return bool(size < config.small)


def plain(value: Any) -> Any:
    """The value for NumPy: arrays over the memory they lie in, containers searched through."""
    if isinstance(value, Handle):
        array = value._array()
        return array[()] if isinstance(value, Handle.scalar_type) else array
    kind = type(value)
    if kind is tuple:
        return tuple([plain(v) for v in value])
    if kind is list:
        return [plain(v) for v in value] if any(isinstance(v, (Handle, list, tuple)) for v in value) else value
    if kind is dict:
        return {k: plain(v) for k, v in value.items()}
    return value


def from_numpy(array: np.ndarray[Any, Any]) -> Any:
    """An array that takes over ``array``'s memory, which nobody else may hold."""
    made = object.__new__(Handle.array_type)
    if is_small(array.shape) or not is_native(array.dtype):
        made._np = array
        return made
    made._np = None
    made._cell = Cell(source(array, strided(array.shape, array.dtype, array.strides)))
    made._geometry = made._cell.geometry
    return made


def of_small(result: Any) -> Any:
    """What NumPy returned for small arrays, in our hands."""
    if type(result) is np.ndarray:
        made = object.__new__(Handle.array_type)
        made._np = result
        return made
    return result


def of_node(node: Node) -> Any:
    """An array whose value is a node."""
    made = object.__new__(Handle.array_type if node.geometry.ndim else Handle.scalar_type)
    made._np = None
    made._cell = Cell(node)
    made._geometry = node.geometry
    return made


def of_view(cell: Cell, geometry: Geometry) -> Any:
    """A view of a cell."""
    made = object.__new__(Handle.array_type)
    made._np = None
    made._cell = cell
    made._geometry = geometry
    return made
