"""Addresses without memory: a range that is reserved and never committed, over which shadows of arrays lie."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .. import system

RESERVED = 1 << 45  # more would cover the middle of the address space, where PMIx puts its own


class _Addressed:
    """Stands in for a reserved mapping where the system refuses one: an address, no memory."""

    def __init__(self, address: int, size: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
        }


def _reserve() -> tuple[Any, int]:
    """A buffer of 32 TiB that nothing may read, and its address."""
    address = None
    if system.has("noreserve"):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        # PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE (Linux numbering)
        address = libc.mmap(None, RESERVED, 0, 0x4022, -1, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        buffer = np.asarray(_Addressed(RESERVED, RESERVED))
        return buffer, RESERVED
    return (ctypes.c_char * RESERVED).from_address(address), address


BUFFER, ADDRESS = _reserve()
