"""A producer's description in plain values on one rank, and the rules on one rank and across all.

A :class:`Section` is the digest that a rank sends to the others: all input of the rules across ranks, and no data. It grows
with the lengths of the grid's axes and with the number of this rank's own partitions, not with the number of all
partitions. A :class:`Container` holds the rest of a description.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...context.interrupts import passed_on
from ..clusters import Extents, Position, Shape, box, extents_of, starts_of
from ..protocol import Protocol, Reader, Unreadable, Violation
from ..values import (
    MOST_AXES,
    UnfitError,
    a_kind,
    error_text,
    exact,
    integer,
    is_a,
    items,
    kind_name,
    value_text,
)
from .data import RefusedError, as_array, is_data, shares

LISTED = 8
"""Number of positions with the same mistake that errors name."""
MOST_PARTITIONS = 1 << 20
MOST_PLACES = 1 << 16
"""Greatest number of locations of a partition: one for each rank that has a copy."""


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
"""P: rules of the protocol's text. D: data that atoll accepts. A: agreement of the ranks."""


class LocalPartition(NamedTuple):
    """The position, shape and dtype of a partition that a rank has in memory."""

    position: Position
    shape: Shape
    dtype: np.dtype[Any]


class Section(NamedTuple):
    """The digest of one rank; ``readable`` is false if the description does not even define a grid."""

    rank: int
    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()
    readable: bool = False
    process: Location = ("", 0)
    shape: Shape = ()
    tiling: Shape = ()
    extents: Extents = ()
    """The lengths of the partitions along each axis."""
    spmd: bool = False
    local: tuple[LocalPartition, ...] = ()
    names: bytes = b""
    """Hash of the locations, which must be equal on all ranks if the description has no ``locals``."""


class Container(NamedTuple):
    """The partitions of a description, and this rank's partitions as arrays."""

    handles: dict[Position, Any]
    locations: dict[Position, tuple[Location, ...]]
    get: Callable[[Any], Any]
    arrays: dict[Position, npt.NDArray[np.generic]]
    """The arrays of this rank by position; empty without ``locals``."""
    copied: frozenset[Position]
    """The positions whose array is not a view of the producer's memory."""


def read(source: object, reader: Reader) -> tuple[Section, Container]:
    """The digest of this rank, and its partitions."""
    given = _dictionary(source, reader)
    shape = _numbers("shape", given["shape"], 0, reader)
    tiling = _numbers("partition_tiling", given["partition_tiling"], 1, reader)
    if len(tiling) != len(shape):
        message = f"partition_tiling {tiling} and shape {shape} differ in length"
        reader.stop("P3", message, tiling)
    most = min(prod(tiling), MOST_PARTITIONS) + LISTED
    partitions = reader.entries("P4", "partitions", given["partitions"], most)
    _check_positions(tiling, partitions, reader)
    parts = {p: reader.at(p, _partition, part, shape, reader) for p, part in partitions.items()}
    extents = extents_of(tiling, {p: part["shape"] for p, part in parts.items()})
    _check_grid(shape, parts, extents, reader)
    locations = {p: reader.at(p, _location, part["location"], reader) for p, part in parts.items()}
    _check_pickle(given, reader)
    get = given.get("get", _nothing)
    handles = {position: part["data"] for position, part in parts.items()}
    spmd = "locals" in given
    arrays: dict[Position, Any] = {}
    copied = set()
    if not spmd:
        _check_handles(handles, reader)
    for position in _locals(given["locals"], handles, reader) if spmd else ():
        array, shared = reader.at(position, _array, handles[position], get, reader)
        if array is not None:
            arrays[position] = array
            if not shared:
                copied.add(position)
    text = repr(sorted(locations.items())).encode()
    section = Section(
        reader.rank,
        readable=True,
        process=process_here(),
        shape=shape,
        tiling=tiling,
        extents=extents,
        spmd=spmd,
        local=tuple([LocalPartition(p, a.shape, a.dtype) for p, a in arrays.items()]),
        names=blake2b(text, digest_size=16).digest(),
    )
    return section, Container(handles, locations, get, arrays, frozenset(copied))


