"""Runs the steps of a program where a profile is recorded: how long each takes, and for which lines it works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..context import profiler
from ..context.profiler import Kind, Recording
from ..graph.node import Operation, Site
from .parts import State, Step

_NAMES = 4
"""How many operations the name of a kernel has."""

Sites = Mapping["Site | None", "Site | None"]
Work = tuple[int, int, int, int, tuple[int, ...], tuple[float, ...]]


def run(steps: Iterable[Step], state: State, sites: Sites) -> None:
    """Run the steps, each as a span."""
    for step in steps:
        state.step = step
        recording = profiler.now.recording
        work = None if recording is None else work_of(step, sites, recording)
        if work is None:
            step.run(state)
            continue
        profiler.begin()
        try:
            step.run(state)
        finally:
            profiler.spans.end_work(work)


def work_of(step: Step, sites: Sites, recording: Recording) -> Work | None:
    """What a step does, as a profile counts it; ``None`` for what takes no time of its own, or says itself what it does.

    ``sites`` has the lines that recorded the trace, for each of those that its program was made for.
    """
    launches = _launches(step)
    if launches:
        nbytes = sum([_traffic(launch) for launch in launches])
        largest = max(launches, key=_work)
        name = recording.name(_named(largest.operations))
        return Kind.KERNELS, name, nbytes, len(launches), *_shares(launches, sites, recording)
    function = getattr(step, "function", None)
    if function is None:
        return None
    name = recording.name(f"numpy.{getattr(function, '__name__', 'call')}")
    return Kind.NUMPY, name, 0, 1, (), ()


def _launches(step: Any) -> list[Any]:
    """The launches of a step: its own, or those of the steps that it consists of."""
    launch = getattr(step, "launch", None)
    if launch is not None:
        return [launch]
    return [launch for part in getattr(step, "steps", ()) for launch in _launches(part)]


def _traffic(launch: Any) -> int:
    """About the bytes that a launch reads and writes: each register once for each."""
    most: dict[tuple[int, str], int] = {}
    for memory, operand in zip(launch.memories, launch.spec.operands, strict=True):
        extents = [n for n, step in zip(launch.extents, memory.strides, strict=True) if step]
        nbytes = prod(extents) * operand.run * np.dtype(operand.dtype).itemsize
        for way in operand.access:
            key = memory.register, way
            most[key] = max(most.get(key, 0), int(nbytes))
    return sum(most.values())


def _named(operations: Sequence[Operation]) -> str:
    """The operations of a kernel, in words."""
    names = Counter([operation.name for operation in operations])
    words = [name if n == 1 else f"{n} {name}" for name, n in names.most_common(_NAMES)]
    return ", ".join(words) + (", ..." if len(names) > _NAMES else "") or "copy"


def _work(launch: Any) -> int:
    size: int = prod(launch.extents)
    return size * len(launch.operations)


def _shares(
    launches: Sequence[Any], sites: Sites, recording: Recording
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The lines that the operations of launches were recorded at, and which part of the work each has."""
    lines: Counter[int] = Counter()
    for launch in launches:
        for operation in launch.operations:
            site = sites.get(operation.site, operation.site)
            lines[recording.line_at(site)] += max(1, prod(launch.extents))
    lines.pop(-1, None)
    total = sum(lines.values())
    ordered = lines.most_common()
    return tuple([line for line, _ in ordered]), tuple([count / total for _, count in ordered])
