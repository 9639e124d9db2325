"""`np.load`, and `.npz` archives: every rank writes its own part of all arrays, and reads its own part of large arrays."""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import Any

import numpy as np

from ..collective.movement import even_part
from ..comm.world import World, current_world
from ..errors import FileFormatError
from ..lazy.agreement import in_step
from ..lazy.conversion import default_place
from ..lazy.fallback import by_numpy
from ..lazy.layouts import laid_out
from ..lazy.views import Handle
from .archive import Sum, Writer, joined, sum_in_file
from .collective import display, everywhere, locally, open_file
from .npy import (
    LONGEST_HEADER,
    Header,
    arrived,
    empty_block,
    mapped,
    path_of,
    place_for,
    read,
    read_header,
    same_header,
)
from .replacement import NewFile
from .transport import fill_from
from .writers import collective_writer


def _parts(compressed: bool) -> Any:
    def write(world: World, path: str, *args: Any, allow_pickle: bool = True, **named: Any) -> Any:
        arrays = {f"arr_{k}": value for k, value in enumerate(args)}
        if arrays.keys() & named.keys() or not all(map(_is_plain, (*args, *named.values()))):
            return NotImplemented
        members = [(f"{name}.npy", value) for name, value in {**named, **arrays}.items()]
        with NewFile(world, path, "np.savez_compressed" if compressed else "np.savez") as file:
            writer = Writer(world, file, compressed=compressed)
            for name, value in members:
                writer.add(name, value)
            writer.share()
            writer.finish()
        return None

    return write


def _is_plain(value: Any) -> bool:
    """True if a value is an array without Python objects, whose elements a file stores without pickles."""
    return isinstance(value, Handle | np.ndarray) and not value.dtype.hasobject  # type: ignore[union-attr]


savez = collective_writer(np.savez, 0, "file", ".npz", _parts(False))
savez_compressed = collective_writer(np.savez_compressed, 0, "file", ".npz", _parts(True))


class Archive(np.lib.npyio.NpzFile):
    """NumPy's mapping of names to the arrays of a file, except that each rank reads its own part of a large array."""

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(open(path, "rb"), own_fid=True, **options)  # noqa: SIM115
        self._path = path

    def __getitem__(self, key: str) -> Any:
        world = current_world()
        assert self.zip is not None
        members = self.zip.namelist()
        name = key if key in members else f"{key}.npy"
        if name not in members:
            return super().__getitem__(key)
        info = self.zip.getinfo(name)
        label = f"{self._path}[{key!r}]"
        try:
            with self.zip.open(info) as member:
                if member.read(2) != b"\x93N":
                    return super().__getitem__(key)
            with self.zip.open(info) as member:
                header = read_header(member, label)  # type: ignore[arg-type]
        except (zipfile.BadZipFile, zlib.error) as error:
            raise FileFormatError(f"{label} is damaged: {error}") from error
        if default_place(header.shape) is None:
            return super().__getitem__(key)
        in_step(world, "load", label)
        header = same_header(world, label, header, None, "np.load")
        if info.compress_type != zipfile.ZIP_STORED:
            return _decompressed(world, self.zip, info, header, label)
        offset = _data_offset(self._path, info)
        _check(world, self._path, offset, info, label)
        return read(world, self._path, header._replace(offset=offset + header.offset), None)


def _data_offset(path: str, info: zipfile.ZipInfo) -> int:
    """The byte offset of the data of a member."""
    with open(path, "rb") as file:
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
    return info.header_offset + 30 + int(name) + int(extra)


def _check(world: World, path: str, offset: int, info: zipfile.ZipInfo, label: str) -> None:
    """Verify the checksum of a member against the archive directory: each rank reads an even part. Collective."""

    def own_sum() -> Sum:
        return sum_in_file(
            descriptor, offset, *even_part(info.file_size, world.size, world.rank), label
        )

    with open_file(world.communicator, path, "np.load") as descriptor:
        sums = everywhere(world.communicator, "np.load", own_sum)
    if joined(Sum(*part) for part in sums) != info.CRC:
        raise damaged(label)


def damaged(label: str) -> FileFormatError:
    """The error for data with a wrong checksum."""
    return FileFormatError(
        f"{label} is damaged: its bytes do not have the checksum that was written with them; restore the file from a copy"
    )


def _decompressed(
    world: World, archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: Header, label: str
) -> Any:
    """Load a compressed array: every rank decompresses all of it and keeps its own part. Collective."""
    place = place_for(header.shape, header.dtype, None)
    block, inner, region = empty_block(header.shape, header.dtype, place, header.fortran_order)

    def fill_block() -> None:
        try:
            with archive.open(info) as member:
                member.read(header.offset)
                fill_from(member, header.stored_shape, region, inner, label)  # type: ignore[arg-type]
                member.read()  # checks the checksum
        except (zipfile.BadZipFile, zlib.error):
            raise damaged(label) from None

    locally(world.communicator, "np.load", fill_block)
    return arrived(block, header.shape, place, header.fortran_order)


@display("reading")
def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    *,
    max_header_size: int = LONGEST_HEADER,
    layout: Any = None,
) -> Any:
    """Load an array from a ``.npy`` file, arrays from a ``.npz`` file, or a pickled object.

    As ``numpy.load``. On several ranks, each reads its own part of a large array. ``layout`` is the layout of the result: an
    :class:`atoll.Layout`, or its maps alone, such as ``"bn"``. With ``layout`` or ``mmap_mode``, the call is collective.
    """
    options = {
        "mmap_mode": mmap_mode, "allow_pickle": allow_pickle, "fix_imports": fix_imports, "encoding": encoding,
        "max_header_size": max_header_size,
    }  # fmt: skip
    world, path = current_world(), path_of(file)
    if path is None or allow_pickle or (world.size == 1 and layout is None):
        return laid_out(by_numpy(np.load, (file,), options), layout)
    header, error = None, None
    try:
        with open(path, "rb") as stream:
            begin = stream.read(4)
            if begin == b"PK\x03\x04" and layout is None:
                return Archive(path, max_header_size=max_header_size)
            if begin[:2] == b"\x93N" or layout is not None:
                stream.seek(0)
                header = read_header(stream, path, max_header_size)
    except (OSError, FileFormatError) as raised:
        error = raised
    if layout is None and (header is None or world.size == 1 or (
        mmap_mode is None and default_place(header.shape) is None
    )):  # fmt: skip
        return by_numpy(np.load, (file,), options)
    in_step(world, "load", path, mmap_mode, repr(layout))
    header = same_header(world, path, header, error, "np.load")
    if mmap_mode is not None:
        return mapped(world, path, header, mmap_mode, layout)
    return read(world, path, header, layout)
