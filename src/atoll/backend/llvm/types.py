"""The dtypes that kernels handle, as NumPy names them and as LLVM does."""

from __future__ import annotations

import struct

import numpy as np

KIND = {
    "b1": "b",
    "i1": "i", "i2": "i", "i4": "i", "i8": "i",
    "u1": "u", "u2": "u", "u4": "u", "u8": "u",
    "f2": "f", "f4": "f", "f8": "f",
    "c8": "c", "c16": "c",
}  # fmt: skip
"""``b`` truth values, ``i`` signed, ``u`` unsigned, ``f`` floating, ``c`` complex."""

VALUE_TYPE = {
    "b1": "i1",
    "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
    "u1": "i8", "u2": "i16", "u4": "i32", "u8": "i64",
    "f2": "half", "f4": "float", "f8": "double",
    "c8": "float", "c16": "double",
}  # fmt: skip
"""LLVM's type of a value in a register; of each of the two parts of a complex one."""

MEMORY_TYPE = VALUE_TYPE | {"b1": "i8"}
"""LLVM's type of an element in memory (each part of a complex one)."""

COMPONENT = {"c8": "f4", "c16": "f8"}
"""The dtype of the parts of a complex dtype."""

SIGNED_BITS = {"f2": "i2", "f4": "i4", "f8": "i8"}
"""The signed integers of the same size as a floating dtype."""

MANTISSA = {"f2": 10, "f4": 23, "f8": 52}
"""Bits of the fraction of a floating dtype, without the implied one."""


SETTLED = 32
"""Bit of a flag word, between the calls of one run: no further element can change a result."""


def itemsize(dtype: str) -> int:
    """Bytes of one element in memory."""
    return int(dtype[1:])


def bits(dtype: str) -> int:
    """Bits of one element in memory."""
    return 8 * int(dtype[1:])


def smallest(dtype: str) -> int:
    """The smallest number of a signed integer dtype."""
    return -(1 << (bits(dtype) - 1))


def literal(dtype: str, number: int | float) -> str:
    """One element of a real ``dtype`` as LLVM writes it."""
    kind = KIND[dtype]
    if kind == "b":
        return "true" if number else "false"
    if kind in "iu":
        size = bits(dtype)
        number = int(number) & ((1 << size) - 1)
        return str(number - (1 << size) if number >> (size - 1) else number)
    with np.errstate(all="ignore"):
        if dtype == "f2":
            return "0xH" + np.asarray(number, ">f2").tobytes().hex().upper()
        value = float(np.float32(number) if dtype == "f4" else number)
    return "0x" + struct.pack(">d", value).hex().upper()
