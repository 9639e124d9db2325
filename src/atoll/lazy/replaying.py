"""What the native evaluation (``_native/replay.c``) learns of programs, and what is left to Python after a run.

That is to issue warnings, and to keep what a failed run has stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backend.flags import report
from ..comm.common_warnings import note
from ..config import config
from ..context import profiler, statistics
from ..context.threads import turn
from ..context.tracebacks import note_recording
from ..context.warn import line_at
from ..errors import OutOfMemoryError
from ..execute import observed
from ..execute.allocation import Wanted
from ..execute.parts import State, Step, told
from ..execute.program import Program
from ..front import native
from ..graph.node import Node, Site
from .planning import Lookup


def teach(
    lookup: Lookup,
    pending: list[Node],
    program: Program | None,
    passing: list[int],
    judged: Any,
) -> None:
    """Let the native evaluation run a program that one process computes alone, for traces of which as much is alive.

    ``passing`` are the nodes that it computes for others and does not store, though the program refers to them, and ``judged`` counts its
    evaluations. ``None`` is for a trace of whose nodes another program stores some, too: those that it passes by.
    """
    if (
        native is None
        or turn.simulated
        or (program is not None and program.communicator is not None)
    ):
        return
    trace = native.trace(pending, lookup.leaves, lookup.order)
    alive, settings = bytes([*lookup.alive_leaves, *lookup.alive_nodes]), config.settings()
    if trace is None or native.is_taught(trace, alive, settings):
        return
    if program is None:
        native.fit(trace, alive, settings, None, 0, (), (), (), tuple(passing), None)
        return
    steps = tuple([told(step) for step in program.quick or ()])
    kept, outputs, size = program.kept, program.outputs, program.size
    native.fit(trace, alive, settings, program, size, steps, outputs, kept, tuple(passing), judged)


def flags_reported(program: Program, flags: Sequence[Any], order: list[Node]) -> None:
    """Issue the warnings for floating-point flags that came up in a run."""
    sites = sites_of(program, order)
    communicator = program.communicator

    def keep(text: str, site: Site, number: int) -> None:
        assert communicator is not None
        note(communicator.log, text, RuntimeWarning, line_at(site), number)

    for bits, step in flags:
        report(bits, step, sites, None if communicator is None else keep)


def work_of(step: Step, program: Program, order: list[Node]) -> Any:
    """What a step does, as a profile counts it."""
    recording = profiler.now.recording
    if recording is None:
        return None
    sites = sites_of(program, order)
    return statistics.attempted(lambda: observed.work_of(step, sites, recording))


def rescued(program: Program, state: State, order: list[Node], error: BaseException) -> None:
    """Keep what a run that failed has stored, and name the line that recorded what has failed."""
    for place, value in program.completed(state):
        birth = program.outline.ordinals.get(place, -1) if program.outline else -1
        program.settle(order[place], value, birth)
    if isinstance(error, OutOfMemoryError) and isinstance(error.wanted, Wanted):
        error.asked_by(error.wanted.at(sites_of(program, order)))
    number = getattr(getattr(state, "step", None), "number", -1)
    if number >= 0:
        note_recording(error, order[number].site)


def sites_of(program: Program, order: list[Node]) -> dict[Site | None, Site | None]:
    """For each line that the program was made for, the one that recorded this trace."""
    return {old: node.site for old, node in zip(program.sites, order)}
