"""Folds and scans by trees: the contributions of ranks in a line are joined in pairs, pairs of pairs, and so on.

The order of the joins depends only on the number of ranks in the line. So a result has the same bits on all ranks, and
the same whether a few ranks tell each other everything and join it themselves (:func:`in_pairs`), or many
send it up and down a tree (:func:`folded_by_tree`), in as many steps as their number has binary digits, each way.

A tree has two levels where ranks share nodes: the ranks of a node, then the first ranks of all nodes. So a node sends one
message up and receives one down. A rank sends *parts* up: the joins of as many ranks as the order of the joins allows
without the contributions of other ranks. A node of two, four, eight ... ranks sends one part, another node several in the
same message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .. import policy
from ..comm.communicator import Communicator
from ..comm.in_step import allgather, step, summed
from ..comm.nodes import Nodes
from .messages import exchange

Array = np.ndarray[Any, Any]
Item = TypeVar("Item")
Join = Callable[[Array, Array], Array]


class Branches(NamedTuple):
    """A rank's neighbours in a tree: the parent that it sends to, and the children that send to it, in the order of the joins."""

    parent: int | None
    children: tuple[int, ...]
    place: int
    """The position of the rank in the line. It answers for itself, then for the positions of each of its children."""
    ends: tuple[int, ...]
    """For each child, the last position that it answers for, plus one."""
    length: int
    """The number of ranks in the line."""

    @property
    def end(self) -> int:
        """The last position that the rank answers for, plus one."""
        return self.ends[-1] if self.ends else self.place + 1


