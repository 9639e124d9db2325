"""Assembly of a checked description as a block, a layout and a world; the layout is the same on every rank.

The layout under which every rank keeps its partitions: along each axis, positions whose partitions have the same owners form a
group. If the positions of each group adjoin, the group becomes one larger block; if groups alternate in equal sizes, the axis
is cyclic; otherwise it is unstructured. The layout exists if each rank has only one position in the grid of these groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...comm.in_step import alltoall_object
from ...comm.world import World, world_of
from ...context.interrupts import passed_on
from ...errors import AtollError, BufferTypeError, ClusterError, ProtocolError
from ...layout import Axis, BlockAxis, CyclicAxis, Layout, Range, UnstructuredAxis, listed
from ...layout.transfer import region_key
from ..clusters import Extents, Position, Shape, batches, box, everywhere, starts_of
from ..protocol import Imported
from ..values import UnfitError, a_kind, error_text, is_a, items
from .data import RefusedError, as_array, is_data, joined, shares
from .description import PROTOCOL, Container, Section

Array = npt.NDArray[Any]

BATCH = 1 << 24
"""Number of elements that a rank requests from a cluster at a time; at least one partition."""


def import_partitioned(
    source: object,
    *,
    comm: Any = None,
    copy: bool | None = None,
    name: str = "from_partitioned",
) -> Imported:
    """Import the array that ``source`` exports by ``__partitioned__``: the block, layout and world. Collective.

    The block is the producer's memory if possible; ``copy=False`` refuses to copy, ``copy=True`` always copies.
    Raises :class:`~atoll.errors.ProtocolError` with every broken rule, on all ranks alike.
    """
    world = world_of(comm)
    examination = PROTOCOL.accepted(name, source, world, False)
    importer = _Importer(name, examination.sections, examination.content, world, copy)
    block, layout = importer.of_ranks() if importer.first.spmd else importer.of_cluster()
    PROTOCOL.warn(examination)
    return Imported(block, layout, world)


@dataclass(frozen=True, slots=True)
class _Importer:
    name: str
    sections: Sequence[Section]
    container: Container
    world: World
    copy: bool | None

    @property
    def first(self) -> Section:
        """The digest of rank 0, with the facts that are equal on all ranks."""
        return self.sections[0]

    def of_ranks(self) -> tuple[Array, Layout]:
        """The block and the layout of partitions that ranks hold."""
        extents, size = self.first.extents, self.world.size
        dtype = next(each.dtype for section in self.sections for each in section.local)
        owners = _owners(self.sections)
        arrangement = arranged(extents, owners, size)
        if arrangement is None and any(len(ranks) > 1 for ranks in owners.values()):
            owners = {position: ranks[:1] for position, ranks in owners.items()}
            arrangement = arranged(extents, owners, size)
        if arrangement is None:
            self._copies(True, "no layout says who holds what; the partitions must move")
            return self._moved(self.container.arrays, owners, dtype)
        block, shared = self._block(*arrangement, self.container.arrays, dtype)
        self._copies(not shared, "the partitions of a rank are no one array in memory")
        return block.copy() if self.copy and shared else block, arrangement[0]

    def of_cluster(self) -> tuple[Array, Layout]:
        """The block and the layout of partitions that a cluster holds."""
        container, world, extents = self.container, self.world, self.first.extents
        processes = [section.process for section in self.sections]
        owners = dealt(self.first.tiling, container.locations, processes)
        mine = [
            (position, container.handles[position], box(extents, position))
            for position, ranks in owners.items()
            if ranks[0] == world.rank
        ]
        arrangement = arranged(extents, owners, world.size)
        arrivals = _Arrivals(extents)
        if arrangement is not None and len(mine) > 1:
            layout, places = arrangement
            arrivals.shape, arrivals.places = layout.local_shape(world.rank), places[world.rank]

        def bring() -> Any:
            fetch(container.get, mine, arrivals.take)
            return arrivals.dtype

        dtypes = [dtype for dtype in everywhere(world, self.name, bring) if dtype is not None]
        if any(dtype != dtypes[0] for dtype in dtypes):
            listed = ", ".join(sorted({str(dtype) for dtype in dtypes}))
            raise ProtocolError(
                f"{self.name}: P7: the partitions must have one dtype, and have {listed}"
            )
        if arrangement is None:
            self._copies(True, "the partitions must move")
            return self._moved(arrivals.arrays, owners, dtypes[0])
        block, shared = arrivals.block, False
        if block is None:
            block, shared = self._block(*arrangement, arrivals.arrays, dtypes[0])
            shared = shared and arrivals.direct
        self._copies(not shared and bool(mine), "the data came from a cluster")
        if (self.copy and shared) or not block.flags.writeable:
            block = block.copy()
        return block, arrangement[0]

    def _copies(self, copies: bool, why: str) -> None:
        """Raise on all ranks if one of them must copy and ``copy=False``. Collective."""

        def check() -> None:
            if copies and self.copy is False:
                raise BufferTypeError(f"{self.name}: copy=False: {why}")

        everywhere(self.world, self.name, check)

    def _block(
        self,
        layout: Layout,
        places: dict[int, list[list[int]]],
        arrays: dict[Position, Array],
        dtype: Any,
    ) -> tuple[Array, bool]:
        """This rank's block, and true if it is the producer's memory."""
        shape, own = layout.local_shape(self.world.rank), places.get(self.world.rank)
        if own is None:
            return np.empty(shape, dtype), True
        offsets = _offsets(self.first.extents, own)
        placed = [(_key(p, offsets, arrays[p]), arrays[p]) for p in product(*own)]
        whole = joined(shape, placed)
        if whole is not None:
            return whole, self.container.copied.isdisjoint(product(*own))
        block = np.empty(shape, dtype)
        for key, array in placed:
            block[key] = array
        return block, False

    def _moved(
        self, arrays: dict[Position, Array], owners: Owners, dtype: Any
    ) -> tuple[Array, Layout]:
        """Move the partitions to the layout of a new array, by one exchange. Collective."""
        world = self.world
        layout = Layout.default(self.first.shape, world.size)
        starts = starts_of(self.first.extents)
        outgoing: list[list[tuple[Any, Array]]] = [[] for _ in range(world.size)]
        for position, array in arrays.items():
            if owners[position][0] != world.rank:
                continue
            first = box(starts, position)
            own = [Range(start, start + n) for start, n in zip(first, array.shape)]
            for rank in layout.ranks:
                region = layout.region(rank)
                common = [owned.intersection(part) for owned, part in zip(region, own)]
                if all(map(len, common)):
                    target = [owned.positions(part) for owned, part in zip(region, common)]
                    source = [part.shifted(-start) for part, start in zip(common, first)]
                    piece = array[region_key(source)]
                    outgoing[rank].append((region_key(target), piece))
        block = np.empty(layout.local_shape(world.rank), dtype)
        for received in alltoall_object(world.communicator, outgoing, self.name):
            for key, piece in received:
                block[key] = piece
        return block, layout


def _owners(sections: Sequence[Section]) -> Owners:
    owners: dict[Position, tuple[int, ...]] = dict.fromkeys(
        product(*map(range, sections[0].tiling)), ()
    )
    for section in sections:
        for partition in section.local:
            owners[partition.position] += (section.rank,)
    return owners


def _offsets(extents: Extents, places: list[list[int]]) -> list[dict[int, int]]:
    """The offset in the block of each position, for each axis."""
    return [
        dict(zip(own, accumulate([lengths[place] for place in own], initial=0)))
        for lengths, own in zip(extents, places)
    ]


def _key(position: Position, offsets: list[dict[int, int]], array: Array) -> tuple[slice, ...]:
    begins = [begin[place] for begin, place in zip(offsets, position)]
    return tuple([slice(begin, begin + n) for begin, n in zip(begins, array.shape)])


class _Arrivals:
    """The partitions that have arrived from a cluster.

    If the block is known (``places`` is set), each partition is copied into it and released, so that no rank ever has
    its share twice. Views of the memory of handles are kept while all arrivals are such, since they may form one array.
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
                f"P7 position {position}: its data has dtype {array.dtype}; it must have that of position {self._first}, {self.dtype}"
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
    """Get each partition and pass it to ``take``, with a flag that is true for a view of the handle itself."""
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
                    f"P8 position {position}: its data has shape {array.shape}; it must have the shape that __partitioned__ gives, {shape}"
                )
            take(position, array, own and shares(value, array))


