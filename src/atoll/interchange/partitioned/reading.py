"""From a producer to plain values on one rank; every fault becomes a record, never an exception.

A :class:`Container` is what a rank could read of a dictionary; a :class:`Section` is the digest of it that a rank sends
to the others: everything that the rules across ranks need, and no data. A digest grows with the length of the grid's
axes and with the partitions that the rank itself holds, not with all partitions.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import islice
from math import prod
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from ...context.interrupts import passed_on
from ..clusters import Extents, Position, Shape, box, extents_of, starts_of
from ..reports import Records, Violation
from ..values import (
    MOST_AXES,
    MOST_KEYS,
    UnfitError,
    a_kind,
    entries,
    exact,
    integer,
    is_a,
    items,
    kind_name,
    said,
    shown,
)
from .data import RefusedError, as_array, is_data, shares

LISTED = 8
"""How many positions with the same mistake are named."""
MOST_PARTITIONS = 1 << 20
MOST_PLACES = 1 << 16
"""How many places a partition may have: one for each rank that has a copy."""


Location = tuple[str, int]
"""An address and the number of a process; the address is empty for a bare rank."""

RULES: dict[str, str] = {
    "P1": "a property __partitioned__ gives a dict with shape, partition_tiling, partitions, get",
    "P2": "'locals' lists the positions of this rank if, and only if, ranks hold the partitions",
    "P3": "partition_tiling, start and shape are tuples as long as the global shape",
    "P4": "every position of the grid is there, and no other",
    "P5": "the partitions tile the shape without gap or overlap",
    "P6": "the grid is regular: a row of it has one height, a column one width",
    "P7": "all partitions have one data type",
    "P8": "the data has the shape that is said",
    "P9": "location is a sequence of (str, int[, str])",
    "P10": "the device is absent, kDLCPU or kDLCPU:n",
    "P11": "without locals, the data are references",
    "P12": "get takes one handle or a sequence",
    "P13": "the dictionary pickles",
    "P14": "only what is not local may be None",
    "D1": "data is an array in memory (DLPack, buffer, __array__) or a DataFrame",
    "A1": "all ranks describe the same container",
    "A2": "the locals of all ranks together name every position",
}
"""P: the text's own. D: what data atoll takes. A: what the ranks must agree on."""


class Held(NamedTuple):
    """The shape and dtype of a partition that a rank has in memory."""

    position: Position
    shape: Shape
    dtype: np.dtype[Any]


class Section(NamedTuple):
    """The digest of one rank; ``readable`` is false where not even a grid could be made out."""

    rank: int
    process: Location
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]
    readable: bool
    shape: Shape = ()
    tiling: Shape = ()
    extents: Extents = ()
    spmd: bool = False
    held: tuple[Held, ...] = ()
    names: bytes = b""
    """A digest of what must be equal on all ranks if the description has no ``locals``."""


@dataclass(frozen=True, slots=True)
class Container:
    """A description that could be read, and this rank's partitions as arrays."""

    shape: Shape
    tiling: Shape
    extents: Extents
    spmd: bool
    handles: dict[Position, Any]
    locations: dict[Position, tuple[Location, ...]]
    get: Callable[[Any], Any]
    arrays: dict[Position, npt.NDArray[np.generic]]
    """What this rank holds, by position: none of it without ``locals``."""
    copied: frozenset[Position]
    """The positions whose array is no view of the producer's memory."""


class _StopReading(Exception):
    """The description has no grid to continue with."""


