"""Floating-point error handling: ``errstate`` and similar functions.

The rules of a call hold for all operations that it records (see :mod:`..lazy.float_errors`). On several ranks these functions
compute pending values before the rules change: all ranks reach this line, once they have divided an array. If a rule raises, calls or
prints, NumPy computes each operation at the call.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ..comm.world import current_world
from ..lazy.pending import settle_operations, sync
from .public import publish


def _before_a_change() -> None:
    """Compute the pending values of all ranks; those of this one, where ranks have never divided an array."""
    world = current_world()
    if world.size > 1:
        (sync if world.communicator.log.divides else settle_operations)()


class errstate(np.errstate):
    """The rules for floating-point errors inside a ``with`` block or a decorated function."""

    __slots__ = ("_rules",)

    def __init__(self, **rules: Any) -> None:
        super().__init__(**rules)
        self._rules = rules

    def __enter__(self) -> None:
        _before_a_change()
        super().__enter__()

    def __exit__(self, *problem: Any) -> None:
        try:
            _before_a_change()
        finally:
            super().__exit__(*problem)

    def __call__(self, func: Any) -> Any:
        rules = self._rules

        @wraps(func)
        def called(*args: Any, **options: Any) -> Any:
            with errstate(**rules):
                return func(*args, **options)

        return called


def seterr(
    all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None
) -> Any:
    """Set the rules for floating-point errors; the old ones come back."""
    _before_a_change()
    return np.seterr(all, divide, over, under, invalid)


def seterrcall(func: Any) -> Any:
    """Set the function called, or the log written to, at floating-point errors."""
    _before_a_change()
    return np.seterrcall(func)


publish("errstate", errstate, "native")
publish("seterr", seterr, "native")
publish("seterrcall", seterrcall, "native")
