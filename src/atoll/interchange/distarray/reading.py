"""From any producer to a :class:`Section`: rules of form, checked on one process.

Reading never raises an error of the producer: every fault becomes a record, so that a process with an invalid
dictionary still takes part in the collective steps. In lenient mode, deviations whose meaning is clear are repaired and
recorded instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...context.interrupts import passed_on
from ..reports import Records
from ..values import (
    LARGEST,
    MOST_AXES,
    UnfitError,
    a_kind,
    entries,
    exact,
    integer,
    is_a,
    items,
    kind_name,
    plain,
    printable,
    said,
)
from .description import Dimension, Indices, Section

KEYS = ("__version__", "buffer", "dim_data")
COMMON = ("dist_type", "size", "proc_grid_size", "proc_grid_rank")
KNOWN: dict[str, tuple[str, ...]] = {
    "n": (*COMMON, "padding", "periodic"),
    "b": (*COMMON, "start", "stop", "padding", "periodic"),
    "c": (*COMMON, "start", "block_size", "periodic"),
    "u": (*COMMON, "indices", "one_to_one", "periodic"),
}
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?((?:[-+.]?[0-9A-Za-z]+)*)$")
_MOST_LISTED = 1 << 24
"""How many indices are read from a list if the buffer's extent does not give their number."""
_LONGEST = 64
"""How many characters a version may have."""
_MISSING = object()


def read(source: object, rank: int, strict: bool) -> tuple[Section, npt.NDArray[Any] | None]:
    """The section of this process, and its buffer as an array (``None`` if it has none)."""
    records = Records(rank, strict)
    section, block = Section(rank), None
    try:
        section, block = _read(source, records)
    except _Unreadable:
        pass
    except Exception as error:
        passed_on(error)
        records.broken("T1", f"reading the object failed with {said(error)}", value=source)
    return section._replace(violations=tuple(records.violations), notes=tuple(records.notes)), block


class _Unreadable(Exception):
    """A description, or one of its dimensions, has no meaning; the reason has been recorded."""


def _read(source: object, records: Records) -> tuple[Section, npt.NDArray[Any]]:
    description = _description(source, records)
    version, legacy = _version(description.get("__version__", _MISSING), records)
    block = _block(description.get("buffer", _MISSING), records)
    if records.strict and block is not None and not is_a(source, Mapping):
        _check_same_memory(source, block, records)
    dim_data = _dictionaries(description.get("dim_data", _MISSING), records)
    if block is None or dim_data is None or legacy is None:
        raise _Unreadable
    if len(dim_data) != block.ndim:
        block = _reshaped(block, dim_data, legacy, records)
    dtype = block.dtype.str if block.dtype.names is None else printable(str(block.dtype))
    dimensions = tuple(
        _dimension(dim_dict, i, extent, legacy, records)
        for i, (dim_dict, extent) in enumerate(zip(dim_data, block.shape))
    )
    return Section(records.rank, version, legacy, block.ndim, dtype, block.shape, dimensions), block


# -- the top level ---------------------------------------------------------------------


def _description(source: object, records: Records) -> dict[Any, Any]:
    try:
        method = getattr(source, "__distarray__", None)
        description = source if method is None else method()
    except Exception as error:
        passed_on(error)
        what = "" if _is_method(source) else ", which must be a method,"
        records.broken("T1", f"__distarray__(){what} raised {said(error)}", value=source)
        raise _Unreadable from None
    kind = kind_name(description)
    if not is_a(description, Mapping):
        if method is None:
            message = f"{kind} has no __distarray__ method and is no dictionary"
        else:
            message = f"__distarray__() returned {kind}; it must be a dict"
        records.broken("T1", message, value=description)
        raise _Unreadable
    if not is_a(description, dict):
        message = f"the description is a {kind}; it must be a dict"
        records.deviates("T1", message, "taken as one", value=kind)
    try:
        values = entries(description)
    except UnfitError as unfit:
        records.broken("T1", f"the description {unfit}", value=kind)
        raise _Unreadable from None
    for key in KEYS:
        if key not in values:
            records.broken("T1", f"key {key!r} is missing", value=key)
    for key in values:
        if key not in KEYS:
            message = f"key {plain(key)!r} is not one of {', '.join(map(repr, KEYS))}"
            records.deviates("T1", message, "ignored", value=key)
    return values


