"""Passes: the rules of planning, in tables of a name, a condition and a rewrite.

Two stages of planning are tables: the choice of stored nodes (``statements.RULES``), and the rewriting of a loop nest
(``nests.PASSES``). With ``config.debug`` a specification of legal choices, statements, loop nests and launches is checked after each
pass. The checks read structure but no extents: extents of a plan are symbolic, and a comparison would become a condition of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..backend.spec import Instruction, arguments, whole

if TYPE_CHECKING:
    from .groups import Group
    from .launches import Launch
    from .nests import Nest
    from .statements import Statement
    from .trace import Choice

State = TypeVar("State")


class Pass(NamedTuple, Generic[State]):
    """A rule of planning."""

    name: str
    applies: Callable[[State], object] | None
    """``None``: always."""
    rewrite: Callable[[State], list[State] | None]
    """The states that replace a state; ``None`` if it was changed in place."""


def applied(
    passes: Sequence[Pass[State]], state: State, check: Callable[[State, str], None] | None
) -> list[State]:
    """The states that result from a state by all passes in order. ``check`` takes a state and the name of the pass that made it."""
    states = [state]
    for name, applies, rewrite in passes:
        for each in states[:]:
            results = rewrite(each) if applies is None or applies(each) else None
            if results is not None:
                place = states.index(each)
                states[place : place + 1] = results
        if check is not None:
            for each in states:
                check(each, name)
    return states


STYLES = ("map", "place", "fold", "numpy", "collective", "local")


def require(holds: object, where: str, rule: str, what: object) -> None:
    """Raise an error that names the pass and the rule that it broke."""
    if not holds:
        raise AssertionError(f"planning, after {where}: {rule}, but not {what!r}")


def check_choice(choice: Choice, where: str) -> None:
    """Check that roots and the nodes that NumPy computes are stored, and no node that is in memory already."""
    pending = {id(node) for node in choice.trace.order}
    for root in choice.trace.roots:
        require(root.value or id(root) in choice.stored, where, "all roots are stored", root)
    for node in choice.trace.order:
        if id(node) in choice.by_numpy:
            require(id(node) in choice.stored, where, "what NumPy computes is stored", node)
    for stored, reason in choice.stored.items():
        require(
            stored in pending and reason, where, "pending nodes are stored for a reason", reason
        )


def check_statements(statements: Sequence[Statement], where: str) -> None:
    """Check that a statement has a style of its operation, and reads leaves and the results of earlier statements."""
    later = {id(statement.node) for statement in statements}
    for statement in statements:
        node, op = statement.node, statement.node.op
        require(statement.style in STYLES, where, "styles are known", statement.style)
        fits = {"fold": op.folds, "place": op.is_update, "local": op.is_update}
        require(fits.get(statement.style, True), where, "styles are those of operations", node)
        later.discard(id(node))
        ahead = later.intersection(statement.reads)
        require(not ahead, where, "what a statement reads is stored before it", node)


def check_group(group: Group, where: str) -> None:
    """Check that all statements of a group run over its domain, and read its results at their own index."""
    stored: set[int] = set()
    for statement in group.statements:
        alike = statement.domain == group.domain and statement.place is group.place
        require(alike, where, "statements of a group share domain and place", statement.node)
        aligned = all(statement.reads[source] for source in stored.intersection(statement.reads))
        require(aligned, where, "what a group stores is read at its own index", statement.node)
        stored.add(id(statement.node))


def check_nest(nest: Nest, where: str) -> None:
    """Check that values are computed before they are used, and that operands have a stride for each axis."""
    ndim, memories = len(nest.body.box), nest.memories
    _check_body(nest.body.instructions, nest.body.reductions, memories, where)
    for memory in memories:
        require(len(memory.strides) == ndim, where, "operands have a stride for each axis", memory)
    for loop in nest.loops:
        known = all(0 <= axis < ndim for axis in loop.axes)
        require(known, where, "loops run along axes of the domain", loop)


def check_launch(launch: Launch, where: str) -> None:
    """Check that a launch binds everything that the specification of its kernel lists."""
    spec, ndim = launch.spec, launch.spec.ndim
    _check_body(spec.body, spec.reductions, launch.memories, where)
    require(len(launch.memories) == len(spec.operands), where, "operands have memory", spec)
    require(len(launch.scalars) == len(spec.scalars), where, "scalars have numbers", spec)
    bound = [launch.extents, launch.origins, launch.axes, *[m.strides for m in launch.memories]]
    alike = all(len(numbers) == ndim for numbers in bound)
    require(alike, where, "every loop has an extent, an origin, axes and strides", launch)
    full = [fold for fold in spec.reductions if fold.operand < 0]
    require(len(full) == len(launch.partials), where, "full reductions have partials", launch)


def _check_body(
    instructions: Sequence[Instruction], reductions: Sequence[Any], memories: Any, where: str
) -> None:
    for number, instruction in enumerate(instructions):
        ready = all(0 <= argument < number for argument in arguments(instruction))
        require(ready, where, "values are computed before they are used", instruction)
        if instruction.op in ("load", "store"):
            operand = whole(instruction.args[0])
            require(operand < len(memories), where, "loads and stores have operands", instruction)
            written = instruction.op == "load" or "w" in memories[operand].access
            require(written, where, "what a store writes is written", instruction)
    for fold in reductions:
        known = -1 <= fold.position < len(instructions) and 0 <= fold.value < len(instructions)
        require(known, where, "reductions fold values of the body", fold)
