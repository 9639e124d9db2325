"""Sorting a line by samples.

Each rank sorts its own interval and shows some of it, evenly spaced. From all samples the same
splitters are chosen on every rank; between two of them lies what one rank is to have. A splitter is
an element, not a value: of equal elements those that come first in the array lie before it. So the
sort is stable, and a line of equal elements is divided as evenly as any other. With as many samples
from each rank as there are ranks, no rank gets more than about twice an even share; then the line
is distributed again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..comm.in_step import allgather
from ..layout import Layout
from .messages import uneven
from .moving import even_line, line_start, redistributed, reshaped, uneven_line
from .operation import Form, Moves, collective, result_layout, small_or
from .scans import whole_along
from .section import Section

Array = np.ndarray[Any, Any]


def _sorted_form(operand: Form, axis: int, function: Any) -> Form | None:
    """A line comes out in even blocks, else the result lies as the operand does."""
    layout = operand.layout
    dtype = operand.dtype if function is np.sort else np.dtype(np.intp)
    if layout.ndim == 1:
        return Form(dtype, result_layout(layout.shape, layout.processes))
    if not layout.axes[axis].is_undistributed and whole_along(layout, axis) is None:
        return None
    return Form(dtype, small_or(layout))


def _along(section: Section, axis: int, function: Any) -> Section:
    """NumPy's function along an axis that one rank has whole, or that can be made so."""
    layout = section.layout
    if not layout.axes[axis].is_undistributed:
        whole = whole_along(layout, axis)
        assert whole is not None
        section = redistributed(section, whole)
    kind: Any = "stable" if function is np.argsort else None
    return section.with_block(function(section.block, axis=axis, kind=kind))


def _sort_moves(operand: Form, axis: int) -> Moves:
    """What has to move to make an axis whole, and back; where elements of a line go, their values say."""
    layout = operand.layout
    if layout.ndim == 1:
        return None
    target = small_or(layout)
    if layout.axes[axis].is_undistributed:
        return [(operand, target)]
    whole = whole_along(layout, axis)
    return None if whole is None else [(operand, whole), (Form(operand.dtype, whole), target)]


def _line(section: Section) -> Section:
    return reshaped(section, even_line(section.layout.size, section.communicator.size))


@collective("sort", lambda operand, axis: _sorted_form(operand, axis, np.sort), _sort_moves)
def sort(section: Section, axis: int, *, target: Layout) -> Section:
    """The elements in ascending order along an axis."""
    return in_order(_line(section)) if len(section.shape) == 1 else _along(section, axis, np.sort)


@collective("argsort", lambda operand, axis: _sorted_form(operand, axis, np.argsort), _sort_moves)
def argsort(section: Section, axis: int, *, target: Layout) -> Section:
    """Where the elements in ascending order come from, of equal ones the first place first."""
    if len(section.shape) == 1:
        return ordered(_line(section))[1]
    return _along(section, axis, np.argsort)


def in_order(line: Section) -> Section:
    """The elements of a line in ascending order, NaN last, in even blocks. Collective."""
    values = np.sort(line.block)
    cuts = _cuts(values, line.communicator)
    joined = _arrived(values, cuts, line, "elements in order")
    joined.sort()
    return _dealt_out(joined, line)


def ordered(line: Section) -> tuple[Section, Section]:
    """The elements of a line in ascending order, NaN last, and where in the line each came from.

    Equal elements stay in their order. Both are in even blocks. Collective.
    """
    order = np.argsort(line.block, kind="stable")
    values = line.block[order]
    cuts = _cuts(values, line.communicator)
    pairs = _pairs(values, order + line_start(line.layout, line.rank))
    del values, order
    pairs = _arrived(pairs, cuts, line, "elements in order, and where they came from")
    order = np.argsort(_values_of(pairs, line.dtype), kind="stable")
    pairs = pairs[order]  # those of lower ranks came first, each in order
    del order
    dealt = _dealt_out(pairs, line)
    layout = even_line(dealt.shape[0], line.communicator.size)
    places = np.ascontiguousarray(dealt.block[:, line.dtype.itemsize :]).view(np.int64).reshape(-1)
    sorted_part = _values_of(dealt.block, line.dtype)
    return Section(sorted_part, layout, line.communicator), Section(
        places, layout, line.communicator
    )


