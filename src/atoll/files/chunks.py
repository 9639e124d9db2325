"""Chunked arrays: the assignment of chunks to the ranks that write them, a buffer at a time, and reads of regions.

The module also has the common code of HDF5 and Zarr files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..collective import Section, redistributed
from ..comm.world import World, current_world
from ..context.caches import remembered
from ..context.interrupts import passed_on
from ..errors import FileFormatError
from ..layout import Layout, Range, Region
from ..layout.transfer import region_key
from ..lazy.agreement import in_step
from ..lazy.conversion import must_travel
from ..lazy.creation import asarray
from ..lazy.sections import section_of
from .collective import everywhere, locally
from .extents import boxes, rows_layout
from .npy import arrived, empty_block, path_for, place_for
from .transport import fill

Array = np.ndarray[Any, Any]


def grid_of(shape: tuple[int, ...], chunks: tuple[int, ...]) -> tuple[int, ...]:
    """The number of chunks along each axis."""
    return tuple([-(-n // c) for n, c in zip(shape, chunks, strict=True)])


def _most(dtype: np.dtype[Any], chunks: tuple[int, ...]) -> int:
    """The number of chunks that fit into the buffer of a rank; at least one."""
    return max(policy.limits.held // max(prod(chunks) * dtype.itemsize, 1), 1)


def outgoing_boxes(
    section: Section, chunks: tuple[int, ...], *, in_step: bool = False
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Boxes of whole chunks that this rank writes: the index of the first element of each, and its elements. Collective.

    Ranks redistribute the array into such boxes, a buffer for each rank at a time, unless all blocks consist of whole
    chunks. With ``in_step``, all ranks yield the same number of boxes.
    """
    shape, size, rank = section.shape, section.communicator.size, section.rank
    if not in_step and _is_aligned(section.layout, chunks):
        if section.layout.coordinates(rank) is None or section.layout.copy_number(rank):
            return
        corner = [part.lowest if len(part) else 0 for part in section.region]
        local = section.block.shape
        for _, key in boxes(grid_of(local, chunks), _most(section.dtype, chunks)):
            cut = _elements(key, chunks, local)
            starts = [first + part.start for first, part in zip(corner, cut, strict=True)]
            yield tuple(starts), section.block[cut]
        return
    for _, key in boxes(grid_of(shape, chunks), _most(section.dtype, chunks), size):
        cut = _elements(key, chunks, shape)
        part = section.sliced(cut)
        axis = next((k for k, n in enumerate(grid_of(part.shape, chunks)) if n > 1), 0)
        target = rows_layout(part.shape, axis, size, chunks[axis] if chunks else 1)
        mine = redistributed(part, target)
        owned = target.region(rank)
        starts = [p.start + (h.lowest if len(h) else 0) for p, h in zip(cut, owned, strict=True)]
        yield tuple(starts), mine.block


