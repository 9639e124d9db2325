"""Export of an atoll array to Dask: each rank sends its block to workers, cut into chunks."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ...comm.world import World
from ...errors import ClusterError
from ...layout import Layout
from ..clusters import BEAT, Position, batches, box, cut, everywhere, locally, starts_of
from .clients import Watch, address_of, ask, connected, link_of, own_client, published, taken

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
        token = everywhere(world, name, lambda: uuid.uuid4().hex)[root]
        futures: dict[Position, Any] = {}

        def send() -> bool:
            cell = layout.coordinates(world.rank)
            # Of several copies of a block, the first rank sends its own.
            if cell is not None and layout.rank_at(cell) == world.rank:
                futures.update(_scatter(mine, _cut_block(block, chunks, cell), token, world))
            if futures and world.size > 1:
                stack.enter_context(published(mine, f"atoll-{token}-{world.rank}", futures))
            return bool(futures)

        senders = everywhere(world, name, send)

        def take() -> Any:
            if mine is not own:
                return None
            for rank, has_sent in enumerate(senders):
                if has_sent and rank != world.rank:
                    futures.update(taken(mine, f"atoll-{token}-{rank}"))
            watch = Watch(name, mine, futures)
            while not watch.done(BEAT):  # then the scheduler keeps them for this client
                continue
            return _array(futures, token, chunks, block.dtype)

        # The scheduler knows the new owner of the chunks before the ranks that sent them release theirs.
        return locally(world, name, take)


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
