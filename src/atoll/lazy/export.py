"""The memory of an array for other libraries, read-only unless they ask for writable memory; and its text.

``numpy.asarray(a)`` cannot tell the purpose of the call. NumPy's C API calls it as well, for functions that are about to write,
and treats the result for an object that is no ``numpy.ndarray`` as a temporary array: SciPy's f2py wrappers would
overwrite the arguments of ``lapack.dgtsv(dl, d, du, b)``. They copy read-only memory. A caller that wants to write through
a view asks for it by ``a.local``, ``a.data``, ``a.ctypes``, DLPack, or a writable buffer.

NumPy prints the ends of each axis of a long array and reads no other elements. So ranks gather only these ends of a distributed
array, one element longer where elements are omitted: the text is the same, except for the shape after it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..context.caches import Living
from ..context.call_sites import user_site
from ..context.callees import callee_of_one
from ..context.interrupts import outside, passed_on
from ..front import native
from ..graph.node import Site
from .agreement import place_of
from .views import Handle

Array = np.ndarray[Any, Any]
_WRITABLE, _FORMAT = 1, 4
"""PyBUF_WRITABLE, PyBUF_FORMAT."""


def memory(handle: Handle) -> Array:
    """The memory itself, writable; for a distributed array, a read-only copy of the whole."""
    small = handle._np
    return handle._cell.export(handle._geometry) if small is None else small


def in_one_place(handle: Handle) -> Array:
    """The memory itself, for callers that may write to it; a distributed array raises, since writes to a gathered copy would be lost."""
    if place_of(handle) is not None:
        array_text = f"an array of shape {handle._geometry.shape} that is distributed over ranks"
        cure = "use a.local for those of this rank, or numpy.array(a) for a copy of all"
        raise BufferError(f"{array_text} has no memory with all its elements to write to: {cure}")
    return memory(handle)


def shown(handle: Handle, dtype: Any, copy: bool | None) -> Array:
    """Answer to ``__array__``."""
    _raise_again(handle)
    array = memory(handle)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy() if copy else _read_only(array, handle)


def _read_only(array: Array, handle: Handle) -> Any:
    if asks_class_of_numbers() and array.flags.writeable:
        return array
    if array is handle._np:
        array = array.view()
    array.flags.writeable = False
    return array


def buffer(handle: Handle, flags: int) -> memoryview:
    """Answer to ``__buffer__`` and to the native front: a buffer is writable only on request."""
    with _remembered(handle, user_site()):
        array: Any = in_one_place(handle) if flags & _WRITABLE else memory(handle)
    view = memoryview(array if flags & _WRITABLE else _read_only(array, handle))
    dtype = array.dtype
    plain = dtype.kind != "V" and dtype.metadata is None
    if flags & _FORMAT and not plain and not _is_exactly(np.asarray(view).dtype, dtype):
        word = f"the format of a buffer has no word for the dtype {dtype}"
        raise BufferError(f"{word}; np.asarray(a) gives the NumPy array")
    return view


def asks_class_of_numbers() -> bool:
    """True if the caller is a NumPy scalar class, such as ``numpy.float64(a)``, whose result the program may write to."""
    asking = callee_of_one()
    return isinstance(asking, type) and issubclass(asking, np.generic)


def settle_asked(handle: Handle) -> None:
    with _remembered(handle, user_site()):
        handle._cell.settle()


class _Asked(threading.local):
    """The buffer that NumPy asked for last in this thread, and could not be given.

    NumPy forgets the error, and asks the same array by another protocol. A rank that evaluated again would diverge from the others.
    """

    failed: tuple[Handle, Site | None, BaseException] | None = None


_asked = _Asked()


@contextmanager
def _remembered(handle: Handle, site: Site | None) -> Iterator[None]:
    """Remember the error of an evaluation that NumPy asks for, and will forget."""
    try:
        yield
    except BufferError:
        raise
    except BaseException as error:
        if native is None or outside(error) is None:  # else the native front has it raised soon
            _asked.failed = handle, site, error
        raise


def _raise_again(handle: Handle) -> None:
    """Raise the error that NumPy has forgotten, where it asks for the same array at the same call."""
    failed, _asked.failed = _asked.failed, None
    try:
        if failed is not None and failed[0] is handle and failed[1] == user_site():
            raise failed[2]
    finally:
        del failed  # or the error would refer to itself through this frame, and keep memory


def _is_exactly(told: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """True if a protocol describes a dtype without loss."""
    return (
        told == dtype
        and told.isalignedstruct == dtype.isalignedstruct
        and told.metadata == dtype.metadata
    )


class _Bytes:
    """The bytes of an array, from the first to the last, and the object that keeps them alive."""

    def __init__(self, array: Array, low: int, high: int) -> None:
        self.array = array
        self.__array_interface__ = {
            "version": 3,
            "shape": (high - low,),
            "typestr": "|u1",
            "data": (low, not array.flags.writeable),
        }


def interface(handle: Handle) -> dict[str, Any]:
    """``__array_interface__``: the memory as an object, which keeps it where it is, and not as a number."""
    array = shown(handle, None, None)
    try:
        told = np.dtype(array.dtype.str if array.dtype.names is None else array.dtype.descr)
    except (TypeError, ValueError) as problem:
        passed_on(problem)
        told = None
    if told is None or not _is_exactly(told, array.dtype):
        word = f"__array_interface__ has no word for the dtype {array.dtype}"
        raise AttributeError(f"{word}; np.asarray(a) gives the NumPy array")
    if array.dtype.hasobject or not array.size:
        return array.__array_interface__
    low, high = byte_bounds(array)
    said = array.__array_interface__
    offset = said["data"][0] - low
    data = np.asarray(_Bytes(array, low, high))
    return {**said, "strides": array.strides, "data": data, "offset": offset}


def dlpack(handle: Handle, options: dict[str, Any]) -> Any:
    """Answer to ``__dlpack__``: PyTorch, which asks for nothing else, ends the process at a negative stride."""
    array = memory(handle)
    if min(array.strides, default=0) < 0 and not options.get("copy"):
        rule = f"the strides {array.strides} are negative, which consumers of DLPack cannot have"
        raise BufferError(f"{rule}: use a.copy()")
    return array.__dlpack__(**options)


def ctypes_of(handle: Handle) -> Any:
    """``a.ctypes``: the address stays for as long as the array lives, since a program may keep it as a number."""
    array = in_one_place(handle)
    if handle._np is None:
        handle._cell.pin()
    elif handle._np is not None:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        _addressed.add(owner)
    return array.ctypes


_addressed: Living[Array] = Living()
"""Small arrays whose address was exported; a weakly referenced array is never moved into a box."""


# the text of an array: only the printed elements are gathered


def text_of(handle: Handle, write: Callable[[np.ndarray[Any, Any]], str]) -> str:
    """Text of an array by ``write``, one of NumPy's functions."""
    ends = _ends(handle)
    if ends is None:
        return write(handle._array())
    with np.printoptions(threshold=0):
        text = write(ends)
    before, matched, after = text.rpartition(f"shape={ends.shape}")
    return _with_shape(before.rstrip(), handle._geometry.shape, after) if matched else text


