"""Partitions of a cluster, fetched by the ranks that they are assigned to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import AtollError, ClusterError, ProtocolError
from ..clusters import Position, Shape
from ..values import UnfitError, is_a, items, kind_name, said
from .data import RefusedError, as_array, is_data, shares

BATCH = 1 << 24
"""How many elements are requested at a time; at least one partition."""

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
    except AtollError:
        raise
    except (TypeError, AttributeError, LookupError) as error:
        found = _one_by_one(get, handles, error)
    except Exception as error:
        raise _failed(error) from error
    try:
        every = [] if is_a(found, np.ndarray, Mapping, str, bytes) else items(found, len(handles))
    except UnfitError:
        every = []
    if len(every) != len(handles):
        raise ProtocolError(
            f"P12: get was called with {len(handles)} handles and returned a {kind_name(found)}, not a sequence of "
            "as many data"
        )
    return every


def _one_by_one(get: Callable[[Any], Any], handles: list[Any], first: Exception) -> list[Any]:
    """By a call for each handle; ``first`` is why one call for all did not work."""
    try:
        return [get(handle) for handle in handles]
    except AtollError:
        raise
    except Exception:
        raise _failed(first) from first


def _failed(error: Exception) -> ClusterError:
    return ClusterError(f"get raised {said(error)}")
