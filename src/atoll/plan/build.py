"""Makes the program of a trace: statements, groups, buffers, launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..collective import fold_plan
from ..collective.steps import FoldAcross
from ..exchange.broadcasts import Broadcast, broadcast_axes, broadcasts_of
from ..exchange.ghosts import GhostRegion, Ghosts, plan_exchange
from ..exchange.schedule import Exchange
from ..exchange.shares import box_of_rank
from ..execute.allocation import Allocate, Copy, Share
from ..execute.exchange import AcrossRanks, FinishExchange, Fold, Position, StartExchange
from ..execute.parts import Step
from ..execute.program import Combine, CombinePositions, Program
from ..graph.geometry import Geometry
from ..graph.node import Node, Operation, Site
from ..graph.words import label
from ..layout import Layout, Region
from ..layout.symbolic_layout import interval
from ..ops.folds import has_rows, reduced_shape
from ..ops.maps import AxisMap, reach
from ..ops.placement import Place
from .body import Needs
from .coalesce import OpenExchange, Placeholder, read_at_shifts
from .description import Description, GroupNote, describe_group, describe_registers
from .groups import BroadcastRead, Group, make_groups, readers_of, reads_elsewhere
from .launches import Launch
from .lower import bodies_of, counted_locally, launches_of
from .passes import check_group
from .shapes import dense_shape
from .statements import make_statements
from .steps import Steps, Use
from .trace import Trace

_register_of = attrgetter("register")


def _site_of(node: Node) -> Site | None:
    """The site that recorded a node, or else one of its operands, at most three levels below."""
    level: list[Any] = [node]
    for _ in range(4):
        for source in level:
            if source.site is not None:
                return source.site  # type: ignore[no-any-return]
        level = [arg for source in level for arg in source.args if type(arg) is Node]
    return None


def fold_across(
    register: int,
    partial: int,
    params: tuple[tuple[int, ...], bool],
    place: Place,
    home: Place | None,
    ufunc: np.ufunc,
    geometry: Geometry,
) -> FoldAcross:
    """The step that combines the partial results of ranks along axes of ``place`` into a result at ``home``."""
    axes, keepdims = params
    world, rank = place.world, place.world.rank
    target = Layout.replicated(reduced_shape(place.layout.shape, axes, False), world.size)
    if home is not None:
        target = home.layout
        if keepdims:
            target = target.sliced(
                tuple([0 if k in axes else slice(None) for k in range(target.ndim)])
            )
    layout = place.layout.unpadded()
    kept = reduced_shape(layout.local_shape(rank), axes, False)
    plan = fold_plan(layout, axes, target, rank, world.nodes)
    return FoldAcross(register, partial, kept, plan, ufunc, world.communicator, geometry)


LaunchMaker = Callable[[Launch, dict[int, Combine]], Step]
"""Turns a launch into a step, given the steps that fold the partial results of full reductions, by register."""


class Planner(Steps):
    """Makes the steps of one program, group by group."""

    def __init__(self, trace: Trace, leaves: list[Node], make: LaunchMaker) -> None:
        super().__init__(trace, leaves)
        self.make = make
        self.make_exchange = getattr(make, "exchange", self.make_exchange)
        self.fold_across = getattr(make, "fold_across", fold_across)
        self.exchange_under_maps = getattr(make, "exchange_under_maps", self.exchange_under_maps)
        self.groups: list[Group] = []
        self.joins: dict[int, Fold | Position] = {}
        """Folds of the ranks' shares that are still to be combined across ranks, by node."""
        self.exchanges: list[OpenExchange] = []
        """The exchanges that later groups may join; see ``coalesce``."""

    def plan(self, fusion: bool, describe: bool = True) -> Program:
        """The finished program. Its outputs are the stored values that are alive: wanted, or referenced elsewhere."""
        number = self.number
        alive = self.trace.alive
        statements = make_statements(self.trace)
        self.groups = groups = make_groups(statements, fusion)
        if self.trace.debug:
            for group in groups:
                check_group(group, "groups")
        for statement in statements:
            self.registers.add(statement.node)
        varying = self.registers.varying
        for node in self.trace.order:
            if node.op.is_update or not varying.isdisjoint(map(id, node.args)):
                varying.add(id(node))
        last_use = self._last_uses(groups)
        stored: list[tuple[Step, int, int]] = []
        for place, group in enumerate(groups):
            if self.joins and any(n in self.joins for s in group.statements for n in s.reads):
                self._join(stored)
            self.steps.append([])
            self._group(place, group, groups, last_use)
            own_steps = [step for step, _ in self.steps[-1] if not isinstance(step, Placeholder)]
            stored += [
                (own_steps[-1], number[id(s.node)], self.registers.of[id(s.node)])
                for s in group.statements
                if id(s.node) in number and id(s.node) not in self.joins and own_steps
            ]
            for s in group.statements:
                self.registers.in_memory[id(s.node)] = self.registers.of[id(s.node)]
        self._join(stored)
        self._make_exchanges()
        notes: list[GroupNote] = []
        if describe:
            notes = [
                describe_group(group, self.registers, [step for step, _ in steps])
                for group, steps in zip(groups, self.steps, strict=True)
            ]
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
        )

    def _description(
        self, notes: list[GroupNote], alive: frozenset[int], stored: set[int], operations: int
    ) -> Description:
        left = [n for n in self.trace.order if id(n) in alive and id(n) not in stored]
        return Description(
            describe_registers(self.registers, len(self.leaves), alive, self.ghosts),
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

    def _group(
        self, place: int, group: Group, groups: list[Group], last_use: dict[int, int]
    ) -> None:
        registers = self.registers
        first = group.statements[0]
        if first.style == "numpy":
            self._by_numpy(first.node)
            return
        if first.style == "collective":
            self._collective(first.node, first.copies_base)
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
            if node.op.finds_position and registers.of[id(node)] not in full:
                register = registers.of[id(node)]
                form = dense_shape(registers.geometry[register].shape, node.args[0].geometry.dtype)
                registers.extremes[id(node)] = extremes = registers.extra(form)
                registers.corner[extremes] = registers.corner[register]
            if statement.style == "place" and not statement.copies_base:
                # loops write into the memory of the old version
                register, base = registers.of[id(node)], registers.of[id(node.args[0])]
                registers.padding[register] = registers.padding[base]
                registers.geometry[register] = registers.geometry[base]
        self._list_broadcasts(group)
        bodies, needs = bodies_of(group, registers, reusable, registers.rank)
        finish = self._exchange(needs, place, group, groups, reusable)
        for statement in group.statements:
            register = registers.of[id(statement.node)]
            if register in full:
                continue
            lies = registers.geometry[register]
            if statement.style == "place":
                base = registers.of[id(statement.node.args[0])]
                if statement.copies_base:
                    copy = Copy(register, base, lies, _site_of(statement.node))
                    self._add(copy, {register, base})
                else:
                    self._add(Share(register, base), {register, base})
            elif register in reusable:
                self._add(Share(register, reusable[register]), {register, reusable[register]})
            else:
                initial = None
                if statement.node.op.finds_position:
                    initial = self._extremes(statement.node)
                elif statement.style == "fold":
                    initial = statement.node.op.identity(statement.node.geometry.dtype)
                allocate = Allocate(register, lies, initial, _site_of(statement.node))
                self._add(allocate, {register})
        ghosts = {ghost.register for ghost in needs.ghosts}
        ghosts |= {read.ghost.register for read in group.broadcasts if read.ghost}
        late = [body for body in bodies if ghosts & {m.register for m in body.memories}] if ghosts else []  # fmt: skip
        early = [body for body in bodies if body not in late]
        launches = launches_of(early, group, registers, scratch)
        before = len(launches)
        launches += launches_of(late, group, registers, scratch) if late else []
        combines: dict[int, Combine] = {}
        for register, node in full.items():
            count, geometry, op = scratch.get(register, 0), node.geometry, node.op
            if op.finds_position:
                dtype = node.args[0].geometry.dtype
                combine: Combine = CombinePositions(register, node.name, count, dtype, geometry)
            else:
                dtype = geometry.dtype
                combine = Combine(register, op.ufunc, count, dtype, geometry, op.identity(dtype))
            combines[register] = combine
        for k, launch in enumerate(launches):
            if k == before and finish is not None:
                self._add(*finish)
                finish = None
            for register, initial in launch.begins:
                self._add(Allocate(register, registers.geometry[register], initial), {register})
            self._add(self.make(launch, combines), set(map(_register_of, launch.memories)))
        if finish is not None:
            self._add(*finish)
        for register, combine in combines.items():
            self._add(combine, {register})
        if group.place is not None:
            self._across_ranks(group, group.place, across)

    def _extremes(self, node: Node) -> Any:
        """Allocate memory for the extreme elements whose positions are wanted, and return the initial position.

        No element is worse than the initial element, and no position is later than the initial position.
        """
        register = self.registers.extremes[id(node)]
        dtype = node.args[0].geometry.dtype
        initial = node.op.identity(dtype)
        self._add(Allocate(register, self.registers.geometry[register], initial), {register})
        return np.iinfo(node.geometry.dtype).max

    def _partials(self, group: Group) -> dict[int, int]:
        """Registers for the partial results of folds over some axes, a distributed one among them.

        They replace the registers of the results while the loops are made. The dictionary has the register of each result, by node.
        """
        registers = self.registers
        across: dict[int, int] = {}
        for statement in group.statements:
            node = statement.node
            if statement.style != "fold" or node.op.finds_position or group.place is None:
                continue
            layout = group.place.layout
            axes, keepdims = node.params
            if len(axes) == len(group.domain) or has_rows(layout, axes):
                continue
            shape = reduced_shape(layout.local_shape(registers.rank), axes, keepdims)
            number = registers.extra(dense_shape(shape, node.geometry.dtype))
            owned = box_of_rank(group.place, registers.rank)
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
        partial = registers.of[id(node)]
        registers.of[id(node)] = register
        geometry, ufunc = registers.geometry[register], node.op.ufunc
        fold = self.fold_across(register, partial, node.params, place, node.place, ufunc, geometry)
        self._add(fold, {register, partial})

    def _join(self, stored: list[tuple[Step, int, int]]) -> None:
        """Combine all open folds across ranks by one message, before a step needs one of them.

        The position of this step follows from the groups, which are the same on all ranks.
        """
        if not self.joins:
            return
        assert self.world is not None
        joins = list(self.joins.values())
        step = AcrossRanks(self.world.communicator, joins)
        self._add(step, {join.register for join in joins})
        stored += [
            (step, self.number[node], join.register)
            for node, join in self.joins.items()
            if node in self.number
        ]
        self.joins = {}

    def _across_ranks(self, group: Group, place: Place, across: dict[int, int]) -> None:
        """Combine the folds of the ranks' shares: folds along some axes now, folds to one number later."""
        for statement in group.statements:
            node = statement.node
            if id(node) in across:
                self._fold_across(node, place, across[id(node)])
                continue
            if statement.style != "fold" or node.place is not None:
                continue
            register = self.registers.of[id(node)]
            if node.op.finds_position:
                self.joins[id(node)] = Position(register, node.name, node.geometry)
            else:
                self.joins[id(node)] = Fold(register, node.op.ufunc)

    def _list_broadcasts(self, group: Group) -> None:
        """List the broadcasts of a group's reads, and give a register to each region that is not in a box of this rank's share."""
        if self.world is None or counted_locally(group):
            return
        registers, place = self.registers, group.place
        for node, outer, part in reads_elsewhere(group, registers):
            if part or outer is None or not broadcast_axes(outer, node.place, place):
                continue
            if group.broadcast(node, outer) is not None:
                continue

            def region_of(rank: int, outer: AxisMap = outer) -> Region:
                box = tuple([(0, n) for n in group.domain])
                if place is not None:
                    box = box_of_rank(place, rank)  # type: ignore[assignment]
                return tuple([interval(low, high) for low, high in reach(outer, box)])  # type: ignore[misc]

            source, tag, dtype = registers.of[id(node)], len(group.broadcasts), node.geometry.dtype
            parts = broadcasts_of(node.place, outer, place, source, dtype, tag, region_of)
            for each in parts:
                in_share = each.is_own and box_of_rank(node.place, registers.rank) is not None
                if each.reads and not in_share:
                    each.register = registers.extra(dense_shape(each.shape, dtype))
                    self.ghosts[each.register] = GhostRegion(
                        each.register, source, node.place, dtype, each.region
                    )
            group.broadcasts.append(BroadcastRead(node, outer, parts))

    def _exchange(
        self, needs: Needs, place: int, group: Group, groups: list[Group], reusable: dict[int, int]
    ) -> Use | None:
        """Begin the exchange that fills the ghost regions of this rank and of its readers.

        ``place`` is the number of the group. The caller inserts the returned step, which ends the exchange; ``None`` if no step is
        needed.
        """
        if self.world is None:
            return None
        registers, ghosts, world = self.registers, needs.ghosts, self.world
        self.ghosts.update({ghost.register: ghost for ghost in ghosts})
        if needs.local:
            if not ghosts:
                return None
            return self._begin_under_maps(needs, group.place)

        def of_rank(rank: int) -> list[GhostRegion]:
            if rank == registers.rank:
                return ghosts
            count = len(registers.geometry)
            theirs = bodies_of(group, registers, reusable, rank)[1].ghosts
            registers.forget(count)
            return theirs

        broadcasts = [part for read in group.broadcasts for part in read.parts]
        readers = readers_of(group, registers, world.rank, world.size)
        elsewhere = read_at_shifts(group, registers)
        if elsewhere:
            by_rank: dict[int, Sequence[GhostRegion]] = {
                rank: of_rank(rank) for rank in sorted({world.rank, *readers})
            }
            stored = [n for n, other in enumerate(groups[:place]) if other.stores(elsewhere)]
            for shared in reversed(self.exchanges):
                if shared.group > max(stored, default=-1):
                    shared.ghosts.append(by_rank)
                    shared.broadcasts += broadcasts
                    return None
            shared = OpenExchange(place, ghosts=[by_rank], broadcasts=broadcasts)
            self.exchanges.append(shared)
            self._add(shared, set())
            return shared.end, set()
        planned = self._planned(lambda rank: enumerate(of_rank(rank)), readers, broadcasts)
        return None if planned is None else self._begin(planned, planned.uses())

    def _planned(
        self, ghosts_of: Ghosts, readers: Iterable[int], broadcasts: Sequence[Broadcast]
    ) -> Exchange | None:
        assert self.world is not None
        communicator, geometries = self.world.communicator, self.registers.geometry
        make = self.make_exchange
        return plan_exchange(ghosts_of, readers, communicator, geometries, make, broadcasts)

    def _make_exchanges(self) -> None:
        """Replace the placeholders of shared exchanges by the steps that begin and end them."""
        placed: dict[int, list[Use]] = {}
        for shared in self.exchanges:
            ranks = {rank for ghosts in shared.ghosts for rank in ghosts}
            exchange = self._planned(shared.ghosts_of, ranks, shared.broadcasts)
            for mark, kind in ((shared, StartExchange), (shared.end, FinishExchange)):
                uses: list[Use] = [] if exchange is None else [(kind(exchange), exchange.uses())]
                placed[id(mark)] = uses
        if placed:
            self.steps = [
                [new for use in group for new in placed.get(id(use[0]), [use])]
                for group in self.steps
            ]

    def _reusable(self, place: int, group: Group, last_use: dict[int, int]) -> dict[int, int]:
        """For each result, an operand's register that dies in this group and has the result's geometry; for an update in place,
        that of its base."""
        registers = self.registers
        reusable: dict[int, int] = {}
        taken: set[int] = set()
        if any(s.style == "place" for s in group.statements):
            for s in group.statements:
                # the loop reads the old version in the memory that it writes
                if s.style == "place" and not s.copies_base:
                    reusable[registers.of[id(s.node)]] = registers.of[id(s.node.args[0])]
            return reusable
        reads: dict[int, bool] = {}
        for statement in group.statements:
            for source, aligned in statement.reads.items():
                reads[source] = reads.get(source, True) and aligned
        roots = {id(root) for root in self.trace.roots}
        own = {id(s.node) for s in group.statements}
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
                    and id(old) not in own
                    and registers.geometry[register] is registers.geometry[registers.of[id(node)]]
                    and old.place is node.place
                    and not registers.padding[register]
                ):
                    reusable[registers.of[id(node)]] = register
                    taken.add(register)
                    break
        return reusable


__all__ = ["LaunchMaker", "Planner"]
