"""Steps that NumPy executes: on whole arrays, or on the share of each rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import backend
from ..collective.operation import Call
from ..collective.steps import CountLocally, RunCollective, is_readable
from ..exchange.ghosts import GhostRegion
from ..exchange.readers import shape_under
from ..exchange.shares import region_of_rank
from ..execute.allocation import Copy, Share
from ..execute.exchange import AssignedPart, AssignLocally, Localise
from ..execute.program import ByNumpy
from ..graph.geometry import dense
from ..graph.node import Node
from ..ops.maps import broadcast_map, identity
from ..ops.placement import goes_across
from .body import Needs
from .steps import Steps


def function_of(node: Node) -> Callable[..., Any]:
    """The function of arrays and scalars that computes a node."""
    return backend.current().selected if node.op.selects else node.op.numpy(node)


class Nothing(NamedTuple):
    """The function that computes the share of a rank that has no elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __call__(self, *operands: Any) -> np.ndarray[Any, Any]:
        return np.empty(self.shape, self.dtype)


class StepsByNumpy(Steps):
    """Adds the steps that need no compiled loops."""

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
        needs = Needs(registers, local=True)
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
            function = Nothing(counts, node.geometry.dtype)
        register = registers.of[id(node)]
        number = self.number.get(id(node), -1)
        step = ByNumpy(register, function, tuple(arguments), registers.geometry[register], number)
        self._add(step, uses)

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
