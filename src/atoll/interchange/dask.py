"""Import and export of Dask collections: the handles are futures, and each rank fetches its own partitions.

Import. The first rank that passes a collection is the root. It lets the cluster compute and keep the partitions
(:class:`Arrival`), and requests unknown lengths and locations. The others receive the scheduler's address and the
keys. Every rank makes futures of the keys, by its own client or by one that is opened for the call. The importer of
``__partitioned__`` assigns the partitions to ranks by location, and one rank fetches each from its worker.

Export. Each rank sends its partitions to workers, cut into chunks of Dask's usual size, under keys that follow from the
position. The root makes the Dask array of the futures. The other ranks release their futures only when the scheduler knows
that the root needs them.

Without a cluster, the first rank that passes a collection sends it to the others, so that all ranks use the same graph even
if it draws random numbers, and each computes its own partitions by Dask's scheduler in this process.

A wait for the cluster raises a :class:`~atoll.errors.ClusterError` at once when the scheduler is lost or a task failed,
and after ``config.wait_abort`` seconds in which no partition was finished and no worker was busy.
"""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ..comm.world import World, world_of
from ..context.interrupts import passed_on
from ..errors import ClusterError, ProtocolError, a_type
from ..layout import Layout
from .clusters import (
    BEAT,
    Grid,
    Piece,
    Position,
    batches,
    box,
    cut,
    description,
    everywhere,
    exported_cell,
    first_rank,
    gathered,
    grid_of,
    locally,
    new_label,
    starts_of,
    while_root_waits,
)
from .dask_clients import (
    Watch,
    address_of,
    ask,
    client_of,
    connected,
    link_of,
    own_client,
    published,
)
from .partitioned import import_partitioned
from .protocol import Imported


class DaskPartitions:
    """Wrapper of a ``dask.array`` or ``dask.dataframe`` collection with the property ``__partitioned__``.

    The handles are ``distributed.Future``; there are no ``locals``. The first access to the property computes the
    partitions on the cluster of ``client`` (by default the current one), where they stay as long as this object lives.
    """

    def __init__(self, collection: Any, client: Any = None) -> None:
        check("DaskPartitions", collection)
        self._collection = collection
        self._client = own_client(client)
        if link_of("DaskPartitions", self._client) is None:
            raise TypeError(
                "DaskPartitions: there is no distributed.Client; start one, or give it by client="
            )
        self._arrival: Arrival | None = None
        self._grid: Grid | None = None

    @property
    def __partitioned__(self) -> dict[str, Any]:
        """The partitions by the protocol's rules, with futures as data."""
        if self._arrival is None:
            self._arrival = Arrival("DaskPartitions", self._collection, self._client)
        while self._grid is None:
            self._grid = self._arrival.look(BEAT)
        return description(self._grid, self._arrival.futures.__getitem__, gather)


def gather(handles: Any) -> Any:
    """The data of one future, or of a sequence of futures: the ``get`` of the protocol."""
    import distributed

    return gathered(handles, distributed.Future, _gather)


def _gather(futures: list[Any]) -> Any:
    import distributed

    for future in futures:
        if not isinstance(future, distributed.Future):
            raise ClusterError(
                f"get: a handle of this container must be a distributed.Future, not {a_type(future)}: {future!r}"
            )
    if not futures:
        return []
    client = futures[0].client or own_client(None)
    if client is None:
        raise ClusterError(
            "get: these futures came by pickle, and this process has no distributed.Client; make one for the same scheduler first"
        )
    pickled = [future for future in futures if future.client is None]
    for future in pickled:  # the scheduler does not know this client's interest
        future.bind_client(client)
    if pickled:
        client._inform_scheduler_of_futures()
    return ask(client, client.gather, futures, direct=True)


def import_dask(collection: Any, *, client: Any = None, comm: Any = None) -> Imported:
    """Import a Dask collection: this rank's block, the layout, and the world. Collective."""
    world, name = world_of(comm), "from_dask"
    locally(world, name, lambda: None if collection is None else check(name, collection))
    absent = "no rank gave a Dask array or dataframe"
    root = first_rank(world, name, collection is not None, absent)
    mine = world.rank == root
    with ExitStack() as stack:
        own = locally(world, name, lambda: client_of(client, stack))
        link = everywhere(world, name, lambda: link_of(name, own) if mine else None)[root]
        if link is None:
            return _import_delayed(name, collection, world, root)
        client = connected(world, name, link, own, stack)
        arrival = locally(world, name, lambda: Arrival(name, collection, client) if mine else None)
        grid = while_root_waits(world, name, root, lambda seconds: arrival.look(seconds))  # type: ignore[union-attr]

        label = new_label(world, name, root)
        own_futures = {} if arrival is None else arrival.futures
        futures = _exchange(world, name, label, client, own_futures, stack)
        # The import is collective: no rank releases its futures before all have finished.
        return import_partitioned(
            description(grid, futures.__getitem__, gather), comm=world, name=name
        )


