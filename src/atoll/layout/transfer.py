"""Transfers: the sends and receives of each rank, computed by the rank itself.

On one axis, the indices that two ranks exchange are the intersection of the indices that one holds and those that the other needs.
A region is a product of axes, and so is a transfer: cut each axis of the needed region by owner (:meth:`Axis.owners_of`), and
every combination of pieces is one record, from the rank in that cell. The sends of a rank are the mirror image: cut its
own region by the axes of the target. Elements of a message are in ascending order of index on each axis, row-major, on
both sides; so ranks need no requests.

If several ranks hold an element, a receiver that holds it takes its own, and otherwise uses the rank ``copies[receiver
% len(copies)]``, so that the receivers spread over the copies. Index sets that overlap along an axis are read from the
receiver's own coordinate if that has them, else from the lowest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..errors import LayoutError
from .axes import Axis
from .index_set import IndexSet, Range, listed
from .layout import Layout, Region
from .maps import read_key
from .symbolic_layout import Interval, extent


class Record(NamedTuple):
    """A message between this rank and ``peer``, or a copy within this rank.

    ``region`` has the global indices, ascending on each axis. ``source`` and ``target`` are
    the same places in local indices: of the sender's block, and of the receiver's block (or,
    from :func:`needed`, of the requested region).
    """

    peer: int
    region: Region
    sending: bool
    mine: Region
    theirs: Layout

    @property
    def source(self) -> Region:
        """The local indices in the block that the elements come from."""
        return _places(self.mine if self.sending else self.theirs.region(self.peer), self.region)

    @property
    def target(self) -> Region:
        """The local indices in the block that the elements go to."""
        return _places(self.theirs.region(self.peer) if self.sending else self.mine, self.region)

    @property
    def source_key(self) -> tuple[Any, ...]:
        """The NumPy index of the elements in the source block."""
        return region_key(self.source)

    @property
    def target_key(self) -> tuple[Any, ...]:
        """The NumPy index of the elements in the target block."""
        return region_key(self.target)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the message."""
        return tuple(map(extent, self.region))

    @property
    def size(self) -> int:
        """The number of elements of the message."""
        return prod(self.shape)


def _places(held: Region, region: Sequence[Any]) -> Region:
    places: list[Any] = [
        part.within(owned) if type(part) is Interval else owned.positions(part)
        for owned, part in zip(held, region)
    ]
    return tuple(places)


def region_key(positions: Sequence[IndexSet]) -> tuple[Any, ...]:
    """A NumPy index for a product of index sets: slices if they will do, else an open mesh."""
    keys = [places.key for places in positions]
    if sum(isinstance(key, np.ndarray) for key in keys) <= 1:
        return tuple(keys)
    return np.ix_(*(places.array() for places in positions))


Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Transfer(Generic[Kind]):
    """One rank's share in moving an array, or in filling padding: ``sends``, ``receives``, and ``local`` copies."""

    sends: tuple[Kind, ...]
    receives: tuple[Kind, ...]
    local: tuple[Kind, ...]


def needed(layout: Layout, region: Any, rank: int) -> tuple[Record, ...]:
    """List the owners of the pieces of a region that ``rank`` needs.

    The region has one index set per axis, or for a layout in blocks an interval. ``target`` of a record counts
    positions in it.
    """
    if not all(map(extent, region)):
        return ()
    place = layout.coordinates(rank)
    pieces: list[Any] = []
    for number, (axis, wanted) in enumerate(zip(layout.axes, region, strict=True)):
        if axis.overlaps and place is not None:
            pieces.append(_preferring(axis, place[number], wanted))
        else:
            pieces.append(
                list(wanted.by_owner(axis) if type(wanted) is Interval else axis.owners_of(wanted))
            )
    records = []
    if layout.copies == 1 and len(pieces) == 1 and layout.is_row_major:
        # The common case without the general loop: the coordinate is the rank.
        return tuple([Record(peer, (piece,), False, region, layout) for peer, piece in pieces[0]])
    for combination in product(*pieces):
        cell = tuple([coordinate for coordinate, _ in combination])
        holders = layout.ranks_at(cell)
        peer = rank if cell == place else holders[rank % len(holders)]
        part = tuple([piece for _, piece in combination])
        records.append(Record(peer, part, False, region, layout))
    return tuple(records)


