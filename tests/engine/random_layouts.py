"""Layouts at random: every way in which an axis can lie on ranks, and arrays that lie so.

Blocks even, uneven, empty, padded and periodic; elements dealt out in turn, in blocks of any size; lists, which may
name an element on several ranks; axes that all have. Grids may leave ranks out, or give several of them the same cell.
"""

from __future__ import annotations

import gc
import pickle
import random
from itertools import pairwise
from typing import Any

import numpy as np

import atoll
from atoll import Block, Cyclic, Layout, Undistributed, Unstructured
from atoll.comm.world import current_world
from atoll.context import statistics
from atoll.errors import ProtocolError
from atoll.graph.geometry import dense
from atoll.graph.node import source
from atoll.lazy.conversion import of_view
from atoll.lazy.views import Cell
from atoll.ops.placement import Place


def cuts(rng: random.Random, n: int, processes: int) -> tuple[int, ...]:
    """Bounds of so many sections of an axis, of any lengths, none included."""
    return (0, *sorted(rng.randint(0, n) for _ in range(processes - 1)), n)


def padded(rng: random.Random, n: int, bounds: tuple[int, ...]) -> Block:
    """Blocks with room for their neighbours' elements, where these have some."""
    processes = len(bounds) - 1
    periodic = rng.random() < 0.3
    widths = []
    owned = [b - a for a, b in pairwise(bounds)]
    for k in range(processes):
        left, right = owned[k - 1], owned[(k + 1) % processes]
        if not periodic:
            left = owned[k] // 2 if k == 0 else left
            right = owned[k] // 2 if k == processes - 1 else right
        widths.append((rng.randint(0, min(left, 2)), rng.randint(0, min(right, 2))))
    return Block(bounds, tuple(widths), periodic)


def random_map(rng: random.Random, n: int, processes: int) -> Any:
    """How one axis of ``n`` elements lies on so many processes."""
    kind = rng.random()
    if kind < 0.2:
        return Block(rng.choice([None, "ceil"]))
    if kind < 0.35:
        return Block(cuts(rng, n, processes))
    if kind < 0.55:
        even = tuple(n * k // processes for k in range(processes + 1))
        return padded(rng, n, even if rng.random() < 0.6 else cuts(rng, n, processes))
    if kind < 0.75:
        size = rng.choice([1, 1, 2, 3, 3, 5])
        return Cyclic(size, rng.randrange(size))
    order = rng.sample(range(n), n)
    lists = [order[a:b] for a, b in pairwise(cuts(rng, n, processes))]
    if kind < 0.85 and n:  # some elements on several ranks
        for held in lists:
            more = rng.sample(range(n), rng.randint(0, min(n, 2)))
            held += [index for index in more if index not in held]
        return Unstructured(lists)
    return Unstructured(lists, one_to_one=True)


def random_layout(rng: random.Random, shape: tuple[int, ...], size: int) -> Layout | None:
    """A layout over all ranks or some of them, or none: the whole array on every rank."""
    if size == 1 or not shape or rng.random() < 0.15:
        return None
    if rng.random() < 0.15:
        return Layout.default(shape)
    ranks = rng.sample(range(size), rng.choice([size, size, rng.randint(1, size)]))
    grid, left = [], len(ranks)
    for _ in shape:
        grid.append(rng.choice([k for k in range(1, left + 1) if left % k == 0]))
        left //= grid[-1]
    if left > 1 and rng.random() < 0.5:
        grid[0] *= left
    rng.shuffle(grid)
    axes = zip(shape, grid, strict=True)
    maps = [
        random_map(rng, n, k) if k > 1 or rng.random() < 0.2 else Undistributed() for n, k in axes
    ]
    return Layout(shape, maps, grid=grid, size=size, ranks=ranks)


def lying(array: np.ndarray, layout: Layout | None) -> Any:
    """The array in atoll, on the ranks as a layout says; what lies in its padding is never read."""
    world = current_world()
    place = None
    if layout is None:
        block = array.copy()
    else:
        statistics.add("distributed")
        place = Place.of(layout, world)
        block = np.empty(layout.local_shape(world.rank), array.dtype)
        if layout.coordinates(world.rank) is not None:
            block[...] = array[np.ix_(*[part.array() for part in layout.region(world.rank)])]
        if layout.is_padded:
            inner, block = block, np.full(layout.padded_shape(world.rank), 99).astype(array.dtype)
            block[layout.inside(world.rank)] = inner
    cell = Cell(source(block, dense(array.shape, array.dtype), place=place))
    return of_view(cell, cell.geometry)


def made(array: np.ndarray, seed: int) -> Any:
    """The array in atoll, by a layout that the seed says."""
    return lying(array, random_layout(random.Random(seed), array.shape, current_world().size))


def moved(array: Any, number: int) -> Any:
    """A copy that lies elsewhere."""
    layout = random_layout(random.Random(number), array.shape, current_world().size)
    return array.copy() if layout is None else array.redistribute(layout)


def bumped(array: Any) -> None:
    """Each rank writes into its own block."""
    block = array.local
    if not block.flags.writeable:  # its shape was set: no block lies as it does now
        block = array
    block += 1


def everywhere(array: Any) -> Any:
    """A copy that every rank has."""
    size = current_world().size
    whole = Layout.replicated(array.shape, size)
    return array.copy() if size == 1 or not array.shape else array.redistribute(whole)


def peeked(value: Any, bits: int) -> None:
    """Some ranks look at what all of them have."""
    if bits >> current_world().rank & 1:
        repr(value)


def littered(bits: int) -> None:
    """Garbage that computes, in a cycle, which some ranks collect."""
    ring: list[Any] = [atoll.ones((3, 4)) * 2]
    ring.append(ring)
    del ring
    if bits >> current_world().rank & 1:
        gc.collect()


def again(array: Any, protocol: str) -> Any:
    """What comes of an array that goes out by a protocol, and in again."""
    if protocol == "pickled":
        return pickle.loads(pickle.dumps(array))
    if protocol == "local":
        return atoll.from_local(array.local_padded, array.layout)
    read = atoll.from_partitioned if protocol == "partitioned" else atoll.from_distarray
    try:
        return read(array)
    except ProtocolError:  # not every layout can be said
        return array