def _exchange(
    world: World,
    name: str,
    label: str,
    client: Any,
    own: dict[Position, Any],
    stack: ExitStack,
    *,
    takes: bool = True,
) -> dict[Position, Any]:
    """The futures of all ranks, on each rank that ``takes`` them; ``own`` are this rank's, published until ``stack`` ends.

    Collective.
    """
    if world.size == 1:
        return own

    def publish() -> bool:
        if own:
            stack.enter_context(published(client, f"atoll-{label}-{world.rank}", own))
        return bool(own)

    def take() -> dict[Position, Any]:
        others = [rank for rank, sends in enumerate(senders) if sends and rank != world.rank]
        futures = dict(own)
        for rank in others if takes else ():
            futures |= ask(client, client.get_dataset, f"atoll-{label}-{rank}")
        return futures

    senders = everywhere(world, name, publish)
    return locally(world, name, take)


class Arrival:
    """A collection that a cluster is computing.

    Its ``futures`` keep the partitions there; ``look`` returns the progress.
    """

    def __init__(self, name: str, collection: Any, client: Any) -> None:
        self.name, self.client = name, client
        self.columns = is_frame(collection) and getattr(collection, "ndim", 1) == 2
        if is_frame(collection):
            self.tiling: tuple[int, ...] = (collection.npartitions, *([1] if self.columns else []))
        else:
            self.tiling = collection.numblocks
        self.shapes = known_shapes(name, collection)
        import distributed

        try:
            persisted = client.persist(collection)
            futures = distributed.futures_of(persisted)
        except Exception as error:
            passed_on(error)
            raise ClusterError(
                f"{name}: the scheduler at {address_of(client)} did not take the collection "
                f"({type(error).__name__}: {error})"
            ) from error
        self.futures = {self._position(future.key): future for future in futures}
        self.watches = [Watch(name, client, self.futures)]
        self.asked: dict[Position, Any] = {}
        if self.shapes is None:
            answers = client.map(np.shape, list(self.futures.values()), pure=False)
            self.asked = dict(zip(self.futures, answers))
            self.watches.append(Watch(name, client, self.asked))

    def _position(self, key: Any) -> Position:
        """The position of a partition, from Dask's key of a name and indices."""
        place = tuple(key[1:]) if isinstance(key, tuple) else ()
        return (*place, 0) if self.columns else place

    def look(self, seconds: float) -> Grid | None:
        """The grid once all partitions are in memory; ``None`` if some are not after ``seconds``."""
        if not all(watch.done(seconds) for watch in self.watches):
            return None
        if self.shapes is None:
            values = ask(self.client, self.client.gather, list(self.asked.values()))
            self.shapes = {p: tuple(map(int, shape)) for p, shape in zip(self.asked, values)}
        locations = _locations(self.client, list(self.futures.values()))
        if any(not locations[future.key] for future in self.futures.values()):
            # A partition was lost after it was finished; the scheduler recomputes it.
            self.watches = [Watch(self.name, self.client, self.futures)]
            return None
        pieces = {
            place: Piece(place, self.shapes[place], locations[future.key])
            for place, future in self.futures.items()
        }
        return grid_of(self.name, self.tiling, pieces)


def _locations(client: Any, futures: list[Any]) -> dict[Any, tuple[tuple[str, int], ...]]:
    """For each key, the address and the process of each worker that has its partition."""
    from distributed.comm import get_address_host

    holders = dict(ask(client, client.who_has, futures))
    workers = sorted({worker for some in holders.values() for worker in some})
    processes = (
        ask(client, client.run, os.getpid, workers=workers, on_error="ignore") if workers else {}
    )
    return {
        future.key: tuple(
            (get_address_host(worker), processes[worker])
            for worker in holders.get(future.key, ())
            if worker in processes
        )
        for future in futures
    }


