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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, NamedTuple, TypeVar

from ..comm.in_step import agree, bcast_object
from ..comm.world import World
from ..errors import AtollError, ClusterError, ProtocolError

Result = TypeVar("Result")
Item = TypeVar("Item")
Position = tuple[int, ...]
Shape = tuple[int, ...]
Extents = tuple[tuple[int, ...], ...]
"""Along each axis, the lengths of the partitions."""

BEAT = 1.0
"""Seconds after which the root reports that it still waits."""


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


class _Failure(NamedTuple):
    """An error in a form that every rank can raise."""

    kind: type[Exception]
    message: str

    def on(self, rank: int, world: World) -> Exception:
        return self.kind(f"rank {rank}: {self.message}" if world.size > 1 else self.message)


def _failure(error: Exception, name: str) -> _Failure:
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
    reports = agree(world.communicator, (result, failure), name)
    for rank, (_, other) in enumerate(reports):
        if other is not None:
            raise other.on(rank, world) from cause
    return [other for other, _ in reports]


def locally(world: World, name: str, work: Callable[[], Result]) -> Result:
    """What ``work`` gives on this rank; an error on any rank is raised on all. Collective."""
    results: list[Result] = []
    everywhere(world, name, lambda: results.append(work()))
    return results[0]


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
        result, failure = bcast_object(world.communicator, (result, failure), root, name)
        if failure is not None:
            raise failure.on(root, world) from cause
        if result is not None:
            return result  # type: ignore[no-any-return]


def first_rank(world: World, name: str, has: bool, absent: str) -> int:
    """The first rank that ``has`` it; if none has, a ``TypeError`` with ``absent``. Collective."""
    have = agree(world.communicator, has, name)
    if not any(have):
        raise TypeError(f"{name}: {absent}")
    return have.index(True)


def extents_of(tiling: Sequence[int], shapes: Mapping[Position, Shape]) -> Extents:
    """Along each axis of a grid, the lengths of the partitions: those of the partitions at 0 along all other axes."""
    axes = range(len(tiling))
    return tuple(
        tuple(
            [shapes[tuple([place if k == axis else 0 for k in axes])][axis] for place in range(n)]
        )
        for axis, n in enumerate(tiling)
    )


def starts_of(extents: Sequence[Sequence[int]]) -> Extents:
    """Along each axis, where the partitions begin."""
    return tuple((0, *accumulate(lengths))[: len(lengths)] for lengths in extents)


def box(numbers: Sequence[Sequence[int]], position: Position) -> Shape:
    """Of the numbers along each axis, those at this position: a shape of extents, or an index of starts."""
    return tuple([along[place] for along, place in zip(numbers, position)])


def grid_of(name: str, tiling: Sequence[int], pieces: Mapping[Position, Piece]) -> Grid:
    """The grid that ``pieces`` form; a :class:`~atoll.errors.ProtocolError` if they form none."""
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
    """The items in order, so many at a time that their sizes add up to ``most``; at least one."""
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
