"""Sweeps: consecutive kernels that go over large arrays together, block by block.

Kernels that run one after the other load every array from memory anew. If they read and write it row by row, a kernel can
follow its predecessor at a distance of few rows, and finds the rows still in the cache.

The *chunks* of a launch are the pieces that threads take. Each reads and writes an interval of bytes of each operand. A chunk
may run as soon as all chunks of earlier launches have run whose intervals meet its own, unless both only read. Any order that
respects this gives the same values, bit for bit: each chunk does what it would have done. So a sweep only
reorders the chunks. Where the intervals of a launch do not move with its chunks, as along columns, it waits for the whole
of the launches before it, and the sweep gains and loses nothing.

Steps between the kernels that allocate, share and release memory come before or after all of them. A new buffer takes
over a released one of its geometry, so a sweep takes no more memory than its kernels one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from .. import policy
from ..backend.base import Interval, Intervals, KernelStep
from ..config import config
from ..graph.geometry import Geometry
from .allocation import Allocate, Release, Share
from .parts import State, Step

Array = np.ndarray[Any, Any]
Order = list[tuple[int, int, int]]
"""A sequence of runs of chunks: the number of the launch, the first chunk, and the last plus one."""


def swept(steps: Sequence[Step]) -> list[Step]:
    """The steps, with sweeps in place of the kernels that gain from them."""
    result: list[Step] = []
    memory: dict[int, int] = {}
    run = _Run(memory)
    for step in steps:
        if not run.takes(step):
            result += run.ended()
            run = _Run(memory)
            if not run.takes(step):
                result.append(step)
    return result + run.ended()


class _Run:
    """Consecutive kernels, and the steps between them that allocate, share and release memory."""

    def __init__(self, memory: dict[int, int]) -> None:
        self.steps: list[Any] = []
        self.kernels: list[KernelStep] = []
        self.memory = memory
        """The register whose memory a register shares, over all steps so far."""
        self.allocated: list[Allocate] = []
        self.shared: list[Share] = []
        self.released: list[Release] = []
        self._own: dict[int, Geometry] = {}
        self._free: list[tuple[Geometry | None, int]] = []
        """Released registers whose memory no other one has taken over; no geometry for memory from before the run."""

    def takes(self, step: Any) -> bool:
        """Add a step unless that costs more memory than the steps one by one; True if it was added."""
        if type(step) is Allocate and step.initial is None:
            source = next((r for geometry, r in self._free if geometry is step.geometry), None)
            if source is not None:
                self._free.remove((step.geometry, source))
                self._share(step.register, source)
            elif self._free:
                return False
            else:
                self.allocated.append(step)
            self._own[step.register] = step.geometry
        elif type(step) is Share:
            self._share(step.register, step.source)
            if step.source in self._own:
                self._own[step.register] = self._own.pop(step.source)
        elif type(step) is Release:
            self.released.append(step)
            taken_over = {share.source for share in self.shared}
            self._free += [
                (self._own.pop(register, None), register)
                for register in step.registers
                if register not in taken_over
            ]
        elif isinstance(step, KernelStep) and len(self.kernels) < policy.limits.numbers:
            self.kernels.append(step)
        else:
            return False
        self.steps.append(step)
        return True

    def _share(self, register: int, source: int) -> None:
        self.memory[register] = self.memory.get(source, source)
        self.shared.append(Share(register, source))

    def ended(self) -> list[Any]:
        """The steps, or the sweep in their place."""
        if len(self.kernels) < 2 or not _gain(self.kernels, self.memory):
            return self.steps
        launches = []
        for kernel in self.kernels:
            intervals = kernel.intervals()
            if intervals is None:
                return self.steps
            launches.append(ChunkIntervals(intervals, self.memory))
        for kernel, launch in zip(self.kernels, launches, strict=True):
            kernel.cut(launch.intervals)
        return [Sweep(self, launches)]


class ChunkIntervals:
    """The intervals that the chunks of a kernel read and write, by the register that owns the memory."""

    __slots__ = ("intervals", "of")

    def __init__(self, intervals: Intervals, memory: dict[int, int]) -> None:
        self.intervals = intervals
        self.of: dict[int, list[Interval]] = {}
        for interval in intervals.operands:
            register = interval.register
            self.of.setdefault(memory.get(register, register), []).append(interval)

    def needs(self, earlier: ChunkIntervals) -> Array:
        """For each chunk, the number of chunks of an earlier launch that must run before it."""
        needed = np.zeros(self.intervals.chunks, np.int64)
        for register, mine in self.of.items():
            for own in mine:
                for other in earlier.of.get(register, ()):
                    if own.written or other.written:
                        np.maximum(needed, _met(own, other), out=needed)
        return needed


def _met(own: Interval, other: Interval) -> Array:
    """For each chunk, the number of first chunks of another launch that include all which meet it."""
    if (np.diff(other.low) < 0).any():  # the chunks go backwards
        meets = (other.low.min() < own.high) & (other.high.max() > own.low)
        return np.where(meets, len(other.low), 0)
    count = np.searchsorted(other.low, own.high, "left")
    before = np.maximum.accumulate(other.high)[np.maximum(count, 1) - 1] <= own.low
    return np.where(before, 0, count)


def ordered(launches: Sequence[ChunkIntervals], threads: int) -> Order:
    """The chunks of launches, each as closely behind the chunks that it needs as possible."""
    needs = [
        [
            (k, need)
            for k, earlier in enumerate(launches[:n])
            if (need := launch.needs(earlier)).any()
        ]
        for n, launch in enumerate(launches)
    ]
    chunks = [launch.intervals.chunks for launch in launches]
    done = [0] * len(launches)
    order: Order = []

    def run(number: int, until: int) -> None:
        """Run a launch up to a chunk, after the chunks that it needs."""
        if until <= done[number]:
            return
        for earlier, need in needs[number]:
            run(earlier, int(need[done[number] : until].max()))
        order.append((number, done[number], until))
        done[number] = until

    # each block has several chunks for each thread
    blocks = -(-max(chunks) // (1 if threads == 1 else threads * policy.limits.pieces))
    for block in range(1, blocks + 1):
        for number, count in enumerate(chunks):
            run(number, -(-count * block // blocks))
    return order


def _gain(kernels: Sequence[KernelStep], memory: dict[int, int]) -> bool:
    """True if the kernels' memory far exceeds the cache, and repeated accesses are a large part of all."""
    known: dict[int, int] = {}
    again = total = 0
    for kernel in kernels:
        traffic: dict[int, int] = {}
        for (register, _), nbytes in kernel.traffic().items():
            root = memory.get(register, register)
            traffic[root] = max(nbytes, traffic.get(root, 0))
        for root, nbytes in traffic.items():
            before = known.get(root, 0)
            again += min(before, nbytes)
            total += nbytes
            known[root] = max(before, nbytes)
    pieces, cached = policy.limits.pieces, policy.limits.cached
    return sum(known.values()) > pieces * cached and again * pieces > total


