"""The steps of a program during planning, and their common state."""

from __future__ import annotations

from typing import Any

from ..execute.exchange import CopyInside, FinishExchange, StartExchange
from ..execute.parts import Step
from ..execute.program import Allocate, Release
from ..graph.node import Node
from ..layout import Range
from .body import Patch, Registers
from .exchange import plan_exchange
from .launches import Launch
from .statements import Trace


class Steps:
    """Collects the steps of one program."""

    def __init__(self, trace: Trace, leaves: list[Node]) -> None:
        self.trace = trace
        self.leaves = leaves
        self.number = {id(node): k for k, node in enumerate(trace.order)}
        self.world = next(
            (n.place.world for n in [*leaves, *trace.order] if n.place is not None), None
        )
        self.registers = Registers(
            {}, trace.scalar_of, 0 if self.world is None else self.world.rank
        )
        for leaf in leaves:
            self.registers.add(leaf)
        self.start_exchange: Any = StartExchange
        """Makes the steps that begin exchanges."""
        self.steps: list[tuple[Step, set[int]]] = []
        self.launches: list[list[Launch]] = []
        self.patches: dict[int, tuple[int, Patch]] = {}
        """For the register of each ghost region, the register that it shows a region of."""

    def _add(self, step: Step, uses: set[int]) -> None:
        self.steps.append((step, uses))

    def _begin(self, start: StartExchange) -> None:
        """Begin an exchange."""
        self._add(start, start.uses())
        if start.inside:
            self._add(CopyInside(start), start.uses())

    def _note(self, patches: list[Patch]) -> None:
        for patch in patches:
            self.patches[patch.register] = (self.registers.of[id(patch.node)], patch)

    def _gathered(self, node: Node) -> int:
        """A register with the whole of a placed node, on every rank."""
        if node.place is None:
            return self.registers.of[id(node)]
        assert self.world is not None
        registers = self.registers
        whole = tuple([Range(0, n) for n in node.geometry.shape])
        patch = Patch(registers.extra(node.geometry), node, whole)
        self._note([patch])
        everyone = range(self.world.size)
        start = plan_exchange(lambda rank: [(0, patch)], registers, self.world, everyone)
        if start is None:
            self._add(Allocate(patch.register, node.geometry), {patch.register})
        else:
            start.gathered = node.geometry.shadow.nbytes
            self._begin(start)
            self._add(FinishExchange(start), start.uses())
        return patch.register

    def _with_releases(self, outputs: tuple[int, ...]) -> list[Step]:
        last: dict[int, int] = {}
        for k, (_, uses) in enumerate(self.steps):
            for register in uses:
                last[register] = k
        dying: dict[int, list[int]] = {}
        for register, k in last.items():
            if register not in outputs:
                dying.setdefault(k, []).append(register)
        steps: list[Step] = []
        for k, (step, _) in enumerate(self.steps):
            steps.append(step)
            if k in dying and k + 1 < len(self.steps):
                steps.append(Release(tuple(sorted(dying[k]))))
        return steps
