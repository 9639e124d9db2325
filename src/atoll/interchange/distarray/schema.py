"""Reading of any producer into a :class:`Section`: the schema of a description, and the rules of form on one process.

Lenient mode repairs and records deviations with a clear meaning instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...context.interrupts import passed_on
from ..protocol import Reader, Unreadable
from ..values import (
    LARGEST,
    MOST_AXES,
    UnfitError,
    a_kind,
    error_text,
    exact,
    guarded,
    integer,
    is_a,
    items,
    kind_name,
    plain,
    printable,
)
from .description import Dimension, Indices, Section

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?((?:[-+.]?[0-9A-Za-z]+)*)$")
_MOST_LISTED = 1 << 24
"""Greatest number of indices that are read from a list if the buffer's extent does not determine their number."""
_LONGEST = 64
"""Greatest length of a version, in characters."""


def read(source: object, reader: Reader) -> tuple[Section, npt.NDArray[Any]]:
    """The section of this process, and its buffer as an array."""
    description = _description(source, reader)
    parts: dict[str, Any] = {
        key: reader.attempt(read_part, description[key], reader)
        for key, read_part in PARTS.items()
        if key in description
    }
    block: Any = parts.get("buffer")
    if reader.strict and block is not None and not is_a(source, Mapping):
        _check_same_memory(source, block, reader)
    if len(parts) < len(PARTS) or any(part is None for part in parts.values()):
        raise Unreadable
    (version, legacy), dim_data = parts["__version__"], parts["dim_data"]
    if len(dim_data) != block.ndim:
        block = _reshaped(block, dim_data, legacy, reader)
    dtype = block.dtype.str if block.dtype.names is None else printable(str(block.dtype))
    dimensions = tuple(
        reader.at(i, reader.attempt, _dimension, given, extent, legacy, reader)
        for i, (given, extent) in enumerate(zip(dim_data, block.shape))
    )
    return Section(reader.rank, version, legacy, block.ndim, dtype, block.shape, dimensions), block


# -- the top level ---------------------------------------------------------------------


def _description(source: object, reader: Reader) -> dict[Any, Any]:
    try:
        method = getattr(source, "__distarray__", None)
        description = source if method is None else method()
    except Exception as error:
        passed_on(error)
        is_method = guarded(True, lambda: callable(source.__distarray__))  # type: ignore[attr-defined]
        what = "" if is_method else ", which must be a method,"
        reader.stop("T1", f"__distarray__(){what} raised {error_text(error)}", source)
    kind = kind_name(description)
    if not is_a(description, Mapping):
        message = f"__distarray__() returned {kind}; it must be a dict"
        if method is None:
            message = f"{kind} has no __distarray__ method and is no dictionary"
        reader.stop("T1", message, description)
    values = _dictionary("T1", "the description", description, reader)
    for key in PARTS:
        if key not in values:
            reader.broken("T1", f"key {key!r} is missing", key)
    for key in values:
        if key not in PARTS:
            message = f"key {plain(key)!r} is not one of {', '.join(map(repr, PARTS))}"
            reader.deviates("T1", message, "ignored", key)
    return values


def _dictionary(rule: str, name: str, value: object, reader: Reader) -> dict[Any, Any]:
    read = reader.entries(rule, name, value)
    if not is_a(value, dict):
        kind = kind_name(value)
        reader.deviates(rule, f"{name} is a {kind}; it must be a dict", "taken as one", kind)
    return read


def _version(version: object, reader: Reader) -> tuple[str, bool]:
    """The version, and true if the rules of 0.9 apply."""
    text = exact(version)
    match = None if text is None or len(text) > _LONGEST else _VERSION.match(text)
    if match is None or text is None:
        message = f"the version is {plain(version)!r}; it must be 'major.minor.patch'"
        reader.stop("T2", message, version)
    major, minor = int(match[1]), int(match[2])
    if major != 1 and (major, minor) not in ((0, 9), (0, 10)):
        message = f"version {text!r} is unknown; atoll reads 1.x.y, 0.10.x and 0.9.x"
        reader.stop("T2", message, text)
    if match[3] is None:
        message = f"the version is {text!r}; it must be 'major.minor.patch'"
        reader.deviates("T2", message, f"taken as '{major}.{minor}.0'", text)
    return text, (major, minor) == (0, 9)