# Checks of the metadata of a collection, before any computation


def is_frame(collection: Any) -> bool:
    return all(
        hasattr(type(collection), name) for name in ("npartitions", "map_partitions", "_meta")
    )


def check(name: str, collection: Any) -> None:
    import dask.array

    if isinstance(collection, dask.array.Array) or is_frame(collection):
        return
    kind = type(collection)
    hint = "; give its .data" if kind.__module__.startswith("xarray") else ""
    raise TypeError(
        f"{name}: a {kind.__module__}.{kind.__qualname__} is no dask.array or dask.dataframe{hint}"
    )


def check_frame(name: str, frame: Any) -> None:
    """Check that the columns of a frame have one dtype, and that NumPy has it."""
    meta = frame._meta
    kinds = (
        {str(label): kind for label, kind in meta.dtypes.items()}
        if hasattr(meta, "columns")
        else {str(meta.name): meta.dtype}
    )
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{label}: {kind}" for label, kind in list(kinds.items())[:8])
        raise ProtocolError(
            f"{name}: P7: the columns must have one dtype, and have several ({listed}); select columns, or use astype"
        )
    for label, kind in kinds.items():
        if not isinstance(kind, np.dtype) or kind.hasobject:
            raise ProtocolError(
                f"{name}: D1: column {label} has dtype {kind}, which NumPy's arrays do not have; use astype"
            )


def known_shapes(name: str, collection: Any) -> dict[Position, tuple[int, ...]] | None:
    """The shapes of the partitions; ``None`` if Dask does not know all of them."""
    if is_frame(collection):
        check_frame(name, collection)
        return None
    if any(n != n for axis in collection.chunks for n in axis):
        return None
    return {
        place: tuple([int(axis[k]) for axis, k in zip(collection.chunks, place)])
        for place in product(*map(range, collection.numblocks))
    }


# Without a cluster


def _compute(handles: Any) -> Any:
    """Compute the values of graphs by Dask's scheduler in this process."""
    import dask

    single = not isinstance(handles, list | tuple)
    scheduler = dask.config.get("scheduler", "threads")
    try:
        results = dask.compute(*([handles] if single else handles), scheduler=scheduler)
    except Exception as error:
        passed_on(error)
        raise ClusterError(f"from_dask: a task failed: {type(error).__name__}: {error}") from error
    return results[0] if single else results


def _import_delayed(name: str, collection: Any, world: World, root: int) -> Imported:
    """Import a collection without a cluster: every rank gets the root's collection and computes its own partitions."""
    import cloudpickle
    import dask

    def prepare() -> tuple[bytes, Grid] | None:
        if world.rank != root:
            return None
        given, shapes = collection, known_shapes(name, collection)
        if shapes is None:
            scheduler = dask.config.get("scheduler", "threads")
            (given,) = dask.persist(given, scheduler=scheduler)
            parts = _delayed(given)
            shapes = dict(zip(parts, _compute([dask.delayed(np.shape)(p) for p in parts.values()])))
        tiling = tuple([1 + max(axis) for axis in zip(*shapes)])
        # A loopback address matches every node, so the graphs are distributed evenly.
        near = (("127.0.0.1", os.getpid()),)
        grid = grid_of(name, tiling, {p: Piece(p, shape, near) for p, shape in shapes.items()})
        return (b"" if world.size == 1 else cloudpickle.dumps(given)), grid

    prepared = everywhere(world, name, prepare)[root]
    assert prepared is not None
    pickled, grid = prepared
    delayed = locally(
        world, name, lambda: _delayed(cloudpickle.loads(pickled) if pickled else collection)
    )
    return import_partitioned(
        description(grid, delayed.__getitem__, _compute), comm=world, name=name
    )


def _delayed(collection: Any) -> dict[Position, Any]:
    """The graphs of the partitions by position; a process computes them when it fetches them."""
    delayed = collection.to_delayed()
    if is_frame(collection):
        rest = (0,) if getattr(collection, "ndim", 1) == 2 else ()
        return {(k, *rest): part for k, part in enumerate(delayed)}
    return {place: delayed[place] for place in np.ndindex(delayed.shape)}


# Export


Array = npt.NDArray[Any]
Chunks = list[list[tuple[int, ...]]]

BATCH = 256 << 20
"""Size limit in bytes of a message of several chunks to a worker."""


