"""``atoll.distribution``: the region of an array on each rank."""

from __future__ import annotations

from typing import Any

from ..errors import a_type
from ..lazy.views import Handle

Key = tuple[Any, ...]


def distribution(array: Any) -> tuple[Key | None, ...]:
    """Return the region of each rank: a slice or an array of indices for each axis, or ``None`` for a rank without elements.

    The operations of :func:`atoll.onesided` take such regions; regions of slices also index ``numpy.asarray(a)``. No
    communication.
    """
    if not isinstance(array, Handle):
        raise TypeError(f"distribution() takes an atoll array, not {a_type(array)}")
    layout = array.layout  # type: ignore[attr-defined]
    return tuple(
        tuple(part.key for part in layout.region(rank)) if layout.local_size(rank) else None
        for rank in range(layout.processes)
    )
