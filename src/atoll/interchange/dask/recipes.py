"""Without a cluster, each rank computes its own partitions of a collection from its graph.

The first rank that passes a collection sends it to the others, so that all compute the same even if the collection
draws random numbers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...comm.world import World
from ...errors import ClusterError
from ..clusters import Grid, Piece, Position, description, everywhere, grid_of
from ..partitioned import import_partitioned
from ..reports import Imported
from .collections import check_frame, is_frame, known_shapes


@dataclass(frozen=True, slots=True)
class Recipe:
    """A partition that this process computes when it is fetched."""

    delayed: Any


def _compute(handles: Any) -> Any:
    """The values of graphs, by Dask's scheduler in this process."""
    import dask

    single = isinstance(handles, Recipe)
    recipes = [handles] if single else list(handles)
    scheduler = dask.config.get("scheduler", "threads")
    try:
        results = dask.compute(*[one.delayed for one in recipes], scheduler=scheduler)
    except Exception as error:
        raise ClusterError(f"from_dask: a task failed: {type(error).__name__}: {error}") from error
    return results[0] if single else results


def import_recipe(collection: Any, world: World, root: int) -> Imported:
    """Every rank gets the root's collection, and computes its own partitions."""
    import cloudpickle
    import dask

    name = "from_dask"

    def prepare() -> tuple[bytes, Grid] | None:
        if world.rank != root:
            return None
        scheduler = dask.config.get("scheduler", "threads")
        frame, shapes = is_frame(collection), None
        made = collection
        if frame:
            check_frame(name, collection)
        else:
            shapes = known_shapes(collection)
        if shapes is None:
            (made,) = dask.persist(collection, scheduler=scheduler)
            parts = _recipes(made)
            asked = [dask.delayed(np.shape)(one.delayed) for one in parts.values()]
            shapes = dict(zip(parts, dask.compute(*asked, scheduler=scheduler)))
        tiling = tuple([1 + max(axis) for axis in zip(*shapes)])
        # Loopback is near to every rank: the graphs are distributed evenly.
        near = (("127.0.0.1", os.getpid()),)
        grid = grid_of(name, tiling, {p: Piece(p, shape, near) for p, shape in shapes.items()})
        return (b"" if world.size == 1 else cloudpickle.dumps(made)), grid

    def unpack() -> dict[Position, Recipe]:
        mine = collection if world.size == 1 else cloudpickle.loads(pickled)
        return _recipes(mine)

    found = everywhere(world, name, prepare)[root]
    assert found is not None
    pickled, grid = found
    parts: list[dict[Position, Recipe]] = []
    everywhere(world, name, lambda: parts.append(unpack()))
    return import_partitioned(
        description(grid, parts[0].__getitem__, _compute), comm=world, name=name
    )


def _recipes(collection: Any) -> dict[Position, Recipe]:
    delayed = collection.to_delayed()
    if is_frame(collection):
        rest = (0,) if getattr(collection, "ndim", 1) == 2 else ()
        return {(k, *rest): Recipe(one) for k, one in enumerate(delayed)}
    return {place: Recipe(delayed[place]) for place in np.ndindex(delayed.shape)}
