"""One rank's section of an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend
from ..comm.communicator import Communicator
from ..context.caches import remembered
from ..graph.geometry import Geometry, choice_of, dense
from ..layout import Layout, Region, on_every_rank

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """This rank's block of an array, without padding, and the layout of the array."""

    block: Array
    layout: Layout
    communicator: Communicator

    @property
    def rank(self) -> int:
        return self.communicator.rank

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.block.dtype
        return dtype

    @property
    def region(self) -> Region:
        """The global indices of the block on each axis."""
        return region_of(self.layout, self.rank)

    def with_block(self, block: Array) -> Section:
        """Another array in the same layout."""
        return Section(block, self.layout, self.communicator)

    def transposed(self, axes: tuple[int, ...]) -> Section:
        """The axes in another order; nothing moves."""
        return Section(
            self.block.transpose(axes), _transposed(self.layout, axes), self.communicator
        )

    def expanded(self, axes: tuple[int, ...]) -> Section:
        """New axes of length one; nothing moves."""
        return self._in_shape_of(_expanded(self.layout, axes)) if axes else self

    def squeezed(self, axes: tuple[int, ...]) -> Section:
        """The section without some axes of length one; a rank without an index on such an axis has no elements."""
        return self._in_shape_of(_squeezed(self.layout, axes)) if axes else self

    def _in_shape_of(self, layout: Layout) -> Section:
        shape = layout.local_shape(self.rank)
        return Section(self.block.reshape(shape), layout, self.communicator)

    def sliced(self, key: tuple[Any, ...]) -> Section:
        """The part that a basic index selects, with the owners of its elements."""
        layout, part = self.layout.block_slice(key, self.block, self.rank)
        if part is None:
            part = np.empty((0,) * layout.ndim, self.dtype)
        return Section(part, layout, self.communicator)

    def seen(self, view: Geometry) -> Section:
        """A slice or a transpose of the array, with the owners of its elements; nothing is copied."""
        choice = choice_of(view)
        assert choice is not None
        key, taken = choice
        part = self
        if not all(part == slice(0, n, 1) for part, n in zip(key, self.shape, strict=True)):
            part = self.sliced(key)
        if taken != sorted(taken):
            part = part.transposed(tuple(sorted(range(view.ndim), key=taken.__getitem__)))
        return part


_transposed, _expanded = remembered(Layout.transposed), remembered(Layout.expanded)
region_of, local_shape_of = remembered(Layout.region), remembered(Layout.local_shape)
"""What a rank has of a layout; for the rank itself, not for all ranks of a large world."""


@remembered
def _squeezed(layout: Layout, axes: tuple[int, ...]) -> Layout:
    return layout.sliced(tuple([0 if k in axes else slice(None) for k in range(layout.ndim)]))


def replicated(array: Array, communicator: Communicator) -> Section:
    """An array that every rank has."""
    return Section(array, on_every_rank(array.shape, communicator.size), communicator)


def empty(layout: Layout, dtype: np.dtype[Any], communicator: Communicator) -> Section:
    """New memory for this rank's block of an array that lies as ``layout`` says."""
    shape = local_shape_of(layout, communicator.rank)
    return Section(backend.current().allocate(dense(shape, dtype)).array, layout, communicator)
