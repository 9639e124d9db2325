"""The memory of an array for other libraries: read-only, unless the caller asks for writable memory.

``numpy.asarray(a)`` cannot tell why it is called. NumPy's C API calls it as well, for functions that are about to write,
and takes what it gets from an object that is no ``numpy.ndarray`` for a temporary array: SciPy's f2py wrappers would
overwrite the arguments of ``lapack.dgtsv(dl, d, du, b)``. What is read-only they copy. Whoever wants to write through a
view says so: ``a.local``, ``a.data``, ``a.ctypes``, DLPack, or a writable buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from .views import Handle

Array = np.ndarray[Any, Any]
_WRITABLE = 1
"""PyBUF_WRITABLE."""


def memory(handle: Handle) -> Array:
    """The memory itself, to be written to; where the array lies on ranks, a read-only copy of all of it."""
    small = handle._np
    return handle._cell.export(handle._geometry) if small is None else small


def shown(handle: Handle, dtype: Any, copy: bool | None) -> Array:
    """What ``__array__`` answers."""
    array = memory(handle)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy() if copy else _read_only(array, handle)


def _read_only(array: Array, handle: Handle) -> Any:
    if array is handle._np:
        array = array.view()
    array.flags.writeable = False
    return array


def buffer(handle: Handle, flags: int) -> memoryview:
    """What ``__buffer__`` answers: only who asks for a writable buffer gets one."""
    array: Any = memory(handle)
    array = array if flags & _WRITABLE else _read_only(array, handle)
    return memoryview(array)


class _Bytes:
    """The bytes of an array, from the first to the last, and whatever keeps them there."""

    def __init__(self, array: Array, low: int, high: int) -> None:
        self.array = array
        self.__array_interface__ = {
            "version": 3,
            "shape": (high - low,),
            "typestr": "|u1",
            "data": (low, True),
        }


def interface(handle: Handle) -> dict[str, Any]:
    """``__array_interface__``: the memory as an object, which keeps it where it is, and not as a number."""
    array = shown(handle, None, None)
    try:
        np.dtype(array.dtype.str)
    except TypeError:
        word = f"__array_interface__ has no word for the dtype {array.dtype}"
        raise AttributeError(f"{word}; np.asarray(a) gives the NumPy array") from None
    if array.dtype.hasobject or not array.size:
        return array.__array_interface__
    low, high = byte_bounds(array)
    said = array.__array_interface__
    offset = said["data"][0] - low
    data = np.asarray(_Bytes(array, low, high))
    return {**said, "strides": array.strides, "data": data, "offset": offset}


def ctypes_of(handle: Handle) -> Any:
    """``a.ctypes``: the address is one for as long as the array lives, whoever keeps it as a number."""
    array = memory(handle)
    if handle._np is None and handle._cell.node.place is None:
        handle._cell.pin()
    return array.ctypes
