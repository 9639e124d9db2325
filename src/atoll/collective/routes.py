"""Pieces from all ranks to all ranks by two messages for each pair of nodes: the length of the second one, and the pieces.

The ranks of a node share the other nodes out among them (:class:`.comm.nodes.Charges`). A piece for a rank of another
node goes to the rank of this node that has that node in its charge, with all others for it to that rank's partner, and
from there to its receiver. So a node with ``r`` ranks exchanges with another one two messages each way, not ``r * r``.
A message begins with a row for each piece: its sender, its receiver and its length. Long pieces are worth a message of their own:
their rows go by nodes, the pieces directly to their receivers. No array is as long as the number of ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import carried, check_mark, mark_of, step
from ..comm.nodes import Charges, Nodes
from ..exchange.messages import exchange
from ..exchange.partners import arriving
from ..layout import Layout

Array = np.ndarray[Any, Any]

_ALIGNED = 16


def pays(source: Layout, target: Layout, itemsize: int, nodes: Nodes) -> bool:
    """True if an array should move from one layout to another by nodes; the same on all ranks.

    It should where ranks have short pieces for so many others that all pairs of nodes need fewer messages.
    """
    if not (nodes.two_levels and itemsize):
        return False
    grids = list(zip(source.grid, target.grid, strict=True))
    leaving = prod([max(1, wanted // held) for held, wanted in grids])
    arriving = prod([max(1, held // wanted) for held, wanted in grids])
    messages = max(leaving, arriving)
    length = source.size * itemsize // prod([max(pair) for pair in grids])
    return length <= policy.limits.packed and messages * nodes.size > 2 * nodes.count**2


class _Letter(NamedTuple):
    """A piece on its way."""

    sender: int
    receiver: int
    nbytes: int
    piece: Array
    """Empty where it goes straight to its receiver."""


def routed(communicator: Communicator, pieces: Mapping[int, Array], what: str) -> dict[int, Array]:
    """Send bytes to some ranks, which do not know the lengths, and return the received bytes by sender. Collective."""
    step(communicator, "all to all by nodes", what)
    rank, nodes = communicator.rank, communicator.nodes
    charges = Charges(nodes, rank)
    mates = charges.mates
    leaving: dict[int, list[_Letter]] = {}
    for peer, piece in pieces.items():
        if piece.size:
            carrier = peer if peer in mates else charges.carrier(nodes.of(peer))
            part = piece if _is_short(piece.size) else _NOTHING
            leaving.setdefault(carrier, []).append(_Letter(rank, peer, piece.size, part))
    going: dict[int, list[_Letter]] = {}
    delivered = []
    for letter in _exchanged(communicator, leaving, mates, what):
        if letter.receiver == rank:
            delivered.append(letter)
        else:
            partner = charges.partner(nodes.of(letter.receiver))
            going.setdefault(partner, []).append(letter)
    partners = map(charges.partner, charges.of(charges.me)) if _are_few(nodes) else None
    coming: dict[int, list[_Letter]] = {}
    for letter in _exchanged(communicator, going, partners, what):
        coming.setdefault(letter.receiver, []).append(letter)
    delivered += _exchanged(communicator, coming, mates, what)
    arrived = {letter.sender: letter.piece for letter in delivered if _is_short(letter.nbytes)}
    incoming = {
        letter.sender: np.empty(letter.nbytes, np.uint8)
        for letter in delivered
        if letter.sender != rank and not _is_short(letter.nbytes)
    }
    outgoing = {
        peer: piece
        for peer, piece in pieces.items()
        if peer != rank and piece.size and not _is_short(piece.size)
    }
    _carry(communicator, outgoing, incoming, what)
    own = {rank: pieces[rank]} if rank in pieces and pieces[rank].size else {}
    return arrived | incoming | own


def _are_few(nodes: Nodes) -> bool:
    """True if a rank sends the lengths to its partners on all nodes, since these are no more than the rounds of a collective of all
    ranks.

    A node has ``size / count`` ranks on average, which share the other nodes.
    """
    return nodes.count**2 <= nodes.size * nodes.size.bit_length()


def _exchanged(
    communicator: Communicator,
    leaving: dict[int, list[_Letter]],
    peers: Iterable[int] | None,
    what: str,
) -> list[_Letter]:
    """Exchange letters with some of ``peers``, or of all ranks if ``None``; letters of this rank to itself stay here."""
    rank = communicator.rank
    own = leaving.pop(rank, [])
    outgoing = {peer: _packed(letters) for peer, letters in leaving.items()}
    lengths = {peer: message.size for peer, message in outgoing.items()}
    if peers is None:
        lengths = arriving(communicator, lengths, what)
    else:
        mark = mark_of(communicator)
        marks = {peer: np.append(mark, lengths.get(peer, 0)) for peer in peers if peer != rank}
        heads = {peer: np.empty_like(head) for peer, head in marks.items()}
        _carry(communicator, marks, heads, what)
        for peer, head in heads.items():
            check_mark(communicator, head[:1], peer)
        lengths = {peer: int(head[1]) for peer, head in heads.items() if head[1]}
    incoming = {peer: np.empty(nbytes, np.uint8) for peer, nbytes in lengths.items()}
    _carry(communicator, outgoing, incoming, what)
    return [*own, *[letter for peer in incoming for letter in _opened(incoming[peer])]]


def _carry(
    communicator: Communicator,
    outgoing: Mapping[int, Array],
    incoming: Mapping[int, Array],
    what: str,
) -> None:
    """Send and receive messages of known lengths, which all belong to this step."""
    carried(communicator, lambda: exchange(communicator, outgoing, incoming, what))


_NOTHING = np.empty(0, np.uint8)


def _is_short(nbytes: int) -> bool:
    """True if a piece of this length goes by nodes."""
    return nbytes <= policy.limits.packed


def _room(nbytes: int) -> int:
    """The bytes that a piece takes in a message, so that the next one lies at a multiple of 16 bytes."""
    return -(-nbytes // _ALIGNED) * _ALIGNED


def _packed(letters: list[_Letter]) -> Array:
    """A message of letters: their number, a row for each, and their pieces."""
    rows = np.array([letter[:3] for letter in letters], np.int64)
    head = np.append(len(rows), rows).astype(np.int64, copy=False)
    places = [_room(head.nbytes)]
    for letter in letters:
        places.append(places[-1] + _room(letter.piece.size))
    message = np.empty(places[-1], np.uint8)
    message[: head.nbytes] = head.view(np.uint8)
    for place, letter in zip(places, letters):
        message[place : place + letter.piece.size] = letter.piece
    return message


def _opened(message: Array) -> Iterator[_Letter]:
    """The letters in a message."""
    count = int(message[:8].view(np.int64)[0])
    head = 8 * (1 + 3 * count)
    place = _room(head)
    for sender, receiver, nbytes in message[8:head].view(np.int64).reshape(-1, 3).tolist():
        length = nbytes if _is_short(nbytes) else 0
        yield _Letter(sender, receiver, nbytes, message[place : place + length])
        place += _room(length)