def _results(get: Callable[[Any], Any], handles: list[Any]) -> Sequence[Any]:
    """The data of handles, by one call for all, or by one call for each if ``get`` takes single handles only."""
    try:
        data = _data(get, handles)
    except AtollError:
        raise
    except Exception as error:
        passed_on(error)
        raise ClusterError(f"get raised {error_text(error)}") from error
    try:
        every = [] if is_a(data, np.ndarray, Mapping, str, bytes) else items(data, len(handles))
    except UnfitError:
        every = []
    if len(every) != len(handles):
        raise ProtocolError(
            f"P12: get was called with {len(handles)} handles and returned {a_kind(data)}; it must return a sequence of as many data"
        )
    return every


def _data(get: Callable[[Any], Any], handles: list[Any]) -> Any:
    try:
        return get(handles)
    except AtollError:
        raise
    except (TypeError, AttributeError, LookupError) as error:
        try:
            return [get(handle) for handle in handles]
        except AtollError:
            raise
        except Exception as problem:
            passed_on(problem)
            raise error from None


# -- layouts --------------------------------------------------------------------------------


Owners = Mapping[Position, tuple[int, ...]]
"""The ranks that have each partition."""


def arranged(
    extents: Extents, owners: Owners, size: int
) -> tuple[Layout, dict[int, list[list[int]]]] | None:
    """The layout, and by rank its positions along each axis; ``None`` if there is no such layout."""
    if not extents:
        ranks = owners[()]
        return Layout.of((), size, np.array(ranks, np.int64)), {rank: [] for rank in ranks}
    groups = [_groups(axis, extents, owners) for axis in range(len(extents))]
    table: dict[Position, tuple[int, ...]] = {}
    seats: dict[int, Position] = {}
    for position, ranks in owners.items():
        cell = tuple([group[place] for group, place in zip(groups, position)])
        if table.setdefault(cell, ranks) != ranks:
            return None
        for rank in ranks:
            if seats.setdefault(rank, cell) != cell:
                return None
    copies = {len(ranks) for ranks in table.values()}
    if len(copies) != 1:
        return None
    axes = [_axis(lengths, group) for lengths, group in zip(extents, groups)]
    counts = [max(group) + 1 for group in groups]
    ranks_of = np.array([table[cell] for cell in product(*map(range, counts))], np.int64)
    layout = Layout.of(axes, size, ranks_of.reshape(*counts, copies.pop()))
    places = {
        rank: [
            [place for place, number in enumerate(group) if number == mine]
            for group, mine in zip(groups, cell)
        ]
        for rank, cell in seats.items()
    }
    return layout, places