def _elements(
    key: tuple[Any, ...], chunks: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[slice, ...]:
    """The slices of the elements that a box of chunks covers."""
    whole = [slice(0, n) for n in shape[len(key) :]]
    cut = [
        slice(part.start * c, min(part.stop * c, n))
        for part, c, n in zip(key, chunks, shape, strict=False)
    ]
    return (*cut, *whole)


@remembered
def _is_aligned(layout: Layout, chunks: tuple[int, ...]) -> bool:
    """True if every rank's block is contiguous and begins at a chunk boundary on each axis."""
    if not layout.is_block:
        return False
    for axis, chunk in zip(layout.axes, chunks, strict=True):
        for coordinate in range(axis.processes):
            part = axis.owned(coordinate)
            if len(part) and part.lowest % chunk:
                return False
    return True


def chunks_in(
    start: tuple[int, ...], block: Array, chunks: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The chunks of a box: the index of each one's first element, and its elements in C order, zero-padded at the array's end."""
    if not block.size:
        return
    for place in np.ndindex(*grid_of(block.shape, chunks)):
        cut = tuple([slice(i * c, (i + 1) * c) for i, c in zip(place, chunks, strict=True)])
        part = block[cut]
        if part.shape != chunks:
            whole = np.zeros(chunks, block.dtype)
            whole[tuple([slice(0, n) for n in part.shape])] = part
            part = whole
        yield (
            tuple([s + i * c for s, i, c in zip(start, place, chunks, strict=True)]),
            np.ascontiguousarray(part),
        )


def fill_by(
    reader: Callable[[tuple[slice, ...], Array | None], Any],
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    region: Region,
    block: Array,
) -> None:
    """Fill a rank's block from a reader of slices. The slices end at chunk boundaries, so that each chunk is read once.

    The reader receives the destination if that is contiguous; any other array that it returns is copied to the destination.
    """
    if not block.size:
        return
    if not shape:
        block[()] = reader((), None)
        return
    low = [part.lowest // c * c for part, c in zip(region, chunks, strict=True)]
    hull = tuple([part.highest + 1 - first for part, first in zip(region, low, strict=True)])
    for _, key in boxes(grid_of(hull, chunks), _most(block.dtype, chunks)):
        cut = _elements(key, chunks, hull)
        window = [
            Range(first + part.start, first + part.stop)
            for first, part in zip(low, cut, strict=True)
        ]
        wanted = [owned.intersection(part) for owned, part in zip(region, window, strict=True)]
        if not all(map(len, wanted)):
            continue
        first = [part.lowest for part in wanted]
        key = region_key(
            [owned.positions(part) for owned, part in zip(region, wanted, strict=True)]
        )
        chosen = region_key([part.shifted(-n) for part, n in zip(wanted, first, strict=True)])
        source = tuple([slice(part.lowest, part.highest + 1) for part in wanted])
        into = None
        if all(type(part) is slice and part.step in (None, 1) for part in (*key, *chosen)):
            into = block[key]
        lines = reader(source, into if into is not None and into.flags.c_contiguous else None)
        if lines is not into:
            block[key] = np.asarray(lines, block.dtype)[chosen]


# Files of HDF5 and Zarr


def library(name: str, refusal: str) -> Any:
    """Import a library at its first use; ``refusal`` is the text of the ``ImportError`` if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(refusal) from error


def named_sections(
    what: str, path: Any, arrays: Mapping[str, Any], *settings: Any
) -> tuple[World, str, dict[str, Section]]:
    """The arguments of a write of named arrays: the world, the path of the file, and this rank's sections. Collective."""
    world, target = current_world(), path_for(what, path)
    if world.size > 1:
        in_step(world, what, target, list(arrays.items()), *settings)
    sections = {
        name: section_of(value if hasattr(value, "_cell") else asarray(value), world)
        for name, value in arrays.items()
    }
    for section in sections.values():
        must_travel(section.dtype)
    return world, target, sections


class Stored(NamedTuple):
    """An array in an HDF5 or Zarr file: its metadata, and a function that reads slices into an array or into new memory."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    offset: int | None
    """Byte offset of the elements if the file has them contiguously in NumPy's format; otherwise ``None``."""
    reader: Callable[[tuple[slice, ...], Array | None], Any]


def load_stored(
    what: str,
    path: Any,
    name: str,
    layout: Any,
    library: Any,
    stored: Callable[[Any, str, str], AbstractContextManager[Stored]],
) -> Any:
    """Load the array ``name`` of a file. Each rank reads its own part by ``stored(library, path, name)``. Collective."""
    world, source = current_world(), path_for(what, path)
    if world.size > 1:
        in_step(world, what, source, name, repr(layout))

    def facts() -> tuple[Any, ...]:
        os.stat(source)
        with stored(library, source, name) as array:
            return array[:-1]

    every = everywhere(world.communicator, what, facts)
    if any(own != every[0] for own in every):
        raise FileFormatError(
            f"{what}: ranks see different files as {source}: {every}; the file must be on a file system that all ranks share"
        )
    shape, dtype, chunks, offset = every[0]
    place = place_for(shape, dtype, layout)
    block, inner, region = empty_block(shape, dtype, place)

    def fill_block() -> None:
        try:
            if offset is not None:
                with open(source, "rb") as file:
                    fill(file.fileno(), offset, shape, region, inner, source)
            else:
                with stored(library, source, name) as array:
                    fill_by(array.reader, shape, chunks, region, inner)
        except FileFormatError:
            raise
        except Exception as error:
            passed_on(error)
            words = f"{source}[{name!r}] is damaged: {type(error).__name__}: {error}"
            raise FileFormatError(words) from error

    locally(world.communicator, what, fill_block)
    return arrived(block, shape, place)
