"""From wanted values to a program, and from the program to the values.

A trace is walked once, iteratively, into a *structure*: for each pending node its operation, the
form of its geometry, and the sources of its operands (leaves are numbered by first
appearance, numbers are left out), with a mark on each node that is still referred to from outside.
The structure with the numbers of the geometries is a *key*. Equal keys have equal programs, so a loop that
repeats its expressions plans them once. Equal structures have a list of *plans*, each for all numbers for which the planner
would decide alike: a loop whose slices move finds its program there, by arithmetic (see ``plan.plans``).

A program that is run again is taught to the native evaluation, which recognises the next trace like it without a walk
(``_native/traces.c``): it only has to find out which nodes are alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from sys import getrefcount
from types import FrameType
from typing import TYPE_CHECKING, Any

from .. import backend
from ..comm import progress
from ..comm.world import current_world
from ..config import config
from ..context import profiler, statistics, warn
from ..context.caches import Recent
from ..context.call_sites import site_number
from ..context.profiler import Kind
from ..context.threads import catch_up, turn
from ..errors import OutOfMemoryError
from ..execute.parts import State
from ..execute.program import Program
from ..front import Forms, native
from ..graph import retention
from ..graph.node import Node, Site, fills
from ..ops.fingerprint import outlined
from . import float_errors, numpy_evaluation
from .runs import finished, flags_reported, is_moved, rescued, sites_of, stored_by, teach
from .walk import Lookup, Walk

if TYPE_CHECKING:
    from ..plan.plans import Plans


class _Programs(threading.local):
    """The programs of the process, or of a simulated rank. A thread that looks for one or runs one holds the lock."""

    __slots__ = ("process",)  # shared by all threads; attributes without a slot are thread-local
    process: dict[str, Any]

    def __init__(self) -> None:
        if not turn.simulated and hasattr(self, "process"):
            self.__dict__.update(self.process)
            return
        self.programs: Recent[Any, Program] = Recent("plans_dropped")
        """By structure and numbers."""
        self.plans: Recent[Any, Plans] = Recent("plans_dropped")
        """By structure."""
        self.stored_lines: Recent[int, set[int]] = Recent("caches_full")
        """Lines whose values were computed twice, because nothing stored them the first time. Eviction is never random."""
        self.traces = Forms()
        """Traces that the native evaluation recognises, a few for all roots that look alike."""
        if not turn.simulated:
            self.process = dict(self.__dict__)

    def forget(self) -> None:
        """Drop all programs and plans."""
        for known in (self.programs, self.plans, self.stored_lines, self.traces):
            known.clear()


_programs = _Programs()


_OURS = max(map(getrefcount, [object()]))
"""The references that a list and the counting itself have to a node."""


def _alive(nodes: list[Node], uses: list[int]) -> tuple[bool, ...]:
    """For each node, True if an object outside of the trace refers to it."""
    return tuple([n - _OURS > used for n, used in zip(map(getrefcount, nodes), uses, strict=True)])


def look_up(pending: Sequence[Node]) -> Lookup:
    """Walk the trace of pending nodes, and look for its program."""
    walk = Walk(pending)
    key, leaves, order = walk.key, walk.leaves, walk.order
    alive = _alive(leaves, walk.leaf_uses)
    alive_leaves = tuple([a or x.value.pinned for a, x in zip(alive, leaves, strict=True)])  # type: ignore[union-attr]
    alive_nodes = _alive(order, walk.node_uses)
    settings = config.settings()
    key.append(alive_leaves)
    key.append(alive_nodes)
    if walk.wanted is not None:  # which of the nodes; a single one is always the last
        key.extend(walk.wanted)
    key.append((len(pending), settings.fusion, settings.small))
    structure = len(key)
    walk.add_numbers()
    frozen = tuple(key)
    program = _programs.programs.get(frozen)
    return Lookup(
        frozen, structure, program, leaves, walk.scalars, order, alive_leaves, alive_nodes
    )


def fingerprint_of(pending: Sequence[Node], exact: bool) -> int:
    """Fingerprint of the joint computation of pending nodes; equal ones count once.

    ``exact``: see :attr:`.StepLog.exact`.
    """
    lookup = look_up(pending)
    leaves, order, program = lookup.leaves, lookup.order, lookup.program
    outline = None if program is None else program.outline
    if outline is None:
        outline = outlined(order, pending, leaves)
    return outline.of(order) ^ outline.given(leaves, lookup.scalars, exact)[0]


class _Looks(threading.local):
    """The state of one thread while values are computed, explained or counted."""

    compute: Callable[[list[Node]], Callable[[], None] | None] | None = None
    """Function that takes nodes instead of a computation: it assigns their values, or ends the call by an error. It returns the
    remaining step of ranks, if any."""
    call: Callable[[Callable[..., Any], Sequence[Any], dict[str, Any]], Any] | None = None
    """Function that replaces NumPy functions on arrays in memory."""
    computing = False
    """True if the thread computes values."""


looks = _Looks()


def is_occupied() -> bool:
    """True if this thread computes values, or explains a computation."""
    if native is not None and native.is_computing():
        return True
    return looks.computing or (looks.compute is not None and looks.call is None)


@contextmanager
def computed_by(
    compute: Callable[[list[Node]], Callable[[], None] | None], call: Any = None
) -> Iterator[None]:
    """Context in which ``compute`` takes the pending nodes, and ``call`` the calls of NumPy functions, instead of a computation."""
    before = looks.compute, looks.call
    looks.compute, looks.call = compute, call
    if native is not None:
        native.explain(1)
    try:
        yield
    finally:
        looks.compute, looks.call = before
        if native is not None:
            native.explain(-1)


def evaluate(roots: Sequence[Node]) -> None:
    """Compute the value of each root, and of each assigned array found on the way.

    If memory does not suffice, the pending values that keep memory alive are evaluated first.
    """
    try:
        _evaluate(roots)
    except OutOfMemoryError:
        if current_world().size > 1 or not retention.relieve(0):
            raise
        _evaluate(roots)


def _evaluate(roots: Sequence[Node]) -> None:
    pending = []
    for node in roots:
        if node.value is None:
            if node.weight < 0:
                raise numpy_evaluation.deferred_error(node)
            pending.append(node)
    if not pending:
        return
    with turn.lock:
        # another thread may have computed some of them
        pending = [node for node in pending if node.value is None]
        if pending:
            recorded = float_errors.differing()
            if recorded is None:
                compute(pending)
            else:
                float_errors.under(recorded, partial(compute, pending))
    catch_up()


def passing_of(lookup: Lookup, pending: list[Node], program: Program) -> list[int]:
    """Positions of the nodes that a program computes and does not store though they are alive. On ranks, where liveness must not
    affect the joint computation, all nodes on ranks are included: in Python, ranks ask which to store before they have a program."""
    together = program.communicator is not None
    done = {*program.kept}
    roots = {id(node) for node in pending}
    return [
        place
        for place, (node, alive) in enumerate(zip(lookup.order, lookup.alive_nodes, strict=True))
        if (node.place is not None if together else alive and place not in done)
        and _may_be_stored(node)
        and id(node) not in roots
    ]


def stored_too(pending: list[Node]) -> list[Node]:
    """Other arrays of the program that would be stored if these nodes were evaluated now."""
    more: list[Node] = []
    while again := computed_again(look_up([*pending, *more]), [*pending, *more]):
        more += again
    return more


def _is_shared(lookup: Lookup) -> bool:
    """True if several ranks compute a trace together."""
    if current_world().size == 1:
        return False
    return any(node.place is not None for node in (*lookup.leaves, *lookup.order))


def computed_again(lookup: Lookup, pending: Sequence[Node]) -> list[Node]:
    """Live arrays to store now, since the values of their lines were computed twice before.

    A live value stays pending while loops compute it as an operand of others: mostly it is dropped unseen. But
    if one loop after the other computes it (a mask made before a time loop, a price that grows by a factor in each
    step), storing it is cheaper. A loop marks the values that it does not store; a value with a mark has its line noted.
    """
    roots = {*map(id, pending)}
    together = _is_shared(lookup)
    again = {
        node
        for node in (_read_again(lookup.order, roots) if together else lookup.order)
        if node.passed and _may_be_stored(node)
    }
    for node in again:
        store_line(node)
    far = distances(lookup.order)
    return [
        node
        for node, alive, distance in zip(lookup.order, lookup.alive_nodes, far, strict=True)
        if (node.place is not None if together else alive)
        and _may_be_stored(node)
        and id(node) not in roots
        and (node in again or _is_stored(node, distance))
    ]


def _is_stored(node: Node, distance: int) -> bool:
    """True if the line of a node stores its value. Ranks cannot ask whether the program still refers to a value: they store the values at
    the distances from the end at which this line had values that a later program read."""
    needed = _lines_of(node).get(site_number(node.site), ())
    return bool(needed) if node.place is None else distance in needed


def distances(order: Sequence[Node]) -> list[int]:
    """The distance of each operation from the end: the number of operations on ranks that were not computed before, the last one having 1."""
    new = [int(node.place is not None and not node.passed) for node in order]
    left = list(accumulate(new[::-1]))
    return left[::-1]


def pass_by(order: Sequence[Node]) -> None:
    """Note that ranks have computed these operations, which are all of a program."""
    for node, distance in zip(order, distances(order), strict=True):
        if not node.passed:
            node.pass_by(max(distance, 1))


def _lines_of(node: Node) -> Recent[int, set[int]]:
    """The table of stored lines that a node belongs to: the table of its world, or that of the process if it lies on no ranks."""
    if node.place is None:
        return _programs.stored_lines
    lines: Recent[int, set[int]] = node.place.log.stored_lines
    return lines


def store_line(node: Node) -> None:
    """Store the values of a node's line from now on; on ranks the values at the distance of this node from the end of a program."""
    lines, number = _lines_of(node), site_number(node.site)
    lines[number] = {*lines.get(number, ()), node.passed}


