"""Pieces from all ranks to all ranks by one message for each pair of nodes, or two where the pieces are many.

The ranks of a node share the other nodes out among them (:class:`.comm.nodes.Charges`). A piece for a rank of another
node goes to the rank of this node that has that node in its charge, with all others for it to that rank's partner, and
from there to its receiver. So a node with ``r`` ranks sends one message to another one, not ``r * r``. The receiver does not know
its length, so the message has a front of fixed size, with the mark of the step and the length of the whole; where the pieces are
longer, the rest follows in a second message.

A message has a row for each piece: its sender, its receiver and its length. Long pieces are worth a message of their own:
their rows go by nodes, the pieces directly to their receivers. Answers travel the same ways back (:meth:`Round.answered`), in
messages whose lengths both ends know. No array is as long as the number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import carried, check_mark, mark_of, step
from ..comm.nodes import Charges, Nodes
from ..exchange.messages import exchange
from ..exchange.partners import arriving
from ..layout import Axis, Layout

Array = np.ndarray[Any, Any]

_ALIGNED = 16
_HEAD = 16
"""The bytes in front of a message: the mark of the step, and the length."""
_FRONT = 1024
"""The bytes that travel without regard to the length; a network takes about as long for them as for one."""
_NOTHING = np.empty(0, np.uint8)


def pays(source: Layout, target: Layout, itemsize: int, nodes: Nodes) -> bool:
    """True if an array should move from one layout to another by nodes; the same on all ranks.

    It should where ranks have short pieces for so many others that all pairs of nodes need fewer messages.
    """
    if not (nodes.two_levels and itemsize):
        return False
    pairs = list(zip(source.axes, target.axes, strict=True))
    leaving = prod([_meeting(held, wanted) for held, wanted in pairs])
    arriving = prod([_meeting(wanted, held) for held, wanted in pairs])
    messages = max(leaving // source.copies, arriving)
    length = source.size * itemsize // (source.cells * leaving)
    return length <= policy.limits.packed and messages * nodes.size > 2 * nodes.count**2


def _meeting(held: Axis, wanted: Axis) -> int:
    """About the number of processes on one axis that have indices of a process on another one."""
    if held == wanted:
        return 1
    if held.kind == wanted.kind == "b":
        return max(1, wanted.processes // held.processes)
    return wanted.processes


class _Letter(NamedTuple):
    """A piece on its way."""

    sender: int
    receiver: int
    nbytes: int
    piece: Array
    """Empty where it goes straight to its receiver."""


_Letters = dict[int, list[_Letter]]
"""Letters by the rank at the other end of a hop."""


class Round:
    """One exchange of bytes by nodes, and the ways that its letters took. Collective.

    Each rank sends pieces to some ranks, which do not know the lengths. ``arrived`` has the received bytes by sender.
    """

    __slots__ = ("_communicator", "_hops", "_sent", "arrived")

    def __init__(self, communicator: Communicator, pieces: Mapping[int, Array], what: str) -> None:
        step(communicator, "all to all by nodes", what)
        self._communicator = communicator
        rank, nodes = communicator.rank, communicator.nodes
        charges = Charges(nodes, rank)
        mates = charges.mates
        pieces = {peer: piece for peer, piece in pieces.items() if piece.size}
        own = {rank: pieces.pop(rank)} if rank in pieces else {}
        self._sent = {peer: piece.size for peer, piece in pieces.items()}
        leaving: _Letters = {}
        for peer, piece in pieces.items():
            carrier = peer if peer in mates else charges.carrier(nodes.of(peer))
            part = piece if _is_short(piece.size) else _NOTHING
            leaving.setdefault(carrier, []).append(_Letter(rank, peer, piece.size, part))
        collected = _exchanged(communicator, leaving, mates, what)
        going: _Letters = {}
        delivered: list[_Letter] = []
        for letter in chain.from_iterable(collected.values()):
            if letter.receiver == rank:
                delivered.append(letter)
            else:
                partner = charges.partner(nodes.of(letter.receiver))
                going.setdefault(partner, []).append(letter)
        partners = map(charges.partner, charges.of(charges.me)) if _are_few(nodes) else None
        entered = _exchanged(communicator, going, partners, what)
        coming: _Letters = {}
        for letter in chain.from_iterable(entered.values()):
            coming.setdefault(letter.receiver, []).append(letter)
        distributed = _exchanged(communicator, coming, mates, what)
        delivered += chain.from_iterable(distributed.values())
        self._hops = (leaving, collected), (going, entered), (coming, distributed)
        """For each of the three hops, the letters that left this rank and the letters that reached it."""
        short = {letter.sender: letter.piece for letter in delivered if _is_short(letter.nbytes)}
        long = {
            letter.sender: letter.nbytes for letter in delivered if not _is_short(letter.nbytes)
        }
        straight = {peer: piece for peer, piece in pieces.items() if not _is_short(piece.size)}
        self.arrived: dict[int, Array] = short | _straight(communicator, straight, long, what) | own

    def answered(
        self, answers: Mapping[int, Array], length: Callable[[int], int], what: str
    ) -> dict[int, Array]:
        """Send bytes back to the senders of what arrived; the result has the answers to this rank's pieces. Collective.

        ``length`` gives the number of bytes that answer a piece of some number of bytes.
        """
        communicator, rank = self._communicator, self._communicator.rank
        sent = {peer: length(nbytes) for peer, nbytes in self._sent.items()}
        short = {(peer, rank): answer for peer, answer in answers.items() if _is_short(answer.size)}
        for left, reached in reversed(self._hops):
            outgoing = {
                peer: _in_one([short[letter[:2]] for letter in known])
                for peer, letters in reached.items()
                if peer != rank and (known := _answered(letters, length))
            }
            expected = {
                peer: known
                for peer, letters in left.items()
                if peer != rank and (known := _answered(letters, length))
            }
            ends = {
                peer: _ends([length(letter.nbytes) for letter in letters])
                for peer, letters in expected.items()
            }
            incoming = {peer: np.empty(places[-1], np.uint8) for peer, places in ends.items()}
            _carry(communicator, outgoing, incoming, what)
            for peer, letters in expected.items():
                for letter, place in zip(letters, ends[peer]):
                    piece = incoming[peer][place : place + length(letter.nbytes)]
                    short[letter[:2]] = piece
        straight = {
            peer: answer
            for peer, answer in answers.items()
            if peer != rank and not _is_short(answer.size)
        }
        long = {peer: nbytes for peer, nbytes in sent.items() if not _is_short(nbytes)}
        arrived = _straight(communicator, straight, long, what)
        arrived |= {peer: short[rank, peer] for peer, n in sent.items() if n and _is_short(n)}
        return arrived | ({rank: answers[rank]} if rank in answers else {})


def _answered(letters: list[_Letter], length: Callable[[int], int]) -> list[_Letter]:
    """The letters whose answers are short, and not empty."""
    return [letter for letter in letters if (n := length(letter.nbytes)) and _is_short(n)]


def _straight(
    communicator: Communicator,
    outgoing: Mapping[int, Array],
    lengths: Mapping[int, int],
    what: str,
) -> dict[int, Array]:
    """Send long pieces to their receivers, and return those received, of known lengths, by sender."""
    incoming = {peer: np.empty(nbytes, np.uint8) for peer, nbytes in lengths.items()}
    _carry(communicator, outgoing, incoming, what)
    return incoming


def _are_few(nodes: Nodes) -> bool:
    """True if a rank sends the lengths to its partners on all nodes, since these are no more than the rounds of a collective of all
    ranks.

    A node has ``size / count`` ranks on average, which share the other nodes.
    """
    return nodes.count**2 <= nodes.size * nodes.size.bit_length()


def _exchanged(
    communicator: Communicator, leaving: _Letters, peers: Iterable[int] | None, what: str
) -> _Letters:
    """Exchange letters with some of ``peers``, or of all ranks if ``None``; the result has the letters that reach this rank, by the
    rank that hands them over. Letters of this rank to itself stay here."""
    rank = communicator.rank
    outgoing = {peer: _packed(letters) for peer, letters in leaving.items() if peer != rank}
    if peers is None:
        lengths = {peer: message.size for peer, message in outgoing.items()}
        lengths = arriving(communicator, lengths, what)
        incoming = _straight(communicator, outgoing, lengths, what)
    else:
        others = [peer for peer in peers if peer != rank]
        fronts = {peer: _front(communicator, outgoing.get(peer, _NOTHING)) for peer in others}
        arrived = {peer: np.empty_like(front) for peer, front in fronts.items()}
        _carry(communicator, fronts, arrived, what)
        incoming = {}
        for peer, front in arrived.items():
            mark, nbytes = front[:_HEAD].view(np.int64)[:, None]
            check_mark(communicator, mark, peer)
            if nbytes:
                message = front[_HEAD : _HEAD + int(nbytes[0])]
                if nbytes > message.size:
                    message = np.empty(nbytes, np.uint8)
                    message[: _FRONT - _HEAD] = front[_HEAD:]
                incoming[peer] = message
        rest = _FRONT - _HEAD
        _carry(
            communicator,
            {peer: message[rest:] for peer, message in outgoing.items() if message.size > rest},
            {peer: message[rest:] for peer, message in incoming.items() if message.size > rest},
            what,
        )
    own = {rank: leaving[rank]} if rank in leaving else {}
    return own | {peer: list(_opened(message)) for peer, message in incoming.items()}


def _front(communicator: Communicator, message: Array) -> Array:
    """The mark of the step, the length of a message, and its first bytes."""
    front = np.zeros(_FRONT, np.uint8)
    front[:_HEAD].view(np.int64)[:] = *mark_of(communicator), message.size
    first = message[: _FRONT - _HEAD]
    front[_HEAD : _HEAD + first.size] = first
    return front


def _carry(
    communicator: Communicator,
    outgoing: Mapping[int, Array],
    incoming: Mapping[int, Array],
    what: str,
) -> None:
    """Send and receive messages of known lengths, which all belong to this step."""
    carried(communicator, lambda: exchange(communicator, outgoing, incoming, what))


def _is_short(nbytes: int) -> bool:
    """True if a piece of this length goes by nodes."""
    return nbytes <= policy.limits.packed


def _room(nbytes: int) -> int:
    """The bytes that a piece takes in a message, so that the next one lies at a multiple of 16 bytes."""
    return -(-nbytes // _ALIGNED) * _ALIGNED


def _ends(sizes: Iterable[int]) -> list[int]:
    """The place of each piece in a message, and the length of the message."""
    return [0, *accumulate(map(_room, sizes))]


def _in_one(pieces: Sequence[Array]) -> Array:
    """One message of pieces."""
    places = _ends([piece.size for piece in pieces])
    message = np.empty(places[-1], np.uint8)
    for place, piece in zip(places, pieces):
        message[place : place + piece.size] = piece
    return message


def _packed(letters: list[_Letter]) -> Array:
    """A message of letters: their number, a row for each, and their pieces."""
    rows = np.array([letter[:3] for letter in letters], np.int64)
    head = np.append(len(rows), rows).astype(np.int64, copy=False)
    return _in_one([head.view(np.uint8), *[letter.piece for letter in letters]])


def _opened(message: Array) -> Iterator[_Letter]:
    """The letters in a message."""
    count = int(message[:8].view(np.int64)[0])
    head = 8 * (1 + 3 * count)
    place = _room(head)
    for sender, receiver, nbytes in message[8:head].view(np.int64).reshape(-1, 3).tolist():
        length = nbytes if _is_short(nbytes) else 0
        yield _Letter(sender, receiver, nbytes, message[place : place + length])
        place += _room(length)
