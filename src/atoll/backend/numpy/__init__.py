"""The backend without a compiler: NumPy computes every kernel, block by block, in one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.node import Value
from ...graph.op import Op
from ..base import Array, Backend, KernelStep, Launch, Run
from ..spec import KernelSpec
from .nest import Nest, ufunc_of


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

    __slots__ = (
        "_chunk", "_chunks", "_extents", "_literals", "_nest", "_ordered", "_origins", "_partials",
        "_places", "_raised",
    )  # fmt: skip

    def __init__(self, launch: Launch, numbers: Any, parts: list[tuple[Any, int]]) -> None:
        if launch.compiled is None:
            launch.compiled = Nest(launch.spec)
        self.launch = launch
        self._nest: Nest = launch.compiled
        extents, chunk, self._chunks, origins, self._places, self._literals = numbers
        self._extents, self._chunk, self._origins = extents, chunk, origins
        self._ordered: bool | None = None
        self._raised: list[int] = []
        self._partials: list[Array] = []
        for fold, start in parts:
            for array in (fold.partials, fold.positions):
                if array is not None:
                    self._partials.append(array[start : start + self._chunks])

    @staticmethod
    def numbers_of(launch: Launch) -> tuple[Any, ...]:
        """The numbers of a launch that differ from one place of its slices to another; for each operand its offset and strides."""
        places = tuple([(memory.offset, memory.strides) for memory in launch.memories])
        literals = tuple([literal for _, _, literal in launch.scalars])
        return launch.extents, launch.chunk, launch.chunks, launch.origins, places, literals

    def bound(self) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
        return self._extents, [strides for _, strides in self._places]

    def raised_by(self) -> Sequence[int]:
        return self._raised[:-1]

    def run(self, state: Run) -> None:
        """Make arrays of the operands, and compute."""
        launch, views = self.launch, []
        for memory, operand, (offset, strides) in zip(
            launch.memories, launch.spec.operands, self._places, strict=True
        ):
            value: Any = state.registers[memory.register]
            shape = self._extents
            if operand.run > 1:
                shape, strides = (*shape, operand.run), (*strides, memory.dtype.itemsize)
            address = value.address + offset
            views.append(over(value.array, address, shape, strides, memory.dtype))
        if self._ordered is None:
            self._ordered = self._nest.in_order(views)
        scalars = [
            np.asarray(state.scalars[number] if number >= 0 else literal).astype(dtype)
            for (number, dtype, _), literal in zip(launch.scalars, self._literals, strict=True)
        ]
        flags = self._nest.run(
            self._extents,
            self._chunk,
            views,
            scalars,
            self._origins,
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
