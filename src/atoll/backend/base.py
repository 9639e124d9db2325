"""The interface of a backend: memory for arrays, and kernels that compute on it.

Everything above this package allocates, computes and asks what can be computed through one
:class:`Backend`, which :func:`atoll.backend.current` chooses once for the process. The planner
describes the work in terms that no backend owns: a :class:`~.spec.KernelSpec` says what a loop
nest computes, a :class:`Launch` over which box and which memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..graph.node import Node, Operation, Value
from ..graph.op import Op
from ..ops.elementwise import NATIVE
from .memory import allocate_array
from .spec import KernelSpec

Array = np.ndarray[Any, Any]


class Memory(Protocol):
    """An operand of a launch: a register, an offset in bytes, strides by loop axis."""

    register: int
    offset: int
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


class Launch(Protocol):
    """One kernel over one box, as the planner describes it; see ``plan.launches.Launch``."""

    spec: KernelSpec
    extents: tuple[int, ...]
    chunk: int
    chunks: int
    memories: Any
    scalars: Any
    origins: tuple[int, ...]
    partials: list[tuple[int, int]]
    operations: list[Operation]
    compiled: Any
    """What a backend has made for all steps of it, or ``None``."""


class Partials(Protocol):
    """Memory for one partial result of a full reduction per chunk, and for their positions."""

    partials: Array
    positions: Array | None

    def addresses(self, start: int) -> list[int]:
        """Where the partial results from number ``start`` on, and their positions, begin."""


class Run(Protocol):
    """One run of a program; see ``execute.parts.State``."""

    registers: list[Value | None]
    scalars: Sequence[Any]
    kernels: int
    flags: list[tuple[int, Any]]
    """Floating-point flags that came up, and the :class:`KernelStep` that raised them."""
    done: Any
    """The latest step whose kernels have run, or run whatever comes: noted right before they are called, where no signal is handled."""


class Told(IntEnum):
    """What a step says first of itself to the native evaluation (its ``told``); ``_native/traces.h`` has the same numbers."""

    PYTHON = 0
    ALLOCATE = 1
    RELEASE = 2
    SHARE = 3
    KERNELS = 4
    ADD = 5
    COPY = 6
    START = 7
    FINISH = 8
    ACROSS = 9


class Interval(NamedTuple):
    """The bytes of an operand that each chunk of a launch reads or writes."""

    register: int
    written: bool
    low: Array
    """From where, for each chunk."""
    high: Array
    """Up to where: behind the last byte."""


class Intervals(NamedTuple):
    """What the chunks of a launch read and write."""

    chunk: int
    """What a chunk has of axis 0, or of all elements."""
    chunks: int
    operands: list[Interval]


class KernelStep:
    """A step of a program that runs one launch."""

    __slots__ = ("launch",)
    launch: Launch

    def __init__(self, launch: Launch, numbers: Any, parts: list[tuple[Any, int]]) -> None:
        """``numbers`` are those of the launch. ``parts`` has, for each full reduction of it, its :class:`Partials` and the
        number of the first one that the launch writes."""

    @staticmethod
    def numbers_of(launch: Launch) -> tuple[Any, ...]:
        """The numbers that follow from extents, strides and offsets, which may be symbolic."""
        raise NotImplementedError

    @classmethod
    def of(cls, launch: Launch, combines: dict[int, Any]) -> Any:
        """The step of a launch whose numbers are known; ``combines`` has the :class:`Partials` of full reductions, by register."""
        parts = [(combines[register], start) for register, start in launch.partials]
        return cls(launch, cls.numbers_of(launch), parts)

    @staticmethod
    def joined(steps: Sequence[Any], order: Any = None) -> Any:
        """One step that does the work of several in a row, or ``None``; ``order`` says which chunks run when."""
        return None

    def traffic(self) -> dict[int, int]:
        """The bytes that the kernel reads or writes of each register."""
        return {}

    def intervals(self) -> Intervals | None:
        """What each chunk reads and writes; ``None`` where chunks have no order of their own."""
        return None

    def cut(self, intervals: Intervals) -> None:
        """Have the chunks of these intervals."""
        raise NotImplementedError

    def told(self) -> tuple[Any, ...] | None:
        """The step for the native evaluation; ``None`` where Python runs it."""
        return None

    def run(self, state: Any) -> None:
        """Run the kernel on the registers of a :class:`Run`."""
        raise NotImplementedError

    def bound(self) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
        """The extents of its loops, and the strides of each operand along them: those of this step, where its launch is a
        plan's."""
        raise NotImplementedError

    def raised_by(self) -> Sequence[int]:
        """For each instruction of the body, the floating-point flags that it can have raised."""
        raise NotImplementedError


class Backend(ABC):
    """How one kind of machine holds arrays and computes with them."""

    name: str
    """What ``config.backend`` calls it."""
    remark = ""
    """What ``atoll.explain`` says of its kernels."""
    step: type[KernelStep]

    allocate: Callable[..., Value] = staticmethod(allocate_array)
    """``allocate(geometry, what="")`` is uninitialised memory, laid out as the geometry of a base says; ``what`` asked for it."""

    def supports(self, node: Node) -> bool:
        """True if kernels can compute a node; NumPy computes all others."""
        for each in (node, *node.args):
            if type(each) is Node:
                dtype = each.geometry.dtype
                if dtype.char not in NATIVE or not dtype.isnative:
                    return False
        op = node.op
        if op.is_ufunc:
            return self.has_loop(node.params[0])
        if op.finds_position:
            return node.args[0].geometry.dtype.kind in "iuf" and self.seeks(node)
        if op.folds:
            dtype = node.geometry.dtype
            return op.is_folded_in(dtype) and self.has_fold(op, dtype)
        return not op.selects

    @abstractmethod
    def has_loop(self, loop: Any) -> bool:
        """True if kernels can compute a ufunc's loop; see ``ops.elementwise.Loop``."""

    @abstractmethod
    def has_fold(self, op: Op, dtype: np.dtype[Any]) -> bool:
        """True if kernels can compute the ufunc of a fold, of numbers of a dtype."""

    def seeks(self, node: Node) -> bool:
        """True if kernels shall find the positions that a node asks for, and not NumPy."""
        return True

    def cache(self, clear: bool = False) -> str:
        """Where compiled kernels are kept, or why they are not, for a person; ``clear`` removes them before."""
        return f"the backend {self.name!r} compiles no kernels"

    @abstractmethod
    def threads(self, launch: Launch) -> int:
        """How many threads would run a launch now."""

    @abstractmethod
    def is_ready(self, spec: KernelSpec) -> bool:
        """True if a kernel can start without being compiled first."""

    @abstractmethod
    def can_scan(self, ufunc: str, dtype: np.dtype[Any], source: np.dtype[Any]) -> bool:
        """True if :meth:`scanned` accumulates elements of ``source`` in ``dtype``."""

    @abstractmethod
    def scanned(
        self, ufunc: str, array: Array, axis: int, dtype: np.dtype[Any]
    ) -> tuple[Value, int]:
        """``ufunc.accumulate`` of a contiguous array, and the floating-point flags that came up."""

    @abstractmethod
    def true_positions(self, mask: Array) -> Array:
        """The flat positions at which a contiguous mask is true."""

    @abstractmethod
    def indices_of(self, positions: Array, shape: tuple[int, ...]) -> Array:
        """A row of indices for each flat position in C order; there is more than one axis."""

    @abstractmethod
    def selected(self, data: Array, mask: Array) -> Any:
        """The elements of an array at which a mask of its shape is true, in C order."""
