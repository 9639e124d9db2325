"""Compiled loops: the memory that they touch, and their arithmetic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from .. import policy
from ..backend.spec import STREAMS, arguments, is_full, rounds
from ..context.call_sites import site_text
from ..execute.allocation import Allocate, Release, Share
from ..ops.ufuncs import COSTS, Cost
from ..plan.launches import Launch
from .reuse import Reuse, Span, Touched, span, united
from .work import Work, weight

ROW = 1 << 8
"""Distance in bytes beyond which elements belong to different rows."""
FIRST = 1 << 15
"""The bytes of the first cache: rereading data from it costs one operation only."""
NEAR = 1 << 20
"""The approximate reuse distance between loops that sweep over their rows together."""

WINDOW = 128
"""The operations in a processor's out-of-order window. A loop with longer iterations waits for memory after its arithmetic."""


class _Taken(NamedTuple):
    """A launch, its spans of arrays, and the line that triggered it."""

    launch: Launch
    spans: list[Span]
    asked: str


class Loops:
    """Consecutive kernels, which may sweep over their rows together (:mod:`..execute.sweeps`): each array is then read from
    memory once, and written once."""

    def __init__(self, events: list[Any], reuse: Reuse, address: Callable[[int], int]) -> None:
        self._events = events
        self._reuse = reuse
        self._address = address
        """Maps a register to the address of its memory."""
        self._taken: list[_Taken] = []

    def take(self, step: Any, asked: str) -> bool:
        """Add a step to the sequence; False if kernels before and after it cannot sweep together."""
        launch = getattr(step, "launch", None)
        if launch is not None:
            self._taken.append(_Taken(launch, self._spans(launch), asked))
            return True
        return isinstance(step, Share | Release) or (
            isinstance(step, Allocate) and step.initial is None
        )

    def _spans(self, launch: Launch) -> list[Span]:
        """The span of each array that a launch touches."""
        spans: dict[int, list[Span]] = {}
        for memory, operand in zip(launch.memories, launch.spec.operands, strict=True):
            where = self._address(memory.register)
            size = operand.run * memory.dtype.itemsize
            touched = span(where + memory.offset, launch.extents, memory.strides, size)
            if touched is not None:
                spans.setdefault(where, []).append(touched)
        return [united(each) for each in spans.values()]

    def end(self) -> None:
        """Count the kernels of the sequence, and empty it."""
        if self._go_together():
            first: list[list[Span]] = []
            met: list[Span] = []
            for taken in self._taken:
                first.append(
                    [each for each in taken.spans if not any(_within(each, m) for m in met)]
                )
                met += first[-1]
            told = iter(self._reuse.touched(met))
            for taken, spans in zip(self._taken, first, strict=True):
                touched = [part for _ in spans for part in next(told)]
                again = sum([each.nbytes for each in taken.spans if each not in spans])
                touched += [(again, NEAR)] * bool(again)
                self._events.append(_work_of(taken.launch, tuple(touched), taken.asked))
        else:
            for launch, spans, asked in self._taken:
                touched = [part for parts in self._reuse.touched(spans) for part in parts]
                self._events.append(_work_of(launch, tuple(touched), asked))
        self._taken = []

    def _go_together(self) -> bool:
        """True if the launches touch more than the caches hold, and share enough of it for a sweep to pay."""
        known: list[Span] = []
        again = total = 0
        for taken in self._taken:
            for each in taken.spans:
                total += each.nbytes
                if any(_within(each, other) for other in known):
                    again += each.nbytes
                else:
                    known.append(each)
        once = sum([each.nbytes for each in known])
        pieces, cached = policy.limits.pieces, policy.limits.cached
        return once > pieces * cached and again * pieces > total


def _within(first: Span, second: Span) -> bool:
    """True if most of a span lies in another one."""
    shared = min(first.high, second.high) - max(first.low, second.low)
    return 2 * shared > first.high - first.low


def _work_of(launch: Launch, touched: Touched, asked: str) -> Work:
    """The work of a launch that touches this memory.

    Each load or store of an element counts as an operation: a stencil has more of them than additions.
    """
    spec = launch.spec
    elements = prod(launch.extents)
    operations = sum([weight(operand.dtype) for operand in spec.operands])
    operations += sum([weight(each.dtype) for each in spec.reductions])
    # scalars that do not fit in registers are loaded in each iteration
    numbers = [weight(each.dtype) for each in spec.body if each.op == "scalar"]
    operations += sum(numbers[policy.limits.registers // STREAMS :])
    functions: defaultdict[str, float] = defaultdict(float)
    depths: list[float] = []
    for each in spec.body:
        depth = max([depths[k] for k in arguments(each)], default=0.0)
        if each.op == "call":
            cost, size = COSTS.get(each.name, Cost()), weight(each.dtype)
            if cost.like == "add":
                operations += size
                depth += 1
            else:
                functions[cost.like] += cost.times * size * elements
        depths.append(depth)
    again = _rows_again(launch)
    sites = [operation.site for operation in launch.operations if operation.site]
    site = site_text(sites[-1]) if sites else asked
    form = "plain" if again is None else "stencil"
    if not any("w" in operand.access and operand.inner != "zero" for operand in spec.operands):
        form = _folded(launch) if again is None else "stencil"
    elif again is not None and any(each.operand < 0 and rounds(each) for each in spec.reductions):
        form = "summed"
    return Work(
        "kernel", touched, elements * operations, site, tuple(functions.items()),
        elements * operations * max(depths, default=0.0), tuple(again or ()), form, operations > WINDOW,
    )  # fmt: skip


def _folded(launch: Launch) -> str:
    """The form of a loop that stores only folds: rows are folded one by one, and extremes compare each element twice."""
    spec = launch.spec
    if any(fold.op not in ("add", "multiply") for fold in spec.reductions):
        return "extremes"
    row = spec.ndim - 1
    if any(row in fold.axes and not is_full(fold, spec.ndim) for fold in spec.reductions):
        return "rows"
    return "folded"


def _rows_again(launch: Launch) -> list[tuple[int, float]] | None:
    """Bytes of rows reread from beyond the first cache, with reuse distances; ``None`` if a launch does not read several rows."""
    offsets: dict[int, set[int]] = {}
    nbytes: dict[int, int] = {}
    for memory, operand in zip(launch.memories, launch.spec.operands, strict=True):
        if any(memory.strides):
            lengths = [n for n, along in zip(launch.extents, memory.strides, strict=True) if along]
            nbytes[memory.register] = prod(lengths) * memory.dtype.itemsize
            rows = offsets.setdefault(memory.register, set())
            if "r" in operand.access:
                rows.add(memory.offset)
    gaps = [
        (register, apart)
        for register, rows in offsets.items()
        for low, high in pairwise(sorted(rows))
        if (apart := high - low) > ROW
    ]
    if not gaps:
        return None
    # between two rows each array advances by equally many bytes
    distances = [(nbytes[register], apart * len(offsets)) for register, apart in gaps]
    return [(size, distance) for size, distance in distances if distance > FIRST]
