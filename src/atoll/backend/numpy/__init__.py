"""The backend without a compiler: NumPy computes every kernel, block by block, in one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.node import Value
from ...graph.op import Op
from ..base import Array, Backend, Launch
from ..spec import KernelSpec
from .launch import NumpyStep
from .nest import ufunc_of


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

    def indices_of(self, positions: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
        return np.unravel_index(positions, shape)

    def selected(self, data: Array, mask: Array) -> Any:
        return data[mask]


backend = Numpy()
