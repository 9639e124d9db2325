"""Steps for views whose elements are not on the ranks of the loop.

A reshape of a distributed array takes elements in C order from one division among ranks to another
(see :mod:`.collective.movement`). Any other view that no axis map describes is a list of places in
the base's memory: each rank computes the places of its own share, and requests the elements from their owners.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .. import backend
from ..comm.communicator import Communicator
from ..execute.parts import State
from ..graph.geometry import Geometry
from ..graph.node import Value
from ..layout import Layout
from ..ops.placement import Place
from . import (
    FoldPlan,
    Section,
    by_ufunc,
    compressed,
    fetch_flat,
    folded,
    in_lines,
    redistributed,
    reshaped,
    store,
)
from .elements import picked_here
from .operation import Call, Form, collective, result_layout

Array = np.ndarray[Any, Any]


def base_indices(view: Geometry, region: tuple[Array, ...]) -> tuple[Array, ...]:
    """The indices of the elements of a view's region in its base: an index array for each axis of the base.

    ``region`` has the index arrays of the view's axes, broadcast against each other.
    """
    base = view.base
    item = base.dtype.itemsize
    shape = np.broadcast_shapes(*[part.shape for part in region]) if region else (1,)
    places: Array = np.full(shape, view.offset // item, np.int64)
    for part, stride in zip(region, view.strides, strict=True):
        places = places + part * (stride // item)
    order = sorted(range(base.ndim), key=lambda k: -base.strides[k])
    split = np.unravel_index(places, [base.shape[k] for k in order])
    indices: list[Array] = [places] * base.ndim
    for k, part in zip(order, split, strict=True):
        indices[k] = part
    return tuple(indices)


def is_readable(view: Geometry) -> bool:
    """True if a view has elements of its base, or the same part of each of them."""
    return view.within is not None or (not view.size and view.dtype == view.base.dtype)


def _view_form(base: Form, view: Geometry) -> Form:
    return Form(view.dtype, result_layout(view.shape, base.layout.processes))


def _compressed_form(values: Form, mask: Form, place: Place | None = None) -> None:
    """No form: the number of elements depends on values, and is determined before the node is made."""


@collective("compress across ranks", _compressed_form)
def compress(
    values: Section, mask: Section, place: Place | None = None, *, target: Layout
) -> Section:
    """The elements under a mask: where they are, if the result's ``place`` says so, or in even blocks."""
    if place is None:
        return compressed(values, mask)
    values, mask = in_lines(values, mask)
    return Section(picked_here(values, mask), target, values.communicator)


@collective("read across ranks", _view_form)
def read_across(section: Section, view: Geometry, *, target: Layout) -> Section:
    """This rank's share of a view of a base that lies as ``section`` does."""
    base, shown = view.base, view
    within: tuple[int, ...] = ()
    if view.dtype != base.dtype:
        shown, within = view.elements or view, view.within or ()
    elif view.is_whole:
        return reshaped(section, target)
    size, elements = target.local_size(section.rank), section.block
    if shown is view or shown.shape != base.shape or shown.strides != base.strides:
        region = target.region(section.rank)
        lines = [part.array() for k, part in enumerate(region) if k not in within]
        shape = tuple(map(len, lines))

        def places(low: int, high: int) -> Array:
            chosen = np.unravel_index(np.arange(low, high), shape or (1,))
            indices = base_indices(shown, tuple([line[part] for line, part in zip(lines, chosen)]))
            return np.ravel_multi_index(indices, base.shape)

        # a rank that takes no part requests nothing, even of a view whose axes are all inside of one element
        elements = fetch_flat(section, prod(shape) if size else 0, places)
        elements = elements.reshape(shape) if size else elements
    if not size:
        block = np.empty(target.local_shape(section.rank), view.dtype)
    else:
        block = elements if shown is view else view.part_of(elements).copy()
    return Section(block, target, section.communicator)


@collective("write across ranks", writes=True)
def write_across(base: Section, values: Section, region: Geometry, *, target: Layout) -> None:
    """Write values through a view that no axis map describes, or into a part (a field, the real part) of elements."""
    if region.dtype != base.dtype:
        assert region.elements is not None
        shown = base if region.elements.is_base else base.seen(region.elements)
        region.part_of(shown.block)[...] = redistributed(values, shown.layout).block
        return
    layout = Layout.default(region.shape, base.communicator.size)
    held = np.ix_(*[part.array() for part in layout.region(base.rank)])
    store(base, base_indices(region, held), redistributed(values, layout).block)


@dataclass(slots=True, eq=False)
class RunCollective:
    """A collective operation on this rank's sections of its operands."""

    register: int
    call: Call
    sources: tuple[int, ...]
    """The registers of the operands; the first is the result's own if the operation writes into it."""
    geometry: Geometry
    number: int
    """The number of the pending node that it computes."""

    @property
    def is_new(self) -> bool:
        """True if the result takes new memory."""
        return bool(self.geometry.ndim) and self.sources[0] != self.register

    def run(self, state: State) -> None:
        """Communicate and compute."""
        values = [state.registers[source] for source in self.sources]
        arrays = [value.array for value in values if value is not None]
        block = self.call.run(arrays, self.geometry.shape)
        if self.sources[0] == self.register:
            return
        form, result = self.geometry, Value(block)
        fits = (block.shape, block.strides, block.dtype) == (form.shape, form.strides, form.dtype)
        if not fits or any(np.may_share_memory(block, array) for array in arrays):
            result = backend.current().allocate(form)
            if block.shape != form.shape:  # with communication padding
                result.array[...] = 0
            result.array[self.call.inside] = block
        state.registers[self.register] = result


@dataclass(slots=True, eq=False)
class FoldAcross:
    """Combine the partial results of all ranks into the shares of the result."""

    register: int
    partial: int
    kept: tuple[int, ...]
    """The shape of this rank's partial result, without the folded axes."""
    plan: FoldPlan
    ufunc: np.ufunc
    communicator: Communicator
    geometry: Geometry

    def run(self, state: State) -> None:
        """Exchange and join."""
        value = state.registers[self.partial]
        assert value is not None
        partial = (value.array.reshape(self.kept),)
        (joined,) = folded(partial, self.plan, self.communicator, by_ufunc(self.ufunc))
        result = backend.current().allocate(self.geometry)
        result.array[...] = joined.reshape(self.geometry.shape)
        state.registers[self.register] = result


@dataclass(slots=True, eq=False)
class CountLocally:
    """``first + step * index`` along an axis, for the indices of this rank's share."""

    register: int
    indices: Array
    axis: int
    numbers: tuple[int, int]
    geometry: Geometry

    def run(self, state: State) -> None:
        """Count."""
        first, step = (state.scalars[number] for number in self.numbers)
        shape = self.geometry.shape
        line = (first + step * self.indices).astype(self.geometry.dtype)
        along = tuple(-1 if k == self.axis else 1 for k in range(len(shape)))
        state.registers[self.register] = Value(np.broadcast_to(line.reshape(along), shape).copy())
