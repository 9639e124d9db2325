"""From a producer to plain values on one rank; what is wrong becomes a record, never an exception."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, product
from math import prod
from operator import index
from typing import Any

import numpy as np

from .data import RefusedError, as_array, is_data, kind_name, shares
from .description import Container, Held, Location, Position, Section, Shape, Violation

LISTED = 8
"""How many positions with the same mistake are named."""


class _StopReading(Exception):
    """There is no grid to go on with."""


class Reader:
    """Reads one description; ``violations`` and ``notes`` are what it found on the way."""

    def __init__(self, rank: int, strict: bool) -> None:
        self.rank, self.strict = rank, strict
        self.violations: list[Violation] = []
        self.notes: list[str] = []

    def wrong(self, rule: str, position: Position | None, value: Any, message: str) -> None:
        """A rule is broken."""
        text = repr(value)
        text = text if len(text) < 200 else text[:200] + "..."
        self.violations.append(Violation(rule, position, self.rank, text, message))

    def odd(
        self, rule: str, position: Position | None, value: Any, message: str, cure: str
    ) -> None:
        """A rule is broken, but what is meant is clear: ``cure`` says what is made of it."""
        if self.strict:
            self.wrong(rule, position, value, message)
        else:
            self.notes.append(f"{rule}: {message}; {cure}")

    def read(self, source: object) -> Container | None:
        """What ``source`` shows, as far as it makes sense."""
        try:
            return self._container(self._dictionary(source))
        except _StopReading:
            return None
        except Exception as error:  # the other ranks wait for this one's digest, whatever it met
            kind = type(error).__name__
            self.wrong(
                "P1", None, kind_name(source), f"the description cannot be read ({kind}: {error})"
            )
            return None

    # The parts of a dictionary

    def _dictionary(self, source: object) -> Mapping[str, Any]:
        found: Any = source
        if not isinstance(source, Mapping):
            try:
                found = source.__partitioned__  # type: ignore[attr-defined]
                if callable(found):
                    found = found()
                    self.notes.append(
                        "P1: __partitioned__ is a method, not a property; it was called"
                    )
            except AttributeError as error:
                if hasattr(type(source), "__partitioned__"):
                    self.wrong(
                        "P1", None, source, f"__partitioned__ raised AttributeError: {error}"
                    )
                else:
                    self.wrong(
                        "P1", None, source, f"a {kind_name(source)} has no property __partitioned__"
                    )
                raise _StopReading from None
            except Exception as error:
                kind = type(error).__name__
                self.wrong("P1", None, source, f"__partitioned__ raised {kind}: {error}")
                raise _StopReading from None
        if not isinstance(found, Mapping):
            self.wrong("P1", None, found, f"__partitioned__ is a {kind_name(found)}, not a dict")
            raise _StopReading
        missing = [k for k in ("shape", "partition_tiling", "partitions", "get") if k not in found]
        if missing:
            self.wrong(
                "P1", None, sorted(found, key=str), f"there is no {' and no '.join(missing)}"
            )
            if missing != ["get"]:
                raise _StopReading
        if "get" in found and not callable(found["get"]):
            self.wrong(
                "P12", None, found["get"], f"get is a {kind_name(found['get'])}, not a callable"
            )
        return found

    def _numbers(
        self, rule: str, position: Position | None, name: str, value: Any, least: int
    ) -> Shape:
        """A tuple of integers; anything else ends the reading."""
        try:
            numbers = tuple([index(n) for n in value])
        except TypeError:
            self.wrong(rule, position, value, f"{name} is {value!r}, not a tuple of integers")
            raise _StopReading from None
        if any(n < least for n in numbers):
            self.wrong(rule, position, value, f"{name} is {numbers}; the least number is {least}")
            raise _StopReading
        if not isinstance(value, tuple):
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
        partitions = given["partitions"]
        if not isinstance(partitions, Mapping):
            self.wrong(
                "P4", None, partitions, f"partitions is a {kind_name(partitions)}, not a dict"
            )
            raise _StopReading
        self._positions(tiling, partitions)
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
            for position in product(*map(range, tiling)):
                if position not in known:
                    missing.append(position)
                    if len(missing) == LISTED:
                        break
        for position in missing:
            self.wrong("P4", position, None, f"it is missing; partition_tiling is {tiling}")
        for position in sorted(strange, key=repr)[:LISTED]:
            self.wrong("P4", None, position, f"{position!r} is no position of the grid {tiling}")
        if missing or strange:
            raise _StopReading

    def _boxes(
        self, shape: Shape, partitions: Mapping[Any, Any]
    ) -> tuple[dict[Position, Shape], dict[Position, Shape]]:
        shapes: dict[Position, Shape] = {}
        starts: dict[Position, Shape] = {}
        for position, one in partitions.items():
            if not isinstance(one, Mapping):
                self.wrong("P4", position, one, f"the partition is a {kind_name(one)}, not a dict")
                raise _StopReading
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
        if isinstance(value, tuple) and len(value) in (2, 3) and isinstance(value[0], str):
            self.odd(
                "P9",
                position,
                value,
                f"location {value!r} is one place, not a sequence of them",
                "it was taken as one",
            )
            value = [value]
        elif isinstance(value, int | np.integer):
            value = [value]
        if isinstance(value, str) or not isinstance(value, Sequence):
            self.wrong(
                "P9", position, value, f"location is {value!r}, not a sequence of (str, int[, str])"
            )
            return ()
        found: list[Location] = []
        for place in value:
            if isinstance(place, int | np.integer) and not isinstance(place, bool):
                if not any(note.startswith("P9") and "rank" in note for note in self.notes):
                    self.odd(
                        "P9",
                        position,
                        value,
                        f"location {value!r} is a rank, not (str, int[, str])",
                        "'locals' says who holds what",
                    )
                found.append(("", int(place)))
                continue
            if (
                not isinstance(place, tuple | list)
                or len(place) not in (2, 3)
                or not isinstance(place[0], str)
                or not isinstance(place[1], int | np.integer)
            ):
                self.wrong("P9", position, place, f"the place {place!r} is not (str, int[, str])")
                continue
            device = place[2] if len(place) == 3 else "kDLCPU"
            if not isinstance(device, str) or device.partition(":")[0] != "kDLCPU":
                self.wrong(
                    "P10",
                    position,
                    device,
                    f"the device is {device!r}; it must be kDLCPU: copy it there first",
                )
            found.append((place[0], int(place[1])))
        return tuple(found)

    def _check_pickle(self, given: Mapping[str, Any]) -> None:
        if "get" not in given:
            return
        try:
            pickle.dumps(given["get"])
        except Exception as error:
            kind = type(error).__name__
            self.odd(
                "P13", None, given["get"], f"get does not pickle ({kind})", "it is used where it is"
            )

    def _locals(self, given: Any, handles: dict[Position, Any]) -> list[Position]:
        if isinstance(given, str | bytes) or not isinstance(given, Sequence | set | frozenset):
            self.wrong("P2", None, given, f"locals is {given!r}, not a list of positions")
            return []
        found = []
        for position in given:
            position = tuple(position) if isinstance(position, list) else position
            if position not in handles:
                self.wrong("P2", None, position, f"locals lists {position!r}, which is no position")
            elif position in found:
                self.odd("P2", position, given, "locals lists it twice", "once is enough")
            else:
                found.append(position)
        return found

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
                f"get of the {kind_name(data)} raised {type(error).__name__}: {error}",
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
        return get([handle])[0]
    except (TypeError, AttributeError, KeyError, IndexError):
        return get(handle)


def _is_position(value: Any, tiling: Shape) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == len(tiling)
        and all(isinstance(n, int) and 0 <= n < count for n, count in zip(value, tiling))
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
