"""How MPI processes come together: duplicates of communicators, whose ranks they are, and which of them share a host.

Every wait here has a limit and names the ranks that are missing. Only ``mpi`` imports mpi4py; here it is ``library``.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .. import system
from ..config import config
from ..context import remote_stacks
from .nodes import Nodes, agreed
from .waiting import Patience


def numbers_in(library: Any, comm: Any, other: Any) -> list[int]:
    """Which ranks of the communicator ``other`` those of ``comm`` are."""
    mine, others = comm.Get_group(), other.Get_group()
    numbers: list[int] = library.Group.Translate_ranks(mine, None, others)
    mine.Free()
    others.Free()
    return numbers


def duplicate(library: Any, comm: Any) -> Any:
    """A duplicate of a communicator. Collective."""
    copy, handle = comm.Idup()
    _all_take_part(library, comm, handle, "the duplication of a communicator")
    return copy


def nodes_of(library: Any, comm: Any) -> Nodes:
    """Which ranks of a communicator share a node. Collective."""
    marks = _mark(system.host()), config.ranks_per_node or 0, _mark(system.arithmetic())
    mine = np.array(marks, np.int64)
    every = np.empty((comm.size, 3), np.int64)
    byte = library.BYTE
    handle = comm.Iallgather((mine, mine.nbytes, byte), (every, mine.nbytes, byte))
    _all_take_part(library, comm, handle, "the exchange of the names of hosts")
    return agreed(*every.T)


def _mark(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _all_take_part(library: Any, comm: Any, handle: Any, what: str) -> None:
    """Wait for an operation of all ranks of ``comm``."""

    def describe() -> str:
        here = library.COMM_WORLD.rank
        others = [n for n in numbers_in(library, comm, library.COMM_WORLD) if n != here]
        return f"{what}, which all of its ranks must take part in" + remote_stacks.told(others)

    patience = Patience(f"rank {comm.rank} of {comm.size}", describe)
    while not handle.Test():
        patience.pause()
