"""Imports a Dask collection: the cluster computes it, and one rank fetches each partition."""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...comm.world import world_of
from ...errors import ClusterError
from ..clusters import (
    BEAT,
    Grid,
    Piece,
    Position,
    description,
    everywhere,
    first_rank,
    grid_of,
    while_root_waits,
)
from ..partitioned import import_partitioned
from ..reports import Imported
from .clients import (
    Link,
    Watch,
    address_of,
    ask,
    client_of,
    connected,
    link_of,
    own_client,
    published,
    taken,
)
from .collections import check, check_frame, is_frame, known_shapes
from .recipes import import_recipe


class DaskPartitions:
    """Gives a ``dask.array`` or ``dask.dataframe`` collection the property ``__partitioned__``.

    The handles are ``distributed.Future``; there are no ``locals``. The first access to the property computes the
    partitions on the cluster of ``client`` (by default the current one), where they stay as long as this object lives.
    """

    def __init__(self, collection: Any, client: Any = None) -> None:
        check("DaskPartitions", collection)
        self._collection = collection
        self._client = own_client(client)
        if link_of("DaskPartitions", self._client) is None:
            raise TypeError("DaskPartitions: there is no distributed.Client; start or give one")
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

    single = isinstance(handles, distributed.Future)
    futures = [handles] if single else list(handles)
    for future in futures:
        if not isinstance(future, distributed.Future):
            raise ClusterError(
                f"get: the handle {future!r} is a {type(future).__name__}; handles of this "
                "container are distributed.Future"
            )
    if not futures:
        return []
    client = futures[0].client or own_client(None)
    if client is None:
        raise ClusterError("get: these futures came by pickle, and no distributed.Client is here")
    strangers = [future for future in futures if future.client is None]
    for (
        future
    ) in strangers:  # they were pickled, and the scheduler does not know this client's interest
        future.bind_client(client)
    if strangers:
        client._inform_scheduler_of_futures()
    data = ask(client, client.gather, futures, direct=True)
    return data[0] if single else data


def import_dask(collection: Any, *, client: Any = None, comm: Any = None) -> Imported:
    """This rank's block of a Dask collection, the layout, and the world. Collective."""
    world, name = world_of(comm), "from_dask"

    def brings() -> bool:
        if collection is not None:
            check(name, collection)
        return collection is not None

    root = first_rank(world, name, brings, "no rank gave a Dask array or dataframe")
    with ExitStack() as stack:
        own: list[Any] = []

        def link() -> Link | None:
            own.append(client_of(client, stack))
            return link_of(name, own[0]) if world.rank == root else None

        found = everywhere(world, name, link)[root]
        if found is None:
            return import_recipe(collection, world, root)
        mine = connected(world, name, found, own[0], stack)
        arrival: list[Arrival] = []

        def look(seconds: float) -> Grid | None:
            if not arrival:
                arrival.append(Arrival(name, collection, mine))
            return arrival[0].look(seconds)

        grid = while_root_waits(world, name, root, look)
        label = f"atoll-{uuid.uuid4().hex}"

        def publish() -> str:
            if world.rank == root and world.size > 1:
                stack.enter_context(published(mine, label, arrival[0].futures))
            return label

        label = everywhere(world, name, publish)[root]
        futures: dict[Position, Any] = {}

        def take() -> None:
            futures.update(arrival[0].futures if world.rank == root else taken(mine, label))

        everywhere(world, name, take)
        # All ranks know the outcome before any of them releases its futures.
        return import_partitioned(
            description(grid, futures.__getitem__, gather), comm=world, name=name
        )


class Arrival:
    """A collection that a cluster is computing.

    Its ``futures`` keep the partitions there; ``look`` returns the progress.
    """

    def __init__(self, name: str, collection: Any, client: Any) -> None:
        self.name, self.client = name, client
        self.frame = is_frame(collection)
        self.columns = getattr(collection, "ndim", 1) == 2 if self.frame else False
        if self.frame:
            check_frame(name, collection)
            self.tiling: tuple[int, ...] = (collection.npartitions, *([1] if self.columns else []))
        else:
            self.tiling = collection.numblocks
        self.shapes = None if self.frame else known_shapes(collection)
        import distributed

        try:
            kept = client.persist(collection)
            futures = distributed.futures_of(kept)
        except Exception as error:
            raise ClusterError(
                f"{name}: the scheduler at {address_of(client)} did not take the collection "
                f"({type(error).__name__}: {error})"
            ) from error
        self.futures = {self._position(future.key): future for future in futures}
        self.asked: dict[Position, Any] | None = None
        self.watch = Watch(name, client, self.futures)

    def _position(self, key: Any) -> Position:
        """Dask calls a partition by a name and its place."""
        place = tuple(key[1:]) if isinstance(key, tuple) else ()
        return (*place, 0) if self.columns else place

    def look(self, seconds: float) -> Grid | None:
        """The grid once all of it is in memory, ``None`` if it is not after so many seconds."""
        if not self.watch.done(seconds):
            return None
        if self.shapes is None:
            if self.asked is None:
                places = list(self.futures)
                answers = self.client.map(np.shape, [self.futures[p] for p in places], pure=False)
                self.asked = dict(zip(places, answers))
                self.watch = Watch(self.name, self.client, self.asked)
                return None
            places = list(self.asked)
            values = ask(self.client, self.client.gather, [self.asked[p] for p in places])
            self.shapes = {p: tuple(map(int, shape)) for p, shape in zip(places, values)}
        locations = _locations(self.client, list(self.futures.values()))
        if any(not locations[future.key] for future in self.futures.values()):
            # Lost after it was finished: the scheduler has it made again.
            self.watch = Watch(self.name, self.client, self.futures)
            return None
        pieces = {
            place: Piece(place, self.shapes[place], locations[future.key])
            for place, future in self.futures.items()
        }
        return grid_of(self.name, self.tiling, pieces)


def _locations(client: Any, futures: list[Any]) -> dict[Any, tuple[tuple[str, int], ...]]:
    """By key, the address and the process of each worker that has it."""
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