def _read_again(order: Sequence[Node], roots: set[int]) -> list[Node]:
    """Values that ranks have passed by and later operations read: the same on all ranks, whatever refers to them."""
    read = {arg for node in order if not node.passed for arg in node.args if type(arg) is Node}
    return [n for n in order if n in read and n.place is not None and id(n) not in roots]


def _may_be_stored(node: Node) -> bool:
    if node.site is None or not node.geometry.ndim:
        return False
    return node.op.elementwise or (node.place is not None and fills(node))


def compute(pending: list[Node]) -> None:
    """Compute the values of nodes by one program, or operation by operation if planning fails."""
    if native is not None and native.evaluate(pending):
        return
    before, looks.computing = looks.computing, True
    try:
        finish = (looks.compute or _compute)(pending)
    finally:
        looks.computing = before
    if finish is not None:
        finish()


def _compute(pending: list[Node]) -> Callable[[], None] | None:
    """Compute nodes; return the remaining step of ranks, if any."""
    pending = list(pending)
    try:
        prepared = _prepared(pending)
    except Exception as error:
        statistics.failed(error)
        prepared = None
    if prepared is None:
        numpy_evaluation.compute(pending)
        return None
    program, state, leaves, order = prepared
    del prepared
    if program.communicator is not None:
        warn.come_first()
        if not numpy_evaluation.begun(program, state, leaves, order, pending, config.settings()):
            return None
        pass_by(order)
    del leaves
    _run(program, state, order)
    if program.communicator is None:
        return None
    return partial(finished, program, *stored_by(program, order))


