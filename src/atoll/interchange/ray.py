"""Import and export of Ray object references: each rank reads its own partitions from the object store.

Import. The first rank that passes references is the root. A task on each node of the cluster describes the partitions
there (:class:`Inquiry`), so that no data moves for that. Export. Each rank puts its block into the store of its node.

Ranks exchange references inside Ray: a small actor, the *shelf*, holds them during the exchange, so that Ray counts their
owners. Ray never releases a reference that is sent by other means. Ranks that are not connected to the cluster connect for
the call. After an export they stay connected, because an object in Ray lives as long as the process that put it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..comm.world import World, world_of
from ..config import config
from ..context.interrupts import passed_on
from ..errors import ClusterError, ProtocolError, a_type
from ..layout import Layout
from .clusters import (
    BEAT,
    Grid,
    Piece,
    Position,
    Shape,
    description,
    everywhere,
    exported_cell,
    first_rank,
    gathered,
    grid_of,
    locally,
    new_label,
    while_root_waits,
)
from .partitioned import import_partitioned
from .protocol import Imported

NAMESPACE = "atoll"
START = 30.0
"""Time limit in seconds for an operation of the shelf."""


class RayPartitions:
    """Partitions in Ray's object store that form a grid, with the property ``__partitioned__``.

    ``refs`` are ``ray.ObjectRef`` of arrays, or of DataFrames of one dtype: a sequence in C order of the
    grid ``partition_tiling``, nested sequences, or a mapping of positions. ``shape`` is the shape of the whole array.
    """

    def __init__(self, refs: Any, shape: Sequence[int], partition_tiling: Sequence[int]) -> None:
        self.shape: Shape = _extents("shape", shape)
        self.partition_tiling: Shape = _extents("partition_tiling", partition_tiling)
        self.refs: dict[Position, Any] = by_position(refs, self.partition_tiling)
        self._grid: Grid | None = None

    @property
    def __partitioned__(self) -> dict[str, Any]:
        """The partitions by the protocol's rules, with object references as data.

        The first access asks the cluster for shapes and locations.
        """
        if self._grid is None:
            _connected("RayPartitions")
            inquiry = Inquiry("RayPartitions", self)
            while self._grid is None:
                self._grid = inquiry.look(BEAT)
        return description(self._grid, self.refs.__getitem__, gather)


def gather(handles: Any) -> Any:
    """The data of one reference, or of a sequence of references: the ``get`` of the protocol."""
    import ray

    return gathered(handles, ray.ObjectRef, _gather)


def _gather(refs: list[Any]) -> Any:
    import ray

    for ref in refs:
        _check_ref("get", ref)
    _connected("get")
    try:
        return ray.get(refs, timeout=config.wait_abort)
    except ray.exceptions.GetTimeoutError as error:
        raise ClusterError(
            f"get: {len(refs)} partitions did not come within {config.wait_abort:g} s (wait_abort)"
        ) from error
    except Exception as error:
        passed_on(error)
        raise ClusterError(f"get: {_summary(error)}") from error


def import_ray(
    refs: Any,
    shape: Sequence[int] | None = None,
    partition_tiling: Sequence[int] | None = None,
    *,
    comm: Any = None,
) -> Imported:
    """Import partitions in Ray: this rank's block, the layout, and the world. Collective."""
    world, name = world_of(comm), "from_ray"
    partitions = locally(
        world,
        name,
        lambda: None if refs is None else _partitions(name, refs, shape, partition_tiling),
    )
    root = first_rank(world, name, partitions is not None, "no rank gave references")
    mine = world.rank == root
    with ExitStack() as stack:
        address = everywhere(world, name, lambda: _connected(name) if mine else None)[root]
        everywhere(world, name, lambda: _join(name, address, stack))
        inquiry = Inquiry(name, partitions) if mine and partitions is not None else None
        grid = while_root_waits(world, name, root, lambda seconds: inquiry.look(seconds))  # type: ignore[union-attr]
        own = partitions.refs if mine and partitions is not None else {}
        references = _exchange(world, name, root, own)
        return import_partitioned(
            description(grid, references.__getitem__, gather), comm=world, name=name
        )