class Reader(Records):
    """Reads one description, and records faults and repairs."""

    def read(self, source: object) -> Container | None:
        """The description that ``source`` exports, as far as it is valid."""
        try:
            return self._container(self._dictionary(source))
        except _StopReading:
            return None
        except Exception as error:  # the other ranks wait for this one's digest in any case
            passed_on(error)
            message = f"the description cannot be read ({said(error)})"
            self.broken("P1", message, value=kind_name(source))
            return None

    def _stop(self, rule: str, message: str, position: Position | None, value: object) -> NoReturn:
        self.broken(rule, message, position, value)
        raise _StopReading from None

    # The parts of a dictionary

    def _dictionary(self, source: object) -> dict[Any, Any]:
        given: Any = source
        if not is_a(source, Mapping):
            try:
                given = source.__partitioned__  # type: ignore[attr-defined]
                if callable(given):
                    given = given()
                    self.note("P1: __partitioned__ is a method, not a property; it was called")
            except Exception as error:
                passed_on(error)
                words = f"__partitioned__ raised {said(error)}"
                if type(error) is AttributeError and not hasattr(type(source), "__partitioned__"):
                    words = f"{a_kind(source)} has no property __partitioned__"
                self._stop("P1", words, None, source)
        given = self._entries("P1", None, "__partitioned__", given)
        missing = [k for k in ("shape", "partition_tiling", "partitions", "get") if k not in given]
        if missing:
            words = f"there is no {' and no '.join(missing)}"
            self.broken("P1", words, value=sorted(given, key=str))
            if missing != ["get"]:
                raise _StopReading
        if "get" in given and not callable(given["get"]):
            words = f"get is {a_kind(given['get'])}, not a callable"
            self.broken("P12", words, value=given["get"])
        return given  # type: ignore[no-any-return]

    def _entries(
        self, rule: str, position: Position | None, name: str, value: Any, most: int = MOST_KEYS
    ) -> dict[Any, Any]:
        """A dictionary; anything else ends the reading."""
        try:
            return entries(value, most)
        except UnfitError as unfit:
            self._stop(rule, f"{name} {unfit}", position, kind_name(value))

    def _numbers(self, position: Position | None, name: str, value: Any, least: int) -> Shape:
        """A tuple of integers; anything else ends the reading."""
        try:
            if is_a(value, Mapping, str, bytes):
                raise UnfitError("")
            numbers = tuple([integer(n) for n in items(value, MOST_AXES)])
        except UnfitError:
            self._stop("P3", f"{name} is {shown(value)}, not a tuple of integers", position, value)
        if any(n < least for n in numbers):
            self._stop("P3", f"{name} is {numbers}; the least number is {least}", position, value)
        if not is_a(value, tuple):
            message = f"{name} is {a_kind(value)}"
            self.deviates("P3", message, "it was taken as a tuple", position, value)
        return numbers

    def _container(self, given: Mapping[str, Any]) -> Container:
        shape = self._numbers(None, "shape", given["shape"], 0)
        tiling = self._numbers(None, "partition_tiling", given["partition_tiling"], 1)
        if len(tiling) != len(shape):
            message = f"partition_tiling {tiling} and shape {shape} differ in length"
            self._stop("P3", message, None, tiling)
        most = min(prod(tiling), MOST_PARTITIONS) + LISTED
        partitions = self._entries("P4", None, "partitions", given["partitions"], most)
        self._check_positions(tiling, partitions)
        partitions = {
            position: self._entries("P4", position, "the partition", partition)
            for position, partition in partitions.items()
        }
        shapes, starts = self._boxes(shape, partitions)
        extents = extents_of(tiling, shapes)
        self._check_grid(shape, shapes, starts, extents)
        locations = {
            p: self._location(p, partition.get("location")) for p, partition in partitions.items()
        }
        self._check_pickle(given)
        get = given.get("get", _nothing)
        handles = {position: partition.get("data") for position, partition in partitions.items()}
        spmd = "locals" in given
        arrays: dict[Position, Any] = {}
        copied = set()
        if spmd:
            for position in self._locals(given["locals"], handles):
                array = self._array(position, handles[position], get)
                if array is not None:
                    arrays[position] = array[0]
                    if array[1]:
                        copied.add(position)
        else:
            self._check_handles(handles)
        return Container(
            shape, tiling, extents, spmd, handles, locations, get, arrays, frozenset(copied)
        )

    def _check_positions(self, tiling: Shape, partitions: Mapping[Any, Any]) -> None:
        strange = [p for p in partitions if not _is_position(p, tiling)]
        missing = []
        if len(partitions) - len(strange) < prod(tiling):
            count = min(prod(tiling), len(partitions) + LISTED)  # of more, some are missing
            positions = (_unravelled(number, tiling) for number in range(count))
            missing = list(islice((p for p in positions if p not in partitions), LISTED))
        for position in missing:
            self.broken("P4", f"it is missing; partition_tiling is {tiling}", position)
        for position in sorted(strange, key=repr)[:LISTED]:
            message = f"{shown(position)} is no position of the grid {tiling}"
            self.broken("P4", message, value=position)
        if missing or strange:
            raise _StopReading

    def _boxes(
        self, shape: Shape, partitions: Mapping[Any, Any]
    ) -> tuple[dict[Position, Shape], dict[Position, Shape]]:
        """The shapes and the starts of the partitions."""
        numbers: dict[str, dict[Position, Shape]] = {"start": {}, "shape": {}}
        for position, partition in partitions.items():
            absent = [k for k in ("start", "shape", "data", "location") if k not in partition]
            if absent:
                keys = sorted(partition, key=str)
                self._stop("P1", f"there is no {', '.join(absent)}", position, keys)
            for name, by_position in numbers.items():
                given = self._numbers(position, name, partition[name], 0)
                if len(given) != len(shape):
                    message = f"{name} {given} and the shape {shape} differ in length"
                    self._stop("P3", message, position, given)
                by_position[position] = given
        return numbers["shape"], numbers["start"]

    def _check_grid(
        self,
        shape: Shape,
        shapes: dict[Position, Shape],
        starts: dict[Position, Shape],
        extents: Extents,
    ) -> None:
        irregular = [p for p, own in shapes.items() if own != box(extents, p)]
        for position in irregular[:LISTED]:
            others = f"the others in its row and column ask for {box(extents, position)}"
            message = f"its shape is {shapes[position]}, {others}; the grid must be regular"
            self.broken("P6", message, position, shapes[position])
        total = tuple(map(sum, extents))
        if irregular:
            return
        if total != shape:
            word = "leave a gap" if all(a <= b for a, b in zip(total, shape)) else "overlap the end"
            message = f"the partitions add up to {total}, the shape is {shape}: they {word}"
            self.broken("P5", message, value=total)
            return
        offsets = starts_of(extents)
        wrong = [p for p, start in starts.items() if start != box(offsets, p)]
        if not wrong:
            return
        some = min(wrong)
        message = (
            f"{len(wrong)} of {len(starts)} starts are wrong, that of {some} is {starts[some]}, "
            f"the partitions before it end at {box(offsets, some)}"
        )
        self.deviates("P5", message, "the starts were computed from the shapes", some, starts[some])

    def _location(self, position: Position, value: Any) -> tuple[Location, ...]:
        """The places, as far as they are understood."""
        if is_a(value, tuple) and _is_place(value):
            message = f"location {shown(value)} is one place, not a sequence of them"
            self.deviates("P9", message, "it was taken as one", position, value)
            value = [value]
        elif is_a(value, int, np.integer):
            value = [value]
        try:
            if is_a(value, str) or not is_a(value, Sequence):
                raise UnfitError("")
            places = items(value, MOST_PLACES)
        except UnfitError:
            message = f"location is {shown(value)}, not a sequence of (str, int[, str])"
            self.broken("P9", message, position, value)
            return ()
        locations: list[Location] = []
        for place in places:
            if is_a(place, int, np.integer) and _is_integer(place):
                if not any(note.startswith("P9") and "rank" in note for note in self.notes):
                    message = f"location {shown(value)} is a rank, not (str, int[, str])"
                    self.deviates("P9", message, "'locals' says who holds what", position, value)
                locations.append(("", integer(place)))
                continue
            if not is_a(place, tuple, list) or not _is_place(place):
                message = f"the place {shown(place)} is not (str, int[, str])"
                self.broken("P9", message, position, place)
                continue
            address, process, *rest = items(place, 3)
            device = exact(rest[0]) if rest else "kDLCPU"
            if device is None or device.partition(":")[0] != "kDLCPU":
                message = f"the device is {shown(rest[0])}; it must be kDLCPU: copy it there first"
                self.broken("P10", message, position, rest[0])
            locations.append((exact(address) or "", integer(process)))
        return tuple(locations)

    def _check_pickle(self, given: Mapping[str, Any]) -> None:
        if "get" not in given:
            return
        try:
            pickle.dumps(given["get"])
        except Exception as error:
            passed_on(error)
            message = f"get does not pickle ({kind_name(error)})"
            self.deviates("P13", message, "it is used where it is", value=given["get"])

    def _locals(self, given: Any, handles: dict[Position, Any]) -> Iterable[Position]:
        try:
            if is_a(given, str, bytes) or not is_a(given, Sequence, set, frozenset):
                raise UnfitError("is no sequence")
            listed = items(given, 2 * len(handles))
        except UnfitError:
            message = f"locals is {shown(given)}, not a list of positions"
            self.broken("P2", message, value=given)
            return ()
        positions: dict[Position, None] = {}
        for entry in listed:
            try:
                if not is_a(entry, tuple, list):
                    raise UnfitError("is no tuple")
                position = tuple([integer(n) for n in items(entry, MOST_AXES)])
            except UnfitError:
                position = None
            if position is None or position not in handles:
                message = f"locals lists {shown(entry)}, which is no position"
                self.broken("P2", message, value=entry)
            elif position in positions:
                self.deviates("P2", "locals lists it twice", "once is enough", position, given)
            else:
                positions[position] = None
        return positions

    def _array(self, position: Position, data: Any, get: Any) -> tuple[Any, bool] | None:
        """The array of a local partition, and whether it is a copy."""
        if data is None:
            self.broken("P14", "it is local, but its data is None", position)
            return None
        try:
            if not is_data(data):
                data = _fetched(data, get)
            array = as_array(data)
            return array, not shares(data, array)
        except RefusedError as refused:
            self.broken(refused.rule, str(refused), position, data)
        except Exception as error:
            passed_on(error)
            message = f"get of the {kind_name(data)} raised {said(error)}"
            self.broken("P12", message, position, data)
        return None

    def _check_handles(self, handles: dict[Position, Any]) -> None:
        nothing = [position for position, handle in handles.items() if handle is None]
        for position in nothing[:LISTED]:
            message = "its data is None, and there are no locals to say who has it"
            self.broken("P14", message, position)
        direct = [position for position, handle in handles.items() if is_data(handle)]
        if direct:
            kind = kind_name(handles[direct[0]])
            message = f"without locals, its data is a {kind} and no reference"
            self.deviates("P11", message, "the arrays were taken as they are", direct[0], kind)


