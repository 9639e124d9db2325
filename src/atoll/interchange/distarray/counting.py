"""How many indices a process owns, from one dimension dictionary.

These are the utilities that the Distributed Array Protocol describes for its helper module, with the same names.
*Owned* excludes communication padding, which belongs to the neighbour, and includes boundary padding. The partial last
block of a block-cyclic dimension belongs to the process whose turn it is, not always to process 0.

Dictionaries of version 0.9 exclude communication padding from ``start`` and ``stop`` already; pass ``version="0.9.0"``
for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ProtocolError


def cyclic_count(start: int, size: int, grid_size: int, block_size: int = 1) -> int:
    """The number of indices below ``size`` in every ``grid_size``-th block from ``start`` on."""
    if start >= size:
        return 0
    cycles, rest = divmod(size - start, grid_size * block_size)
    return cycles * block_size + min(rest, block_size)


def num_owned_indices_from_block(dim_dict: Mapping[str, Any], *, version: str = "1.0.0") -> int:
    """The owned count of a dictionary with dist_type ``'b'``."""
    count = int(dim_dict["stop"]) - int(dim_dict["start"])
    if version.startswith("0.9"):
        return count
    left, right = dim_dict.get("padding", (0, 0))
    if dim_dict["proc_grid_rank"] != 0:
        count -= left
    if dim_dict["proc_grid_rank"] != dim_dict["proc_grid_size"] - 1:
        count -= right
    return count


def num_owned_indices_from_cyclic(dim_dict: Mapping[str, Any]) -> int:
    """The owned count of a dictionary with dist_type ``'c'``, block-cyclic ones included."""
    return cyclic_count(
        int(dim_dict["start"]),
        int(dim_dict["size"]),
        int(dim_dict["proc_grid_size"]),
        int(dim_dict.get("block_size", 1)),
    )


def num_owned_indices_from_unstructured(dim_dict: Mapping[str, Any]) -> int:
    """The owned count of a dictionary with dist_type ``'u'``: how many indices it lists."""
    return len(dim_dict["indices"])


def num_owned_indices(dim_dict: Mapping[str, Any], *, version: str = "1.0.0") -> int:
    """The number of indices the process owns along the dimension that ``dim_dict`` describes."""
    kind = dim_dict.get("dist_type")
    if kind == "b":
        return num_owned_indices_from_block(dim_dict, version=version)
    if kind == "c":
        return num_owned_indices_from_cyclic(dim_dict)
    if kind == "u":
        return num_owned_indices_from_unstructured(dim_dict)
    if kind == "n":
        return int(dim_dict["size"])
    if not dim_dict:
        raise ProtocolError(
            "num_owned_indices: an empty dimension dictionary stands for the whole axis of its "
            "buffer; the count is buffer.shape[i]"
        )
    raise ProtocolError(
        f"num_owned_indices: dist_type is {kind!r}; it must be 'b', 'c', 'u' or 'n'"
    )
