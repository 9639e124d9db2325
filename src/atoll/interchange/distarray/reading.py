"""From any producer to a :class:`Section`: rules of form, checked on one process alone.

Reading never raises for what a producer got wrong: every fault becomes a record, so that
a process with a broken dictionary still takes part in what the processes do together.
In lenient mode, deviations whose meaning is clear are repaired and noted instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from .description import Dimension, Indices, Section, Violation, plain

KEYS = ("__version__", "buffer", "dim_data")
COMMON = ("dist_type", "size", "proc_grid_size", "proc_grid_rank")
KNOWN: dict[str, tuple[str, ...]] = {
    "n": (*COMMON, "padding", "periodic"),
    "b": (*COMMON, "start", "stop", "padding", "periodic"),
    "c": (*COMMON, "start", "block_size", "periodic"),
    "u": (*COMMON, "indices", "one_to_one", "periodic"),
}
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?((?:[-+.]?[0-9A-Za-z]+)*)$")
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
        self.violations.append(Violation(rule, dimension, self.rank, plain(value), message))

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
        self.notes.append(message if dimension is None else f"dimension {dimension}: {message}")


def read(source: object, rank: int, strict: bool) -> tuple[Section, npt.NDArray[Any] | None]:
    """The section of this process, and its buffer as an array (``None`` if it has none)."""
    reading = Reading(rank, strict)
    try:
        section = _read(source, reading)
    except Exception as error:
        reading.broken("T1", f"reading the object failed with {_described(error)}", value=source)
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


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _read(source: object, reading: Reading) -> Section:
    description = _description(source, reading)
    if description is None:
        return _unreadable(reading)
    version, legacy = _version(description.get("__version__", _MISSING), reading)
    buffer = description.get("buffer", _MISSING)
    block = None if buffer is _MISSING else _block(buffer, reading)
    if reading.strict and block is not None and hasattr(source, "__distarray__"):
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
        block.dtype.str if block.dtype.names is None else str(block.dtype),
        block.shape,
        dimensions,
        tuple(reading.violations),
        tuple(reading.notes),
    )


# -- the top level ---------------------------------------------------------------------


def _description(source: object, reading: Reading) -> Mapping[str, Any] | None:
    method = getattr(source, "__distarray__", None)
    if method is not None:
        try:
            description = method()
        except Exception as error:
            reading.broken("T1", f"__distarray__() raised {_described(error)}", value=source)
            return None
    elif isinstance(source, Mapping):
        description = source
    else:
        reading.broken(
            "T1",
            f"{type(source).__name__} has no __distarray__ method and is no dictionary",
            value=source,
        )
        return None
    if not isinstance(description, Mapping):
        reading.broken(
            "T1",
            f"__distarray__() returned {type(description).__name__}; it must be a dict",
            value=description,
        )
        return None
    if not isinstance(description, dict):
        reading.deviates(
            "T1",
            f"the description is a {type(description).__name__}; it must be a dict",
            "taken as one",
            value=type(description).__name__,
        )
    for key in KEYS:
        if key not in description:
            reading.broken("T1", f"key {key!r} is missing", value=key)
    for key in description:
        if key not in KEYS:
            reading.deviates(
                "T1",
                f"key {plain(key)!r} is not one of {', '.join(map(repr, KEYS))}",
                "ignored",
                value=key,
            )
    return description


def _version(version: object, reading: Reading) -> tuple[str, bool | None]:
    """The version, and whether the rules of 0.9 apply (``None``: no rules of ours do)."""
    if version is _MISSING:
        return "", None
    match = _VERSION.match(version) if isinstance(version, str) else None
    if match is None:
        reading.broken(
            "T2",
            f"the version is {plain(version)!r}; it must be 'major.minor.patch'",
            value=version,
        )
        return str(plain(version)), None
    assert isinstance(version, str)
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
    dtype = getattr(buffer, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        reading.broken(
            "T3",
            f"the buffer has dtype {dtype}, which has no buffer export; view it as int64",
            value=str(dtype),
        )
        return None
    try:
        view = memoryview(buffer)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError) as error:
        reading.broken(
            "T3",
            f"memoryview of the {type(buffer).__name__} raised {_described(error)}",
            value=type(buffer).__name__,
        )
        return None
    try:
        return np.asarray(buffer if isinstance(buffer, np.ndarray) else view)
    except Exception as error:
        reading.broken(
            "T3",
            f"the buffer's format {view.format!r} is none of NumPy's ({error})",
            value=view.format,
        )
        return None


def _same_memory(source: object, block: npt.NDArray[Any], reading: Reading) -> None:
    """A second export must show the same memory, or writes through one are lost to the other."""
    again = source.__distarray__()  # type: ignore[attr-defined]
    try:
        second = np.asarray(memoryview(again["buffer"]))
    except Exception as error:
        reading.broken("T5", f"a second __distarray__() gave no buffer: {_described(error)}")
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


def _dictionaries(dim_data: object, reading: Reading) -> list[Mapping[str, Any]] | None:
    if isinstance(dim_data, list):
        reading.deviates(
            "T4", "dim_data is a list; it must be a tuple", "taken as one", value="list"
        )
    elif not isinstance(dim_data, tuple):
        reading.broken(
            "T4",
            f"dim_data is a {type(dim_data).__name__}; it must be a tuple of dicts",
            value=type(dim_data).__name__,
        )
        return None
    fine = True
    for i, dim_dict in enumerate(dim_data):
        if not isinstance(dim_dict, Mapping):
            reading.broken(
                "T4",
                f"dim_data[{i}] is a {type(dim_dict).__name__}; it must be a dict",
                i,
                type(dim_dict).__name__,
            )
            fine = False
        elif not isinstance(dim_dict, dict):
            reading.deviates(
                "T4",
                f"dim_data[{i}] is a {type(dim_dict).__name__}; it must be a dict",
                "taken as one",
                i,
                type(dim_dict).__name__,
            )
    return list(dim_data) if fine else None


def _reshaped(
    block: npt.NDArray[Any], dim_data: list[Mapping[str, Any]], legacy: bool, reading: Reading
) -> npt.NDArray[Any] | None:
    """The 0.9 text itself shows a flat buffer for two dimensions: follow it where the sizes tell how."""
    message = f"dim_data describes {len(dim_data)} dimensions, the buffer has {block.ndim}"
    if not reading.strict and block.ndim == 1 and len(dim_data) > 1:
        trial = Reading(reading.rank, strict=False)
        dimensions = [_dimension(d, i, -1, legacy, trial) for i, d in enumerate(dim_data)]
        shape = [-1 if d is None else d.expected_extent for d in dimensions]
        for i, d in enumerate(dimensions):
            if d is not None and d.kind == "u":
                shape[i] = len(dim_data[i]["indices"])
        if min(shape) >= 0 and int(np.prod(shape)) == block.size:
            reading.note(f"T4: {message}; reshaped to {tuple(shape)}")
            return block.reshape(shape)
    reading.broken("T4", message, value=(len(dim_data), block.ndim))
    return None


# -- one dimension -----------------------------------------------------------------------


class _Unreadable(Exception):
    """A dimension dictionary has no meaning; the reason has been recorded."""


def _dimension(
    dim_dict: Mapping[str, Any], i: int, extent: int, legacy: bool, reading: Reading
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

    dim_dict: Mapping[str, Any]
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
        if not isinstance(value, (bool, np.bool_)):
            try:
                return int(value.__index__())
            except (AttributeError, TypeError):
                if isinstance(value, (float, np.floating)) and float(value).is_integer():
                    self.reading.deviates(
                        "D5",
                        f"{name} is {value!r}; it must be an int",
                        f"taken as {int(value)}",
                        self.dimension,
                        value,
                    )
                    return int(value)
        self.reading.broken(
            "D5", f"{name} is {plain(value)!r}; it must be an int", self.dimension, value
        )
        self.unreadable = True
        return 0

    def flag(self, key: str, rule: str) -> bool:
        """The truth value under ``key``, ``False`` if there is none."""
        value = self.dim_dict.get(key, False)
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        message = f"{key} is {plain(value)!r}; it must be a bool"
        if isinstance(value, (int, np.integer)) and value in (0, 1):
            self.reading.deviates(rule, message, f"taken as {bool(value)}", self.dimension, value)
            return bool(value)
        self.reading.broken(rule, message, self.dimension, value)
        return False

    def padding(self) -> tuple[int, int] | None:
        value = self.dim_dict.get("padding", _MISSING)
        if value is _MISSING:
            return None
        if isinstance(value, list) and len(value) == 2:
            self.reading.deviates(
                "B3",
                "padding is a list; it must be a tuple",
                "taken as one",
                self.dimension,
                "list",
            )
        elif not isinstance(value, tuple) or len(value) != 2:
            self.reading.broken(
                "B3",
                f"padding is {plain(value)!r}; it must be a 2-tuple of ints",
                self.dimension,
                value,
            )
            self.unreadable = True
            return None
        return self.as_integer("padding[0]", value[0]), self.as_integer("padding[1]", value[1])


def _filled(fields: _Fields, extent: int, legacy: bool) -> Dimension:
    reading, i, dim_dict = fields.reading, fields.dimension, fields.dim_dict
    kind = dim_dict.get("dist_type", _MISSING)
    if kind is _MISSING:
        reading.broken("D1", "key 'dist_type' is missing", i, "dist_type")
        raise _Unreadable
    if not isinstance(kind, str) or kind not in KNOWN:
        allowed = "'n', 'b', 'c' or 'u'" if legacy else "'b', 'c' or 'u'"
        reading.broken("D1", f"dist_type is {plain(kind)!r}; it must be {allowed}", i, kind)
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
        indices = _indices(fields)
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


def _indices(fields: _Fields) -> Indices:
    """The list of indices as int64, or :class:`_Unreadable`."""
    reading, i = fields.reading, fields.dimension
    given = fields.dim_dict.get("indices", _MISSING)
    if given is _MISSING:
        reading.broken("U1", "key 'indices' is missing", i, "indices")
        raise _Unreadable
    if isinstance(given, (list, tuple, range)):
        reading.note(f"indices is a {type(given).__name__}, not a buffer", i)
        array = np.asarray(given) if len(given) else np.empty(0, np.int64)
    else:
        try:
            array = np.asarray(given if isinstance(given, np.ndarray) else memoryview(given))
        except (TypeError, ValueError, BufferError) as error:
            reading.broken(
                "U1", f"indices is no buffer: {_described(error)}", i, type(given).__name__
            )
            raise _Unreadable from None
    if array.ndim != 1 or array.dtype.kind not in "iu":
        reading.broken(
            "U1",
            f"indices has {array.ndim} dimensions and dtype {array.dtype}; it must be a 1-D buffer of integers",
            i,
            str(array.dtype),
        )
        raise _Unreadable
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        reading.broken(
            "U1", f"index {array.max()} does not fit 64 bits with a sign", i, int(array.max())
        )
        raise _Unreadable
    # A copy: the layout that is made of it must not change when the producer's list does.
    return np.array(array, np.int64, order="C")
