"""Slices of layouts: the positions of a slice in each rank's block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .index_set import IndexSet, listed

if TYPE_CHECKING:
    from .layout import Layout


@dataclass(frozen=True, slots=True)
class Slicing:
    """A slice of a layout: the ``source``, the ``layout`` of the slice, and the ``cuts``.

    ``cuts`` has the ``range`` of indices or the integer taken from each axis of the source,
    and ``None`` for each new axis.
    """

    source: Layout
    layout: Layout
    cuts: tuple[range | int | None, ...]

    def positions(self, rank: int) -> tuple[IndexSet | int | None, ...] | None:
        """``cuts`` in local indices of a rank's block; ``None`` if it holds none of the slice.

        An index set lists the positions in the order in which the slice has them.
        """
        if self.layout.coordinates(rank) is None:
            return None
        result: list[IndexSet | int | None] = []
        held = iter(self.source.region(rank))
        for cut in self.cuts:
            if cut is None:
                result.append(None)
            elif isinstance(cut, range):
                result.append(next(held).sliced(cut)[1])
            else:
                result.append(next(held).local_of(cut))
        return tuple(result)

    def local(self, block: npt.NDArray[Any], rank: int) -> npt.NDArray[Any] | None:
        """A rank's block of the slice, taken from its block of the source.

        It is a view if slices of the block can express it, else a copy.
        """
        places = self.positions(rank)
        if places is None:
            return None
        keys = [place.key if isinstance(place, IndexSet) else place for place in places]
        keys = [listed(key).key if isinstance(key, np.ndarray) else key for key in keys]
        basic = tuple(slice(None) if isinstance(key, np.ndarray) else key for key in keys)
        part: npt.NDArray[Any] = block[(*basic, ...)]
        kept = [key for key in keys if not isinstance(key, int)]
        for dimension, key in enumerate(kept):
            if isinstance(key, np.ndarray):
                part = part.take(key, axis=dimension)
        return part
