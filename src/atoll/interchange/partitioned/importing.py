"""From a checked description to a block, a layout and a world: the same layout on every rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...comm.in_step import alltoall_object
from ...comm.world import World, world_of
from ...errors import AtollError, BufferTypeError, ClusterError, ProtocolError
from ...layout import Layout, Range
from ..clusters import Extents, Position, Shape, batches, box, everywhere, starts_of
from ..reports import Imported, refuse, warn
from ..values import UnfitError, is_a, items, kind_name, said
from .arranging import Owners, arranged, dealt
from .checking import Examination, examine
from .data import RefusedError, as_array, is_data, joined, shares
from .reading import Container

Array = npt.NDArray[Any]

BATCH = 1 << 24
"""How many elements are requested of a cluster at a time; at least one partition."""


def import_partitioned(
    source: object,
    *,
    comm: Any = None,
    copy: bool | None = None,
    strict: bool = False,
    name: str = "from_partitioned",
) -> Imported:
    """The block, layout and world of what ``source`` exports by ``__partitioned__``. Collective.

    The block is the producer's memory where that is possible; ``copy=False`` refuses to copy, ``copy=True`` always
    does. Raises :class:`~atoll.errors.ProtocolError` with every broken rule, on all ranks alike.
    """
    world = world_of(comm)
    examination = examine(source, world.communicator, strict)
    refuse(name, "the __partitioned__ protocol", examination.violations, "D1")
    assert examination.container is not None
    if examination.container.spmd:
        block, layout = _held(name, examination, world, copy)
    else:
        block, layout = _fetched(name, examination.container, examination, world, copy)
    warn("partitioned", examination.notes)
    return Imported(block, layout, world)


# Partitions that ranks hold


def _held(
    name: str, examination: Examination, world: World, copy: bool | None
) -> tuple[Array, Layout]:
    container = examination.container
    assert container is not None
    dtype = next(held.dtype for section in examination.sections for held in section.held)
    owners: Owners = _owners(examination)
    arrangement = arranged(examination.extents, owners, world.size)
    if arrangement is None and any(len(ranks) > 1 for ranks in owners.values()):
        owners = {position: ranks[:1] for position, ranks in owners.items()}
        arrangement = arranged(examination.extents, owners, world.size)
    if arrangement is None:
        _may_copy(
            name, world, copy is False, "no layout says who holds what; the partitions must move"
        )
        return _moved(name, container, examination.extents, owners, world, dtype)
    layout, places = arrangement
    block, shared = _block(
        container, examination.extents, layout, places.get(world.rank), world.rank, dtype
    )
    _may_copy(
        name,
        world,
        copy is False and not shared,
        "the partitions of a rank are no one array in memory",
    )
    if copy and shared:
        block = block.copy()
    return block, layout


def _owners(examination: Examination) -> dict[Position, tuple[int, ...]]:
    owners: dict[Position, list[int]] = {
        position: [] for position in product(*map(range, examination.sections[0].tiling))
    }
    for section in examination.sections:
        for held in section.held:
            owners[held.position].append(section.rank)
    return {position: tuple(ranks) for position, ranks in owners.items()}


def _may_copy(name: str, world: World, refused: bool, why: str) -> None:
    """Raise on all ranks if one of them would have to copy and must not."""

    def check() -> None:
        if refused:
            raise BufferTypeError(f"{name}: copy=False: {why}")

    everywhere(world, name, check)


def _block(
    container: Container,
    extents: Extents,
    layout: Layout,
    places: list[list[int]] | None,
    rank: int,
    dtype: Any,
) -> tuple[Array, bool]:
    """This rank's block, and whether it is the producer's memory."""
    shape = layout.local_shape(rank)
    if places is None:
        return np.empty(shape, dtype), True
    mine = {position: container.arrays[position] for position in product(*places)}
    whole = joined(mine)
    if whole is not None:
        shared = not container.copied.intersection(mine)
        return whole.reshape(shape) if whole.shape != shape else whole, shared
    block = np.empty(shape, dtype)
    offsets = _offsets(extents, places)
    for position, array in mine.items():
        block[_key(position, offsets, array)] = array
    return block, False


def _offsets(extents: Extents, places: list[list[int]]) -> list[dict[int, int]]:
    """Where in the block each place along an axis begins."""
    offsets = []
    for lengths, own in zip(extents, places):
        begin, offset = {}, 0
        for place in own:
            begin[place] = offset
            offset += lengths[place]
        offsets.append(begin)
    return offsets


def _key(position: Position, offsets: list[dict[int, int]], array: Array) -> tuple[slice, ...]:
    return tuple(
        [
            slice(begin[place], begin[place] + n)
            for begin, place, n in zip(offsets, position, array.shape)
        ]
    )


def _moved(
    name: str, container: Container, extents: Extents, owners: Owners, world: World, dtype: Any
) -> tuple[Array, Layout]:
    """The partitions in the layout that a new array would have, after one exchange."""
    layout = Layout.default(container.shape, world.size)
    starts = starts_of(extents)
    outgoing: list[list[tuple[Any, Array]]] = [[] for _ in range(world.size)]
    for position, array in container.arrays.items():
        if owners[position][0] != world.rank:
            continue
        for rank in range(world.size):
            if layout.coordinates(rank) is None:
                continue
            source, target = [], []
            for part, first, n in zip(layout.region(rank), box(starts, position), array.shape):
                assert isinstance(part, Range)
                low, high = max(part.values.start, first), min(part.values.stop, first + n)
                source.append(slice(low - first, high - first))
                target.append(slice(low - part.values.start, high - part.values.start))
            if all(s.start < s.stop for s in source):
                outgoing[rank].append((tuple(target), array[tuple(source)]))
    block = np.empty(layout.local_shape(world.rank), dtype)
    for received in alltoall_object(world.communicator, outgoing, name):
        for key, piece in received:
            block[key] = piece
    return block, layout


# Partitions that a cluster holds


def _fetched(
    name: str, container: Container, examination: Examination, world: World, copy: bool | None
) -> tuple[Array, Layout]:
    processes = [section.process for section in examination.sections]
    owners = dealt(container.tiling, container.locations, processes)
    mine = [
        (position, container.handles[position], box(container.extents, position))
        for position, ranks in owners.items()
        if ranks[0] == world.rank
    ]
    arrangement = arranged(container.extents, owners, world.size)
    arrivals = _Arrivals(container.extents)
    if arrangement is not None and len(mine) > 1:
        layout, places = arrangement
        arrivals.shape, arrivals.places = layout.local_shape(world.rank), places[world.rank]

    def bring() -> Any:
        fetch(container.get, mine, arrivals.take)
        return arrivals.dtype

    dtypes = [dtype for dtype in everywhere(world, name, bring) if dtype is not None]
    if any(dtype != dtypes[0] for dtype in dtypes):
        listed = ", ".join(sorted({str(dtype) for dtype in dtypes}))
        raise ProtocolError(f"{name}: P7: the partitions have dtypes {listed}; an array has one")
    filled = replace(container, spmd=True, arrays=arrivals.arrays, copied=frozenset())
    if arrangement is None:
        _may_copy(name, world, copy is False, "the partitions must move")
        return _moved(name, filled, container.extents, owners, world, dtypes[0])
    layout, places = arrangement
    shared = False
    if arrivals.block is not None:
        block = arrivals.block
    else:
        block, whole = _block(
            filled, container.extents, layout, places.get(world.rank), world.rank, dtypes[0]
        )
        shared = whole and arrivals.direct
    _may_copy(
        name, world, copy is False and not shared and bool(mine), "the data came from a cluster"
    )
    if (copy and shared) or not block.flags.writeable:
        block = block.copy()
    return block, layout


class _Arrivals:
    """Stores the partitions that arrive from a cluster.

    If the block is known (``places`` is set), each partition is copied into it and released, so that no rank ever has
    its share twice. Views of a handle's own memory are kept: all together they may be one array.
    """

    def __init__(self, extents: Extents) -> None:
        self.extents = extents
        self.places: list[list[int]] | None = None
        self.shape: Shape = ()
        self.arrays: dict[Position, Array] = {}
        self.block: Array | None = None
        self.direct = True
        self.dtype: Any = None
        self._first: Position = ()
        self._offsets: list[dict[int, int]] = []

    def take(self, position: Position, array: Array, own: bool) -> None:
        if self.dtype is None:
            self.dtype, self._first = array.dtype, position
        elif array.dtype != self.dtype:
            raise ProtocolError(
                f"P7 position {position}: its data has dtype {array.dtype}, that of position "
                f"{self._first} has {self.dtype}"
            )
        self.direct = self.direct and own
        self.arrays[position] = array
        if self.places is None or self.direct:
            return
        if self.block is None:
            self.block = np.empty(self.shape, self.dtype)
            self._offsets = _offsets(self.extents, self.places)
        while self.arrays:
            place, partition = self.arrays.popitem()
            self.block[_key(place, self._offsets, partition)] = partition


def fetch(
    get: Callable[[Any], Any],
    handles: Sequence[tuple[Position, Any, Shape]],
    take: Callable[[Position, Array, bool], None],
) -> None:
    """Get each partition and give it to ``take``, with whether it is a view of the handle itself."""
    for batch in batches(handles, [prod(shape) for _, _, shape in handles], BATCH):
        direct = [is_data(handle) for _, handle, _ in batch]
        wanted = [handle for (_, handle, _), own in zip(batch, direct) if not own]
        results = iter(_results(get, wanted) if wanted else ())
        for (position, handle, shape), own in zip(batch, direct):
            value = handle if own else next(results)
            try:
                array = as_array(value)
            except RefusedError as refused:
                raise ProtocolError(f"{refused.rule} position {position}: {refused}") from refused
            if array.shape != shape:
                raise ProtocolError(
                    f"P8 position {position}: its data has shape {array.shape}, it is said to be {shape}"
                )
            take(position, array, own and shares(value, array))


def _results(get: Callable[[Any], Any], handles: list[Any]) -> Sequence[Any]:
    """By one call for all, or, if ``get`` knows single handles only, by one for each."""
    try:
        try:
            data = get(handles)
        except (TypeError, AttributeError, LookupError) as error:
            if isinstance(error, AtollError):
                raise
            data = _single_results(get, handles, error)
    except AtollError:
        raise
    except Exception as error:
        raise ClusterError(f"get raised {said(error)}") from error
    try:
        every = [] if is_a(data, np.ndarray, Mapping, str, bytes) else items(data, len(handles))
    except UnfitError:
        every = []
    if len(every) != len(handles):
        raise ProtocolError(
            f"P12: get was called with {len(handles)} handles and returned a {kind_name(data)}, not a sequence of "
            "as many data"
        )
    return every


def _single_results(get: Callable[[Any], Any], handles: list[Any], first: Exception) -> list[Any]:
    """By a call for each handle; ``first`` is why one call for all did not work."""
    try:
        return [get(handle) for handle in handles]
    except AtollError:
        raise
    except Exception:
        raise first from None
