"""What the adapters of clusters share: errors on all ranks, and grids of partitions.

The workers of a cluster (Dask, Ray) are not ranks, and often only one rank is connected to it. So one rank, the *root*,
communicates with the cluster until the partitions exist. Then it tells the others the cluster's address and the
partitions' names, and each rank connects and fetches or sends its own share.

Everything that can fail on one rank runs inside :func:`everywhere`: an exception on any rank is raised on all, after
the same exchange, so that no rank waits for one that has failed. While the root waits for the cluster,
:func:`while_root_waits` lets it report every second, so that the ranks can tell a long computation from a lost root,
and stop together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple, TypeVar

from ..comm.in_step import agree, bcast_object
from ..comm.world import World
from ..errors import AtollError, ClusterError, ProtocolError

Result = TypeVar("Result")
Position = tuple[int, ...]
Shape = tuple[int, ...]

BEAT = 1.0
"""Seconds after which the root reports that it still waits."""


class Piece(NamedTuple):
    """One partition as plain data: its name, its size, and its location."""

    key: Any
    shape: Shape
    locations: tuple[tuple[str, int], ...]


class Grid(NamedTuple):
    """All partitions of an array, by their position."""

    shape: Shape
    tiling: Shape
    pieces: dict[Position, Piece]


class _Failure(NamedTuple):
    kind: type[Exception]
    message: str


def _failure(error: Exception, name: str) -> _Failure:
    """An error in a form that every rank can raise."""
    kind = type(error)
    if isinstance(error, AtollError) or kind in (TypeError, ValueError):
        return _Failure(kind, str(error))
    text = str(error) or repr(error)
    return _Failure(ClusterError, f"{name}: {kind.__name__}: {text}")


def everywhere(world: World, name: str, work: Callable[[], Result]) -> list[Result]:
    """What ``work`` gives on each rank, or the error of the first rank that raised one, on all.

    Collective, also where ``work`` fails.
    """
    result: Any = None
    failure, cause = None, None
    try:
        result = work()
    except Exception as error:
        failure, cause = _failure(error, name), error
    reports: list[Any] = (
        [(result, failure)]
        if world.size == 1
        else agree(world.communicator, (result, failure), name)
    )
    for rank, (_, other) in enumerate(reports):
        if other is not None:
            place = f"rank {rank}: " if world.size > 1 else ""
            raise other.kind(place + other.message) from cause
    return [one for one, _ in reports]


def while_root_waits(
    world: World, name: str, root: int, look: Callable[[float], Result | None]
) -> Result:
    """What ``look`` gives on the root once it is not ``None``; all ranks get it, or its error.

    ``look(seconds)`` returns within about so many seconds. The others call this with any ``look``.
    """
    while True:
        result: Any = None
        failure, cause = None, None
        if world.rank == root:
            try:
                result = look(BEAT)
            except Exception as error:
                failure, cause = _failure(error, name), error
        if world.size > 1:
            result, failure = bcast_object(world.communicator, (result, failure), root, name)
        if failure is not None:
            place = f"rank {root}: " if world.size > 1 else ""
            raise failure.kind(place + failure.message) from cause
        if result is not None:
            found: Result = result
            return found


def first_rank(world: World, name: str, work: Callable[[], bool], absent: str) -> int:
    """The first rank on which ``work`` gives true; if there is none, a ``TypeError`` with ``absent``."""
    have = everywhere(world, name, work)
    if not any(have):
        raise TypeError(f"{name}: {absent}")
    return have.index(True)


def grid_of(name: str, tiling: Sequence[int], pieces: Mapping[Position, Piece]) -> Grid:
    """The grid that ``pieces`` form; a :class:`~atoll.errors.ProtocolError` if they form none."""
    axes = len(tiling)
    for position in product(*map(range, tiling)):
        piece = pieces.get(position)
        if piece is None:
            raise ProtocolError(f"{name}: P4 position {position}: there is no such partition")
        if len(piece.shape) != axes:
            raise ProtocolError(
                f"{name}: P3 position {position}: the partition has shape {piece.shape}; the grid "
                f"{tuple(tiling)} has {axes} dimensions"
            )
        for axis, place in enumerate(position):
            # The partition on the axis itself, at 0 along all others, has the length of this tile.
            first = tuple([place if k == axis else 0 for k in range(axes)])
            model = pieces[first].shape[axis] if first in pieces else None
            if model is not None and piece.shape[axis] != model:
                raise ProtocolError(
                    f"{name}: P6 position {position}: the partition has {piece.shape[axis]} elements "
                    f"along axis {axis}, the one at {first} has {model}; the grid must be regular"
                )
    shape = tuple(map(sum, extents(tiling, pieces)))
    return Grid(shape, tuple(tiling), dict(pieces))


def extents(tiling: Sequence[int], pieces: Mapping[Position, Piece]) -> tuple[Shape, ...]:
    """Along each axis of a regular grid, the lengths of the partitions."""
    axes = len(tiling)
    return tuple(
        tuple(
            pieces[tuple([place if k == axis else 0 for k in range(axes)])].shape[axis]
            for place in range(count)
        )
        for axis, count in enumerate(tiling)
    )


def description(
    grid: Grid, handle: Callable[[Any], Any], get: Callable[[Any], Any]
) -> dict[str, Any]:
    """The dictionary of ``__partitioned__`` for partitions on a cluster: without ``locals``."""
    offsets = [
        (0, *accumulate(lengths[:-1])) if lengths else ()
        for lengths in extents(grid.tiling, grid.pieces)
    ]
    return {
        "shape": grid.shape,
        "partition_tiling": grid.tiling,
        "partitions": {
            position: {
                "start": tuple([offset[place] for offset, place in zip(offsets, position)]),
                "shape": piece.shape,
                "data": handle(piece.key),
                "location": list(piece.locations),
            }
            for position, piece in grid.pieces.items()
        },
        "get": get,
    }


def cut(lengths: Sequence[Shape], itemsize: int, limit: int) -> list[list[Shape]]:
    """Along each axis, each tile's length as lengths of chunks, so that none exceeds ``limit`` bytes.

    Outer axes are cut first: the chunks stay long along the inner ones.
    """
    longest = [max(*axis, 1) if axis else 1 for axis in lengths]
    budget, result = limit // itemsize if itemsize else limit, []
    for k, axis in enumerate(lengths):
        most = max(1, budget // prod(longest[k + 1 :]))
        result.append([tuple(_chunks(length, most)) for length in axis])
        budget //= min(most, longest[k])
    return result


def _chunks(length: int, longest: int) -> list[int]:
    """``length`` in nearly equal chunks of at most ``longest``; a length of zero is one chunk."""
    count = max(1, -(-length // longest))
    return [length * (k + 1) // count - length * k // count for k in range(count)]
