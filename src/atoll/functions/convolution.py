"""Convolutions, and Kronecker products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..collective import Section, fetch_flat, uneven_line
from ..lazy import shaping
from ..lazy.elementwise import general
from ..lazy.sections import line_of, small_or_there
from .blocks import arrays_of, call, world_among
from .public import collective

Array = np.ndarray[Any, Any]


def _sliding(name: str) -> None:
    original: Any = getattr(np, name)

    def function(a: Any, v: Any, mode: Any = "full" if name == "convolve" else "valid") -> Any:
        arrays, world = arrays_of(a, v), world_among(a, v)
        if arrays is None or world is None or any(array.ndim != 1 for array in arrays):
            return NotImplemented
        first, second = arrays
        if not first.size or not second.size or mode not in ("full", "same", "valid"):
            return NotImplemented
        turned = second.size > first.size
        if turned and name == "correlate":  # what NumPy does: the other way round, and reversed
            return call("correlate", second, first, mode)[::-1].conj().copy()
        if turned:
            first, second = second, first
        kernel = second._array()
        width, length = kernel.size, first.size
        shift = {"full": width - 1, "same": width // 2, "valid": 0}[mode]
        if name == "convolve" and mode == "same":
            shift = (width - 1) // 2 + (width - 1) % 2
        total = {"full": length + width - 1, "same": length, "valid": length - width + 1}[mode]
        ends = np.linspace(0, total, world.size + 1).astype(np.int64)
        low, high = int(ends[world.rank]), int(ends[world.rank + 1])
        begin = low - shift
        wanted = high - low + width - 1 if high > low else 0
        inside = max(begin, 0), max(min(begin + wanted, length), max(begin, 0))
        part = np.zeros(wanted, first.dtype)
        part[inside[0] - begin : inside[1] - begin] = fetch_flat(
            line_of(first, world), inside[1] - inside[0], lambda a, b: np.arange(a, b) + inside[0]
        )
        kind = np.result_type(first.dtype, kernel.dtype)
        part_of_result = original(part, kernel, "valid") if high > low else np.empty(0, kind)
        layout = uneven_line(np.diff(ends))
        return small_or_there(Section(part_of_result, layout, world.communicator), world)

    collective(original)(function)


_sliding("convolve")
_sliding("correlate")


@collective(np.kron)
def kron(a: Any, b: Any) -> Any:
    arrays = arrays_of(a, b)
    if arrays is None or not all(array.ndim for array in arrays):
        return NotImplemented
    left_factor, right_factor = arrays
    ndim = max(left_factor.ndim, right_factor.ndim)
    first = (1,) * (ndim - left_factor.ndim) + left_factor.shape
    second = (1,) * (ndim - right_factor.ndim) + right_factor.shape
    left = shaping.reshape(
        left_factor, tuple([n for pair in zip(first, (1,) * ndim) for n in pair])
    )
    right = shaping.reshape(
        right_factor, tuple([n for pair in zip((1,) * ndim, second) for n in pair])
    )
    product = general(np.multiply, left, right)
    return shaping.reshape(product, tuple([n * m for n, m in zip(first, second)]))