def _block(buffer: object, reader: Reader) -> npt.NDArray[Any]:
    """The buffer as an array over the same memory."""
    try:
        array = np.asarray(buffer if is_a(buffer, np.ndarray) else memoryview(buffer))  # type: ignore[arg-type]
        dtype = array.dtype
        if dtype.kind not in "mM" and not dtype.hasobject:
            memoryview(array.data)
    except Exception as error:
        passed_on(error)
        kind = kind_name(buffer)
        reader.stop("T3", f"memoryview of the {kind} raised {error_text(error)}", kind)
    problem = ""
    if dtype.kind in "mM":
        problem = f"the buffer has dtype {dtype}, which has no buffer export; view it as int64"
    elif dtype.hasobject:
        problem = (
            f"the buffer has dtype {dtype}, whose elements are Python objects of this process; export numbers, "
            "or text of a fixed size"
        )
    elif is_a(buffer, np.ma.MaskedArray):
        problem = "the buffer is a masked array, and its mask would be lost; fill it first"
    if problem:
        reader.stop("T3", problem, str(dtype))
    return array


def _check_same_memory(source: object, block: npt.NDArray[Any], reader: Reader) -> None:
    """Check that a second export has the same memory; otherwise writes through one are invisible in the other."""
    try:
        second = np.asarray(memoryview(source.__distarray__()["buffer"]))  # type: ignore[attr-defined]
    except Exception as error:
        passed_on(error)
        reader.broken("T5", f"a second __distarray__() gave no buffer: {error_text(error)}")
        return
    address, other = (each.__array_interface__["data"][0] for each in (block, second))
    if block.nbytes and address != other:
        message = "a second __distarray__() gave other memory: the buffer is a copy"
        reader.deviates("T5", message, "the first one is used")


def _dictionaries(dim_data: object, reader: Reader) -> list[dict[Any, Any] | None]:
    kind = kind_name(dim_data)
    if is_a(dim_data, list):
        message = "dim_data is a list; it must be a tuple"
        reader.deviates("T4", message, "taken as one", "list")
    elif not is_a(dim_data, tuple):
        reader.stop("T4", f"dim_data is a {kind}; it must be a tuple of dicts", kind)
    try:
        given = items(dim_data, MOST_AXES)
    except UnfitError as unfit:
        reader.stop("T4", f"dim_data {unfit}", kind)
    read = [
        reader.at(i, reader.attempt, _dictionary, "T4", f"dim_data[{i}]", dim_dict, reader)
        for i, dim_dict in enumerate(given)
    ]
    if None in read:
        raise Unreadable
    return read


PARTS: dict[str, Callable[[Any, Reader], Any]] = {
    "__version__": _version,
    "buffer": _block,
    "dim_data": _dictionaries,
}
"""The keys of a description, and the functions that read their values."""


def _reshaped(
    block: npt.NDArray[Any], dim_data: list[dict[Any, Any]], legacy: bool, reader: Reader
) -> npt.NDArray[Any]:
    """Reshape a flat buffer, which the 0.9 text itself has for two dimensions, if the sizes determine its shape."""
    message = f"dim_data describes {len(dim_data)} dimensions, the buffer has {block.ndim}"
    if not reader.strict and block.ndim == 1 and len(dim_data) > 1:
        trial = Reader(reader.rank, strict=False)
        shape = []
        for given in dim_data:
            d = trial.attempt(_dimension, given, -1, legacy, trial)
            unknown = d is None or d.grid_size < 1
            shape.append(-1 if d is None or unknown else d.expected_extent)
            if d is not None and d.indices is not None:
                shape[-1] = len(d.indices)
        if min(shape) >= 0 and prod(shape) == block.size:
            reader.note(f"T4: {message}; reshaped to {tuple(shape)}")
            return block.reshape(shape)
    return reader.stop("T4", message, (len(dim_data), block.ndim))


