"""Floating-point errors: the rules at the call apply to the operations that it records, whenever they are computed.

NumPy decides at the call, by ``np.errstate`` and by the filters of ``warnings``. Here the call only records. So
each operation first calls :func:`free`, which compares three objects with the previous ones and returns if they
are the same (the fastest paths compare two of them by themselves; the next slower operation, or the next read
of a value, notices a filter put into the same list). If the objects differ, there are three cases:

- The new rules are equal to the old ones: the new objects are remembered.
- The rules differ: pending values are computed under the rules of their recording, then the new rules hold.
- The rules raise, call, print or log at an error, turn warnings into errors or collect all of them: NumPy computes
  operations at their call, without recording, as long as these rules hold.

A read of a value evaluates under the rules of the recording (:func:`under`), too.

A rank must not compute a value that the other ranks do not. ``np.errstate`` belongs to the program, which all
ranks run, but filters belong to the process, and simulated ranks share theirs: one may change them while another
is in the middle of its work. So on several ranks filters only decide the handling of a warning when it is issued.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from ..comm.world import current_world
from ..context import warn

_AT_THE_CALL = {"raise", "call", "print", "log"}
_variable: Any = getattr(import_module("numpy._core.umath"), "_extobj_contextvar", None)
state: Callable[[], Any] = (lambda: None) if _variable is None else _variable.get
"""The object that holds NumPy's own rules; a change of the rules replaces it."""
if _variable is not None:
    # Python finds a variable at once in a context that has it, and looks long in one that has not.
    _variable.set(_variable.get())


@dataclass(frozen=True, slots=True)
class Rules:
    """Handling of floating-point errors; equal rules handle them alike."""

    modes: dict[str, Any]
    """The mode of each kind of error, by ``np.geterr``."""
    handler: Any
    decisive: tuple[Any, ...]
    """The filters that may decide about a ``RuntimeWarning``."""
    at_call: bool
    """True if operations must be computed at their call."""
    state: Any = field(compare=False)
    filters: tuple[Any, ...] = field(compare=False)
    """All filters."""


class _Calm:
    """The objects under which operations may be recorded without another check."""

    __slots__ = ("filters", "first", "rules", "state", "thread")

    def __init__(self) -> None:
        self.state: Any = self
        self.filters: Any = None
        self.first: Any = None
        self.rules: Rules | None = None
        self.thread = 0
        """Thread that noticed the rules."""


class _Held(threading.local):
    """Rules for the pending work of this thread."""

    rules: Rules | None = None


calm = _Calm()
_held = _Held()
_settle: list[Callable[[], None]] = []


register_settling = _settle.append
"""Register a function that computes pending values before other rules hold."""


def free() -> bool:
    """True if an operation may be recorded; else NumPy computes it at once."""
    filters = warnings.filters
    if state() is calm.state and filters is calm.filters:
        try:
            if filters[0] is calm.first:
                return True
        except IndexError:  # all filters were removed
            return _noticed()
    return _noticed()


def _noticed() -> bool:
    """The same, after something has changed."""
    warn.come_first()
    rules = _current()
    held = _held.rules or calm.rules
    if held is not None and held != rules and current_world().size == 1:
        for evaluate in _settle:
            evaluate()
    if rules.at_call:
        calm.state = calm  # so that the way back is noticed, too
        return False
    _held.rules = calm.rules = rules
    calm.thread = threading.get_ident()
    calm.state, calm.filters, calm.first = rules.state, warnings.filters, warnings.filters[0]
    return True


def _current() -> Rules:
    modes: Any = np.geterr()
    decisive: list[Any] = []
    filters: Any = tuple(warnings.filters)
    for rule in filters:
        _, message, category, module, line = rule
        if category is warn.Retold or not issubclass(RuntimeWarning, category):
            continue
        decisive.append(rule)
        if message is None and module is None and not line:
            break
    at_call = not _AT_THE_CALL.isdisjoint(modes.values())
    if not at_call and current_world().size == 1:
        actions = {rule[0] for rule in decisive}
        at_call = "error" in actions or ("always" in actions and warn.is_collecting())
    return Rules(modes, np.geterrcall(), tuple(decisive), at_call, state(), filters)


def differing() -> Rules | None:
    """The rules under which pending work was recorded, if other rules hold now."""
    held = _held.rules or calm.rules
    if held is None:
        return None
    filters = warnings.filters
    if state() is held.state and filters is calm.filters and filters and filters[0] is calm.first:
        return None
    calm.state = calm  # so that the next operation notices
    return None if held == _current() else held


def under(rules: Rules, evaluate: Callable[[], None]) -> None:
    """Evaluate under the rules of the recording. A context manager could be interrupted between its entry and the block."""
    before, filters = state(), warnings.filters
    is_alone = current_world().size == 1
    try:
        if _variable is not None:
            _variable.set(rules.state)
        if is_alone:
            warnings.filters = list(rules.filters)
            warn.filters_changed()
            calm.state, calm.filters = state(), warnings.filters
            calm.first = rules.filters[0] if rules.filters else None
        evaluate()
    finally:
        calm.state = calm
        if is_alone:
            warnings.filters = filters
            warn.filters_changed()
        if _variable is not None:
            _variable.set(before)
