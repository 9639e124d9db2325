"""The backend of compiled loops: LLVM makes machine code of kernels, and threads share their chunks.

Importing this package loads llvmlite, so it fails where llvmlite is missing or broken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...context import statistics
from ...graph.node import Node, Value
from ...graph.op import Op
from ...ops.table import code_of
from ..base import Array, Backend, Launch
from ..spec import KernelSpec
from . import cache, compress, scan
from .compile import is_compiled
from .launch import CompiledStep, seeks, threads_of
from .ufuncs import supported


class Llvm(Backend):
    """Kernels are compiled for this processor when they are first needed, and kept on disk."""

    name = "llvm"
    step = CompiledStep

    def has_loop(self, loop: Any) -> bool:
        return supported(loop.name, tuple(map(code_of, loop.inputs)), code_of(loop.output))

    def has_fold(self, op: Op, dtype: np.dtype[Any]) -> bool:
        return supported(op.name, (code_of(dtype),) * 2, code_of(dtype))

    def seeks(self, node: Node) -> bool:
        return seeks(node)

    def cache(self, clear: bool = False) -> str:
        if clear:
            cache.clear()
        return cache.describe()

    def threads(self, launch: Launch) -> int:
        return threads_of(launch)

    def is_ready(self, spec: KernelSpec) -> bool:
        return is_compiled(spec)

    def can_scan(self, ufunc: str, dtype: np.dtype[Any], source: np.dtype[Any]) -> bool:
        return scan.can_scan(ufunc, dtype) and scan.can_convert(source, dtype)

    def scanned(
        self, ufunc: str, array: Array, axis: int, dtype: np.dtype[Any]
    ) -> tuple[Value, int]:
        return scan.scanned(ufunc, array, axis, dtype)

    def true_positions(self, mask: Array) -> Array:
        return compress.true_positions(mask)

    def indices_of(self, positions: Array, shape: tuple[int, ...]) -> Array:
        return compress.indices_of(positions, shape)

    def selected(self, data: Array, mask: Array) -> Any:
        if compress.can_select(data, mask):
            elements = statistics.attempted(compress.selected, data, mask)
            if elements is not None:
                return elements
        return data[mask]


backend = Llvm()
