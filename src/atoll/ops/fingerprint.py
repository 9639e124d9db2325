"""Fingerprints: numbers that are equal on all ranks where the ranks do the same.

They are made of content alone: operations, shapes, dtypes, layouts, and how these hang together; the births of arrays
on ranks, the numbers among the operands, and the elements of small arrays that every rank has.
No process-wide number, address or hash of a string goes in, nor anything that only this rank may
know: which objects are alive, where a block lies in memory, what a replicated value was made of.
A large value that every rank computes by itself may have been read on one of them only, so
it counts as data, whether it is there or not; and as other data wherever it is read, since a rank that has shown its
memory reads copies. A small one is computed before it takes part in what lies on ranks (:func:`..lazy.rank_operands.entered`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import numpy as np

from .. import policy
from ..context.caches import derived, remembered
from ..graph.geometry import Geometry
from ..graph.node import Node, in_order
from ..layout import Layout
from .placement import Place

_EXACT = (int, np.integer, np.bool_)
"""Numbers that are exact on every machine: ranks compare them where they do not compare others, too."""

_MASK = (1 << 64) - 1
_born = attrgetter("born")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def of_text(text: str) -> int:
    """The fingerprint of words."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


of_backend = remembered(of_text)
"""The fingerprint of the name of a backend."""


@derived
def of_layout(layout: Layout) -> int:
    """The fingerprint of a layout: of its shape, its axes and who sits where."""
    return of_text(repr(layout.outline))


def of_move(shape: Sequence[int], layout: Layout) -> int:
    """The fingerprint of bringing an array of a shape to a layout."""
    return hash((*shape, of_layout(layout)))


def of_view(view: Geometry) -> tuple[Any, ...]:
    """Identity of the elements of its base that a view shows: equal for equal views in all processes."""
    return view.shape, view.base.shape, view.axes or (view.strides, view.offset)


@dataclass(slots=True, eq=False)
class Outline:
    """Fingerprint of a trace, which ranks compare: words for its operations, and the places of its extents."""

    structure: int
    """Operations of a trace without extents: traces with equal ones have plans of one kind."""
    _nodes: list[int]
    _leaves: list[tuple[int, int]]
    """Leaves, by a node that reads each, and as which operand."""
    _homes: list[int]
    """Nodes whose places do not follow from those of what they read."""
    ordinals: dict[int, int]
    """For each node that is compared, its number among these."""
    divided: list[int]
    """The leaves that lie on ranks, by their numbers."""
    replicated: list[int]
    """The other leaves, as often as they are operands of what is compared."""
    scalars: list[int]
    """Numbers of the trace's scalars that are operands of compared operations."""
    takers: list[int]
    """For each of these the node whose operand it is."""

    def of(self, order: Sequence[Node]) -> int:
        """The fingerprint of a trace of this outline."""
        words: list[Any] = [self.structure]
        for k in self._nodes:
            node = order[k]
            words.append(node.geometry.shape)
            for part in node.params:
                if type(part) is Geometry:
                    words.append(of_view(part))
        for k, slot in self._leaves:
            leaf = order[k].args[slot]
            words.append(leaf.geometry.shape)
            if leaf.place is not None:
                words.append(of_layout(leaf.place.layout))
        for k in self._homes:
            words.append(of_layout(order[k].place.layout))
        return hash(tuple(words)) & _MASK

    def given(
        self, leaves: Sequence[Node], scalars: Sequence[Any], exact: bool
    ) -> tuple[int, list[Any]]:
        """The fingerprint of what a trace is given, its arrays on ranks, its numbers and its small arrays; and these numbers.

        Of its scalars ranks compare those that the outline names; inexact ones where they compute them alike.
        """
        numbers = list(map(scalars.__getitem__, self.scalars))
        if not exact:
            numbers = [each for each in numbers if isinstance(each, _EXACT)]
        words = list(map(_born, map(leaves.__getitem__, self.divided)))
        if numbers:
            packed = b"".join(map(_bytes_of, numbers))
            words.append(zlib.crc32(packed))
        for k in self.replicated:
            leaf = leaves[k]
            if is_compared(leaf.geometry, exact):
                words.append(of_elements(leaf.value.array))  # type: ignore[union-attr]
        return hash(tuple(words)) & _MASK, numbers


def _bytes_of(number: Any) -> bytes:
    return number.tobytes() if isinstance(number, np.generic) else repr(number).encode()


def is_small(geometry: Geometry) -> bool:
    """True if ranks compare the elements of an array that all of them have, which takes time."""
    return geometry.size <= policy.limits.small


def is_compared(geometry: Geometry, exact: bool) -> bool:
    """The same; elements that are no integers or truth values only if these are ``exact`` on all ranks."""
    return is_small(geometry) and (exact or geometry.dtype.kind in "biu")


