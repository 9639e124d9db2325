"""Steps of a program that run kernels: the values bound once, and the values bound at every run."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import policy
from ...config import config
from ...graph.node import Node
from ..base import Interval, Intervals, KernelStep, Launch, Partials, Run, Told
from ..spec import is_flat, written_operands
from .compile import compile_kernel, worked
from .kernel import Kernel, Layout
from .types import SETTLED
from .ufuncs import can_flag
from .workers import team


class CompiledStep(KernelStep):
    """One kernel over one box."""

    def __init__(self, launch: Launch, numbers: Any, parts: list[tuple[Partials, int]]) -> None:
        words, offsets, self.chunks, self.work = numbers
        if launch.compiled is None:
            launch.compiled = compile_kernel(launch.spec, self.work)
        kernel: Kernel = launch.compiled
        self.launch = launch
        self._take(kernel)
        self.block = block = _block_of(kernel.layout, words, parts)
        self.pointer: int = ctypes.addressof(block)
        patches: list[tuple[int, Any, int]] = []
        for word, memory in enumerate(launch.memories, kernel.layout.pointers):
            patches.append((word, memory.register, offsets[len(patches)]))
        self.patches = tuple(patches)
        """For each operand its word, its register, and its offset in bytes."""
        scalars: list[tuple[Any, int, int]] = []
        for k, (number, dtype, _) in enumerate(launch.scalars):
            if number >= 0:
                scalars.append((*_place_of(block, kernel.layout.scalars + 2 * k, dtype), number))
        self.scalars = tuple(scalars)
        """For each number passed at a run: its destination, and its index."""
        self._folds = parts  # the kernel writes to their memory

    @staticmethod
    def numbers_of(launch: Launch) -> tuple[Any, ...]:
        strides: list[Any] = []
        offsets: list[Any] = []
        for memory in launch.memories:
            strides += memory.strides
            offsets.append(memory.offset)
        literals = [literal for _, _, literal in launch.scalars] if launch.scalars else ()
        words = launch.chunk, launch.extents, strides, literals, launch.origins
        return words, offsets, launch.chunks, _work(launch)

    def places(self, words: Any) -> list[tuple[int, Any]]:
        """Addresses of the numbers of the launch, except those of :meth:`KernelSteps.places`. Each comes with its entry
        in ``words``, the first of :meth:`numbers_of`."""
        block = _words_of(self.kernel.layout, words)
        return [(self.pointer + 8 * k, word) for k, word in enumerate(block) if word is not None]

    def _take(self, kernel: Kernel) -> None:
        """Run this kernel, which may be a draft, and keep it."""
        self.kernel = kernel
        self.draft = kernel if kernel.draft else None
        self.address, self.alone = kernel.address, kernel.alone

    def run(self, state: Run) -> None:
        """Fill in the pointers and the numbers of this run, and run the kernel."""
        block = self.block
        registers = state.registers
        for word, register, offset in self.patches:
            block[word] = registers[register].address + offset
        numbers = state.scalars
        for view, place, number in self.scalars:
            view[place] = numbers[number]
        if self.draft is not None and worked(self.draft, self.work):
            self._take(self.draft)
        if self.work < policy.limits.parallel or self.chunks == 1:
            state.done = self
            self.alone(self.pointer, 0, self.chunks)
        else:
            team().run(self.address, self.pointer, self.chunks, config.threads, state, self)
        state.kernels += 1
        if block[0]:
            self.flagged(state)

    def flagged(self, state: Run) -> None:
        """Note the flags that the kernel has raised."""
        flags, self.block[0] = self.block[0], 0
        if flags and flags != SETTLED:
            state.flags.append((flags, self))

    def bound(self) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
        layout, block = self.kernel.layout, self.block
        ndim, first = layout.ndim, layout.strides
        words = iter(block[first : first + layout.operands * ndim])
        return block[layout.extents : layout.extents + ndim], list(zip(*[words] * ndim))

    def raised_by(self) -> Sequence[int]:
        return can_flag(self.launch.spec)

    def told(self) -> tuple[Any, ...] | None:
        """The step for the native evaluation, as one of several."""
        return KernelSteps((self,)).told() if team().compiled else None

    @staticmethod
    def joined(steps: Sequence[CompiledStep], order: Any = None) -> KernelSteps | None:
        """One step for several consecutive ones, or ``None`` without a compiled loop; ``order`` is the order of their chunks."""
        return KernelSteps(steps, order) if team().compiled else None

    def intervals(self) -> Intervals | None:
        """The bytes of each operand that each chunk reads or writes, were chunks that fold nothing made small."""
        spec = self.kernel.spec
        extents, strides = self.bound()
        if 0 in extents or not team().compiled:
            return None
        chunk = self.block[self.kernel.layout.chunk]
        if not spec.reductions:
            widest = max([abs(steps[0]) for steps in strides], default=0)
            chunk = min(chunk, max(1, 4 * policy.limits.chunk // max(widest, 1)))
        unit = prod(extents[1:]) if is_flat(spec) else 1
        chunks = -(-extents[0] * unit // chunk)
        first = np.arange(chunks, dtype=np.int64) * chunk
        last = np.minimum(-(-(first + chunk) // unit), extents[0]) - 1
        first //= unit
        written = written_operands(spec)
        operands = []
        for k, (_, register, offset) in enumerate(self.patches):
            operand, step = spec.operands[k], strides[k][0]
            ends = [(n - 1) * s for n, s in zip(extents[1:], strides[k][1:], strict=True)]
            low = offset + sum([min(end, 0) for end in ends])
            high = offset + sum([max(end, 0) for end in ends])
            size = operand.run * np.dtype(operand.dtype).itemsize
            near, far = first * step, last * step
            low, high = low + np.minimum(near, far), high + size + np.maximum(near, far)
            operands.append(Interval(register, k in written, low, high))
        return Intervals(chunk, chunks, operands)

    def cut(self, intervals: Intervals) -> None:
        """Set the chunks of the launch to those of these intervals."""
        self.block[self.kernel.layout.chunk] = intervals.chunk
        self.chunks = intervals.chunks


class KernelSteps:
    """Several kernels, one after the other: the pointers are filled in and the kernels run by one call."""

    def __init__(
        self, steps: Sequence[CompiledStep], order: Sequence[tuple[int, int, int]] | None = None
    ) -> None:
        self.steps = tuple(steps)
        if order is None:
            order = [(number, 0, step.chunks) for number, step in enumerate(steps)]
        registers = sorted({register for step in steps for _, register, _ in step.patches})
        patches = [
            (step.pointer + 8 * word, registers.index(register), offset)
            for step in steps
            for word, register, offset in step.patches
        ]
        self.shared = False
        """True if threads may take part."""
        table = [len(patches), len(order)]
        for patch in patches:
            table += patch
        self._drafts: list[tuple[CompiledStep, int]] = []
        """Steps whose kernels are drafts, and the indices of their addresses in the table."""
        for number, first, last in order:
            step = steps[number]
            if step.draft is not None:
                self._drafts.append((step, len(table)))
            shared = step.work * (last - first) >= policy.limits.parallel * step.chunks
            shared &= last - first > 1
            self.shared |= shared
            table += step.address, step.pointer, first, last, shared
        words: Any = (ctypes.c_int64 * len(table))(*table)
        starts = array("q", bytes(8 * len(registers)))
        self._registers = tuple(enumerate(registers))
        self._table: Any = words
        self._starts = starts
        self._pointer: int = ctypes.addressof(words)
        self._start: int = starts.buffer_info()[0]
        self._numbers = [scalar for step in steps for scalar in step.scalars]

    def places(self, number: int) -> tuple[list[int], int]:
        """Addresses of the offsets of a step's operands, and of the end of its range of chunks."""
        before = sum([len(step.patches) for step in self.steps[:number]])
        offsets = [
            self._pointer + 8 * (4 + 3 * (before + k))
            for k in range(len(self.steps[number].patches))
        ]
        return offsets, self._pointer + 8 * (2 + 3 * self._table[0] + 5 * number + 3)

    def worked(self, times: int = 1) -> None:
        """Count ``times`` runs of drafts, and replace drafts by finished kernels."""
        for step in {step for step, _ in self._drafts}:
            if step.draft is not None and worked(step.draft, step.work, times):
                step._take(step.draft)
        for step, word in self._drafts:
            self._table[word] = step.address
        self._drafts[:] = [(step, word) for step, word in self._drafts if step.draft is not None]

    def run(self, state: Run) -> None:
        """Set the addresses of the registers, and run the kernels."""
        if self._drafts:
            self.worked()
        registers, starts = state.registers, self._starts
        for place, number in self._registers:
            value: Any = registers[number]
            starts[place] = value._address or value.address
        numbers = state.scalars
        for view, place, number in self._numbers:
            view[place] = numbers[number]
        flags = team().launches(
            self._pointer, self._start, config.threads if self.shared else 1, state, self
        )
        state.kernels += len(self.steps)
        if flags:
            self.flagged(state)

    def flagged(self, state: Run) -> None:
        """Note which of the kernels have raised flags."""
        for step in self.steps:
            step.flagged(state)

    def team(self) -> tuple[int, int, int]:
        """The call for the native evaluation if threads may take part: the function, the team, and the number of threads."""
        return team().shared(config.threads)

    def told(self) -> tuple[Any, ...]:
        """The step for the native evaluation."""
        registers = tuple([register for _, register in self._registers])
        is_long = self.shared or sum([step.work for step in self.steps]) > policy.limits.chunk
        numbers = tuple(self._numbers)
        return (
            Told.KERNELS, self, registers, numbers, self._drafts, self._pointer, self._start, is_long + self.shared,
        )  # fmt: skip


