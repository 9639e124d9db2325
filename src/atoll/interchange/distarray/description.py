"""One process's description of its section of a distributed array, in plain values.

A :class:`Section` is the digest that a process sends to the others: all input of the rules across processes, and no data.
It has one :class:`Dimension` per axis (``None`` for an unreadable dictionary), the broken rules and the repairs so far.

The two versions of the protocol describe a block differently: 1.0 includes communication padding in ``start`` and
``stop``, 0.9 does not. A :class:`Dimension` keeps the given numbers and derives one form from them: the owned range and
the widths of the halo.

``num_owned_indices`` is the utility function of the protocol. *Owned* excludes communication
padding, which belongs to the neighbour, and includes boundary padding. The partial last block of a block-cyclic
dimension belongs to the process whose turn it is, not always to process 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import ProtocolError
from ..protocol import Violation

Indices = npt.NDArray[np.int64]

RULES: dict[str, str] = {
    "T1": "__distarray__() returns a dict with exactly '__version__', 'buffer' and 'dim_data'",
    "T2": "the version is 'major.minor.patch', of a known major version",
    "T3": "memoryview(buffer) works",
    "T4": "dim_data is a tuple of dicts, one for each dimension of the buffer",
    "T5": "the buffer is the array's own memory, not a copy",
    "D1": "dist_type is one of 'b', 'c', 'u' ('n' in 0.9)",
    "D2": "size is an int >= 0",
    "D3": "proc_grid_size is an int >= 1",
    "D4": "0 <= proc_grid_rank < proc_grid_size",
    "D5": "integers are ints, and bool is none",
    "B1": "0 <= start <= stop <= size",
    "B2": "stop - start equals the buffer's extent",
    "B3": "padding is a 2-tuple of ints >= 0, communication widths fit the neighbour",
    "B4": "periodic is a bool, and for block dimensions only",
    "C1": "start >= 0 and block_size >= 1",
    "C2": "the buffer's extent equals the owned count",
    "C3": "start is the first index of one of the first proc_grid_size blocks",
    "U1": "indices is a 1-D buffer of locally unique integers, one for each element",
    "U2": "one_to_one is a bool",
    "X1": "the product of proc_grid_size equals the number of processes",
    "X2": "ranks map to grid coordinates in row-major order, each coordinate once",
    "X3": "processes with one grid rank have equal dictionaries",
    "X4": "the owned counts add up to size",
    "X5": "right padding equals the left padding of the next process",
    "X6": "adjacent blocks meet",
    "X7": "the first block starts at 0 and the last stops at size",
    "X8": "size, dist_type, block_size, periodic, dtype and ndim agree everywhere",
    "X9": "one_to_one means that no index is held twice",
}


class Dimension(NamedTuple):
    """The numbers of a dimension dictionary, with defaults for missing keys.

    The ``indices`` of an unstructured dimension are present only on the processes whose other
    grid coordinates are 0; the other processes send ``fingerprint`` alone.
    """

    rank: int
    kind: str
    extent: int
    size: int
    grid_size: int = 1
    grid_rank: int = 0
    start: int = 0
    stop: int = 0
    padding: tuple[int, int] | None = None
    periodic: bool = False
    block_size: int = 1
    indices: Indices | None = None
    fingerprint: bytes = b""
    one_to_one: bool = False
    legacy: bool = False

    @property
    def first(self) -> bool:
        return self.grid_rank == 0

    @property
    def last(self) -> bool:
        return self.grid_rank == self.grid_size - 1

    @property
    def widths(self) -> tuple[int, int]:
        """The left and right padding, of either kind."""
        return self.padding or (0, 0)

    @property
    def halo(self) -> tuple[int, int]:
        """The communication padding: widths of the copies of elements that neighbours own."""
        left, right = self.widths
        wraps = self.legacy and self.periodic
        return (0 if self.first and not wraps else left, 0 if self.last and not wraps else right)

    @property
    def boundary(self) -> tuple[int, int]:
        """The boundary padding, which the process owns and ``size`` includes."""
        return (self.widths[0] - self.halo[0], self.widths[1] - self.halo[1])

    @property
    def owned(self) -> tuple[int, int]:
        """The range of indices that a block owns, without communication padding."""
        if self.legacy:
            return self.start, self.stop
        return self.start + self.halo[0], self.stop - self.halo[1]

    @property
    def owned_count(self) -> int:
        """The number of indices that the process owns along this dimension."""
        if self.kind == "c":
            left = max(self.size - self.start, 0)
            cycles, rest = divmod(left, self.grid_size * self.block_size)
            return cycles * self.block_size + min(rest, self.block_size)
        if self.kind == "u":
            return self.extent
        return self.owned[1] - self.owned[0]

    @property
    def expected_extent(self) -> int:
        """The extent of the buffer that the other numbers require."""
        if self.kind in "bn":
            return self.owned_count + sum(self.halo)
        return self.owned_count


class Section(NamedTuple):
    """The digest of one process, which all processes receive."""

    rank: int
    version: str = ""
    legacy: bool = False
    ndim: int = -1
    """-1 if the description is unreadable."""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    dimensions: tuple[Dimension | None, ...] = ()
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def readable(self) -> bool:
        """True if every dimension is readable, so that rules across processes apply."""
        return self.ndim >= 0 and None not in self.dimensions


def num_owned_indices(dim_dict: Mapping[str, Any], *, version: str = "1.0.0") -> int:
    """The number of indices the process owns along the dimension that ``dim_dict`` describes.

    Pass ``version="0.9.0"`` for a dictionary of 0.9, whose blocks do not include communication padding.
    """
    kind = dim_dict.get("dist_type")
    if kind == "u":
        return len(dim_dict["indices"])
    if kind == "n":
        return int(dim_dict["size"])
    if kind in ("b", "c"):
        legacy = version.startswith("0.9")
        needed, size, rank = ["start", "stop"], "proc_grid_size", "proc_grid_rank"
        if kind == "c":
            needed = ["start", "size", size]
        elif not legacy:
            needed += [size, rank]
        given = [*needed, *{"size", size, rank, "stop", "block_size"}.intersection(dim_dict)]
        names = {size: "grid_size", rank: "grid_rank"}
        numbers: dict[str, Any] = {names.get(key, key): int(dim_dict[key]) for key in given}
        described = Dimension(0, kind, 0, **{"size": 0, **numbers}, legacy=legacy)
        return described._replace(padding=dim_dict.get("padding")).owned_count
    if not dim_dict:
        raise ProtocolError(
            "num_owned_indices: an empty dimension dictionary stands for the whole axis of its "
            "buffer; the count is buffer.shape[i]"
        )
    raise ProtocolError(
        f"num_owned_indices: dist_type is {kind!r}; it must be 'b', 'c', 'u' or 'n'"
    )
