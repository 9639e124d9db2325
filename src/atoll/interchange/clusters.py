"""Common code of the cluster adapters: errors on all ranks, and grids of partitions.

The workers of a cluster (Dask, Ray) are not ranks, and often only one rank is connected to it. So one rank, the *root*,
communicates with the cluster until the partitions exist. Then it tells the others the cluster's address and the
partitions' names, and each rank connects and fetches or sends its own share.

Everything that can fail on one rank runs inside :func:`everywhere`: an exception on any rank is raised on all, after
the same exchange, so that no rank waits for one that has failed. While the root waits for the cluster,
:func:`while_root_waits` lets it report every second, so that the ranks can tell a long computation from a lost root,
and stop together.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple, TypeVar

from ..comm.in_step import agree, bcast_object
from ..comm.world import World
from ..errors import AtollError, ClusterError, ProtocolError
from ..layout import Layout

Result = TypeVar("Result")
Item = TypeVar("Item")
Position = tuple[int, ...]
Shape = tuple[int, ...]
Extents = tuple[tuple[int, ...], ...]
"""The lengths of the partitions along each axis."""

BEAT = 1.0
"""Interval in seconds at which the waiting root reports to the other ranks."""


class Piece(NamedTuple):
    """One partition as plain data: its name, its size, and its location."""

    key: Any
    shape: Shape
    locations: tuple[tuple[str, int], ...]


class Grid(NamedTuple):
    """All partitions of an array, by their position."""

    extents: Extents
    pieces: dict[Position, Piece]

    @property
    def shape(self) -> Shape:
        return tuple(map(sum, self.extents))


Failure = tuple[type[Exception], str]
"""The class and the message of an error, from which every rank can make it."""


def _attempt(
    name: str, work: Callable[[], Any]
) -> tuple[tuple[Any, Failure | None], Exception | None]:
    """The result of ``work`` and its failure, both as plain data, and its error."""
    try:
        return (work(), None), None
    except Exception as error:
        kind = type(error)
        if isinstance(error, AtollError) or kind in (TypeError, ValueError):
            return (None, (kind, str(error))), error
        text = f"{name}: {kind.__name__}: {str(error) or repr(error)}"
        return (None, (ClusterError, text)), error


def _raise(failure: Failure | None, rank: int, world: World, cause: Exception | None) -> None:
    """Raise the failure of a rank, if it has one."""
    if failure is not None:
        kind, message = failure
        raise kind(f"rank {rank}: {message}" if world.size > 1 else message) from cause


def everywhere(world: World, name: str, work: Callable[[], Result]) -> list[Result]:
    """Run ``work`` and return the results of all ranks, or raise the error of the first rank that failed on all.

    Collective, also if ``work`` fails.
    """
    report, cause = _attempt(name, work)
    reports = agree(world.communicator, report, name)
    for rank, (_, failure) in enumerate(reports):
        _raise(failure, rank, world, cause)
    return [result for result, _ in reports]


def locally(world: World, name: str, work: Callable[[], Result]) -> Result:
    """Run ``work`` and return the result of this rank; an error on any rank is raised on all. Collective."""
    results: list[Result] = []
    everywhere(world, name, lambda: results.append(work()))
    return results[0]


def while_root_waits(
    world: World, name: str, root: int, look: Callable[[float], Result | None]
) -> Result:
    """Call ``look`` on the root until its result is not ``None``; return the result, or raise its error, on all ranks.

    ``look(seconds)`` returns within about ``seconds``. On the other ranks ``look`` is ignored. Collective.
    """
    while True:
        report, cause = _attempt(name, lambda: look(BEAT) if world.rank == root else None)
        result, failure = bcast_object(world.communicator, report, root, name)
        _raise(failure, root, world, cause)
        if result is not None:
            return result  # type: ignore[no-any-return]


def first_rank(world: World, name: str, has: bool, absent: str) -> int:
    """The first rank on which ``has`` is true; a ``TypeError`` with ``absent`` if there is none. Collective."""
    have = agree(world.communicator, has, name)
    if not any(have):
        raise TypeError(f"{name}: {absent}")
    return have.index(True)


def new_label(world: World, name: str, root: int) -> str:
    """A random word of the root, a part of the names of all values that the ranks exchange in the cluster. Collective."""
    return everywhere(world, name, lambda: uuid.uuid4().hex)[root]


def exported_cell(layout: Layout, rank: int) -> Position | None:
    """The position of the block that a rank exports: of several copies of a block, the first rank exports its own."""
    cell = layout.coordinates(rank)
    return cell if cell is not None and layout.rank_at(cell) == rank else None


def gathered(handles: Any, kind: type, get: Callable[[list[Any]], Any]) -> Any:
    """The data of one handle, or of a sequence of handles, by a function of a list of handles."""
    if isinstance(handles, kind):
        return get([handles])[0]
    return get(list(handles))


def extents_of(tiling: Sequence[int], shapes: Mapping[Position, Shape]) -> Extents:
    """The lengths of the partitions along each axis, from the partitions at 0 along all other axes."""
    axes = range(len(tiling))
    return tuple(
        tuple(
            [shapes[tuple([place if k == axis else 0 for k in axes])][axis] for place in range(n)]
        )
        for axis, n in enumerate(tiling)
    )


def starts_of(extents: Sequence[Sequence[int]]) -> Extents:
    """The start indices of the partitions along each axis."""
    return tuple((0, *accumulate(lengths))[: len(lengths)] for lengths in extents)


def box(numbers: Sequence[Sequence[int]], position: Position) -> Shape:
    """Select the number at a position on each axis: a shape from extents, or an index from starts."""
    return tuple([along[place] for along, place in zip(numbers, position)])


def grid_of(name: str, tiling: Sequence[int], pieces: Mapping[Position, Piece]) -> Grid:
    """The grid of ``pieces``; a :class:`~atoll.errors.ProtocolError` if they do not form a regular grid."""
    for position in product(*map(range, tiling)):
        if position not in pieces:
            raise ProtocolError(f"{name}: P4 position {position}: there is no such partition")
        if len(pieces[position].shape) != len(tiling):
            raise ProtocolError(
                f"{name}: P3 position {position}: the partition has shape {pieces[position].shape}; it must have the {len(tiling)} dimensions of the grid {tuple(tiling)}"
            )
    extents = extents_of(tiling, {position: piece.shape for position, piece in pieces.items()})
    for position, piece in pieces.items():
        for axis, (length, wanted) in enumerate(zip(piece.shape, box(extents, position))):
            if length != wanted:
                raise ProtocolError(
                    f"{name}: P6 position {position}: the partition has {length} elements along axis {axis}, "
                    f"the first one there has {wanted}; the grid must be regular"
                )
    return Grid(extents, dict(pieces))


def description(
    grid: Grid, handle: Callable[[Any], Any], get: Callable[[Any], Any]
) -> dict[str, Any]:
    """The dictionary of ``__partitioned__`` for partitions on a cluster: without ``locals``."""
    starts = starts_of(grid.extents)
    return {
        "shape": grid.shape,
        "partition_tiling": tuple(map(len, grid.extents)),
        "partitions": {
            position: {
                "start": box(starts, position),
                "shape": piece.shape,
                "data": handle(piece.key),
                "location": list(piece.locations),
            }
            for position, piece in grid.pieces.items()
        },
        "get": get,
    }


def batches(items: Iterable[Item], sizes: Iterable[int], most: int) -> Iterator[list[Item]]:
    """Split the items, in order, into batches whose sizes add up to at most ``most``, or that have one item."""
    batch: list[Item] = []
    total = 0
    for item, size in zip(items, sizes):
        if batch and total + size > most:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch


def cut(lengths: Sequence[Shape], itemsize: int, limit: int) -> list[list[Shape]]:
    """Split each tile's length along each axis into lengths of chunks of at most ``limit`` bytes.

    Outer axes are split first, so that the chunks stay long along the inner axes.
    """
    longest = [max(*axis, 1) if axis else 1 for axis in lengths]
    budget, result = limit // itemsize if itemsize else limit, []
    for k, axis in enumerate(lengths):
        most = max(1, budget // prod(longest[k + 1 :]))
        result.append([tuple(_chunks(length, most)) for length in axis])
        budget //= min(most, longest[k])
    return result


def _chunks(length: int, longest: int) -> list[int]:
    """Split ``length`` into nearly equal chunks of at most ``longest``; a length of zero is one chunk."""
    count = max(1, -(-length // longest))
    return [length * (k + 1) // count - length * k // count for k in range(count)]