def _is_method(source: object) -> bool:
    """Whether what stands for ``__distarray__`` can be called."""
    try:
        return callable(source.__distarray__)  # type: ignore[attr-defined]
    except Exception as problem:
        passed_on(problem)
        return True


def _version(version: object, records: Records) -> tuple[str, bool | None]:
    """The version, and whether the rules of 0.9 apply (``None``: atoll knows no rules for it)."""
    if version is _MISSING:
        return "", None
    text = exact(version)
    match = None if text is None or len(text) > _LONGEST else _VERSION.match(text)
    if match is None or text is None:
        message = f"the version is {plain(version)!r}; it must be 'major.minor.patch'"
        records.broken("T2", message, value=version)
        return "", None
    major, minor = int(match[1]), int(match[2])
    legacy = {(0, 9): True, (0, 10): False}.get((major, minor), False if major == 1 else None)
    if legacy is None:
        message = f"version {text!r} is unknown; atoll reads 1.x.y, 0.10.x and 0.9.x"
        records.broken("T2", message, value=text)
    elif match[3] is None:
        message = f"the version is {text!r}; it must be 'major.minor.patch'"
        records.deviates("T2", message, f"taken as '{major}.{minor}.0'", value=text)
    return text, legacy


def _block(buffer: object, records: Records) -> npt.NDArray[Any] | None:
    """The buffer as an array over the same memory."""
    if buffer is _MISSING:
        return None
    try:
        array = np.asarray(buffer if is_a(buffer, np.ndarray) else memoryview(buffer))  # type: ignore[arg-type]
        dtype = array.dtype
        if dtype.kind not in "mM" and not dtype.hasobject:
            memoryview(array.data)
    except Exception as error:
        passed_on(error)
        kind = kind_name(buffer)
        records.broken("T3", f"memoryview of the {kind} raised {said(error)}", value=kind)
        return None
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
        records.broken("T3", problem, value=str(dtype))
        return None
    return array


def _check_same_memory(source: object, block: npt.NDArray[Any], records: Records) -> None:
    """A second export must give the same memory, or writes through one are lost to the other."""
    try:
        second = np.asarray(memoryview(source.__distarray__()["buffer"]))  # type: ignore[attr-defined]
    except Exception as error:
        passed_on(error)
        records.broken("T5", f"a second __distarray__() gave no buffer: {said(error)}")
        return
    address, other = (each.__array_interface__["data"][0] for each in (block, second))
    if block.nbytes and address != other:
        message = "a second __distarray__() gave other memory: the buffer is a copy"
        records.deviates("T5", message, "the first one is used")


def _dictionaries(dim_data: object, records: Records) -> list[dict[Any, Any]] | None:
    if dim_data is _MISSING:
        return None
    kind = kind_name(dim_data)
    try:
        if is_a(dim_data, list):
            message = "dim_data is a list; it must be a tuple"
            records.deviates("T4", message, "taken as one", value="list")
        elif not is_a(dim_data, tuple):
            raise UnfitError(f"is a {kind}; it must be a tuple of dicts")
        given = items(dim_data, MOST_AXES)
    except UnfitError as unfit:
        records.broken("T4", f"dim_data {unfit}", value=kind)
        return None
    read = []
    for i, dim_dict in enumerate(given):
        kind = kind_name(dim_dict)
        try:
            read.append(entries(dim_dict))
        except UnfitError as unfit:
            records.broken("T4", f"dim_data[{i}] {unfit}", i, kind)
            continue
        if not is_a(dim_dict, dict):
            message = f"dim_data[{i}] is a {kind}; it must be a dict"
            records.deviates("T4", message, "taken as one", i, kind)
    return read if len(read) == len(given) else None


def _reshaped(
    block: npt.NDArray[Any], dim_data: list[dict[Any, Any]], legacy: bool, records: Records
) -> npt.NDArray[Any]:
    """The 0.9 text itself has a flat buffer for two dimensions: reshape it where the sizes determine how."""
    message = f"dim_data describes {len(dim_data)} dimensions, the buffer has {block.ndim}"
    if not records.strict and block.ndim == 1 and len(dim_data) > 1:
        trial = Records(records.rank, strict=False)
        dimensions = [_dimension(d, i, -1, legacy, trial) for i, d in enumerate(dim_data)]
        shape = [-1 if d is None or d.grid_size < 1 else d.expected_extent for d in dimensions]
        for i, d in enumerate(dimensions):
            if d is not None and d.indices is not None:
                shape[i] = len(d.indices)
        if min(shape) >= 0 and prod(shape) == block.size:
            records.note(f"T4: {message}; reshaped to {tuple(shape)}")
            return block.reshape(shape)
    records.broken("T4", message, value=(len(dim_data), block.ndim))
    raise _Unreadable


