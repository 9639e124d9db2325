"""Partitions of a cluster, fetched by the ranks that they were dealt to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...comm.world import World
from ...errors import AtollError, ClusterError, ProtocolError
from .data import RefusedError, as_array, is_data, shares
from .description import Position, Shape

BATCH = 1 << 24
"""How many elements are asked for at once; at least one partition."""

Array = npt.NDArray[Any]


def fetch(
    get: Callable[[Any], Any],
    handles: Sequence[tuple[Position, Any, Shape]],
    take: Callable[[Position, Array, bool], None],
) -> None:
    """Get each partition and give it to ``take``, with whether it is a view of the handle itself."""
    batch: list[tuple[Position, Any, Shape]] = []
    waiting = 0
    for entry in handles:
        if batch and waiting + prod(entry[2]) > BATCH:
            _fetch_batch(get, batch, take)
            batch, waiting = [], 0
        batch.append(entry)
        waiting += prod(entry[2])
    if batch:
        _fetch_batch(get, batch, take)


def _fetch_batch(
    get: Callable[[Any], Any],
    batch: Sequence[tuple[Position, Any, Shape]],
    take: Callable[[Position, Array, bool], None],
) -> None:
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
        found = get(handles)
    except (TypeError, AttributeError, LookupError) as error:
        try:
            return [get(handle) for handle in handles]
        except Exception:
            raise error from None
    try:
        count = len(found)
    except TypeError:
        count = -1
    if count != len(handles) or isinstance(found, np.ndarray):
        raise ProtocolError(
            f"P12: get was called with {len(handles)} handles and returned a {type(found).__name__}"
            f"{f' of {count}' if count >= 0 else ''}, not a sequence of as many data"
        )
    return found  # type: ignore[no-any-return]


def agree(world: World, name: str, error: Exception | None, what: Any) -> list[Any]:
    """``what`` of every rank, or the error of the first rank that has one, on all. Collective."""
    report = None
    if error is not None:
        known = isinstance(error, (ProtocolError, ClusterError)) or (
            isinstance(error, AtollError) and len(type(error).__mro__) > 1
        )
        kind = type(error) if known else ClusterError
        text = str(error) if known else f"{type(error).__name__}: {error}"
        report = (kind, text)
    reports: list[Any] = (
        [(report, what)]
        if world.size == 1
        else world.communicator.allgather_object((report, what), name)
    )
    for rank, (found, _) in enumerate(reports):
        if found is not None:
            place = f"rank {rank}: " if world.size > 1 else ""
            raise found[0](f"{name}: {place}{found[1]}") from error
    return [value for _, value in reports]
