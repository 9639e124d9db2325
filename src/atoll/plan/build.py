"""Make the program of a trace: statements, groups, buffers, launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..comm.world import World
from ..graph.geometry import dense
from ..graph.node import Node, Operation, Site
from ..graph.words import label
from ..layout import IndexSet, Layout, Range
from ..ops.placement import Place, goes_across
from ..ops.reduction import reduced_shape
from ..run.across import CountLocally, FoldAcross, ReadAcross, is_readable
from ..run.collective import fold_plan
from ..run.exchange import (
    AcrossRanks,
    AssignedPart,
    AssignLocally,
    CopyInside,
    FinishExchange,
    Localise,
    PositionAcrossRanks,
    StartExchange,
    scheduled,
)
from ..run.parts import Step
from ..run.program import (
    Allocate,
    ByNumpy,
    Combine,
    CombinePositions,
    Copy,
    Program,
    Release,
    Share,
)
from .body import Patch, Registers, intervals_of
from .description import Description, GroupNote, describe_group, describe_registers
from .exchange import plan_exchange
from .groups import Group, make_groups
from .lower import Launch, bodies_of, launches_of
from .numpy_nodes import numpy_function
from .readers import readers_of, who_reads
from .statements import Statement, Trace, broadcast_map, identity, make_statements

_IDENTITIES: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "add": lambda d: d.type(0),
    "multiply": lambda d: d.type(1),
    "logical_and": lambda d: np.True_,
    "logical_or": lambda d: np.False_,
    "bitwise_and": lambda d: d.type(-1) if d.kind == "i" else ~d.type(0),
    "bitwise_or": lambda d: d.type(0),
    "bitwise_xor": lambda d: d.type(0),
    "minimum": lambda d: _extreme(d, largest=True),
    "maximum": lambda d: _extreme(d, largest=False),
    "fmin": lambda d: d.type(np.nan) if d.kind in "fc" else _extreme(d, largest=True),
    "fmax": lambda d: d.type(np.nan) if d.kind in "fc" else _extreme(d, largest=False),
}


def _site_of(node: Node) -> Site | None:
    """Where the program recorded a node, or what it is made of."""
    level: list[Any] = [node]
    for _ in range(4):
        for one in level:
            if one.site is not None:
                return one.site  # type: ignore[no-any-return]
        level = [arg for one in level for arg in one.args if type(arg) is Node]
    return None


def _extreme(dtype: np.dtype[Any], *, largest: bool) -> Any:
    if dtype.kind == "b":
        return dtype.type(largest)
    if dtype.kind == "f":
        return dtype.type(np.inf if largest else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if largest else limits.min)


class LaunchMaker(Protocol):
    """Turns a launch into a step; ``parts`` say for each full reduction which step folds its
    partial results, and the number of the first one that the launch writes."""

    def __call__(self, launch: Launch, parts: list[tuple[Combine, int]]) -> Step:
        """The step."""


class Planner:
    """Collects the steps of one program."""

    def __init__(self, trace: Trace, leaves: list[Node], make: LaunchMaker) -> None:
        self.trace = trace
        self.leaves = leaves
        self.make = make
        self.number = {id(node): k for k, node in enumerate(trace.order)}
        self.world = next(
            (n.place.world for n in [*leaves, *trace.order] if n.place is not None), None
        )
        self.registers = Registers(
            {}, trace.scalar_of, 0 if self.world is None else self.world.rank
        )
        for leaf in leaves:
            self.registers.add(leaf)
        self.steps: list[tuple[Step, set[int]]] = []
        self.available: set[int] = set()
        self.groups: list[Group] = []
        self.launches: list[list[Launch]] = []
        self.patches: dict[int, tuple[int, tuple[IndexSet, ...]]] = {}
        """For the register of each patch, the register and the region that it shows."""

    def plan(self, fusion: bool, describe: bool = True) -> Program:
        """The finished program. It keeps what was wanted, and what it stores and others still see."""
        number = self.number
        alive = self.trace.alive
        statements = make_statements(self.trace)
        self.groups = groups = make_groups(statements, fusion)
        for statement in statements:
            self.registers.add(statement.node)
        last_use = self._last_uses(groups)
        notes: list[GroupNote] = []
        stored: list[tuple[Step, int, int]] = []
        for place, group in enumerate(groups):
            first = len(self.steps)
            self._group(place, group, groups, last_use)
            stored += [
                (self.steps[-1][0], number[id(s.node)], self.registers.of[id(s.node)])
                for s in group.statements
                if id(s.node) in number and len(self.steps) > first
            ]
            self.available.update(id(s.node) for s in group.statements)
            if not describe:
                continue
            steps = [step for step, _ in self.steps[first:]]
            notes.append(describe_group(group, self.registers, steps))
        kept = [
            s.node for s in statements if id(s.node) in self.trace.alive and id(s.node) in number
        ]
        outputs = tuple([self.registers.of[id(node)] for node in kept])
        steps = self._with_releases(outputs)
        places = tuple([number[id(node)] for node in kept])
        return Program(
            len(self.leaves),
            len(self.registers.geometry),
            steps,
            outputs,
            places,
            self._description(notes, alive, {id(s.node) for s in statements}, len(number))
            if describe
            else None,
            tuple(stored),
            None if self.world is None else scheduled(self.world.communicator, steps),
        )

    def _description(
        self, notes: list[GroupNote], alive: frozenset[int], stored: set[int], operations: int
    ) -> Description:
        left = [n for n in self.trace.order if id(n) in alive and id(n) not in stored]
        return Description(
            describe_registers(self.registers, len(self.leaves), alive, self.patches),
            tuple(notes),
            operations,
            tuple([Operation(label(n), n.site) for n in left]),
            self.registers.rank,
            1 if self.world is None else self.world.size,
        )

    def _last_uses(self, groups: list[Group]) -> dict[int, int]:
        last: dict[int, int] = {}
        for place, group in enumerate(groups):
            for statement in group.statements:
                for source in statement.reads:
                    last[source] = place
        return last

    def _add(self, step: Step, uses: set[int]) -> None:
        self.steps.append((step, uses))

    def _begin(self, start: StartExchange) -> None:
        """Begin an exchange."""
        self._add(start, start.uses())
        if start.inside:
            self._add(CopyInside(start), start.uses())

    def _group(
        self, place: int, group: Group, groups: list[Group], last_use: dict[int, int]
    ) -> None:
        registers = self.registers
        first = group.statements[0]
        if first.style == "numpy":
            self._by_numpy(first.node)
            return
        if first.style == "local":
            self._assign_locally(first.node)
            return
        reusable = self._reusable(place, group, last_use)
        across = self._partials(group)
        scratch: dict[int, int] = {}
        full = {
            registers.of[id(s.node)]: s.node
            for s in group.statements
            if s.style == "fold" and len(s.node.params[0]) == len(group.domain)
        }
        for statement in group.statements:
            node = statement.node
            if node.kind == "arg" and registers.of[id(node)] not in full:
                form = dense(node.geometry.shape, node.args[0].geometry.dtype)
                registers.extremes[id(node)] = registers.extra(form)
        bodies, needs = bodies_of(group, registers, self.available, reusable, registers.rank)
        finish = self._exchange(needs.patches, group, reusable)
        for statement in group.statements:
            register = registers.of[id(statement.node)]
            if register in full:
                continue
            if statement.style == "place":
                base = registers.of[id(statement.node.args[0])]
                if statement.copies_base:
                    copy = Copy(
                        register, base, registers.geometry[register], _site_of(statement.node)
                    )
                    self._add(copy, {register, base})
                    registers.padding[register] = 0
                else:
                    self._add(Share(register, base), {register, base})
                    registers.padding[register] = registers.padding[base]
                    registers.geometry[register] = registers.geometry[base]
            elif register in reusable:
                self._add(Share(register, reusable[register]), {register, reusable[register]})
            else:
                initial = None
                if statement.node.kind == "arg":
                    initial = self._extremes(statement.node)
                elif statement.style == "fold":
                    initial = _IDENTITIES[statement.node.name](statement.node.geometry.dtype)
                site = _site_of(statement.node)
                allocate = Allocate(register, registers.geometry[register], initial, site)
                self._add(allocate, {register})
        patched = {patch.register for patch in needs.patches}
        early = [body for body in bodies if not any(m.register in patched for m in body.memories)]
        late = [body for body in bodies if body not in early]
        launches = [
            launch for body in early for launch in launches_of(body, group, registers, scratch)
        ]
        count = len(launches)
        launches += [
            launch for body in late for launch in launches_of(body, group, registers, scratch)
        ]
        combines: dict[int, Combine] = {}
        for register, node in full.items():
            number = scratch.get(register, 0)
            if node.kind == "arg":
                dtype = node.args[0].geometry.dtype
                combines[register] = CombinePositions(
                    register, node.name, number, dtype, node.geometry
                )
            else:
                dtype = node.geometry.dtype
                identity = _IDENTITIES[node.name](dtype)
                combines[register] = Combine(
                    register, getattr(np, node.name), number, dtype, node.geometry, identity
                )
        for k, launch in enumerate(launches):
            if k == count and finish is not None:
                self._add(*finish)
                finish = None
            parts = [(combines[register], start) for register, start in launch.partials]
            self._add(self.make(launch, parts), {m.register for m in launch.memories})
        if finish is not None:
            self._add(*finish)
        for register, combine in combines.items():
            self._add(combine, {register})
        if group.place is not None:
            self._across_ranks(group, group.place, across)
        self.launches.append(launches)

    def _extremes(self, node: Node) -> Any:
        """Memory for the extreme elements themselves, of which only the positions are wanted.

        No element is worse than what it begins with, and no position later than what is returned.
        """
        register = self.registers.extremes[id(node)]
        dtype = node.args[0].geometry.dtype
        initial = _extreme(dtype, largest=node.name == "argmin")
        self._add(Allocate(register, self.registers.geometry[register], initial), {register})
        return np.iinfo(node.geometry.dtype).max

    def _partials(self, group: Group) -> dict[int, int]:
        """Registers for what ranks fold of their shares, where distributed axes go and others stay.

        They stand for the results while the loops are made; by node, the register of the result.
        """
        registers = self.registers
        across: dict[int, int] = {}
        for statement in group.statements:
            node = statement.node
            if statement.style != "fold" or node.kind != "reduce" or group.place is None:
                continue
            layout = group.place.layout
            axes, keepdims = node.params
            if len(axes) == len(group.domain) or not any(layout.grid[k] > 1 for k in axes):
                continue
            shape = reduced_shape(layout.local_shape(registers.rank), axes, keepdims)
            number = registers.extra(dense(shape, node.geometry.dtype))
            owned = intervals_of(group.place, registers.rank)
            if owned is not None:
                low = [0 if k in axes else a for k, (a, _) in enumerate(owned)]
                registers.corner[number] = tuple(
                    [a for k, a in enumerate(low) if keepdims or k not in axes]
                )
            across[id(node)] = registers.of[id(node)]
            registers.of[id(node)] = number
        return across

    def _fold_across(self, node: Node, place: Place, register: int) -> None:
        registers = self.registers
        axes, keepdims = node.params
        target = Layout.replicated(reduced_shape(place.layout.shape, axes, False), place.world.size)
        if node.place is not None:
            target = node.place.layout
            if keepdims:
                target = target.sliced(
                    tuple([0 if k in axes else slice(None) for k in range(target.ndim)])
                )
        partial = registers.of[id(node)]
        registers.of[id(node)] = register
        layout = place.layout.unpadded()
        step = FoldAcross(
            register, partial, reduced_shape(layout.local_shape(registers.rank), axes, False),
            fold_plan(layout, axes, target, registers.rank), getattr(np, node.name),
            place.world.communicator, registers.geometry[register],
        )  # fmt: skip
        self._add(step, {register, partial})

    def _across_ranks(self, group: Group, place: Place, across: dict[int, int]) -> None:
        """Join what each rank has folded of its share."""
        communicator = place.world.communicator
        for statement in group.statements:
            node = statement.node
            if id(node) in across:
                self._fold_across(node, place, across[id(node)])
                continue
            if statement.style != "fold" or node.place is not None:
                continue
            register = self.registers.of[id(node)]
            if node.kind == "arg":
                self._add(
                    PositionAcrossRanks(register, node.name, communicator, node.geometry),
                    {register},
                )
            else:
                self._add(AcrossRanks(register, getattr(np, node.name), communicator), {register})

    def _exchange(
        self, patches: list[Patch], group: Group, reusable: dict[int, int]
    ) -> tuple[Step, set[int]] | None:
        """Begin to bring together this rank's patches, and to send what others need for theirs."""
        if self.world is None:
            return None
        registers = self.registers
        self._note(patches)

        def of_rank(rank: int) -> list[Patch]:
            if rank == registers.rank:
                return patches
            count = len(registers.geometry)
            found = bodies_of(group, registers, self.available, reusable, rank)[1].patches
            registers.forget(count)
            return found

        world = self.world
        readers = readers_of(group, registers, self.available, world.rank, world.size)
        start = plan_exchange(of_rank, registers, world, readers)
        if start is None:
            return None
        self._begin(start)
        return FinishExchange(start), start.uses()

    def _note(self, patches: list[Patch]) -> None:
        for patch in patches:
            self.patches[patch.register] = (self.registers.of[id(patch.node)], patch.region)

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
        start = plan_exchange(lambda rank: [patch], registers, self.world, everyone)
        if start is None:
            self._add(Allocate(patch.register, node.geometry), {patch.register})
        else:
            start.gathered = node.geometry.shadow.nbytes
            self._begin(start)
            self._add(FinishExchange(start), start.uses())
        return patch.register

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
        self.launches.append([])

    def _wanted_of(self, value: Node, node: Node, part: AssignedPart) -> int:
        """A register with what each rank needs of a value for its part of an assigned region."""
        assert self.world is not None
        registers, shape = self.registers, value.geometry.shape
        region = part.wanted(shape)
        form = dense(tuple(map(len, region)), value.geometry.dtype)
        mine = Patch(registers.extra(form), value, region)
        self._note([mine])

        def of_rank(rank: int) -> list[Patch]:
            if rank == registers.rank:
                return [mine]
            theirs = AssignedPart(node.place, node.params[0], rank).wanted(shape)
            return [Patch(mine.register, value, theirs)]

        start = plan_exchange(of_rank, registers, self.world, range(self.world.size))
        assert start is not None
        self._begin(start)
        self._add(FinishExchange(start), start.uses())
        return mine.register

    def _reusable(self, place: int, group: Group, last_use: dict[int, int]) -> dict[int, int]:
        """For each result, a leaf that dies in this group and lies in memory as the result does."""
        registers = self.registers
        found: dict[int, int] = {}
        taken: set[int] = set()
        if any(s.style == "place" for s in group.statements):
            for statement in group.statements:
                if (
                    statement.style == "place" and not statement.copies_base
                ):  # what the loop reads of the old version is what it writes
                    found[registers.of[id(statement.node)]] = registers.of[
                        id(statement.node.args[0])
                    ]
            return found
        reads: dict[int, bool] = {}
        for statement in group.statements:
            for source, aligned in statement.reads.items():
                reads[source] = reads.get(source, True) and aligned
        roots = {id(root) for root in self.trace.roots}
        for statement in group.statements:
            if statement.style != "map":
                continue
            node = statement.node
            for source, aligned in statement.reads.items():
                register = registers.of.get(source)
                if register is None or register in taken or not reads[source] or not aligned:
                    continue
                old = registers.keep[register]
                assert old is not None
                if (
                    last_use[source] == place
                    and source not in self.trace.alive
                    and source not in roots
                    and id(old) not in {id(s.node) for s in group.statements}
                    and (old.value is None or not old.value.pinned)
                    and registers.geometry[register] is registers.geometry[registers.of[id(node)]]
                    and old.place is node.place
                    and not registers.padding[register]
                ):
                    found[registers.of[id(node)]] = register
                    taken.add(register)
                    break
        return found

    def _by_numpy(self, node: Node) -> None:
        registers = self.registers
        if node.kind == "read" and node.args[0].place is not None and goes_across(node):
            view = node.params[0]
            if is_readable(view):
                self._read_across(node)
                return
        if node.kind == "index" and node.place is not None:
            self._count_locally(node)
            return
        function, places = numpy_function(node)
        if node.place is not None and node.kind in ("call", "cast", "where"):
            self._by_numpy_on_shares(node, function, places)
            return
        arguments = []
        uses = set()
        for place in places:
            arg = node.args[place]
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
        self.launches.append([])

    def _by_numpy_on_shares(
        self, node: Node, function: Callable[..., Any], places: tuple[int, ...]
    ) -> None:
        """An elementwise operation on this rank's share of each operand."""
        assert self.world is not None
        registers = self.registers
        layout = node.place.layout

        def region_of(arg: Node, rank: int) -> tuple[IndexSet, ...]:
            lead = node.geometry.ndim - arg.geometry.ndim
            held = layout.region(rank)[lead:]
            return tuple(
                [
                    (Range(0, 1 if len(part) else 0) if n == 1 else part)
                    for n, part in zip(arg.geometry.shape, held, strict=True)
                ]
            )

        arguments: list[tuple[bool, int]] = []
        patches: dict[int, Patch] = {}
        uses = {registers.of[id(node)]}
        for place in places:
            arg = node.args[place]
            if type(arg) is not Node:
                arguments.append((False, registers.scalar_of[id(node), place]))
                continue
            if arg.place is node.place and arg.geometry.shape == node.geometry.shape:
                register = registers.of[id(arg)]
                if not registers.padding[register]:
                    arguments.append((True, register))
                    uses.add(register)
                    continue
            if id(arg) not in patches:
                region = region_of(arg, registers.rank)
                geometry = dense(tuple(map(len, region)), arg.geometry.dtype)
                patches[id(arg)] = Patch(registers.extra(geometry), arg, region)
            arguments.append((True, patches[id(arg)].register))

        def of_rank(rank: int) -> list[Patch]:
            return [
                Patch(patch.register, patch.node, region_of(patch.node, rank))
                for patch in patches.values()
            ]

        self._note(list(patches.values()))
        readers: set[int] = set()
        for patch in patches.values():
            home: Place | None = patch.node.place
            if home is None:
                continue
            shape = node.geometry.shape
            outer = broadcast_map(patch.node, len(shape), shape, identity(shape))
            readers |= who_reads(home.layout.region(registers.rank), outer, layout)
        start = plan_exchange(of_rank, registers, self.world, readers) if patches else None
        if start is not None:
            self._begin(start)
            self._add(FinishExchange(start), start.uses())
            uses |= {patch.register for patch in patches.values()}
        register = registers.of[id(node)]
        step = ByNumpy(register, function, tuple(arguments), registers.geometry[register])
        self._add(step, uses)
        self.launches.append([])

    def _read_across(self, node: Node) -> None:
        """A view whose elements come from other ranks, in another order than a loop would need."""
        registers = self.registers
        base, view = node.args[0], node.params[0]
        world: World = base.place.world
        target = Layout.replicated(view.shape, world.size)
        if node.place is not None:
            target = node.place.layout
        source, register = registers.of[id(base)], registers.of[id(node)]
        step = ReadAcross(
            register, source, view, base.place.layout, target, world.communicator,
            registers.geometry[register],
        )  # fmt: skip
        self._add(step, {register, source})
        self.launches.append([])

    def _count_locally(self, node: Node) -> None:
        registers = self.registers
        register, (axis,) = registers.of[id(node)], node.params
        numbers = (registers.scalar_of[id(node), 0], registers.scalar_of[id(node), 1])
        indices = node.place.layout.region(registers.rank)[axis].array()
        geometry = registers.geometry[register]
        self._add(CountLocally(register, indices, axis, numbers, geometry), {register})
        self.launches.append([])

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


def summary(statement: Statement) -> str:
    """One line about a statement, for people."""
    return f"{statement.style} {statement.node!r}"


__all__ = ["LaunchMaker", "Planner", "summary"]
