"""Conversion of any partition to a NumPy array over the same memory: DLPack, buffer, ``__array__``, DataFrame.

NumPy arrays are used directly. DLPack comes first for other objects, because only DLPack declares the device. If DLPack
returns a read-only array, ``numpy.asarray`` is tried too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...context.interrupts import passed_on, tolerated
from ..clusters import Shape
from ..values import a_kind, error_text, guarded, integer, is_a, items, kind_name, value_text

Array = npt.NDArray[Any]

MOST_COLUMNS = 1 << 16
"""Greatest number of columns of a DataFrame."""
_NAMES = """kDLCPU kDLCUDA kDLCUDAHost kDLOpenCL kDLVulkan kDLMetal kDLVPI kDLROCM kDLROCMHost kDLExtDev
    kDLCUDAManaged kDLOneAPI kDLWebGPU kDLHexagon kDLMAIA"""
DEVICES = dict(zip((1, 2, 3, 4, *range(7, 18)), _NAMES.split()))
"""The names of DLPack's devices by number."""


class RefusedError(Exception):
    """Raised for a partition that cannot be imported, with the rule it breaks and the reason."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


def is_data(value: object) -> bool:
    """True if ``value`` is an array or a DataFrame, rather than a reference to one."""
    if is_a(value, np.ndarray, np.generic, memoryview):
        return True
    kind = type(value)
    if any(hasattr(kind, name) for name in ("__dlpack__", "__array_interface__", "__array__")):
        return True
    if _is_frame(value):
        return True
    if is_a(value, str, bytes, bytearray):
        return False
    try:
        memoryview(value).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    except Exception as problem:  # the value has a buffer that it does not export
        passed_on(problem)
        return True
    return True


def _is_frame(value: Any) -> bool:
    def has_columns() -> bool:
        return hasattr(type(value), "to_numpy") and (
            hasattr(value, "dtypes") or hasattr(value, "dtype")
        )

    return guarded(False, has_columns)


def as_array(value: Any) -> Array:
    """The array over the memory of ``value``; :class:`RefusedError` for a value without memory."""
    try:
        memory = _converted(value)
    except RefusedError:
        raise
    except Exception as error:
        passed_on(error)
        raise RefusedError(
            "D1", f"the data is {a_kind(value)} that gives no array ({error_text(error)})"
        ) from error
    if memory.dtype.hasobject:
        raise RefusedError(
            "D1", f"the data is {a_kind(value)} of dtype {memory.dtype}; objects do not travel"
        )
    return memory


def _converted(value: Any) -> Array:
    if is_a(value, np.ma.MaskedArray):
        raise RefusedError("D1", "the data is a masked array; fill it first")
    if is_a(value, np.ndarray):
        return np.asarray(value)
    if not is_data(value):
        raise RefusedError(
            "D1",
            f"the data is {a_kind(value)}; it must be an array in memory (DLPack, buffer or "
            "__array__) or a DataFrame",
        )
    _check_device(value)
    if _is_frame(value):
        return _of_frame(value)
    if not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    try:
        memory = np.from_dlpack(value)
    except Exception as error:
        passed_on(error)
        try:
            return np.asarray(value)
        except Exception as problem:
            passed_on(problem)
            raise error from None
    if not memory.flags.writeable:
        with tolerated(Exception):
            again = np.asarray(value)
            if again.flags.writeable and np.may_share_memory(again, memory):
                return again
    return np.asarray(memory)


def _check_device(value: Any) -> None:
    ask = getattr(value, "__dlpack_device__", None)
    if ask is None:
        return
    kind, number = [integer(part) for part in items(ask(), 2)]
    if kind != 1:
        name = DEVICES.get(kind, f"device type {kind}")
        raise RefusedError(
            "P10",
            f"the data is on device {name}:{number}; it must be on kDLCPU: copy it there first",
        )


def _of_frame(value: Any) -> Array:
    dtypes = getattr(value, "dtypes", None)
    if getattr(value, "ndim", 2) == 2 and dtypes is not None:
        different = {value_text(dtype) for dtype in items(dtypes, MOST_COLUMNS)}
        if len(different) > 1:
            raise RefusedError(
                "P7",
                f"the DataFrame's columns have dtypes {', '.join(sorted(different))}; an array has one",
            )
    try:
        return np.asarray(value.to_numpy())
    except Exception as error:
        passed_on(error)
        raise RefusedError(
            "D1", f"to_numpy() of the {kind_name(value)} failed: {error_text(error)}"
        ) from error


def shares(value: Any, array: Array) -> bool:
    """True if ``array`` uses the memory of ``value`` rather than a copy of it."""
    if is_a(value, np.ndarray) or not array.size:
        return True
    # some objects export their memory only once
    return guarded(False, lambda: np.may_share_memory(array, _converted(value)))


# Several views of one array


def joined(shape: Shape, placed: Sequence[tuple[tuple[slice, ...], Array]]) -> Array | None:
    """The array that these adjoining views, each with its key, are parts of, without a copy; ``None`` if there is none.

    All must be views of one NumPy array, to which the result keeps a reference.
    """
    if len(placed) == 1:
        return placed[0][1]
    parts = [(tuple([part.start for part in key]), array) for key, array in placed if array.size]
    if not parts:
        return None
    corner, first = min(parts, key=lambda part: part[0])
    owner, begin = _owner(first), _address(first)
    if owner is None or any(corner):
        return None
    strides = [
        next((array.strides[axis] for _, array in parts if array.shape[axis] > 1), stride)
        for axis, stride in enumerate(first.strides)
    ]
    for corner, array in parts:
        address = begin + sum(start * stride for start, stride in zip(corner, strides))
        own = zip(array.shape, array.strides, strides)
        alike = array.dtype == first.dtype and array.flags.writeable == first.flags.writeable
        if (
            not alike
            or _owner(array) is not owner
            or _address(array) != address
            or any(n > 1 and stride != expected for n, stride, expected in own)
        ):
            return None
    return np.lib.stride_tricks.as_strided(
        first, shape, strides, writeable=bool(first.flags.writeable)
    )


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _owner(array: Array) -> Any:
    """The NumPy array that owns the memory; ``None`` if another object owns it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.base is None else None
