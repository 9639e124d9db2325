"""Fast path for regions within one rank's block, if every rank has a contiguous block that this process can address.

Most operations on few elements are of this kind, and the general path through index sets costs more than they do.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from ..layout import BlockAxis, Layout

Array = np.ndarray[Any, Any]


class Blocks:
    """The blocks of all ranks, by the bounds of their cells."""

    __slots__ = ("_axes", "_blocks")

    def __init__(self, layout: Layout, blocks: list[Array | None]) -> None:
        counts = [*layout.grid[1:], 1]
        axes = []
        for axis, count in zip(layout.axes, counts, strict=True) if layout.ndim else ():
            assert isinstance(axis, BlockAxis)
            axes.append((axis.bounds, axis.size, count))
        self._axes = tuple(axes)
        owners = layout.table[..., 0].ravel().tolist()
        self._blocks = [(rank, blocks[rank]) for rank in owners]

    @classmethod
    def of(cls, layout: Layout, blocks: list[Array | None]) -> Blocks | None:
        """The blocks of a layout; ``None`` if the fast path does not apply."""
        if layout.is_block and layout.ndim and all(block is not None for block in blocks):
            return cls(layout, blocks)
        return None

    def place(self, key: Any) -> Any:
        """The rank, its block and the local key of a region within one block; ``None`` if it needs the general path."""
        if type(key) is not tuple:
            key = (key,)
        if len(key) != len(self._axes):
            return None
        cell = 0
        local: list[Any] = []
        for item, (bounds, size, count) in zip(key, self._axes):
            if type(item) is int:
                if not 0 <= item < size:
                    return None
                here = bisect_right(bounds, item) - 1
                local.append(item - bounds[here])
            elif type(item) is slice:
                start, stop, step = item.start, item.stop, item.step
                if start is None:
                    start = 0
                if stop is None:
                    stop = size
                if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= size:
                    return None
                if step is not None and not (type(step) is int and step > 0):
                    return None
                here = bisect_right(bounds, start) - 1
                low = bounds[here]
                if stop > bounds[here + 1]:
                    return None
                local.append(slice(start - low, stop - low, step))
            else:
                return None
            cell = (cell + here) * count
        return (*self._blocks[cell], tuple(local))