def _preferring(axis: Axis, coordinate: int, wanted: IndexSet) -> list[tuple[int, IndexSet]]:
    """``wanted`` by owner on an axis with copies, except that ``coordinate`` supplies all indices that it holds."""
    own = axis.owned(coordinate).intersection(wanted)
    values = np.sort(wanted.array())
    rest = listed(values[~own.contains(values)])
    pieces = [(coordinate, own)] if len(own) else []
    return pieces + list(axis.owners_of(rest))


def holds(layout: Layout, rank: int, key: Any) -> bool:
    """True if a rank holds all elements that an index of integers and slices selects."""
    cuts = [item for item in read_key(key, layout.shape) if item is not None]
    wanted = [Range.of(cut if isinstance(cut, range) else range(cut, cut + 1)) for cut in cuts]
    held = layout.region(rank)
    return not all(map(len, wanted)) or all(
        len(part & items) == len(items) for part, items in zip(held, wanted, strict=True)
    )


def transfer(source: Layout, target: Layout, rank: int) -> Transfer[Record]:
    """List the sends, receives and copies of ``rank`` for a change of layout."""
    if source.shape != target.shape or source.processes != target.processes:
        raise LayoutError(
            f"layout: there is no transfer from {source.shape} on {source.processes} processes to {target.shape} on {target.processes}; shapes and worlds must agree"
        )
    wanted: tuple[Record, ...] = ()
    if target.coordinates(rank) is not None:
        wanted = needed(source, target.region(rank), rank)
    sends = _sends_by_receiver(source, target, rank) if source.overlaps else _sends(
        source, target, rank
    )  # fmt: skip
    return Transfer(
        sends,
        tuple([record for record in wanted if record.peer != rank]),
        tuple([record for record in wanted if record.peer == rank]),
    )


def _sends(source: Layout, target: Layout, rank: int) -> tuple[Record, ...]:
    place = source.coordinates(rank)
    if place is None or source.is_replicated:
        return ()
    mine = source.region(rank)
    if not all(map(extent, mine)):
        return ()
    pieces = [list(axis.holders_of(held)) for axis, held in zip(target.axes, mine)]
    if source.copies == target.copies == 1 and len(pieces) == 1 and target.is_row_major:
        return tuple(
            [
                Record(peer, (piece,), True, mine, target)
                for peer, piece in pieces[0]
                if peer != rank
            ]
        )
    copies = source.ranks_at(place)
    turn = copies.index(rank)
    records = []
    for combination in product(*pieces):
        part = tuple([piece for _, piece in combination])
        for peer in _every(target.ranks_at([c for c, _ in combination]), len(copies), turn):
            if peer not in copies:
                records.append(Record(peer, part, True, mine, target))
    return tuple(records)


def _every(ranks: Sequence[int], count: int, turn: int) -> Sequence[int]:
    """The ranks that are ``turn`` modulo ``count``."""
    if isinstance(ranks, range) and ranks.step == 1:
        return ranks[(turn - ranks.start) % count :: count]
    return [rank for rank in ranks if rank % count == turn]


def _sends_by_receiver(source: Layout, target: Layout, rank: int) -> tuple[Record, ...]:
    """The mirror image where the sender depends on the receiver: compute it for each receiver."""
    if source.coordinates(rank) is None:
        return ()
    mine = source.region(rank)
    return tuple(
        Record(peer, record.region, True, mine, target)
        for peer in target.ranks
        if peer != rank
        for record in needed(source, target.region(peer), peer)
        if record.peer == rank
    )


