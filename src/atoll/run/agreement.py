"""Ranks that do different things are told, instead of exchanging what does not belong together.

Every program has a *mark*: a number that follows from its operations, shapes and layouts, equal on
all ranks if and only if (but for an accident in 2**62) they run the same program. It travels with
what is sent anyway: as a part of the tags of messages, so that messages of different programs never
meet, and in front of the values that a fold across ranks gathers. Where marks differ, all ranks of
the fold see it, say to each other which line of the user's they are at, and raise the same
:class:`~atoll.errors.DivergenceError`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..comm.communicator import Communicator
from ..comm.trail import user_line
from ..errors import DivergenceError

ROOM = 48
"""Bytes of a value that travel in one row with the mark; longer ones follow."""

_PATCHES = 16
"""Bits of a tag that number the messages of one exchange; the others are the program's."""

Array = np.ndarray[Any, Any]


def tags_of(mark: int, limit: int) -> int:
    """What is added to the tags of a program's messages; ``limit`` is the largest tag."""
    kinds = (limit >> _PATCHES) - 1
    return (mark % kinds + 1) << _PATCHES if kinds > 1 else 0


def gathered(communicator: Communicator, mark: int, array: Array, what: str) -> Array:
    """The ``array`` of each rank, in the order of the ranks, if all run the same program."""
    flat = np.ascontiguousarray(array).reshape(-1)
    count = flat.nbytes
    row = np.zeros(16 + ROOM, np.uint8)
    head = row[:16].view(np.int64)
    head[0], head[1] = mark, count
    short = count <= ROOM
    if short:
        row[16 : 16 + count] = flat.view(np.uint8)
    every = communicator.allgather(row, what)
    heads = every[:, :16].copy().view(np.int64)
    if (heads != head).any():
        raise parted(communicator, what)
    if not short:
        return communicator.allgather(flat, what).reshape(-1, *array.shape)
    values = every[:, 16 : 16 + count].copy().view(flat.dtype)
    return values.reshape(len(every), *array.shape)


def parted(communicator: Communicator, what: str) -> DivergenceError:
    """The error that says where each rank is. All ranks of the communicator call it."""
    places = communicator.allgather_object(user_line(), what)
    ranks: dict[str, list[int]] = {}
    for rank, place in enumerate(places):
        ranks.setdefault(place, []).append(rank)
    listed = "; ".join(
        f"rank{'s' * (len(some) > 1)} {', '.join(map(str, some[:8]))}"
        f"{' ...' if len(some) > 8 else ''} at {place}"
        for place, some in ranks.items()
    )
    return DivergenceError(
        f"{what}: the ranks do not compute the same: {listed}. What arrays on ranks are part of must be "
        "done by all ranks, in the same order and with the same shapes"
    )
