"""The interface of a backend: memory for arrays, and kernels that compute on it.

All code above this package allocates, computes and queries supported operations through one
:class:`Backend`, which :func:`atoll.backend.current` chooses once for the process. The planner
describes the work independently of the backend: a :class:`~.spec.KernelSpec` describes the computation of a loop
nest, a :class:`Launch` its box and memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import IntEnum
from math import prod
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
    """The backend's compiled form for all steps of the launch, or ``None``."""


class Partials(Protocol):
    """Memory for one partial result of a full reduction per chunk, and for their positions."""

    partials: Array
    positions: Array | None

    def addresses(self, start: int) -> list[int]:
        """Addresses of partial result ``start``, and of its position if the fold has positions."""


class Run(Protocol):
    """One run of a program; see ``execute.parts.State``."""

    registers: list[Value | None]
    scalars: Sequence[Any]
    kernels: int
    flags: list[tuple[int, Any]]
    """Floating-point flags that came up, and the :class:`KernelStep` that raised them."""
    done: Any
    """The latest step whose kernels have run or will certainly run: noted right before the call, where no signal is handled."""


class Told(IntEnum):
    """Kind of a step, the first item of its ``told`` for the native evaluation; ``_native/traces.h`` has the same numbers."""

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
    """The start of the interval of each chunk."""
    high: Array
    """The end of each interval, one past its last byte."""


class Intervals(NamedTuple):
    """The memory that the chunks of a launch read and write."""

    chunk: int
    """Extent of a chunk along axis 0, or its number of elements."""
    chunks: int
    operands: list[Interval]


class KernelStep:
    """A step of a program that runs one launch."""

    __slots__ = ("launch",)
    launch: Launch

    def __init__(self, launch: Launch, numbers: Any, parts: list[tuple[Any, int]]) -> None:
        """``numbers`` are the numbers of the launch. ``parts`` has, for each full reduction of it, its :class:`Partials` and the
        number of the first partial result that the launch writes."""

    @staticmethod
    def numbers_of(launch: Launch) -> tuple[Any, ...]:
        """The numbers that follow from extents, strides and offsets, which may be symbolic."""
        raise NotImplementedError

    @classmethod
    def of(cls, launch: Launch, combines: dict[int, Any]) -> Any:
        """Step of a launch with known numbers; ``combines`` has the :class:`Partials` of full reductions, by register."""
        parts = [(combines[register], start) for register, start in launch.partials]
        return cls(launch, cls.numbers_of(launch), parts)

    @staticmethod
    def joined(steps: Sequence[Any], order: Any = None) -> Any:
        """One step that does the work of several in a row, or ``None``; ``order`` is the order of their chunks."""
        return None

    def traffic(self) -> dict[tuple[int, str], int]:
        """The approximate bytes that the kernel touches, by register and kind of access (``r`` or ``w``)."""
        extents, strides = self.bound()
        traffic: dict[tuple[int, str], int] = {}
        operands = zip(self.launch.memories, self.launch.spec.operands, strides, strict=True)
        for memory, operand, steps in operands:
            lengths = [n for n, along in zip(extents, steps, strict=True) if along]
            nbytes = prod(lengths) * operand.run * np.dtype(operand.dtype).itemsize
            for kind in operand.access:
                key = memory.register, kind
                traffic[key] = max(nbytes, traffic.get(key, 0))
        return traffic

    def intervals(self) -> Intervals | None:
        """The memory that each chunk reads and writes; ``None`` if the chunks cannot be ordered one by one."""
        return None

    def cut(self, intervals: Intervals) -> None:
        """Set the chunks of the launch to those of these intervals."""
        raise NotImplementedError

    def told(self) -> tuple[Any, ...] | None:
        """The step for the native evaluation; ``None`` where Python runs it."""
        return None

    def run(self, state: Any) -> None:
        """Run the kernel on the registers of a :class:`Run`."""
        raise NotImplementedError

    def bound(self) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
        """The extents of its loops, and the strides of each operand along them: the values of this step, if its launch belongs
        to a plan."""
        raise NotImplementedError

    def raised_by(self) -> Sequence[int]:
        """For each instruction of the body, the floating-point flags that it can have raised."""
        raise NotImplementedError


class Backend(ABC):
    """Storage of arrays and computation with them on one kind of machine."""

    name: str
    """The name in ``config.backend``."""
    remark = ""
    """Remark of ``atoll.explain`` about its kernels."""
    step: type[KernelStep]

    allocate: Callable[..., Value] = staticmethod(allocate_array)
    """``allocate(geometry, what="")`` returns uninitialised memory for the geometry of a base; ``what`` describes its purpose."""

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
        """True if kernels, and not NumPy, should find the positions of a node."""
        return True

    def cache(self, clear: bool = False) -> str:
        """Text for users with the location of cached kernels, or the reason for no cache; ``clear`` first removes them."""
        return f"the backend {self.name!r} compiles no kernels"

    @abstractmethod
    def threads(self, launch: Launch) -> int:
        """Number of threads that would run a launch now."""

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
