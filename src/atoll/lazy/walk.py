"""The walk through a trace: its key, its leaves, scalars and pending nodes, and how often each is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from ..execute.program import Program
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..ops.placement import Place, is_dense_share


class Lookup(NamedTuple):
    """A trace: its key, the program made for it before, and the inputs of that program."""

    key: tuple[Any, ...]
    structure: int
    """Length of the key's structure; the rest are numbers of geometries."""
    program: Program | None
    leaves: list[Node]
    scalars: list[Any]
    order: list[Node]
    alive_leaves: tuple[bool, ...]
    alive_nodes: tuple[bool, ...]


class Walk:
    """A trace in order: its key, its leaves, scalars and pending nodes, and how often each is used."""

    __slots__ = ("key", "leaf_uses", "leaves", "node_uses", "order", "scalars", "wanted")

    def __init__(self, roots: Sequence[Node]) -> None:
        self.key: list[Any] = []
        self.leaves: list[Node] = []
        self.scalars: list[Any] = []
        self.order: list[Node] = []
        self.leaf_uses: list[int] = []
        self.node_uses: list[int] = []
        key, leaves, order = self.key, self.leaves, self.order
        leaf_uses, node_uses = self.leaf_uses, self.node_uses
        append = key.append
        number: dict[Node, int] = {}  # of a leaf: less than nothing
        seen = number.get
        stack: list[tuple[Node, Iterator[Any]]] = []
        for root in roots:
            if root in number:
                continue
            node = root
            rest = iter(node.args)
            while True:
                for arg in rest:
                    if type(arg) is Node:
                        known = seen(arg)
                        if known is None:
                            if arg.value is None:
                                stack.append((node, rest))
                                node = arg
                                rest = iter(arg.args)
                                break
                            leaves.append(arg)
                            leaf_uses.append(1)
                            number[arg] = -len(leaves)
                            home = arg.place
                            append(arg.geometry.form if home is None else _lying(arg))
                        elif known < 0:
                            leaf_uses[-1 - known] += 1
                        else:
                            node_uses[known] += 1
                else:
                    code = node.code
                    append(node.identify() if code is None else code)
                    for arg in node.args:
                        if type(arg) is Node:
                            append(number[arg])
                        else:
                            append(None)  # a - 1 is not 1 - a
                            self.scalars.append(arg)
                    number[node] = len(order)
                    order.append(node)
                    if not stack:
                        node_uses.append(0)
                        break
                    node_uses.append(1)
                    node, rest = stack.pop()
        self.wanted = [number[root] for root in roots] if len(roots) > 1 else None

    def add_numbers(self) -> None:
        """Add the numbers of the geometries to the key, so that it distinguishes geometries."""
        key, order = self.key, self.order
        key += map(_geometry_number_of, self.leaves)
        key += [leaf.place.number for leaf in self.leaves if leaf.place is not None]
        key += map(_geometry_number_of, order)
        key += [part.number for node in order for part in node.params if type(part) in _NUMBERED]


_geometry_number_of = attrgetter("geometry.number")
_NUMBERED = frozenset({Geometry, Place})
"""The parameters of nodes whose forms leave bounds out."""


def _lying(leaf: Node) -> tuple[Any, ...]:
    """Placement of a leaf on ranks, without the bounds of its blocks if each fills its memory."""
    home = leaf.place
    array = leaf.value.array  # type: ignore[union-attr]
    if is_dense_share(leaf):
        return leaf.geometry.form, home.form
    return leaf.geometry.form, home.number, array.strides
