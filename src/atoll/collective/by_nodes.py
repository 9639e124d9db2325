"""Pieces from all ranks to all ranks by two messages for each pair of nodes: how long the pieces are, and the pieces.

The ranks of a node share the other nodes out among them (:class:`.comm.nodes.Charges`). A piece for a rank of another
node goes to the rank of this node that has that node in its charge, with all others for it to that rank's partner, and
from there to its receiver. So a node with ``r`` ranks exchanges with another one two messages each way, not ``r * r``.
Long pieces are worth a message of their own and go straight to their receivers.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import carried, check_mark, mark_of, step
from ..comm.nodes import Charges, Nodes
from ..exchange.messages import exchange
from ..layout import Layout

Array = np.ndarray[Any, Any]

_ALIGNED = 16


def pays(source: Layout, target: Layout, itemsize: int, nodes: Nodes) -> bool:
    """Whether to bring an array from one layout to another by nodes; the same on all ranks.

    That is so where ranks have short pieces for so many others that all pairs of nodes need fewer messages.
    """
    if not (nodes.two_levels and itemsize):
        return False
    grids = list(zip(source.grid, target.grid, strict=True))
    leaving = prod([max(1, wanted // held) for held, wanted in grids])
    arriving = prod([max(1, held // wanted) for held, wanted in grids])
    messages = max(leaving, arriving)
    length = source.size * itemsize // prod([max(pair) for pair in grids])
    return length <= policy.limits.packed and messages * nodes.size > 2 * nodes.count**2


def routed(communicator: Communicator, pieces: Mapping[int, Array], what: str) -> dict[int, Array]:
    """Send bytes to some ranks, which do not know how many; what arrived, by sender. Collective."""
    route = _Route(communicator, what)
    counts = np.zeros(communicator.size, np.int64)
    for peer, piece in pieces.items():
        counts[peer] = piece.size
    arriving = route.lengths(counts)
    outgoing = {
        peer: piece
        for peer, piece in pieces.items()
        if piece.size and route.is_direct(peer, piece.size)
    }
    incoming = {
        peer: np.empty(int(arriving[peer]), np.uint8)
        for peer in np.flatnonzero(arriving).tolist()
        if route.is_direct(peer, arriving[peer])
    }
    route.carry(outgoing, incoming)
    incoming |= route.elements(pieces, counts, arriving)
    return incoming


class _Route:
    """One exchange of this rank."""

    __slots__ = ("charges", "coming", "communicator", "going", "segments", "targets", "what")

    def __init__(self, communicator: Communicator, what: str) -> None:
        self.communicator = communicator
        self.what = what
        self.charges = charges = Charges(communicator.nodes, communicator.rank)
        self.targets = [charges.targets(mate) for mate in range(len(charges.mates))]
        """By rank of this node, the ranks of the nodes in its charge."""
        ends = np.cumsum([0, *[len(communicator.nodes.ranks(node)) for node in self._mine]])
        self.segments = list(zip(self._mine, pairwise(ends.tolist())))
        """The nodes in this rank's charge, and where their ranks are in its targets."""

    @property
    def _mine(self) -> list[int]:
        return self.charges.of(self.charges.me)

    def is_direct(self, peer: int, nbytes: int) -> bool:
        """Whether a piece for, or from, another rank goes there by itself."""
        if peer == self.communicator.rank:
            return False
        return nbytes > policy.limits.packed or peer in self.charges.mates

    def carry(self, outgoing: Mapping[int, Array], incoming: Mapping[int, Array]) -> None:
        """Send and receive messages of known lengths, which all belong to this step."""
        communicator = self.communicator
        carried(communicator, lambda: exchange(communicator, outgoing, incoming, self.what))

    def _marked(
        self, outgoing: Mapping[int, Array], lengths: Mapping[int, int]
    ) -> dict[int, Array]:
        """Exchange numbers with other ranks, behind the mark of this step."""
        mark = mark_of(self.communicator)
        leaving = {peer: np.concatenate([mark, numbers]) for peer, numbers in outgoing.items()}
        arriving = {peer: np.empty(1 + length, np.int64) for peer, length in lengths.items()}
        self.carry(leaving, arriving)
        for peer, numbers in arriving.items():
            check_mark(self.communicator, numbers[:1], peer)
        return {peer: numbers[1:] for peer, numbers in arriving.items()}

    def _among_mates(self, numbers: list[Array], lengths: list[int]) -> list[Array]:
        """Numbers from each rank of this node to each, and how many come from each."""
        mates, me = self.charges.mates, self.charges.me
        leaving = dict(zip(mates, numbers, strict=True))
        own = leaving.pop(mates[me])
        expected = dict(zip(mates, lengths, strict=True))
        del expected[mates[me]]
        arrived = self._marked(leaving, expected)
        return [own if mate == mates[me] else arrived[mate] for mate in mates]

    def lengths(self, counts: Array) -> Array:
        """How long the pieces are that come from each rank, when each rank knows what it sends."""
        step(self.communicator, "all to all by nodes", self.what)
        mates = self.charges.mates
        told = self._among_mates(
            [np.append(counts[part], counts[mate]) for part, mate in zip(self.targets, mates)],
            [len(self.targets[self.charges.me]) + 1] * len(mates),
        )
        arriving = np.zeros_like(counts)
        arriving[list(mates)] = [numbers[-1] for numbers in told]
        self.going = np.stack([numbers[:-1] for numbers in told])
        """For each rank of this node, how much it has for each of the ranks in this one's charge."""
        partners = {node: self.charges.partner(node) for node, _ in self.segments}
        arrived = self._marked(
            {partners[node]: self.going[:, a:b].ravel() for node, (a, b) in self.segments},
            {partners[node]: (b - a) * len(mates) for node, (a, b) in self.segments},
        )
        self.coming = np.zeros((len(self.targets[self.charges.me]), len(mates)), np.int64)
        """For each of the ranks in this one's charge, how much it has for each rank of this node."""
        for node, (a, b) in self.segments:
            self.coming[a:b] = arrived[partners[node]].reshape(b - a, len(mates))
        for part, numbers in zip(
            self.targets,
            self._among_mates(list(self.coming.T), [len(part) for part in self.targets]),
            strict=True,
        ):
            arriving[part] = numbers
        return arriving

    def elements(
        self, pieces: Mapping[int, Array], counts: Array, arriving: Array
    ) -> dict[int, Array]:
        """The pieces that come by other ranks of this node, and this rank's own."""
        mates, me = self.charges.mates, self.charges.me
        own = mates[me]
        leaving = {
            mate: _packed([pieces[peer] for peer in part[_short(counts[part])].tolist()])
            for mate, part in zip(mates, self.targets)
        }
        going, coming = _room(self.going), _room(self.coming)
        from_mates = self._exchanged(leaving, dict(zip(mates, going.sum(axis=1).tolist())))
        starts = np.cumsum(going, axis=1) - going
        to_nodes, room = {}, {}
        for node, (a, b) in self.segments:
            partner = self.charges.partner(node)
            stretches = zip(starts[:, a].tolist(), going[:, a:b].sum(axis=1).tolist())
            to_nodes[partner] = np.concatenate(
                [from_mates[mate][s : s + n] for mate, (s, n) in zip(mates, stretches)]
            )
            room[partner] = int(coming[a:b].sum())
        from_nodes = self._exchanged(to_nodes, room)
        for_mates: list[list[Array]] = [[] for _ in mates]
        for node, (a, b) in self.segments:
            stretch, start = from_nodes[self.charges.partner(node)], 0
            for row in coming[a:b].tolist():
                for parts, nbytes in zip(for_mates, row):
                    if nbytes:
                        parts.append(stretch[start : start + nbytes])
                        start += nbytes
        lengths = {
            mate: int(_room(arriving[part]).sum()) for mate, part in zip(mates, self.targets)
        }
        last = self._exchanged(
            {mate: np.concatenate([_NOTHING, *parts]) for mate, parts in zip(mates, for_mates)},
            lengths,
        )
        result = {own: pieces[own]} if own in pieces and counts[own] else {}
        for mate, part in zip(mates, self.targets):
            start = 0
            for peer in part[_short(arriving[part])].tolist():
                nbytes = int(arriving[peer])
                result[peer] = last[mate][start : start + nbytes]
                start += -(-nbytes // _ALIGNED) * _ALIGNED
        return result

    def _exchanged(self, leaving: dict[int, Array], room: dict[int, int]) -> dict[int, Array]:
        """Exchange stretches of bytes of known lengths; this rank's own stays, and empty ones are not sent."""
        rank = self.communicator.rank
        arriving = {peer: np.empty(nbytes, np.uint8) for peer, nbytes in room.items()}
        if rank in arriving:
            arriving[rank] = leaving[rank]
        self.carry(
            {peer: part for peer, part in leaving.items() if part.size and peer != rank},
            {peer: part for peer, part in arriving.items() if part.size and peer != rank},
        )
        return arriving


_NOTHING = np.empty(0, np.uint8)


def _short(counts: Array) -> Array:
    """Which pieces of these lengths go by nodes."""
    short: Array = (counts > 0) & (counts <= policy.limits.packed)
    return short


def _room(counts: Array) -> Array:
    """How much of a message the pieces of these lengths take."""
    return np.where(_short(counts), -(-counts // _ALIGNED) * _ALIGNED, 0)


def _packed(pieces: list[Array]) -> Array:
    """Pieces one after the other, each at a multiple of 16 bytes."""
    ends = np.cumsum([0, *[-(-piece.size // _ALIGNED) * _ALIGNED for piece in pieces]]).tolist()
    packed = np.empty(ends[-1], np.uint8)
    for start, piece in zip(ends, pieces):
        packed[start : start + piece.size] = piece
    return packed