def _nothing(handles: Any) -> Any:
    """Stands in for a ``get`` that is missing."""
    raise TypeError("there is no get")


def _fetched(handle: Any, get: Any) -> Any:
    """The data of one handle, by a ``get`` that takes sequences, or single ones."""
    try:
        (data,) = items(get([handle]), 1)
        return data
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, UnfitError):
        return get(handle)


def _is_integer(value: Any) -> bool:
    try:
        integer(value)
    except UnfitError:
        return False
    return True


def _is_place(value: Any) -> bool:
    """Whether this begins with an address and the number of a process."""
    try:
        parts = items(value, 3)
    except UnfitError:
        return False
    return len(parts) > 1 and exact(parts[0]) is not None and _is_integer(parts[1])


def _unravelled(number: int, tiling: Shape) -> Position:
    """The position of that number in C order, also in grids too large for NumPy."""
    position = []
    for count in reversed(tiling):
        number, place = divmod(number, count)
        position.append(place)
    return tuple(reversed(position))


def _is_position(value: Any, tiling: Shape) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == len(tiling)
        and all(0 <= n < count for n, count in zip(value, tiling))
    )


@cache
def address_here() -> str:
    """The address of this machine in its network, as well as it knows."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def process_here() -> Location:
    """Where this process is."""
    return address_here(), os.getpid()


def read(source: object, rank: int, strict: bool) -> tuple[Section, Container | None]:
    """The digest of this rank, and what it could read."""
    reader = Reader(rank, strict)
    container = reader.read(source)
    section = Section(
        rank, process_here(), tuple(reader.violations), tuple(reader.notes), container is not None
    )
    if container is not None:
        text = repr(sorted(container.locations.items())).encode()
        section = section._replace(
            shape=container.shape,
            tiling=container.tiling,
            extents=container.extents,
            spmd=container.spmd,
            held=tuple([Held(p, a.shape, a.dtype) for p, a in container.arrays.items()]),
            names=blake2b(text, digest_size=16).digest(),
        )
    return section, container
