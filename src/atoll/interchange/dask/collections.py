"""What a Dask collection declares before anything is computed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ...errors import ProtocolError
from ..clusters import Position


def is_frame(collection: Any) -> bool:
    return all(
        hasattr(type(collection), name) for name in ("npartitions", "map_partitions", "_meta")
    )


def check(name: str, collection: Any) -> None:
    import dask.array

    if isinstance(collection, dask.array.Array) or is_frame(collection):
        return
    kind = type(collection)
    hint = "; give its .data" if kind.__module__.startswith("xarray") else ""
    raise TypeError(
        f"{name}: a {kind.__module__}.{kind.__qualname__} is no dask.array or dask.dataframe{hint}"
    )


def check_frame(name: str, frame: Any) -> None:
    """A frame's columns have one dtype, and it is one of NumPy's."""
    meta = frame._meta
    kinds = (
        {str(label): kind for label, kind in meta.dtypes.items()}
        if hasattr(meta, "columns")
        else {str(meta.name): meta.dtype}
    )
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{label}: {kind}" for label, kind in list(kinds.items())[:8])
        raise ProtocolError(
            f"{name}: P7: the columns have different dtypes ({listed}); an array has one: select "
            "columns, or use astype"
        )
    for label, kind in kinds.items():
        if not isinstance(kind, np.dtype) or kind.hasobject:
            raise ProtocolError(
                f"{name}: D1: column {label} has dtype {kind}, which is none of an array's; use astype"
            )


def known_shapes(array: Any) -> dict[Position, tuple[int, ...]] | None:
    """The chunks' shapes, ``None`` if Dask does not know them all."""
    if any(n != n for axis in array.chunks for n in axis):
        return None
    return {
        place: tuple([int(axis[k]) for axis, k in zip(array.chunks, place)])
        for place in product(*map(range, array.numblocks))
    }
