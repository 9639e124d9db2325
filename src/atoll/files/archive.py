"""Zip archives of ``.npy`` files that all ranks write, each its own parts of each array, and their checksums."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import policy
from ..collective import Section
from ..comm.in_step import allgather
from ..comm.world import World
from ..context.caches import remembered
from ..lazy.creation import asarray
from .npy import Header, header_bytes, in_file_order
from .replacement import NewFile
from .transport import as_bytes, outgoing, read_at, write_at

_DATE = 0x21
"""Midnight of the first of January 1980, the date of every member: files of the same arrays are equal."""
_STORED, _DEFLATED = 0, 8
_LEVEL = 6
_POLYNOMIAL = 0xEDB88320
"""The polynomial of CRC-32."""


class Sum(NamedTuple):
    """The checksum of a piece of data: its start and its length in bytes, and its CRC-32."""

    start: int
    length: int
    crc: int


def sum_of(start: int, data: object) -> Sum:
    """The checksum of the bytes of a contiguous array; ``start`` is the offset of its first byte."""
    content = as_bytes(data)  # type: ignore[arg-type]
    return Sum(start, len(content), zlib.crc32(content))


def joined(sums: Iterable[Sum]) -> int:
    """The CRC-32 of the whole data, from the checksums of its pieces in any order."""
    crc = 0
    for piece in sorted(sums):
        crc = _product(_shift(piece.length), crc) ^ piece.crc
    return crc


def merged(sums: Iterable[Sum], least: int) -> list[Sum]:
    """Checksums of the same bytes in fewer pieces: adjacent pieces are merged until they have at least ``least`` bytes."""
    result: list[Sum] = []
    for piece in sorted(sums):
        last = result[-1] if result else None
        if last and last.length < least and last.start + last.length == piece.start:
            crc = _product(_shift(piece.length), last.crc) ^ piece.crc
            result[-1] = Sum(last.start, last.length + piece.length, crc)
        else:
            result.append(piece)
    return result


def _product(a: int, b: int) -> int:
    """The product of two polynomials modulo that of CRC-32; bit 31 is the number one."""
    result, bit = 0, 1 << 31
    while bit:
        if a & bit:
            result ^= b
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
        bit >>= 1
    return result


@remembered
def _shift(length: int) -> int:
    """The factor by which ``length`` further bytes multiply a checksum: x to the power of their number of bits."""
    power, factor, rest = 1 << 31, 1 << 23, length
    while rest:
        if rest & 1:
            power = _product(power, factor)
        factor = _product(factor, factor)
        rest >>= 1
    return power


def sum_in_file(descriptor: int, offset: int, start: int, stop: int, path: str) -> Sum:
    """The checksum of bytes of a file, counted from ``offset``; a buffer is read at a time."""
    crc = 0
    for first in range(start, stop, policy.limits.held):
        data = np.empty(min(policy.limits.held, stop - first), np.uint8)
        read_at(descriptor, data, offset + first, path)
        crc = zlib.crc32(as_bytes(data), crc)
    return Sum(start, stop - start, crc)


def share(sums: list[Sum], rank: int, size: int) -> list[Sum]:
    """The pieces that a rank verifies: about the same number of bytes for every rank."""
    total = sum(piece.length for piece in sums)
    chosen, before = [], 0
    for piece in sums:
        if before * size // max(total, 1) == rank:
            chosen.append(piece)
        before += piece.length
    return chosen


class Member(NamedTuple):
    """A file of an archive: its name, the offsets of its local header and its data, its sizes, and its partial checksums.

    ``header`` describes the array whose elements are the end of its data.
    """

    name: str
    offset: int
    start: int
    stored: int
    size: int
    method: int
    sums: list[Sum]
    header: Header | None = None


class Writer:
    """Writer of the members of an archive, one after the other. All methods are collective."""

    def __init__(self, world: World, file: NewFile, *, compressed: bool = False) -> None:
        self.world = world
        self.file = file
        self.members: list[Member] = []
        self._end = 0
        self._method = _DEFLATED if compressed else _STORED

    def add(self, name: str, value: Any) -> None:
        """Write an array."""
        value = value if hasattr(value, "_cell") else asarray(value)
        section, header = in_file_order(value, self.world)
        head = header_bytes(header.shape, header.dtype, header.fortran_order)
        start = self._end + len(_local(name, 0, 0, 0, 0))
        if self._method == _STORED:
            size = len(head) + header.nbytes
            header = header._replace(offset=start + len(head))
            sums, stored = self._store(section, head, header, start), size
        else:
            sums, stored, size = [], 0, len(head) + header.nbytes
            for data, parts in _deflated(section, head, self.world.rank):
                stored += write_in_turn(self.file, start + stored, data)
                sums += parts
        self.members.append(
            Member(name, self._end, start, stored, size, self._method, sums, header)
        )
        self._end = start + stored

    def _store(self, section: Section, head: bytes, header: Header, start: int) -> list[Sum]:
        sums = []
        if self.file.is_first:
            with self.file.attempt():
                os.pwrite(self.file.descriptor, head, start)
            sums.append(Sum(0, len(head), zlib.crc32(head)))
        for first, data in outgoing(section):
            place = len(head) + first * header.dtype.itemsize
            sums.append(sum_of(place, data))
            with self.file.attempt():
                write_at(self.file.descriptor, data, start + place)
        return sums

    def share(self) -> None:
        """Give the checksums of all parts to all ranks."""
        every = self.file.settle([member.sums for member in self.members])
        for number, member in enumerate(self.members):
            sums = sorted(Sum(*part) for own in every for part in own[number])
            self.members[number] = member._replace(sums=sums)

    def finish(self, *others: tuple[str, bytes]) -> None:
        """Write the directory of the archive, and ``others``, members that every rank has. Call :meth:`share` before."""
        for name, content in others:
            start = self._end + len(_local(name, 0, 0, 0, 0))
            sums = [Sum(0, len(content), zlib.crc32(content))]
            size = len(content)
            self.members.append(Member(name, self._end, start, size, size, _STORED, sums))
            self._end = start + size
            if self.file.is_first:
                with self.file.attempt():
                    os.pwrite(self.file.descriptor, content, start)
        if self.file.is_first:
            with self.file.attempt():
                self._directory()

    def _directory(self) -> None:
        """Write the local header before each member, and the directory behind all members."""
        entries = b""
        for member in self.members:
            crc = joined(member.sums)
            local = _local(member.name, member.method, crc, member.stored, member.size)
            os.pwrite(self.file.descriptor, local, member.offset)
            entries += _central(member, crc)
        count, size, start = len(self.members), len(entries), self._end
        end64 = struct.pack(
            "<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start
        )
        end64 += struct.pack("<4sIQI", b"PK\x06\x07", 0, start + size, 1)
        end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF),
            min(size, 0xFFFFFFFF), 0xFFFFFFFF, 0)  # fmt: skip
        write_at(self.file.descriptor, np.frombuffer(entries + end64 + end, np.uint8), start)


def _local(name: str, method: int, crc: int, stored: int, size: int) -> bytes:
    words = name.encode()
    most = 0xFFFFFFFF
    return struct.pack("<4sHHHHHIIIHHHHQQ", b"PK\x03\x04", 45, 0x800, method, 0, _DATE, crc, most, most,
        len(words), 20, 1, 16, size, stored)[:30] + words + struct.pack("<HHQQ", 1, 16, size, stored)  # fmt: skip


def _central(member: Member, crc: int) -> bytes:
    words, most = member.name.encode(), 0xFFFFFFFF
    fixed = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 45 | 3 << 8, 45, 0x800, member.method, 0, _DATE, crc,
        most, most, len(words), 28, 0, 0, 0, 0o600 << 16, most)  # fmt: skip
    return fixed + words + struct.pack("<HHQQQ", 1, 24, member.size, member.stored, member.offset)


def _deflated(section: Section, head: bytes, rank: int) -> Iterator[tuple[Any, list[Sum]]]:
    """Compressed pieces of a rank, one a step. The pieces of each step, in the order of the ranks, continue one stream."""
    first = head if rank == 0 else b""
    yield _flushed(first), [Sum(0, len(first), zlib.crc32(first))] if first else []
    for place, data in outgoing(section, ordered=True):
        part = sum_of(len(head) + place * section.dtype.itemsize, data)
        yield _flushed(as_bytes(data)), [part] if part.length else []
    yield (b"\x03\x00" if rank == 0 else b""), []


def _flushed(data: Any) -> bytes:
    if not len(data):
        return b""
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)


def write_in_turn(file: NewFile, offset: int, data: bytes) -> int:
    """Write every rank's bytes behind those of the previous rank, and return their total length. Collective."""
    lengths = allgather(file.communicator, np.array([len(data)], np.int64), file.what).ravel()
    with file.attempt():
        before = int(lengths[: file.communicator.rank].sum())
        write_at(file.descriptor, np.frombuffer(data, np.uint8), offset + before)
    return int(lengths.sum())
