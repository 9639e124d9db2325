"""From a walked trace to its program: the nodes that are alive, and the operations that kernels can compute.

This module is imported with the first large array, so that small programs start quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import backend
from ..config import Settings, config
from ..context import log, statistics
from ..context.call_sites import site_text
from ..execute.program import Program
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..ops.fingerprint import outlined
from ..ops.placement import placed_view
from ..ops.table import check
from ..plan.build import LaunchMaker, Planner
from ..plan.flat_folds import whole_folds
from ..plan.plans import Plans
from ..plan.samples import Sample, Twins
from ..plan.symbolic_steps import SymbolicLaunch
from ..plan.trace import Trace
from .walk import Lookup


def make_program(
    lookup: Lookup,
    roots: list[Node],
    make: LaunchMaker,
    settings: Settings | None = None,
    describe: bool = True,
    regions: dict[Node, Any] | None = None,
) -> Program:
    """The program of a trace; ``make`` turns its launches into steps. One that is not to be described is a plan."""
    order, leaves = lookup.order, lookup.leaves
    if config.debug and describe:  # the extents of a plan are symbolic
        check(order)
    scalar_of: dict[tuple[int, int], int] = {}
    for node in order:
        for place, arg in enumerate(node.args):
            if type(arg) is not Node:
                scalar_of[id(node), place] = len(scalar_of)
    planned = whole_folds(order, scalar_of)
    instead = dict(zip(order, planned, strict=True))
    wanted = [instead[root] for root in roots]
    alive = {id(n) for n, a in zip(leaves, lookup.alive_leaves, strict=True) if a}
    alive |= {id(n) for n, a in zip(planned, lookup.alive_nodes, strict=True) if a}
    alive |= {id(n) for n in wanted}
    settings = settings or config.settings()
    below = min(256, settings.small)
    at = {id(instead[node]): place for node, place in (regions or {}).items()}
    supports = backend.current().supports
    trace = Trace(planned, wanted, frozenset(alive), supports, below, scalar_of, at, settings.debug)
    planner = Planner(trace, leaves, make)
    trace.placed = planner.world is not None
    trace.together = planner.world is not None and planner.world.size > 1
    outline = outlined(order, roots, leaves) if describe and trace.together else None
    program = planner.plan(settings.fusion, describe)
    program.sites = tuple([node.site for node in order])
    if planner.world is not None and trace.together:
        program.communicator = planner.world.communicator
        if outline is not None:
            program.shared(planner.world.communicator, outline, order)
    return program


def planned(lookup: Lookup, roots: list[Node], plans: Plans | None = None) -> Program:
    """A program by the planner, from a new one of some plans if it can. If its kernels cannot be compiled, NumPy runs them: the
    messages are the same."""
    program = None
    if plans is not None:
        program = statistics.attempted(_extended, plans, lookup, roots)
    if program is None:
        program = statistics.attempted(make_program, lookup, roots, backend.current().step.of)
    if program is None:
        program = make_program(lookup, roots, backend.named("numpy").step.of)
    statistics.add("plans_made")
    if log.plans.isEnabledFor(log.DEBUG):
        last = site_text(roots[-1].site)
        log.plans.debug(
            "planned %d operations, the last at %s, in %d steps",
            len(lookup.order),
            last,
            len(program.steps),
        )
    return program


def sample_of(leaves: Sequence[Node], order: Sequence[Node]) -> Sample:
    """Parts of a trace that may differ from others of its structure: geometries of leaves and nodes, of the views among the
    nodes' parameters, and of the bases of these; and places."""
    nodes = [*leaves, *order]
    views = [part for node in order for part in node.params if type(part) is Geometry]
    geometries = [*[node.geometry for node in nodes], *views, *[view.base for view in views]]
    placed = [node.place for node in nodes]
    if not any(placed):
        return Sample(geometries, [])
    placed += [
        None if node.place is None else placed_view(node.place, node.params[0])
        for node in order
        if node.op.is_update
    ]
    scattered = bool([home for home in placed if home is not None and not home.layout.is_block])
    return Sample(geometries, placed, scattered)


def _extended(plans: Plans, lookup: Lookup, roots: list[Node]) -> Program | None:
    """The program of a trace from a new plan; ``None`` if there can be none."""
    alive_leaves, alive_nodes = lookup.alive_leaves, lookup.alive_nodes
    settings = config.settings()
    if config.debug:
        check(lookup.order)

    def plan(twins: Twins, make: Any) -> Program:
        leaves, order, roots, regions = twins
        trace = Lookup((), 0, None, leaves, [], order, alive_leaves, alive_nodes)
        return make_program(trace, roots, make, settings, make is not SymbolicLaunch, regions)

    leaves, order = lookup.leaves, lookup.order
    sample = sample_of(leaves, order)
    return plans.extended(sample, leaves, order, roots, plan, backend.current().step)
