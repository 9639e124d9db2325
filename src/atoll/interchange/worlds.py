"""The world of an argument ``comm=``."""

from __future__ import annotations

from typing import Any

from ..comm.communicator import Communicator
from ..comm.world import CurrentWorld, World, current_world


def world_of(comm: Any = None) -> World:
    """The world of ``comm``: ``None`` (the current one), a world, or a communicator.

    An mpi4py communicator is adopted, which is collective over it the first time.
    """
    if comm is None or isinstance(comm, CurrentWorld):
        return current_world()
    if isinstance(comm, World):
        return comm
    if isinstance(comm, Communicator):
        return World(comm)
    from ..comm.mpi import adopt

    return World(adopt(comm))
