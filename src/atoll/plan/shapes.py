"""Geometries with symbolic integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..graph.geometry import AxisReads, Box, Geometry, axis_reads, box_of, dense
from ..layout.symbolic import Number, Sheet, Unknown


class Shape:
    """A geometry with unknown integers, with the attributes that the planner reads."""

    __slots__ = (
        "axes", "base", "box", "c_contiguous", "dense", "dtype", "is_base", "ndim", "number", "offset", "position", "shape", "size",
        "strides",
    )  # fmt: skip

    def __init__(
        self,
        like: Geometry | None,
        position: int,
        shape: tuple[Number, ...],
        strides: tuple[Number, ...],
        offset: Number,
        dtype: np.dtype[Any],
        base: Any,
    ) -> None:
        self.position = position
        """Number of the geometry of the trace that it stands for; -1 if the planner made it."""
        self.number = -2 - position
        self.shape, self.strides, self.offset = shape, strides, offset
        self.ndim = len(shape)
        self.dtype = dtype
        self.base = self if base is None else base
        self.is_base = base is None
        self.c_contiguous = like is None or like.c_contiguous
        self.dense = like is None or like.dense

    def __getattr__(self, name: str) -> Any:
        """Compute ``size``, ``axes`` (the reads of the base) or ``box`` on first access."""
        if name == "size":
            self.size: Number = prod(self.shape[1:], start=self.shape[0]) if self.shape else 1
        elif name == "axes":
            self.axes: AxisReads | None = axis_reads(self)
        elif name == "box":
            self.box: Box | None = box_of(self)
        else:
            raise AttributeError(name)
        return getattr(self, name)

    is_whole = Geometry.is_whole
    within = Geometry.within


def dense_shape(shape: tuple[Number, ...], dtype: np.dtype[Any]) -> Any:
    """``dense`` for a shape in which there may be unknowns."""
    for n in shape:
        if type(n) is Unknown:
            break
    else:
        return dense(shape, dtype)
    key = dtype, *shape
    known = n.sheet.shapes.get(key)
    if known is None:
        strides = _dense_strides(shape, range(len(shape)), dtype.itemsize)
        known = n.sheet.shapes[key] = Shape(None, -1, shape, strides, 0, dtype, None)
    return known


def _dense_strides(
    shape: Sequence[Number], order: Sequence[int], itemsize: Number
) -> tuple[Number, ...]:
    """The strides of a shape that fills its memory; ``order`` lists its axes from the slowest to the fastest."""
    strides: list[Number] = [0] * len(shape)
    for axis in reversed(order):
        strides[axis] = itemsize
        if type(shape[axis]) is Unknown or shape[axis]:  # unknown ones are at least two
            itemsize = itemsize * shape[axis]
    return tuple(strides)


class Dresser:
    """Makes symbolic geometries, which stand for those of all traces with the same forms.

    A form says which extents are zero or one, which strides are zero or negative, and which geometries fill their memory. Extents
    that are equal in the planned trace must be equal in all traces that the plan serves; so must the strides of a view and those of
    its base, where the view takes each element of an axis.
    """

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._extents: dict[int, Unknown] = {}
        self._strides: dict[int, Unknown] = {}

    def shape(self, like: Geometry, position: int, base: Any) -> Shape:
        """The symbolic counterpart of a geometry; a view needs that of its base."""
        ndim, numbers = like.ndim, self._sheet.unknown(like.integers)
        lying, known = numbers[ndim:-1], self._sheet.known
        extents: list[Number] = []
        for number in numbers[:ndim]:
            extent: Number = number.value
            if extent > 1:
                extent = self._extents.setdefault(extent, number)
                if extent is not number:
                    known["==", number, extent] = True
            extents.append(extent)
        offset: Number = 0 if like.is_base else numbers[-1]
        axes = self._regular(like) if type(base) is Shape else None
        if axes is not None:
            return self._taken(like, position, tuple(extents), lying, numbers[-1], base, axes)
        if like.dense:
            order: Sequence[int] = range(ndim)
            if not like.c_contiguous:
                order = sorted(order, key=lambda k: -like.strides[k])
            strides = _dense_strides(extents, order, like.dtype.itemsize)
            for number, stride in zip(lying, strides) if not like.c_contiguous else ():
                known["==", number, stride] = True
        else:
            strides = self._raw(lying, like.dtype.itemsize)
        return Shape(like, position, tuple(extents), strides, offset, like.dtype, base)

    def _regular(self, view: Geometry) -> Any:
        """The slices and single elements that a view takes along the axes of its base; ``None`` for other views."""
        axes = view.axes if view.size else None
        if axes is None:
            return None
        taken: set[int] = set()
        for _, steps in axes:
            if steps:
                if len(steps) > 1 or steps[0][0] in taken:
                    return None
                taken.add(steps[0][0])
        return axes

    def _taken(
        self,
        like: Geometry,
        position: int,
        extents: tuple[Number, ...],
        lying: list[Unknown],
        offset: Unknown,
        base: Shape,
        axes: Any,
    ) -> Shape:
        """The shape of a regular view: its offset is cut into indices."""
        known = self._sheet.known
        strides: list[Number] = []
        for number in lying:
            strides.append(number if number.value else 0)
        starts: list[Number] = [0] * base.ndim
        rest: Number = offset
        for k in sorted(range(base.ndim), key=like.base.strides.__getitem__, reverse=True):
            if like.base.shape[k] > 1:
                starts[k], rest = rest // base.strides[k], rest % base.strides[k]
        known["==", rest, 0] = True
        reads: list[Any] = []
        for k, (_, steps) in enumerate(axes):
            if not steps:
                reads.append((starts[k], ()))
                continue
            axis, step = steps[0]
            along: Number = base.strides[k]
            if step in (1, -1):
                strides[axis] = along = along * step
                known["==", lying[axis], along] = True
            else:
                stride = lying[axis]
                step = stride // along if step > 0 else 0 - (0 - stride) // along
                known["==", step * along, stride] = True
            if steps[0][1] == 1:
                known["<", starts[k], 0] = False
                known["<", base.shape[k], starts[k] + extents[axis]] = False
            else:
                last = starts[k] + (extents[axis] - 1) * step
                known["<", last, 0], known["<", last, base.shape[k]] = False, True
            reads.append((starts[k], ((axis, step),)))
        shape = Shape(like, position, extents, tuple(strides), offset, like.dtype, base)
        shape.axes = tuple(reads)
        return shape

    def _raw(self, lying: list[Unknown], itemsize: int) -> tuple[Number, ...]:
        """Strides of which nothing is known."""
        known = self._sheet.known
        strides: list[Number] = []
        for number in lying:
            stride: Number = number.value
            if abs(stride) == itemsize:
                known["==", number, stride] = True
            elif stride:
                stride = self._strides.setdefault(stride, number)
                known["==", number, stride] = True
            strides.append(stride)
        return tuple(strides)
