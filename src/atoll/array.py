"""The array: a block of memory on each rank, and the layout that says what it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .comm.world import World
from .interchange.distarray import to_distarray
from .layout import Layout
from .run import statistics
from .run.halo import exchange_halos


class ndarray:
    """An array whose elements lie on the ranks of a world as its layout says."""

    __slots__ = ("__weakref__", "_padded", "layout", "world")

    _padded: npt.NDArray[Any]
    layout: Layout
    world: World

    def __init__(self) -> None:
        raise TypeError("arrays are made by functions such as atoll.from_local, not by the class")

    @classmethod
    def _from_block(cls, padded_block: npt.NDArray[Any], layout: Layout, world: World) -> ndarray:
        """The array over this rank's block, communication padding included; nothing is copied."""
        new = cls.__new__(cls)
        new._padded, new.layout, new.world = padded_block, layout, world
        if layout.cells > 1:
            statistics.add("distributed")
        return new

    def _evaluate(self) -> None:
        """Bring what is pending into memory; here nothing ever is."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def ndim(self) -> int:
        return self.layout.ndim

    @property
    def size(self) -> int:
        return self.layout.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._padded.dtype

    @property
    def local_padded(self) -> npt.NDArray[Any]:
        """This rank's block with its communication padding, as NumPy sees it; no copy."""
        return self._padded

    @property
    def local(self) -> npt.NDArray[Any]:
        """This rank's block as a NumPy array over the same memory, without communication padding."""
        if not self.layout.is_padded:
            return self._padded
        widths = self.layout.halo(self.world.rank)
        counts = self.layout.local_shape(self.world.rank)
        return self._padded[
            tuple(slice(left, left + count) for (left, _), count in zip(widths, counts))
        ]

    def exchange_halos(self) -> ndarray:
        """Fill the communication padding from the ranks that own the elements. Collective."""
        self._evaluate()
        exchange_halos(self._padded, self.layout, self.world.communicator)
        return self

    def __distarray__(self) -> dict[str, Any]:
        """This rank's section by the Distributed Array Protocol 1.0; no copy, no communication."""
        return to_distarray(self)

    def __getitem__(self, key: Any) -> ndarray:
        """A view by basic indexing; elements stay where they are, padding is left behind."""
        slicing = self.layout.unpadded().slicing(key)
        block = slicing.local(self.local, self.world.rank)
        if block is None:
            block = np.empty(slicing.layout.padded_shape(self.world.rank), self.dtype)
        return self._from_block(block, slicing.layout, self.world)

    def transpose(self, *axes: int) -> ndarray:
        """The view with its axes permuted, by default reversed."""
        order = axes or tuple(reversed(range(self.ndim)))
        return self._from_block(
            self._padded.transpose(order), self.layout.transposed(order), self.world
        )

    @property
    def T(self) -> ndarray:
        return self.transpose()

    def __repr__(self) -> str:
        return f"<atoll.ndarray {self.shape} {self.dtype}: {self.layout!r}>"
