"""Floating-point errors: the rules at the call apply to what it records, whenever that is computed.

NumPy decides at the call, by ``np.errstate`` and by the filters of ``warnings``. Here the call only records. So
each operation first asks :func:`free`, which compares three objects with those of the last time and is done if they
are the same (the fastest paths compare two of them by themselves; a filter put into the same list is
noticed by the next operation that is slower, or the next look). If they are not, there are three cases:

- The rules say nothing else than before: the new objects are remembered.
- They do: what is pending is computed under the rules that it was recorded under, then the new ones hold.
- They raise, call, print or log at an error, or turn warnings into errors or collect all of them: operations are
  not recorded, but computed by NumPy at their call, as long as these rules hold.

A look evaluates under the rules of the recording (:func:`under`), too.

On several ranks one of them must not compute what the others do not. ``np.errstate`` belongs to the program, which all
of them run, but filters belong to the process, and simulated ranks share theirs: one may change them while another
is in the middle of its work. So on several ranks filters decide only what becomes of a warning when it is given.
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
"""The object that holds NumPy's own rules; another one as soon as they change."""
if _variable is not None:
    # Python finds a variable at once in a context that has it, and looks long in one that has not.
    _variable.set(_variable.get())


@dataclass(frozen=True, slots=True)
class Rules:
    """Handling of floating-point errors; equal rules handle them alike."""

    modes: dict[str, Any]
    """For each kind of error what ``np.geterr`` says."""
    handler: Any
    decisive: tuple[Any, ...]
    """The filters that may decide about a ``RuntimeWarning``."""
    at_call: bool
    """True if operations must be computed at their call."""
    state: Any = field(compare=False)
    filters: tuple[Any, ...] = field(compare=False)
    """All filters."""


class _Calm:
    """The objects under which operations may be recorded without a further question."""

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
"""Let a function compute what is pending before other rules hold."""


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
    """The rules under which pending work was recorded, where others hold now."""
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
