"""From any producer to a :class:`Section`: rules of form, checked on one process.

Reading never raises an error of the producer: every fault becomes a record, so that a process with an invalid
dictionary still takes part in the collective steps. In lenient mode, deviations whose meaning is clear are repaired and
recorded instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..values import (
    LARGEST,
    MOST_AXES,
    UnfitError,
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
from .description import Dimension, Indices, Section, Violation

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


@dataclass(slots=True)
class Reading:
    """The records of one process while it reads one object."""

    rank: int
    strict: bool
    violations: list[Violation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    block: npt.NDArray[Any] | None = None

    def broken(
        self, rule: str, message: str, dimension: int | None = None, value: object = None
    ) -> None:
        """Record a rule broken."""
        self.violations.append(
            Violation(rule, dimension, self.rank, plain(value), printable(message))
        )

    def deviates(
        self,
        rule: str,
        message: str,
        repair: str,
        dimension: int | None = None,
        value: object = None,
    ) -> None:
        """Record a rule broken (strict), or note how it was repaired (lenient)."""
        if self.strict:
            self.broken(rule, message, dimension, value)
        else:
            self.note(f"{rule}: {message}; {repair}", dimension)

    def note(self, message: str, dimension: int | None = None) -> None:
        """Remember something worth a warning."""
        message = printable(message)
        self.notes.append(message if dimension is None else f"dimension {dimension}: {message}")


def read(source: object, rank: int, strict: bool) -> tuple[Section, npt.NDArray[Any] | None]:
    """The section of this process, and its buffer as an array (``None`` if it has none)."""
    reading = Reading(rank, strict)
    try:
        section = _read(source, reading)
    except Exception as error:
        reading.broken("T1", f"reading the object failed with {said(error)}", value=source)
        section = _unreadable(reading)
    return section, reading.block


def _unreadable(reading: Reading, version: str = "", legacy: bool = False) -> Section:
    return Section(
        reading.rank,
        version,
        legacy,
        -1,
        "",
        (),
        (),
        tuple(reading.violations),
        tuple(reading.notes),
    )


def _read(source: object, reading: Reading) -> Section:
    description = _description(source, reading)
    if description is None:
        return _unreadable(reading)
    version, legacy = _version(description.get("__version__", _MISSING), reading)
    buffer = description.get("buffer", _MISSING)
    block = None if buffer is _MISSING else _block(buffer, reading)
    if reading.strict and block is not None and not is_a(source, Mapping):
        _same_memory(source, block, reading)
    dim_data = description.get("dim_data", _MISSING)
    if dim_data is not _MISSING:
        dim_data = _dictionaries(dim_data, reading)
    if block is None or dim_data is _MISSING or dim_data is None or legacy is None:
        return _unreadable(reading, version, bool(legacy))
    if len(dim_data) != block.ndim:
        block = _reshaped(block, dim_data, legacy, reading)
        if block is None:
            return _unreadable(reading, version, legacy)
    reading.block = block
    dimensions = tuple(
        _dimension(dim_dict, i, extent, legacy, reading)
        for i, (dim_dict, extent) in enumerate(zip(dim_data, block.shape))
    )
    return Section(
        reading.rank,
        version,
        legacy,
        block.ndim,
        block.dtype.str if block.dtype.names is None else printable(str(block.dtype)),
        block.shape,
        dimensions,
        tuple(reading.violations),
        tuple(reading.notes),
    )


# -- the top level ---------------------------------------------------------------------


def _description(source: object, reading: Reading) -> dict[Any, Any] | None:
    try:
        method = getattr(source, "__distarray__", None)
        description = source if method is None else method()
    except Exception as error:
        what = "" if _is_method(source) else ", which must be a method,"
        reading.broken("T1", f"__distarray__(){what} raised {said(error)}", value=source)
        return None
    if method is None and not is_a(source, Mapping):
        reading.broken(
            "T1",
            f"{kind_name(source)} has no __distarray__ method and is no dictionary",
            value=source,
        )
        return None
    if not is_a(description, Mapping):
        reading.broken(
            "T1",
            f"__distarray__() returned {kind_name(description)}; it must be a dict",
            value=description,
        )
        return None
    if not is_a(description, dict):
        reading.deviates(
            "T1",
            f"the description is a {kind_name(description)}; it must be a dict",
            "taken as one",
            value=kind_name(description),
        )
    try:
        found = entries(description)
    except UnfitError as unfit:
        reading.broken("T1", f"the description {unfit}", value=kind_name(description))
        return None
    for key in KEYS:
        if key not in found:
            reading.broken("T1", f"key {key!r} is missing", value=key)
    for key in found:
        if key not in KEYS:
            reading.deviates(
                "T1",
                f"key {plain(key)!r} is not one of {', '.join(map(repr, KEYS))}",
                "ignored",
                value=key,
            )
    return found


def _is_method(source: object) -> bool:
    """Whether what stands for ``__distarray__`` can be called."""
    try:
        return callable(source.__distarray__)  # type: ignore[attr-defined]
    except Exception:
        return True


def _version(version: object, reading: Reading) -> tuple[str, bool | None]:
    """The version, and whether the rules of 0.9 apply (``None``: no rules of ours do)."""
    if version is _MISSING:
        return "", None
    text = exact(version)
    match = None if text is None or len(text) > _LONGEST else _VERSION.match(text)
    if match is None or text is None:
        reading.broken(
            "T2",
            f"the version is {plain(version)!r}; it must be 'major.minor.patch'",
            value=version,
        )
        return str(plain(version)), None
    version = text
    major, minor = int(match[1]), int(match[2])
    legacy = {(0, 9): True, (0, 10): False}.get((major, minor), False if major == 1 else None)
    if legacy is None:
        reading.broken(
            "T2",
            f"version {version!r} is unknown; atoll reads 1.x.y, 0.10.x and 0.9.x",
            value=version,
        )
    elif match[3] is None:
        reading.deviates(
            "T2",
            f"the version is {version!r}; it must be 'major.minor.patch'",
            f"taken as '{major}.{minor}.0'",
            value=version,
        )
    return version, legacy


def _block(buffer: object, reading: Reading) -> npt.NDArray[Any] | None:
    """The buffer as an array over the same memory."""
    try:
        array = np.asarray(buffer if is_a(buffer, np.ndarray) else memoryview(buffer))  # type: ignore[arg-type]
        dtype = array.dtype
        if dtype.kind not in "mM" and not dtype.hasobject:
            memoryview(array.data)
    except Exception as error:
        reading.broken(
            "T3",
            f"memoryview of the {kind_name(buffer)} raised {said(error)}",
            value=kind_name(buffer),
        )
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
        reading.broken("T3", problem, value=str(dtype))
        return None
    return array


def _same_memory(source: object, block: npt.NDArray[Any], reading: Reading) -> None:
    """A second export must give the same memory, or writes through one are lost to the other."""
    try:
        second = np.asarray(memoryview(source.__distarray__()["buffer"]))  # type: ignore[attr-defined]
    except Exception as error:
        reading.broken("T5", f"a second __distarray__() gave no buffer: {said(error)}")
        return
    if (
        block.nbytes
        and second.__array_interface__["data"][0] != block.__array_interface__["data"][0]
    ):
        reading.deviates(
            "T5",
            "a second __distarray__() gave other memory: the buffer is a copy",
            "the first one is used",
        )


def _dictionaries(dim_data: object, reading: Reading) -> list[dict[Any, Any]] | None:
    if is_a(dim_data, list):
        reading.deviates(
            "T4", "dim_data is a list; it must be a tuple", "taken as one", value="list"
        )
    elif not is_a(dim_data, tuple):
        reading.broken(
            "T4",
            f"dim_data is a {kind_name(dim_data)}; it must be a tuple of dicts",
            value=kind_name(dim_data),
        )
        return None
    try:
        given = items(dim_data, MOST_AXES)
    except UnfitError as unfit:
        reading.broken("T4", f"dim_data {unfit}", value=kind_name(dim_data))
        return None
    found = []
    for i, dim_dict in enumerate(given):
        try:
            found.append(entries(dim_dict))
        except UnfitError as unfit:
            reading.broken("T4", f"dim_data[{i}] {unfit}", i, kind_name(dim_dict))
            continue
        if not is_a(dim_dict, dict):
            reading.deviates(
                "T4",
                f"dim_data[{i}] is a {kind_name(dim_dict)}; it must be a dict",
                "taken as one",
                i,
                kind_name(dim_dict),
            )
    return found if len(found) == len(given) else None


def _reshaped(
    block: npt.NDArray[Any], dim_data: list[dict[Any, Any]], legacy: bool, reading: Reading
) -> npt.NDArray[Any] | None:
    """The 0.9 text itself has a flat buffer for two dimensions: reshape it where the sizes determine how."""
    message = f"dim_data describes {len(dim_data)} dimensions, the buffer has {block.ndim}"
    if not reading.strict and block.ndim == 1 and len(dim_data) > 1:
        trial = Reading(reading.rank, strict=False)
        dimensions = [_dimension(d, i, -1, legacy, trial) for i, d in enumerate(dim_data)]
        shape = [-1 if d is None or d.grid_size < 1 else d.expected_extent for d in dimensions]
        for i, d in enumerate(dimensions):
            if d is not None and d.indices is not None:
                shape[i] = len(d.indices)
        if min(shape) >= 0 and prod(shape) == block.size:
            reading.note(f"T4: {message}; reshaped to {tuple(shape)}")
            return block.reshape(shape)
    reading.broken("T4", message, value=(len(dim_data), block.ndim))
    return None


# -- one dimension -----------------------------------------------------------------------


class _Unreadable(Exception):
    """A dimension dictionary has no meaning; the reason has been recorded."""


def _dimension(
    dim_dict: dict[Any, Any], i: int, extent: int, legacy: bool, reading: Reading
) -> Dimension | None:
    if not dim_dict:
        if legacy:
            reading.deviates(
                "D1",
                "the dictionary is empty, and 0.9 has no such alias",
                "taken as undistributed",
                i,
            )
        return Dimension("b", extent, extent, 1, 0, 0, extent)
    fields = _Fields(dim_dict, i, reading)
    try:
        return _filled(fields, extent, legacy)
    except _Unreadable:
        return None


@dataclass(slots=True)
class _Fields:
    """Typed access to one dimension dictionary; notes what is missing or of the wrong type."""

    dim_dict: dict[Any, Any]
    dimension: int
    reading: Reading
    unreadable: bool = False

    def integer(self, key: str, rule: str, default: int | None = None) -> int:
        """The integer under ``key``; missing ones without a default make the dimension unreadable."""
        value = self.dim_dict.get(key, _MISSING)
        if value is _MISSING:
            if default is not None:
                return default
            self.reading.broken(rule, f"key {key!r} is missing", self.dimension, key)
            self.unreadable = True
            return 0
        return self.as_integer(key, value)

    def as_integer(self, name: str, value: Any) -> int:
        try:
            return integer(value)
        except UnfitError as unfit:
            whole = is_a(value, np.floating) or type(value) is float
            if whole and float(value).is_integer() and abs(value) < LARGEST:
                self.reading.deviates(
                    "D5",
                    f"{name} is {plain(value)!r}; it must be an int",
                    f"taken as {int(value)}",
                    self.dimension,
                    value,
                )
                return int(value)
            self.reading.broken("D5", f"{name} {unfit}", self.dimension, value)
            self.unreadable = True
            return 0

    def flag(self, key: str, rule: str) -> bool:
        """The truth value under ``key``, ``False`` if there is none."""
        value = self.dim_dict.get(key, False)
        if type(value) in (bool, np.bool_):
            return bool(value)
        message = f"{key} is {plain(value)!r}; it must be a bool"
        if is_a(value, int, np.integer) and plain(value) in (0, 1):
            self.reading.deviates(
                rule, message, f"taken as {plain(value) == 1}", self.dimension, value
            )
            return plain(value) == 1
        self.reading.broken(rule, message, self.dimension, value)
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
            self.reading.broken(
                "B3",
                f"padding is {plain(value)!r}; it must be a 2-tuple of ints",
                self.dimension,
                value,
            )
            self.unreadable = True
            return None
        if is_a(value, list):
            self.reading.deviates(
                "B3",
                "padding is a list; it must be a tuple",
                "taken as one",
                self.dimension,
                "list",
            )
        return self.as_integer("padding[0]", widths[0]), self.as_integer("padding[1]", widths[1])


def _filled(fields: _Fields, extent: int, legacy: bool) -> Dimension:
    reading, i, dim_dict = fields.reading, fields.dimension, fields.dim_dict
    given = dim_dict.get("dist_type", _MISSING)
    kind = exact(given)
    if given is _MISSING:
        reading.broken("D1", "key 'dist_type' is missing", i, "dist_type")
        raise _Unreadable
    if kind is None or kind not in KNOWN:
        allowed = "'n', 'b', 'c' or 'u'" if legacy else "'b', 'c' or 'u'"
        reading.broken("D1", f"dist_type is {plain(given)!r}; it must be {allowed}", i, given)
        raise _Unreadable
    if kind == "n" and not legacy:
        reading.deviates(
            "D1", "dist_type is 'n', which only 0.9 has", "taken as undistributed", i, kind
        )
    for key in dim_dict:
        if key not in KNOWN[kind]:
            reading.note(f"key {plain(key)!r} is unknown for dist_type {kind!r}; ignored", i)
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
    if kind == "b" and extent == dimension.expected_extent + 1 and not reading.strict:
        reading.note(
            f"B2: stop - start is {dimension.stop - dimension.start} and the buffer's extent {extent}; "
            f"stop {dimension.stop} taken as inclusive",
            i,
        )
        dimension = dimension._replace(stop=dimension.stop + 1)
    return dimension


def _periodic(fields: _Fields, kind: str, legacy: bool) -> bool:
    periodic = fields.flag("periodic", "B4")
    if "periodic" in fields.dim_dict and kind in "cu":
        if not legacy:
            fields.reading.deviates(
                "B4",
                f"periodic stands on dist_type {kind!r}; it is for 'b' only",
                "ignored",
                fields.dimension,
                periodic,
            )
            return False
        if periodic:
            fields.reading.note(f"periodic on dist_type {kind!r} has no effect", fields.dimension)
    return periodic


def _indices(fields: _Fields, extent: int) -> Indices:
    """The list of indices as int64, or :class:`_Unreadable`. (An ``extent`` of -1 is not known yet.)"""
    reading, i = fields.reading, fields.dimension
    given = fields.dim_dict.get("indices", _MISSING)

    def broken(message: str, value: object) -> None:
        reading.broken("U1", message, i, value)
        raise _Unreadable

    if given is _MISSING:
        broken("key 'indices' is missing", "indices")
    if is_a(given, list, tuple, range):
        reading.note(f"indices is a {kind_name(given)}, not a buffer", i)
        try:
            listed = [integer(one) for one in items(given, extent if extent >= 0 else _MOST_LISTED)]
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
