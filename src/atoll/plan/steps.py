"""The steps of a program during planning: their common state, exchanges, and the steps that NumPy executes, on whole arrays or on the
share of each rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .. import backend
from ..collective.operation import Call
from ..collective.steps import CountLocally, RunCollective, is_readable
from ..exchange.ghosts import GhostRegion, Ghosts, exchange_under_maps, plan_exchange
from ..exchange.readers import shape_under
from ..exchange.schedule import Exchange
from ..exchange.shares import region_of_rank
from ..execute.allocation import Copy, Release, Share
from ..execute.exchange import AssignedPart, AssignLocally, FinishExchange, Localise, StartExchange
from ..execute.parts import Step
from ..execute.program import ByNumpy
from ..graph.geometry import dense
from ..graph.node import Node
from ..layout import Range, Region
from ..ops.folds import has_rows
from ..ops.maps import broadcast_map, identity
from ..ops.placement import goes_across
from .body import Needs, Shares
from .registers import Registers
from .trace import Trace

Use = tuple[Step, set[int]]
"""A step, and the registers that it uses."""


def function_of(node: Node) -> Callable[..., Any]:
    """The function of arrays and scalars that computes a node."""
    return backend.current().selected if node.op.selects else node.op.numpy(node)


class EmptyShare(NamedTuple):
    """The function that computes the share of a rank that has no elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __call__(self, *operands: Any) -> np.ndarray[Any, Any]:
        return np.empty(self.shape, self.dtype)


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

    # Steps without compiled loops

    def _by_numpy(self, node: Node) -> None:
        registers = self.registers
        across = node.op.is_view and node.args[0].place is not None and goes_across(node)
        if (across and is_readable(node.params[0])) or (node.op.selects and node.place is not None):
            self._collective(node, False)
            return
        if node.op.from_index and node.place is not None:
            self._count_locally(node)
            return
        function = function_of(node)
        if node.place is not None and node.op.elementwise:
            self._by_numpy_on_shares(node, function)
            return
        if node.op.folds and node.place is not None:
            home, axes = node.args[0].place, node.params[0]
            if has_rows(home.layout, axes) and not home.padded:
                self._fold_by_numpy(node, function)
                return
        arguments = []
        uses = set()
        for place, arg in enumerate(node.args):
            if type(arg) is Node:
                source = self._gathered(arg)
                arguments.append((True, source))
                uses.add(source)
            else:
                arguments.append((False, registers.scalar_of[id(node), place]))
        register = registers.of[id(node)]
        number = self.number.get(id(node), -1)
        step = ByNumpy(register, function, tuple(arguments), node.geometry, number)
        self._add(step, {register} | uses)
        if node.place is not None:
            self._add(Localise(register, node.place, registers.geometry[register]), {register})

    def _by_numpy_on_shares(self, node: Node, function: Any) -> None:
        """An elementwise operation on this rank's share of each operand."""
        registers, shape = self.registers, node.geometry.shape
        counts = node.place.layout.local_shape(registers.rank)
        absent = node.place.layout.coordinates(registers.rank) is None or 0 in counts
        sets = region_of_rank(node.place, registers.rank)
        needs = Needs(registers, Shares(registers.rank), local=True)
        arguments: list[tuple[bool, int]] = []
        uses = {registers.of[id(node)]}
        for place, arg in enumerate(node.args):
            if type(arg) is not Node:
                arguments.append((False, registers.scalar_of[id(node), place]))
                continue
            register = registers.of[id(arg)]
            own = arg.place is node.place and arg.geometry.shape == shape
            if not own or registers.padding[register]:
                outer = broadcast_map(arg, shape, identity(shape))
                extents = (0,) * arg.geometry.ndim if absent else shape_under(outer, counts)
                register = needs.under(arg, outer, extents, sets).register
            arguments.append((True, register))
            uses.add(register)
        if needs.ghosts:
            self._add(*self._begin_under_maps(needs, node.place))
        if absent:
            # this rank received no elements of the operands, and operands of one element could not be broadcast
            function = EmptyShare(counts, node.geometry.dtype)
        register = registers.of[id(node)]
        number = self.number.get(id(node), -1)
        step = ByNumpy(register, function, tuple(arguments), registers.geometry[register], number)
        self._add(step, uses)

    def _fold_by_numpy(self, node: Node, function: Any) -> None:
        """A fold of rows that this rank has whole."""
        registers, number = self.registers, self.number.get(id(node), -1)
        register, source = registers.of[id(node)], registers.of[id(node.args[0])]
        geometry = registers.geometry[register]
        if 0 in registers.geometry[source].shape:
            function = EmptyShare(geometry.shape, geometry.dtype)
        step = ByNumpy(register, function, ((True, source),), geometry, number)
        self._add(step, {register, source})

    def _collective(self, node: Node, copies_base: bool) -> None:
        """Add a step that all ranks run together on their sections; an operand that it writes into is shared or copied first."""
        registers = self.registers
        sources = tuple([registers.of[id(arg)] for arg in node.args])
        register, number = registers.of[id(node)], self.number.get(id(node), -1)
        if node.op.writes:
            base, *others = sources
            geometry = registers.geometry[register] = registers.geometry[base]
            registers.padding[register] = registers.padding[base]
            self._add(
                Copy(register, base, geometry) if copies_base else Share(register, base),
                {register, base},
            )
            sources = (register, *others)
        step = RunCollective(register, Call(node), sources, registers.geometry[register], number)
        self._add(step, {register, *sources})

    def _count_locally(self, node: Node) -> None:
        registers = self.registers
        register, (axis,) = registers.of[id(node)], node.params
        numbers = (registers.scalar_of[id(node), 0], registers.scalar_of[id(node), 1])
        indices = node.place.layout.region(registers.rank)[axis].array()
        geometry = registers.geometry[register]
        self._add(CountLocally(register, indices, axis, numbers, geometry), {register})

    def _assign_locally(self, node: Node) -> None:
        """An update where the shares are no intervals: each rank assigns to its own part of the region."""
        registers = self.registers
        base, value = node.args[0], node.args[1]
        register = registers.of[id(node)]
        uses = {register, registers.of[id(base)]}
        self._add(Copy(register, registers.of[id(base)], registers.geometry[register]), uses)
        part = AssignedPart(node.place, node.params[0], registers.rank)
        source, number, cut = None, None, False
        if type(value) is not Node:
            number = registers.scalar_of[id(node), 1]
        elif value.place is None:
            source = registers.of[id(value)]
        else:
            source, cut = self._wanted_of(value, node, part), True
        step = AssignLocally(register, part, source, number, cut=cut)
        self._add(step, {register} | ({source} if source is not None else set()))

    def _wanted_of(self, value: Node, node: Node, part: AssignedPart) -> int:
        """A register for the elements of a value that this rank needs for its part of an assigned region."""
        assert self.world is not None
        registers, shape = self.registers, value.geometry.shape
        region = part.wanted(shape)
        register = registers.extra(dense(tuple(map(len, region)), value.geometry.dtype))

        def ghosts_of(rank: int) -> list[tuple[int, GhostRegion]]:
            theirs = (
                part if rank == registers.rank else AssignedPart(node.place, node.params[0], rank)
            )
            return [(0, self._ghost(value, register, theirs.wanted(shape)))]

        self._filled(ghosts_of, range(self.world.size))
        return register
