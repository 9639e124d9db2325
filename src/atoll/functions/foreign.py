"""Arrays from memory that others hold: a block per rank, or what another library shows."""

from __future__ import annotations

from typing import Any

from ..array import ndarray
from ..interchange.local import import_local
from ..layout import Layout


def from_local(block: Any, layout: Layout | None = None, *, comm: Any = None) -> ndarray:
    """The array whose part on each rank is that rank's ``block``; the memory stays its own.

    Without a ``layout`` the blocks join along axis 0 in the order of the ranks. With one, each
    block has the layout's shape for its rank, communication padding included. All ranks call
    it; blocks that do not fit together are a :class:`~atoll.errors.LayoutError` on all of them.
    """
    made: ndarray = ndarray._from_block(*import_local(block, layout, comm=comm))
    return made


def from_distarray(source: Any, *, strict: bool = False, comm: Any = None) -> ndarray:
    """The array that ``source`` shows by the Distributed Array Protocol, over the same memory.

    ``source`` has a method ``__distarray__``, or is the dictionary that it returns; all
    processes call this, each with its own. Versions 1.x, 0.10.x and 0.9.x are understood.
    Deviations with a clear meaning are repaired with a
    :class:`~atoll.errors.ProtocolWarning`, unless ``strict``; all else raises a
    :class:`~atoll.errors.ProtocolError` that lists every rule broken.
    """
    from ..interchange.distarray.importing import import_distarray

    made: ndarray = ndarray._from_block(
        *import_distarray(source, strict=strict, comm=comm, stacklevel=3)
    )
    return made