def _with_shape(before: str, shape: tuple[int, ...], after: str) -> str:
    """The text followed by the shape, on a separate line if it does not fit."""
    extra = f"shape={shape}{after}"
    last = len(before) - (before.rfind("\n") + 1)
    if last + len(extra) + 1 > np.get_printoptions()["linewidth"]:
        return f"{before}\n{' ' * len('array(')}{extra}"
    return f"{before} {extra}"


def _ends(handle: Handle) -> np.ndarray[Any, Any] | None:
    """The elements that NumPy prints of a long array on ranks; ``None`` for any other array."""
    if handle._np is not None:
        return None
    handle._cell.settle()
    if handle._cell.node.place is None:
        return None
    options = np.get_printoptions()
    edge = options["edgeitems"]
    geometry = handle._geometry
    if geometry.size <= options["threshold"] or options["legacy"] or edge < 1:
        return None
    cut = [n > 2 * edge + 1 for n in geometry.shape]
    if not any(cut):
        return None
    ends = np.zeros(
        [2 * edge + 1 if short else n for n, short in zip(geometry.shape, cut)], geometry.dtype
    )
    sides = [(slice(edge), slice(-edge, None)) if short else (slice(None),) for short in cut]
    for corner in itertools.product(*sides):
        ends[corner] = handle[corner].copy()._array()  # type: ignore[index]
    return ends