# -- one dimension -----------------------------------------------------------------------


def _dimension(
    dim_dict: dict[Any, Any], i: int, extent: int, legacy: bool, records: Records
) -> Dimension | None:
    """The dimension that a dictionary describes, ``None`` if it cannot be read. (An ``extent`` of -1 is not known yet.)"""
    fields = _Fields(dim_dict, i, records)
    if not dim_dict:
        if legacy:
            message = "the dictionary is empty, and 0.9 has no such alias"
            fields.deviates("D1", message, "taken as undistributed", None)
        return Dimension("b", extent, extent, 1, 0, 0, extent)
    try:
        return _filled(fields, extent, legacy)
    except _Unreadable:
        return None


@dataclass(slots=True)
class _Fields:
    """Typed access to one dimension dictionary; records what is missing or of the wrong type."""

    dim_dict: dict[Any, Any]
    dimension: int
    records: Records
    unreadable: bool = False

    def broken(self, rule: str, message: str, value: object) -> None:
        self.records.broken(rule, message, self.dimension, value)

    def deviates(self, rule: str, message: str, repair: str, value: object) -> None:
        self.records.deviates(rule, message, repair, self.dimension, value)

    def note(self, message: str) -> None:
        self.records.note(message, self.dimension)

    def integer(self, key: str, rule: str, default: int | None = None) -> int:
        """The integer under ``key``; without it and a default, the dimension is unreadable."""
        value = self.dim_dict.get(key, default)
        if value is None and key not in self.dim_dict:
            self.broken(rule, f"key {key!r} is missing", key)
            self.unreadable = True
            return 0
        return self.as_integer(key, value)

    def as_integer(self, name: str, value: Any) -> int:
        try:
            return integer(value)
        except UnfitError as unfit:
            whole = is_a(value, np.floating) or type(value) is float
            if whole and float(value).is_integer() and abs(value) < LARGEST:
                message = f"{name} is {plain(value)!r}; it must be an int"
                self.deviates("D5", message, f"taken as {int(value)}", value)
                return int(value)
            self.broken("D5", f"{name} {unfit}", value)
            self.unreadable = True
            return 0

    def flag(self, key: str, rule: str) -> bool:
        """The truth value under ``key``, ``False`` if there is none."""
        value = self.dim_dict.get(key, False)
        if type(value) in (bool, np.bool_):
            return bool(value)
        message = f"{key} is {plain(value)!r}; it must be a bool"
        if is_a(value, int, np.integer) and plain(value) in (0, 1):
            self.deviates(rule, message, f"taken as {plain(value) == 1}", value)
            return plain(value) == 1
        self.broken(rule, message, value)
        return False

    def padding(self) -> tuple[int, int] | None:
        value = self.dim_dict.get("padding", _MISSING)
        if value is _MISSING:
            return None
        try:
            widths = items(value, 2) if is_a(value, tuple, list) else []
        except UnfitError:
            widths = []
        if len(widths) != 2:
            self.broken("B3", f"padding is {plain(value)!r}; it must be a 2-tuple of ints", value)
            self.unreadable = True
            return None
        if is_a(value, list):
            self.deviates("B3", "padding is a list; it must be a tuple", "taken as one", "list")
        return self.as_integer("padding[0]", widths[0]), self.as_integer("padding[1]", widths[1])


