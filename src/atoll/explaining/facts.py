"""The parts of an explanation, as values.

Data is named ``a``, ``b``, ..., in the order in which ``atoll.graph.show`` names it, a stored value ``v1``, ``v2``,
..., and a ghost region ``p1``, ``p2``, ....
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .text import html, plain


@dataclass(frozen=True, slots=True)
class Memory:
    """Data that is read, a value that is stored, or a ghost region that other ranks fill."""

    name: str
    role: str
    """``data``, ``value`` or ``patch``."""
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    """Of this rank's share, its padding included."""
    layout: str
    """Its distribution; empty if each rank has all of it."""
    how: str
    """Where the memory comes from: ``there already``, ``new``, ``copy of a``, ``in place of a``."""

    @property
    def is_new(self) -> bool:
        """True if a buffer is asked for."""
        return self.how.startswith(("new", "copy"))


@dataclass(frozen=True, slots=True)
class Stored:
    """A value that is written to memory, and why it is not computed where it is read."""

    name: str
    operation: str
    where: str
    """The line of the program that recorded it."""
    style: str
    """``loop``, ``loop in place``, ``reduction``, ``NumPy``, or ``NumPy on each share``."""
    reason: str
    remark: str
    """Why NumPy computes it, or where an assignment goes."""


@dataclass(frozen=True, slots=True)
class Access:
    """Memory that a launch reads or writes: the part it touches, and how its innermost loop steps."""

    name: str
    region: str
    access: str
    """``r``, ``w``, or ``rw``."""
    inner: str
    """``unit``, ``zero`` (the same element again and again), or ``any``."""

    def __str__(self) -> str:
        return self.name + self.region


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel over one box."""

    extents: tuple[int, ...]
    """The lengths of the loops, the innermost last."""
    axes: tuple[tuple[int, ...], ...]
    """Along which axes of the domain each loop runs: several where they are merged."""
    accesses: tuple[Access, ...]
    operations: tuple[str, ...]
    """What is computed for each element, in order."""
    reductions: tuple[str, ...]
    code: tuple[str, ...]
    """The kernel in the form of assignments."""
    chunks: int
    threads: int
    nbytes: int
    """About what it reads and writes, each element once."""
    early: bool
    """True if it runs while messages travel."""
    compiled: bool
    """True if its kernel is loaded; else it is compiled, or read from disk, at its first run."""

    @property
    def elements(self) -> int:
        """How often the body runs."""
        return prod(self.extents)


@dataclass(frozen=True, slots=True)
class Message:
    """What this rank sends or receives of one array, in a message of its own or together with others."""

    sends: bool
    peer: int
    name: str
    region: str
    nbytes: int
    travels: int = 0
    """The number of the message that contains it."""
    between_nodes: bool = False
    """True if the peer is on another node than this rank."""


@dataclass(frozen=True, slots=True)
class Collective:
    """What all ranks do together; ``nbytes`` is this rank's contribution."""

    name: str
    operation: str
    nbytes: int
    partners: tuple[int, ...] | None = None
    """The ranks that this one sends to; ``None`` where it takes part in a tree, or where values decide."""
    exact: bool = True
    """True if the bytes are known; else they are those of this rank's operands, and values decide what of them moves."""


@dataclass(frozen=True, slots=True)
class Group:
    """Values that are computed in the same loops, and all that happens for them, in order."""

    number: int
    domain: tuple[int, ...]
    layout: str
    stored: tuple[Stored, ...]
    apart: tuple[tuple[int, str], ...]
    """Why it is not merged with an earlier group, by that group's number."""
    memories: tuple[Memory, ...]
    messages: tuple[Message, ...]
    launches: tuple[Launch, ...]
    collectives: tuple[Collective, ...]

    @property
    def by_numpy(self) -> bool:
        """True if NumPy computes it."""
        return any(statement.style.startswith("NumPy") for statement in self.stored)


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a value is computed; ``print`` it, or read its fields."""

    what: str
    state: str
    """``pending``, ``evaluated``, ``data`` (it was never computed), or ``small`` (NumPy at the call)."""
    planned: str
    """Of a pending value: ``known`` (the plan exists), or ``new`` (it would be made)."""
    operations: int
    """How many operations were recorded for it."""
    data: tuple[Memory, ...]
    groups: tuple[Group, ...]
    left: tuple[str, ...]
    """What is still referred to, and stays pending when this is evaluated."""
    peak_bytes: int
    """The most that new buffers hold at one time."""
    rank: int
    ranks: int
    two_levels: bool = False
    """True if there are several nodes, and some have several ranks."""

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of all groups, in order."""
        return tuple([launch for group in self.groups for launch in group.launches])

    @property
    def stored(self) -> tuple[Stored, ...]:
        """The stored values of all groups, in order."""
        return tuple([statement for group in self.groups for statement in group.stored])

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of all groups, in order."""
        return tuple([message for group in self.groups for message in group.messages])

    @property
    def collectives(self) -> tuple[Collective, ...]:
        """The collective operations of all groups, in order."""
        return tuple([collective for group in self.groups for collective in group.collectives])

    @property
    def overlapped(self) -> float:
        """Of the memory traffic of groups with messages, the part that overlaps with them."""
        waiting = [launch for group in self.groups if group.messages for launch in group.launches]
        total = sum(launch.nbytes for launch in waiting)
        return sum(launch.nbytes for launch in waiting if launch.early) / total if total else 1.0

    @property
    def new_bytes(self) -> int:
        """What is allocated, buffers that serve one after the other counted each."""
        return sum(m.nbytes for group in self.groups for m in group.memories if m.is_new)

    def __str__(self) -> str:
        return plain(self)

    def __repr__(self) -> str:
        return plain(self)

    def _repr_html_(self) -> str:
        return html(self)
