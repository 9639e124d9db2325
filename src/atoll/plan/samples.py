"""Traces without their data, from which plans are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import Any

from ..graph.geometry import Geometry, number_of
from ..graph.node import Node, Value
from ..graph.op import SOURCE
from ..ops.placement import Place, is_dense_share


@dataclass(frozen=True, slots=True)
class Sample:
    """The geometries and places in which traces of one structure may differ."""

    geometries: list[Geometry]
    places: list[Place | None]
    """Places of leaves, nodes and assigned regions; empty where nothing is distributed."""
    scattered: bool = False
    """True if some shares are no boxes; then ranks may change their coordinates, too."""

    def form(self) -> tuple[list[int], list[int], list[Any]]:
        """The features shared by all traces that one plan may serve: for each geometry and each place the index of the first equal
        one, and the forms of the places."""
        geometries = _leaders(map(number_of, self.geometries))
        if not self.places:
            return geometries, [], []
        homes = _leaders([-1 if place is None else place.number for place in self.places])
        kind = attrgetter("outline" if self.scattered else "form")
        forms: dict[Place | None, Any] = {None: None}
        forms.update((place, kind(place)) for place in {*self.places} if place is not None)
        return geometries, homes, list(map(forms.get, self.places))


def _leaders(numbers: Iterable[int]) -> list[int]:
    """For each number, the index of its first occurrence."""
    first: dict[int, int] = {}
    return list(map(first.setdefault, numbers, count()))


Twins = tuple[list[Node], list[Node], list[Node], dict[Node, Any]]
"""Leaves, nodes and roots of a trace, and the places of its assigned regions, by node."""


class Skeleton:
    """A trace without its data: the facts that the planner needs besides geometries and places."""

    def __init__(
        self, leaves: Sequence[Node], order: Sequence[Node], roots: Sequence[Node]
    ) -> None:
        number = {id(node): k for k, node in enumerate((*leaves, *order))}
        self.lies = [
            None
            if leaf.value is None or leaf.place is None or is_dense_share(leaf)
            else leaf.value.geometry
            for leaf in leaves
        ]
        """Geometry of this rank's share of each leaf in memory, where all traces of a structure have the same, else ``None``;
        shares that fill their memory may have other extents."""
        self.nodes = [
            (
                node.op,
                tuple(map(number.get, map(id, node.args))),
                node.params,
                node.name,
                node.site,
            )
            for node in order
        ]
        """For each node its operation, its operands by number (``None`` for a scalar), parameters, name and site."""
        self.roots = [number[id(root)] - len(leaves) for root in roots]

    def dressed(self, geometries: Sequence[Any], places: Sequence[Any]) -> Twins:
        """A trace with these geometries and places, in the order of ``planning.sample_of``."""
        nodes: dict[int | None, Any] = {None: None}
        count = len(self.lies)
        views = iter(geometries[count + len(self.nodes) :])
        homes = places or [None] * len(geometries)
        for k, lies in enumerate(self.lies):
            array: Any = None if lies is None else lies.shadow
            nodes[k] = Node(SOURCE, (), geometries[k], place=homes[k], value=Value(array, 0))
        for k, (op, args, params, name, site) in enumerate(self.nodes, count):
            operands = tuple(map(nodes.__getitem__, args))
            if Geometry in map(type, params):
                params = tuple([next(views) if type(part) is Geometry else part for part in params])
            nodes[k] = Node(op, operands, geometries[k], params, name, site, place=homes[k])
        del nodes[None]
        twins = list(nodes.values())
        leaves, order = twins[:count], twins[count:]
        regions: dict[Node, Any] = {}
        if places:
            assigned = [node for node in order if node.op.is_update]
            regions = dict(zip(assigned, places[len(twins) :], strict=True))
        return leaves, order, [order[root] for root in self.roots], regions