def _dictionary(source: object, reader: Reader) -> dict[Any, Any]:
    given: Any = source
    if not is_a(source, Mapping):
        try:
            given = source.__partitioned__  # type: ignore[attr-defined]
            if callable(given):
                given = given()
                reader.note("P1: __partitioned__ is a method, not a property; it was called")
        except Exception as error:
            passed_on(error)
            message = f"__partitioned__ raised {error_text(error)}"
            if type(error) is AttributeError and not hasattr(type(source), "__partitioned__"):
                message = f"{a_kind(source)} has no property __partitioned__"
            reader.stop("P1", message, source)
    given = reader.entries("P1", "__partitioned__", given)
    missing = [k for k in ("shape", "partition_tiling", "partitions", "get") if k not in given]
    if missing:
        value = sorted(given, key=str)
        reader.broken("P1", f"there is no {' and no '.join(missing)}", value)
        if missing != ["get"]:
            raise Unreadable
    if "get" in given and not callable(given["get"]):
        reader.broken("P12", f"get is {a_kind(given['get'])}, not a callable", given["get"])
    return given  # type: ignore[no-any-return]


def _numbers(name: str, value: Any, least: int, reader: Reader) -> Shape:
    """A tuple of integers; anything else is unreadable."""
    try:
        if is_a(value, Mapping, str, bytes):
            raise UnfitError("")
        numbers = tuple([integer(n) for n in items(value, MOST_AXES)])
    except UnfitError:
        reader.stop("P3", f"{name} is {value_text(value)}, not a tuple of integers", value)
    if any(n < least for n in numbers):
        reader.stop("P3", f"{name} is {numbers}; the least number is {least}", value)
    if not is_a(value, tuple):
        reader.deviates("P3", f"{name} is {a_kind(value)}", "it was taken as a tuple", value)
    return numbers


def _check_positions(tiling: Shape, partitions: Mapping[Any, Any], reader: Reader) -> None:
    strange = [p for p in partitions if not _is_position(p, tiling)]
    missing = []
    if len(partitions) - len(strange) < prod(tiling):
        count = min(prod(tiling), len(partitions) + LISTED)  # a larger grid misses some of these
        positions = (_unravelled(number, tiling) for number in range(count))
        missing = list(islice((p for p in positions if p not in partitions), LISTED))
    for position in missing:
        message = f"it is missing; partition_tiling is {tiling}"
        reader.at(position, reader.broken, "P4", message)
    for position in sorted(strange, key=repr)[:LISTED]:
        message = f"{value_text(position)} is no position of the grid {tiling}"
        reader.broken("P4", message, position)
    if missing or strange:
        raise Unreadable


def _partition(value: Any, shape: Shape, reader: Reader) -> dict[str, Any]:
    """The entries of a partition, with its start and its shape as tuples."""
    partition = reader.entries("P4", "the partition", value)
    absent = [k for k in ("start", "shape", "data", "location") if k not in partition]
    if absent:
        reader.stop("P1", f"there is no {', '.join(absent)}", sorted(partition, key=str))
    for name in ("start", "shape"):
        numbers = partition[name] = _numbers(name, partition[name], 0, reader)
        if len(numbers) != len(shape):
            message = f"{name} {numbers} and the shape {shape} differ in length"
            reader.stop("P3", message, numbers)
    return partition


def _check_grid(
    shape: Shape, parts: Mapping[Position, Mapping[str, Any]], extents: Extents, reader: Reader
) -> None:
    irregular = [p for p, part in parts.items() if part["shape"] != box(extents, p)]
    for position in irregular[:LISTED]:
        own = parts[position]["shape"]
        others = f"the others in its row and column ask for {box(extents, position)}"
        message = f"its shape is {own}, {others}; the grid must be regular"
        reader.at(position, reader.broken, "P6", message, own)
    total = tuple(map(sum, extents))
    if irregular:
        return
    if total != shape:
        word = "leave a gap" if all(a <= b for a, b in zip(total, shape)) else "overlap the end"
        message = f"the partitions add up to {total}, the shape is {shape}: they {word}"
        reader.broken("P5", message, total)
        return
    offsets = starts_of(extents)
    wrong = [p for p, part in parts.items() if part["start"] != box(offsets, p)]
    if not wrong:
        return
    some = min(wrong)
    start = parts[some]["start"]
    message = (
        f"{len(wrong)} of {len(parts)} starts are wrong, that of {some} is {start}, "
        f"the partitions before it end at {box(offsets, some)}"
    )
    repair = "the starts were computed from the shapes"
    reader.at(some, reader.deviates, "P5", message, repair, start)