def branches(
    place: int, length: int, rank_at: Callable[[int], int], nodes: Nodes | None = None
) -> Branches:
    """The neighbours of a position in a line of ``length`` ranks; ``rank_at`` maps a position to its rank."""
    group = 1 if nodes is None else _side_by_side(length, rank_at, nodes)
    first = place - place % group
    parent, children, ends = _in_line(place - first, min(group, length - first))
    children, ends = [first + child for child in children], [first + end for end in ends]
    above = None if parent is None else first + parent
    if place == first and group < length:
        parent, others, theirs = _in_line(first // group, -(-length // group))
        above = None if parent is None else parent * group
        children += [other * group for other in others]
        ends += [min(end * group, length) for end in theirs]
    ranks = tuple(map(rank_at, children))
    return Branches(None if above is None else rank_at(above), ranks, place, tuple(ends), length)


def _in_line(place: int, length: int) -> tuple[int | None, list[int], list[int]]:
    """The parent of a position in a tree over a line, its children, and the ends of the positions that these answer for."""
    children, ends, distance = [], [], 1
    while distance < length and not place & distance:
        if place + distance < length:
            children.append(place + distance)
            ends.append(min(place + 2 * distance, length))
        distance *= 2
    return (place - distance if place else None), children, ends


def _side_by_side(length: int, rank_at: Callable[[int], int], nodes: Nodes) -> int:
    """The number of consecutive positions of a line on each node; 1 if the nodes do not follow that rule."""
    if not nodes.two_levels or nodes.numbers is not None or length == 1:
        return 1
    first, step, last = rank_at(0), rank_at(1) - rank_at(0), rank_at(length - 1)
    if step < 1 or last != first + step * (length - 1) or nodes.per_node % step:
        return 1
    return nodes.per_node // step if first % nodes.per_node < step else 1


def in_pairs(parts: Sequence[Item], join: Callable[[Item, Item], Item]) -> Item:
    """Join all parts, in the order of the tree."""
    while len(parts) > 1:
        rest = parts[len(parts) & -2 :]
        parts = [*map(join, parts[::2], parts[1::2]), *rest]
    return parts[0]


class Part(NamedTuple):
    """The join of the contributions of consecutive positions."""

    start: int
    stop: int
    value: Array


def as_bytes(array: Array) -> Array:
    """The elements of an array in C order, as bytes."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def packed(arrays: Sequence[Array]) -> Array:
    """The bytes of arrays, one array after the other."""
    parts = list(map(as_bytes, arrays))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def unpacked(
    data: Array, like: Sequence[Array], shape: tuple[int, ...] | None = None
) -> list[Array]:
    """The arrays in packed bytes: of the dtypes of other arrays, and of their shapes, or all of one ``shape``."""
    arrays, start = [], 0
    for array in like:
        extents = array.shape if shape is None else shape
        stop = start + prod(extents) * array.itemsize
        arrays.append(data[start:stop].view(array.dtype).reshape(extents))
        start = stop
    return arrays


def _joined(parts: Sequence[Part], more: Sequence[Part], length: int, join: Join) -> list[Part]:
    """Parts that follow each other, joined as far as the order of the joins allows."""
    parts = list(parts)
    for part in more:
        while parts:
            start, middle, left = parts[-1]
            whole = 2 * (middle - start)
            if start % whole or part.stop != min(start + whole, length):
                break
            part = Part(start, part.stop, join(left, part.value))
            parts.pop()
        parts.append(part)
    return parts


def parts_of(start: int, stop: int, length: int) -> list[tuple[int, int]]:
    """The bounds of the parts that the positions from ``start`` to ``stop`` form together."""
    cuts = []
    while start < stop:
        size = start & -start or length
        if (
            stop < length
        ):  # only at the end of the line are there parts of other lengths than a power of two
            size = min(size, 1 << (stop - start).bit_length() - 1)
        cuts.append((start, min(start + size, length)))
        start = cuts[-1][1]
    return cuts


def _send(communicator: Communicator, peer: int, parts: Sequence[Part], what: str) -> None:
    values = [part.value for part in parts]
    exchange(
        communicator, {peer: values[0] if len(values) == 1 else np.concatenate(values)}, {}, what
    )


def _received(
    communicator: Communicator, peer: int, cuts: Sequence[tuple[int, int]], nbytes: int, what: str
) -> list[Part]:
    memory = np.empty(len(cuts) * nbytes, np.uint8)
    exchange(communicator, {}, {peer: memory}, what)
    values = memory.reshape(len(cuts), nbytes)
    return [Part(start, stop, value) for (start, stop), value in zip(cuts, values, strict=True)]


def _collected(
    communicator: Communicator, tree: Branches, given: Array, join: Join, what: str, end: int
) -> tuple[list[Part], list[list[Part]]]:
    """The parts of this rank and of its children that end before a position; and for each child, the parts before it."""
    place, length = tree.place, tree.length
    parts, start = [Part(place, place + 1, given)], place + 1
    before = []
    for child, stop in zip(tree.children, tree.ends, strict=True):
        before.append(parts)
        if stop < end:
            cuts = parts_of(start, stop, length)
            arrived = _received(communicator, child, cuts, given.nbytes, what)
            parts = _joined(parts, arrived, length, join)
        start = stop
    return parts, before


def folded_by_tree(
    communicator: Communicator, tree: Branches, given: Array, join: Join, what: str
) -> Array:
    """The join of the bytes that all ranks of a line contribute. ``join`` preserves the number of bytes. Collective."""
    parts, _ = _collected(communicator, tree, given, join, what, tree.length + 1)
    total = parts[0].value
    if tree.parent is not None:
        _send(communicator, tree.parent, parts, what)
        total = np.empty_like(given)
        exchange(communicator, {}, {tree.parent: total}, what)
    exchange(communicator, dict.fromkeys(tree.children, total), {}, what)
    return total


def folded_before(
    communicator: Communicator, tree: Branches, given: Array, join: Join, what: str
) -> Array | None:
    """The join of the bytes of the ranks before this one in a line; ``None`` for the first. Collective.

    A rank that answers for the end of the line sends nothing up: no rank comes after it.
    """
    length = tree.length
    parts, before_children = _collected(communicator, tree, given, join, what, length)
    before: list[Part] = []
    if tree.parent is not None:
        if tree.end < length:
            _send(communicator, tree.parent, parts, what)
        cuts = parts_of(0, tree.place, length)
        before = _received(communicator, tree.parent, cuts, given.nbytes, what)
    for child, own in zip(tree.children, before_children, strict=True):
        _send(communicator, child, _joined(before, own, length, join), what)
    return reduce(join, [part.value for part in before]) if before else None


def added(communicator: Communicator, array: Array, what: str) -> Array:
    """The sum of the arrays of all ranks, equal in shape and dtype, on every rank. Collective."""
    if communicator.size <= policy.limits.few_ranks:
        return np.asarray(in_pairs(list(allgather(communicator, array, what)), np.add))
    if array.dtype.kind in "iu" and array.itemsize == 8:  # exact in any order
        words = np.ascontiguousarray(array).reshape(-1).view(np.uint64)
        return summed(communicator, words, what).view(array.dtype).reshape(array.shape)
    step(communicator, "added", what)

    def join(left: Array, right: Array) -> Array:
        both: Array = np.add(left.view(array.dtype), right.view(array.dtype))
        return both.view(np.uint8)

    tree = branches(communicator.rank, communicator.size, int, communicator.nodes)
    total = folded_by_tree(communicator, tree, as_bytes(array), join, what)
    return total.copy().view(array.dtype).reshape(array.shape)
