"""Steps of a program that run kernels: what is bound once, and what at every run."""

from __future__ import annotations

import ctypes
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .. import kernels
from ..config import config
from ..graph.node import Node, Operation
from ..run import statistics
from ..run.parts import State, Step
from .workers import parallel_for

if TYPE_CHECKING:
    from .spec import KernelSpec

_PARALLEL_FROM = 1 << 19  # elements times instructions below which one thread is quicker
_FOLDS = frozenset(
    {
        "add", "multiply", "minimum", "maximum", "fmin", "fmax", "logical_and", "logical_or",
        "bitwise_and", "bitwise_or", "bitwise_xor",
    }
)  # fmt: skip


class Memory(Protocol):
    """An operand: a register, an offset in bytes, strides by loop axis."""

    register: int
    offset: int
    strides: tuple[int, ...]


class LaunchLike(Protocol):
    """What the planner says of one launch; see ``plan.lower.Launch``."""

    spec: KernelSpec
    extents: tuple[int, ...]
    chunk: int
    chunks: int
    memories: Any
    scalars: Any
    origins: tuple[int, ...]
    operations: list[Operation]


class KernelStep:
    """One kernel over one box."""

    __slots__ = (
        "_keep",
        "address",
        "block",
        "chunks",
        "launch",
        "literals",
        "patches",
        "pointer",
        "scalars",
        "words",
        "work",
    )  # fmt: skip

    def __init__(
        self,
        launch: LaunchLike,
        partials: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]],
    ) -> None:
        kernel = kernels.compile_kernel(launch.spec)
        layout = kernel.layout
        words = np.zeros(layout.size + 1, np.int64)
        words[layout.chunk] = launch.chunk
        words[layout.extents : layout.extents + layout.ndim] = launch.extents
        for k, memory in enumerate(launch.memories):
            first = layout.strides + k * layout.ndim
            words[first : first + layout.ndim] = memory.strides
        words[layout.origins : layout.origins + layout.ndim] = launch.origins
        words[layout.steps : layout.steps + layout.ndim] = 1
        slot = layout.partials
        for array in [part for pair in partials for part in pair if part is not None]:
            words[slot] = array.__array_interface__["data"][0]
            slot += 1
        self.launch = launch
        self._keep = partials
        self.words = words
        self.pointer: int = words.__array_interface__["data"][0]
        self.block = (ctypes.c_int64 * len(words)).from_address(self.pointer)
        self.address = kernel.address
        self.chunks = launch.chunks
        self.work = _work(launch)
        self.patches = tuple(
            [(layout.pointers + k, m.register, m.offset) for k, m in enumerate(launch.memories)]
        )
        scalars = []
        for k, (number, dtype, literal) in enumerate(launch.scalars):
            view = words[layout.scalars + 2 * k : layout.scalars + 2 * k + 2].view(dtype)
            if number < 0:
                view[0] = literal
            else:
                scalars.append((view, number))
        self.scalars = tuple(scalars)

    def run(self, state: State) -> None:
        """Fill in the pointers and the numbers of this run, and go."""
        block = self.block
        registers = state.registers
        for word, register, offset in self.patches:
            block[word] = registers[register].address + offset
        numbers = state.scalars
        for view, number in self.scalars:
            view[0] = numbers[number]
        threads = config.threads if self.work >= _PARALLEL_FROM else 1
        parallel_for(self.address, self.pointer, self.chunks, threads)
        statistics.add("kernels_run")
        flags = block[0]
        if flags:
            block[0] = 0
            state.flags.append((flags, self.launch))


def _work(launch: LaunchLike) -> int:
    return prod(launch.extents) * len(launch.spec.body)


def threads_of(launch: LaunchLike) -> int:
    """How many threads would run a launch now."""
    threads = config.threads if _work(launch) >= _PARALLEL_FROM else 1
    return min(threads, launch.chunks)


def make_launch(
    launch: LaunchLike, partials: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]]
) -> Step:
    """The step that runs a launch."""
    return KernelStep(launch, partials)


def supported(node: Node) -> bool:
    """Whether kernels can compute a node whose dtypes they can hold."""
    kind = node.kind
    if kind == "compress":
        return False
    if kind == "call":
        loop = node.params[0]
        return kernels.supported(loop.name, tuple(map(_code, loop.inputs)), _code(loop.output))
    if kind == "reduce":
        dtype = node.geometry.dtype
        if node.name not in _FOLDS:
            return False
        if node.name in ("logical_and", "logical_or"):
            return dtype.kind == "b"
        if dtype.kind == "c":
            return node.name in ("add", "multiply")
        return True
    if kind == "arg":
        operand = node.args[0].geometry
        return (
            operand.dtype.kind in "iuf"
            and operand.dtype.itemsize != 2
            and len(node.params[0]) == operand.ndim
        )
    return True


def _code(dtype: np.dtype[Any]) -> str:
    return dtype.kind + str(dtype.itemsize)
