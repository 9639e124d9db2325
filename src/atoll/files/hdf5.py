"""HDF5 files: every rank writes and reads its own part of a file, with any build of h5py."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ..comm.in_step import alltoall_object, bcast_object
from ..comm.world import World
from ..context.interrupts import passed_on
from ..errors import FileFormatError
from .chunks import Stored, chunks_in, library, load_stored, named_sections, outgoing_boxes
from .collective import display
from .replacement import NewFile
from .transport import write_at, write_elements

_LEVELS = range(1, 10)


_h5py = partial(library, "h5py", "HDF5 files need h5py, which is not installed: pip install h5py")


@display("writing")
def save_hdf5(
    path: Any,
    arrays: Mapping[str, Any],
    *,
    chunks: int | tuple[int, ...] | None = None,
    compression: int | None = None,
) -> None:
    """Write arrays into a new HDF5 file at ``path``, as datasets by name; slashes in names make groups. Collective.

    Without ``chunks`` the datasets are contiguous. With them, and with a level of ``compression`` (gzip, 1 to 9) if wanted,
    every rank writes or compresses whole chunks. The file appears under its name when it is whole. No parallel build of HDF5 is needed.
    """
    h5py = _h5py()
    if compression is not None and (chunks is None or compression not in _LEVELS):
        raise ValueError(
            f"save_hdf5: compression={compression!r} with chunks={chunks!r}; compression must be a level from 1 to 9, and needs chunks="
        )
    world, target, sections = named_sections("save_hdf5", path, arrays, chunks, compression)
    for name, section in sections.items():
        _chunk_shape(name, section.shape, chunks)
    with NewFile(world, target, "save_hdf5") as file:
        places = None
        with file.attempt():
            if file.is_first:
                try:
                    places = _create(h5py, file.hidden, sections, chunks, compression)
                except RuntimeError as error:  # when HDF5 closes a file that cannot grow
                    raise OSError(f"save_hdf5: HDF5 cannot create {target}: {error}") from error
        file.settle()
        places = bcast_object(world.communicator, places, 0, "save_hdf5")
        for name, section in sections.items():
            shape = _chunk_shape(name, section.shape, chunks)
            if compression is not None and section.shape:
                _compressed(h5py, world, file, name, section, shape, compression)
            elif chunks is not None and section.shape:
                for start, block in outgoing_boxes(section, shape):
                    with file.attempt():
                        for corner, chunk in chunks_in(start, block, shape):
                            write_at(file.descriptor, chunk, places[name][corner])
            elif places[name] is not None:
                write_elements(file, section, places[name])


def _chunk_shape(name: str, shape: tuple[int, ...], chunks: Any) -> tuple[int, ...]:
    """The chunk shape of an array, no longer than the array along any axis."""
    given = (chunks,) * len(shape) if isinstance(chunks, int) or chunks is None else tuple(chunks)
    if len(given) != len(shape) or not all(c is None or c > 0 for c in given):
        raise ValueError(
            f"chunks={chunks!r} for the array {name!r} of shape {shape}; give an extent of at least 1 for each of its axes"
        )
    return tuple(
        [max(n, 1) if c is None else min(c, max(n, 1)) for n, c in zip(shape, given, strict=True)]
    )


def _create(
    h5py: Any, path: str, sections: Mapping[str, Any], chunks: Any, compression: int | None
) -> dict[str, Any]:
    """Create the file with all datasets, and return the byte offsets of each dataset or of its chunks, by name."""
    with h5py.File(path, "w", locking=False) as file:
        for name, section in sections.items():
            facts = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            facts.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            if compression is None or not section.shape:
                facts.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            if chunks is not None and section.shape:
                facts.set_chunk(_chunk_shape(name, section.shape, chunks))
                if compression is not None:
                    facts.set_deflate(compression)
            kind = h5py.h5t.py_create(section.dtype, logical=True)
            if kind.get_size() != section.dtype.itemsize:
                raise TypeError(
                    f"save_hdf5: HDF5 does not store the dtype {section.dtype} of {name!r} as NumPy does; convert the array by astype"
                )
            links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
            links.set_create_intermediate_group(True)
            space = (
                h5py.h5s.create_simple(section.shape)
                if section.shape
                else h5py.h5s.create(h5py.h5s.SCALAR)
            )
            h5py.h5d.create(file.id, name.encode(), kind, space, facts, links)
        file.flush()
        return {name: _places(h5py, file[name]) for name in sections}


def _places(h5py: Any, dataset: Any) -> Any:
    if dataset.chunks is None:
        return dataset.id.get_offset()
    count = dataset.id.get_num_chunks()
    if not count:
        return {}
    places: dict[tuple[int, ...], int] = {}

    def note(info: Any) -> None:
        places[tuple(info.chunk_offset)] = info.byte_offset

    dataset.id.chunk_iter(note)
    return places


def _compressed(
    h5py: Any,
    world: World,
    file: NewFile,
    name: str,
    section: Any,
    shape: tuple[int, ...],
    level: int,
) -> None:
    """Compress chunks on each rank. Rank 0, which alone has the file open in HDF5, writes them."""
    for start, block in outgoing_boxes(section, shape, in_step=True):
        mine: list[Any] = []
        with file.attempt():
            mine = [
                (corner, zlib.compress(chunk.tobytes(), level))
                for corner, chunk in chunks_in(start, block, shape)
            ]
        received = alltoall_object(
            world.communicator,
            [mine if rank == 0 else [] for rank in range(world.size)],
            "save_hdf5",
        )
        if file.is_first:
            with file.attempt(), h5py.File(file.hidden, "r+", locking=False) as opened:
                for corner, content in [pair for part in received for pair in part]:
                    opened[name].id.write_direct_chunk(corner, content)


@display("reading")
def load_hdf5(path: Any, name: str, *, layout: Any = None) -> Any:
    """Read the dataset ``name`` of the HDF5 file at ``path``; each rank reads its own part. Collective.

    ``layout`` is the layout of the result, as for :func:`atoll.load`.
    """
    return load_stored("load_hdf5", path, name, layout, _h5py(), _stored)


@contextmanager
def _stored(h5py: Any, path: str, name: str) -> Iterator[Stored]:
    """Open a dataset. It has the offset of its elements if they are contiguous and in NumPy's format."""
    try:
        file = h5py.File(path, "r", locking=False)
    except OSError as error:
        passed_on(error)
        raise FileFormatError(f"{path} is no valid HDF5 file: {error}") from error
    with file:
        dataset = file.get(name)
        if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
            raise KeyError(f"load_hdf5: {path} has no dataset {name!r}; there are {sorted(file)}")
        if dataset.dtype.hasobject:
            raise FileFormatError(
                f"load_hdf5: {path}[{name!r}] has elements of different lengths or references, which ranks cannot divide; "
                "read them by h5py"
            )
        exact = dataset.id.get_type() == h5py.h5t.py_create(dataset.dtype, logical=True)
        elsewhere = dataset.chunks is not None or dataset.external or dataset.is_virtual
        offset = dataset.id.get_offset() if exact and not elsewhere else None

        def read(cut: tuple[slice, ...], into: Any) -> Any:
            if into is None:
                return dataset[cut]
            dataset.read_direct(into, cut)
            return into

        chunks = dataset.chunks or dataset.shape
        yield Stored(dataset.shape, _plain(dataset.dtype), chunks, offset, read)


def _plain(dtype: Any) -> np.dtype[Any]:
    """The dtype without h5py's metadata, which NumPy's array interface does not understand."""
    if dtype.subdtype is not None:
        several: np.dtype[Any] = np.dtype((_plain(dtype.base), dtype.shape))
        return several
    if dtype.names is None:
        simple: np.dtype[Any] = np.dtype(dtype.str)
        return simple
    fields = [dtype.fields[name] for name in dtype.names]
    return np.dtype({
        "names": dtype.names, "formats": [_plain(field[0]) for field in fields],
        "offsets": [field[1] for field in fields], "itemsize": dtype.itemsize,
    })  # fmt: skip