_Prepared = tuple[Program, State, list[Node], list[Node]]
"""A program, the state of a run, the leaves and the pending nodes of the trace."""


def _prepared(pending: list[Node]) -> _Prepared:
    """One program for these nodes: one that was used for such a trace before, or else one that is made. ``pending`` gets the
    values that are stored with them, which ranks without a plan compute, too."""
    attempted = statistics.attempted
    lookup = look_up(pending)
    more = attempted(computed_again, lookup, pending)
    if more:
        stored = [place for place, node in enumerate(lookup.order) if node in more]
        attempted(teach, lookup, pending, None, stored)
        del lookup
        pending += more
        return _prepared(pending)
    leaves, order, program = lookup.leaves, lookup.order, lookup.program
    if program is not None and program.running:
        from .planning import make_program

        program = make_program(lookup, pending, backend.current().step.of)
    state = State([leaf.value for leaf in leaves], lookup.scalars, int(program is not None))
    if program is None:
        with profiler.span(Kind.PLAN, "plan"), progress.task("compiling", "kernels"):
            program = _new_program(lookup, pending)
    passing = passing_of(lookup, pending, program)
    if program.communicator is None:
        for place in passing:
            order[place].pass_by()
    if program.quick is not None or is_moved(program):
        attempted(teach, lookup, pending, program, passing)
    return program, state, leaves, order