class HaloRecord(NamedTuple):
    """A message that fills padding; ``source`` and ``target`` are places in padded blocks.

    ``region`` has the global indices of the elements, which are owned by the sender.
    """

    peer: int
    region: Region
    source: Region
    target: Region

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the message."""
        return tuple(map(len, self.region))

    @property
    def source_key(self) -> tuple[Any, ...]:
        """The NumPy index of the elements in the sender's padded block."""
        return region_key(self.source)

    @property
    def target_key(self) -> tuple[Any, ...]:
        """The NumPy index of the elements in the receiver's padded block."""
        return region_key(self.target)


# A range of one axis of a padded block: the coordinate at the other end of the message, the
# global indices, and their places in the padded blocks of the sender and of the receiver.
_Stretch = tuple[int, IndexSet, IndexSet, IndexSet]


def halo_transfer(
    layout: Layout, rank: int, axis: int | None = None, side: str | None = None
) -> Transfer[HaloRecord]:
    """List the messages of ``rank`` that fill communication padding, corners included.

    With ``axis`` they fill the padding beside the blocks along this axis, without corners, and with ``side`` ("left" or
    "right") on one side of the blocks. On each axis a padded block has three ranges: left padding, the owned middle, right padding.
    Every combination of them but the owned block itself is one message. Both sides iterate over the combinations in the receiver's
    order, so that several messages between two ranks match.
    """
    place = layout.coordinates(rank)
    if place is None or not layout.is_padded:
        return Transfer((), (), ())
    copy = layout.copy_number(rank)
    incoming, outgoing = [], []
    for number, (line, here) in enumerate(zip(layout.axes, place)):
        before, after = line.neighbours(here)
        middle = _middle(line, here)
        arriving_along = [_edge(line, before, here, 0), middle, _edge(line, after, here, 2)]
        # My end is my right neighbour's left padding, and my start the left one's right padding.
        leaving_along = [
            _edge(line, after, here, 0, True),
            middle,
            _edge(line, before, here, 2, True),
        ]
        for along in (arriving_along, leaving_along):
            if axis is not None and number != axis:
                along[0] = along[2] = None
            elif side is not None:
                along[2 if side == "left" else 0] = None
        incoming.append(arriving_along)
        outgoing.append(leaving_along)
    arriving = _halo_records(layout, incoming, copy)
    leaving = _halo_records(layout, outgoing, copy)
    return Transfer(
        tuple([record for record in leaving if record.peer != rank]),
        tuple([record for record in arriving if record.peer != rank]),
        tuple([record for record in arriving if record.peer == rank]),
    )


def _halo_records(
    layout: Layout, stretches: list[list[_Stretch | None]], copy: int
) -> list[HaloRecord]:
    records = []
    for kinds in product(range(3), repeat=layout.ndim):
        parts = [part for axis, kind in zip(stretches, kinds) if (part := axis[kind]) is not None]
        if len(parts) < layout.ndim or all(kind == 1 for kind in kinds):
            continue
        peer = layout.ranks_at([part[0] for part in parts])[copy]
        region, source, target = (
            tuple([part[1] for part in parts]),
            tuple([part[2] for part in parts]),
            tuple([part[3] for part in parts]),
        )
        records.append(HaloRecord(peer, region, source, target))
    return records


def _middle(axis: Axis, here: int) -> _Stretch | None:
    count, before = axis.count(here), axis.padding(here)[0]
    places = Range(before, before + count)
    return (here, axis.owned(here), places, places) if count else None


def _edge(
    axis: Axis, beside: int | None, here: int, kind: int, sending: bool = False
) -> _Stretch | None:
    """The range that fills the left (0) or right (2) padding, between ``here`` and its neighbour."""
    if beside is None:
        return None
    sender, receiver = (here, beside) if sending else (beside, here)
    left, right = axis.padding(receiver)
    width, count, held = (left if kind == 0 else right), axis.count(receiver), axis.count(sender)
    if not width:
        return None
    first = held - width if kind == 0 else 0
    before = axis.padding(sender)[0]
    start = 0 if kind == 0 else left + count
    places = Range(first, first + width)
    return (
        beside,
        axis.owned(sender).select(places),
        places.shifted(before),
        Range(start, start + width),
    )