def export_ray(block: npt.NDArray[Any], layout: Layout, world: World) -> RayPartitions:
    """Put the blocks of all ranks into Ray's object store, and return references on every rank. Collective.

    ``layout`` is a block layout, ``block`` this rank's part. All ranks stay connected to the cluster.
    """
    name = "to_ray"
    import ray

    addresses = everywhere(world, name, lambda: _connected(name) if ray.is_initialized() else None)
    root = next((rank for rank, address in enumerate(addresses) if address), None)
    if root is None:
        raise ClusterError(f"{name}: no rank is connected to Ray; call ray.init() on one")
    everywhere(world, name, lambda: _join(name, addresses[root], None))

    def put() -> Piece | None:
        cell = exported_cell(layout, world.rank)
        if cell is None:
            return None
        own[cell] = ray.put(block)
        return Piece(cell, block.shape, ((ray.util.get_node_ip_address(), os.getpid()),))

    own: dict[Position, Any] = {}
    pieces = {piece.key: piece for piece in everywhere(world, name, put) if piece is not None}
    refs = _exchange(world, name, root, own)
    partitions = RayPartitions(refs, layout.shape, layout.grid)
    partitions._grid = grid_of(name, layout.grid, pieces)
    return partitions


class Inquiry:
    """A request to the cluster for the shapes, locations and state of partitions."""

    def __init__(self, name: str, partitions: RayPartitions) -> None:
        self.name, self.partitions = name, partitions
        self.waiting = dict(partitions.refs)
        self.answers: dict[Any, list[Position]] = {}
        self.moved = time.monotonic()

    def look(self, seconds: float) -> Grid | None:
        """The grid, or ``None`` if it is not complete after about ``seconds``."""
        _connected(self.name)
        if not self.answers and self._ready(list(self.waiting.values()), seconds):
            self._ask()
        if not self.answers or not self._ready(list(self.answers), seconds):
            return None
        pieces = {}
        for answer, places in self.answers.items():
            for place, (shape, *home) in zip(places, self._fetched(answer, places)):
                pieces[place] = Piece(place, tuple(shape), (tuple(home),))
        grid = grid_of(self.name, self.partitions.partition_tiling, pieces)
        if grid.shape != self.partitions.shape:
            raise ProtocolError(
                f"{self.name}: P5: the partitions add up to shape {grid.shape}; it must be the shape that was given, {self.partitions.shape}"
            )
        return grid

    def _ready(self, refs: list[Any], seconds: float) -> bool:
        import ray

        ready, missing = ray.wait(refs, num_returns=len(refs), timeout=seconds, fetch_local=False)
        now = time.monotonic()
        if not missing:
            self.moved = now
            return True
        if len(ready) != getattr(self, "count", 0) or _busy():
            self.count, self.moved = len(ready), now
        elif now - self.moved >= config.wait_abort:
            raise ClusterError(
                f"{self.name}: nothing moved for {now - self.moved:.0f} s (wait_abort): {len(missing)} "
                f"of {len(refs)} objects are missing, and no processor of the cluster is in use"
            )
        return False

    def _ask(self) -> None:
        """Start one task for each node, with the partitions of that node as arguments."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task = ray.remote(num_cpus=0)(_describer())
        here = ray.get_runtime_context().get_node_id()
        by_node: dict[str, list[Position]] = {}
        for place, ref in self.waiting.items():
            # A call for objects of several owners aborts the process if the first owner answers before Ray asks the second.
            known = ray.experimental.get_object_locations([ref])
            nodes = known.get(ref, {}).get("node_ids") or [here]
            by_node.setdefault(here if here in nodes else nodes[0], []).append(place)
        for node, places in by_node.items():
            options = {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=True)}
            answer = task.options(**options).remote(*[self.waiting[place] for place in places])
            self.answers[answer] = places

    def _fetched(self, answer: Any, places: list[Position]) -> list[Any]:
        import ray

        try:
            answers: list[Any] = ray.get(answer)
        except Exception as error:
            passed_on(error)
            for place in places:  # the task does not report which partition failed
                try:
                    ray.get(self.waiting[place], timeout=5)
                except Exception as own:
                    passed_on(own)
                    raise ClusterError(f"{self.name}: position {place}: {_summary(own)}") from own
            raise ClusterError(f"{self.name}: {_summary(error)}") from error
        return answers


def _describer() -> Callable[..., Any]:
    """The function of the task that describes partitions, defined locally so that workers need no atoll."""

    def describe(*partitions: Any) -> list[Any]:
        import os

        import numpy
        import ray

        home = ray.util.get_node_ip_address(), os.getpid()
        return [(tuple(map(int, numpy.shape(partition))), *home) for partition in partitions]

    return describe


def _busy() -> bool:
    import ray

    free, total = ray.available_resources(), ray.cluster_resources()
    return bool(free.get("CPU", 0) < total.get("CPU", 0))


# Connections


def _connected(name: str) -> str:
    """The address of the cluster that this process is connected to; an error if its head is lost."""
    import ray

    if not ray.is_initialized():
        raise ClusterError(f"{name}: this process is not connected to Ray; call ray.init()")
    address = str(ray.get_runtime_context().gcs_address)
    # Ray's own calls wait a minute for a lost head, and then end the process.
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError as error:
        raise ClusterError(
            f"{name}: the head of the Ray cluster at {address} is lost ({error})"
        ) from error
    return address


def _join(name: str, address: str | None, stack: ExitStack | None) -> None:
    """Connect this process to the cluster if it is not connected; ``stack``, if given, closes the connection."""
    import ray

    if ray.is_initialized():
        own = _connected(name)
        if own != address:
            raise ClusterError(
                f"{name}: this rank is connected to Ray at {own}, the rank with the data to {address}; all ranks must use one cluster"
            )
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", namespace=NAMESPACE)
    except Exception as error:
        passed_on(error)
        raise ClusterError(
            f"{name}: there is no connection to Ray at {address}: {_summary(error)}"
        ) from error
    if stack is not None:
        stack.callback(ray.shutdown)


def _exchange(world: World, name: str, root: int, own: dict[Position, Any]) -> dict[Position, Any]:
    """The references of all ranks, on every rank; ``own`` are the references of this rank. Collective."""
    if world.size == 1:
        return own
    import ray

    label = new_label(world, name, root)
    with ExitStack() as stack:

        def open_shelf() -> None:
            _connected(name)
            if world.rank == root:
                stack.enter_context(_shelf(label))

        def put() -> None:
            if own:
                shelf = ray.get_actor(label, namespace=NAMESPACE)
                ray.get(shelf.keep.remote([own]), timeout=START)

        def take() -> dict[Position, Any]:
            shelf = ray.get_actor(label, namespace=NAMESPACE)
            return dict(ray.get(shelf.show.remote(), timeout=START))

        everywhere(world, name, open_shelf)
        everywhere(world, name, put)
        return locally(world, name, take)


@contextmanager
def _shelf(label: str) -> Iterator[None]:
    """Run an actor that holds references during an exchange."""
    import ray

    class Shelf:
        def __init__(self) -> None:
            self.refs: dict[Any, Any] = {}

        def keep(self, some: Any) -> None:
            self.refs.update(some[0])

        def show(self) -> Any:
            return self.refs

    shelf = ray.remote(num_cpus=0)(Shelf).options(name=label, namespace=NAMESPACE).remote()
    try:
        ray.get(shelf.keep.remote([{}]), timeout=START)
        yield
    finally:
        ray.kill(shelf)


# References


def _partitions(
    name: str, refs: Any, shape: Sequence[int] | None, tiling: Sequence[int] | None
) -> RayPartitions:
    if isinstance(refs, RayPartitions):
        return refs
    if shape is None or tiling is None:
        raise TypeError(
            f"{name}: references need the shape of the whole array and partition_tiling=; give both"
        )
    return RayPartitions(refs, shape, tiling)


def _extents(what: str, values: Sequence[int]) -> Shape:
    try:
        extents = tuple([int(n.__index__()) for n in values])
    except (TypeError, AttributeError):
        raise TypeError(f"{what} is {values!r}; it must be a sequence of integers") from None
    if any(n < (what == "partition_tiling") for n in extents):
        raise ProtocolError(f"P3: {what} is {extents}; its numbers must be positive")
    return extents


def by_position(refs: Any, tiling: Shape) -> dict[Position, Any]:
    """References by their position in the grid, from a mapping, a sequence or nested sequences."""
    if isinstance(refs, Mapping):
        references = {tuple(place): ref for place, ref in refs.items()}
    else:
        flat = list(_flat(refs))
        if len(flat) != prod(tiling):
            raise ProtocolError(
                f"P4: there are {len(flat)} references for a grid of {tiling}; there must be {prod(tiling)}, as many as positions"
            )
        references = dict(zip(product(*map(range, tiling)), flat))
    wanted = set(product(*map(range, tiling)))
    for place in sorted(set(references) ^ wanted, key=str):
        what = "no reference" if place in wanted else "a reference outside of the grid"
        raise ProtocolError(f"P4: position {place} has {what}; it must fit the grid {tiling}")
    for ref in references.values():
        _check_ref("refs", ref)
    return references


def _flat(refs: Any) -> Iterator[Any]:
    if isinstance(refs, list | tuple | np.ndarray):
        for ref in refs:
            yield from _flat(ref)
    else:
        yield refs


def _check_ref(what: str, ref: Any) -> None:
    import ray

    if not isinstance(ref, ray.ObjectRef):
        raise ClusterError(f"{what}: a handle must be a ray.ObjectRef, not {a_type(ref)}: {ref!r}")


def _summary(error: Exception) -> str:
    """The type and last line of an error, without the remote traceback."""
    cause = getattr(error, "cause", None) or error
    lines = [line for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {lines[-1].strip() if lines else repr(cause)}"
