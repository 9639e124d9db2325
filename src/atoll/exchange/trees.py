"""Folds by trees: what ranks in a line give is joined in pairs, pairs of pairs, and so on, and all of them get the result.

The order of the joins depends on how many ranks there are in the line, and on nothing else. So the result has the same bits
on all ranks, and the same whether a few ranks tell each other everything and join it themselves (:func:`in_pairs`), or many
send it up and down a tree (:func:`folded_by_tree`), in as many steps as their number has binary digits, each way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..comm.communicator import Communicator
from .messages import exchange

Array = np.ndarray[Any, Any]
Part = TypeVar("Part")


class Branches(NamedTuple):
    """A rank's neighbours in a tree: the rank that it gives to, and those that give to it, in this order."""

    parent: int | None
    children: tuple[int, ...]


def branches(place: int, length: int, rank_at: Callable[[int], int]) -> Branches:
    """The neighbours of a place in a line of so many; ``rank_at`` tells which rank has which place."""
    children, distance = [], 1
    while distance < length and not place & distance:
        if place + distance < length:
            children.append(rank_at(place + distance))
        distance *= 2
    return Branches(rank_at(place - distance) if place else None, tuple(children))


def in_pairs(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> Part:
    """All parts joined, in the order of the tree."""
    while len(parts) > 1:
        pairs = [join(left, right) for left, right in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs if len(parts) % 2 == 0 else [*pairs, parts[-1]]
    return parts[0]


def folded_by_tree(
    communicator: Communicator,
    tree: Branches,
    given: Array,
    join: Callable[[Array, Array], Array],
    what: str,
) -> Array:
    """The bytes that all ranks of a line have given, joined. ``join`` takes and gives as many bytes. Collective."""
    total = given
    for child in tree.children:
        arrived = np.empty_like(given)
        exchange(communicator, {}, {child: arrived}, what)
        total = join(total, arrived)
    if tree.parent is not None:
        exchange(communicator, {tree.parent: total}, {}, what)
        total = np.empty_like(given)
        exchange(communicator, {}, {tree.parent: total}, what)
    exchange(communicator, dict.fromkeys(tree.children, total), {}, what)
    return total
