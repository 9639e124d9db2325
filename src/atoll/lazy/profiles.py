"""Profiles of call sites: what is learnt at a line of the program, and used when the line is reached again.

Programs repeat themselves, so what recording an operation was good for shows only once it has been evaluated. The
:class:`CallSite` of a line remembers it, and answers two questions:

* *Is its value stored at once?* A value that the program holds stays pending while loops compute it for others: mostly
  it is dropped unseen. Once its line's value was computed twice, it is stored.
* *Is pending work cut here?* See :mod:`.pending`.

The costs are limits of ``policy``. What a process computes alone has profiles of the process. What ranks compute together has
profiles in their log: they are made and changed in collective steps alone, so that they are the same on all ranks.
"""

from __future__ import annotations

import threading
from typing import ClassVar, NamedTuple

from ..context.caches import Recent
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

    __slots__ = ("computed_again", "cut")

    def __init__(self) -> None:
        self.cut: Cut | None = None
        self.computed_again = False
        """Whether what it gives was computed twice, because nothing had stored it the first time."""


class CallSites(Recent[int, CallSite]):
    """The call sites of those who compute together, by their numbers.

    When it is full the oldest goes, on all ranks at the same step. So it forgets nothing by chance: it is no memory of facts.
    """

    def __init__(self) -> None:
        super().__init__("memo", "caches_full")

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