def shared() -> dict[str, Any]:
    """The caches of the process, by the names of their attributes, for the native evaluation."""
    return _programs.process


def _run(program: Program, state: State, order: list[Node]) -> None:
    """Run a program, and store the values in the nodes."""
    if profiler.now.recording is not None:
        state.sites = sites_of(program, order)
    try:
        results, flags = program.run(state)
        births = program.births or program.kept
        for place, value, birth in zip(program.kept, results, births, strict=True):
            value.program = program
            program.settle(order[place], value, birth)
    except BaseException as error:
        rescued(program, state, order, error)
        raise
    if flags:
        flags_reported(program, state, order)


def _recording(frame: FrameType) -> Site | None:
    """The line that recorded the operation that NumPy computes in a program, from the frame that runs the program."""
    if frame.f_code is not _run.__code__:
        return None
    names = frame.f_locals
    step = getattr(names.get("state"), "step", None)
    number = getattr(step, "number", -1)
    return None if number < 0 else names["order"][number].site


warn.register_sites(_recording)


def _new_program(lookup: Lookup, roots: list[Node]) -> Program:
    """The program of a new trace: a plan of its structure may fit."""
    from ..plan.plans import Plans
    from .planning import planned, sample_of

    structure = lookup.key[: lookup.structure]
    plans = _programs.plans.get(structure)
    program = None
    if plans is None:
        plans = _programs.plans[structure] = Plans()
    elif plans.known:
        sample = sample_of(lookup.leaves, lookup.order)
        program = statistics.attempted(plans.bound, sample, lookup.order)
    if program is None:
        program = planned(lookup, roots, plans)
    else:
        statistics.add("plans_reused")
        statistics.add("plans_moved")
    _programs.programs[lookup.key] = program
    return program


def bound_program(roots: Sequence[Node]) -> tuple[Program, Lookup]:
    """Program of a trace for any values of its leaves with the present shapes, dtypes and strides."""
    walk = Walk(roots)
    walk.add_numbers()
    leaves = walk.leaves
    settings = config.settings()
    strides = tuple([leaf.value.array.strides for leaf in leaves])  # type: ignore[union-attr]
    wanted = tuple(walk.wanted or ())
    key = ("bound", *walk.key, strides, wanted, settings.fusion, settings.small)
    alive = tuple([True] * len(leaves))
    unseen = tuple([False] * len(walk.order))
    program = _programs.programs.get(key)
    lookup = Lookup(key, 0, program, leaves, walk.scalars, walk.order, alive, unseen)
    if program is None:
        from .planning import planned

        program = _programs.programs[key] = planned(lookup, list(roots))
    return program, lookup
