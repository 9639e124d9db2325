"""Arrays over foreign memory: a block per rank, or another library's buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import ndarray
from ..comm.in_step import agree
from ..comm.world import World
from ..interchange.local import import_local
from ..layout import Layout


def from_local(block: Any, layout: Layout | None = None, *, comm: Any = None) -> ndarray:
    """Make an array of the blocks that the ranks hold, over the same memory. Collective.

    Without a ``layout`` the blocks join along axis 0 in the order of the ranks. With one, each
    block has the layout's shape for its rank, communication padding included. All ranks call
    it; blocks that do not fit together are a :class:`~atoll.errors.LayoutError` on all of them.
    """
    return _over(*import_local(block, layout, comm=comm))


def from_distarray(source: Any, *, strict: bool = False, comm: Any = None) -> ndarray:
    """Make an array over the memory that ``source`` describes by the Distributed Array Protocol. Collective.

    ``source`` has a method ``__distarray__``, or is the dictionary that it returns; all
    processes call this, each with its own. Versions 1.x, 0.10.x and 0.9.x are understood.
    Deviations with a clear meaning are repaired with a
    :class:`~atoll.errors.ProtocolWarning`, unless ``strict``; all else raises a
    :class:`~atoll.errors.ProtocolError` that lists every rule broken.
    """
    from ..interchange.distarray import import_distarray

    return _over(*import_distarray(source, strict=strict, comm=comm))


def from_partitioned(source: Any, *, comm: Any = None, copy: bool | None = None) -> ndarray:
    """Make an array of the partitions that ``source`` describes by ``__partitioned__``, without copying if possible. Collective.

    ``source`` has a property ``__partitioned__``, or is the dictionary itself; all ranks call this,
    each with its own. Partitions that the ranks hold stay in place if a layout describes them, and
    otherwise move once; handles of a cluster are fetched by one rank each. ``copy=False`` refuses to
    copy, ``copy=True`` always does. Deviations with a clear meaning are repaired with a
    :class:`~atoll.errors.ProtocolWarning`; all else raises a :class:`~atoll.errors.ProtocolError`
    that lists every rule broken.
    """
    from ..interchange.partitioned import import_partitioned

    return _over(*import_partitioned(source, comm=comm, copy=copy))


def _over(block: np.ndarray[Any, Any], layout: Layout, world: World) -> ndarray:
    """The array over blocks of all ranks: to be written to if all of them are, or else the ranks would part. Collective."""
    if world.size > 1:
        writeable = bool(block.flags.writeable) or not block.size
        everywhere = all(agree(world.communicator, writeable, "whether blocks are writeable"))
        if everywhere != block.flags.writeable:
            block = block.view() if block.size else np.empty(block.shape, block.dtype)
            block.flags.writeable = everywhere
    array: ndarray = ndarray._from_block(block, layout, world)
    return array
