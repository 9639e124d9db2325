"""Common engine of the protocols for foreign arrays: read on each rank, gather the digests, judge them, accept or refuse.

Each rank reads its own description by a :class:`Reader`, which turns every fault into a record, never an exception. Then
each rank sends one digest (one allgather, whatever its state), and every rank judges the same digests. So all ranks get the
same list of broken rules, and an invalid description on one rank cannot make the others wait. A :class:`Protocol` adds
the rules and the functions that read and judge.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy.typing as npt

from ..comm.communicator import Communicator
from ..comm.in_step import agree
from ..comm.world import World, world_of
from ..context.call_sites import line_in_program, user_site
from ..context.interrupts import passed_on
from ..context.warn import warn_at
from ..errors import BufferTypeError, ProtocolError, ProtocolWarning
from ..layout import Layout
from .values import MOST_KEYS, Plain, UnfitError, entries, error_text, kind_name, plain, printable

Result = TypeVar("Result")

_SHOWN = 20
"""Number of broken rules that an error lists."""

Where = int | tuple[int, ...] | None
"""A dimension, or the position of a partition; ``None`` for the whole array."""


class Imported(NamedTuple):
    """The parts of an array: this rank's block with its padding, the layout, the world."""

    block: npt.NDArray[Any]
    layout: Layout
    world: World


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its location, its rank (``None`` for all ranks), the offending value, and a message."""

    rule: str
    where: Where
    rank: int | None
    value: Plain
    message: str

    @property
    def dimension(self) -> Where:
        """The dimension, by the Distributed Array Protocol."""
        return self.where

    @property
    def position(self) -> Where:
        """The position of the partition, by ``__partitioned__``."""
        return self.where

    def __str__(self) -> str:
        kind = "dimension" if isinstance(self.where, int) else "position"
        named = [(kind, self.where), ("rank", self.rank)]
        place = ", ".join(f"{name} {value}" for name, value in named if value is not None)
        return f"{self.rule}{' ' if place else ''}{place}: {self.message}"


class Unreadable(Exception):
    """Raised for a description, or a part of it, that cannot be read; the reason is recorded already."""


class Reader:
    """The records of one rank while it reads a foreign object: broken rules, and lenient mode's repairs."""

    def __init__(self, rank: int, strict: bool) -> None:
        self.rank, self.strict = rank, strict
        self.where: Where = None
        """The dimension or position that is being read."""
        self.violations: list[Violation] = []
        self.notes: list[str] = []

    def broken(self, rule: str, message: str, value: object = None) -> None:
        """Record a broken rule."""
        record = Violation(rule, self.where, self.rank, plain(value), printable(message))
        self.violations.append(record)

    def stop(self, rule: str, message: str, value: object = None) -> NoReturn:
        """Record a broken rule that makes the rest unreadable, and raise :class:`Unreadable`."""
        self.broken(rule, message, value)
        raise Unreadable from None

    def deviates(self, rule: str, message: str, repair: str, value: object = None) -> None:
        """Record a deviation with a clear meaning: a violation if strict, else a note of the repair."""
        if self.strict:
            self.broken(rule, message, value)
        else:
            self.note(f"{rule}: {message}; {repair}")

    def note(self, message: str) -> None:
        """Record a warning."""
        dimension = f"dimension {self.where}: " if isinstance(self.where, int) else ""
        self.notes.append(dimension + printable(message))

    def at(self, where: Where, read: Callable[..., Result], *args: Any) -> Result:
        """Read a part with ``where`` as its location in records."""
        before, self.where = self.where, where
        try:
            return read(*args)
        finally:
            self.where = before

    def attempt(self, read: Callable[..., Result], *args: Any) -> Result | None:
        """Read a part; ``None`` if it is unreadable."""
        try:
            return read(*args)
        except Unreadable:
            return None

    def entries(self, rule: str, name: str, value: Any, most: int = MOST_KEYS) -> dict[Any, Any]:
        """The entries of a mapping; any other object is unreadable."""
        try:
            return entries(value, most)
        except UnfitError as unfit:
            self.stop(rule, f"{name} {unfit}", kind_name(value))


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings of all ranks about one array, and the content that this rank has read."""

    sections: tuple[Any, ...]
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]
    content: Any


@dataclass(frozen=True)
class Protocol:
    """A protocol: its rules, and the functions that read a description and judge the digests of all ranks.

    A digest is a named tuple with the fields ``rank``, ``violations`` and ``notes``, and defaults for all fields after the first.
    """

    name: str
    title: str
    gathering: str
    """Name of the collective step in which ranks exchange digests."""
    rules: Mapping[str, str]
    unshared: str
    """The rule that an object without memory to share breaks."""
    digest: Callable[[int], Any]
    read: Callable[[object, Reader], tuple[Any, Any]]
    """Function that returns the digest of this rank, and the content, which stays on it."""
    judge: Callable[[Sequence[Any], bool], tuple[Sequence[Any], list[Violation], list[str]]]
    """Function that returns repaired digests (in lenient mode), the broken rules, and notes. No communication."""

    def local(self, source: object, rank: int, strict: bool) -> tuple[Any, Any]:
        """The digest and the content of one rank, whatever ``source`` is."""
        reader = Reader(rank, strict)
        section, content = self.digest(rank), None
        try:
            section, content = self.read(source, reader)
        except Unreadable:
            pass
        except Exception as error:  # the other ranks wait for the digest of this rank in any case
            passed_on(error)
            message = f"the description cannot be read ({error_text(error)})"
            reader.broken(next(iter(self.rules)), message, value=kind_name(source))
        records = tuple(reader.violations), tuple(reader.notes)
        return section._replace(violations=records[0], notes=records[1]), content

    def examination(self, sections: Sequence[Any], content: Any, strict: bool) -> Examination:
        """Judge gathered digests, and return the sorted findings."""
        judged, violations, repairs = self.judge(sections, strict)
        order = {rule: number for number, rule in enumerate(self.rules)}
        violations = sorted(
            violations,
            key=lambda v: (order[v.rule], v.where is not None, v.where, v.rank is not None, v.rank),
        )
        notes = [*_noted(sections), *repairs]
        return Examination(tuple(judged), tuple(violations), tuple(notes), content)

    def examine(self, source: object, communicator: Communicator, strict: bool) -> Examination:
        """Read ``source`` on every rank, exchange the digests, and judge them. Collective."""
        mine, content = self.local(source, communicator.rank, strict)
        sections = agree(communicator, mine, self.gathering)
        return self.examination(sections, content, strict)

    def check(self, source: object, strict: bool, comm: Any) -> list[Violation]:
        """The rules that ``source`` breaks; warns of tolerated deviations. Collective."""
        examination = self.examine(source, world_of(comm).communicator, strict)
        self.warn(examination)
        return list(examination.violations)

    def warn(self, examination: Examination) -> None:
        """Issue each note as a :class:`~atoll.errors.ProtocolWarning` at the line that called atoll."""
        site = user_site()
        for note in examination.notes:
            text = f"{self.name}: {note}"
            if site is None:
                warnings.warn(text, ProtocolWarning, stacklevel=2)
            else:
                warn_at(line_in_program(site), text, ProtocolWarning)

    def accepted(self, name: str, source: object, world: World, strict: bool) -> Examination:
        """The findings about an array that breaks no rule; otherwise an error that lists the broken rules. Collective.

        The error is a :class:`~atoll.errors.BufferTypeError` if there is no memory to share.
        """
        examination = self.examine(source, world.communicator, strict)
        violations = examination.violations
        if not violations:
            return examination
        unshared = any(v.rule == self.unshared for v in violations)
        kind = BufferTypeError if unshared else ProtocolError
        if len(violations) == 1:
            raise kind(f"{name}: {violations[0]}", violations)
        lines = [f"{name}: {self.title} is broken in {len(violations)} places"]
        lines += [f"  {violation}" for violation in violations[:_SHOWN]]
        if len(violations) > _SHOWN:
            lines.append(f"  and {len(violations) - _SHOWN} more")
        raise kind("\n".join(lines), violations)


def _noted(sections: Sequence[Any]) -> list[str]:
    """The notes of all ranks without duplicates, each with its ranks."""
    ranks: dict[str, list[int]] = {}
    for section in sections:
        for note in section.notes:
            ranks.setdefault(note, []).append(section.rank)
    return [
        note if len(where) == len(sections) else f"{note} (rank {', '.join(map(str, where))})"
        for note, where in ranks.items()
    ]
