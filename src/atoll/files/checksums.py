"""CRC-32 of data of which each rank has pieces."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..context.caches import remembered
from .transport import as_bytes, read_at

_POLYNOMIAL = 0xEDB88320


class Sum(NamedTuple):
    """The checksum of some bytes: where they begin, how many they are, and their CRC-32."""

    start: int
    length: int
    crc: int


def sum_of(start: int, data: object) -> Sum:
    """The checksum of the bytes of a contiguous array that begin at ``start``."""
    content = as_bytes(data)  # type: ignore[arg-type]
    return Sum(start, len(content), zlib.crc32(content))


def joined(sums: Iterable[Sum]) -> int:
    """The CRC-32 of all bytes, of which the pieces in any order are given."""
    crc = 0
    for piece in sorted(sums):
        crc = _product(_shift(piece.length), crc) ^ piece.crc
    return crc


def merged(sums: Iterable[Sum], least: int) -> list[Sum]:
    """The same bytes in fewer pieces, which have at least so many bytes where they follow each other."""
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
    """What ``length`` more bytes multiply a checksum by."""
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
    """The first piece whose bytes in a file, counted from ``offset``, have another checksum."""
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
    """The pieces that a rank checks, so that all have about as many bytes to read."""
    total = sum(piece.length for piece in sums)
    chosen, before = [], 0
    for piece in sums:
        if before * size // max(total, 1) == rank:
            chosen.append(piece)
        before += piece.length
    return chosen
