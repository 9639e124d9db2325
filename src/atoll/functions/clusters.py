"""Arrays from and to Dask and Ray; the adapters are imported at first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ..array import ndarray
from ..comm import progress
from ..context import profiler
from ..interchange.dask import export_dask, import_dask
from ..interchange.protocol import Imported
from ..interchange.ray import RayPartitions, export_ray, import_ray
from ..layout import Layout
from ..lazy.creation import asarray

P = ParamSpec("P")
T = TypeVar("T")


def with_cluster(function: Callable[P, T]) -> Callable[P, T]:
    """A function that moves data from or to a cluster, as the line of progress shows it."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        with profiler.call(function.__name__), progress.task(function.__name__):
            return function(*args, **options)

    return call


@with_cluster
def from_dask(x: Any, *, client: Any = None, comm: Any = None) -> ndarray:
    """Make an array of a ``dask.array``, or of a ``dask.dataframe`` of one dtype. Collective.

    The ``x`` of the first rank that passes one is used; other ranks may pass ``None``. The cluster of ``client`` (a
    ``distributed.Client`` or the address of a scheduler, by default the current client) computes it, and each rank
    fetches its own part from the workers. Without a cluster each rank computes its part by itself.
    """
    return _shared_out(import_dask(x, client=client, comm=comm))


@with_cluster
def to_dask(a: Any, *, client: Any = None) -> Any:
    """Copy ``a`` to a Dask cluster, and return it as a ``dask.array``. Collective.

    The cluster is that of the first rank that has a client (``client``, or the current one). Ranks with a client of
    that cluster get the Dask array; the others connect for the call only, and get ``None``.
    On one rank without a cluster, the Dask array reads the memory of ``a``.
    """
    array = _in_blocks(a)
    return export_dask(array.local, array.layout.unpadded(), array.world, client)


@with_cluster
def from_ray(
    refs: Any,
    shape: Sequence[int] | None = None,
    partition_tiling: Sequence[int] | None = None,
    *,
    comm: Any = None,
) -> ndarray:
    """Make an array of partitions in Ray: ``ray.ObjectRef`` of arrays, or of DataFrames of one dtype. Collective.

    ``refs`` are in C order of the grid ``partition_tiling`` (or nested, or by position), and ``shape`` is
    the global shape; or ``refs`` is a :class:`RayPartitions`, which contains both. The ``refs`` of the first rank that
    passes any are used; other ranks may pass ``None``, and need no connection to Ray. Each rank gets its own part
    from the object store.
    """
    return _shared_out(import_ray(refs, shape, partition_tiling, comm=comm))


@with_cluster
def to_ray(a: Any) -> RayPartitions:
    """Copy the blocks of ``a`` into Ray's object store. Collective.

    The ranks that ``a`` lies on call it, and all get the same references: ``.refs`` by position,
    ``.shape``, ``.partition_tiling``, ``__partitioned__``. The cluster is that of the first rank that is
    connected to one; the others connect to it and stay so, because an object lives as
    long as the process that put it.
    """
    array = _in_blocks(a)
    return export_ray(array.local, array.layout.unpadded(), array.world)


def _shared_out(imported: Imported) -> ndarray:
    """Array of the fetched partitions; if these are fewer than the ranks, it is redistributed over all ranks."""
    array: ndarray = ndarray._from_block(*imported)
    size = imported.world.size
    if size > 1 and len(imported.layout.ranks) < size:
        array = array.redistribute(Layout.default(array.shape, size))
    return array


def _in_blocks(a: Any) -> ndarray:
    """``a`` in a layout that is a grid of one block for each rank; a copy only if it is not."""
    array: ndarray = asarray(a)
    layout = array.layout
    if not layout.is_block and not layout.is_replicated:
        array = array.redistribute(Layout.default(layout.shape, layout.processes))
    return array