def _location(value: Any, reader: Reader) -> tuple[Location, ...]:
    """The readable places of a location; the others become violations."""
    if is_a(value, tuple) and _is_place(value):
        message = f"location {value_text(value)} is one place, not a sequence of them"
        reader.deviates("P9", message, "it was taken as one", value)
        value = [value]
    elif is_a(value, int, np.integer):
        value = [value]
    try:
        if is_a(value, str) or not is_a(value, Sequence):
            raise UnfitError("")
        places = items(value, MOST_PLACES)
    except UnfitError:
        message = f"location is {value_text(value)}, not a sequence of (str, int[, str])"
        reader.broken("P9", message, value)
        return ()
    locations: list[Location] = []
    for place in places:
        if is_a(place, int, np.integer) and _is_integer(place):
            if not any(note.startswith("P9") and "rank" in note for note in reader.notes):
                message = f"location {value_text(value)} is a rank, not (str, int[, str])"
                reader.deviates("P9", message, "'locals' says who holds what", value)
            locations.append(("", integer(place)))
            continue
        if not is_a(place, tuple, list) or not _is_place(place):
            reader.broken("P9", f"the place {value_text(place)} is not (str, int[, str])", place)
            continue
        address, process, *rest = items(place, 3)
        device = exact(rest[0]) if rest else "kDLCPU"
        if device is None or device.partition(":")[0] != "kDLCPU":
            message = f"the device is {value_text(rest[0])}; it must be kDLCPU: copy it there first"
            reader.broken("P10", message, rest[0])
        locations.append((exact(address) or "", integer(process)))
    return tuple(locations)


def _check_pickle(given: Mapping[str, Any], reader: Reader) -> None:
    if "get" not in given:
        return
    try:
        pickle.dumps(given["get"])
    except Exception as error:
        passed_on(error)
        message = f"get does not pickle ({kind_name(error)})"
        reader.deviates("P13", message, "it is used where it is", given["get"])


def _locals(given: Any, handles: dict[Position, Any], reader: Reader) -> Iterable[Position]:
    try:
        if is_a(given, str, bytes) or not is_a(given, Sequence, set, frozenset):
            raise UnfitError("is no sequence")
        listed = items(given, 2 * len(handles))
    except UnfitError:
        reader.broken("P2", f"locals is {value_text(given)}, not a list of positions", given)
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
            reader.broken("P2", f"locals lists {value_text(entry)}, which is no position", entry)
        elif position in positions:
            message = "locals lists it twice"
            reader.at(position, reader.deviates, "P2", message, "once is enough", given)
        else:
            positions[position] = None
    return positions


def _array(data: Any, get: Any, reader: Reader) -> tuple[Any, bool]:
    """The array of a local partition, and true if it shares the producer's memory."""
    if data is None:
        reader.broken("P14", "it is local, but its data is None")
        return None, False
    try:
        if not is_data(data):
            data = _fetched(data, get)
        array = as_array(data)
        return array, shares(data, array)
    except RefusedError as refused:
        reader.broken(refused.rule, str(refused), data)
    except Exception as error:
        passed_on(error)
        reader.broken("P12", f"get of the {kind_name(data)} raised {error_text(error)}", data)
    return None, False


def _check_handles(handles: dict[Position, Any], reader: Reader) -> None:
    nothing = [position for position, handle in handles.items() if handle is None]
    for position in nothing[:LISTED]:
        message = "its data is None, and there are no locals to say who has it"
        reader.at(position, reader.broken, "P14", message)
    direct = [position for position, handle in handles.items() if is_data(handle)]
    if direct:
        kind = kind_name(handles[direct[0]])
        message = f"without locals, its data is a {kind} and no reference"
        repair = "the arrays were taken as they are"
        reader.at(direct[0], reader.deviates, "P11", message, repair, kind)


def _nothing(handles: Any) -> Any:
    """Replacement of a missing ``get``."""
    raise TypeError("there is no get")


def _fetched(handle: Any, get: Any) -> Any:
    """The data of one handle, by a ``get`` that takes sequences or single handles."""
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
    """True if a value begins with an address and the number of a process."""
    try:
        parts = items(value, 3)
    except UnfitError:
        return False
    return len(parts) > 1 and exact(parts[0]) is not None and _is_integer(parts[1])