def _place_of(block: Any, word: int, dtype: np.dtype[Any]) -> tuple[Any, int]:
    """An array over an argument block for assigning numbers of a dtype, and the index of ``word`` in it."""
    if dtype.char in "?bhilqBHILQfd":
        # Python's own views of memory can hold these, and are quicker
        character: Any = dtype.char
        return memoryview(block).cast("B").cast(character), 8 * word // dtype.itemsize
    return np.frombuffer(block, dtype, 1, 8 * word), 0


def _words_of(layout: Layout, numbers: Any) -> list[Any]:
    """The numbers of a launch in its argument block, ``None`` for other words."""
    chunk, extents, strides, literals, origins = numbers
    words: list[Any] = [None] * (layout.size + 1)
    words[layout.chunk] = chunk
    words[layout.extents : layout.pointers] = extents
    words[layout.strides : layout.scalars] = strides
    words[layout.scalars : layout.origins : 2] = literals
    words[layout.origins : layout.partials] = origins
    return words


def _block_of(layout: Layout, numbers: Any, parts: list[tuple[Partials, int]]) -> Any:
    """The argument block of a launch, except for pointers and for numbers passed at each run."""
    words = [number or 0 for number in _words_of(layout, numbers)]
    slot = layout.partials
    for fold, start in parts:
        for address in fold.addresses(start):
            words[slot] = address
            slot += 1
    return (ctypes.c_int64 * len(words))(*words)


def _work(launch: Launch) -> Any:
    extents = launch.extents
    return prod(extents[1:], start=extents[0]) * len(launch.spec.body)


def threads_of(launch: Launch) -> int:
    """Number of threads that would run a launch now."""
    threads = config.threads if _work(launch) >= policy.limits.parallel else 1
    return min(threads, launch.chunks)


def seeks(node: Node) -> bool:
    """True if loops are quicker than NumPy in finding positions: not in rows along the memory that are short, but not
    so short that they are unrolled."""
    axes, operand = node.params[0], node.args[0].geometry
    if len(axes) == operand.ndim:
        return True
    (axis,) = axes
    if node.args[0].op.is_view:  # the steps through the memory that is read
        operand = node.args[0].params[0]
    steps = [abs(step) for k, step in enumerate(operand.strides) if operand.shape[k] > 1]
    along = abs(operand.strides[axis]) == min(steps, default=0)
    length, limits = operand.shape[axis], policy.limits
    unrolled = length <= limits.registers and operand.size >= limits.short
    return not along or unrolled or length >= limits.vector
