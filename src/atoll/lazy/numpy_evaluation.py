"""Evaluation operation by operation by NumPy, after planning has failed; and the agreement of ranks that all have plans.

A failure in planning is a mistake in atoll, and no program ends by it. ``config.debug`` raises it,
``atoll.stats().planning_failures`` counts it.

**Ranks.** A plan has messages, so all ranks must run it, or none. Planning follows from facts that are the same on all ranks and
from the share of each, so it may fail on one of them alone. The rule: before ranks run a plan of a structure that they
have not run together, each tells the others in one message whether it has one (:func:`.in_step.all_have_plans`). A structure
describes a computation without extents: operations, dtypes, numbers of axes, and the distributed operands. The log of the
ranks keeps the answer, so they ask once, and a loop whose slices move asks once, too. If one rank has no plan, all compute
operation by operation: they bring the operands together, compute the whole of each node alike, and keep their shares. That
takes the memory of whole arrays.

For later extents of a structure that they agreed upon, ranks do not ask. If a kernel cannot be compiled, NumPy runs it: the
messages are the same. If planning itself fails on all ranks, they meet, and compute operation by operation. If it fails on some of them, the
others run their plan at once, so these cannot be told in time, and a rank that has no plan does not know which messages they
expect of it: all ranks raise an error that says so. Any cure would be a message for every new extent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from .. import backend, policy
from ..collective.operation import Call
from ..comm.in_step import all_have_plans
from ..config import Settings, config
from ..context import statistics
from ..context.call_sites import site_text
from ..context.divergence import asked
from ..context.tracebacks import note_recording
from ..errors import DeferredValueError
from ..exchange.gather import joined_blocks, whole_value
from ..execute.parts import State
from ..execute.program import Program, compare_replicated, computed_words
from ..graph.geometry import dense
from ..graph.node import Node, Value
from ..ops.fingerprint import outlined
from . import replication
from .walk import Walk

_site = attrgetter("site")


def begun(
    program: Program,
    state: State,
    leaves: Sequence[Node],
    order: Sequence[Node],
    pending: Sequence[Node],
    settings: Settings,
    *,
    planned: bool = True,
) -> bool:
    """Let ranks begin a program together; ``False`` if a rank has no plan, so that all compute the values operation by operation.

    ``leaves`` and ``order`` are the nodes of the trace, and ``pending`` its wanted nodes. ``planned`` is True if this rank
    has a plan; if another rank has none, this function computes the values. Collective.
    """
    communicator, outline, structure = program.communicator, program.outline, program.structure
    assert communicator is not None
    assert outline is not None
    log = communicator.log
    exact = log.exact
    mark, numbers = outline.given(leaves, state.scalars, exact)
    sites = list(map(_site, map(order.__getitem__, outline.takers))) if exact else ()
    log.step(
        program.fingerprint ^ mark,
        asked.look or "an evaluation",
        partial(computed_words, program.computes, pending[-1].site, numbers, sites),
    )
    known = planned and log.plans.get(structure)
    if not (known or all_have_plans(communicator, structure, "a new plan", planned)):
        if planned:
            statistics.add("planning_failures")
            compute(pending, agreed=True)
        return False
    moves = len(log.extents) < policy.limits.entries and program.fingerprint not in log.extents
    if moves:
        log.extents.add(program.fingerprint)
    moves = moves and bool(known)
    more = policy.limits.step if moves else 0.0  # each rank binds the plan to other extents
    for shape, nbytes, expected in program.prices:
        loss = expected + more
        if loss > 0.0 or log.losses.get(shape):  # else there is nothing to gain back
            replication.priced(log, shape, nbytes, loss, settings)
    log.unasked, state.log = True, log
    if settings.debug:
        compare_replicated(communicator, state.scalars, leaves)
    return True


def compute(roots: Sequence[Node], *, agreed: bool = False) -> None:
    """Give each root its value by NumPy's operations. ``agreed``: the ranks know already that they have no plan."""
    order, leaves = in_order(roots)
    program = Program(
        0, 0, [], (), tuple([-1 if root.value else order.index(root) for root in roots]), None
    )
    world = next((n.place.world for n in (*leaves, *order) if n.place is not None), None)
    if world is not None and world.size > 1:
        program.shared(world.communicator, outlined(order, roots, leaves), order)
        if not agreed:  # tell the other ranks that this one has no plan
            scalars = [arg for node in order for arg in node.args if type(arg) is not Node]
            state = State([], scalars)
            begun(program, state, leaves, order, roots, config.settings(), planned=False)
    births = program.births or program.kept
    for root, value, birth in zip(roots, values(roots, order, leaves), births, strict=True):
        if root.value is None:
            program.settle(root, value, birth)


def values(roots: Sequence[Node], order: Sequence[Node], leaves: Sequence[Node]) -> list[Value]:
    """The value of each root; nodes are not changed."""
    arrays: dict[int, Any] = {id(leaf): whole_value(leaf) for leaf in leaves}
    uses: dict[int, int] = {}
    for node in order:
        for arg in node.args:
            uses[id(arg)] = uses.get(id(arg), 0) + 1
    wanted = {id(root) for root in roots}
    for node in order:
        try:
            arrays[id(node)] = _computed(node, arrays)
        except Exception as error:
            note_recording(error, node.site)
            raise
        for arg in node.args:
            uses[id(arg)] -= 1
            if not uses[id(arg)] and id(arg) not in wanted:
                arrays.pop(id(arg), None)
    return [_share(root, arrays[id(root)]) for root in roots]


def in_order(roots: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The pending nodes that ``roots`` depend on, operands first, and the nodes with values that they start from."""
    walk = Walk([root for root in roots if root.value is None])
    return walk.order, [*walk.leaves, *[root for root in roots if root.value is not None]]


def _computed(node: Node, arrays: dict[int, Any]) -> Any:
    """The whole value of a node, in the memory order of its geometry."""
    if node.op.is_collective:
        blocks = [_share(arg, arrays[id(arg)]).array for arg in node.args]
        block = Call(node).run(blocks, node.geometry.shape)
        return block if node.place is None else joined_blocks(node, block)
    args = [arrays[id(arg)] if type(arg) is Node else arg for arg in node.args]
    result = node.op.numpy(node)(*args)
    return _laid_out(node, result.array if type(result) is Value else np.asarray(result))


def _laid_out(node: Node, array: np.ndarray[Any, Any]) -> Any:
    geometry = node.geometry
    if array.base is None and array.strides == geometry.strides and array.dtype == geometry.dtype:
        return array
    laid = backend.current().allocate(geometry).array
    laid[...] = array
    return laid


def _share(root: Node, array: np.ndarray[Any, Any]) -> Value:
    """Share of a whole value that this rank keeps."""
    place = root.place
    if place is None:
        return Value(array)
    layout, rank = place.layout, place.world.rank
    shape = layout.padded_shape(rank) if place.padded else layout.local_shape(rank)
    value = backend.current().allocate(dense(shape, root.geometry.dtype))
    value.array[layout.inside(rank)] = array[
        np.ix_(*[held.array() for held in layout.region(rank)])
    ]
    return value


def deferred_error(node: Node) -> DeferredValueError:
    """Error for a value that is not available yet; it names the leaf that the value waits for."""
    while not node.op.is_deferred:
        node = next(a for a in node.args if type(a) is Node and a.weight < 0)
    return DeferredValueError(
        f"this value waits for {node.params[0].name}, made at {site_text(node.site)}: it has none before "
        "the dataflow graph is executed"
    )
