"""The sets of receives, by class, that the computations of a graph wait for; see ``partition``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from .. import policy
from ..graph.node import Node
from ..lazy.deferred import Call
from .sets import EMPTY, Sets

Operands = Callable[[Node], Iterator[Node]]
"""Function that yields the operands of a node that have no value yet; holders and tags are resolved."""


class Waits:
    """The wait set of each node that depends on a receive; ``order`` has operands first."""

    __slots__ = ("_ends", "_operands", "_order", "of", "sets")

    def __init__(
        self,
        order: Sequence[Node],
        operands: Operands,
        receives: Sequence[Node],
        ends: Sequence[Node],
    ) -> None:
        self._operands = operands
        self.of: dict[int, int] = dict.fromkeys(map(id, receives), EMPTY)
        for node in order:
            if any(id(operand) in self.of for operand in operands(node)):
                self.of[id(node)] = EMPTY
        self._order = [node for node in order if id(node) in self.of]
        self._ends = dict.fromkeys(id(node) for node in ends if id(node) in self.of)
        classes = self._classes(receives)
        self.sets = sets = Sets(len(set(classes)))
        leaves = {
            id(node): sets.single(number) for node, number in zip(receives, classes, strict=True)
        }
        for node in self._order:
            here = leaves.get(id(node), EMPTY)
            for operand in operands(node):
                here = sets.union(here, self.of.get(id(operand), EMPTY))
            self.of[id(node)] = here
        self._join([node for node in self._order if id(node) not in leaves])

    def _classes(self, receives: Sequence[Node]) -> list[int]:
        """Number the classes of receives by first appearance; receives that feed the same ends are one class."""
        sets = Sets(len(self._ends))
        fed = dict.fromkeys(self.of, EMPTY)
        fed.update((end, sets.single(number)) for number, end in enumerate(self._ends))
        for node in reversed(self._order):
            here = fed[id(node)]
            for operand in self._operands(node):
                if id(operand) in fed:
                    fed[id(operand)] = sets.union(fed[id(operand)], here)
        numbers: dict[int, int] = {}
        return [numbers.setdefault(fed[id(node)], len(numbers)) for node in receives]

    def _join(self, computed: Sequence[Node]) -> None:
        """Merge small groups, which only later parts read, into the groups of their readers.

        The groups that wait for most come first, so that the readers of a group have their final sets.
        """
        groups: dict[int, list[Node]] = {}
        for node in computed:
            groups.setdefault(self.of[id(node)], []).append(node)
        readers: dict[int, int | None] = {}
        for group in sorted(groups, key=self.sets.count, reverse=True):
            self.of.update(self._joined(groups[group], readers))
            for node in groups[group]:
                for operand in self._operands(node):
                    self._read(readers, operand, self.of[id(node)])

    def _joined(self, nodes: Sequence[Node], readers: Mapping[int, int | None]) -> dict[int, int]:
        """The new sets of all nodes of a group; empty if one of them must stay, or if the group is large enough for a part."""
        if any(id(node) in self._ends or _is_call(node) for node in nodes):
            return {}
        if sum(node.geometry.size for node in nodes) > policy.limits.small:
            return {}
        least = {id(node): readers[id(node)] for node in nodes if id(node) in readers}
        joined: dict[int, int] = {}
        for node in reversed(nodes):
            reader = least[id(node)]
            if reader is None:
                return {}
            joined[id(node)] = reader
            for operand in self._operands(node):
                self._read(least, operand, reader)
        return joined

    def _read(self, readers: dict[int, int | None], operand: Node, reader: int) -> None:
        """Add a reader of an operand to ``readers``: its readers' least set, or ``None`` if no set is within all others."""
        known = readers.setdefault(id(operand), reader)
        if known is not None and not self.sets.includes(reader, known):
            readers[id(operand)] = reader if self.sets.includes(known, reader) else None


def _is_call(node: Node) -> bool:
    """True if a call of NumPy, of unknown duration, computes a node."""
    return node.op.is_deferred and isinstance(node.params[0], Call)