# -- one dimension -----------------------------------------------------------------------


class Field(NamedTuple):
    """A key of a dimension dictionary: its attribute in a :class:`Dimension`, its reader, and its rule."""

    key: str
    attribute: str
    read: Callable[[str, Any, Dimension, Reader], Any]
    rule: str
    required: bool = True


def _integer(name: str, value: Any, d: Dimension, reader: Reader) -> int:
    try:
        return integer(value)
    except UnfitError as unfit:
        whole = is_a(value, np.floating) or type(value) is float
        if whole and float(value).is_integer() and abs(value) < LARGEST:
            message = f"{name} is {plain(value)!r}; it must be an int"
            reader.deviates("D5", message, f"taken as {int(value)}", value)
            return int(value)
        reader.stop("D5", f"{name} {unfit}", value)


def _flag(rule: str) -> Callable[[str, Any, Dimension, Reader], bool]:
    def read(name: str, value: Any, d: Dimension, reader: Reader) -> bool:
        if type(value) in (bool, np.bool_):
            return bool(value)
        message = f"{name} is {plain(value)!r}; it must be a bool"
        if is_a(value, int, np.integer) and plain(value) in (0, 1):
            reader.deviates(rule, message, f"taken as {plain(value) == 1}", value)
            return plain(value) == 1
        reader.broken(rule, message, value)
        return False

    return read


def _unused_period(name: str, value: Any, d: Dimension, reader: Reader) -> bool:
    periodic = _flag("B4")(name, value, d, reader)
    if not d.legacy:
        message = f"periodic stands on dist_type {d.kind!r}; it is for 'b' only"
        reader.deviates("B4", message, "ignored", periodic)
        return False
    if periodic:
        reader.note(f"periodic on dist_type {d.kind!r} has no effect")
    return periodic


def _padding(name: str, value: Any, d: Dimension, reader: Reader) -> tuple[int, int]:
    try:
        widths = items(value, 2) if is_a(value, tuple, list) else []
    except UnfitError:
        widths = []
    if len(widths) != 2:
        reader.stop("B3", f"padding is {plain(value)!r}; it must be a 2-tuple of ints", value)
    if is_a(value, list):
        reader.deviates("B3", "padding is a list; it must be a tuple", "taken as one", "list")
    left, right = [
        reader.attempt(_integer, f"padding[{side}]", width, d, reader)
        for side, width in enumerate(widths)
    ]
    if left is None or right is None:
        raise Unreadable
    return left, right


def _indices(name: str, given: Any, d: Dimension, reader: Reader) -> Indices:
    """The list of indices as int64."""
    extent = d.extent
    if is_a(given, list, tuple, range):
        reader.note(f"indices is {a_kind(given)}, not a buffer")
        try:
            listed = [integer(n) for n in items(given, extent if extent >= 0 else _MOST_LISTED)]
        except UnfitError as unfit:
            message = (
                f"indices, or one of them, {unfit}; it must be a 1-D buffer of integers, one for each element "
                f"of the buffer's extent, {extent}"
            )
            reader.stop("U1", message, kind_name(given))
        array = np.array(listed, np.int64)
    else:
        try:
            array = np.asarray(given if is_a(given, np.ndarray) else memoryview(given))
        except Exception as error:
            passed_on(error)
            reader.stop("U1", f"indices is no buffer: {error_text(error)}", kind_name(given))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        message = f"indices has {array.ndim} dimensions and dtype {array.dtype}; it must be a 1-D buffer of integers"
        reader.stop("U1", message, str(array.dtype))
    if array.size > extent >= 0:
        message = f"indices lists {array.size}, the buffer's extent is {extent}"
        reader.stop("U1", message, array.size)
    if array.size > 1 and array.strides[0] == 0:
        message = f"index {array[0]} is listed twice; indices must be locally unique"
        reader.stop("U1", message, int(array[0]))
    if array.dtype.kind == "u" and array.size and int(array.max()) > LARGEST:
        largest = int(array.max())
        reader.stop("U1", f"index {largest} does not fit 64 bits with a sign", largest)
    # A copy: the layout must not change when the producer's list does.
    return np.array(array, np.int64, order="C")


