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
    """The bytes of this rank's share, including padding."""
    layout: str
    """Its distribution; empty if each rank has all of it."""
    how: str
    """The origin of the memory: ``there already``, ``new``, ``copy of a``, ``in place of a``."""

    @property
    def is_new(self) -> bool:
        """True if a buffer is allocated."""
        return self.how.startswith(("new", "copy"))


@dataclass(frozen=True, slots=True)
class Stored:
    """A value that is written to memory, with the reason why it is not recomputed at its uses."""

    name: str
    operation: str
    where: str
    """The line of the program that recorded it."""
    style: str
    """``loop``, ``loop in place``, ``reduction``, ``NumPy``, or ``NumPy on each share``."""
    reason: str
    remark: str
    """The reason why NumPy computes it, or the target of an assignment."""


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
    """The axes of the domain along which each loop runs: several if they are merged."""
    accesses: tuple[Access, ...]
    operations: tuple[str, ...]
    """The operations on each element, in order."""
    reductions: tuple[str, ...]
    code: tuple[str, ...]
    """The kernel in the form of assignments."""
    chunks: int
    threads: int
    nbytes: int
    """The approximate bytes read and written, each element once."""
    early: bool
    """True if it runs while messages travel."""
    compiled: bool
    """True if its kernel is loaded; else it is compiled, or read from disk, at its first run."""

    @property
    def elements(self) -> int:
        """The number of times the body runs."""
        return prod(self.extents)


@dataclass(frozen=True, slots=True)
class Message:
    """A part of one array that this rank sends or receives, in its own message or in one shared with others."""

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
    """A collective operation; ``nbytes`` is this rank's contribution."""

    name: str
    operation: str
    nbytes: int
    partners: tuple[int, ...] | None = None
    """The ranks to which this one sends; ``None`` in a tree, or if values decide."""
    exact: bool = True
    """True if ``nbytes`` is exact; else it is the bytes of this rank's operands, and values decide how many of them move."""


@dataclass(frozen=True, slots=True)
class Group:
    """Values that are computed in the same loops, with the memory, messages, launches and collectives for them, in order."""

    number: int
    domain: tuple[int, ...]
    layout: str
    stored: tuple[Stored, ...]
    apart: tuple[tuple[int, str], ...]
    """Numbers of earlier groups, with the reasons why this group is not merged with them."""
    memories: tuple[Memory, ...]
    messages: tuple[Message, ...]
    launches: tuple[Launch, ...]
    collectives: tuple[Collective, ...]

    @property
    def by_numpy(self) -> bool:
        """True if NumPy computes a value of the group."""
        return any(statement.style.startswith("NumPy") for statement in self.stored)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The computation of a value; ``print`` it, or read its fields."""

    what: str
    state: str
    """``pending``, ``evaluated``, ``data`` (it was never computed), or ``small`` (NumPy at the call)."""
    planned: str
    """For a pending value: ``known`` (the plan exists), or ``new`` (it would be made); else empty."""
    operations: int
    """The number of operations recorded for it."""
    data: tuple[Memory, ...]
    groups: tuple[Group, ...]
    left: tuple[str, ...]
    """Values that are still referenced, and stay pending when this one is evaluated."""
    peak_bytes: int
    """The peak bytes of new buffers."""
    rank: int
    ranks: int
    two_levels: bool = False
    """True if the ranks are on several nodes, and some nodes have several ranks."""

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
        """The fraction of the memory traffic of groups with messages that overlaps with the messages."""
        waiting = [launch for group in self.groups if group.messages for launch in group.launches]
        total = sum(launch.nbytes for launch in waiting)
        return sum(launch.nbytes for launch in waiting if launch.early) / total if total else 1.0

    @property
    def new_bytes(self) -> int:
        """The bytes of all allocations; buffers that reuse the same memory in succession count each."""
        return sum(m.nbytes for group in self.groups for m in group.memories if m.is_new)

    def __str__(self) -> str:
        return plain(self)

    def __repr__(self) -> str:
        return plain(self)

    def _repr_html_(self) -> str:
        return html(self)
