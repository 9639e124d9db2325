"""From a trace that was walked to its program: what of it is alive, and what kernels can compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import backend
from ..config import Settings, config
from ..graph.node import Node
from ..ops.fingerprint import outlined
from ..ops.table import check

if TYPE_CHECKING:
    from ..execute.program import Program
    from ..plan.build import LaunchMaker
    from .evaluate import Lookup


def make_program(
    lookup: Lookup,
    roots: list[Node],
    make: LaunchMaker,
    settings: Settings | None = None,
    describe: bool = True,
    regions: dict[Node, Any] | None = None,
) -> Program:
    """The program of a trace; ``make`` turns its launches into steps. One that is not to be described is a template."""
    # The planner is imported with the first large array, so that small programs start quickly.
    from ..plan.build import Planner
    from ..plan.flattened import whole_folds
    from ..plan.statements import Trace

    order, leaves = lookup.order, lookup.leaves
    if config.debug and describe:  # the extents of a template are symbolic
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
    trace = Trace(planned, wanted, frozenset(alive), _kernels_can, below, scalar_of, at)
    planner = Planner(trace, leaves, make)
    sites = tuple([node.site for node in order])
    trace.together = planner.world is not None and planner.world.size > 1
    outline = outlined(order, roots) if describe and trace.together else None
    program = planner.plan(settings.fusion, describe)
    program.sites = sites
    if planner.world is not None and trace.together:
        program.communicator = planner.world.communicator
        if outline is not None:
            program.shared(planner.world.communicator, outline, order)
    return program


def _kernels_can(node: Node) -> bool:
    from ..plan.statements import native_node

    return native_node(node) and backend.current().supports(node)