_SIZE = Field("size", "size", _integer, "D2")
_GRID = (
    Field("proc_grid_size", "grid_size", _integer, "D3"),
    Field("proc_grid_rank", "grid_rank", _integer, "D4"),
)
_PERIODIC = Field("periodic", "periodic", _flag("B4"), "B4", False)
_UNUSED_PERIOD = _PERIODIC._replace(read=_unused_period)
_PADDING = Field("padding", "padding", _padding, "B3", False)
SCHEMA: dict[str, tuple[Field, ...]] = {
    "n": (_SIZE, _PERIODIC, _PADDING),
    "b": (
        *(_SIZE, *_GRID, _PERIODIC, _PADDING),
        Field("start", "start", _integer, "B1"),
        Field("stop", "stop", _integer, "B1"),
    ),
    "c": (
        *(_SIZE, *_GRID, _UNUSED_PERIOD),
        Field("start", "start", _integer, "C1"),
        Field("block_size", "block_size", _integer, "C1", False),
    ),
    "u": (
        *(_SIZE, *_GRID, _UNUSED_PERIOD),
        Field("indices", "indices", _indices, "U1"),
        Field("one_to_one", "one_to_one", _flag("U2"), "U2", False),
    ),
}
"""The keys that are read from a dimension dictionary, by ``dist_type``."""


def _dimension(given: dict[Any, Any], extent: int, legacy: bool, reader: Reader) -> Dimension:
    """The dimension that a dictionary describes; an ``extent`` of -1 is unknown."""
    if not given:
        if legacy:
            message = "the dictionary is empty, and 0.9 has no such alias"
            reader.deviates("D1", message, "taken as undistributed")
        return Dimension(reader.rank, "b", extent, extent, stop=extent)
    if "dist_type" not in given:
        reader.stop("D1", "key 'dist_type' is missing", "dist_type")
    kind = exact(given["dist_type"])
    if kind is None or kind not in SCHEMA:
        allowed = "'n', 'b', 'c' or 'u'" if legacy else "'b', 'c' or 'u'"
        value = given["dist_type"]
        reader.stop("D1", f"dist_type is {plain(value)!r}; it must be {allowed}", value)
    if kind == "n" and not legacy:
        message = "dist_type is 'n', which only 0.9 has"
        reader.deviates("D1", message, "taken as undistributed", kind)
    known = {"dist_type", *[field.key for field in (*SCHEMA[kind], *_GRID)]}
    for key in given:
        if key not in known:
            reader.note(f"key {plain(key)!r} is unknown for dist_type {kind!r}; ignored")
    empty = Dimension(reader.rank, kind, extent, 0, legacy=legacy)
    values: dict[str, Any] = {}
    for field in SCHEMA[kind]:
        if field.key in given:
            value = reader.attempt(field.read, field.key, given[field.key], empty, reader)
            values[field.attribute] = value
        elif field.required:
            values[field.attribute] = None
            reader.broken(field.rule, f"key {field.key!r} is missing", field.key)
    if any(value is None for value in values.values()):
        raise Unreadable
    d = empty._replace(**values)
    if kind == "n":
        d = d._replace(kind="n" if legacy else "b", stop=d.size)
    elif d.indices is not None:
        d = d._replace(fingerprint=blake2b(d.indices.tobytes(), digest_size=16).digest())
    if kind == "b" and extent == d.expected_extent + 1 and not reader.strict:
        reader.note(
            f"B2: stop - start is {d.stop - d.start} and the buffer's extent {extent}; "
            f"stop {d.stop} taken as inclusive"
        )
        d = d._replace(stop=d.stop + 1)
    return d
