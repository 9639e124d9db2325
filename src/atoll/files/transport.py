"""Transfer of elements between a rank's block and their positions in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any, BinaryIO

import numpy as np

from .. import policy
from ..collective import Section, redistributed
from ..comm import progress
from ..context import profiler
from ..context.profiler import Kind
from ..errors import FileFormatError
from ..layout import Range, Region
from ..layout.transfer import region_key
from .extents import boxes, pieces, rows_layout, run_length, shortest_run, split_axis
from .replacement import NewFile

Array = np.ndarray[Any, Any]


def _most(dtype: np.dtype[Any]) -> int:
    """The number of elements that fit into the buffer of a rank."""
    return max(policy.limits.held // max(dtype.itemsize, 1), 1)


def outgoing(section: Section, *, ordered: bool = False) -> Iterator[tuple[int, Array]]:
    """The elements that this rank writes, a buffer at a time, with the number of the first in the file. Collective.

    A rank writes its own elements if their runs in the file are long. Otherwise the ranks first redistribute the array into
    the order of the file, a buffer for each rank at a time. With ``ordered`` they always do, and in each step a rank has
    the elements that follow those of the previous rank.
    """
    progress.advance(0, section.block.nbytes)
    for first, data in _outgoing(section, ordered):
        yield first, data
        progress.advance(data.nbytes)


def _outgoing(section: Section, ordered: bool) -> Iterator[tuple[int, Array]]:
    layout, dtype, rank = section.layout, section.dtype, section.rank
    most = _most(dtype)
    if not ordered and shortest_run(layout) * dtype.itemsize >= policy.limits.packed:
        copy = layout.copy_number(rank) if layout.coordinates(rank) is not None else 0
        for number, piece in enumerate(pieces(layout.region(rank), layout.shape, most)):
            if number % layout.copies == copy:
                yield piece.first, np.ascontiguousarray(section.block[piece.key])
        return
    size = section.communicator.size
    for first, key in boxes(layout.shape, most, size):
        part = section.sliced(key)
        axis = len(key) - 1
        target = rows_layout(part.shape, axis, size)
        mine = redistributed(part, target)
        owned = target.region(rank)
        start = owned[axis].lowest if part.shape and len(owned[axis]) else 0
        inner = prod(part.shape[axis + 1 :]) if part.shape else 1
        if part.shape or rank == 0:
            yield first + start * inner, np.ascontiguousarray(mine.block)
        elif ordered:
            yield first, np.empty(0, dtype)


def write_elements(file: NewFile, section: Section, offset: int) -> None:
    """Write the elements of an array, in C order, from ``offset`` on. Collective."""
    for first, data in outgoing(section):
        with file.attempt():
            write_at(file.descriptor, data, offset + first * section.dtype.itemsize)


def write_at(descriptor: int, data: Array, offset: int) -> None:
    """Write the bytes of a contiguous array at an offset of a file."""
    rest = memoryview(as_bytes(data))
    with profiler.span(Kind.FILE, "write", data.nbytes):
        while rest:
            written = os.pwrite(descriptor, rest, offset)
            rest, offset = rest[written:], offset + written


def as_bytes(data: Array) -> Any:
    """The bytes of a contiguous array of any dtype, without a copy."""
    return data.reshape(-1).view(np.uint8) if data.dtype.itemsize else np.empty(0, np.uint8)


def read_at(descriptor: int, into: Array, offset: int, path: str) -> None:
    """Fill an array from the bytes at an offset of a file."""
    if not into.flags.c_contiguous:
        for _, key in boxes(into.shape, _most(into.dtype)):
            part = np.empty(into[key].shape, into.dtype)
            read_at(descriptor, part, offset, path)
            into[key] = part
            offset += part.nbytes
        return
    rest = memoryview(as_bytes(into))
    with profiler.span(Kind.FILE, "read", into.nbytes):
        while rest:
            count = os.preadv(descriptor, [rest[: 1 << 30]], offset)
            if not count:
                raise truncated(path, offset, len(rest))
            rest, offset = rest[count:], offset + count
    progress.advance(into.nbytes)


def truncated(path: str, end: int, missing: int) -> FileFormatError:
    """The error for a file that is shorter than its header says."""
    return FileFormatError(
        f"{path} is truncated: it ends at byte {end}, and {missing} more bytes of the array belong there; "
        "write the file again, or restore it from a copy"
    )


def fill(
    descriptor: int, offset: int, shape: tuple[int, ...], region: Region, block: Array, path: str
) -> None:
    """Read a region of an array of ``shape``, whose elements begin at ``offset`` in a file, into a rank's block."""
    dtype = block.dtype
    if not block.size or not dtype.itemsize:
        return
    progress.advance(0, block.nbytes)
    if run_length(region, shape) * dtype.itemsize >= policy.limits.packed or not shape:
        for piece in pieces(region, shape, 1 << 62):
            read_at(
                descriptor, block[(*piece.key, ...)], offset + piece.first * dtype.itemsize, path
            )
        return
    most = _most(dtype)
    axis = split_axis(shape, most)
    inner = prod(shape[axis + 1 :])
    rows = max(most // inner, 1)
    part = region[axis]
    places = [list(enumerate(owned.array().tolist())) for owned in region[:axis]]
    for lead in product(*places):
        base = 0
        for (_, index), extent in zip(lead, shape[:axis]):
            base = base * extent + index
        here = tuple([place for place, _ in lead])
        start = part.lowest
        while start <= part.highest:
            wanted = part.intersection(Range(start, start + rows))
            if len(wanted):
                low, high = wanted.lowest, wanted.highest
                lines = np.empty((high + 1 - low, *shape[axis + 1 :]), dtype)
                first = (base * shape[axis] + low) * inner
                read_at(descriptor, lines, offset + first * dtype.itemsize, path)
                chosen = region_key((wanted.shifted(-low), *region[axis + 1 :]))
                target: Any = block[here]
                target[part.positions(wanted).key] = lines[chosen]
            start += rows


def fill_from(
    stream: BinaryIO, shape: tuple[int, ...], region: Region, block: Array, path: str
) -> None:
    """Fill a rank's block from a stream of the elements of the whole array."""
    dtype = block.dtype
    for first, key in boxes(shape, _most(dtype)):
        extents = tuple([part.stop - part.start for part in key]) + shape[len(key) :]
        lines = np.empty(extents, dtype)
        rest = memoryview(as_bytes(lines))
        while rest:
            count = stream.readinto(rest)  # type: ignore[attr-defined]
            if not count:
                raise truncated(path, first * dtype.itemsize, len(rest))
            rest = rest[count:]
        wanted = [
            owned.intersection(Range(part.start, part.stop))
            for owned, part in zip(region, key, strict=False)
        ]
        if all(map(len, wanted)):
            rows = [owned.positions(part) for owned, part in zip(region, wanted, strict=False)]
            whole = [Range(0, len(owned)) for owned in region[len(key) :]]
            chosen = [part.shifted(-cut.start) for part, cut in zip(wanted, key, strict=True)]
            block[region_key((*rows, *whole))] = lines[region_key((*chosen, *region[len(key) :]))]
