"""Messages of many sizes between many ranks, and agreement of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .. import backend
from ..comm.communicator import Communicator
from ..comm.in_step import allgather, alltoall
from ..exchange.messages import exchange
from ..graph.geometry import dense
from .by_nodes import routed

Array = np.ndarray[Any, Any]


def uneven(
    communicator: Communicator, pieces: Mapping[int, Array], form: Array, what: str
) -> dict[int, Array]:
    """Send pieces along axis 0 whose lengths the receivers do not know; what arrived, by sender.

    ``form`` is an empty array with the dtype and the other axes of all pieces. Collective.
    """
    if _by_nodes(communicator, form):
        given = {
            peer: np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
            for peer, piece in pieces.items()
            if len(piece)
        }
        return {
            peer: part.view(form.dtype).reshape(-1, *form.shape[1:])
            for peer, part in routed(communicator, given, what).items()
        }
    counts = np.zeros((communicator.size, 1), np.int64)
    for peer, piece in pieces.items():
        counts[peer] = len(piece)
    arriving = alltoall(communicator, counts, what)[:, 0]
    outgoing = {
        peer: np.ascontiguousarray(piece)
        for peer, piece in pieces.items()
        if len(piece) and peer != communicator.rank
    }
    incoming = {
        peer: np.empty((int(arriving[peer]), *form.shape[1:]), form.dtype)
        for peer in np.flatnonzero(arriving).tolist()
        if peer != communicator.rank
    }
    exchange(communicator, outgoing, incoming, what)
    own = pieces.get(communicator.rank)
    if own is not None and len(own):
        incoming[communicator.rank] = own
    return incoming


def _by_nodes(communicator: Communicator, form: Array) -> bool:
    """Whether short pieces go by nodes."""
    return communicator.nodes.two_levels and form.dtype.itemsize > 0


def _in_line(arrived: Mapping[int, Array], form: Array, what: str) -> Array:
    """What arrived, in the order of the senders."""
    length = sum(map(len, arrived.values()))
    wanted = dense((length, *form.shape[1:]), form.dtype)
    result: Array = backend.current().allocate(wanted, what).array
    np.concatenate([form[:0], *[arrived[peer] for peer in sorted(arrived)]], out=result)
    return result


def joined(
    communicator: Communicator,
    pieces: Sequence[Mapping[int, Array]],
    forms: Sequence[Array],
    what: str,
) -> list[Array]:
    """What arrives of each of several kinds of pieces, as one array in the order of the senders. Collective.

    A rank sends pieces of all kinds to the same ranks, with the same lengths. ``forms`` are as in :func:`uneven`.
    """
    if all(_by_nodes(communicator, form) for form in forms):
        return [
            _in_line(uneven(communicator, kind, form, what), form, what)
            for kind, form in zip(pieces, forms, strict=True)
        ]
    counts = np.zeros((communicator.size, 1), np.int64)
    for peer, piece in pieces[0].items():
        counts[peer] = len(piece)
    ends = np.cumsum(alltoall(communicator, counts, what)[:, 0]).tolist()
    wanted = [dense((ends[-1], *form.shape[1:]), form.dtype) for form in forms]
    results = [backend.current().allocate(form, what).array for form in wanted]
    for kind, result in zip(pieces, results, strict=True):
        incoming = {peer: result[i:j] for peer, (i, j) in enumerate(pairwise([0, *ends])) if i < j}
        outgoing = {peer: np.ascontiguousarray(piece) for peer, piece in kind.items() if len(piece)}
        own, into = outgoing.pop(communicator.rank, None), incoming.pop(communicator.rank, None)
        exchange(communicator, outgoing, incoming, what)
        if own is not None and into is not None:
            into[...] = own
    return results


def prefix(
    communicator: Communicator,
    value: Array,
    order: Sequence[int],
    fold: Callable[[Array, Array], Array],
    what: str,
) -> Array | None:
    """The fold of the values of the ranks before this one in ``order``; ``None`` for the first.

    Takes a message each way for every doubling of the distance, so log2 of the ranks in all.
    """
    place = order.index(communicator.rank)
    before: Array | None = None
    total = value
    distance = 1
    while distance < len(order):
        outgoing, incoming = {}, {}
        if place + distance < len(order):
            outgoing[order[place + distance]] = np.ascontiguousarray(total)
        if place >= distance:
            incoming[order[place - distance]] = np.empty_like(value, order="C")
        exchange(communicator, outgoing, incoming, what)
        for arrived in incoming.values():
            before = arrived if before is None else fold(arrived, before)
            total = fold(arrived, total)
        distance *= 2
    return before


def agree(
    communicator: Communicator,
    place: int | None,
    values: Sequence[int],
    error: Callable[[int, int, int], BaseException],
) -> None:
    """Raise ``error(*values)`` on all ranks if some rank found one: that at the first ``place``.

    Each rank says where it found its first (``None``: nowhere), and three numbers
    for the error.
    """
    mine = np.full(5, -1, np.int64)
    if place is not None:
        mine[:2] = 1, place
        mine[2:] = values
    reports = allgather(communicator, mine, "whether all indices are in range")
    reports = reports[reports[:, 0] == 1]
    if len(reports):
        first = reports[np.argmin(reports[:, 1])]
        raise error(*first[2:].tolist())
