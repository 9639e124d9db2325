"""`.npy` files: every rank writes, reads or maps into memory its own part of a file."""

from __future__ import annotations

import ast
import io
import os
import struct
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .. import system
from ..backend.memory import new_array
from ..collective import Section
from ..comm.in_step import agree
from ..comm.world import World, current_world
from ..context import statistics
from ..errors import FileFormatError, LayoutError
from ..graph import retention
from ..graph.geometry import dense, strided
from ..graph.node import nbytes_of, source
from ..layout import Layout
from ..layout.transfer import region_key
from ..lazy.agreement import in_step
from ..lazy.conversion import default_place, is_small, must_travel, of_small
from ..lazy.creation import recorded
from ..lazy.fallback import by_numpy
from ..lazy.sections import section_of
from ..lazy.views import Handle
from ..ops.elementwise import is_native
from ..ops.placement import Place
from .collective import display, locally, open_file, settle
from .replacement import NewFile
from .transport import fill, truncated, write_elements
from .writers import collective_writer

Array = np.ndarray[Any, Any]
LONGEST_HEADER = 10000
"""Length limit of a header, as in NumPy; programs can raise it."""


class Header(NamedTuple):
    """The header of a file: shape, order and dtype of its array, and the byte offset of the elements."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the array whose C order is the order of the elements in the file."""
        return self.shape[::-1] if self.fortran_order else self.shape


def header_bytes(
    shape: tuple[int, ...], dtype: np.dtype[Any], fortran_order: bool = False
) -> bytes:
    """The bytes before the elements, as NumPy writes them."""
    facts = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": fortran_order,
        "shape": shape,
    }
    head = io.BytesIO()
    try:
        np.lib.format.write_array_header_1_0(head, facts)
        return head.getvalue()
    except UnicodeEncodeError:
        pass
    except ValueError:
        np.lib.format.write_array_header_2_0(head, facts)
        return head.getvalue()
    words = "".join(
        ["{", *[f"{name!r}: {value!r}, " for name, value in sorted(facts.items())], "}"]
    )
    text = words.encode() + b" " * 20
    text += b" " * (-(len(text) + 13) % 64) + b"\n"
    return b"\x93NUMPY\x03\x00" + struct.pack("<I", len(text)) + text


def read_header(file: BinaryIO, path: str, longest: int = LONGEST_HEADER) -> Header:
    """Read the header of a ``.npy`` file from a stream at its start."""
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            facts = np.lib.format.read_array_header_1_0(file, longest)
        elif version == (2, 0):
            facts = np.lib.format.read_array_header_2_0(file, longest)
        elif version == (3, 0):
            facts = _read_header_3(file, longest)
        else:
            raise ValueError(f"the version of the format is {version}, which NumPy does not have")
    except (ValueError, SyntaxError, TypeError, KeyError, struct.error) as error:
        raise FileFormatError(f"{path} is no valid .npy file: {error}") from error
    shape, fortran_order, dtype = facts
    if dtype.hasobject:
        raise FileFormatError(
            f"{path} has Python objects, which atoll cannot unpickle on ranks; write the array with a dtype of a fixed size, or read the file by numpy.load(..., allow_pickle=True) if you trust it"
        )
    return Header(shape, fortran_order, dtype, file.tell())


def _read_header_3(file: BinaryIO, longest: int) -> tuple[Any, Any, Any]:
    (length,) = struct.unpack("<I", file.read(4))
    text = file.read(length)
    if len(text) != length or length > longest:
        raise ValueError(f"the header has {len(text)} bytes, of {length}, and may have {longest}")
    facts = ast.literal_eval(text.decode())
    return facts["shape"], facts["fortran_order"], np.lib.format.descr_to_dtype(facts["descr"])


def in_file_order(value: Any, world: World) -> tuple[Section, Header]:
    """This rank's section of an array, transposed for a file in Fortran order, and the header of the file."""
    flags = value.flags
    turned = bool(flags.f_contiguous and not flags.c_contiguous)
    header = Header(value.shape, turned, value.dtype, 0)
    return section_of(value.T if turned else value, world), header