class Sweep:
    """Kernels over the same rows, block by block, and the memory for them."""

    __slots__ = ("_launches", "_run", "_threads", "_together", "_written", "steps")

    def __init__(self, run: _Run, launches: Sequence[ChunkIntervals]) -> None:
        self.steps = tuple(run.steps)
        self._run = run
        self._launches = launches
        self._threads = 0
        self._together: Any = None
        self._written: dict[int, tuple[int, bool]] = {}
        """For each register of the kernels, the register that owns its memory, and True if a kernel writes there."""
        for launch in launches:
            for root, operands in launch.of.items():
                for operand in operands:
                    _, before = self._written.get(operand.register, (root, False))
                    self._written[operand.register] = root, before or operand.written

    def run(self, state: State) -> None:
        """Allocate, compute, release; after an interrupt, go on from there."""
        run = self._run
        if state.done is self._together is not None:
            self._together.flagged(state)
            self._release(state)
            return
        if state.done in run.kernels:
            state.done.flagged(state)
            self._one_by_one(run.kernels[run.kernels.index(state.done) + 1 :], state)
            return
        if self._threads != config.threads:
            self._threads = config.threads
            order = ordered(self._launches, self._threads)
            self._together = type(run.kernels[0]).joined(run.kernels, order)
        for allocate in run.allocated:
            allocate.run(state)
        for share in run.shared:
            share.run(state)
        if any(first.meets(second) for first, second in combinations(self._spans(state), 2)):
            self._one_by_one(run.kernels, state)
        else:
            self._together.run(state)
            self._release(state)

    def _one_by_one(self, kernels: Sequence[Any], state: State) -> None:
        for kernel in kernels:
            kernel.run(state)
        self._release(state)

    def _release(self, state: State) -> None:
        for release in self._run.released:
            release.run(state)

    def _spans(self, state: State) -> list[_Span]:
        """The memory of the registers in this run."""
        spans = []
        for register, (root, written) in self._written.items():
            value = state.registers[register]
            assert value is not None
            spans.append(_Span(root, written, *byte_bounds(value.array)))
        return spans


class _Span(NamedTuple):
    """The memory of a register."""

    root: int
    written: bool
    low: int
    high: int

    def meets(self, other: _Span) -> bool:
        """True if kernels must keep their order because of an overlap that the registers do not show."""
        if self.root == other.root or not (self.written or other.written):
            return False
        return self.low < other.high and other.low < self.high
