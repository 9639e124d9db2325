"""The map from an index of a view to an index of its base, axis by axis, in actual or symbolic integers."""

from __future__ import annotations

from typing import Any

AxisReads = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
"""For each axis of the base: the first index, and (axis of the view, step) pairs."""
Box = tuple[tuple[int, int, int, int], ...]
"""For each axis of the base: the first index, the last one + 1, the axis of the view or -1, and a step of 1 or -1."""


def axis_reads(view: Any) -> AxisReads | None:
    """The map from an index of a view to an index of its base."""
    base = view.base
    if view.dtype != base.dtype:
        return None
    if not base.dense:
        return None
    along = base.strides
    order = [k for k, n in enumerate(base.shape) if n > 1]
    order.sort(key=along.__getitem__, reverse=True)
    starts = [0] * base.ndim
    steps: list[list[tuple[int, int]]] = list(map(list, [()] * base.ndim))
    for axis, stride in enumerate((view.offset, *view.strides), -1):
        if axis >= 0 and (view.shape[axis] == 1 or stride == 0):
            continue
        rest = stride if axis < 0 else abs(stride)
        for k in order:
            digit, rest = divmod(rest, along[k])
            if axis < 0:
                starts[k] = digit
            elif digit:
                steps[k].append((axis, digit if stride > 0 else -digit))
        if rest:
            return None
    reads = []
    for k, first in enumerate(starts):
        low = high = first
        for axis, step in steps[k] if view.size else ():
            if step > 0:
                high = high + step * (view.shape[axis] - 1)
            else:
                low = low + step * (view.shape[axis] - 1)
        if view.size and (low < 0 or high >= base.shape[k]):
            return None
        reads.append((first, tuple(steps[k])))
    return tuple(reads)


def box_of(region: Any) -> Box | None:
    """The box of its base that a view covers, each element once; ``None`` if it is no box, or empty."""
    axes = region.axes
    if axes is None or region.size == 0:
        return None
    seen: set[int] = set()
    box = []
    for first, steps in axes:
        if not steps:
            box.append((first, first + 1, -1, 1))
            continue
        if len(steps) > 1:
            return None
        axis, step = steps[0]
        if step not in (1, -1) or axis in seen:
            return None
        seen.add(axis)
        n = region.shape[axis]
        low = first if step == 1 else first - n + 1
        box.append((low, low + n, axis, step))
    if len(seen) < region.ndim and any(n > 1 and k not in seen for k, n in enumerate(region.shape)):
        return None
    return tuple(box)
