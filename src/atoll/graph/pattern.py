"""Recognises traces that were evaluated before, without walking them.

A *pattern* is the result of one walk through a trace: how every node of it is reached from the roots. To compare
another trace with it, its nodes are fetched along the same steps, and three comparisons decide:

* their *marks*, numbers that stand for an operation with its geometries, and for a leaf, for how
  it lies (see :meth:`Node.marked`);
* that different steps lead to different nodes;
* that the steps which came to a node a second time, *crossings*, come to it again.

The marks and the call sites of the roots select the pattern to try.

A frequent pattern is compiled into a Python function, in which each step is a line (:meth:`Pattern._as_code`); this is
about three times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import policy
from ..context.caches import Memo
from ..context.interrupts import passed_on
from .node import Node

Match = tuple[list[Node], list[Any], tuple[bool, ...], list[Any]]
"""The nodes of a trace; the values of its leaves, and whether they are pinned; the numbers among the
operands. Both in the order of the walk."""


class Pattern:
    """One form of trace; ``known`` is for the caller's data about the form."""

    __slots__ = (
        "_count",
        "_crossings",
        "_marks",
        "_roots",
        "_scalars",
        "_steps",
        "compiled",
        "known",
        "leaves",
        "native",
        "order",
        "outline",
    )

    def __init__(
        self, roots: Sequence[Node], leaves: Sequence[Node], order: Sequence[Node]
    ) -> None:
        nodes = list(roots)
        self._roots = len(nodes)
        self._count = 0
        self.compiled: Callable[[Sequence[Node]], Match | None] | None = None
        """Does what :meth:`match` does, once it has been done often."""
        place = {node: k for k, node in enumerate(nodes)}
        steps: list[tuple[int, int]] = []
        crossings: list[tuple[int, int, int]] = []
        for k, node in enumerate(nodes):  # which grows
            for slot, arg in enumerate(node.args):
                if type(arg) is not Node:
                    continue
                if arg in place:
                    crossings.append((k, slot, place[arg]))
                else:
                    place[arg] = len(nodes)
                    nodes.append(arg)
                    steps.append((k, slot))
        self._steps = steps
        """For each node behind the roots: which node reads it, and as which operand."""
        self._crossings = crossings
        self._marks = [node.mark or node.marked() for node in nodes]
        self._scalars = [
            (place[node], slot)
            for node in order
            for slot, arg in enumerate(node.args)
            if type(arg) is not Node
        ]
        self.leaves = [place[leaf] for leaf in leaves]
        """The positions of the walk's leaves among the nodes of the pattern."""
        self.order = [place[node] for node in order]
        """The same of its pending nodes."""
        self.known: Memo[Any, Any] = Memo("fits")
        self.native: Any = None
        """What the native evaluation knows of it."""
        self.outline: Any = None
        """What ranks compare of such traces, once that was found out."""

    def taught(self, native: Any) -> tuple[Any, tuple[int, ...]] | None:
        """The pattern for the native evaluation, and how often each node is used in it; ``None`` if it is too large."""
        if len(self._marks) > policy.limits.native_nodes:
            return None
        uses = [0] * self._roots + [1] * len(self._steps)
        for _, _, known in self._crossings:
            uses[known] += 1
        if self.native is None:
            steps, crossings, scalars = [
                tuple([number for entry in entries for number in entry])
                for entries in (self._steps, self._crossings, self._scalars)
            ]
            marks, leaves = tuple(self._marks), tuple(self.leaves)
            self.native = native.trace(
                self._roots, steps, crossings, marks, leaves, self.order, scalars
            )
        return self.native, tuple(uses)

    def match(self, roots: Sequence[Node]) -> Match | None:
        """The nodes of a trace, if it is one of these, and what is in them."""
        if self.compiled is not None:
            return self.compiled(roots)
        self._count += 1
        if self._count == policy.limits.compiled_pattern:
            self.compiled = self._as_code()
        nodes = self._nodes(roots)
        if nodes is None:
            return None
        values: list[Any] = [nodes[place].value for place in self.leaves]
        pinned = tuple([value.pinned for value in values])
        return nodes, values, pinned, [nodes[reader].args[slot] for reader, slot in self._scalars]

    def _nodes(self, roots: Sequence[Node]) -> list[Node] | None:
        nodes = list(roots)
        append = nodes.append
        try:
            for reader, slot in self._steps:
                append(nodes[reader].args[slot])
            if [node.mark or node.marked() for node in nodes] != self._marks:
                return None
            for reader, slot, known in self._crossings:
                if nodes[reader].args[slot] is not nodes[known]:
                    return None
        except (
            AttributeError,
            IndexError,
        ) as problem:  # a number, or a leaf, stands where a node was
            passed_on(problem)
            return None
        return nodes if len(set(nodes)) == len(nodes) else None

    def _as_code(self) -> Callable[[Sequence[Node]], Match | None]:
        """:meth:`match` as code without loops.

        A node can only be another one again if both have the same mark, so few have to be told apart.
        """
        marks, roots, crossings = self._marks, self._roots, self._crossings
        names = [f"n{k}" for k in range(len(marks))]
        readers = {step[0] for step in (*self._steps, *crossings, *self._scalars)}
        lines = ["def match(roots):", " try:", f"  {', '.join(names[:roots])}, = roots"]
        for k, mark in enumerate(marks):
            if k >= roots:
                reader, slot = self._steps[k - roots]
                lines.append(f"  n{k} = a{reader}[{slot}]")
            lines.append(f"  if (n{k}.mark or n{k}.marked()) != {mark}: return None")
            if k in readers:
                lines.append(f"  a{k} = n{k}.args")
        for reader, slot, k in crossings:
            lines.append(f"  if a{reader}[{slot}] is not n{k}: return None")
        alike: dict[int, list[str]] = {}
        for name, mark in zip(names, marks, strict=True):
            alike.setdefault(mark, []).append(name)
        for group in alike.values():
            if len(group) == 2:
                lines.append(f"  if {group[0]} is {group[1]}: return None")
            elif len(group) > 2:
                lines.append(f"  if len({{{', '.join(group)}}}) < {len(group)}: return None")
        lines.append(" except (AttributeError, IndexError): return None")
        lines += [f" v{k} = n{k}.value" for k in self.leaves]
        pinned = "".join([f"v{k}.pinned, " for k in self.leaves])
        values = ", ".join([f"v{k}" for k in self.leaves])
        scalars = ", ".join([f"a{reader}[{slot}]" for reader, slot in self._scalars])
        lines.append(f" return [{', '.join(names)}], [{values}], ({pinned}), [{scalars}]")
        space: dict[str, Any] = {}
        exec("\n".join(lines), space)
        match: Callable[[Sequence[Node]], Match | None] = space["match"]
        return match


