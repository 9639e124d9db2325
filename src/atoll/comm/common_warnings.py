"""All ranks issue the warnings of each rank, once.

A floating-point flag comes up on the rank that has the element, and NumPy warns where it works on a block. If that rank
issued the warning alone, a filter that turns it into an error would raise on that rank only, and ranks would diverge. So
work that ranks share *notes* its warnings, and ranks exchange their notes before a value reaches the program. A note has
the number of the step, so all ranks issue the union in the same order.

Whether some rank has notes travels with reductions and other small gathers: a bit of the hash in front of them
(:meth:`.in_step.Gathering.run`). Where no such message comes before a look that needs all ranks, they ask each other.
"""

from __future__ import annotations

import atexit
import warnings
from itertools import chain
from typing import NamedTuple
from weakref import ref

from ..context.divergence import StepLog
from ..context.warn import Line, warn_in
from .communicator import Communicator
from .in_step import agree, is_same_here

_WHAT = "warnings"
_LIMIT = 1000
"""The most notes that a rank keeps between two exchanges; a loop without a look might note for ever."""

_noting: list[ref[StepLog]] = []
"""The logs that have notes."""


class Note(NamedTuple):
    """A warning, and its position in the order of all warnings."""

    step: int
    order: int
    line: Line
    text: str
    category: type[Warning]


def note(log: StepLog, text: str, category: type[Warning], line: Line, order: int = 0) -> None:
    """Keep a warning of a rank until the next exchange."""
    if not log.noted:
        _noting[:] = [each for each in _noting if each() is not None and each() is not log]
        _noting.append(ref(log))
    if len(log.noted) < _LIMIT:
        log.noted[Note(log.number, order, line, text, category)] = None


def ask(communicator: Communicator) -> None:
    """Issue the warnings of all ranks on each rank. Collective, where all ranks get a value.

    It costs a message if ranks have computed since the last message that told whether a rank has warnings.
    """
    log = communicator.log
    if log.unasked and not log.raised and log.computes:
        mine = communicator.rank + 1 if log.noted else 0
        log.raised = not is_same_here(communicator, mine, _WHAT)
    log.unasked = False
    if log.raised:
        log.raised = False
        notes = set(chain.from_iterable(agree(communicator, _taken(log), _WHAT)))
        for each in sorted(notes, key=lambda each: (*each[:-1], each.category.__name__)):
            warn_in(each.text, each.category, each.line)


def _taken(log: StepLog) -> list[Note]:
    notes = list(log.noted)
    log.noted.clear()
    return notes


def _give_own() -> None:
    """Issue the notes that no look has collected, at the end of the process, where no rank waits for others."""
    logs = [each() for each in _noting]
    for each in [each for log in logs if log is not None for each in _taken(log)]:
        try:
            warn_in(each.text, each.category, each.line)
        except Warning:  # nothing can catch it here
            warnings.showwarning(each.text, each.category, *each.line[:2])


atexit.register(_give_own)
