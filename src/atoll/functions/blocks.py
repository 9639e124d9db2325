"""The building blocks of collective functions.

There are three ways to write one:

*compositions* of recorded or collective functions;

*blocks* (:func:`by_blocks`): NumPy's function on this rank's part of operands with one layout, for
elementwise functions;

*lanes* (:func:`along`): NumPy's function along an axis, with some whole lanes on each rank. If
there are fewer lanes than ranks, each lane in turn is distributed over all of them.

An error that NumPy raises on one rank is raised on all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..collective import Section, even_blocks, redistributed, reshaped
from ..comm.in_step import bcast_object, least
from ..comm.world import World
from ..config import config
from ..layout import Layout
from ..lazy import shapes
from ..lazy.creation import asarray
from ..lazy.sections import section_of, small_or_there
from ..lazy.ufunc_calls import into as into
from .public import names

Array = np.ndarray[Any, Any]
LOCAL = 1 << 62
"""As ``config.small``: whatever a user's function makes stays on this rank."""


def in_c_order(handle: Any) -> None:
    """The memory order of results that NumPy always makes in C order."""


def call(name: str, *args: Any, **options: Any) -> Any:
    """Call a public atoll function by name."""
    return names[name](*args, **options)


def every_rank(world: World, compute: Callable[[], Any], what: str) -> Any:
    """The result of ``compute()`` on this rank; an error on one rank is raised on all. Collective."""
    result, error = None, None
    try:
        with config(small=LOCAL):
            result = compute()
    except Exception as raised:
        error = raised
    failed = world.size if error is None else world.rank
    (first,) = least(world.communicator, [failed], what)
    if first < world.size:
        told = bcast_object(world.communicator, error, first, what)
        raise error if error is not None else told
    return result


def alike(values: Sequence[Any], world: World) -> list[Section]:
    """Sections of values broadcast to one shape, all in the layout of the first value of that shape."""
    shape = np.broadcast_shapes(*[value.shape for value in values])
    sections: list[Section | None] = [None] * len(values)
    layout: Layout | None = None
    for number, value in enumerate(values):
        if value.shape == shape:
            section = section_of(value, world)
            sections[number] = section
            once = section.layout.copies == 1 and not section.layout.overlaps
            if layout is None and once and not section.layout.is_replicated:
                layout = section.layout
    if layout is None:  # each element on one rank, so that each counts once
        layout = Layout(shape, "b" + "n" * (len(shape) - 1) if shape else "", size=world.size)
    aligned = []
    for value, own in zip(values, sections):
        wide = section_of(shapes.broadcast_to(value, shape), world) if own is None else own
        aligned.append(redistributed(wide, layout))
    return aligned


def by_blocks(
    function: Callable[..., Any], values: Sequence[Any], world: World, *, agrees: bool = False
) -> Any:
    """``function`` of the values element by element, on this rank's blocks; an array, or several.

    ``agrees`` where it may raise: then all ranks learn of it.
    """
    sections = alike(values, world)
    blocks = [section.block for section in sections]
    if agrees:
        result = every_rank(world, lambda: function(*blocks), "whether a function raised")
    else:
        result = function(*blocks)
    several = isinstance(result, tuple)
    arrays = []
    for block in result if several else (result,):
        section = sections[0].with_block(np.asarray(block))
        arrays.append(small_or_there(section, world))
    return tuple(arrays) if several else arrays[0]


def lanes(handle: Any, axes: tuple[int, ...], world: World) -> Section:
    """The lanes along some axes as rows, in even blocks of rows: (lanes, length)."""
    kept = [k for k in range(handle.ndim) if k not in axes]
    count = prod([handle.shape[k] for k in kept])
    length = prod([handle.shape[k] for k in axes])
    section = section_of(shapes.transpose(handle, (*kept, *axes)), world)
    return reshaped(section, even_blocks((count, length), world.size))


def along(
    handle: Any,
    axes: tuple[int, ...],
    world: World,
    rows: Callable[[Array], Array],
    line: Callable[[Any], Any],
) -> Any:
    """Results of NumPy for each lane along some axes, in the order of the other axes: (lanes, ...).

    ``rows`` computes them for an array of lanes; ``line`` for one lane that is distributed in even
    blocks, and returns an array of the same shape for each lane.
    """
    kept = [k for k in range(handle.ndim) if k not in axes]
    count = prod([handle.shape[k] for k in kept])
    if count >= world.size:
        section = lanes(handle, axes, world)
        results = rows(section.block)
        layout = even_blocks((count, *results.shape[1:]), world.size)
        return small_or_there(Section(results, layout, world.communicator), world)
    turned = shapes.reshape(shapes.transpose(handle, (*kept, *axes)), (count, -1))
    return call("stack", [asarray(line(turned[k])) for k in range(count)])


def normal_axis(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that an argument ``axis`` names."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(np.lib.array_utils.normalize_axis_tuple(axis, ndim))
