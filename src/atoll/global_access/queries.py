"""``atoll.distribution``: what each rank has of an array."""

from __future__ import annotations

from typing import Any

from ..errors import a_type
from ..lazy.views import Handle

Key = tuple[Any, ...]


def distribution(array: Any) -> tuple[Key | None, ...]:
    """Return, by rank, the region that it holds: a slice or an array of indices for each axis, or ``None`` for nothing.

    Each is a region for the operations of :func:`atoll.onesided`, and of ``numpy.asarray(a)`` where all are slices. No
    communication.
    """
    if not isinstance(array, Handle):
        raise TypeError(f"distribution() takes an atoll array, not {a_type(array)}")
    layout = array.layout  # type: ignore[attr-defined]
    return tuple(
        tuple(part.key for part in layout.region(rank)) if layout.local_size(rank) else None
        for rank in range(layout.processes)
    )
