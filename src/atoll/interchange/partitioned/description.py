"""One rank's description of a partitioned container, in plain values.

A :class:`Container` is what a rank could read of a dictionary; a :class:`Section` is the digest of it that a rank sends
to the others: everything that the rules across ranks need, and no data. A digest grows with the length of the grid's
axes and with the partitions that the rank itself holds, not with all partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..clusters import Extents, Position, Shape
from ..reports import Violation

Location = tuple[str, int]
"""An address and the number of a process; the address is empty for a bare rank."""

RULES: dict[str, str] = {
    "P1": "a property __partitioned__ gives a dict with shape, partition_tiling, partitions, get",
    "P2": "'locals' lists the positions of this rank if, and only if, ranks hold the partitions",
    "P3": "partition_tiling, start and shape are tuples as long as the global shape",
    "P4": "every position of the grid is there, and no other",
    "P5": "the partitions tile the shape without gap or overlap",
    "P6": "the grid is regular: a row of it has one height, a column one width",
    "P7": "all partitions have one data type",
    "P8": "the data has the shape that is said",
    "P9": "location is a sequence of (str, int[, str])",
    "P10": "the device is absent, kDLCPU or kDLCPU:n",
    "P11": "without locals, the data are references",
    "P12": "get takes one handle or a sequence",
    "P13": "the dictionary pickles",
    "P14": "only what is not local may be None",
    "D1": "data is an array in memory (DLPack, buffer, __array__) or a DataFrame",
    "A1": "all ranks describe the same container",
    "A2": "the locals of all ranks together name every position",
}
"""P: the text's own. D: what data atoll takes. A: what the ranks must agree on."""


class Held(NamedTuple):
    """The shape and dtype of a partition that a rank has in memory."""

    position: Position
    shape: Shape
    dtype: np.dtype[Any]


class Section(NamedTuple):
    """The digest of one rank; ``readable`` is false where not even a grid could be made out."""

    rank: int
    process: Location
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]
    readable: bool
    shape: Shape = ()
    tiling: Shape = ()
    extents: Extents = ()
    spmd: bool = False
    held: tuple[Held, ...] = ()
    names: bytes = b""
    """A digest of what must be equal on all ranks if the description has no ``locals``."""


@dataclass(frozen=True, slots=True)
class Container:
    """A description that could be read, and this rank's partitions as arrays."""

    shape: Shape
    tiling: Shape
    extents: Extents
    spmd: bool
    handles: dict[Position, Any]
    locations: dict[Position, tuple[Location, ...]]
    get: Callable[[Any], Any]
    arrays: dict[Position, npt.NDArray[np.generic]]
    """What this rank holds, by position: none of it without ``locals``."""
    copied: frozenset[Position]
    """The positions whose array is no view of the producer's memory."""