def _unravelled(number: int, tiling: Shape) -> Position:
    """The position with a number in C order, also in grids too large for NumPy."""
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
    """The address of this machine by its own host name; loopback if that has no address."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def process_here() -> Location:
    """The address of this machine and the number of this process."""
    return address_here(), os.getpid()


# -- rules across ranks -----------------------------------------------------------------------


def check_partitioned(source: object, *, strict: bool = True, comm: Any = None) -> list[Violation]:
    """List the rules of ``__partitioned__`` that ``source`` breaks. Collective.

    ``source`` is a producer or the dictionary itself; each rank passes its own. All get the same
    list, which is empty for a valid container. With ``strict=False`` deviations with a clear
    meaning cause a warning instead (:class:`~atoll.errors.ProtocolWarning`). ``comm`` is the world, or
    the mpi4py communicator, of the ranks that hold the container.
    """
    return PROTOCOL.check(source, strict, comm)


def _judged(
    sections: Sequence[Section], strict: bool
) -> tuple[Sequence[Section], list[Violation], list[str]]:
    notes: list[str] = []
    violations = _merged([v for section in sections for v in section.violations], len(sections))
    if all(section.readable for section in sections):
        violations += _disagreements(sections)
        if not any(v.rule in ("A1", "P4", "P5", "P6") for v in violations):
            extents, notes, wrong = _memory(sections, strict)
            violations += [*wrong, *_holders(sections), *_dtypes(sections)]
            sections = [section._replace(extents=extents) for section in sections]
    return sections, violations, notes


PROTOCOL = Protocol(
    name="partitioned",
    title="the __partitioned__ protocol",
    gathering="the reading of partitions",
    rules=RULES,
    unshared="D1",
    digest=Section,
    read=read,
    judge=_judged,
)


def _merged(violations: Sequence[Violation], size: int) -> list[Violation]:
    """Merge records that all ranks share into one without a rank."""
    ranks: dict[tuple[Any, ...], list[Violation]] = {}
    for violation in violations:
        key = (violation.rule, violation.where, violation.message)
        ranks.setdefault(key, []).append(violation)
    merged = []
    for same in ranks.values():
        merged += same if len(same) < size else [replace(same[0], rank=None)]
    return merged


_DIFFERENCES = {
    "shape": "shape is {0}, on rank 0 it is {1}",
    "tiling": "partition_tiling is {0}, on rank 0 it is {1}",
    "extents": "the partitions have lengths {0}, on rank 0 {1}",
    "spmd": "{2} locals, unlike rank 0",
}
"""Fields that must be equal on all ranks, and the message for a rank that differs."""


def _disagreements(sections: Sequence[Section]) -> list[Violation]:
    first = sections[0]
    violations = []
    for section in sections[1:]:
        message, value = "", ""
        if not first.spmd and section.names != first.names:
            message = "the locations are not those of rank 0"
        for name, words in _DIFFERENCES.items():
            model, other = getattr(first, name), getattr(section, name)
            if model != other:
                message = words.format(other, model, "has" if other else "has no")
                value = repr(other)
                break
        if message:
            violations.append(Violation("A1", None, section.rank, value, message))
    return violations


def _memory(
    sections: Sequence[Section], strict: bool
) -> tuple[Extents, list[str], list[Violation]]:
    """The lengths of the partitions, from memory if it differs from the declaration; with notes and violations."""
    declared, tiling = sections[0].extents, sections[0].tiling
    different: list[tuple[Position, int, Shape]] = []
    real: dict[Position, Shape] = {}
    alike = True
    for section in sections:
        for partition in section.local:
            alike &= real.setdefault(partition.position, partition.shape) == partition.shape
            if partition.shape != box(declared, partition.position):
                different.append((partition.position, section.rank, partition.shape))
    if not different:
        return declared, [], []
    violations = []
    for position, rank, shape in different:
        words = f"its data has shape {shape}, it is said to be {box(declared, position)}"
        violations.append(Violation("P8", position, rank, repr(shape), words))
    axes = {len(shape) for shape in real.values()}
    if strict or not alike or len(real) != prod(tiling) or axes != {len(tiling)}:
        return declared, [], violations
    extents = extents_of(tiling, real)
    regular = all(shape == box(extents, position) for position, shape in real.items())
    if not regular or tuple(map(sum, extents)) != sections[0].shape:
        return declared, [], violations
    position, rank, shape = different[0]
    note = (
        f"P8: the description is stale: {len(different)} partitions have other shapes in memory, that of "
        f"position {position} on rank {rank} has {shape} and not {box(declared, position)}; the memory was believed"
    )
    return extents, [note], []


def _holders(sections: Sequence[Section]) -> list[Violation]:
    if not sections[0].spmd:
        return []
    known: set[Any] = {partition.position for section in sections for partition in section.local}
    known |= {v.position for section in sections for v in section.violations}
    missing = [p for p in product(*map(range, sections[0].tiling)) if p not in known]
    words = "no rank has it in its locals"
    return [Violation("A2", position, None, "", words) for position in missing[:LISTED]]


def _dtypes(sections: Sequence[Section]) -> list[Violation]:
    every = [(partition, section.rank) for section in sections for partition in section.local]
    violations = []
    for partition, rank in every:
        first, other = every[0]
        if partition.dtype != first.dtype:
            model = f"that of position {first.position} on rank {other} has {first.dtype}"
            words = f"its data has dtype {partition.dtype}, {model}"
            violations.append(
                Violation("P7", partition.position, rank, str(partition.dtype), words)
            )
    return violations[:LISTED]
