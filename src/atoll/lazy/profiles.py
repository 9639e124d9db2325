"""Profiles of call sites: what is learnt at a line of the program, and used when the line is reached again.

Programs repeat themselves, so what recording an operation was good for shows only once it has been evaluated. The
:class:`CallSite` of a line remembers it, and answers three questions:

* *Does NumPy compute it at the call?* Recording an operation, finding its plan and giving it memory costs some 20 us.
  An operation that is evaluated by itself and has some 10,000 elements is done sooner by NumPy. An evaluation
  that came to no more than that says so to the lines that recorded it, and after two of these NumPy computes at the line.
  Now and then the line records again: if its value is part of something larger by now, it stays recorded. Only
  operations count that NumPy and kernels compute alike, bit for bit, and only in a process by itself.
* *Is its value stored at once?* A value that the program holds stays pending while loops compute it for others: mostly
  it is dropped unseen. Once its line's value was computed twice, it is stored.
* *Is pending work cut here?* See :mod:`.pending`.

The costs are compared in ``policy``. What a process computes alone has profiles of the process. What ranks compute together has
profiles in their log: they are made and changed in collective steps alone, so that they are the same on all ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from .. import policy
from ..comm.world import current_world
from ..config import config
from ..context.caches import Memo, Recent
from ..context.call_sites import Site, site_number
from ..context.threads import turn
from ..graph.node import Node


class Cut(NamedTuple):
    """What is done at a line where something is heavier than a limit."""

    line: int | None
    """What was live at this line is evaluated; where there is none, what is heavy and all that is pending with it."""
    limit: float


class CallSite:
    """What is known of a line that records operations."""

    __slots__ = ("computed_again", "cut", "eager", "gainless", "pending", "turns")

    def __init__(self) -> None:
        self.cut: Cut | None = None
        self.computed_again = False
        """Whether what it gives was computed twice, because nothing had stored it the first time."""
        self.eager = 0
        """How many more of its calls NumPy computes."""
        self.turns = policy.limits.ignored[0]
        """How many that will be the next time."""
        self.gainless = 0
        """How often recording it was no gain."""
        self.pending = 1
        """How often it was recorded since the last of these."""

    def is_eager(self) -> bool:
        """Whether NumPy shall compute this call; else it counts as recorded."""
        if self.eager > 0 and current_world().size == 1:
            self.eager -= 1
            return True
        self.recorded()
        return False

    def recorded(self) -> None:
        """Count a call that is recorded: after several in a row that were a gain, what was learnt is void."""
        self.pending += 1
        if self.pending > policy.limits.pieces:
            self.pending = self.gainless = 0
            self.turns = policy.limits.ignored[0]

    def was_no_gain(self) -> None:
        """Count a recorded call whose evaluation took no less time than NumPy does."""
        self.pending = max(self.pending - 1, 0)
        if not self.pending:
            self.gainless += 1
            if self.gainless > 1:
                self.eager = self.turns
                self.turns = min(2 * self.turns, policy.limits.ignored[1])


class CallSites(Recent[int, CallSite]):
    """The call sites of those who compute together, by their numbers.

    When it is full the oldest goes, on all ranks at the same step. So it forgets nothing by chance: it is no memory of facts.
    """

    def __init__(self) -> None:
        super().__init__("call_sites", "caches_full")

    def known(self, site: Site | None) -> CallSite | None:
        """The profile of a call site, if something was learnt there."""
        return dict.get(self, site_number(site))

    def of(self, number: int) -> CallSite:
        """The same by its number; a new profile if there is none."""
        if number not in self:
            self[number] = CallSite()
        return self[number]


class _Alone(threading.local):
    """The profiles of a process, or of a simulated rank, for what it computes by itself."""

    process: ClassVar[CallSites] = CallSites()

    def __init__(self) -> None:
        self.sites = CallSites() if turn.simulated else self.process


alone = _Alone()
eager_marks: Memo[int | None, bool] = Memo()
"""The marks of operations that NumPy computes at some call site: all others ask for no profile."""


def call_sites_of(node: Node) -> CallSites:
    """The profiles of those who compute a node."""
    home = node.place
    if home is None or home.world.size == 1:
        return alone.sites
    log = home.world.communicator.log
    if log.call_sites is None:
        log.call_sites = CallSites()
    sites: CallSites = log.call_sites
    return sites


def eager_at(site: Site | None) -> CallSite | None:
    """The profile of a call site, if NumPy shall compute this call."""
    profile = None if site is None else alone.sites.known(site)
    return profile if profile is not None and profile.is_eager() else None


def no_gain(nodes: Sequence[Node]) -> None:
    """Note that recording these was no gain."""
    for node in nodes:
        if node.site is not None and node.mark is not None:
            eager_marks[node.mark] = True
            alone.sites.of(site_number(node.site)).was_no_gain()


def without_gain(order: Sequence[Node], kept: Sequence[int]) -> list[int]:
    """Which nodes of a trace NumPy computes at their calls in no more time than the trace takes; none if it is more.

    ``kept`` says which of them are stored.
    """
    if current_world().size > 1:
        return []
    calls = [place for place, node in enumerate(order) if not node.op.is_view]
    if len(calls) < len(order) and any(order[place].op.is_view for place in kept):
        return []
    sizes, small = [], config.small
    for place in calls:
        node = order[place]
        if node.place is not None or not node.op.is_bitwise(node):
            return []
        sizes.append(node.geometry.size * node.geometry.dtype.itemsize)
        if node.geometry.size < small:
            return []
    spared = sum(
        [2 * nbytes for place, nbytes in zip(calls, sizes, strict=True) if place not in kept]
    )
    return [] if policy.recording_gains(len(order), max(sizes, default=0), spared, small) else calls