def export_dask(block: Array, layout: Layout, world: World, client: Any = None) -> Any:
    """Export the blocks of all ranks as a Dask array on every rank that has a client; ``None`` on the others.

    ``layout`` is a block layout, ``block`` this rank's part. Collective.
    """
    name = "to_dask"
    with ExitStack() as stack:
        own = locally(world, name, lambda: own_client(client))
        links = everywhere(world, name, lambda: link_of(name, own))
        target = next((link for link in links if link is not None), None)
        if target is None:
            if world.size == 1:
                return _in_place(block)
            raise ClusterError(
                f"{name}: no rank has a distributed.Client; start one, or give it by client="
            )
        root = links.index(target)
        mine = connected(world, name, target, own, stack)
        chunks = _chunks(layout, block.dtype.itemsize)
        label = new_label(world, name, root)

        def send() -> dict[Position, Any]:
            cell = exported_cell(layout, world.rank)
            if cell is None:
                return {}
            return _scatter(mine, _cut_block(block, chunks, cell), label, world)

        own_futures = locally(world, name, send)
        futures = _exchange(world, name, label, mine, own_futures, stack, takes=mine is own)

        def make() -> Any:
            if mine is not own:
                return None
            watch = Watch(name, mine, futures)
            while not watch.done(BEAT):  # then the scheduler keeps them for this client
                continue
            return _array(futures, label, chunks, block.dtype)

        # The scheduler knows the new owner of the chunks before the ranks that sent them release theirs.
        return locally(world, name, make)


def _chunks(layout: Layout, itemsize: int) -> Chunks:
    """The lengths of the chunks of each block along each axis; no chunk exceeds Dask's ``array.chunk-size``."""
    import dask
    from dask.utils import parse_bytes

    limit = parse_bytes(dask.config.get("array.chunk-size", "128MiB"))
    lengths = [tuple([len(axis.owned(k)) for k in range(axis.processes)]) for axis in layout.axes]
    return cut(lengths, itemsize, limit)


def _cut_block(block: Array, chunks: Chunks, cell: Position) -> dict[Position, Array]:
    """Cut one rank's block into chunks, by their position among all chunks."""
    own = [axis[k] for axis, k in zip(chunks, cell)]
    first = [sum(map(len, axis[:k])) for axis, k in zip(chunks, cell)]
    starts = starts_of(own)
    return {
        tuple([f + k for f, k in zip(first, part)]): block[
            tuple([slice(b, b + n) for b, n in zip(box(starts, part), box(own, part))])
        ]
        for part in product(*[range(len(lengths)) for lengths in own])
    }


def _scatter(
    client: Any, arrays: dict[Position, Any], token: str, world: World
) -> dict[Position, Any]:
    """Send each worker its share of the chunks, and return the futures that keep them there."""
    workers = sorted(ask(client, client.ncores))
    if not workers:
        raise ClusterError(
            f"to_dask: the cluster at {address_of(client)} has no workers; start some"
        )
    shared = address_of(client).startswith("inproc")
    futures: dict[Position, Any] = {}
    shares: dict[str, list[Position]] = {}
    for k, place in enumerate(arrays):
        first = world.rank * len(workers) // world.size
        worker = workers[(first + k * len(workers) // len(arrays)) % len(workers)]
        shares.setdefault(worker, []).append(place)
    for worker, places in shares.items():
        for batch in batches(places, [arrays[place].nbytes for place in places], BATCH):
            # A worker in this process would share memory that the program writes to.
            data = {
                f"atoll-block-{token}-{place}": arrays[place].copy() if shared else arrays[place]
                for place in batch
            }
            sent = ask(client, client.scatter, data, workers=[worker], direct=True, hash=False)
            futures.update(zip(batch, map(sent.__getitem__, data)))
    return futures


def _array(parts: dict[Position, Any], token: str, chunks: Chunks, dtype: np.dtype[Any]) -> Any:
    import dask.array

    name = f"atoll-{token}"
    graph = {(name, *place): part for place, part in parts.items()}
    return dask.array.Array(graph, name, tuple([sum(axis, ()) for axis in chunks]), dtype=dtype)


def _in_place(block: Array) -> Any:
    """A Dask array over the memory of this process, without a cluster."""
    chunks = _chunks(Layout.replicated(block.shape, 1), block.dtype.itemsize)
    parts = _cut_block(block, chunks, (0,) * block.ndim)
    return _array(parts, uuid.uuid4().hex, chunks, block.dtype)
