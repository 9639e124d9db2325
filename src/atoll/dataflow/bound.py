"""A trace between inputs without values and roots, which can be computed repeatedly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..backend.flags import report
from ..context import statistics
from ..context.caches import Memo
from ..execute.parts import State
from ..execute.program import Program
from ..graph.node import Node, Value
from ..lazy import unplanned
from ..lazy.evaluate import bound_program


class Bound:
    """The values of some nodes as a function of arrays that are passed at each call.

    ``inputs`` are leaves without values. The program is that of the trace between them and the roots; no node takes its
    value, so the same trace can be computed repeatedly. The arguments are never written to. The strides of an array are
    part of the program's key.
    """

    __slots__ = ("inputs", "programs", "roots")

    def __init__(self, roots: Sequence[Node], inputs: Sequence[Node]) -> None:
        self.roots = list(dict.fromkeys(roots))
        self.inputs = list(inputs)
        self.programs: Memo[Any, tuple[Program, list[Any], list[int], list[Any]]] = Memo("fits")

    def run(self, given: Sequence[Value]) -> list[Value]:
        """The value of each root."""
        form = tuple([value.array.strides for value in given])
        made = self.programs.get(form)
        if made is None:
            made = statistics.attempted(lambda: self._make(given))
            if made is None:
                return self._unplanned(given)
            self.programs[form] = made
        program, sources, places, scalars = made
        values: list[Value | None] = [
            given[source] if type(source) is int else source for source in sources
        ]
        results, flags = program.run(State(values, scalars))
        for bits, step in flags:
            report(bits, step)
        return [results[place] for place in places]

    def _unplanned(self, given: Sequence[Value]) -> list[Value]:
        """The value of each root, operation by operation, where there is no program."""
        with self._given(given):
            return unplanned.values(self.roots, *unplanned.in_order(self.roots))

    @contextmanager
    def _given(self, given: Sequence[Value]) -> Iterator[None]:
        """The inputs have values for a while."""
        for node, value in zip(self.inputs, given, strict=True):
            node.value = Value(value.array, value.address, pinned=True)
        try:
            yield
        finally:
            for node in self.inputs:
                node.value = None

    def _make(self, given: Sequence[Value]) -> tuple[Program, list[Any], list[int], list[Any]]:
        """The program for inputs with these strides, and the sources of its leaves."""
        number = {id(node): k for k, node in enumerate(self.inputs)}
        with self._given(given):
            program, found = bound_program(self.roots)
        sources = [number.get(id(leaf), leaf.value) for leaf in found.leaves]
        position = {id(found.order[kept]): place for place, kept in enumerate(program.kept)}
        return program, sources, [position[id(root)] for root in self.roots], found.scalars
