"""Placement of the blocks of an array in a window, through which other ranks access them.

An array is one of three cases, the same on all ranks:

* The world has one rank: the operations use the memory of the array, or of the view, without a copy.
* A distributed array to whose memory the program has no reference: its block moves into the window once and stays there.
  Writes of other ranks are visible in the array at once.
* Any other array (replicated, small, a view, memory of the program): the window has a copy, which is assigned to the array
  when the window closes.

While the window is open, operations on a replicated element use the copy of its first owner; closing updates the others.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..array import ndarray
from ..comm.in_step import agree
from ..comm.windows import Window
from ..comm.world import World, current_world
from ..context.divergence import HASH_MASK
from ..context.threads import turn
from ..errors import LayoutError
from ..graph.geometry import dense
from ..graph.node import source
from ..layout import Layout
from ..lazy.agreement import place_of
from ..lazy.conversion import must_travel
from ..lazy.export import memory
from ..lazy.sections import section_of
from ..lazy.views import Cell, Handle

Array = np.ndarray[Any, Any]
WHAT = "onesided()"


class Placed:
    """The blocks of an array in memory that every rank can access."""

    def __init__(self, array: Handle) -> None:
        place = place_of(array)
        self.array = array
        self.world: World = current_world() if place is None else place.world
        self.dtype: np.dtype[Any] = array.dtype  # type: ignore[attr-defined]
        must_travel(self.dtype)
        self.layout: Layout = array.layout  # type: ignore[attr-defined]
        if not self.layout.is_dense:
            raise LayoutError(
                "onesided: an axis of the layout has labels; one-sided operations need indices from 0 on: redistribute the array without labels"
            )
        self.cell: Cell | None = None
        """The cell of an array whose block moves into the window; otherwise ``None``."""
        self.writeable = bool(array.flags.writeable)  # type: ignore[attr-defined]
        self._copied = False
        if self.world.size == 1:
            block = memory(array)
            self.window: Window = self.world.communicator.window(0, WHAT)
            self.blocks: list[Array | None] = [block]
            return
        self._into_window(array)

    def _into_window(self, array: Handle) -> None:
        communicator, rank = self.world.communicator, self.world.rank
        stays = self.writeable and _may_move(array)
        facts = (self.layout.shape, self.dtype.str, self.layout.grid, stays)
        every = agree(communicator, facts, WHAT)
        if any(other[:3] != facts[:3] for other in every):
            raise LayoutError(
                "onesided: ranks open different arrays: "
                + "; ".join(
                    f"rank {r}: {shape} {dtype}" for r, (shape, dtype, *_) in enumerate(every)
                )
            )
        stays = all(other[3] for other in every)
        if stays:
            communicator.log.step(array._cell.node.born & HASH_MASK, WHAT)
            block = array._cell.settle().array
        else:
            section = section_of(array, self.world)
            block, self.layout = section.block, section.layout.unpadded()
            self._copied = True
        shapes = [self.layout.padded_shape(r) for r in range(self.world.size)]
        self.window = communicator.window(prod(shapes[rank]) * self.dtype.itemsize, WHAT)
        self.blocks = [
            None if raw is None else self._block_in(raw, shape)
            for raw, shape in zip(self.window.blocks, shapes, strict=True)
        ]
        mine: Any = self.blocks[rank]
        mine[...] = block
        if stays:
            self._keep(array._cell, mine)
        if self.layout.is_padded:
            self.blocks = [
                block if block is None else block[self.layout.inside(r)]
                for r, block in enumerate(self.blocks)
            ]
        communicator.barrier(WHAT)

    def _block_in(self, raw: Array, shape: tuple[int, ...]) -> Array:
        nbytes = prod(shape) * self.dtype.itemsize
        return np.ndarray(shape, self.dtype, raw[:nbytes])

    def _keep(self, cell: Cell, block: Array) -> None:
        """Make the block in the window, pinned, the value of the array."""
        with turn.lock:
            cell.node = source(block, cell.geometry, pinned=True, place=cell.node.place)
            cell.pins += 1
            cell.shared = False
            cell.sites = None
        self.cell = cell

    def shadow(self, rank: int) -> Array:
        """An array with the shape and strides of a rank's block in its window. Its memory must not be accessed."""
        shape = self.layout.padded_shape(rank)
        element = np.empty(1, self.dtype)
        strides = dense(shape, self.dtype).strides
        whole: Any = np.lib.stride_tricks.as_strided(element, shape, strides)
        inside: Array = whole[(*self.layout.inside(rank), ...)]
        return inside

    def release(self) -> None:
        """Unpin the array, without the other ranks; it keeps its memory."""
        if self.cell is not None:
            self.cell.unpin(1)
            self.cell = None

    def assign(self) -> None:
        """Assign the copy in the window to the array, if there is one. Collective."""
        if not self._copied or not self.writeable:
            return
        mine = np.array(self.blocks[self.world.rank])
        if self.layout.is_replicated:
            self.array[...] = mine  # type: ignore[index]
        else:
            with self.world:
                self.array[...] = ndarray._from_block(mine, self.layout, self.world)  # type: ignore[index]


def _may_move(array: Handle) -> bool:
    """True if an array's block may move into a window: a distributed base whose memory the program has no reference to."""
    if place_of(array) is None or not array._geometry.is_base:
        return False
    cell = array._cell
    cell.settle()
    same = cell.geometry.strides == dense(cell.geometry.shape, cell.geometry.dtype).strides
    return same and not cell.held()