def _groups(axis: int, extents: Extents, owners: Owners) -> list[int]:
    """The number of the group of each position along an axis, in the order of first appearance."""
    by_place: list[list[tuple[Position, tuple[int, ...]]]] = [[] for _ in extents[axis]]
    for position, ranks in owners.items():
        by_place[position[axis]].append((position[:axis] + position[axis + 1 :], ranks))
    numbers: dict[tuple[tuple[Position, tuple[int, ...]], ...], int] = {}
    return [numbers.setdefault(tuple(sorted(some)), len(numbers)) for some in by_place]


def _axis(lengths: Sequence[int], group: Sequence[int]) -> Axis:
    count = max(group) + 1
    size = sum(lengths)
    if list(group) == sorted(group):
        sizes = [0] * count
        for length, number in zip(lengths, group):
            sizes[number] += length
        return BlockAxis(size, (0, *accumulate(sizes)))
    in_turn = all(number == place % count for place, number in enumerate(group))
    equal = set(lengths[:-1])
    if in_turn and len(equal) == 1 and 0 < lengths[-1] <= lengths[0]:
        return CyclicAxis(size, count, lengths[0])
    offsets = (0, *accumulate(lengths))
    indices: list[list[Any]] = [[] for _ in range(count)]
    for place, number in enumerate(group):
        indices[number].append(np.arange(offsets[place], offsets[place + 1]))
    sets = tuple([listed(np.concatenate(parts)) for parts in indices])
    return UnstructuredAxis(size, sets, True, labels=False)


def dealt(
    tiling: Shape,
    locations: Mapping[Position, tuple[tuple[str, int], ...]],
    processes: Sequence[tuple[str, int]],
) -> dict[Position, tuple[int, ...]]:
    """Assign each partition of a cluster to a rank: the process that has it, else one on its node, else evenly in blocks of
    the grid."""
    size = len(processes)
    by_process = {process: rank for rank, process in reversed(list(enumerate(processes)))}
    by_address: dict[str, list[int]] = {}
    for rank, (address, _) in enumerate(processes):
        by_address.setdefault(address, []).append(rank)
    blocks = Layout.default(tiling, size) if tiling else Layout.replicated((), size)
    even: dict[Position, int] = {}
    for rank in reversed(range(size)):
        region = blocks.region(rank) if blocks.coordinates(rank) is not None else None
        if region is not None:
            even.update(dict.fromkeys(product(*[part.array().tolist() for part in region]), rank))
    load = [0] * size
    owners: dict[Position, tuple[int, ...]] = {}
    for position in product(*map(range, tiling)):
        places = locations.get(position, ())
        exact = [by_process[place] for place in places if place in by_process]
        near: set[int] = set()
        for address, _ in places:
            near.update(by_address.get(address, range(size) if _loops(address) else ()))
        rank = even[position]
        if exact:
            rank = exact[0]
        elif near and rank not in near:
            rank = min(sorted(near), key=lambda r: load[r])
        load[rank] += 1
        owners[position] = (rank,)
    return owners


def _loops(address: str) -> bool:
    """True if an address is a loopback address."""
    return not address or address.startswith("127.") or address in ("localhost", "::1")
