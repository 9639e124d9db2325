"""The steps of a program during planning, and their common state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..exchange.ghosts import GhostRegion, Ghosts, exchange_under_maps, plan_exchange
from ..exchange.schedule import Exchange
from ..execute.allocation import Release
from ..execute.exchange import FinishExchange, StartExchange
from ..execute.parts import Step
from ..graph.node import Node
from ..layout import Range, Region
from .body import Needs
from .choices import Trace
from .registers import Registers

Use = tuple[Step, set[int]]
"""A step, and the registers that it uses."""


class Steps:
    """Collects the steps of one program."""

    def __init__(self, trace: Trace, leaves: list[Node]) -> None:
        self.trace = trace
        self.leaves = leaves
        self.number = {id(node): k for k, node in enumerate(trace.order)}
        placed = [node.place for node in [*leaves, *trace.order] if node.place is not None]
        self.world = placed[0].world if placed else None
        rank = 0 if self.world is None else self.world.rank
        self.registers = Registers({}, {}, trace.scalar_of, rank, trace.debug)
        for leaf in leaves:
            self.registers.add(leaf)
        self.make_exchange: Any = Exchange
        self.exchange_under_maps: Any = exchange_under_maps
        """The functions that make exchanges."""
        self.steps: list[list[Use]] = []
        """The steps of each group."""
        self.ghosts: dict[int, GhostRegion] = {}
        """The ghost regions of this rank, by their registers."""

    def _add(self, step: Step, uses: set[int]) -> None:
        self.steps[-1].append((step, uses))

    def _begin(self, exchange: Exchange, uses: set[int]) -> Use:
        """Begin an exchange of these registers, and return the step that finishes it."""
        self._add(StartExchange(exchange), uses)
        return FinishExchange(exchange), uses

    def _begin_under_maps(self, needs: Needs, place: Any) -> Use:
        """Begin the exchange of loops over local indices of ``place``; all ranks have the same steps."""
        assert self.world is not None
        ghosts, geometries = needs.ghosts, self.registers.geometry
        self.ghosts.update({ghost.register: ghost for ghost in ghosts})
        mine = [] if needs.absent else [ghost.register for ghost in ghosts]
        allocate = [(register, geometries[register]) for register in mine]
        exchange = self.exchange_under_maps(ghosts, place, self.world.communicator, allocate)
        return self._begin(exchange, {*mine, *[ghost.source for ghost in ghosts]})

    def _filled(self, ghosts_of: Ghosts, readers: Iterable[int]) -> Exchange | None:
        """Fill ghost regions at once, and return the exchange, if this rank has one."""
        assert self.world is not None
        registers = self.registers
        own = [ghost for _, ghost in ghosts_of(registers.rank)]
        self.ghosts.update({ghost.register: ghost for ghost in own})
        exchange = plan_exchange(ghosts_of, readers, self.world.communicator, registers.geometry)
        if exchange is not None:
            self._add(*self._begin(exchange, exchange.uses()))
        return exchange

    def _gathered(self, node: Node) -> int:
        """A register with the whole of a placed node, on every rank."""
        if node.place is None:
            return self.registers.of[id(node)]
        assert self.world is not None
        whole = tuple([Range(0, n) for n in node.geometry.shape])
        ghost = self._ghost(node, self.registers.extra(node.geometry), whole)
        exchange = self._filled(lambda rank: [(0, ghost)], range(self.world.size))
        if exchange is not None:
            exchange.gathered = node.geometry.size * node.geometry.dtype.itemsize
        return ghost.register

    def _ghost(self, node: Node, register: int, region: Region) -> GhostRegion:
        """A ghost region of a node."""
        source, dtype = self.registers.of[id(node)], node.geometry.dtype
        return GhostRegion(register, source, node.place, dtype, region)

    def _with_releases(self, outputs: tuple[int, ...]) -> list[Step]:
        last: dict[int, int] = {}
        planned = [use for group in self.steps for use in group]
        for k, (_, uses) in enumerate(planned):
            last.update(dict.fromkeys(uses, k))
        dying: dict[int, list[int]] = {}
        for register, k in last.items():
            if register not in outputs:
                dying.setdefault(k, []).append(register)
        steps: list[Step] = []
        for k, (step, _) in enumerate(planned):
            steps.append(step)
            if k in dying and k + 1 < len(planned):
                steps.append(Release(tuple(sorted(dying[k]))))
        return steps