class Patterns:
    """Patterns by what their roots look like; a few of each kind."""

    __slots__ = ("by_roots",)
    _TRIED = 4

    def __init__(self) -> None:
        self.by_roots: Memo[Any, list[Pattern]] = Memo("plans")

    def clear(self) -> None:
        """Forget all."""
        self.by_roots.clear()

    def find(self, roots: Sequence[Node]) -> tuple[Pattern, Match] | None:
        """The pattern of a trace, and how the trace matches it."""
        if len(roots) == 1:
            root = roots[0]
            mark, site = root.mark or root.marked(), root.site
            candidates = self.by_roots.get(mark if site is None else (mark, id(site[0]), site[1]))
        else:
            candidates = self.by_roots.get(_looks(roots))
        if candidates is not None:
            for pattern in candidates:
                match = (pattern.compiled or pattern.match)(roots)
                if match is not None:
                    if pattern is not candidates[0]:  # the one to try first next time
                        candidates.remove(pattern)
                        candidates.insert(0, pattern)
                    return pattern, match
        return None

    def add(
        self, roots: Sequence[Node], leaves: Sequence[Node], order: Sequence[Node]
    ) -> Pattern | None:
        """Remember a trace that was walked; ``None`` where a root stands twice."""
        if len(set(roots)) < len(roots):
            return None
        candidates = self.by_roots.only(_looks(roots), [])
        pattern = Pattern(roots, leaves, order)
        candidates.insert(0, pattern)
        del candidates[self._TRIED :]
        return pattern


def _looks(roots: Sequence[Node]) -> Any:
    """The key that selects patterns. (It may be anything, because a pattern checks by itself whether it fits.)"""
    looks = []
    for root in roots:
        mark, site = root.mark or root.marked(), root.site
        looks.append(mark if site is None else (mark, id(site[0]), site[1]))
    return looks[0] if len(looks) == 1 else tuple(looks)
