"""Fourier transforms along axes, one after the other, by NumPy on each rank's block.

The axis of a step must be whole on each rank. Where it is divided, it changes places with an axis that is whole: this one is
divided among the same ranks instead. So ranks in a grid of several axes (*pencils*) exchange data only with the others of
their line of the grid, some root of all ranks, and ranks in one row of blocks (*slabs*) with all. The steps are NumPy's, in
NumPy's order, so a result has the same bits however the array lies.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ..context.caches import remembered
from ..layout import BlockAxis, Layout
from .movement import redistributed
from .operation import Form, Moves, collective, small_or
from .section import Section, empty


class TransformStep(NamedTuple):
    """A transform along one axis: the function of ``numpy.fft``, the axis, its length, and the norm."""

    name: str
    axis: int
    length: int
    norm: str | None

    def after(self, form: Form) -> Form:
        """The form of the result, where the operand has the axis whole."""
        count = self.length // 2 + 1 if self.name == "rfft" else self.length
        dtype = getattr(np.fft, self.name)(np.zeros(2, form.dtype)).dtype
        return Form(dtype, form.layout.replaced(self.axis, BlockAxis.even(count)))


def with_whole(layout: Layout, axis: int) -> Layout | None:
    """A layout that has an axis whole, and is divided like another one as far as may be.

    ``None`` where the other axes have too few elements for all ranks, and also too few to leave some ranks idle: fewer than a
    quarter of a line.
    """
    if layout.axes[axis].is_undistributed:
        return layout
    size, shape = layout.processes, layout.shape
    plain = layout.is_block and layout.is_row_major and layout.cells == size and not layout.overlaps
    count = layout.grid[axis]
    others = [
        k for k in range(layout.ndim) if k != axis and layout.grid[k] == 1 and shape[k] >= count
    ]
    if plain and others:
        into = max(others, key=lambda k: (shape[k], -k))
        axes = list(layout.axes)
        axes[into] = BlockAxis.even(shape[into], count)
        axes[axis] = BlockAxis.even(shape[axis])
        return layout.arranged(axes)
    rest = (*shape[:axis], *shape[axis + 1 :])
    if prod(rest) < min(size, shape[axis] // 4):
        return None
    grid = list(Layout.default(rest, size).grid)
    grid.insert(axis, 1)
    return Layout(shape, "b" * len(shape), grid=grid, size=size)


@remembered
def _route(operand: Form, steps: tuple[TransformStep, ...]) -> list[tuple[Form, Form]] | None:
    """The operand of each step, and its result; ``None`` where no layout has the axis of some step whole."""
    route, form = [], operand
    for step in steps:
        layout = with_whole(form.layout, step.axis)
        if layout is None:
            return None
        whole = Form(form.dtype, layout)
        form = step.after(whole)
        route.append((whole, form))
    return route


def _form(operand: Form, steps: tuple[TransformStep, ...]) -> Form | None:
    route = _route(operand, steps)
    if route is None:
        return None
    _, (dtype, layout) = route[-1]
    return Form(dtype, small_or(layout))


def _moves(operand: Form, steps: tuple[TransformStep, ...]) -> Moves:
    """From each result to the operand of the next step."""
    route = _route(operand, steps)
    assert route is not None
    results = [operand, *[result for _, result in route]]
    targets = [whole.layout for whole, _ in route]
    return list(zip(results, [*targets, small_or(results[-1].layout)], strict=True))


@collective("transform", _form, _moves)
def transform(section: Section, steps: tuple[TransformStep, ...], *, target: Layout) -> Section:
    """The transforms of some axes, in turn."""
    given = section.block
    route = _route(Form(section.dtype, section.layout), steps)
    assert route is not None
    for step, (whole, form) in zip(steps, route, strict=True):
        section = result = redistributed(section, whole.layout)
        if section.block is given or form != whole:
            result = empty(form.layout, form.dtype, section.communicator)
        if section.block.size:  # a rank without elements may have a block of other extents
            call = getattr(np.fft, step.name)
            call(section.block, step.length, step.axis, step.norm, result.block)
        section = result
    return section