def of_elements(array: np.ndarray[Any, Any]) -> int:
    """The fingerprint of the elements of an array in memory."""
    return zlib.crc32(np.ascontiguousarray(array))  # type: ignore[arg-type]


def outlined(order: Sequence[Node], roots: Sequence[Node], leaves: Sequence[Node]) -> Outline:
    """The outline of what is computed together: pending nodes, operands first, and the values that these begin with."""
    alone = {id(leaf): leaf.place is None for leaf in leaves}
    for node in order:
        alone[id(node)] = node.place is None
        for arg in node.args:
            if type(arg) is Node and not alone[id(arg)]:
                alone[id(node)] = False
    leads: set[int] = set()  # what a distributed value is computed from
    for node in reversed(order):
        leading = node.place is not None or id(node) in leads
        for arg in node.args:
            leading = leading or (type(arg) is Node and arg.place is not None)
        if leading:
            leads.add(id(node))
            leads.update(map(id, node.args))
    wanted = {id(root) for root in roots if root.place is not None}
    number: dict[int, int] = {}
    words: list[str] = []
    nodes: list[int] = []
    reads: list[tuple[int, int]] = []
    homes: list[int] = []
    scalars: list[int] = []
    takers: list[int] = []
    count = 0
    for k, node in enumerate(order):
        is_compared = id(node) in leads and not alone[id(node)]
        operands: list[int | None] = []
        follows = False
        for slot, arg in enumerate(node.args):
            if type(arg) is not Node:
                if is_compared:
                    scalars.append(count)
                    takers.append(k)
                    operands.append(None)  # a - 1 is not 1 - a
                count += 1
            elif is_compared:
                if id(arg) not in number or alone[id(arg)]:
                    number[id(arg)] = len(reads) + len(nodes)
                    reads.append((k, slot))
                    words.append(f"leaf {_form_words(arg)}")
                operands.append(number[id(arg)])
                follows = follows or arg.place is not None
        if not is_compared:
            continue
        if node.place is not None and (not follows or node.op.is_collective):
            homes.append(k)
        params = list(map(_words, node.params))
        want = "wanted" if id(node) in wanted else ""
        words.append(f"{node.op.name} {node.name} {operands} {params} {_form_words(node)} {want}")
        number[id(node)] = len(reads) + len(nodes)
        nodes.append(k)
    structure = of_text(_ADDRESS.sub("", "\n".join(words)))
    divided = [k for k, leaf in enumerate(leaves) if leaf.place is not None]
    number_of = {id(leaf): k for k, leaf in enumerate(leaves) if leaf.place is None}
    read = [number_of.get(id(order[k].args[slot])) for k, slot in reads]
    replicated = [k for k in read if k is not None]
    ordinals = {k: place for place, k in enumerate(nodes)}
    return Outline(structure, nodes, reads, homes, ordinals, divided, replicated, scalars, takers)


def look_alike(roots: Sequence[Node]) -> bool:
    """True if some of these values may have equal fingerprints: all that have are found, with some that have not.

    One number for each node says how it is computed from values of the same form, so every node is visited once.
    """
    numbers: dict[int, int] = {}
    for node in in_order(roots, lambda node: True):
        views = [of_view(part) for part in node.params if type(part) is Geometry]
        operands = [numbers[id(arg)] if type(arg) is Node else 0 for arg in node.args]
        of_data = node.value is not None or node.place is None
        how = () if of_data else (node.op, node.name, *views, *operands)
        geometry = node.geometry
        numbers[id(node)] = hash((geometry.dtype, geometry.shape, node.place is None, how))
    return len({numbers[id(root)] for root in roots}) < len(roots)


def _form_words(node: Node) -> str:
    """Kind of a value without its extents: its dtype, the number of its axes, and its replication."""
    geometry = node.geometry
    return f"{dtype_words(geometry.dtype)} {len(geometry.shape)} {node.place is None}"


def _words(param: Any) -> str:
    """A parameter; of views and layouts, what is the same in all traces of an outline."""
    if type(param) is Place:
        return "distributed"
    if type(param) is Layout:
        return f"layout {of_layout(param)}"
    if type(param) is tuple:
        return f"({', '.join(map(_words, param))})"
    return dtype_words(param.dtype) if type(param) is Geometry else repr(param)


def computed(order: Sequence[Node]) -> tuple[tuple[str, Geometry, list[Geometry]], ...]:
    """Words for a trace: the operations with their results and the views of their bases, in order."""
    return tuple(
        [
            (
                node.op.label(node) if node.op.is_collective else node.name or node.op.name,
                node.geometry,
                [p for p in node.params if type(p) is Geometry],
            )
            for node in order
        ]
    )


dtype_words = remembered(str)
"""A dtype in words, which NumPy finds anew at each asking."""
