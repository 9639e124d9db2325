"""Messages of many sizes between many ranks, and agreement of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from .. import backend
from ..comm.communicator import Communicator
from ..comm.in_step import least, summed
from ..exchange.messages import exchange
from ..exchange.partners import arriving
from ..exchange.trees import packed
from ..graph.geometry import dense
from .routes import Round

Array = np.ndarray[Any, Any]


def uneven(
    communicator: Communicator,
    kinds: Sequence[Mapping[int, Array]],
    forms: Sequence[Array],
    what: str,
    ranks: range | None = None,
) -> list[dict[int, Array]]:
    """Send pieces along axis 0 whose lengths the receivers do not know, and return the received pieces of each kind by sender.
    Collective.

    A rank sends pieces of all kinds to the same ranks, with the same lengths. ``forms`` has for each kind an empty array with
    the dtype and the other axes of its pieces; ``ranks`` are those of :func:`~atoll.exchange.partners.arriving`.
    """
    if _by_nodes(communicator, *forms):
        together = {peer: packed([kind[peer] for kind in kinds]) for peer in kinds[0]}
        return _split(Round(communicator, together, what).arrived, forms)
    lengths = {peer: len(piece) for peer, piece in kinds[0].items()}
    counts = arriving(communicator, lengths, what, ranks)
    if own := lengths.get(communicator.rank):
        counts[communicator.rank] = own
    arrived = []
    for pieces, form in zip(kinds, forms, strict=True):
        shapes = {peer: (count, *form.shape[1:]) for peer, count in counts.items()}
        arrived.append(exchanged(communicator, pieces, shapes, form.dtype, what))
    return arrived


def _split(arrived: Mapping[int, Array], forms: Sequence[Array]) -> list[dict[int, Array]]:
    """The pieces of each kind, from bytes that have all kinds of a sender one after the other."""
    whole = sum(map(_row_bytes, forms))
    kinds: list[dict[int, Array]] = [{} for _ in forms]
    for peer, data in arrived.items():
        length, start = data.size // whole, 0
        for pieces, form in zip(kinds, forms, strict=True):
            stop = start + length * _row_bytes(form)
            pieces[peer] = data[start:stop].view(form.dtype).reshape(length, *form.shape[1:])
            start = stop
    return kinds


def _row_bytes(form: Array) -> int:
    """The bytes of one element along axis 0."""
    nbytes: int = prod(form.shape[1:]) * form.itemsize
    return nbytes


def exchanged(
    communicator: Communicator,
    pieces: Mapping[int, Array],
    shapes: Mapping[int, tuple[int, ...]],
    dtype: np.dtype[Any],
    what: str,
) -> dict[int, Array]:
    """Send pieces to some ranks while pieces of known shapes arrive, and return the received pieces by sender.

    A piece for this rank itself is not copied, and empty ones do not travel.
    """
    rank = communicator.rank
    arrived, incoming, outgoing = {}, {}, {}
    for peer, shape in shapes.items():
        arrived[peer] = pieces[rank] if peer == rank else np.empty(shape, dtype)
        if peer != rank and arrived[peer].size:
            incoming[peer] = arrived[peer]
    for peer, piece in pieces.items():
        if peer != rank and piece.size:
            outgoing[peer] = np.ascontiguousarray(piece)
    exchange(communicator, outgoing, incoming, what)
    return arrived


def answered(
    communicator: Communicator,
    requests: Mapping[int, Array],
    answer: Callable[[dict[int, Array]], Mapping[int, Array]],
    forms: tuple[Array, Array],
    whats: tuple[str, str],
    ranks: range | None = None,
) -> dict[int, Array]:
    """Request a row for each element of a request, and return the rows by answering rank.

    ``answer`` takes the requests of all ranks to this one. ``forms`` and ``ranks`` are as in :func:`uneven`, the forms for
    requests and for answers, and ``whats`` describe the two messages. Collective.
    """
    asks, gives = forms
    if not _by_nodes(communicator, asks, gives):
        (wanted,) = uneven(communicator, [requests], [asks], whats[0], ranks)
        shapes = {peer: (len(places), *gives.shape[1:]) for peer, places in requests.items()}
        return exchanged(communicator, answer(wanted), shapes, gives.dtype, whats[1])
    requested = Round(communicator, {p: packed([piece]) for p, piece in requests.items()}, whats[0])
    (wanted,) = _split(requested.arrived, [asks])
    answers = {peer: packed([piece]) for peer, piece in answer(wanted).items()}
    ask, give = _row_bytes(asks), _row_bytes(gives)
    arrived = requested.answered(answers, lambda nbytes: nbytes // ask * give, whats[1])
    nothing = np.empty(0, np.uint8)
    return {
        peer: arrived.get(peer, nothing).view(gives.dtype).reshape(len(places), *gives.shape[1:])
        for peer, places in requests.items()
    }


def _by_nodes(communicator: Communicator, *forms: Array) -> bool:
    """True if short pieces go by nodes."""
    return communicator.nodes.save_messages and all(form.itemsize for form in forms)


def _in_line(arrived: Mapping[int, Array], form: Array, what: str) -> Array:
    """The received pieces as one array, in the order of the senders."""
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
    counts: dict[int, int] | None = None,
) -> list[Array]:
    """:func:`uneven` that returns the received pieces of each kind as one array, in the order of the senders. ``counts`` has the
    lengths of the arriving pieces by sender, if all ranks know theirs. Collective."""
    if _by_nodes(communicator, *forms):
        arrived = uneven(communicator, pieces, forms, what)
        return [_in_line(kind, form, what) for kind, form in zip(arrived, forms, strict=True)]
    rank = communicator.rank
    if counts is None:
        leaving = {peer: len(piece) for peer, piece in pieces[0].items()}
        counts = arriving(communicator, leaving, what)
        if leaving.get(rank):
            counts[rank] = leaving[rank]
    senders = sorted(counts)
    ends = [0, *accumulate([counts[peer] for peer in senders])]
    wanted = [dense((ends[-1], *form.shape[1:]), form.dtype) for form in forms]
    results = [backend.current().allocate(form, what).array for form in wanted]
    for kind, result in zip(pieces, results, strict=True):
        incoming = {p: result[i:j] for p, (i, j) in zip(senders, pairwise(ends), strict=True)}
        outgoing = {peer: np.ascontiguousarray(piece) for peer, piece in kind.items() if len(piece)}
        own, into = outgoing.pop(rank, None), incoming.pop(rank, None)
        exchange(communicator, outgoing, incoming, what)
        if own is not None and into is not None:
            into[...] = own
    return results


def agree(
    communicator: Communicator,
    place: int | None,
    values: Sequence[int],
    error: Callable[[int, int, int], BaseException],
) -> None:
    """Raise ``error(*values)`` on all ranks if some rank found an error, with the values at the first ``place``. Each rank gives
    the place of its first error (``None`` if it found none), and three numbers for the error.
    """
    what, none = "whether all indices are in range", (1 << 64) - 1
    (first,) = least(communicator, [none if place is None else place], what)
    if first == none:
        return
    mine = communicator.rank if place == first else communicator.size
    (rank,) = least(communicator, [mine], what)
    numbers = np.array(values if communicator.rank == rank else [0] * len(values), np.int64)
    total = summed(communicator, numbers.view(np.uint64), what).view(np.int64)
    raise error(*total.tolist())
