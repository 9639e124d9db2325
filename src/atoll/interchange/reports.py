"""What the readers of the protocols share: records of broken rules and of repairs, and the errors made of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt

from ..comm.world import World
from ..context.call_sites import line_in_program, user_site
from ..context.warn import warn_at
from ..errors import BufferTypeError, ProtocolError, ProtocolWarning
from ..layout import Layout
from .values import Plain, plain, printable

_SHOWN = 20
"""How many broken rules an error lists."""

Where = int | tuple[int, ...] | None
"""A dimension, or the position of a partition; ``None``: everywhere."""


class Imported(NamedTuple):
    """The parts of an array: this rank's block with its padding, the layout, the world."""

    block: npt.NDArray[Any]
    layout: Layout
    world: World


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: where and on which rank (``None``: all), with which value, and as text."""

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


def in_order(violations: Iterable[Violation], rules: Iterable[str]) -> list[Violation]:
    """The violations by rule, then place, then rank."""
    order = {rule: number for number, rule in enumerate(rules)}
    return sorted(
        violations,
        key=lambda v: (order[v.rule], v.where is not None, v.where, v.rank is not None, v.rank),
    )


class Records:
    """What one rank notes while it reads a foreign object: broken rules, and lenient mode's repairs."""

    def __init__(self, rank: int, strict: bool) -> None:
        self.rank, self.strict = rank, strict
        self.violations: list[Violation] = []
        self.notes: list[str] = []

    def broken(self, rule: str, message: str, where: Where = None, value: object = None) -> None:
        """Record a broken rule."""
        self.violations.append(Violation(rule, where, self.rank, plain(value), printable(message)))

    def deviates(
        self, rule: str, message: str, repair: str, where: Where = None, value: object = None
    ) -> None:
        """Record a broken rule whose meaning is clear: a violation if strict, else a note of the repair."""
        if self.strict:
            self.broken(rule, message, where, value)
        else:
            self.note(f"{rule}: {message}; {repair}", where)

    def note(self, message: str, where: Where = None) -> None:
        """Record something worth a warning."""
        dimension = f"dimension {where}: " if isinstance(where, int) else ""
        self.notes.append(dimension + printable(message))


class Digest(Protocol):
    """What a rank sends to the others: its number, and what it noted."""

    @property
    def rank(self) -> int: ...

    @property
    def notes(self) -> tuple[str, ...]: ...


def noted(sections: Sequence[Digest]) -> list[str]:
    """The notes of all ranks, each once, with the ranks that met it."""
    ranks: dict[str, list[int]] = {}
    for section in sections:
        for note in section.notes:
            ranks.setdefault(note, []).append(section.rank)
    return [
        note if len(where) == len(sections) else f"{note} (rank {', '.join(map(str, where))})"
        for note, where in ranks.items()
    ]


def warn(protocol: str, notes: Sequence[str]) -> None:
    """Issue each note as a :class:`~atoll.errors.ProtocolWarning` at the line that called atoll."""
    site = user_site()
    for note in notes:
        text = f"{protocol}: {note}"
        if site is None:
            warnings.warn(text, ProtocolWarning, stacklevel=2)
        else:
            warn_at(line_in_program(site), text, ProtocolWarning)


def refuse(name: str, protocol: str, violations: Sequence[Violation], unshared: str) -> None:
    """Raise an error that lists the broken rules, if there are any.

    It is a :class:`~atoll.errors.BufferTypeError` if the rule ``unshared`` is among them: there is no memory to share.
    """
    if not violations:
        return
    kind = BufferTypeError if any(v.rule == unshared for v in violations) else ProtocolError
    if len(violations) == 1:
        raise kind(f"{name}: {violations[0]}", violations)
    lines = [f"{name}: {protocol} is broken in {len(violations)} places"]
    lines += [f"  {violation}" for violation in violations[:_SHOWN]]
    if len(violations) > _SHOWN:
        lines.append(f"  and {len(violations) - _SHOWN} more")
    raise kind("\n".join(lines), violations)
