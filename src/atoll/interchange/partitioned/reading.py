"""From a producer to plain values on one rank; every fault becomes a record, never an exception."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from ..values import (
    MOST_AXES,
    MOST_KEYS,
    UnfitError,
    entries,
    exact,
    integer,
    is_a,
    items,
    kind_name,
    printable,
    said,
    shown,
)
from .data import RefusedError, as_array, is_data, shares
from .description import Container, Held, Location, Position, Section, Shape, Violation

LISTED = 8
"""How many positions with the same mistake are named."""
MOST_PARTITIONS = 1 << 20
MOST_PLACES = 1 << 16
"""How many places a partition may have: one for each rank that has a copy."""


class _StopReading(Exception):
    """The description has no grid to continue with."""


class Reader:
    """Reads one description; ``violations`` and ``notes`` are the records of faults and repairs."""

    def __init__(self, rank: int, strict: bool) -> None:
        self.rank, self.strict = rank, strict
        self.violations: list[Violation] = []
        self.notes: list[str] = []

    def wrong(self, rule: str, position: Position | None, value: Any, message: str) -> None:
        """A rule is broken."""
        self.violations.append(
            Violation(rule, position, self.rank, shown(value), printable(message))
        )

    def odd(
        self, rule: str, position: Position | None, value: Any, message: str, cure: str
    ) -> None:
        """A broken rule with a clear meaning: ``cure`` describes the repair."""
        if self.strict:
            self.wrong(rule, position, value, message)
        else:
            self.notes.append(printable(f"{rule}: {message}; {cure}"))

    def read(self, source: object) -> Container | None:
        """The description that ``source`` exports, as far as it is valid."""
        try:
            return self._container(self._dictionary(source))
        except _StopReading:
            return None
        except Exception as error:  # the other ranks wait for this one's digest in any case
            self.wrong(
                "P1", None, kind_name(source), f"the description cannot be read ({said(error)})"
            )
            return None

    # The parts of a dictionary

    def _dictionary(self, source: object) -> dict[Any, Any]:
        found: Any = source
        if not is_a(source, Mapping):
            try:
                found = source.__partitioned__  # type: ignore[attr-defined]
                if callable(found):
                    found = found()
                    self.notes.append(
                        "P1: __partitioned__ is a method, not a property; it was called"
                    )
            except Exception as error:
                words = f"__partitioned__ raised {said(error)}"
                if type(error) is AttributeError and not hasattr(type(source), "__partitioned__"):
                    words = f"a {kind_name(source)} has no property __partitioned__"
                self.wrong("P1", None, source, words)
                raise _StopReading from None
        given = self._entries("P1", None, "__partitioned__", found)
        missing = [k for k in ("shape", "partition_tiling", "partitions", "get") if k not in given]
        if missing:
            self.wrong(
                "P1", None, sorted(given, key=str), f"there is no {' and no '.join(missing)}"
            )
            if missing != ["get"]:
                raise _StopReading
        if "get" in given and not callable(given["get"]):
            self.wrong(
                "P12", None, given["get"], f"get is a {kind_name(given['get'])}, not a callable"
            )
        return given

    def _entries(
        self, rule: str, position: Position | None, name: str, value: Any, most: int = MOST_KEYS
    ) -> dict[Any, Any]:
        """A dictionary; anything else ends the reading."""
        try:
            return entries(value, most)
        except UnfitError as unfit:
            self.wrong(rule, position, kind_name(value), f"{name} {unfit}")
            raise _StopReading from None

    def _numbers(
        self, rule: str, position: Position | None, name: str, value: Any, least: int
    ) -> Shape:
        """A tuple of integers; anything else ends the reading."""
        try:
            if is_a(value, Mapping, str, bytes):
                raise UnfitError("")
            numbers = tuple([integer(n) for n in items(value, MOST_AXES)])
        except UnfitError:
            self.wrong(rule, position, value, f"{name} is {shown(value)}, not a tuple of integers")
            raise _StopReading from None
        if any(n < least for n in numbers):
            self.wrong(rule, position, value, f"{name} is {numbers}; the least number is {least}")
            raise _StopReading
        if not is_a(value, tuple):
            self.odd(
                rule, position, value, f"{name} is a {kind_name(value)}", "it was taken as a tuple"
            )
        return numbers

    def _container(self, given: Mapping[str, Any]) -> Container:
        shape = self._numbers("P3", None, "shape", given["shape"], 0)
        tiling = self._numbers("P3", None, "partition_tiling", given["partition_tiling"], 1)
        if len(tiling) != len(shape):
            self.wrong(
                "P3", None, tiling, f"partition_tiling {tiling} and shape {shape} differ in length"
            )
            raise _StopReading
        most = min(prod(tiling), MOST_PARTITIONS) + LISTED
        partitions = self._entries("P4", None, "partitions", given["partitions"], most)
        self._positions(tiling, partitions)
        partitions = {
            position: self._entries("P4", position, "the partition", one)
            for position, one in partitions.items()
        }
        shapes, starts = self._boxes(shape, partitions)
        extents = tuple(
            tuple([shapes[self._along(tiling, k, place)][k] for place in range(count)])
            for k, count in enumerate(tiling)
        )
        self._check_grid(shape, shapes, starts, extents)
        locations = {p: self._location(p, one.get("location")) for p, one in partitions.items()}
        self._check_pickle(given)
        get = given.get("get", _nothing)
        handles = {p: one.get("data") for p, one in partitions.items()}
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

    @staticmethod
    def _along(tiling: Shape, axis: int, place: int) -> Position:
        return tuple([place if k == axis else 0 for k in range(len(tiling))])

    def _positions(self, tiling: Shape, partitions: Mapping[Any, Any]) -> None:
        known = set(partitions)
        strange = [p for p in known if not _is_position(p, tiling)]
        missing = []
        if len(known) - len(strange) < prod(tiling):
            for number in range(
                min(prod(tiling), len(known) + LISTED)
            ):  # of more, some are missing
                position = _unravelled(number, tiling)
                if position not in known:
                    missing.append(position)
                    if len(missing) == LISTED:
                        break
        for position in missing:
            self.wrong("P4", position, None, f"it is missing; partition_tiling is {tiling}")
        for position in sorted(strange, key=repr)[:LISTED]:
            self.wrong(
                "P4", None, position, f"{shown(position)} is no position of the grid {tiling}"
            )
        if missing or strange:
            raise _StopReading

    def _boxes(
        self, shape: Shape, partitions: Mapping[Any, Any]
    ) -> tuple[dict[Position, Shape], dict[Position, Shape]]:
        shapes: dict[Position, Shape] = {}
        starts: dict[Position, Shape] = {}
        for position, one in partitions.items():
            absent = [k for k in ("start", "shape", "data", "location") if k not in one]
            if absent:
                self.wrong("P1", position, sorted(one, key=str), f"there is no {', '.join(absent)}")
                raise _StopReading
            for name, found in (("start", starts), ("shape", shapes)):
                numbers = self._numbers("P3", position, name, one[name], 0)
                if len(numbers) != len(shape):
                    self.wrong(
                        "P3",
                        position,
                        numbers,
                        f"{name} {numbers} and the shape {shape} differ in length",
                    )
                    raise _StopReading
                found[position] = numbers
        return shapes, starts

    def _check_grid(
        self,
        shape: Shape,
        shapes: dict[Position, Shape],
        starts: dict[Position, Shape],
        extents: tuple[Shape, ...],
    ) -> None:
        irregular = 0
        for position, own in shapes.items():
            wanted = tuple([axis[place] for axis, place in zip(extents, position)])
            if own != wanted:
                irregular += 1
                if irregular <= LISTED:
                    self.wrong(
                        "P6",
                        position,
                        own,
                        f"its shape is {own}, the others in its row and column "
                        f"ask for {wanted}; the grid must be regular",
                    )
        total = tuple(map(sum, extents))
        if irregular:
            return
        if total != shape:
            word = "leave a gap" if all(a <= b for a, b in zip(total, shape)) else "overlap the end"
            self.wrong(
                "P5",
                None,
                total,
                f"the partitions add up to {total}, the shape is {shape}: they {word}",
            )
            return
        offsets = [(0, *accumulate(axis)) for axis in extents]
        wrong = {
            position: tuple([offset[place] for offset, place in zip(offsets, position)])
            for position, start in starts.items()
            if start != tuple([offset[place] for offset, place in zip(offsets, position)])
        }
        if not wrong:
            return
        some = min(wrong)
        message = (
            f"{len(wrong)} of {len(starts)} starts are wrong, that of {some} is {starts[some]}, "
            f"the partitions before it end at {wrong[some]}"
        )
        self.odd("P5", some, starts[some], message, "the starts were computed from the shapes")

    def _location(self, position: Position, value: Any) -> tuple[Location, ...]:
        """The places, as far as they are understood."""
        if is_a(value, tuple) and _is_place(value):
            self.odd(
                "P9",
                position,
                value,
                f"location {shown(value)} is one place, not a sequence of them",
                "it was taken as one",
            )
            value = [value]
        elif is_a(value, int, np.integer):
            value = [value]
        try:
            if is_a(value, str) or not is_a(value, Sequence):
                raise UnfitError("")
            places = items(value, MOST_PLACES)
        except UnfitError:
            self.wrong(
                "P9",
                position,
                value,
                f"location is {shown(value)}, not a sequence of (str, int[, str])",
            )
            return ()
        found: list[Location] = []
        for place in places:
            if is_a(place, int, np.integer) and _is_integer(place):
                if not any(note.startswith("P9") and "rank" in note for note in self.notes):
                    self.odd(
                        "P9",
                        position,
                        value,
                        f"location {shown(value)} is a rank, not (str, int[, str])",
                        "'locals' says who holds what",
                    )
                found.append(("", integer(place)))
                continue
            if not is_a(place, tuple, list) or not _is_place(place):
                self.wrong(
                    "P9", position, place, f"the place {shown(place)} is not (str, int[, str])"
                )
                continue
            address, process, *rest = items(place, 3)
            device = exact(rest[0]) if rest else "kDLCPU"
            if device is None or device.partition(":")[0] != "kDLCPU":
                self.wrong(
                    "P10",
                    position,
                    shown(rest[0]),
                    f"the device is {shown(rest[0])}; it must be kDLCPU: copy it there first",
                )
            found.append((exact(address) or "", integer(process)))
        return tuple(found)

    def _check_pickle(self, given: Mapping[str, Any]) -> None:
        if "get" not in given:
            return
        try:
            pickle.dumps(given["get"])
        except Exception as error:
            self.odd(
                "P13",
                None,
                given["get"],
                f"get does not pickle ({kind_name(error)})",
                "it is used where it is",
            )

    def _locals(self, given: Any, handles: dict[Position, Any]) -> list[Position]:
        try:
            if is_a(given, str, bytes) or not is_a(given, Sequence, set, frozenset):
                raise UnfitError("is no sequence")
            listed = items(given, 2 * len(handles))
        except UnfitError:
            self.wrong("P2", None, given, f"locals is {shown(given)}, not a list of positions")
            return []
        found: dict[Position, None] = {}
        for one in listed:
            try:
                if not is_a(one, tuple, list):
                    raise UnfitError("is no tuple")
                position = tuple([integer(n) for n in items(one, MOST_AXES)])
            except UnfitError:
                position = None
            if position is None or position not in handles:
                self.wrong("P2", None, one, f"locals lists {shown(one)}, which is no position")
            elif position in found:
                self.odd("P2", position, given, "locals lists it twice", "once is enough")
            else:
                found[position] = None
        return list(found)

    def _array(self, position: Position, data: Any, get: Any) -> tuple[Any, bool] | None:
        """The array of a local partition, and whether it is a copy."""
        if data is None:
            self.wrong("P14", position, None, "it is local, but its data is None")
            return None
        try:
            if not is_data(data):
                data = _fetched(data, get)
            array = as_array(data)
            return array, not shares(data, array)
        except RefusedError as refused:
            self.wrong(refused.rule, position, data, str(refused))
        except Exception as error:
            self.wrong(
                "P12",
                position,
                data,
                f"get of the {kind_name(data)} raised {said(error)}",
            )
        return None

    def _check_handles(self, handles: dict[Position, Any]) -> None:
        nothing = [position for position, handle in handles.items() if handle is None]
        for position in nothing[:LISTED]:
            self.wrong(
                "P14", position, None, "its data is None, and there are no locals to say who has it"
            )
        direct = [position for position, handle in handles.items() if is_data(handle)]
        if direct:
            some = handles[direct[0]]
            self.odd(
                "P11",
                direct[0],
                kind_name(some),
                f"without locals, its data is a {kind_name(some)} and no reference",
                "the arrays were taken as they are",
            )


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
    """The position of that number in C order."""
    found = []
    for count in reversed(tiling):
        number, place = divmod(number, count)
        found.append(place)
    return tuple(reversed(found))


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
    shape: Shape = ()
    tiling: Shape = ()
    extents: tuple[Shape, ...] = ()
    spmd, names = False, b""
    held: tuple[Held, ...] = ()
    if container is not None:
        from hashlib import blake2b

        shape, tiling, extents = container.shape, container.tiling, container.extents
        spmd = container.spmd
        held = tuple([Held(p, a.shape, a.dtype) for p, a in container.arrays.items()])
        text = repr(sorted(container.locations.items())).encode()
        names = blake2b(text, digest_size=16).digest()
    return (
        Section(
            rank,
            container is not None,
            shape,
            tiling,
            extents,
            spmd,
            held,
            names,
            process_here(),
            tuple(reader.violations),
            tuple(reader.notes),
        ),
        container,
    )