def _pairs(values: Array, places: Array) -> Array:
    """Elements and their places as rows of bytes, which travel in one message."""
    width = values.dtype.itemsize
    rows = np.empty((len(values), width + 8), np.uint8)
    rows[:, :width] = values.view(np.uint8).reshape(len(values), width)
    rows[:, width:] = places.astype(np.int64, copy=False).view(np.uint8).reshape(len(values), 8)
    return rows


def _values_of(pairs: Array, dtype: np.dtype[Any]) -> Array:
    return np.ascontiguousarray(pairs[:, : dtype.itemsize]).view(dtype).reshape(-1)


def _arrived(values: Array, cuts: list[int], line: Section, what: str) -> Array:
    """What all ranks have for this one, in the order of the ranks."""
    pieces = {peer: values[a:b] for peer, (a, b) in enumerate(pairwise(cuts))}
    arrived = uneven(line.communicator, pieces, values[:0], what)
    return np.concatenate([values[:0], *[arrived[peer] for peer in sorted(arrived)]])


def _dealt_out(values: Array, line: Section) -> Section:
    """What the ranks have, one after the other, in even blocks along the first axis."""
    communicator = line.communicator
    counts = allgather(communicator, np.array([len(values)], np.int64), "how many are here")
    layout = uneven_line(counts.reshape(-1))
    target = even_line(layout.size, communicator.size)
    if values.ndim > 1:
        width = values.shape[1]
        layout, target = [
            lines.expanded((1,)).broadcast((lines.size, width)) for lines in (layout, target)
        ]
    return reshaped(Section(values, layout, communicator), target)


def _cuts(values: Array, communicator: Any) -> list[int]:
    """Where a rank's sorted values are to be cut: the bounds of what each rank is to have."""
    size, rank, count = communicator.size, communicator.rank, len(values)
    shown = np.arange(min(size, count)) * count // max(min(size, count), 1)
    samples = np.zeros(size, values.dtype)
    samples[: len(shown)] = values[shown]
    places = np.full(size, -1, np.int64)
    places[: len(shown)] = shown
    every = allgather(communicator, samples, "samples").reshape(-1)
    where = allgather(communicator, places, "where samples are").reshape(-1)
    owners = np.repeat(np.arange(size), size)
    kept = where >= 0
    every, where, owners = every[kept], where[kept], owners[kept]
    order = np.argsort(every, kind="stable")  # equal ones by rank, and in a rank by place
    chosen = order[np.arange(1, size) * len(order) // size] if len(order) else order
    cuts = [0]
    for k in chosen.tolist():
        if owners[k] == rank:
            cut = int(where[k])
        else:
            side: Any = "right" if rank < owners[k] else "left"
            cut = int(np.searchsorted(values, every[k], side=side))
        cuts.append(max(cut, cuts[-1]))
    return [*cuts, *[count] * (size + 1 - len(cuts))]


def starts(line: Section) -> Section:
    """For each element of an ordered line, whether it differs from the one before. Collective."""
    communicator, block = line.communicator, line.block
    last = block[-1:] if len(block) else np.zeros(1, block.dtype)
    every = allgather(communicator, np.ascontiguousarray(last), "the last element of each rank")
    counts = allgather(communicator, np.array([len(block)]), "how many are here").reshape(-1)
    marks = np.ones(len(block), np.bool_)
    marks[1:] = _differ(block[1:], block[:-1])
    before = np.flatnonzero(counts[: line.rank])
    if len(before) and len(block):
        marks[:1] = _differ(block[:1], every[before[-1]])
    return line.with_block(marks)


def _differ(left: Array, other: Array) -> Array:
    """Elementwise; two NaN are alike."""
    differ: Array = left != other
    if left.dtype.kind in "fc":
        differ &= ~(np.isnan(left) & np.isnan(other))
    return differ
