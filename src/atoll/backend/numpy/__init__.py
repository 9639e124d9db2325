"""The backend without a compiler: NumPy computes every kernel, block by block, in one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph.node import Value
from ...graph.op import Op
from ..base import Array, Backend, KernelStep, Launch, Run
from ..spec import KernelSpec
from .nest import Nest, ufunc_of


class _Numbers(NamedTuple):
    """The numbers of a launch that differ from one place of its slices to another."""

    extents: tuple[int, ...]
    chunk: int
    chunks: int
    origins: tuple[int, ...]
    places: tuple[tuple[int, tuple[int, ...]], ...]
    """For each operand its offset and its strides, in bytes."""
    literals: tuple[Any, ...]


class _Span:
    """Memory that an array is made over; it keeps the owner alive."""

    def __init__(
        self, owner: Array, address: int, shape: Any, strides: Any, dtype: np.dtype[Any]
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "shape": tuple(shape), "strides": tuple(strides), "typestr": dtype.str,
            "data": (address, False),
        }  # fmt: skip


def over(owner: Array, address: int, shape: Any, strides: Any, dtype: np.dtype[Any]) -> Array:
    """An array over memory of another one."""
    return np.asarray(_Span(owner, address, shape, strides, dtype))


class NumpyStep(KernelStep):
    """One launch, run by NumPy."""

    __slots__ = ("_nest", "_numbers", "_ordered", "_partials", "_raised")

    def __init__(self, launch: Launch, numbers: Any, parts: list[tuple[Any, int]]) -> None:
        if launch.compiled is None:
            launch.compiled = Nest(launch.spec)
        self.launch = launch
        self._nest: Nest = launch.compiled
        self._numbers = numbers = _Numbers(*numbers)
        self._ordered: bool | None = None
        self._raised: list[int] = []
        stop = numbers.chunks
        self._partials: list[Array] = []
        for fold, start in parts:
            for array in (fold.partials, fold.positions):
                if array is not None:
                    self._partials.append(array[start : start + stop])

    @staticmethod
    def numbers_of(launch: Launch) -> tuple[Any, ...]:
        places = tuple([(memory.offset, memory.strides) for memory in launch.memories])
        literals = tuple([literal for _, _, literal in launch.scalars])
        return launch.extents, launch.chunk, launch.chunks, launch.origins, places, literals

    def bound(self) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
        numbers = self._numbers
        return numbers.extents, [strides for _, strides in numbers.places]

    def raised_by(self) -> Sequence[int]:
        return self._raised[:-1]

    def run(self, state: Run) -> None:
        """Make arrays of the operands, and compute."""
        numbers, launch, views = self._numbers, self.launch, []
        for memory, operand, (offset, strides) in zip(
            launch.memories, launch.spec.operands, numbers.places, strict=True
        ):
            value: Any = state.registers[memory.register]
            shape = numbers.extents
            if operand.run > 1:
                shape, strides = (*shape, operand.run), (*strides, memory.dtype.itemsize)
            address = value.address + offset
            views.append(over(value.array, address, shape, strides, memory.dtype))
        if self._ordered is None:
            self._ordered = self._nest.in_order(views)
        scalars = [
            np.asarray(state.scalars[number] if number >= 0 else literal).astype(dtype)
            for (number, dtype, _), literal in zip(launch.scalars, numbers.literals, strict=True)
        ]
        flags = self._nest.run(
            numbers.extents,
            numbers.chunk,
            views,
            scalars,
            numbers.origins,
            (1,) * len(numbers.extents),
            self._partials,
            self._ordered,
        )
        state.kernels += 1
        if flags:
            self._raised = self._nest.raised
            state.flags.append((flags, self))


class Numpy(Backend):
    """Kernels are run by the ufuncs of NumPy."""

    name = "numpy"
    remark = "by NumPy, block by block"
    step = NumpyStep

    def has_loop(self, loop: Any) -> bool:
        ufunc = loop.ufunc
        return ufunc.signature is None and ufunc_of(ufunc.__name__) is ufunc

    def has_fold(self, op: Op, dtype: np.dtype[Any]) -> bool:
        return ufunc_of(op.name) is op.ufunc

    def threads(self, launch: Launch) -> int:
        return 1

    def is_ready(self, spec: KernelSpec) -> bool:
        return True

    def can_scan(self, ufunc: str, dtype: np.dtype[Any], source: np.dtype[Any]) -> bool:
        return False

    def scanned(
        self, ufunc: str, array: Array, axis: int, dtype: np.dtype[Any]
    ) -> tuple[Value, int]:
        raise NotImplementedError("NumPy scans by itself")

    def true_positions(self, mask: Array) -> Array:
        return np.flatnonzero(mask)

    def indices_of(self, positions: Array, shape: tuple[int, ...]) -> Array:
        return np.stack(np.unravel_index(positions, shape), axis=-1)

    def selected(self, data: Array, mask: Array) -> Any:
        return data[mask]


backend = Numpy()