def _filled(fields: _Fields, extent: int, legacy: bool) -> Dimension:
    dim_dict = fields.dim_dict
    given = dim_dict.get("dist_type", _MISSING)
    kind = exact(given)
    if given is _MISSING:
        fields.broken("D1", "key 'dist_type' is missing", "dist_type")
        raise _Unreadable
    if kind is None or kind not in KNOWN:
        allowed = "'n', 'b', 'c' or 'u'" if legacy else "'b', 'c' or 'u'"
        fields.broken("D1", f"dist_type is {plain(given)!r}; it must be {allowed}", given)
        raise _Unreadable
    if kind == "n" and not legacy:
        message = "dist_type is 'n', which only 0.9 has"
        fields.deviates("D1", message, "taken as undistributed", kind)
    for key in dim_dict:
        if key not in KNOWN[kind]:
            fields.note(f"key {plain(key)!r} is unknown for dist_type {kind!r}; ignored")
    size = fields.integer("size", "D2")
    grid_size = 1 if kind == "n" else fields.integer("proc_grid_size", "D3")
    grid_rank = 0 if kind == "n" else fields.integer("proc_grid_rank", "D4")
    dimension = Dimension(kind, extent, size, grid_size, grid_rank, legacy=legacy)
    dimension = dimension._replace(periodic=_periodic(fields, kind, legacy))
    if kind == "n":
        dimension = dimension._replace(
            kind=kind if legacy else "b", stop=size, padding=fields.padding()
        )
    elif kind == "b":
        start, stop = fields.integer("start", "B1"), fields.integer("stop", "B1")
        dimension = dimension._replace(start=start, stop=stop, padding=fields.padding())
    elif kind == "c":
        start, block_size = fields.integer("start", "C1"), fields.integer("block_size", "C1", 1)
        dimension = dimension._replace(start=start, block_size=block_size)
    else:
        indices = _indices(fields, extent)
        fingerprint = blake2b(indices.tobytes(), digest_size=16).digest()
        one_to_one = fields.flag("one_to_one", "U2")
        dimension = dimension._replace(
            indices=indices, fingerprint=fingerprint, one_to_one=one_to_one
        )
    if fields.unreadable:
        raise _Unreadable
    if kind == "b" and extent == dimension.expected_extent + 1 and not fields.records.strict:
        fields.note(
            f"B2: stop - start is {dimension.stop - dimension.start} and the buffer's extent {extent}; "
            f"stop {dimension.stop} taken as inclusive"
        )
        dimension = dimension._replace(stop=dimension.stop + 1)
    return dimension


def _periodic(fields: _Fields, kind: str, legacy: bool) -> bool:
    periodic = fields.flag("periodic", "B4")
    if "periodic" in fields.dim_dict and kind in "cu":
        if not legacy:
            message = f"periodic stands on dist_type {kind!r}; it is for 'b' only"
            fields.deviates("B4", message, "ignored", periodic)
            return False
        if periodic:
            fields.note(f"periodic on dist_type {kind!r} has no effect")
    return periodic


def _indices(fields: _Fields, extent: int) -> Indices:
    """The list of indices as int64."""
    given = fields.dim_dict.get("indices", _MISSING)

    def broken(message: str, value: object) -> None:
        fields.broken("U1", message, value)
        raise _Unreadable

    if given is _MISSING:
        broken("key 'indices' is missing", "indices")
    if is_a(given, list, tuple, range):
        fields.note(f"indices is {a_kind(given)}, not a buffer")
        try:
            listed = [integer(n) for n in items(given, extent if extent >= 0 else _MOST_LISTED)]
        except UnfitError as unfit:
            broken(
                f"indices, or one of them, {unfit}; it must be a 1-D buffer of integers, one for each element "
                f"of the buffer's extent, {extent}",
                kind_name(given),
            )
        array = np.array(listed, np.int64)
    else:
        try:
            array = np.asarray(given if is_a(given, np.ndarray) else memoryview(given))
        except Exception as error:
            passed_on(error)
            broken(f"indices is no buffer: {said(error)}", kind_name(given))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        broken(
            f"indices has {array.ndim} dimensions and dtype {array.dtype}; it must be a 1-D buffer of integers",
            str(array.dtype),
        )
    if array.size > extent >= 0:
        broken(f"indices lists {array.size}, the buffer's extent is {extent}", array.size)
    if array.size > 1 and array.strides[0] == 0:
        broken(f"index {array[0]} is listed twice; indices must be locally unique", int(array[0]))
    if array.dtype.kind == "u" and array.size and int(array.max()) > LARGEST:
        broken(f"index {array.max()} does not fit 64 bits with a sign", int(array.max()))
    # A copy: the layout must not change when the producer's list does.
    return np.array(array, np.int64, order="C")
