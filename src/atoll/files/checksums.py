"""CRC-32 of data whose pieces lie on different ranks."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..context.caches import remembered
from .transport import as_bytes, read_at

_POLYNOMIAL = 0xEDB88320


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


def first_wrong(
    descriptor: int, offset: int, sums: Iterable[Sum], most: int, path: str
) -> Sum | None:
    """The first piece whose bytes in a file, counted from ``offset``, do not match its checksum; ``None`` if all match."""
    for piece in sums:
        crc, start, rest = 0, piece.start, piece.length
        while rest:
            data = np.empty(min(rest, most), np.uint8)
            read_at(descriptor, data, offset + start, path)
            crc = zlib.crc32(as_bytes(data), crc)
            start, rest = start + len(data), rest - len(data)
        if crc != piece.crc:
            return piece
    return None


def share(sums: list[Sum], rank: int, size: int) -> list[Sum]:
    """The pieces that a rank verifies: about the same number of bytes for every rank."""
    total = sum(piece.length for piece in sums)
    chosen, before = [], 0
    for piece in sums:
        if before * size // max(total, 1) == rank:
            chosen.append(piece)
        before += piece.length
    return chosen