def _save_parts(
    world: World, path: str, arr: Any, allow_pickle: bool = True, **options: Any
) -> Any:
    """``np.save`` on all ranks. Collective."""
    if not isinstance(arr, Handle):
        return NotImplemented
    section, header = in_file_order(arr, world)
    head = header_bytes(header.shape, header.dtype, header.fortran_order)
    with NewFile(world, path, "np.save") as file:
        with file.attempt():
            if file.is_first:
                os.pwrite(file.descriptor, head, 0)
                os.truncate(file.descriptor, len(head) + header.nbytes)
        write_elements(file, section, len(head))
    return None


save = collective_writer(np.save, 0, "file", ".npy", _save_parts)
write_array = collective_writer(np.lib.format.write_array, 0, "fp")


def path_of(file: Any) -> str | None:
    """The path that names a file; ``None`` for an open file."""
    try:
        return os.path.realpath(os.fsdecode(os.fspath(file)))
    except TypeError:
        return None


def path_for(what: str, file: Any, kind: str = "a path") -> str:
    """The path in the first argument of a function; ``TypeError`` for any other argument."""
    path = path_of(file)
    if path is None:
        raise TypeError(f"{what}: the first argument is {file!r}; it must be {kind}")
    return path


def place_for(shape: tuple[int, ...], dtype: np.dtype[Any], layout: Any) -> Place | None:
    """The distribution of an array that is read from a file; ``None`` for an array that every rank has whole."""
    place = default_place(shape, layout)
    if place is not None:
        must_travel(dtype)
    return place


def empty_block(
    shape: tuple[int, ...], dtype: np.dtype[Any], place: Place | None, turned: bool = False
) -> tuple[Array, Array, Any]:
    """New memory for this rank's block; its elements without padding, and their region, both in the axis order of the file."""
    if place is None:
        inner = block = new_array(shape, dtype, "F" if turned else "C")
        region = Layout.replicated(shape, current_world().size).region(0)
    else:
        rank, layout = place.world.rank, place.layout
        region = layout.region(rank)
        if layout.is_padded:
            block = np.zeros(layout.padded_shape(rank), dtype)
            inner = block[layout.inside(rank)]
        else:
            inner = block = new_array(layout.local_shape(rank), dtype)
    return (block, inner.T, region[::-1]) if turned else (block, inner, region)


def arrived(block: Array, shape: tuple[int, ...], place: Place | None, turned: bool = False) -> Any:
    """The array over a new block; ``turned`` if it is in Fortran order."""
    if place is None:
        if is_small(shape) or not is_native(block.dtype):
            return of_small(block)
        return recorded(source(block, strided(shape, block.dtype, block.strides)))
    if place.layout.cells > 1:
        statistics.add("distributed")
    order = tuple(reversed(range(len(shape)))) if turned and len(shape) > 1 else None
    node = source(block, dense(shape, block.dtype, order), place=place)
    retention.stored(place.world, nbytes_of(node))
    return recorded(node)


def same_header(
    world: World, path: str, header: Header | None, error: Exception | None, what: str
) -> Header:
    """The common header of all ranks. Raises on every rank if one rank failed or the ranks see different files. Collective."""
    headers = settle(
        world.communicator, error, what, header and (*header[:2], str(header.dtype), header.offset)
    )
    other = next((r for r, own in enumerate(headers) if own != headers[0]), 0)
    if other:
        raise FileFormatError(
            f"{what}: ranks see different files as {path}: rank 0 reads {headers[0]}, rank {other} {headers[other]} (shape, "
            "Fortran order, dtype, offset); the file must be on a file system that all ranks share"
        )
    assert header is not None
    return header


