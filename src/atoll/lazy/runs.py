"""Programs as the native evaluation (``_native/replay.c``) runs them, and Python's part before and after a run.

Python lets ranks begin (:func:`.numpy_evaluation.begun`) and finish together, issues warnings, and keeps the values that a failed run has
stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any

from .. import policy
from ..backend.flags import report
from ..comm import common_warnings
from ..comm.world import World
from ..config import config
from ..context import statistics, warn
from ..context.threads import turn
from ..context.tracebacks import note_recording
from ..context.warn import line_at
from ..errors import OutOfMemoryError
from ..execute import spans
from ..execute.allocation import Purpose
from ..execute.parts import State, Step, told
from ..execute.program import Program
from ..front import native
from ..graph import retention
from ..graph.geometry import Geometry
from ..graph.node import Node, Site, nbytes_of
from .walk import Lookup


def teach(
    lookup: Lookup,
    pending: list[Node],
    program: Program | None,
    passing: list[int],
) -> None:
    """Let the native evaluation run a program for traces with the same live nodes.

    ``passing`` lists the live nodes that it computes as operands and does not store. A ``program`` of ``None`` marks a trace for
    which another program stores some of these nodes, too.
    """
    if native is None or turn.simulated:
        return
    trace = native.trace(pending, lookup.leaves, lookup.order)
    alive, settings = bytes([*lookup.alive_leaves, *lookup.alive_nodes]), config.settings()
    if trace is None or native.is_taught(trace, pending, alive, settings):
        return
    if program is None:
        place = next((node.place for node in lookup.order if node.place is not None), None)
        log = place and place.log
        known: tuple[Any, ...] = (None, 0, (), (), (), tuple(passing), None, log, (), None, None)
    else:
        moving = None
        if program.plan is not None:
            from ..plan.motion import movable
            from .planning import sample_of

            sample = sample_of(lookup.leaves, lookup.order)
            moving = movable(program, sample, lookup.leaves, lookup.order)
        steps: Sequence[tuple[Any, ...]]
        if moving is None:
            steps, motion = [told(step) for step in program.quick or program.joined()], None
        else:
            program, steps, motion, together = moving
            motion = (*motion, together and partial(bound_again, program, together))
        log = None if program.communicator is None else program.communicator.log
        outputs, kept, births = program.outputs, program.kept, tuple(program.births)
        known = (
            program, program.size, tuple(steps), outputs, kept, tuple(passing), motion, log, births, *_ends(program, lookup.order),
        )  # fmt: skip
    native.fit(trace, pending, alive, settings, *known)


def is_moved(program: Program) -> bool:
    """True if a program comes from a plan that served others before, and may serve more without Python."""
    plan = program.plan
    if plan is None:
        return False
    return plan.first is not program and plan.spare > 0


def bound_again(
    program: Program,
    together: Callable[..., Any],
    results: Sequence[Any],
    geometries: list[Geometry],
    places: list[Any],
    order: list[Node],
) -> tuple[Any, ...] | None:
    """Bind the program of ranks to another trace: its steps of all ranks, by number, and how it begins and ends; ``None`` where it does
    not serve that trace. ``together`` makes these steps (:class:`..plan.motion.Together`)."""
    steps = statistics.attempted(together, results, geometries, places, order)
    if steps is None:
        return None
    program.compare(order)
    return (steps, *_ends(program, order))


def _ends(program: Program, order: list[Node]) -> tuple[Any, Any]:
    """How ranks begin a program, and the call that ends it; ``None`` for a program of one process."""
    if program.communicator is None:
        return None, None
    world, nbytes = stored_by(program, order)
    return opening(program, nbytes), partial(finished, program, world, nbytes)


def opening(program: Program, nbytes: int) -> tuple[Any, ...] | None:
    """Start and end of a program that ranks have agreed on, for the native evaluation; ``None`` if Python has to compare
    its inputs."""
    communicator, outline = program.communicator, program.outline
    if communicator is None or outline is None or outline.replicated or not communicator.log.exact:
        return None
    compared = tuple(outline.divided), tuple(outline.scalars), tuple(outline.takers)
    return (
        program.fingerprint, program.structure, *compared, program.computes, program.prices, program.to_all, program.divides, float(nbytes), float(policy.limits.step), communicator.log.step,
    )  # fmt: skip


def stored_by(program: Program, order: list[Node]) -> tuple[World | None, int]:
    """The world in which a program stores values, and their bytes on each rank: whatever a rank refers to, so that all count alike."""
    nodes = [order[k] for _, k, _ in program.stored if order[k].place is not None]
    return nodes[0].place.world if nodes else None, sum([nbytes_of(node) for node in nodes])


def finished(program: Program, world: World | None, nbytes: int) -> None:
    """Issue the warnings of all ranks, and count the bytes stored, after a program that they ran together. Collective."""
    communicator = program.communicator
    assert communicator is not None
    log = communicator.log
    if program.to_all and (log.unasked or log.raised):
        common_warnings.ask(communicator)
    log.unasked |= program.divides
    log.stored += nbytes
    if world is not None and log.stored > policy.limits.held:
        retention.stored(world, 0)


def _keeping(frame: FrameType) -> warn.Keep | None:
    """Function that keeps NumPy's warnings in a program that ranks run together, if ``frame`` runs a step of one."""
    state = frame.f_locals.get("state")
    return partial(common_warnings.note, state.log) if type(state) is State and state.log else None


warn.register_keeping(_keeping)


def flags_reported(program: Program, state: State, order: list[Node]) -> None:
    """Issue the warnings for floating-point flags that came up in a run."""
    sites = sites_of(program, order)
    communicator = program.communicator

    def keep(text: str, site: Site, number: int) -> None:
        assert communicator is not None
        common_warnings.note(communicator.log, text, RuntimeWarning, line_at(site), number)

    for bits, step in state.flags:
        report(bits, step, sites, None if communicator is None else keep)


def event_of(step: Step, program: Program, order: list[Node]) -> Any:
    """The event of a step under a profile."""
    return spans.event_of(step, sites_of(program, order))


def rescued(program: Program, state: State, order: list[Node], error: BaseException) -> None:
    """Keep the values that a failed run has stored, and name the line that recorded the failed operation."""
    for place, value in program.completed(state):
        birth = program.outline.ordinals.get(place, -1) if program.outline else -1
        program.settle(order[place], value, birth)
    if isinstance(error, OutOfMemoryError) and isinstance(error.wanted, Purpose):
        error.asked_by(error.wanted.at(sites_of(program, order)))
    number = getattr(getattr(state, "step", None), "number", -1)
    if number >= 0:
        note_recording(error, order[number].site)


def sites_of(program: Program, order: list[Node]) -> dict[Site | None, Site | None]:
    """Map from the lines that the program was made for to the lines that recorded this trace."""
    return {old: node.site for old, node in zip(program.sites, order)}
