"""Runs the steps of a program under a profile, which records the time of each step and the lines that it works for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from ..backend.base import KernelStep
from ..context import profiler, statistics
from ..context.profiler import Kind, Recording
from ..graph.node import Operation, Site
from .parts import State, Step

_NAMES = 4
"""The most operations that the name of a kernel lists."""

Sites = Mapping["Site | None", "Site | None"]
Event = tuple[int, int, int, int, tuple[int, ...], tuple[float, ...], int]
"""The kind of a span, the number of its name, its bytes, its count, its lines, the part of each, and the other rank, or -1."""


def run(steps: Iterable[Step], state: State, sites: Sites) -> None:
    """Run the steps, each as a span."""
    for step in steps:
        state.step = step
        event = event_of(step, sites)
        if event is None:
            step.run(state)
            continue
        profiler.begin()
        try:
            step.run(state)
        finally:
            profiler.spans.end(*event)


def event_of(step: Step, sites: Sites) -> Event | None:
    """The event of a step under a profile; ``None`` for a step that takes no time of its own, or records itself.

    ``sites`` maps each line that the program was made for to the line that recorded this trace.
    """
    recording = profiler.now.recording
    return None if recording is None else statistics.attempted(_event, step, sites, recording)


def _event(step: Step, sites: Sites, recording: Recording) -> Event | None:
    kernels = _kernel_steps(step)
    if kernels:
        nbytes = sum([sum(kernel.traffic().values()) for kernel in kernels])
        largest = max(kernels, key=lambda kernel: _elements(kernel) * len(kernel.launch.operations))
        name = recording.name(_named(largest.launch.operations))
        return Kind.KERNELS, name, nbytes, len(kernels), *_shares(kernels, sites, recording), -1
    function = getattr(step, "function", None)
    if function is None:
        return None
    name = recording.name(f"numpy.{getattr(function, '__name__', 'call')}")
    return Kind.NUMPY, name, 0, 1, (), (), -1


def _kernel_steps(step: Any) -> list[KernelStep]:
    """The kernels of a step: itself, or the kernels of its parts."""
    if isinstance(step, KernelStep):
        return [step]
    return [kernel for part in getattr(step, "steps", ()) for kernel in _kernel_steps(part)]


def _elements(kernel: KernelStep) -> int:
    """The number of times the body of a kernel runs."""
    return prod(kernel.bound()[0])


def _named(operations: Sequence[Operation]) -> str:
    """The name of a kernel, from its operations."""
    names = Counter([operation.name for operation in operations])
    words = [name if n == 1 else f"{n} {name}" for name, n in names.most_common(_NAMES)]
    return ", ".join(words) + (", ..." if len(names) > _NAMES else "") or "copy"


def _shares(
    kernels: Sequence[KernelStep], sites: Sites, recording: Recording
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The lines that recorded the operations of kernels, and the fraction of the work of each."""
    lines: Counter[int] = Counter()
    for kernel in kernels:
        for operation in kernel.launch.operations:
            site = sites.get(operation.site, operation.site)
            lines[recording.line_at(site)] += max(1, _elements(kernel))
    lines.pop(-1, None)
    total = sum(lines.values())
    ordered = lines.most_common()
    return tuple([line for line, _ in ordered]), tuple([count / total for _, count in ordered])