def read(world: World, path: str, header: Header, layout: Any, what: str = "np.load") -> Any:
    """Load the array in a file; each rank reads its own part. Collective."""
    place = place_for(header.shape, header.dtype, layout)
    block, inner, region = empty_block(header.shape, header.dtype, place, header.fortran_order)

    def fill_block() -> None:
        size = os.fstat(descriptor).st_size
        if size < header.offset + header.nbytes:
            raise truncated(path, size, header.offset + header.nbytes - size)
        fill(descriptor, header.offset, header.stored_shape, region, inner, path)

    with open_file(world.communicator, path, what) as descriptor:
        locally(world.communicator, what, fill_block)
    return arrived(block, header.shape, place, header.fortran_order)


def mapped(
    world: World, path: str, header: Header, mode: str, layout: Any, what: str = "np.load"
) -> Any:
    """Map the array in a file into memory; each rank maps its own part. Collective."""
    place = place_for(header.shape, header.dtype, layout)

    def map_part() -> tuple[Array, Array]:
        order: Any = "F" if header.fortran_order else "C"
        if prod(header.shape):
            whole: Array = np.memmap(path, header.dtype, mode, header.offset, header.shape, order)  # type: ignore[call-overload]
        else:
            whole = np.empty(header.shape, header.dtype, order)
        part = np.asarray(whole)
        return whole, part if place is None else _mapped_part(part, place, mode)

    whole, block = locally(world.communicator, what, map_part)
    if place is None:
        return by_numpy(np.asanyarray, (whole,), {})
    if world.size > 1:
        writeable = all(agree(world.communicator, block.flags.writeable or not block.size, what))
        block.flags.writeable = block.flags.writeable and writeable
    return Handle.array_type._from_block(block, place.layout, place.world)


def _mapped_part(whole: Array, place: Place, mode: str) -> Array:
    layout, rank = place.layout, place.world.rank
    if layout.is_padded:
        raise LayoutError(
            f"load: the layout {layout!r} has communication padding, which a file does not have; map the file with a layout without padding"
        )
    block: Array = whole[region_key(layout.region(rank))]
    if block.size and not np.may_share_memory(block, whole):
        if mode == "r+" or mode == "w+":
            raise LayoutError(
                f"load: the layout {layout!r} has blocks that no slices select, so they cannot be mapped into memory for writing; choose blocks, or cyclic axes with blocks of one element"
            )
        block.flags.writeable = mode == "c"
    return block


@display("opening")
def open_memmap(
    filename: Any,
    mode: str = "r+",
    dtype: Any = None,
    shape: Any = None,
    fortran_order: bool = False,
    version: Any = None,
    *,
    max_header_size: int = LONGEST_HEADER,
    layout: Any = None,
) -> Any:
    """Open a ``.npy`` file as an array whose memory is the file, as ``numpy.lib.format.open_memmap``.

    On several ranks, the call is collective for a large array or with ``layout``, and each rank maps its own part.
    """
    world, path = current_world(), path_of(filename)
    options = {"mode": mode, "dtype": dtype, "shape": shape, "fortran_order": fortran_order, "version": version,
        "max_header_size": max_header_size}  # fmt: skip
    if path is None or world.size == 1:
        return by_numpy(np.lib.format.open_memmap, (filename,), options)
    header, error = None, None
    if "w" in mode:
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        header = Header(extents, fortran_order, np.dtype(dtype), 0)
    else:
        try:
            with open(path, "rb") as stream:
                header = read_header(stream, path, max_header_size)
        except (OSError, FileFormatError) as raised:
            error = raised
    if layout is None and (header is None or default_place(header.shape) is None):
        return by_numpy(np.lib.format.open_memmap, (filename,), options)
    in_step(world, "open_memmap", path, mode, repr(layout))
    what = "open_memmap"
    header = same_header(world, path, header, error, what)
    if "w" in mode:
        must_travel(header.dtype)
        head = header_bytes(header.shape, header.dtype, fortran_order)
        header = header._replace(offset=len(head))
        with NewFile(world, path, what) as file, file.attempt():
            if file.is_first:
                os.pwrite(file.descriptor, head, 0)
                if header.nbytes:  # a full disk is an error now, rather than a signal later
                    system.reserve(file.descriptor, len(head), header.nbytes)
        mode = "r+"
    return mapped(world, path, header, mode, layout, what)
